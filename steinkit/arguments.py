"""Checks of arguments: small functions that public functions call at their entry.

Each names the argument, the value that it got and the values that it allows. A truth value is not a number here.
"""

from __future__ import annotations

import numbers
import reprlib
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steinkit.errors import InputError, UsageError

_SHOWN = reprlib.Repr()
_SHOWN.maxstring = _SHOWN.maxother = 60


def require_type(wanted: type | tuple[type, ...], words: str, **values: object) -> None:
    """Require that arguments, given by name, are of a type.

    Parameters
    ----------
    wanted : type or tuple of type
    words : str
        Name of the type, for the message.
    **values : object

    Raises
    ------
    UsageError
        With the name and the value of the first that is not.
    """
    for name, value in values.items():
        if not isinstance(value, wanted):
            shown = " ".join(_SHOWN.repr(value).split())
            raise UsageError(f"expected {name} to be {words}, got {shown} ({type(value).__name__})")


def require_flags(**values: object) -> None:
    """Require that arguments are True or False; UsageError."""
    require_type((bool, np.bool_), "True or False", **values)


def require_mappings(**values: object) -> None:
    """Require that arguments are mappings, or None; UsageError."""
    require_type((Mapping, types.NoneType), "a mapping or None", **values)


def require_functions(*, optional: bool = False, **values: object) -> None:
    """Require that arguments can be called, or are None where they are optional; UsageError."""
    for name, value in values.items():
        if not callable(value) and not (optional and value is None):
            require_type((), "a function", **{name: value})


def require_lists(**values: object) -> None:
    """Require that arguments are sequences other than text, or None; UsageError."""
    for name, value in values.items():
        wanted = () if isinstance(value, str | bytes) else (Sequence, np.ndarray, types.NoneType)
        require_type(wanted, "a list or None", **{name: value})


def generator_from(rng: int | np.random.Generator | None) -> np.random.Generator:
    """Return a generator, from a seed or itself; None gives one with an arbitrary seed.

    Raises
    ------
    UsageError
        If the seed is not a whole number of at least 0.
    """
    if not (rng is None or isinstance(rng, np.random.Generator)):
        whole(rng, "rng", 0)
    return np.random.default_rng(rng)


def require_unmasked(values: Any, what: str) -> None:
    """Raise InputError if an array, or any in a list of arrays, has masked entries: what lies under them is no value.

    Parameters
    ----------
    values : object
    what : str
        What messages call it, in the plural.
    """
    masked = masked_entries(values)
    if masked:
        raise InputError(f"{what} have {masked} masked entries; fill or drop them first")


def real_numbers(values: Any, what: str, wanted: str = "") -> NDArray[np.float64]:
    """Return an array of doubles; not a copy where it is one.

    Parameters
    ----------
    values : array_like
    what : str
        Name of the values in messages, in the plural.
    wanted : str, optional
        What they must be, for the message where they are no numbers.

    Raises
    ------
    InputError
        If entries are masked, or have an imaginary part.
    UsageError
        If they are no numbers and it is said what is wanted; else what NumPy raises.
    """
    require_unmasked(values, what)
    try:
        array = np.asarray(values)
        real = np.asarray(array.real if array.dtype.kind == "c" else values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        if not wanted:
            raise
        raise UsageError(f"{what} must be {wanted}; received {values!r}") from None
    if array.dtype.kind == "c" and array.imag.any():
        raise InputError(f"{what} are complex, {array[array.imag != 0.0].flat[0]:.6g} for one; expected real numbers")
    return real


def masked_entries(values: Any) -> int:
    """How many entries are masked, of an array or of those in a list."""
    if isinstance(values, np.ma.MaskedArray):
        return int(np.count_nonzero(np.ma.getmaskarray(values)))
    if isinstance(values, list | tuple):
        return sum(masked_entries(each) for each in values if isinstance(each, list | tuple | np.ma.MaskedArray))
    return 0


def require_range(values: ArrayLike, what: str) -> None:
    """Require numbers that are 0 or between 1e-100 and 1e100 in size, so that no square or quotient leaves the doubles.

    Raises
    ------
    InputError
        If a finite one lies outside.
    """
    sizes = np.abs(np.asarray(values, dtype=np.float64))
    outside = np.isfinite(sizes) & (sizes != 0.0) & ((sizes < 1e-100) | (sizes > 1e100))
    if outside.any():
        raise InputError(
            f"expected {what} of a size from 1e-100 to 1e100, or 0; got {sizes[outside][0]:g}: rescale them"
        )


def whole(value: Any, name: str, least: int) -> int:
    """``value`` as a whole number of at least ``least``."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool | np.bool_) or value < least:
        raise UsageError(f"{name} must be a whole number of at least {least}; received {_SHOWN.repr(value)}")
    return int(value)


def positive(value: Any, name: str) -> float:
    """``value`` as a positive finite number."""
    return number(value, name, lambda x: 0.0 < x < np.inf, "positive and finite")


def share(value: Any, name: str) -> float:
    """``value`` as a number in [0, 1]."""
    return number(value, name, lambda x: 0.0 <= x <= 1.0, "in [0, 1]")


def number(value: Any, name: str, allowed: Callable[[float], bool], wanted: str) -> float:
    """``value`` as a number that is allowed."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    try:
        found = float(value) if isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_) else np.nan
    except OverflowError:
        found = np.nan
    if np.isnan(found) or not allowed(found):
        raise UsageError(f"{name} must be a number, {wanted}; received {_SHOWN.repr(value)}")
    return found


def batch_within(batch_size: int | None, default: int, size: int) -> int:
    """Batch size to use: as given, at most N, or the default, or N where that is less."""
    if batch_size is None:
        return min(default, size)
    if whole(batch_size, "batch_size", 1) > size:
        raise UsageError(f"batch_size must be at most the number of data, {size}; received {batch_size}")
    return int(batch_size)
