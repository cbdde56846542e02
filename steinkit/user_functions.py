"""Calls to user-supplied functions and validation of the returned values."""

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
_MOST_ERRORS = 40  # maximum number of failed calls before the first successful call


class RaisedError(InputError):
    """Error raised if a user-supplied function raises an exception."""


def numbers_from(call: Callable[[], ArrayLike], what: str, returned: str) -> Floats:
    """Call a user-supplied function and convert the result to real numbers.

    Raises
    ------
    RaisedError
        If the function raises an exception. The error message contains the type, the position and the text of the
        exception.
    InputError
        If numbers in the result are masked or complex.
    """
    try:
        return real_numbers(call(), returned)
    except SteinkitError:
        raise
    except (Exception, SystemExit) as error:  # `sys.exit` in a user-supplied function would end the command silently
        raise RaisedError(f"{what} raised {described(error)}") from error


def described(error: BaseException) -> str:
    """Describe the type, position and message of an exception in user code."""
    others = [each for each in traceback.extract_tb(error.__traceback__) if not each.filename.startswith(_PACKAGE)]
    frames = [each for each in others if "site-packages" not in each.filename] or others
    where = f" at {frames[0].filename}, line {frames[0].lineno}" if frames else ""
    return f"{type(error).__name__}{where}: {error}"


def call_checked(function: Vectorised, points: Floats, shape: tuple[int, ...], what: str) -> Floats:
    """Evaluate a function at the given points and validate the returned values.

    Parameters
    ----------
    function : callable
    points : ndarray
        Points at which the function is called. The function receives a copy.
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
        If the function raises an exception, or returns an array with a different shape or numbers that are not real.
    """
    values = numbers_from(lambda: function(points.copy()), what, f"the values of {what}")
    if values.shape != shape:
        raise InputError(
            f"{what} must return an array of shape {shape} for points of shape {points.shape}; got {values.shape}"
        )
    return values


def call_where_defined(function: Vectorised, points: Floats, row: tuple[int, ...], what: str) -> Floats:
    """Evaluate a function at proposed points, allowing exceptions.

    If the function raises an exception, the points are split into halves, and the function is called for each half.
    Splitting continues until each part is a single point. A returned value is NaN only if the function raises an
    exception at that point.

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
        Values of the function, or NaN for points at which it raises an exception.

    Raises
    ------
    InputError
        If the function returns an array with a different shape or numbers that are not real.
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
