"""Draws in objects of xarray, ArviZ and pandas, and in dicts of arrays."""
