r"""How far rounding can carry a kernel Stein discrepancy from the number it stands for, proved beforehand in O(n d^2).

Every k0(x_i, x_j) is a sum of terms, and the terms' absolute values add up to at most

    F |b_i| |b_j| + G (|a_i| |b_j| + |a_j| |b_i|) + H |a_i| |a_j|,

with Euclidean norms of b, Frobenius norms of a, and, for a radial kernel phi(u) with u = r^2,

    F >= sup phi,      G >= sup 2 r |phi'(r^2)|,      H >= sup 2 |phi'| + sup 4 u |phi''|.

Summed over pairs with weights this factorises, with B = sum_i w_i |b_i| and A = sum_i w_i |a_i|, into

    S = F B^2 + 2 G A B + H A^2.

Each term of the computed sum has passed at most M rounded operations, or loses as much as M of them would, so that the
error is at most M eps S up to higher orders, eps = 2^-53 (Higham 2002, chapters 3 and 4). M counts, generously:

- the sums over dimensions, 3 d + 5, and d^2 more where a is a full matrix;
- phi, phi' and phi'' from a squared distance of relative error (d + 3) eps: (2 + |beta|)(d + 8) + 24. For an
  exponential exp(-e) an error in e costs e times as much, relatively: F, G and H are then suprema with a factor 1 + e;
- both sums over the n points, in any order: 2 n + 24;
- the weights, doubles next to quotients: 4;
- the boundary factors, b and the rest: 64. The terms that b_i is computed from add up to |b_i| above.

No assumption is made on how the errors' signs fall, hence the bracket is far wider than the errors met in practice.
What underflows loses less than 2^-1074 besides, in a product whose other factors are at most 1 + F + G + H, |a|, |b| or
the diameter D of the points, as often as there are operations: in a pair, and in the sums over pairs. With largest |a|
and |b| that is at most 2^-1070 (M + n^2) (1 + F + G + H) (1 + |a| + |b|)^2 (1 + D)^2.

References
----------
N. J. Higham (2002), Accuracy and Stability of Numerical Algorithms, 2nd ed., SIAM.
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
    """Largest possible rounding error of sum_ij w_i w_j k0(x_i, x_j), or of that sum over i != j.

    Parameters
    ----------
    stein : SteinKernel
    weights : ndarray, shape (n,)
        Not negative.
    further : int
        Operations that each term passes besides those counted here.

    Returns
    -------
    float
        Infinite where the sum of absolute values overflows. Points, scores and the operator's coefficients are taken as
        exact, weights as rounded once.
    """
    dim, n = stein.points.shape
    dimensions = 3 * dim + 5 + (dim * dim if len(stein.covariance) > dim else 0)
    radial = stein.base.conditioning() * (dim + 8) + 24.0
    operations = dimensions + radial + 2 * n + 24 + 4 + 64 + further
    return float(_HIGHER_ORDERS * operations * _UNIT_ROUNDOFF * _absolute_sum(stein, weights)) + _lost_below(
        stein, operations
    )


def _lost_below(stein: SteinKernel, operations: float) -> float:
    """What underflows, see the module's docstring."""
    with np.errstate(over="ignore", invalid="ignore"):
        diameter = float(np.hypot.reduce(np.ptp(stein.points, axis=1)))
        sizes = 1.0 + float(np.sqrt(stein.squared_covariance().max())) + float(stein.drift_size.max())
        largest = np.float64(1.0 + sum(stein.base.suprema())) * sizes * sizes * (1.0 + diameter) * (1.0 + diameter)
        lost = float(_TINY * (operations + float(len(stein)) ** 2) * largest)
    return lost if math.isfinite(lost) else math.inf


def _absolute_sum(stein: SteinKernel, weights: Floats) -> float:
    """S of the module's docstring."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        drift = float(weights @ stein.drift_size)
        covariance = float(weights @ np.sqrt(stein.squared_covariance()))
        f, g, h = stein.base.suprema()
        total = float(np.float64(f * drift) * drift + 2.0 * g * covariance * drift + h * covariance * covariance)
    return total if math.isfinite(total) else math.inf
