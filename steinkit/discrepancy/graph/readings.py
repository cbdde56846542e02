"""What the optimal g and the scores show of a sample: where it is off, and how near its ceiling the number is.

**Findings** say where a sample is off, in numbers read from the optimal g. The reading is heuristic. For a distribution
with a density, moving every point x a little along g(x) changes its Kullback-Leibler divergence from the target at the
rate of minus the mean of h = T_P g [1]_; the optimal g makes that mean largest among the functions admitted. So g
points from where draws lie to where they should lie, and the sample is off against it. The diffusion operator of a
covariance coefficient a is Langevin's applied to a g, which is then the flow; the directions are about its part
a_jj g_j, which has the sign of g_j.

What g shows of a right sample is noise, and a coordinate is off in its g as well where only a correlated one is wrong.
So a direction is said only where moments that are zero under the target say the same beyond chance. Given the other
coordinates they are the means of the score s_j, for a shift, and of 1 + c_j s_j, for the rest, with c = x - m.
Whatever the others are: if C is the covariance of the draws and A minus the mean of c s', a normal target has
covariance S = A^-1 C, and its mean is S times the mean score off. The mean of (S s)_j, and S_jj over C_jj with the
error of the mean of -(A^-1 c)_j (S' s)_j, leave out what is only correlated with something wrong. What is said of
modes, which S does not know, is said where the spread is further off than the coordinate's dependence on every other.

**Saturation** is how near the number is to its ceiling because draws lie too far apart. The Stein factors bound g by
c1, its gradient by c2 and the gradient's Lipschitz constant by c3, so that g changes over a length l =
min(c2/c3, sqrt(c1/c3)). Where neighbours lie further apart, nothing holds g back: the value comes near

    sum_i q_i (c1 |s(x_i)| + c2)         summed over coordinates, the ceiling,

whatever the sample is, and a sample that is too narrow, whose scores are smaller, scores lower than a right one. A
sample that is simply far off comes near its ceiling, too, and that is no fault of the number. What tells the two apart
is what a *right* sample with as many draws would reach. For r, the median L1 distance to the nearest neighbour over l,
independent draws of N(0, I) reach about

    1.3 sqrt(r) of the ceiling in one dimension,     1.4 r in two and more

(measured for 10 to 8000 draws in one to five dimensions, and Stein factors 1, k, k^2 with k from 1/16 to 100, which is
coordinates in units 1/k times as large). Neighbours of a sample sqrt(a) times as wide as its target lie sqrt(a) times
further apart than those of a right one; a is what -(x - m) s is on average, 1 under the target.

References
----------
.. [1] Q. Liu and D. Wang, "Stein variational gradient descent", NeurIPS 2016, theorem 3.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steinkit.containers.reading import as_sample
from steinkit.discrepancy.graph.spanner.geometry import Graph
from steinkit.discrepancy.moments import moment_stein_discrepancy
from steinkit.errors import InputError
from steinkit.sample import DistinctSample, Floats

_LEADING_DRAWS = 3
_SHOWN_NUMBERS = 4  # of a point
_CLEAR = 0.4  # share of a coordinate's discrepancy from which a shift or a stretch explains it
_PREVAILS = 2.0  # times the other part of the mean of h, from which one is worth a word
_SIGNIFICANT = 3.0  # standard errors


def moments_of(sample: DistinctSample, scores: Floats, bounds: Floats | None) -> tuple[Floats, Floats, Floats] | None:
    """How many standard errors moments of the coordinates are from zero, from the draws in their order.

    Returns
    -------
    location, spread : ndarray, shape (2, d)
        Negative where the draws are too high, and too wide: given the other coordinates in one row, whatever these are
        in the next.
    dependence : ndarray, shape (d,)
        Of each coordinate's dependences on others the one furthest from zero, without sign.

    None where there are too few draws, or a coordinate never changes.
    """
    rows = sample.inverse[sample.inverse >= 0]
    weights = (sample.weights / sample.counts)[rows]
    points, at_draws = sample.points[rows], scores[rows]
    try:
        found = moment_stein_discrepancy(as_sample(points), scores=at_draws, weights=weights, bounds=bounds)
    except InputError:
        return None
    kinds = np.array([feature.kind for feature in found.features])
    own = {kind: np.flatnonzero(kinds == kind) for kind in ("location", "spread")}
    location, spread = (found.z[own[kind]] for kind in ("location", "spread"))
    dependence = np.zeros(sample.dim)
    for feature, z in zip(found.features, found.z, strict=True):
        if feature.kind == "dependence":
            pair = list(feature.coordinates)
            dependence[pair] = np.maximum(dependence[pair], abs(z))
    if bounds is not None:  # where the score itself does not have mean zero
        return np.stack([location, location]), np.stack([spread, spread]), dependence
    p, unit = weights / weights.sum(), found.units.scale
    centred, pulls = (points - p @ points) / unit, at_draws * unit
    times = found.autocorrelation_time
    try:
        inverse = np.linalg.inv(-(p[:, None] * centred).T @ pulls)
    except np.linalg.LinAlgError:
        return None
    covariance = inverse @ ((p[:, None] * centred).T @ centred)
    shift = _z(pulls @ covariance.T, p, times[own["location"]].max())
    lost = _z(-(centred @ inverse.T) * (pulls @ covariance), p, times[own["spread"]].max())  # S_jj over its error
    ratio = np.maximum(np.diag(covariance), np.finfo(float).tiny)  # of S_jj to C_jj, on whose logarithm errors are even
    return np.stack([location, shift]), np.stack([spread, np.log(ratio) * lost]), dependence


def _z(values: Floats, p: Floats, autocorrelation_time: float) -> Floats:
    """Weighted means over their standard errors, coordinate by coordinate; 0 for what does not change."""
    mean = p @ values
    with np.errstate(over="ignore"):  # an infinite error makes it 0
        error = np.sqrt(autocorrelation_time * (p**2 @ (values - mean) ** 2))
    return np.divide(mean, error, out=np.zeros_like(mean), where=error > 0.0)


def confirmed(location: Floats, spread: Floats, dependence: Floats) -> dict[str, NDArray[np.bool_]]:
    """For each direction the coordinates whose moments, as `moments_of` has them, say the same beyond chance."""
    needed = np.maximum(_SIGNIFICANT, dependence)
    return {
        "high": (-location >= _SIGNIFICANT).all(axis=0),
        "low": (location >= _SIGNIFICANT).all(axis=0),
        "wide": (-spread >= _SIGNIFICANT).all(axis=0),
        "narrow": (spread >= _SIGNIFICANT).all(axis=0),
        "strays": -spread[0] >= needed,
        "crowds": spread[0] >= needed,
    }


@dataclass(frozen=True)
class LeadingDraw:
    """A point with much influence on the mean of h.

    Attributes
    ----------
    draw, count : int
        The first draw there, counted from one, and the number of draws.
    point : ndarray, shape (d,)
    h : float
    """

    draw: int
    count: int
    point: Floats
    h: float

    def __str__(self) -> str:
        shown = [f"{value:.4g}" for value in self.point[:_SHOWN_NUMBERS]]
        shown += ["..."] if len(self.point) > _SHOWN_NUMBERS else []
        repeats = f" ({self.count} times)" if self.count > 1 else ""
        return f"draw {self.draw}{repeats} at ({', '.join(shown)}), h = {self.h:+.3g}"


def influences(sample: DistinctSample, h: Floats) -> tuple[tuple[LeadingDraw, ...], int]:
    """Which draws weigh most in the mean of h, by q_i |h_i|, and on how many points half of the influence lies."""
    influence = sample.weights * np.abs(h)
    leaders = np.argsort(-influence, kind="stable")[:_LEADING_DRAWS]
    columns = (sample.first[leaders] + 1).tolist(), sample.counts[leaders].tolist(), sample.points[leaders]
    half = np.searchsorted(np.cumsum(np.sort(influence)[::-1]), 0.5 * influence.sum()) + 1
    return tuple(map(LeadingDraw, *columns, h[leaders].tolist())), int(half)


@np.errstate(over="ignore", invalid="ignore")  # unclear is what is no number
def direction(
    weights: Floats, x: Floats, flow: Floats, drift: Floats, uphill: Floats, own: float, carried: float
) -> str:
    """Which way a coordinate of the sample is off: the part of the flow g_j that carries its discrepancy.

    The flow's best fit a + b (x_j - mean) splits off what a plain shift and a plain stretch contribute to the mean of
    h: a times the mean score, and b times 1 + the mean of (x_j - mean) times the score; with a diffusion operator, a
    times the mean drift, and b times the mean of a_jj + (x_j - mean) times the drift. Where neither explains it, as
    with several modes, what is left is which part of the mean of h prevails: <flow, score>, a flow that climbs the
    density, or its divergence, one that spreads.

    Parameters
    ----------
    weights, x, flow, drift, uphill : ndarray, shape (n,)
        Of the points: weights, x_j, g_j, what multiplies g_j in T_P g, and what of that is the score.
    own : float
        The mean of a_jj; 1 for Langevin's operator.
    carried : float
        What the coordinate carries of the discrepancy.

    Returns
    -------
    {"high", "low", "wide", "narrow", "strays", "crowds", "unclear"}
    """
    centred = x - weights @ x
    shift, variance = float(weights @ flow), float(weights @ centred**2)
    stretch = float(weights @ (centred * flow)) / variance if variance > 0.0 else 0.0
    by_shift = shift * float(weights @ drift)
    by_stretch = stretch * (own + float(weights @ (centred * drift)))
    if not (math.isfinite(by_shift) and math.isfinite(by_stretch)):
        return "unclear"
    if max(by_shift, by_stretch) < _CLEAR * carried:
        climb = float(weights @ (flow * uphill))
        divergence = carried - climb
        if climb > _PREVAILS * divergence:
            return "strays"
        return "crowds" if divergence > _PREVAILS * climb else "unclear"
    if by_shift >= by_stretch:
        return "high" if shift < 0.0 else "low"
    return "wide" if stretch < 0.0 else "narrow"


_AT_UNIT_SPACING = (1.3, 1.4)  # of the ceiling, in one dimension and in more
_REACHED, _EXPECTED = 0.2, 0.25  # shares of the ceiling; sd .9 scores .93 times sd 1 at .43 in three dimensions
_EXPECTED_ON_A_LINE = 0.4  # where sd .9 still scores more than sd 1 on average
_EITHER_FROM_FIVE = 0.1  # in ten dimensions sd .9 scores .88 times sd 1 at .15
_FACTORS_HELP_BELOW = 5  # dimensions: from five on narrow samples score lower at any Stein factors
_MOST_DRAWS = 20_000  # worth advising
_SMALLEST_FACTOR = 1e-300


def spacing(graph: Graph, stein_factors: tuple[float, float, float]) -> float:
    """Median distance to the nearest neighbour, in units of the length over which g changes; 0 for a single point."""
    if not len(graph.edges):
        return 0.0
    value, gradient, smoothness = stein_factors
    nearest = np.full(graph.n_points, np.inf)
    for end in graph.edges.T:
        np.minimum.at(nearest, end, graph.lengths)
    return float(np.median(nearest)) * max(smoothness / gradient, math.sqrt(smoothness) / math.sqrt(value))


def width_over_target(weights: Floats, points: Floats, scores: Floats, bounds: Floats | None) -> float:
    """How many times as wide as its target a sample is by its scores, the geometric mean over coordinates.

    Bounded coordinates, and those along which the scores lead away from the mean, count as right.
    """
    centred = points - weights @ points
    with np.errstate(over="ignore", invalid="ignore"):
        ratios = -(weights @ (centred * scores))
    if bounds is not None:
        ratios = np.where(np.isfinite(bounds).any(axis=1), 1.0, ratios)
    ratios = np.where(np.isfinite(ratios) & (ratios > 0.0), ratios, 1.0)
    return float(np.exp(0.5 * np.log(ratios).mean()))


def expected_saturation(right_spacing: float, dim: int) -> float:
    """Share of the ceiling that a right sample of this spacing reaches, about."""
    in_one, in_more = _AT_UNIT_SPACING
    return min(1.0, in_one * math.sqrt(right_spacing) if dim == 1 else in_more * right_spacing)


def is_saturated(reached: float, expected: float, dim: int) -> bool:
    """Whether samples must not be ordered by a value that reaches a share of its ceiling, where that is expected."""
    if dim >= _FACTORS_HELP_BELOW:
        return min(reached, expected) > _EITHER_FROM_FIVE
    return reached > _REACHED and expected > (_EXPECTED_ON_A_LINE if dim == 1 else _EXPECTED)


def advice(right_spacing: float, n: int, dim: int, stein_factors: tuple[float, float, float]) -> list[str]:
    """What brings the ceiling away: Stein factors under which neighbours are near enough, and draws that are.

    Returns
    -------
    list of str
        Such as "Stein factors 1,0.48,0.23" and "about 9000 draws", or "larger units" where factors would underflow;
        empty in many dimensions, where neither helps.
    """
    if dim >= _FACTORS_HELP_BELOW:
        return []
    near = (_REACHED / _AT_UNIT_SPACING[0]) ** 2 if dim == 1 else _REACHED / _AT_UNIT_SPACING[1]
    value, gradient, smoothness = stein_factors
    ratio = near / right_spacing
    if min(ratio, gradient * ratio, smoothness * ratio**2) < _SMALLEST_FACTOR:
        return ["larger units"]
    smaller = (_two_digits(factor, math.floor) for factor in (gradient * ratio, smoothness * ratio**2))
    found = [f"Stein factors {','.join(f'{factor:g}' for factor in (value, *smaller))}"]
    if math.log(n) - dim * math.log(ratio) <= math.log(_MOST_DRAWS):  # the power itself may overflow
        found.append(f"about {_two_digits(n * ratio**-dim, math.ceil):g} draws")
    return found


def _two_digits(number: float, rounded: Callable[[float], int]) -> float:
    """A number to two significant digits, rounded down or up."""
    unit = 10.0 ** (math.floor(math.log10(number)) - 1)
    return rounded(number / unit) * unit
