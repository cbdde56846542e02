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

References
----------
A. Korattikara, Y. Chen and M. Welling (2016), "Sequential tests for large-scale learning", sections 4.1.1 and 4.1.2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from steinkit.errors import InputError, UsageError, did_you_mean
from steinkit.sample import Floats

# p (1 - p) below which a datum of a logistic regression is given this weight: its working residual stays finite.
_LEAST_VARIANCE = 1e-8
# Distance from the hyperplane between the classes, relative to the farthest datum's, that counts as none.
_ROUNDING = 1e-12


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
    """

    responses: Floats
    working_rows: Callable[[Floats, Floats, Floats], WorkingRows]
    mean: Callable[[Floats, Floats, Floats], float]


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
        return Loss(_as_classes(responses), _logistic_rows, _mean_log_loss)
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

    return Loss(responses, working_rows, mean)


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
    margins = np.where(y > 0.0, eta, -eta)
    separated = bool(theta.any() and (margins >= -_ROUNDING * np.abs(margins).max()).all())
    return WorkingRows(X * w[:, None], (y - p) / w, separated)


def _mean_log_loss(theta: Floats, X: Floats, y: Floats) -> float:
    from scipy.special import log_expit

    eta = X @ theta
    return float(-log_expit(np.where(y > 0.0, eta, -eta)).mean())
