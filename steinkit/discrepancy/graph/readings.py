"""Saturation: limits of ranking by the graph Stein discrepancy.

The Stein factors bound g by c1, its gradient by c2 and the Lipschitz constant of the gradient by c3.
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
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from steinkit.discrepancy.graph.spanner.geometry import Graph
from steinkit.sample import Floats

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

    The estimate is the geometric mean over the coordinates. Bounded coordinates, and coordinates whose scores point
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
