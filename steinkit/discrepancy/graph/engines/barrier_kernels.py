"""Steps of a primal-dual barrier method for rows |v_i| <= 1, each one pass over the rows.

A row has value v, slacks s+ = 1 - v and s- = 1 + v and multipliers z+, z- > 0; it aims at s z = omega mu on both sides,
with weights omega of mean one. Given the change dv of the rows under a Newton step and targets c for the products,

    dz+ = (c+ + z+ dv) / s+ - z+,        dz- = (c- - z- dv) / s- - z-.

Compiled when first called; nothing here allocates.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from steinkit.runtime.compilation import array_kernel
from steinkit.sample import Floats

_TINY = 1e-300
_RESOLVED = 1e-9  # a slack above it is taken from the row's value anew, so that rounding errors do not add up


class Interior(NamedTuple):
    """Slacks s+, s- and multipliers z+, z- of the rows, all positive, each of shape (rows,)."""

    s_up: Floats
    s_low: Floats
    z_up: Floats
    z_low: Floats


class Targets(NamedTuple):
    """Products c+, c- that a step aims at, each of shape (rows,)."""

    up: Floats
    low: Floats


@array_kernel
def newton_weights(interior: Interior, weights: Floats) -> float:
    """Set the weights z+/s+ + z-/s- of the rows in the Newton matrix; returns the gap, the sum of s z."""
    s_up, s_low, z_up, z_low = interior
    gap = 0.0
    for i in range(weights.size):
        weights[i] = z_up[i] / s_up[i] + z_low[i] / s_low[i]
        gap += z_up[i] * s_up[i] + z_low[i] * s_low[i]
    return gap


@array_kernel
def affine_gap(interior: Interior, change: Floats) -> float:
    """Return the gap after the longest step towards products of zero (the predictor)."""
    s_up, s_low, z_up, z_low = interior
    primal, dual = _TINY, _TINY
    for i in range(change.size):
        up, low = change[i] / s_up[i], -change[i] / s_low[i]
        primal = max(primal, up, low)
        dual = max(dual, 1.0 - up, 1.0 - low)
    primal, dual = min(1.0, 1.0 / primal), min(1.0, 1.0 / dual)
    gap = 0.0
    for i in range(change.size):
        up, low = change[i] / s_up[i], -change[i] / s_low[i]
        gap += s_up[i] * (1.0 - primal * up) * z_up[i] * (1.0 + dual * (up - 1.0))
        gap += s_low[i] * (1.0 - primal * low) * z_low[i] * (1.0 + dual * (low - 1.0))
    return gap


@array_kernel
def mehrotra_targets(
    interior: Interior, omega: Floats, change: Floats, centre: float, bound: float, targets: Targets, force: Floats
) -> None:
    """Set the targets omega centre + dv dz, and their force c-/s- - c+/s+.

    dv and dz are the predictor's; their product, the second-order term, is held within omega bound.
    """
    s_up, s_low, z_up, z_low = interior
    for i in range(change.size):
        dv = change[i]
        most = bound * omega[i]
        up = dv * z_up[i] * (dv / s_up[i] - 1.0)
        low = dv * z_low[i] * (dv / s_low[i] + 1.0)
        targets.up[i] = centre * omega[i] + min(max(up, -most), most)
        targets.low[i] = centre * omega[i] + min(max(low, -most), most)
        force[i] = targets.low[i] / s_low[i] - targets.up[i] / s_up[i]


@array_kernel
def step_lengths(interior: Interior, change: Floats, targets: Targets) -> tuple[float, float]:
    """Return the longest primal and dual steps, at most 1, that keep slacks and multipliers from turning negative."""
    (s_up, s_low, z_up, z_low), (c_up, c_low) = interior, targets
    primal, dual = _TINY, _TINY
    for i in range(change.size):
        up, low = change[i] / s_up[i], -change[i] / s_low[i]
        primal = max(primal, up, low)
        dual = max(dual, 1.0 - c_up[i] / (s_up[i] * z_up[i]) - up, 1.0 - c_low[i] / (s_low[i] * z_low[i]) - low)
    return min(1.0, 1.0 / primal), min(1.0, 1.0 / dual)


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
    """Move the targets so that the products at a trial step come within omega [lowest, highest], the interval.

    Products that would be larger are pulled down by at most omega highest. `lengths` are the trial step's, primal and
    dual.
    """
    (s_up, s_low, z_up, z_low), (c_up, c_low) = interior, targets
    (primal, dual), (lowest, highest) = lengths, interval
    for i in range(change.size):
        low_end, high_end = lowest * omega[i], highest * omega[i]
        dv = change[i]
        product = (s_up[i] - primal * dv) * (z_up[i] + dual * ((c_up[i] + z_up[i] * dv) / s_up[i] - z_up[i]))
        moved.up[i] = c_up[i] + _outside(product, low_end, high_end)
        product = (s_low[i] + primal * dv) * (z_low[i] + dual * ((c_low[i] - z_low[i] * dv) / s_low[i] - z_low[i]))
        moved.low[i] = c_low[i] + _outside(product, low_end, high_end)
        force[i] = moved.low[i] / s_low[i] - moved.up[i] / s_up[i]


@array_kernel
def _outside(product: float, low_end: float, high_end: float) -> float:
    """What brings a product into [low_end, high_end], but no more than -high_end."""
    if product < low_end:
        return low_end - product
    if product > high_end:
        return max(high_end - product, -high_end)
    return 0.0


@array_kernel
def advance(rows: Floats, interior: Interior, change: Floats, targets: Targets, lengths: tuple[float, float]) -> None:
    """Take a step: row values and slacks by the primal length, multipliers by the dual length."""
    (s_up, s_low, z_up, z_low), (c_up, c_low), (primal, dual) = interior, targets, lengths
    for i in range(change.size):
        dv = change[i]
        z_up[i] += dual * ((c_up[i] + z_up[i] * dv) / s_up[i] - z_up[i])
        z_low[i] += dual * ((c_low[i] - z_low[i] * dv) / s_low[i] - z_low[i])
        rows[i] += primal * dv
        s_up[i] -= primal * dv
        s_low[i] += primal * dv
        if 1.0 - rows[i] > _RESOLVED:
            s_up[i] = 1.0 - rows[i]
        if 1.0 + rows[i] > _RESOLVED:
            s_low[i] = 1.0 + rows[i]


@array_kernel
def is_finite(values: Floats) -> bool:
    """Tell whether all values are finite, by their sum."""
    total = 0.0
    for value in values:
        total += value
    return math.isfinite(total)
