"""Functions that a user gives as part of a target or an operator: calling them, and telling of their errors."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import require_unmasked
from steinkit.errors import InputError, SteinkitError, UsageError
from steinkit.sample import Floats, require_printable

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep

Vectorised = Callable[[Floats], ArrayLike]
Functions = Mapping[str, Vectorised]


def as_functions(functions: Functions) -> Functions:
    """Functions by name; UsageError if they are anything else."""
    if not isinstance(functions, Mapping) or not all(callable(each) for each in functions.values()):
        raise UsageError("functions must be a mapping of names to functions of the draws: {'tau': lambda x: ...}")
    require_printable(tuple(map(str, functions)))
    return functions


def call_checked(function: Vectorised, points: Floats, shape: tuple[int, ...], what: str) -> Floats:
    """Call a function at points and hold it to its shape.

    Parameters
    ----------
    function : callable
    points : ndarray
        Copied first, so that the function may write to them.
    shape : tuple of int
        What the function must return.
    what : str
        What messages call the function.

    Returns
    -------
    ndarray, of that shape

    Raises
    ------
    InputError
        If the function raises, or returns another shape.
    """
    values = numbers_from(lambda: function(points.copy()), what, f"the values of {what}")
    if values.shape != shape:
        raise InputError(
            f"{what} must return shape {shape} for points of shape {points.shape}; it returned {values.shape}"
        )
    return values


def numbers_from(call: Callable[[], ArrayLike], what: str, returned: str) -> Floats:
    """What a call of a user's function returns, as an array; an InputError if it raises."""
    try:
        given = call()
        require_unmasked(given, returned)
        return np.asarray(given, dtype=np.float64)
    except SteinkitError:
        raise
    except Exception as error:
        raise InputError(f"{what} raised {described(error)}") from error


def described(error: Exception) -> str:
    """What a user's function raised, and where in it."""
    others = [each for each in traceback.extract_tb(error.__traceback__) if not each.filename.startswith(_PACKAGE)]
    frames = [each for each in others if "site-packages" not in each.filename] or others
    place = f" at {frames[0].filename}, line {frames[0].lineno}" if frames else ""
    return f"{type(error).__name__}{place}: {error}"
