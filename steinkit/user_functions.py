"""Calls of functions of the user, with a validation of their results."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import real_numbers
from steinkit.errors import InputError, SteinkitError
from steinkit.runtime.deadlines import require_time
from steinkit.sample import Floats

Vectorised = Callable[[Floats], ArrayLike]

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_MOST_ERRORS = 40  # calls that may raise before the first one that returns


class RaisedError(InputError):
    """A function of the user raised an exception."""


def numbers_from(call: Callable[[], ArrayLike], what: str, returned: str) -> Floats:
    """Return the numbers of a function of the user.

    Raises
    ------
    RaisedError
        With the type, position and message of an exception in the function.
    InputError
        If the numbers are masked or complex.
    """
    try:
        return real_numbers(call(), returned)
    except SteinkitError:
        raise
    except Exception as error:
        raise RaisedError(f"{what} raised {described(error)}") from error


def described(error: Exception) -> str:
    """Return the type, position and message of an error in a function of the user."""
    others = [each for each in traceback.extract_tb(error.__traceback__) if not each.filename.startswith(_PACKAGE)]
    frames = [each for each in others if "site-packages" not in each.filename] or others
    place = f" at {frames[0].filename}, line {frames[0].lineno}" if frames else ""
    return f"{type(error).__name__}{place}: {error}"


def call_checked(function: Vectorised, points: Floats, shape: tuple[int, ...], what: str) -> Floats:
    """Call a function at points and validate its result.

    Parameters
    ----------
    function : callable
    points : ndarray
        The function receives a copy.
    shape : tuple of int
        Expected shape of the result.
    what : str
        Name of the function in messages.

    Returns
    -------
    ndarray

    Raises
    ------
    InputError
        If the function raises, or returns another shape or numbers that are not real.
    """
    values = numbers_from(lambda: function(points.copy()), what, f"the values of {what}")
    if values.shape != shape:
        raise InputError(
            f"{what} must return shape {shape} for points of shape {points.shape}; it returned {values.shape}"
        )
    return values


def call_where_defined(function: Vectorised, points: Floats, row: tuple[int, ...], what: str) -> Floats:
    """Call a function at proposed points, where it may raise.

    If the function raises, halves of the points are tried in turn, so only the points at which it raises are lost.

    Parameters
    ----------
    function : callable
    points : ndarray, shape (n, d)
    row : tuple of int
        Shape of the value at one point.
    what : str
        Name of the function in messages.

    Returns
    -------
    ndarray, shape (n, *row)
        NaN where the function raises.

    Raises
    ------
    InputError
        If the function returns another shape or numbers that are not real.
    TimeLimitError
        If the deadline passes.
    """
    values = np.full((len(points), *row), np.nan)
    parts, raised, returned = [slice(0, len(points))], 0, False
    while len(points) and parts and (returned or raised < _MOST_ERRORS):
        rows = parts.pop()
        count = rows.stop - rows.start
        require_time(f"{what} was evaluated at proposals")
        try:
            with np.errstate(all="ignore"):
                values[rows] = call_checked(function, points[rows], (count, *row), what)
            returned = True
        except RaisedError as error:
            if isinstance(error.__cause__, TimeoutError):
                raise  # a timeout set by the user
            raised += 1
            middle = rows.start + -(-count // 2)
            parts += [slice(rows.start, middle), slice(middle, rows.stop)] if count > 1 else []
    return values
