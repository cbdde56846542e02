"""Compiled steps of a primal-dual barrier method for rows |v_i| <= 1.

Each step is a single pass over the rows.

A row has the value v, the slacks s+ = 1 - v and s- = 1 + v, and the multipliers z+, z- > 0. On the central path, s z =
omega mu on both sides, where the weights omega have mean one. For the change dv of the rows in a Newton step and target
products c,

    dz+ = (c+ + z+ dv) / s+ - z+,        dz- = (c- - z- dv) / s- - z-.

No function allocates memory.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from steinkit.discrepancy.graph.solvers import barrier_rows
from steinkit.discrepancy.graph.solvers.barrier_rows import RESOLVED, TINY
from steinkit.runtime.compilation import array_kernel, inner_array_kernel, with_twin
from steinkit.sample import Floats


class Interior(NamedTuple):
    """Positive slacks s+, s- and multipliers z+, z-, each of shape (rows,)."""

    s_up: Floats
    s_low: Floats
    z_up: Floats
    z_low: Floats


class Targets(NamedTuple):
    """Target products c+, c- of a step, each of shape (rows,)."""

    up: Floats
    low: Floats


@with_twin(barrier_rows.newton_weights)
@array_kernel
def newton_weights(interior: Interior, weights: Floats) -> float:
    """Set the weights z+/s+ + z-/s-, and return the gap (the sum of s z)."""
    s_up, s_low, z_up, z_low = interior
    gap = 0.0
    for i in range(len(weights)):
        weights[i] = (z_up[i] * s_low[i] + z_low[i] * s_up[i]) / (s_up[i] * s_low[i])
        gap += z_up[i] * s_up[i] + z_low[i] * s_low[i]
    return gap


@with_twin(barrier_rows.affine_gap)
@array_kernel
def affine_gap(interior: Interior, weights: Floats, gap: float, change: Floats) -> float:
    """Return the gap after the longest predictor step (toward zero products).

    The gap is NaN if the change is NaN. With u = dv/s (or -dv/s), a product s z becomes s z (1 - primal u) (1 + dual
    (u - 1)). Over both sides of a row, the sum of s z u is (z+ - z-) dv, and the sum of s z u^2 is the weight times
    dv^2. Divisions are computed only for rows that shorten the step.
    """
    s_up, s_low, z_up, z_low = interior
    primal, dual = TINY, TINY
    first, second = 0.0, 0.0
    for i in range(len(change)):
        dv, up, low = change[i], s_up[i], s_low[i]
        if (dv > primal * up) | (-dv > primal * low) | (up - dv > dual * up) | (low + dv > dual * low):
            primal = max(primal, dv / up, -dv / low)
            dual = max(dual, 1.0 - dv / up, 1.0 + dv / low)
        first += (z_up[i] - z_low[i]) * dv
        second += weights[i] * dv * dv
    primal, dual = min(1.0, 1.0 / primal), min(1.0, 1.0 / dual)
    return (1.0 - dual) * gap + (dual - primal * (1.0 - dual)) * first - primal * dual * second


@with_twin(barrier_rows.mehrotra_targets)
@array_kernel
def mehrotra_targets(
    interior: Interior, omega: Floats, change: Floats, centre: float, bound: float, targets: Targets, force: Floats
) -> None:
    """Set the targets to ``omega * centre`` + dv dz and the forces to c-/s- - c+/s+.

    The changes dv and dz are those of the predictor step. The product dv dz, which is the second-order term, is clipped
    to ``+-omega * bound``.
    """
    s_up, s_low, z_up, z_low = interior
    for i in range(len(change)):
        dv = change[i]
        inverse = 1.0 / (s_up[i] * s_low[i])
        by_up, by_low = s_low[i] * inverse, s_up[i] * inverse
        most = bound * omega[i]
        up = dv * z_up[i] * (dv * by_up - 1.0)
        low = dv * z_low[i] * (dv * by_low + 1.0)
        targets.up[i] = centre * omega[i] + min(max(up, -most), most)
        targets.low[i] = centre * omega[i] + min(max(low, -most), most)
        force[i] = targets.low[i] * by_low - targets.up[i] * by_up


@with_twin(barrier_rows.step_lengths)
@array_kernel
def step_lengths(interior: Interior, change: Floats, targets: Targets) -> tuple[float, float]:
    """Return the longest feasible primal and dual steps, capped at 1.

    Both steps are NaN if the change is not finite. Divisions are computed only for rows that shorten a step.
    """
    (s_up, s_low, z_up, z_low), (c_up, c_low) = interior, targets
    primal, dual = TINY, TINY
    for i in range(len(change)):
        dv, up, low = change[i], s_up[i], s_low[i]
        if not abs(dv) < math.inf:
            return math.nan, math.nan
        now_up, now_low = up * z_up[i], low * z_low[i]
        then_up, then_low = c_up[i] + z_up[i] * dv, c_low[i] - z_low[i] * dv
        is_shorter = (dv > primal * up) | (-dv > primal * low)
        if is_shorter | (now_up - then_up > dual * now_up) | (now_low - then_low > dual * now_low):
            primal = max(primal, dv / up, -dv / low)
            dual = max(dual, 1.0 - then_up / now_up, 1.0 - then_low / now_low)
    return min(1.0, 1.0 / primal), min(1.0, 1.0 / dual)


@with_twin(barrier_rows.gondzio_targets)
@array_kernel
def gondzio_targets(
    interior: Interior,
    omega: Floats,
    change: Floats,
    targets: Targets,
    lengths: tuple[float, float],
    interval: tuple[float, float],
    moved: Targets,
    force: Floats,
) -> None:
    """Set `moved` to targets that keep products in ``omega * [lowest, highest]``.

    The products refer to the state after a trial step. The array `force` is set to the force of the targets. Larger
    products are reduced by at most ``omega * highest``. The tuple `lengths` contains the primal and dual lengths of the
    trial step, and `interval` is (lowest, highest).
    """
    (s_up, s_low, z_up, z_low), (c_up, c_low) = interior, targets
    (primal, dual), (lowest, highest) = lengths, interval
    for i in range(len(change)):
        low_end, high_end = lowest * omega[i], highest * omega[i]
        dv = change[i]
        inverse = 1.0 / (s_up[i] * s_low[i])
        by_up, by_low = s_low[i] * inverse, s_up[i] * inverse
        product = (s_up[i] - primal * dv) * (z_up[i] + dual * ((c_up[i] + z_up[i] * dv) * by_up - z_up[i]))
        moved.up[i] = c_up[i] + _outside(product, low_end, high_end)
        product = (s_low[i] + primal * dv) * (z_low[i] + dual * ((c_low[i] - z_low[i] * dv) * by_low - z_low[i]))
        moved.low[i] = c_low[i] + _outside(product, low_end, high_end)
        force[i] = moved.low[i] * by_low - moved.up[i] * by_up


@inner_array_kernel
def _outside(product: float, low_end: float, high_end: float) -> float:
    """Return the correction that moves a product into [low_end, high_end].

    The correction is at least -high_end.
    """
    if product < low_end:
        return low_end - product
    if product > high_end:
        return max(high_end - product, -high_end)
    return 0.0


@with_twin(barrier_rows.advance)
@array_kernel
def advance(rows: Floats, interior: Interior, change: Floats, targets: Targets, lengths: tuple[float, float]) -> None:
    """Take a step with the given primal and dual lengths.

    Row values and slacks move by the primal step length, and multipliers move by the dual step length.
    """
    (s_up, s_low, z_up, z_low), (c_up, c_low), (primal, dual) = interior, targets, lengths
    for i in range(len(change)):
        dv = change[i]
        z_up[i] += dual * ((c_up[i] + z_up[i] * dv) / s_up[i] - z_up[i])
        z_low[i] += dual * ((c_low[i] - z_low[i] * dv) / s_low[i] - z_low[i])
        rows[i] += primal * dv
        s_up[i] -= primal * dv
        s_low[i] += primal * dv
        if 1.0 - rows[i] > RESOLVED:
            s_up[i] = 1.0 - rows[i]
        if 1.0 + rows[i] > RESOLVED:
            s_low[i] = 1.0 + rows[i]
