r"""Weights of largest entropy under which Stein features have mean zero.

Of all weights w_i >= 0 of sum one with sum_i w_i phi(x_i) = 0, those nearest to the draws' own, q_i, by relative
entropy are

    w_i proportional to q_i exp(lambda . phi(x_i)),     lambda = argmin log sum_i q_i exp(lambda . phi(x_i)),

a convex problem, solved by Newton's method with a small ridge, which lets it have a solution where no such weights
exist. They mend every expectation at once; Kish's size 1 / sum_i w_i^2 says what they are worth: they cannot invent
draws where there are none.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from steinkit.runtime.deadlines import require_time
from steinkit.sample import Floats

_RIDGE = 1e-3
_STEPS = 60
_CONVERGED = 1e-10
_SMALLEST_STEP = 1e-6
_FAINT = 1e-30  # of the largest weight, below which a draw is left out
_DECREASE = 1e-4


def entropy_weights(features: Floats, shares: Floats) -> Floats:
    """Weights under which features have mean zero, as near to the shares as may be.

    Parameters
    ----------
    features : ndarray, shape (n, p)
        Of mean zero under the target.
    shares : ndarray, shape (n,)
        The draws' own probabilities.

    Returns
    -------
    ndarray, shape (n,)
        Of sum one.
    """
    mean = shares @ features
    scaled = features / np.sqrt(np.maximum(shares @ features**2 - mean**2, np.finfo(float).tiny))
    start = np.log(shares)

    def objective(multipliers: Floats) -> float:
        return float(logsumexp(start + scaled @ multipliers)) + 0.5 * _RIDGE * float(multipliers @ multipliers)

    multipliers = np.zeros(features.shape[1])
    value = objective(multipliers)
    for _ in range(_STEPS):
        require_time("weights were found")
        weights = _tilted(start + scaled @ multipliers)
        mean = weights @ scaled
        gradient = mean + _RIDGE * multipliers
        curvature = (scaled * weights[:, None]).T @ scaled - np.outer(mean, mean)
        curvature[np.diag_indices_from(curvature)] += _RIDGE
        step = np.linalg.solve(curvature, gradient)
        length = 1.0
        while objective(multipliers - length * step) > value - _DECREASE * length * (gradient @ step):
            length *= 0.5
            if length < _SMALLEST_STEP:
                return weights
        multipliers = multipliers - length * step
        before, value = value, objective(multipliers)
        if before - value < _CONVERGED:
            break
    return _tilted(start + scaled @ multipliers)


def _tilted(logarithms: Floats) -> Floats:
    weights = np.exp(logarithms - logarithms.max())
    weights[weights < _FAINT] = 0.0
    return np.asarray(weights / weights.sum())
