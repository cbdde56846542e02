"""Interpretation of the optimal Stein function: direction and saturation.

**Direction.** Consider a distribution with a density. If every point x is moved slightly along g(x), the
Kullback-Leibler divergence from the target decreases at a rate equal to the mean of h = T_P g [1]_. The optimal g
maximizes this mean, so it points from the draws towards the target. This interpretation is heuristic. A diffusion
operator with covariance coefficient a is the Langevin operator applied to the flow a g. The direction then refers to
the part a_jj g_j of this flow.

For exact draws, g is pure noise. In addition, g_j may respond to a bias in a correlated coordinate. A direction is
therefore reported only if moments with mean zero under the target confirm it at three standard errors. These moments
are the means of the score s_j (location) and of 1 + c_j s_j with c = x - m (spread), and variants of these means that
adjust for the other coordinates. Let C be the covariance of the draws, and let A be the negative of the mean of c s'. A
normal target has covariance S = A^-1 C, and its mean differs from the sample mean by S times the mean score. The
corresponding statistics are the mean of (S s)_j and log S_jj/C_jj. The standard error of log S_jj/C_jj is that of the
mean of -(A^-1 c)_j (S' s)_j. The directions "strays" and "crowds", which describe modes, are reported if the spread
statistic exceeds all dependence statistics of the coordinate.

**Saturation.** The Stein factors bound g by c1, its gradient by c2 and the Lipschitz constant of the gradient by c3.
Therefore, g varies on the length scale l = min(c2/c3, sqrt(c1/c3)). If the distances between neighboring draws are
larger than l, the constraints do not bind. The discrepancy of any sample then approaches its ceiling

    sum_i q_i (c1 |s(x_i)| + c2), summed over the coordinates.

A sample that is too narrow has smaller scores and a lower ceiling, so its discrepancy may be smaller than that of exact
draws. The discrepancy of a strongly biased sample also approaches its ceiling. This behavior is not a defect of the
measure. The two cases differ in the value that an exact sample of the same size would reach. Let r be the median L1
distance to the nearest neighbor, in units of l. Independent draws from N(0, I) reach about

    1.3 sqrt(r) of the ceiling in one dimension, and 1.4 r in two or more dimensions

(measured for 10 to 8000 draws in one to five dimensions, and Stein factors 1, k, k^2 with k from 1/16 to 100). Let a be
the mean of -(x - m) s, which is 1 under the target. If a sample is sqrt(a) times as wide as the target, its
nearest-neighbor distances are sqrt(a) times those of exact draws.

References
----------
.. [1] Q. Liu and D. Wang, "Stein variational gradient descent", NeurIPS 2016, theorem 3.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from steinkit.containers.reading import as_sample
from steinkit.discrepancy.graph.spanner.geometry import Graph
from steinkit.discrepancy.moments import moment_stein_discrepancy
from steinkit.errors import InputError
from steinkit.sample import DistinctSample, Floats

_LEADING_DRAWS = 3
_SHOWN_NUMBERS = 4  # number of coordinates printed per point
_CLEAR = 0.4  # fraction of a coordinate's discrepancy that a shift or rescaling must explain
_PREVAILS = 2.0  # the larger part of the mean of h is reported if the ratio of the parts exceeds this value
_SIGNIFICANT = 3.0  # in standard errors


def moments_of(sample: DistinctSample, scores: Floats, bounds: Floats | None) -> tuple[Floats, Floats, Floats] | None:
    """Return z statistics for the location, spread and dependence of coordinates.

    Returns
    -------
    location, spread : ndarray, shape (2, d)
        Marginal statistics, followed by statistics that account for the other coordinates. The statistics are negative
        if the draws are too high or too wide.
    dependence : ndarray, shape (d,)
        Largest absolute dependence statistic of each coordinate.

    Returns None if there are too few draws or if a coordinate is constant.
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
    if bounds is not None:  # centered because the score does not have mean zero
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
    lost = _z(-(centred @ inverse.T) * (pulls @ covariance), p, times[own["spread"]].max())  # S_jj divided by its error
    # S_jj/C_jj on a log scale, where errors are symmetric
    ratio = np.maximum(np.diag(covariance), np.finfo(float).tiny)
    return np.stack([location, shift]), np.stack([spread, np.log(ratio) * lost]), dependence


