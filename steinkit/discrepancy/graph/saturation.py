"""Saturation: how near a graph Stein discrepancy is to its ceiling because draws lie too far apart, and what helps.

The Stein factors bound g by c1, its gradient by c2 and the gradient's Lipschitz constant by c3, so that g changes over
a length l = min(c2/c3, sqrt(c1/c3)). Where neighbours lie further apart, nothing holds g back: the value comes near

    sum_i q_i (c1 |s(x_i)| + c2)         summed over coordinates, the ceiling,

whatever the sample is, and a sample that is too narrow, whose scores are smaller, scores lower than a right one. A
sample that is simply far off comes near its ceiling, too, and that is no fault of the number. What tells the two apart
is what a *right* sample with as many draws would reach. For r, the median L1 distance to the nearest neighbour over l,
independent draws of N(0, I) reach about

    1.3 sqrt(r) of the ceiling in one dimension,     1.4 r in two and more

(measured for 10 to 8000 draws in one to five dimensions, and Stein factors 1, k, k^2 with k from 1/16 to 100, which is
coordinates in units 1/k times as large). Neighbours of a sample sqrt(a) times as wide as its target lie sqrt(a) times
further apart than those of a right one; a is what -(x - m) s is on average, 1 under the target.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from steinkit.discrepancy.graph.spanner.geometry import Graph
from steinkit.sample import Floats

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
