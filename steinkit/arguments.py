"""Validation of arguments passed to public functions.

Error messages contain the argument name, the expected value and the value received. A bool is not accepted as a number.
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


def require_type(wanted: type | tuple[type, ...], expected: str, **values: object) -> None:
    """Raise UsageError unless all named arguments have the expected type.

    Parameters
    ----------
    wanted : type or tuple of type
    expected : str
        Name of the type, for the message.
    **values : object

    Raises
    ------
    UsageError
        If an argument has a different type. The message contains its name and value.
    """
    for name, value in values.items():
        if not isinstance(value, wanted):
            shown = " ".join(_SHOWN.repr(value).split())
            raise UsageError(f"expected {name} to be {expected}, got {shown} ({type(value).__name__})")


def require_flags(**values: object) -> None:
    """Raise UsageError unless the arguments are True or False."""
    require_type((bool, np.bool_), "True or False", **values)


def require_mappings(**values: object) -> None:
    """Raise UsageError unless the arguments are mappings or None."""
    require_type((Mapping, types.NoneType), "a mapping or None", **values)


def require_functions(*, optional: bool = False, **values: object) -> None:
    """Raise UsageError unless the arguments are callable (or None if optional)."""
    for name, value in values.items():
        if not callable(value) and not (optional and value is None):
            require_type((), "a function", **{name: value})


def require_lists(**values: object) -> None:
    """Raise UsageError unless the arguments are None or sequences other than strings."""
    for name, value in values.items():
        wanted = () if isinstance(value, str | bytes) else (Sequence, np.ndarray, types.NoneType)
        require_type(wanted, "a list or None", **{name: value})


def generator_from(rng: int | np.random.Generator | None) -> np.random.Generator:
    """Return a random generator from a seed, a generator or None (random seed).

    Raises
    ------
    UsageError
        If the seed is not a non-negative integer.
    """
    if not (rng is None or isinstance(rng, np.random.Generator)):
        whole(rng, "rng", 0)
    return np.random.default_rng(rng)


def require_unmasked(values: Any, what: str) -> None:
    """Raise InputError if an array or any array in a list has masked entries.

    Parameters
    ----------
    values : object
    what : str
        Plural noun for the values, for messages.

    Raises
    ------
    InputError
        If there are masked entries. The message contains their number.
    """
    if masked := masked_entries(values):
        raise InputError(f"{what} have {masked} masked entries; fill or drop them first")


def real_numbers(values: Any, what: str, expected: str = "") -> NDArray[np.float64]:
    """Convert values to a double-precision array without a copy if possible.

    Parameters
    ----------
    values : array_like
    what : str
        Plural noun for the values, for messages.
    expected : str, optional
        Description of the expected values, for the message.

    Raises
    ------
    InputError
        If entries are masked or complex.
    UsageError
        If the values are not numbers and `expected` is given. Without `expected`, the NumPy error is raised.
    """
    require_unmasked(values, what)
    try:
        array = np.asarray(values)
        real = np.asarray(array.real if array.dtype.kind == "c" else values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        if not expected:
            raise
        raise UsageError(f"{what} must be {expected}; got {values!r}") from None
    if array.dtype.kind == "c" and array.imag.any():
        raise InputError(f"{what} must be real numbers; got {array[array.imag != 0.0].flat[0]:.6g}")
    return real


def masked_entries(values: Any) -> int:
    """Return the number of masked entries in an array or a list of arrays."""
    if isinstance(values, np.ma.MaskedArray):
        return int(np.ma.getmaskarray(values).sum())
    return sum(map(masked_entries, values)) if isinstance(values, list | tuple) else 0


def require_range(values: ArrayLike, what: str) -> None:
    """Raise InputError unless each |value| is 0 or lies between 1e-100 and 1e100.

    Squares and quotients of such numbers neither overflow nor underflow. Infinities and NaN are accepted.

    Raises
    ------
    InputError
        If a number is out of range. The message contains the first such number.
    """
    sizes = np.abs(np.asarray(values, dtype=np.float64))
    outside = np.isfinite(sizes) & (sizes != 0.0) & ((sizes < 1e-100) | (sizes > 1e100))
    if outside.any():
        raise InputError(
            f"{what} must be 0 or between 1e-100 and 1e100 in absolute value; got {sizes[outside][0]:g}; rescale them"
        )


def whole(value: Any, name: str, least: int) -> int:
    """Convert an argument to an int of at least ``least``, or raise UsageError."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool | np.bool_) or value < least:
        raise UsageError(f"{name} must be a whole number of at least {least}; got {_SHOWN.repr(value)}")
    return int(value)


def positive(value: Any, name: str) -> float:
    """Convert an argument to a positive finite float, or raise UsageError."""
    return number(value, name, lambda x: 0.0 < x < np.inf, "positive and finite")


def share(value: Any, name: str) -> float:
    """Convert an argument to a float in [0, 1], or raise UsageError."""
    return number(value, name, lambda x: 0.0 <= x <= 1.0, "in [0, 1]")


def number(value: Any, name: str, allowed: Callable[[float], bool], expected: str) -> float:
    """Convert an argument to a float, or raise UsageError if it is not allowed."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    try:
        found = float(value) if isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_) else np.nan
    except OverflowError:
        found = np.nan
    if np.isnan(found) or not allowed(found):
        raise UsageError(f"{name} must be a number, {expected}; got {_SHOWN.repr(value)}")
    return found


def batch_within(batch_size: int | None, default: int, size: int) -> int:
    """Return the batch size. The default is at most the number of data points."""
    if batch_size is None:
        return min(default, size)
    if whole(batch_size, "batch_size", 1) > size:
        raise UsageError(f"batch_size must be at most the number of data points, {size}; got {batch_size}")
    return int(batch_size)