def _z(values: Floats, p: Floats, autocorrelation_time: float) -> Floats:
    """Return weighted means divided by their standard errors, per coordinate.

    The ratio is 0 for constant columns.
    """
    mean = p @ values
    with np.errstate(over="ignore"):  # an infinite error yields 0
        error = np.sqrt(autocorrelation_time * (p**2 @ (values - mean) ** 2))
    return np.divide(mean, error, out=np.zeros_like(mean), where=error > 0.0)


def confirmed(location: Floats, spread: Floats, dependence: Floats) -> dict[str, NDArray[np.bool_]]:
    """Return a mask of the confirmed coordinates for each direction."""
    needed = np.maximum(_SIGNIFICANT, dependence)
    return {
        "high": (-location >= _SIGNIFICANT).all(axis=0),
        "low": (location >= _SIGNIFICANT).all(axis=0),
        "wide": (-spread >= _SIGNIFICANT).all(axis=0),
        "narrow": (spread >= _SIGNIFICANT).all(axis=0),
        "strays": -spread[0] >= needed,
        "crowds": spread[0] >= needed,
    }


def influences(sample: DistinctSample, h: Floats) -> tuple[list[str], int]:
    """Describe the points with the largest q_i |h_i|.

    Also return the number of points that account for half of the total.
    """
    influence = sample.weights * np.abs(h)
    described = []
    for i in np.argsort(-influence, kind="stable")[:_LEADING_DRAWS]:
        point = [f"{value:.4g}" for value in sample.points[i, :_SHOWN_NUMBERS]]
        point += ["..."] if sample.dim > _SHOWN_NUMBERS else []
        repeats = f" ({sample.counts[i]} times)" if sample.counts[i] > 1 else ""
        described.append(f"draw {sample.first[i] + 1}{repeats} at ({', '.join(point)}), h = {h[i]:+.3g}")
    half = np.searchsorted(np.cumsum(np.sort(influence)[::-1]), 0.5 * influence.sum()) + 1
    return described, int(half)


def direction(
    weights: Floats, x: Floats, flow: Floats, drift: Floats, uphill: Floats, own: float, carried: float
) -> str:
    """Classify the flow g_j of a coordinate.

    The classes are shifts, rescalings, and flows towards higher or lower density. The contributions of a shift and of a
    rescaling to the mean of h follow from a least-squares fit a + b (x_j - mean) to the flow. The contributions are a
    E[drift] and b E[a_jj + (x_j - mean) drift], where E denotes the mean over the draws. With the Langevin operator,
    the drift is the score, and a_jj = 1. If neither contribution explains the discrepancy, as is common for multimodal
    targets, the larger of two parts of the mean of h determines the class. The parts are <flow, score> for a flow
    towards higher density, and the divergence for a flow that spreads the draws.

    Parameters
    ----------
    weights, x, flow, drift, uphill : ndarray, shape (n,)
        Weights, x_j, g_j, the factor of g_j in T_P g, and the part of this factor that is due to the score.
    own : float
        Mean of a_jj, which is 1 for the Langevin operator.
    carried : float
        Discrepancy of the coordinate.

    Returns
    -------
    {"high", "low", "wide", "narrow", "strays", "crowds", "unclear"}
    """
    centred = x - weights @ x
    shift, variance = float(weights @ flow), float(weights @ centred**2)
    stretch = float(weights @ (centred * flow)) / variance if variance > 0.0 else 0.0
    by_shift = shift * float(weights @ drift)
    by_stretch = stretch * (own + float(weights @ (centred * drift)))
    if max(by_shift, by_stretch) < _CLEAR * carried:
        climb = float(weights @ (flow * uphill))
        divergence = carried - climb
        if climb > _PREVAILS * divergence:
            return "strays"
        return "crowds" if divergence > _PREVAILS * climb else "unclear"
    if by_shift >= by_stretch:
        return "high" if shift < 0.0 else "low"
    return "wide" if stretch < 0.0 else "narrow"


