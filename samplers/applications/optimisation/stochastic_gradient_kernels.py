"""The compiled loop of stochastic gradient descent."""

from __future__ import annotations

import math

from steinkit.runtime.compilation import array_kernel
from steinkit.sample import Floats, Integers


@array_kernel
def descend(
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
    """Step once for each datum in the order given, in place.

    Parameters
    ----------
    theta : ndarray, shape (D,)
        Changed in place.
    features : ndarray, shape (N, D)
    responses : ndarray, shape (N,)
    order : ndarray of int, shape (m,)
    logistic : bool
        Logistic regression, or least absolute deviations.
    step_size, step_offset, decay : float
    steps_taken : int
        t of the first step.
    """
    dim = len(theta)
    for number, i in enumerate(order):
        eta = 0.0
        for j in range(dim):
            eta += features[i, j] * theta[j]
        slope = responses[i] - (1.0 / (1.0 + math.exp(-eta)) if logistic else eta)
        if not logistic:
            slope = (1.0 if slope > 0.0 else 0.0) - (1.0 if slope < 0.0 else 0.0)
        step = step_size * (step_offset + (steps_taken + number)) ** -decay * slope
        for j in range(dim):
            theta[j] += step * features[i, j]
