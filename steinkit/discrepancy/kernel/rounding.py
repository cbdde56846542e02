r"""A priori bound on the rounding error of a kernel Stein discrepancy.

The bound is computed in time O(n d).

The absolute values of the terms of k0(x_i, x_j) add up to at most

    F |b_i| |b_j| + G (|a_i| |b_j| + |a_j| |b_i|) + H |a_i| |a_j|,

with the Euclidean norms of b and the Frobenius norms of a. For a radial kernel phi(u) with u = r^2, the constants are

    F >= sup phi, G >= sup 2 r |phi'(r^2)|, H >= sup 2 |phi'| + sup 4 u |phi''|.

With B = sum_i w_i |b_i| and A = sum_i w_i |a_i|, the weighted sum over pairs factorizes into

    S = F B^2 + 2 G A B + H A^2.

At most M rounded operations, or errors of equal size, contribute to each term of the computed sum. Up to higher-order
terms, the error is therefore at most M eps S, with eps = 2^-53 [1]_. Upper bounds on the contributions to M are

- 3 d + 5 for the sums over dimensions;
- (2 + |beta|)(d + 8) + 24 for phi, phi' and phi'', computed from a squared distance with relative error (d + 3) eps. In
  an exponential exp(-e), the relative error of e is amplified by a factor of e, so F, G and H are suprema of functions
  multiplied by 1 + e;
- 2 n + 24 for both sums over the n points, in any order;
- 4 for the weights, which are rounded quotients;
- 64 for the boundary factors, b and all other operations. The terms of b_i add up to |b_i| as defined above.

The bound holds for all signs of the errors, so it is much larger than typical errors. Underflow adds less than 2^-1074
per operation on a pair or in the sum over pairs, times factors of at most 1 + F + G + H, |a|, |b| or the diameter D of
the points. In total, with the largest |a| and |b|, underflow adds at most 2^-1070 (M + n^2) (1 + F + G + H) (1 + |a| +
|b|)^2 (1 + D)^2.

References
----------
.. [1] N. J. Higham, "Accuracy and stability of numerical algorithms", 2nd ed., SIAM 2002, chapters 3 and 4.
"""

from __future__ import annotations

import math

import numpy as np

from steinkit.discrepancy.kernel.stein_kernel import SteinKernel
from steinkit.sample import Floats

_UNIT_ROUNDOFF = 2.0**-53
_HIGHER_ORDERS = 1.01
_TINY = 2.0**-1070


def pair_sum_rounding(stein: SteinKernel, weights: Floats, *, further: int = 0) -> float:
    """Return a bound on the rounding error of sum_ij w_i w_j k0(x_i, x_j).

    The bound holds with or without the pairs i = j.

    Parameters
    ----------
    stein : SteinKernel
    weights : ndarray, shape (n,)
        Non-negative weights.
    further : int
        Number of further operations on each term.

    Returns
    -------
    float
        The bound, which is infinite if it overflows. Points and scores are assumed to be exact, and the weights
        are assumed to be rounded once.
    """
    dim, n = stein.points.shape
    operations = 3 * dim + 5 + stein.base.conditioning() * (dim + 8) + 24.0 + 2 * n + 24 + 4 + 64 + further
    f, g, h = stein.base.suprema()
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        norms = np.sqrt(stein.squared_covariance())
        drift, covariance = float(weights @ stein.drift_size), float(weights @ norms)
        total = np.float64(f * drift) * drift + 2.0 * g * covariance * drift + h * covariance * covariance
        diameter = np.hypot.reduce(np.ptp(stein.points, axis=1))
        sizes = (1.0 + norms.max() + stein.drift_size.max()) * (1.0 + diameter)
        lost = _TINY * (operations + float(n) ** 2) * (1.0 + f + g + h) * sizes * sizes
        bound = float(_HIGHER_ORDERS * operations * _UNIT_ROUNDOFF * total + lost)
    return bound if math.isfinite(bound) else math.inf
