"""Compiled kernels for the chain form: the recursion and the costate bound.

Lengths and weights are double-doubles (`steinkit.double_double`) because rounding the data may change the optimum
noticeably if points are close or weights are large. The relative errors of the operations are less than 2^-102.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from steinkit.double_double import plus, times, two_product, two_sum
from steinkit.runtime.compilation import array_kernel, inner_array_kernel, on_lists
from steinkit.sample import Floats, Integers

FREE, BOUNDED, EDGE, LIPSCHITZ_EDGE = 0, 1, 2, 3
"""Kinds of nodes: a free start, a start from a bound, the end of an edge, and the end of an edge with a
function-Lipschitz row.
"""

ROWS = 5
"""Rows of each node: the value box, the slope box, the forward residual a, the backward residual e, and the chord."""

SMALLEST_BOX = 2.0**-1000
"""A bound on |gamma| below this value is replaced by zero in lower bounds and by this value in upper bounds."""

_SMALLEST = 2.0**-1074  # twice the largest error of a product that underflows
FAR_UNDERFLOW = 2.0**-1072
"""Largest error of the radius c3 t^2 / 2 at the far bound, divided by 1 + c3."""

_DOUBLE_DOUBLE = 2.0**-100  # bound on the relative error of a double-double operation
# bound on the relative error of a weight, of any product that involves it, and of the sum of such products
_WEIGHTS = 2.0**-95
_UNIT_ROUNDOFF = 2.0**-53
_UNDERFLOW = 1e-300  # covers the underflow of one step

DoubleDouble = tuple[float, float]


class Chain(NamedTuple):
    """A chain of n nodes.

    The module `steinkit.discrepancy.graph.programs.chain_form` describes the chain.

    Attributes
    ----------
    kind : ndarray of int, shape (n,)
        Kind of each node: FREE, BOUNDED, EDGE or LIPSCHITZ_EDGE.
    step : ndarray, shape (n,)
        Length h of the edge into the node, or distance of a BOUNDED node from its bound. The length is 0 for FREE
        nodes.
    box : ndarray, shape (n,)
        Bound on |gamma|, up to `SMALLEST_BOX`. The bound is c1 or, near a bound of the support, a smaller number. For a
        BOUNDED node, the chord is bounded instead. Only the boxes of FREE starts and of the last node are required,
        because the others follow along the chain.
    value, slope : ndarray, shape (n,)
        Coefficients of gamma and of Gamma in the objective.
    c1, c2, c3 : float
        Stein factors, which bound the function, its gradient and the gradient's Lipschitz constant.
    far : float
        Distance t of the last node from a second bound, with the row |gamma + t Gamma| <= far_radius. It is -1 if there
        is no such bound.
    far_radius : float
        The radius c3 t^2 / 2, up to rounding and underflow.
    step_low, value_low, slope_low : ndarray, shape (n,)
        Second parts of the double-doubles. The coefficients are accurate to within 2^-96 of their size plus 2^-1000.
    far_low : float
        Second part of `far`.
    """

    kind: Integers
    step: Floats
    box: Floats
    value: Floats
    slope: Floats
    c1: float
    c2: float
    c3: float
    far: float
    far_radius: float
    step_low: Floats
    value_low: Floats
    slope_low: Floats
    far_low: float


for _operation in (two_sum, two_product, plus, times):
    inner_array_kernel(_operation)


class Trace(NamedTuple):
    """Result of the recursion.

    Attributes
    ----------
    worst : float
        Upper bound on the largest scaled row, excluding the rows of the far bound.
    objective : float
        Objective, up to `allowance`.
    allowance : float
        Bound on the error in the objective.
    end_value, end_slope : tuple of two floats
        The values gamma and Gamma of the last node, as double-doubles.
    end_value_error, end_slope_error : float
        Bounds on the errors in these values.
    """

    worst: float
    objective: float
    allowance: float
    end_value: DoubleDouble
    end_slope: DoubleDouble
    end_value_error: float
    end_slope_error: float


@on_lists(2)
@array_kernel
def trace(chain: Chain, y: Floats, values: Floats, slopes: Floats) -> Trace:
    """Evaluate the recursion for variables y of shape (2n,).

    The arrays `values` and `slopes` are set to the rounded gamma and Gamma. Every quantity is computed together with a
    bound on its accumulated error.
    """
    worst, magnitude, carried = 0.0, 0.0, 0.0
    objective = (0.0, 0.0)
    value, slope = (0.0, 0.0), (0.0, 0.0)
    value_error, slope_error = 0.0, 0.0
    last = len(chain.kind) - 1
    for i in range(len(chain.kind)):
        kind, h = chain.kind[i], (chain.step[i], chain.step_low[i])
        first, second = y[2 * i], y[2 * i + 1]
        worst = max(worst, abs(first), abs(second))
        if kind == FREE:
            value, slope = two_product(chain.box[i], first), two_product(chain.c2, second)
            value_error = slope_error = _UNDERFLOW
        else:
            half = times(h, (0.5 * chain.c3, 0.0))
            if kind == BOUNDED:
                value, chord = (0.0, 0.0), two_product(chain.c2, first)
                value_error = slope_error = _UNDERFLOW
            else:
                push = times(half, (first, 0.0))
                chord = plus(slope, push)
                slope_error += _DOUBLE_DOUBLE * (abs(slope[0]) + abs(push[0])) + _UNDERFLOW
            if kind == LIPSCHITZ_EDGE:
                worst = max(worst, (abs(chord[0]) * (1.0 + 2.0 * _UNIT_ROUNDOFF) + slope_error) / chain.c2)
            rise, pull = times(chord, h), times(half, (-second, 0.0))
            value_error += h[0] * (1.0 + 2.0 * _UNIT_ROUNDOFF) * slope_error
            value_error += _DOUBLE_DOUBLE * (abs(value[0]) + abs(rise[0])) + _UNDERFLOW
            slope_error += _DOUBLE_DOUBLE * (abs(chord[0]) + abs(pull[0])) + _UNDERFLOW
            value, slope = plus(value, rise), plus(chord, pull)
        if i < last or chain.far < 0.0:
            limit = chain.c1 if i < last else chain.box[i]
            worst = max(worst, (abs(value[0]) * (1.0 + 2.0 * _UNIT_ROUNDOFF) + value_error) / limit)
        worst = max(worst, (abs(slope[0]) * (1.0 + 2.0 * _UNIT_ROUNDOFF) + slope_error) / chain.c2)
        by_value = times((chain.value[i], chain.value_low[i]), value)
        by_slope = times((chain.slope[i], chain.slope_low[i]), slope)
        objective = plus(plus(objective, by_value), by_slope)
        magnitude += abs(by_value[0]) + abs(by_slope[0]) + abs(objective[0])
        carried += abs(chain.value[i]) * value_error + abs(chain.slope[i]) * slope_error
        carried += _UNDERFLOW * (1.0 + abs(value[0]) + abs(slope[0]))
        values[i], slopes[i] = value[0], slope[0]
    # the low-order part of the sum is omitted
    allowance = 2.0 * (_WEIGHTS * magnitude + carried + _UNIT_ROUNDOFF * abs(objective[0]))
    return Trace(worst, objective[0], allowance, value, slope, value_error, slope_error)


@on_lists(1)
@array_kernel
def costate_bound(chain: Chain, p: Floats, forces: Floats) -> float:
    """Return the cost of the dual point given by row multipliers p of shape (5n,).

    The cost is rounded up, so it is an upper bound on the optimum. The array `forces`, which is empty or has shape
    (2n,), is set to phi and kappa of the edge into each node.

    The dual point consists of the double-doubles T and the doubles phi and kappa. The rounding residuals in the
    equations for gamma and Gamma are multiplied by the boxes and added to the cost.
    """
    n = len(chain.kind)
    force, force_low = np.empty(n + 1), np.empty(n + 1)  # T on the edge into each node, and after the last node
    jump, jump_low = np.empty(n), np.empty(n)
    for k in range(n):
        box_force = _box_force(p[ROWS * k], chain.box[k])
        jump[k], jump_low[k] = plus((-chain.value[k], -chain.value_low[k]), (box_force, 0.0))
    total = 0.0
    start = n - n  # a literal 0 has a separate type and would cause a second compilation of the callees
    while start < n:
        end = start + 1  # index after the last node of the segment
        while end < n and chain.kind[end] >= EDGE:
            end += 1
        _balance_forces(chain, p, start, end, (jump, jump_low), (force, force_low))
        forward = 0.0  # phi of the edge into the node
        for k in range(start, end):
            half = 0.5 * chain.c3 * chain.step[k] + _SMALLEST
            at_value, at_slope = _box_force(p[ROWS * k], chain.box[k]), p[ROWS * k + 1] / chain.c2
            backward, error, reach = 0.0, 0.0, chain.box[k] + SMALLEST_BOX
            cost = abs(at_value) * reach + abs(at_slope) * chain.c2
            if chain.kind[k] == BOUNDED:
                reach = min(reach, chain.c2 * chain.step[k] + _SMALLEST)
            if chain.kind[k] != FREE:
                chord = p[ROWS * k + 4] / chain.c2 if chain.kind[k] != EDGE else 0.0
                lift = chain.step[k] * force[k]
                backward = lift - chord - forward
                error = abs(lift) + abs(chord) + abs(forward) + abs(backward)
                cost += half * (abs(forward) + abs(backward)) + chain.c2 * abs(chord)
            if len(forces):
                forces[2 * k], forces[2 * k + 1] = forward, backward
            size = abs(force[k]) + abs(force[k + 1]) + abs(at_value) + abs(chain.value[k])
            cost += reach * (_WEIGHTS * size + _UNDERFLOW)
            forward = at_slope - chain.slope[k] - backward
            error += abs(at_slope) + abs(chain.slope[k]) + abs(backward) + abs(forward)
            total += cost + 6.0 * _UNIT_ROUNDOFF * (chain.c2 + half) * error + _UNDERFLOW * (1.0 + chain.c2)
        total += _end_cost(chain, end, force[end], forward)
        start = end
    rounded_up: float = total * (1.0 + 2.0 * (n + 16) * _UNIT_ROUNDOFF)
    return rounded_up


@inner_array_kernel
def _end_cost(chain: Chain, end: int, force: float, forward: float) -> float:
    """Return the cost of T and phi after the last node of a segment.

    This cost is determined by the row of a far bound or by the boxes.
    """
    remainder = abs(force) * (1.0 + 2.0 * _UNIT_ROUNDOFF)
    if end < len(chain.kind) or chain.far < 0.0:
        cost: float = (chain.box[end - 1] + SMALLEST_BOX) * remainder + chain.c2 * abs(forward)
        return cost
    lift = chain.far * force
    rounding = 6.0 * _UNIT_ROUNDOFF * (abs(lift) + abs(forward))
    radius = chain.far_radius + FAR_UNDERFLOW * (1.0 + chain.c3)
    return radius * remainder + chain.c2 * (abs(forward - lift) + rounding)


@inner_array_kernel
def _box_force(multiplier: float, box: float) -> float:
    """Return the force from the value box of a node.

    The force is zero if gamma is fixed at zero.
    """
    return multiplier / box if box > 0.0 else 0.0


@inner_array_kernel
def _balance_forces(
    chain: Chain, p: Floats, start: int, end: int, jump: tuple[Floats, Floats], force: tuple[Floats, Floats]
) -> None:
    """Set T on all edges of a segment and after its last node.

    The values are double-doubles.

    The boxes determine the differences T' - T (`jump`). T is zero after the last node of a segment with a free end. At
    a bound, T only adds T c3 t^2/2 to the cost. Between two bounds, the balance of the slopes determines T on the
    longest edge. The sums start at the known T because forces near a bound may be orders of magnitude larger.
    """
    high, low = force
    known = end if chain.kind[start] == BOUNDED else start
    is_between = chain.kind[start] == BOUNDED and end == len(chain.kind) and chain.far >= 0.0
    if is_between:
        known = start
        for k in range(start, end):
            if chain.step[k] > chain.step[known]:
                known = k
    high[known] = low[known] = 0.0
    _sum_outwards(start, end, known, jump, force)
    if is_between:
        turn, torque, length = 0.0, chain.far * high[end], chain.far
        for k in range(start, end):
            torque += chain.step[k] * high[k]
            length += chain.step[k]
            turn += p[ROWS * k + 1] / chain.c2 - chain.slope[k]
            if chain.kind[k] != EDGE:
                turn += p[ROWS * k + 4] / chain.c2
        high[known] = (turn - torque) / length
        _sum_outwards(start, end, known, jump, force)


@inner_array_kernel
def _sum_outwards(start: int, end: int, known: int, jump: tuple[Floats, Floats], force: tuple[Floats, Floats]) -> None:
    """Set T by the recursion T' = T + jump, starting at `known`."""
    (up, up_low), (high, low) = jump, force
    for k in range(known, end):
        high[k + 1], low[k + 1] = plus((high[k], low[k]), (up[k], up_low[k]))
    for k in range(known - 1, start - 1, -1):
        high[k], low[k] = plus((high[k + 1], low[k + 1]), (-up[k], -up_low[k]))
