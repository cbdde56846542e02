"""Stochastic gradient descent with annealed steps, a baseline that reads one data point per step.

The steps are

    theta_{t+1} = theta_t - C_1 (C_2 + t)^-C_3 grad loss_i(theta_t),        t = 0, 1, ...,

where i is the next data point in a random order of all the data, with a new order in each pass. The gradients of the
losses are

    grad |y_i - x_i'theta| = -sign(y_i - x_i'theta) x_i,        grad -log P(y_i | x_i, theta) = -(y_i - p_i) x_i.

The constants C_1, C_2 and C_3 must be tuned for every problem.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numba
import numpy as np
from applications.irls import loss_named, regression_data, start_vector
from numpy.typing import ArrayLike

from steinkit.arguments import number, positive, whole
from steinkit.errors import InputError
from steinkit.result import Brief
from steinkit.sample import Floats, Integers


@dataclass(frozen=True, eq=False, repr=False)
class StochasticGradientResult(Brief):
    """Path of stochastic gradient descent.

    Attributes
    ----------
    coefficients : ndarray, shape (D,)
        Final coefficients. Their distance to the minimum is not known.
    path : ndarray, shape (R, D)
        Coefficients after equal numbers of data points.
    data_passes : ndarray, shape (R,)
        Cumulative number of data points read, in multiples of N.
    seconds : ndarray, shape (R,)
        Time elapsed since the start.
    """

    coefficients: Floats
    path: Floats
    data_passes: Floats
    seconds: Floats


def stochastic_gradient_descent(
    X: ArrayLike,
    y: ArrayLike,
    *,
    loss: str = "lad",
    step_size: float,
    step_offset: float = 1.0,
    decay: float = 0.5,
    passes: int = 1,
    records: int = 20,
    start: ArrayLike | None = None,
    rng: int | np.random.Generator | None = 0,
) -> StochasticGradientResult:
    """Fit least absolute deviations or logistic regression by stochastic gradient descent.

    Parameters
    ----------
    X : array_like, shape (N, D)
        Features. A model with an intercept requires a column of ones.
    y : array_like, shape (N,)
        Responses. For logistic regression, they must have two values, either 0 and 1 or -1 and +1.
    loss : str
        Loss, "lad" for least absolute deviations or "logistic" for logistic regression.
    step_size, step_offset, decay : float
        Constants C_1 and C_2, which must be positive, and C_3, which must be in [0, 1].
    passes : int
        Number of passes over the data.
    records : int
        Number of coefficient vectors to keep per pass.
    start : array_like, shape (D,), optional
        Initial coefficients. By default, they are zeros.
    rng : int, numpy.random.Generator or None
        Seed or generator for the random order of the data.

    Returns
    -------
    StochasticGradientResult
        Final coefficients and the path.

    Raises
    ------
    UsageError
        If an option is out of range.
    InputError
        If a value is not finite, if the shapes disagree, or if the coefficients diverge.

    Notes
    -----
    The paper uses (C_1, C_2, C_3) = (0.01, 1, 0.5) for least absolute deviations, and (1, 10, 0.7) for logistic
    regression.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2016), "Sequential tests for large-scale learning", section 4.1.
    """
    positive(step_size, "step_size")
    positive(step_offset, "step_offset")
    number(decay, "decay", lambda c: 0.0 <= c <= 1.0, "in [0, 1]")
    whole(passes, "passes", 1)
    whole(records, "records", 1)
    features, responses = regression_data(X, y)
    responses = loss_named(loss, responses, 1.0).responses
    features = np.ascontiguousarray(features)
    N, generator = len(features), np.random.default_rng(rng)
    theta, t = start_vector(start, features.shape[1]), 0
    path, read, seconds = [], [], []
    # The function is compiled before the time is measured.
    _descend(theta, features, responses, np.empty(0, np.int64), loss == "logistic", 1.0, 1.0, 1.0, 0)
    began = time.perf_counter()
    for _ in range(passes):
        order = generator.permutation(N)
        for part in np.array_split(order, min(records, N)):
            _descend(theta, features, responses, part, loss == "logistic", step_size, step_offset, decay, t)
            t += len(part)
            if not np.isfinite(theta).all():
                raise InputError(
                    f"stochastic gradient descent diverged within {t} steps; use a smaller step_size, or standardize "
                    "the columns of X"
                )
            path.append(theta.copy())
            read.append(t / N)
            seconds.append(time.perf_counter() - began)
    return StochasticGradientResult(theta, np.array(path), np.array(read), np.array(seconds))


@numba.njit(error_model="numpy")
def _descend(
    theta: Floats,
    features: Floats,
    responses: Floats,
    order: Integers,
    logistic: bool,
    step_size: float,
    step_offset: float,
    decay: float,
    steps_taken: int,
) -> None:
    """Take one step per data point in the given order, in place.

    Parameters
    ----------
    theta : ndarray, shape (D,)
        Coefficients, which are changed in place.
    features : ndarray, shape (N, D)
        Features of all the data points.
    responses : ndarray, shape (N,)
        Responses of all the data points.
    order : ndarray of int, shape (m,)
        Indices of the data points of the steps.
    logistic : bool
        If True, the loss is that of logistic regression; otherwise, it is that of least absolute deviations.
    step_size, step_offset, decay : float
        Constants C_1, C_2 and C_3.
    steps_taken : int
        Value of t for the first step.
    """
    dim = len(theta)
    for further, i in enumerate(order):
        eta = 0.0
        for j in range(dim):
            eta += features[i, j] * theta[j]
        slope = responses[i] - (1.0 / (1.0 + math.exp(-eta)) if logistic else eta)
        if not logistic:
            slope = (1.0 if slope > 0.0 else 0.0) - (1.0 if slope < 0.0 else 0.0)
        step = step_size * (step_offset + (steps_taken + further)) ** -decay * slope
        for j in range(dim):
            theta[j] += step * features[i, j]
