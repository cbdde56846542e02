"""Conversion of objects from other packages to samples."""
