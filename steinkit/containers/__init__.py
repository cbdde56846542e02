"""Conversion of draws in objects of other packages to samples."""
