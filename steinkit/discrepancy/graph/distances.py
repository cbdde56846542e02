"""Bounds on Wasserstein distances from a graph Stein discrepancy.

Let h have Lipschitz constant 1. The Stein equation T g = h - E_P h has a solution g_h, and the difference E_Q h - E_P h
is the mean of T g_h under the sample. Suppose that all g_h have values bounded by c1, gradients bounded by c2, and
gradients with Lipschitz constant c3. Then g_h satisfies the constraints of every graph, so the graph discrepancy with
these Stein factors is an upper bound on the Wasserstein distance. Neither the dilation nor any other constant is
required, because fewer constraints only increase the discrepancy. For other Stein factors, the discrepancy is
multiplied by the largest ratio of the factors.

**One dimension.** Let F be the cdf and p the density. Integration by parts gives g_h, g_h' and g_h'' as integrals of
h'. The suprema over |h'| <= 1 at a point x are

    |g|   = ((1 - F) B + F A) / p,
    |g'|  = |1 + s (1 - F)/p| B + |1 - s F/p| A,
    |g''| = 1 + |s' (1 - F)/p - s (1 + s (1 - F)/p)| B + |s' F/p + s (1 - s F/p)| A,

where s is the score at x, B is the integral of F up to x, and A is the integral of 1 - F beyond x. The integrals are
computed on a grid.

**Strongly log-concave targets.** Let the Hessian of log p be at most -k I, and let L3 and L4 bound the operator norms
of its third and fourth derivatives. For the Langevin diffusion dZ = s(Z)/2 dt + dW with Z_0 = x, g_h is half the
gradient of the integral over t of E h(Z_t) - E_P h. Under synchronous coupling, the first three derivatives of Z_t with
respect to x are at most a = exp(-k t/2), (L3/k) (a - a^2), and (3 L3^2/(2 k^2)) a (1 - a)^2 + (L4/(2 k)) a (1 - a^2).
If M1, M2 and M3 bound the first derivatives of h and their Lipschitz constants, integration over t gives the Stein
factors

    c1 = M1/k,    c2 = (L3 M1/k^2 + M2/k) / 2,    c3 = ((L3^2/k^3 + 2 L4/(3 k^2)) M1 + L3 M2/k^2 + 2 M3/(3 k)) / 2.

These factors hold in Euclidean norms, and therefore in the norms of the graph discrepancy. Linear functions have M2 =
M3 = 0, which yields a bound on the errors of means. A function with Lipschitz constant 1 is replaced by its mean over a
normal distribution with standard deviation sigma in each coordinate. Then M1 = 1, M2 = sqrt(2/pi)/sigma, M3 = 4
phi(1)/sigma^2, and each of its means under P and Q changes by at most sigma E|N(0, I)|. The smallest bound over a grid
of sigma is used.

References
----------
.. [1] J. Gorham and L. Mackey, "Measuring sample quality with Stein's method", NeurIPS 2015, propositions 5 and 6.
.. [2] C. Döbler, "Stein's method of exchangeable pairs for the Beta distribution and generalizations", Electron. J.
   Probab. 20 (2015).
.. [3] L. Mackey and J. Gorham, "Multivariate Stein factors for a class of strongly log-concave distributions",
   Electron. Commun. Probab. 21 (2016).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steinkit.arguments import real_numbers
from steinkit.errors import UsageError
from steinkit.sample import Floats
from steinkit.target import Target

Factors = tuple[float, float, float]

_POINTS = 8001  # number of grid points in one dimension
_DEEP, _SHALLOW = 60.0, 18.0  # decrease of the log density at the ends of the grid and of the range of the suprema
_MARGIN = 1.0 + 1e-3  # covers the errors of the suprema on the grid
_FINEST = 0.1  # largest change of the log density between neighboring grid points
_STEPS = 100
_SIGMAS = np.geomspace(1e-3, 10.0, 200)  # in units of k^(-1/2)


@dataclass(frozen=True)
class DistanceBound:
    """Upper bounds on distances from a sample to its target, in raw units.

    Attributes
    ----------
    wasserstein : float
        Bound on the Wasserstein distance with Euclidean cost.
    means : float
        Bound on the Euclidean norm of the error in the mean vector.
    stein_factors : tuple of float
        Stein factors (c1, c2, c3) of the target in the units of the discrepancy. In one dimension, the discrepancy with
        these factors gives the smallest bound.
    assumptions : str
        Assumptions of the bounds, as text.
    """

    wasserstein: float
    means: float
    stein_factors: Factors
    assumptions: str


def allowed(upper: float, used: Factors, needed: Factors) -> float:
    """Return an upper bound on the discrepancy with other Stein factors."""
    return upper * max(a / b for a, b in zip(needed, used, strict=True))


def bound_on_line(upper: float, used: Factors, target: Target, points: Floats, scale: float) -> DistanceBound:
    """Return the bound in one dimension, from the density of the target.

    Parameters
    ----------
    upper : float
        Upper end of the bracket, in units of `scale`.
    used : tuple of float
        Stein factors of the discrepancy.
    target : Target
    points : ndarray, shape (n,)
        Raw points. The search for the tails of the target begins at these points.
    scale : float
        Unit of the discrepancy.

    Raises
    ------
    UsageError
        If the target has no log density, or if its Stein factors are infinite or cannot be computed.
    """
    c1, c2, c3 = factors_on_line(target, points)
    needed = c1 / scale**2, c2 / scale, c3
    bound = scale * allowed(upper, used, needed)
    assumptions = (
        "The Stein factors are computed numerically from the log density and the score, on a grid that covers the "
        "draws and the tails. Beyond this grid, the log density is assumed to decrease, and the derivatives of the "
        "Stein functions are assumed not to exceed their maxima on the grid."
    )
    return DistanceBound(bound, bound, needed, assumptions)


def factors_on_line(target: Target, points: Floats) -> Factors:
    """Return the Stein factors of a target in one dimension.

    The factors hold for all functions with Lipschitz constant 1, in raw units.
    """
    from scipy.integrate import cumulative_simpson

    x, log_p = _grid(target, points)
    s, h = target.score(x[:, None])[:, 0], float(x[1] - x[0])
    p = np.exp(log_p - log_p.max())
    below, above = cumulative_simpson(p, dx=h, initial=0.0), cumulative_simpson(p[::-1], dx=h, initial=0.0)[::-1]
    B = cumulative_simpson(below, dx=h, initial=0.0) / below[-1]
    A = cumulative_simpson(above[::-1], dx=h, initial=0.0)[::-1] / below[-1]
    left, right, bend = 1.0 + s * above / p, 1.0 - s * below / p, np.gradient(s, h, edge_order=2)
    sizes = np.stack([
        (above * B + below * A) / p,
        np.abs(left) * B + np.abs(right) * A,
        1.0 + np.abs(bend * above / p - s * left) * B + np.abs(bend * below / p + s * right) * A,
    ])  # fmt: skip
    inner, outer = (_span(log_p >= log_p.max() - depth) for depth in (0.5 * _SHALLOW, _SHALLOW))
    factors, inner_factors = sizes[:, outer].max(axis=1), sizes[:, inner].max(axis=1)
    if not (factors <= inner_factors * _MARGIN).all() or np.abs(s[outer]).max() * h > _FINEST:
        raise UsageError(
            f"the Stein factors of {target.label} are infinite or cannot be computed: its tails must decrease at least "
            "like those of a normal distribution, and the score must be finite at the bounds of the support"
        )
    c1, c2, c3 = map(float, factors * _MARGIN)
    return c1, c2, c3


def _span(chosen: np.typing.NDArray[np.bool_]) -> slice:
    """Return the range from the first to the last chosen point."""
    where = np.flatnonzero(chosen)
    return slice(int(where[0]), int(where[-1]) + 1)


def _grid(target: Target, points: Floats) -> tuple[Floats, Floats]:
    """Return a uniform grid that covers the target, and the log density on the grid.

    The grid begins with the range of the points. It is extended until it includes the tails and is then restricted to
    the range between them.
    """
    lower, upper = (-math.inf, math.inf) if target.bounds is None else map(float, target.bounds[0])
    low, high = max(float(points.min()) - 1e-3, lower), min(float(points.max()) + 1e-3, upper)
    for _ in range(_STEPS):
        x = np.linspace(low, high, _POINTS)
        x = x[(x > lower) & (x < upper)]
        log_p = target.log_density(x[:, None])
        near = _span(log_p >= log_p.max() - _DEEP)
        width, reached = high - low, (near.start > 0 or low == lower, near.stop < len(x) or high == upper)
        if all(reached):
            if near.stop - near.start > _POINTS // 2:
                return x, log_p
            low, high = float(x[max(near.start - 1, 0)]), float(x[min(near.stop, len(x) - 1)])
        else:
            low = low if reached[0] else max(low - 0.5 * width, lower)
            high = high if reached[1] else min(high + 0.5 * width, upper)
    raise UsageError(f"the tails of {target.label} decrease too slowly; Wasserstein distances cannot be bounded")


def bound_from_convexity(
    upper: float, used: Factors, derivatives: Factors, scale: Floats, bounds: Floats | None
) -> DistanceBound:
    """Return the bound for a strongly log-concave target.

    Parameters
    ----------
    upper : float
        Upper end of the bracket, in units of `scale`.
    used : tuple of float
        Stein factors of the discrepancy.
    derivatives : tuple of float
        Constants (k, L3, L4) of the log density, in raw units.
    scale : ndarray, shape (d,)
        Units of the discrepancy.
    bounds : ndarray, shape (d, 2), or None
        Bounds of the support, which must be infinite.

    Raises
    ------
    UsageError
        If the constants are not valid, or if the support is bounded.
    """
    expected = "a positive convexity and non-negative bounds on the third and fourth derivatives"
    values = real_numbers(derivatives, "the derivatives", expected)
    if not (np.isfinite(values).all() and values[0] > 0.0 and (values >= 0.0).all()):
        raise UsageError(f"a distance bound requires {expected}; got {derivatives}")
    if bounds is not None and np.isfinite(bounds).any():
        raise UsageError("a distance bound from the convexity requires an unbounded support; got finite bounds")
    k, third, fourth = values * np.array([scale.min() ** 2, scale.max() ** 3, scale.max() ** 4])

    def factors(m2: float, m3: float) -> Factors:
        on_slope, on_bend = third / k**2, third**2 / k**3 + 2.0 * fourth / (3.0 * k**2)
        return (
            float(1.0 / k),
            float(on_slope + m2 / k) / 2.0,
            float(on_bend + third * m2 / k**2 + 2.0 * m3 / (3.0 * k)) / 2.0,
        )

    dim, density_at_one = len(scale), math.exp(-0.5) / math.sqrt(2.0 * math.pi)
    moved = 2.0 * math.sqrt(2.0) * math.exp(math.lgamma(0.5 * (dim + 1)) - math.lgamma(0.5 * dim))  # 2 E|N(0, I)|
    choices = []
    for sigma in (_SIGMAS / math.sqrt(k)).tolist():
        needed = factors(math.sqrt(2.0 / math.pi) / sigma, 4.0 * density_at_one / sigma**2)
        choices.append((allowed(upper, used, needed) + moved * sigma, needed))
    best, needed = min(choices)
    largest = float(scale.max())
    assumptions = (
        f"The Hessian of the log density is assumed to be at most -{values[0]:g} times the identity, and its third and "
        f"fourth derivatives to be at most {values[1]:g} and {values[2]:g} in operator norm."
    )
    return DistanceBound(largest * best, largest * allowed(upper, used, factors(0.0, 0.0)), needed, assumptions)
