"""What is left of logarithms of gamma functions and densities when their large parts have cancelled.

With Gamma(z) = sqrt(2 pi / z) (z / e)^z exp(stirling_error(z)) the densities of gamma, beta and Student t laws near
their modes are products of factors of about one, for any parameters, where differences of log gamma functions of
parameters of 1e6 would leave ten digits [1]_.

References
----------
.. [1] C. Loader, "Fast and accurate computation of binomial probabilities", 2000.
"""

from __future__ import annotations

import math

import numpy as np

from steinkit.sample import Floats

_LARGE = 16.0
_SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)  # Bernoulli's, of 1/z^(2 k - 1)
_NEAR = 0.4
_ODD_TERMS = 24


def stirling_error(z: float) -> float:
    """log Gamma(z) - (z - 1/2) log z + z - log(2 pi) / 2, to within some 1e-16."""
    if z < _LARGE:
        return math.lgamma(z) - (z - 0.5) * math.log(z) + z - 0.5 * math.log(2.0 * math.pi)
    square, total = 1.0 / (z * z), 0.0
    for term in reversed(_SERIES):
        total = total * square + term
    return total / z


def log1p_minus(t: Floats) -> Floats:
    """log(1 + t) - t for t > -1, with a small relative error near 0 too.

    With r = t / (2 + t), log(1 + t) = 2 (r + r^3/3 + r^5/5 + ...) and t = 2 r / (1 - r).
    """
    t = np.asarray(t, dtype=np.float64)
    near = np.abs(t) < _NEAR
    r = np.where(near, t, 0.0) / (2.0 + np.where(near, t, 0.0))
    square, total = r * r, np.zeros_like(r)
    for k in range(_ODD_TERMS, 0, -1):
        total = total * square + 1.0 / (2 * k + 1)
    far = np.where(near, 0.0, t)
    return np.where(near, 2.0 * r * square * total - 2.0 * square / (1.0 - r), np.log1p(far) - far)
