"""Checks of the data of a regression."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from steinkit.errors import InputError
from steinkit.sample import Floats

# Magnitude beyond which sums of squares overflow.
_LARGEST = 1e100


def regression_data(features: ArrayLike, responses: ArrayLike) -> tuple[Floats, Floats]:
    """X, shape (N, D), and y, shape (N,), as floating point numbers.

    Raises
    ------
    InputError
        If they are not numbers, shapes disagree, a value is not finite, or there are no more data than coefficients.
    """
    X, y = as_reals(features, "X"), as_reals(responses, "y")
    if X.ndim != 2 or X.shape[1] == 0:
        raise InputError(f"X must have shape (N, D), one row a datum and one column a coefficient; received {X.shape}")
    if y.shape != (len(X),):
        raise InputError(f"y must have shape ({len(X)},), one response for each row of X; received {y.shape}")
    _require_finite(X, "X")
    _require_finite(y, "y")
    if len(X) <= X.shape[1]:
        raise InputError(
            f"{len(X)} data do not determine {X.shape[1]} coefficients; "
            "give more data than coefficients, or drop columns"
        )
    return X, y


def start_vector(start: ArrayLike | None, dim: int) -> Floats:
    """First coefficients, shape (D,): as given, or zeros.

    Raises
    ------
    InputError
        If the shape is another, or a value is not finite.
    """
    theta = np.zeros(dim) if start is None else as_reals(start, "start").copy()
    if theta.shape != (dim,):
        raise InputError(f"start must have shape ({dim},), one number for each column of X; received {theta.shape}")
    _require_finite(theta, "start")
    return theta


def as_reals(values: ArrayLike, name: str) -> Floats:
    """``values`` as an array of floating point numbers.

    Raises
    ------
    InputError
        If they are no real numbers.
    """
    try:
        if np.iscomplexobj(values):
            raise ValueError("some are complex")
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} must be an array of real numbers: {error}") from None


def _require_finite(values: Floats, name: str) -> None:
    allowed = np.abs(values) <= _LARGEST  # false for NaN
    if not allowed.all():
        first = tuple(np.argwhere(~allowed)[0])
        place = ", ".join(f"{axis} {number}" for axis, number in zip(("row", "column"), first, strict=False))
        raise InputError(
            f"{name} is {values[first]} in {place} (from 0); values must be finite and at most {_LARGEST:g} in "
            "magnitude: drop or repair that datum, or rescale"
        )
