"""Draws that share their coordinate along a direction, taken as one: kernels.

What `slices.merged` and the shares of a sample do in arrays, level by level, is done here in one pass. The sums are
double-doubles too, and differ from theirs by what these err.
"""

from __future__ import annotations

from typing import NamedTuple

from steinkit.discrepancy.graph.programs.chain_form_kernels import add, two_product, two_sum
from steinkit.runtime.compilation import array_kernel, inner_array_kernel
from steinkit.sample import Floats, Integers


class Points(NamedTuple):
    """Room for the distinct u, ascending, their mean of s.w, and their share of all weight as double-doubles."""

    u: Floats
    pull: Floats
    weight: Floats
    weight_low: Floats


@array_kernel
def merge_ties(along: Floats, pulls: Floats, weights: Floats, order: Integers, points: Points) -> int:
    """Fill the first places of `points` from draws in ascending order of u; returns how many these are."""
    count, total = 0, (0.0, 0.0)
    begin, n = order[0] * 0, len(order)
    while begin < n:
        here = along[order[begin]]
        mass, moment = (0.0, 0.0), (0.0, 0.0)
        end = begin
        while end < n and along[order[end]] == here:
            weight = weights[order[end]]
            mass = add(mass, (weight, 0.0))
            moment = add(moment, two_product(weight, pulls[order[end]]))
            end += 1
        points.u[count] = here
        points.pull[count] = pulls[order[begin]] if end == begin + 1 else _over(moment, mass)[0]
        points.weight[count] = mass[0]
        total = add(total, (mass[0], 0.0))
        count, begin = count + 1, end
    for k in range(count):
        points.weight[k], points.weight_low[k] = _over((points.weight[k], 0.0), total)
    return count


@inner_array_kernel
def _over(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    high = a[0] / b[0]
    product, error = two_product(high, b[0])
    rest = ((a[0] - product) - error) + (a[1] - high * b[1])
    quotient, low = two_sum(high, rest / b[0])
    return quotient, low