_AT_UNIT_SPACING = (1.3, 1.4)  # fractions of the ceiling for r = 1 in one dimension and in higher dimensions
# limits in 2 to 4 dimensions; at 0.43 in 3 dimensions, reducing the sd from 1 to 0.9 lowers the value by 7%
_REACHED, _EXPECTED = 0.2, 0.25
_EXPECTED_ON_A_LINE = 0.4  # limit in one dimension, where the value is on average still larger for sd 0.9 than for sd 1
# limit in 5 or more dimensions; at 0.15 in 10 dimensions, reducing the sd from 1 to 0.9 lowers the value by 12%
_EITHER_FROM_FIVE = 0.1
_FACTORS_HELP_BELOW = 5  # in five or more dimensions, narrow samples have smaller values for any Stein factors
_MOST_DRAWS = 20_000  # largest recommended number of draws


def spacing(graph: Graph, stein_factors: tuple[float, float, float]) -> float:
    """Return the median nearest-neighbor distance relative to the scale of g.

    For a single point, 0 is returned.
    """
    if not len(graph.edges):
        return 0.0
    value, gradient, smoothness = stein_factors
    nearest = np.full(graph.n_points, np.inf)
    for end in graph.edges.T:
        np.minimum.at(nearest, end, graph.lengths)
    return float(np.median(nearest)) * max(smoothness / gradient, math.sqrt(smoothness) / math.sqrt(value))


def width_over_target(weights: Floats, points: Floats, scores: Floats, bounds: Floats | None) -> float:
    """Estimate the width of a sample, relative to the target, from its scores.

    The estimate is the geometric mean over the coordinates. Bounded coordinates, and coordinates with scores that point
    away from the mean, are assigned a width of 1.
    """
    ratios = -(weights @ ((points - weights @ points) * scores))
    if bounds is not None:
        ratios = np.where(np.isfinite(bounds).any(axis=1), 1.0, ratios)
    ratios = np.where(ratios > 0.0, ratios, 1.0)
    return float(np.exp(0.5 * np.log(ratios).mean()))


def expected_saturation(exact_spacing: float, dim: int) -> float:
    """Return the approximate fraction of the ceiling that exact draws reach."""
    in_one, in_more = _AT_UNIT_SPACING
    return min(1.0, in_one * math.sqrt(exact_spacing) if dim == 1 else in_more * exact_spacing)


def is_saturated(reached: float, expected: float, dim: int) -> bool:
    """Return True if samples must not be ranked.

    The decision depends on the observed and expected fractions of the ceiling.
    """
    if dim >= _FACTORS_HELP_BELOW:
        return min(reached, expected) > _EITHER_FROM_FIVE
    return reached > _REACHED and expected > (_EXPECTED_ON_A_LINE if dim == 1 else _EXPECTED)


def advice(exact_spacing: float, n: int, dim: int, stein_factors: tuple[float, float, float]) -> list[str]:
    """Return remedies for saturation.

    The remedies are smaller Stein factors or more draws.

    Returns
    -------
    list of str
        The remedies, such as "Stein factors 1,0.48,0.23" and "about 9000 draws", or "larger units" if the factors would
        be too small. The list is empty in five or more dimensions.
    """
    if dim >= _FACTORS_HELP_BELOW:
        return []
    near = (_REACHED / _AT_UNIT_SPACING[0]) ** 2 if dim == 1 else _REACHED / _AT_UNIT_SPACING[1]
    value, gradient, smoothness = stein_factors
    ratio = near / exact_spacing
    if min(ratio, gradient * ratio, smoothness * ratio**2) < 1e-300:
        return ["larger units"]
    smaller = (_two_digits(factor, math.floor) for factor in (gradient * ratio, smoothness * ratio**2))
    found = [f"Stein factors {','.join(f'{factor:g}' for factor in (value, *smaller))}"]
    if math.log(n) - dim * math.log(ratio) <= math.log(_MOST_DRAWS):  # the power may overflow
        found.append(f"about {_two_digits(n * ratio**-dim, math.ceil):g} draws")
    return found


def _two_digits(number: float, rounded: Callable[[float], int]) -> float:
    """Round a number up or down to two significant digits."""
    unit = 10.0 ** (math.floor(math.log10(number)) - 1)
    return rounded(number / unit) * unit
