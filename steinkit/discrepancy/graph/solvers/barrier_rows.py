"""NumPy versions of `barrier_kernels`, with bit-for-bit identical results.

These functions are used for small programs until the compiled kernels are available. Sums are accumulated from the
first row to the last. The compiled kernels compare ratios by comparing products, which avoids divisions. The step
lengths are therefore recomputed with the same comparisons for the rows that may limit a step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from steinkit.sample import Floats

TINY = 1e-300
RESOLVED = 1e-9
"""Slacks above this value are recomputed from the row value to prevent rounding errors from accumulating."""
_NEARLY = 1.0 - 1e-12  # differs from 1 by more than the rounding error of a product or quotient

Rows = Sequence[Floats]


def newton_weights(interior: Rows, weights: Floats) -> float:
    """Set the weights z+/s+ + z-/s-, and return the gap (the sum of s z)."""
    s_up, s_low, z_up, z_low = interior
    weights[:] = (z_up * s_low + z_low * s_up) / (s_up * s_low)
    return _sum(z_up * s_up + z_low * s_low)


def affine_gap(interior: Rows, weights: Floats, gap: float, change: Floats) -> float:
    """Return the gap after the longest predictor step (toward zero products)."""
    s_up, s_low, z_up, z_low = interior
    primal, dual = _lengths(change, s_up, s_low, (s_up, change), (s_low, -change))
    first, second = _sum((z_up - z_low) * change), _sum(weights * change * change)
    return (1.0 - dual) * gap + (dual - primal * (1.0 - dual)) * first - primal * dual * second


def mehrotra_targets(
    interior: Rows, omega: Floats, change: Floats, centre: float, bound: float, targets: Rows, force: Floats
) -> None:
    """Set the targets to ``omega * centre`` + dv dz and the forces to c-/s- - c+/s+."""
    s_up, s_low, z_up, z_low = interior
    inverse = 1.0 / (s_up * s_low)
    by_up, by_low = s_low * inverse, s_up * inverse
    most = bound * omega
    up = change * z_up * (change * by_up - 1.0)
    low = change * z_low * (change * by_low + 1.0)
    targets[0][:] = centre * omega + np.minimum(np.maximum(up, -most), most)
    targets[1][:] = centre * omega + np.minimum(np.maximum(low, -most), most)
    force[:] = targets[1] * by_low - targets[0] * by_up


def step_lengths(interior: Rows, change: Floats, targets: Rows) -> tuple[float, float]:
    """Return the longest primal and dual steps, capped at 1.

    Both steps are NaN if the change is not finite.
    """
    (s_up, s_low, z_up, z_low), (c_up, c_low) = interior, targets
    if not np.isfinite(change).all():
        return math.nan, math.nan
    up = s_up * z_up, c_up + z_up * change
    return _lengths(change, s_up, s_low, up, (s_low * z_low, c_low - z_low * change))


def gondzio_targets(
    interior: Rows,
    omega: Floats,
    change: Floats,
    targets: Rows,
    lengths: tuple[float, float],
    interval: tuple[float, float],
    moved: Rows,
    force: Floats,
) -> None:
    """Set `moved` to targets with products in ``omega * [lowest, highest]``."""
    (s_up, s_low, z_up, z_low), (c_up, c_low) = interior, targets
    (primal, dual), (lowest, highest) = lengths, interval
    ends = lowest * omega, highest * omega
    inverse = 1.0 / (s_up * s_low)
    by_up, by_low = s_low * inverse, s_up * inverse
    product = (s_up - primal * change) * (z_up + dual * ((c_up + z_up * change) * by_up - z_up))
    moved[0][:] = c_up + _outside(product, *ends)
    product = (s_low + primal * change) * (z_low + dual * ((c_low - z_low * change) * by_low - z_low))
    moved[1][:] = c_low + _outside(product, *ends)
    force[:] = moved[1] * by_low - moved[0] * by_up


def advance(rows: Floats, interior: Rows, change: Floats, targets: Rows, lengths: tuple[float, float]) -> None:
    """Take a step with the given primal and dual lengths.

    Row values and slacks move by the primal length, and multipliers move by the dual length.
    """
    (s_up, s_low, z_up, z_low), (c_up, c_low), (primal, dual) = interior, targets, lengths
    z_up += dual * ((c_up + z_up * change) / s_up - z_up)
    z_low += dual * ((c_low - z_low * change) / s_low - z_low)
    rows += primal * change
    s_up -= primal * change
    s_low += primal * change
    for slack, anew in ((s_up, 1.0 - rows), (s_low, 1.0 + rows)):
        np.copyto(slack, anew, where=anew > RESOLVED)


def _sum(terms: Floats) -> float:
    return float(np.cumsum(terms)[-1])


def _outside(product: Floats, low_end: Floats, high_end: Floats) -> Floats:
    """Return the correction that moves a product into [low_end, high_end].

    The correction is at least -high_end.
    """
    lifted = np.where(product < low_end, low_end - product, 0.0)
    return np.where(product > high_end, np.maximum(high_end - product, -high_end), lifted)


def _lengths(
    change: Floats, s_up: Floats, s_low: Floats, up: tuple[Floats, Floats], low: tuple[Floats, Floats]
) -> tuple[float, float]:
    """Return the longest steps, capped at 1, for old and new products."""
    by_up, by_low = change / s_up, -change / s_low
    from_up, from_low = 1.0 - up[1] / up[0], 1.0 - low[1] / low[0]
    shortest = np.flatnonzero(_may_be_largest(np.fmax(by_up, by_low)) | _may_be_largest(np.fmax(from_up, from_low)))
    arrays = change, s_up, s_low, *up, *low, by_up, by_low, from_up, from_low
    primal, dual = TINY, TINY
    for row in zip(*(array[shortest].tolist() for array in arrays), strict=True):
        dv, above, below, now_up, then_up, now_low, then_low, *quotients = row
        is_shorter = dv > primal * above or -dv > primal * below
        if is_shorter or now_up - then_up > dual * now_up or now_low - then_low > dual * now_low:
            primal, dual = max(primal, *quotients[:2]), max(dual, *quotients[2:])
    return min(1.0, 1.0 / primal), min(1.0, 1.0 / dual)


def _may_be_largest(values: Floats) -> NDArray[np.bool_]:
    """Return a mask of entries that no preceding entry clearly exceeds."""
    before = np.fmax.accumulate(np.concatenate([[TINY], values[:-1]]))
    return np.asarray(values >= _NEARLY * before)
