"""Masked arrays: what lies under a mask is no value, and NumPy hands it out with most conversions."""

from __future__ import annotations

from typing import Any

import numpy as np

from steinkit.errors import InputError


def require_unmasked(values: Any, what: str) -> None:
    """Raise InputError if an array, or any in a list of arrays, has masked entries.

    Parameters
    ----------
    values : object
    what : str
        What messages call it, in the plural.
    """
    masked = masked_entries(values)
    if masked:
        raise InputError(f"{what} have {masked} masked entries, which are no values; fill them or drop them first")


def masked_entries(values: Any) -> int:
    """How many entries are masked, of an array or of those in a list."""
    if isinstance(values, np.ma.MaskedArray):
        return int(np.count_nonzero(np.ma.getmaskarray(values)))
    if isinstance(values, list | tuple):
        return sum(masked_entries(each) for each in values if isinstance(each, list | tuple | np.ma.MaskedArray))
    return 0
