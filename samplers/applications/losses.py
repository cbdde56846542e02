"""Losses that iteratively reweighted least squares (IRLS) minimises, and the rows of the least squares they lead to.

At coefficients theta, IRLS solves min_u sum_i (b_i - a_i'u)^2. Written for the step d = u - theta, whose least squares
have the same rows a_i and the working residuals rho_i = b_i - a_i'theta:

    least absolute deviations    min sum_i |r_i|,  r_i = y_i - x_i'theta
        w_i = 1 / sqrt(max(|r_i|, c)),  a_i = w_i x_i,  b_i = w_i y_i,  so  rho_i = w_i r_i
    logistic regression          min -sum_i log P(y_i | x_i, theta),  p_i = 1 / (1 + exp(-x_i'theta))
        w_i = sqrt(p_i (1 - p_i)),  a_i = w_i x_i,  b_i = w_i x_i'theta + (y_i - p_i) / w_i,
                                                                           so  rho_i = (y_i - p_i) / w_i

Without the floor c a datum that is fitted exactly would weigh infinitely much; with it IRLS minimises Huber's function,
quadratic for |r_i| < c and |r_i| otherwise, up to constants.

Steps of least absolute deviations never let the loss rise: each minimises a function that lies above it and touches it.
Those of logistic regression are Newton's, and go far too far where the p_i are near 0 and 1. So a share s = 1, 1/2,
1/4, ... of a step d is taken, the first for which the loss of the data that d was made of, f(s) at theta + s d, has

    f(s) <= f(0) - 1e-4 s |f'(0)|,    or  s max_i |x_i'd| <= 1,  which implies it:

along d the third derivative is at most max_i |x_i'd| times the second, so that f falls by .28 s |f'(0)| at the least
(Bach 2010, proposition 1).

References
----------
F. Bach (2010), "Self-concordant analysis for logistic regression".
A. Korattikara, Y. Chen and M. Welling (2016), "Sequential tests for large-scale learning", sections 4.1.1 and 4.1.2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from steinkit.errors import InputError, UsageError, did_you_mean
from steinkit.sample import Floats

# p (1 - p) below which a datum of a logistic regression is given this weight: its working residual stays finite.
_LEAST_VARIANCE = 1e-8
# Least fall of the loss, as a share of what its slope promises.
_SUFFICIENT_FALL = 1e-4
# Distance from the hyperplane between the classes, relative to the farthest datum's, that counts as none.
_ROUNDING = 1e-12
# Magnitude beyond which sums of squares overflow.
_LARGEST = 1e100


class WorkingRows(NamedTuple):
    """Rows of the least squares problem that a batch of data contributes.

    Attributes
    ----------
    rows : ndarray, shape (n, D)
        a_i.
    residuals : ndarray, shape (n,)
        rho_i.
    separated : bool
        Whether theta puts every datum of the batch on the side of its class, or on the hyperplane between; always
        false where there are no classes.
    """

    rows: Floats
    residuals: Floats
    separated: bool


class Advance(NamedTuple):
    """Where a step leads.

    Attributes
    ----------
    share : float
        How much of the step may be taken, in (0, 1].
    separated : bool
        Whether the coefficients there put every datum of the batch on the side of its class, or on the hyperplane
        between: nothing in such a batch says how long they should be.
    """

    share: float
    separated: bool


@dataclass(frozen=True)
class Loss:
    """A loss, for the responses it was made for.

    Attributes
    ----------
    responses : ndarray, shape (N,)
        y: as given, or 0 and 1.
    working_rows : callable, (D,), (n, D), (n,) -> WorkingRows
        Rows at theta of a batch of features and responses.
    mean : callable, (D,), (n, D), (n,) -> float
        Mean of the loss over a batch.
    advance : callable, (D,), (D,), (n, D), (n,) -> Advance
        How far to go from theta along a step that was made of this batch.
    """

    responses: Floats
    working_rows: Callable[[Floats, Floats, Floats], WorkingRows]
    mean: Callable[[Floats, Floats, Floats], float]
    advance: Callable[[Floats, Floats, Floats, Floats], Advance]


def loss_named(name: str, responses: Floats, smallest_residual: float) -> Loss:
    """Loss of the given name.

    Parameters
    ----------
    name : str
        "lad" or "logistic".
    responses : ndarray, shape (N,)
    smallest_residual : float
        Floor c of least absolute deviations, in mean absolute deviations of the responses about their median.

    Raises
    ------
    UsageError
        If no loss has the name.
    InputError
        If the responses do not fit it.
    """
    if name == "lad":
        return _least_absolute_deviations(responses, smallest_residual)
    if name == "logistic":
        return Loss(_as_classes(responses), _logistic_rows, _mean_log_loss, _advance_logistic)
    raise UsageError(
        f'loss must be "lad" or "logistic"; received {name!r}{did_you_mean(str(name), ["lad", "logistic"])}'
    )


def _least_absolute_deviations(responses: Floats, smallest_residual: float) -> Loss:
    spread = float(np.abs(responses - np.median(responses)).mean())
    if spread == 0.0:
        raise InputError(f"y is {responses[0]:g} for all {len(responses)} data: there is nothing to fit")
    floor = smallest_residual * spread

    def working_rows(theta: Floats, X: Floats, y: Floats) -> WorkingRows:
        r = y - X @ theta
        w = 1.0 / np.sqrt(np.maximum(np.abs(r), floor))
        return WorkingRows(X * w[:, None], w * r, False)

    def mean(theta: Floats, X: Floats, y: Floats) -> float:
        return float(np.abs(y - X @ theta).mean())

    return Loss(responses, working_rows, mean, lambda theta, step, X, y: Advance(1.0, False))


def _as_classes(responses: Floats) -> Floats:
    values = np.unique(responses)
    if values.tolist() not in ([0.0, 1.0], [-1.0, 1.0]):
        shown = ", ".join(f"{value:g}" for value in values[:5]) + (", ..." if len(values) > 5 else "")
        raise InputError(f"y must have the two values 0 and 1, or -1 and +1, and both must occur; received {shown}")
    return (responses > 0.0).astype(np.float64)


def _logistic_rows(theta: Floats, X: Floats, y: Floats) -> WorkingRows:
    from scipy.special import expit

    eta = X @ theta
    p = expit(eta)
    w = np.sqrt(np.maximum(p * expit(-eta), _LEAST_VARIANCE))
    return WorkingRows(X * w[:, None], (y - p) / w, _separates(theta, _margins(eta, y)))


def _mean_log_loss(theta: Floats, X: Floats, y: Floats) -> float:
    return _mean_loss_of(_margins(X @ theta, y))


def _advance_logistic(theta: Floats, step: Floats, X: Floats, y: Floats) -> Advance:
    from scipy.special import expit

    margins, change = _margins(X @ theta, y), _margins(X @ step, y)
    share, largest = 1.0, float(np.abs(change).max())
    if largest > 1.0:
        before, slope = _mean_loss_of(margins), float((change * expit(-margins)).mean())
        while (
            share * largest > 1.0
            and _mean_loss_of(margins + share * change) > before - _SUFFICIENT_FALL * share * slope
        ):
            share *= 0.5
    return Advance(share, _separates(theta + share * step, margins + share * change))


def _margins(eta: Floats, y: Floats) -> Floats:
    """x_i'theta, positive on the side of the datum's class."""
    return np.where(y > 0.0, eta, -eta)


def _separates(theta: Floats, margins: Floats) -> bool:
    """Whether theta, with these margins, leaves no datum on the wrong side."""
    return bool(theta.any() and (margins >= -_ROUNDING * np.abs(margins).max()).all())


def _mean_loss_of(margins: Floats) -> float:
    from scipy.special import log_expit

    return float(-log_expit(margins).mean())


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
