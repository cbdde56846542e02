"""Draws in the objects that others keep them in: xarray and ArviZ, data frames, dictionaries of arrays."""
