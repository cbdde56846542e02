"""Comparison of sweep cells."""

from dataclasses import replace


def timeless(cells):
    """Return cells without the values that differ between runs."""
    return [replace(cell, sampling=0.0, scoring=0.0) for cell in cells]
