"""The integral of |F_Q - F_P| over the line, bracketed by what is known of the target's cdf F_P.

F_Q is constant between neighboring points: 0 below the smallest, 1 above the largest. On a piece [a, b] where it is c,
F_P increases from F(a) to F(b), so

    (b - a) min |c - F|  <=  integral of |c - F_P|  <=  (b - a) max(|c - F(a)|, |c - F(b)|),    F in [F(a), F(b)],

whatever F_P does inside. With F_P alone, the pieces with the widest brackets are halved, level by level, so that no
narrow component of the target is missed. With the integrals of F_P and 1 - F_P,

    integral of |c - F_P|  =  max over t in [a, b] of  {integral over [a, t] of c - F_P  +  over [t, b] of F_P - c},

where any t gives a lower bound, and bisection of F_P gives a t near the best one.

Errors of F_P and of its integrals, as large as the target says they may be, and of F_Q are in the brackets. The error
of a cdf is relative to the cdf, so that it vanishes with it; the error of an integral is relative to E|X - x|.
"""

from __future__ import annotations

import numpy as np

from steinkit.errors import InputError
from steinkit.runtime.deadlines import require_time
from steinkit.sample import Floats
from steinkit.target import Target

_ROUNDING = 2.0**-49  # relative, of a piece's own arithmetic
_TINY = 2.0**-1000  # more than a piece loses that falls below the normal range
_HALVINGS = 60
_MOST_PIECES = 2_000_000
_DOUBLINGS = 1000
_RESOLVED = 2.0**-40  # where 1 - F has lost half its digits


def distance_by_integrals(points: Floats, levels: Floats, error: float, target: Target) -> tuple[float, float]:
    """Bracket of the distance, from the cdf and its integrals; infinite where the target has no mean.

    Parameters
    ----------
    points : ndarray, shape (n,)
        Of the sample, increasing.
    levels : ndarray, shape (n - 1,)
        F_Q between neighboring points.
    error : float
        Of the levels.
    target : Target
    """
    accuracy = target.cdf_accuracy
    low, high = _crossings(points, levels, target)
    places = np.append(np.stack([points[:-1], low], axis=1).ravel(), points[-1])
    pieces = np.flatnonzero(np.diff(places) > 0.0)
    level, sign = np.repeat(levels, 2)[pieces], np.resize([1.0, -1.0], len(places))[pieces]
    places = places[np.append(pieces, len(places) - 1)]
    integrals = target.tail_integrals(places)
    if not (integrals >= 0.0).all():  # also refuses NaN
        raise InputError(
            "the target's tail_integrals must be means of max(x - X, 0) and of max(X - x, 0), which are not negative; "
            f"got {np.min(integrals)}"
        )
    outside = float(integrals[0, 0] + integrals[-1, 1])
    if np.isinf(outside):
        return np.inf, np.inf

    cdf, cdf_low, cdf_high = (_cdf(target, each) for each in (places, low, high))
    width, (below, above) = np.diff(places), np.diff(integrals, axis=0).T
    falling = cdf[1:] < 0.5  # where F is the smaller of F and 1 - F, its integral has the more digits
    share = width * np.where(falling, level, 1.0 - level)
    area = sign * np.where(falling, share - below, -above - share)
    uncertain, wrong = error + accuracy * cdf[1:], accuracy * integrals.sum(axis=1)
    least, most = _bracket(width, cdf[:-1], cdf[1:], level, uncertain)
    own = _ROUNDING * (share + np.abs(area)) + width * error + _TINY
    nearest = np.where(sign > 0.0, level - cdf[1:], np.repeat(cdf_high, 2)[pieces] - level)
    own += np.where(nearest > uncertain, 0.0, 2.0 * width * uncertain)  # the true F_P may cross the level elsewhere
    _require_fit(places, area, own + wrong[:-1] + wrong[1:], least, most)
    shared = (sign[1:] == sign[:-1]) & (falling[1:] == falling[:-1])  # there the error of one piece is the other's gain
    slack = float(own.sum() + 2.0 * (wrong[0] + wrong[-1] + wrong[1:-1][~shared].sum())) + _ROUNDING * outside
    distance = outside + float(area.sum())
    slack += 2.0 * _ROUNDING * distance
    missed = 2.0 * float((high - low) @ (cdf_high - cdf_low + 2.0 * (error + accuracy)))
    return distance - slack, distance + slack + missed


def _crossings(points: Floats, levels: Floats, target: Target) -> tuple[Floats, Floats]:
    """Where F_P crosses the level of each piece, between two places: at an end of the piece where it does not cross."""
    cdf, low, high = _cdf(target, points), points[:-1].copy(), points[1:].copy()
    ends_below, begins_above = cdf[1:] <= levels, cdf[:-1] >= levels
    low[ends_below], high[begins_above] = high[ends_below], low[begins_above]
    for _ in range(_HALVINGS):
        require_time("the cdf was evaluated")
        open_ones = np.flatnonzero(low < high)
        if not open_ones.size:
            break
        middle = 0.5 * low[open_ones] + 0.5 * high[open_ones]
        below = target.cdf(middle) < levels[open_ones]
        low[open_ones[below]], high[open_ones[~below]] = middle[below], middle[~below]
    return low, high


def _require_fit(places: Floats, area: Floats, slack: Floats, least: Floats, most: Floats) -> None:
    """Areas must lie where the cdf at the ends of each piece allows."""
    wrong = np.flatnonzero(~((area + slack >= least) & (area - slack <= most)))
    if wrong.size:
        a, b = places[wrong[0]], places[wrong[0] + 1]
        raise InputError(
            f"the target's tail_integrals do not fit its cdf between {a:.6g} and {b:.6g}: "
            "they must be the integral of the cdf below x, and that of 1 - cdf above it"
        )


def distance_by_halving(
    points: Floats, levels: Floats, error: float, target: Target, tolerance: float
) -> tuple[float, float]:
    """Bracket of the distance to a relative width, from the cdf alone; see `distance_by_integrals`."""
    (lower_tail, rest), (upper_tail, more) = (_tail(points, target, side) for side in (0, 1))
    places = np.concatenate([lower_tail[::-1], points, upper_tail])
    cdf = _cdf(target, places)
    level = np.concatenate([np.zeros(len(lower_tail)), levels, np.ones(len(upper_tail))])
    errors = np.where((level > 0.0) & (level < 1.0), error, 0.0)
    pieces = np.stack([places[:-1], places[1:], cdf[:-1], cdf[1:], level, errors])
    while True:
        require_time("the cdf was evaluated")
        a, b, cdf_a, cdf_b, level, errors = pieces
        uncertain = errors + target.cdf_accuracy * cdf_b
        lower, upper = _bracket(b - a, cdf_a, cdf_b, level, uncertain)
        least, most, lost = float(lower.sum()), float(upper.sum()), _TINY * len(a)
        middle = 0.5 * a + 0.5 * b
        wide = (upper - lower > 0.5 * tolerance * least / len(a)) & (a < middle) & (middle < b)
        wide &= 0.125 * (upper - lower) > (b - a) * uncertain  # no more is known of others
        if most - least <= tolerance * most or len(a) > _MOST_PIECES or not wide.any():  # none: a cdf that jumps
            return least * (1.0 - _ROUNDING) - lost, (most + rest + more) * (1.0 + _ROUNDING) + lost
        halves = np.repeat(pieces[:, wide], 2, axis=1)
        halves[1, ::2] = halves[0, 1::2] = middle[wide]
        halves[3, ::2] = halves[2, 1::2] = _cdf(target, middle[wide], cdf_a[wide], cdf_b[wide])
        pieces = np.concatenate([pieces[:, ~wide], halves], axis=1)


def _bracket(width: Floats, cdf_a: Floats, cdf_b: Floats, level: Floats, error: Floats) -> tuple[Floats, Floats]:
    """Bounds of the integral over each piece by monotonicity; `error` is that of c - F at the ends."""
    nearest = np.maximum(np.maximum(cdf_a - level, level - cdf_b), 0.0)
    furthest = np.maximum(level - cdf_a, cdf_b - level)
    return (
        width * np.maximum(nearest - error, 0.0) * (1.0 - _ROUNDING),
        width * (furthest + error) * (1.0 + _ROUNDING),
    )


def _tail(points: Floats, target: Target, side: int) -> tuple[Floats, float]:
    """Places beyond the smallest (side 0) or the largest point, outwards, and an estimate of what lies beyond them.

    Their distances double until the mass beyond is nothing, or too little to be resolved beside 1. The products of
    length and mass then fall from piece to piece by a ratio that is less than 1 where the mean exists.
    """
    start, sign = float(points[-side]), 2.0 * side - 1.0
    bound = np.inf * sign if target.bounds is None else float(target.bounds[0, side])
    if np.isfinite(bound):
        return np.array([bound] if sign * (bound - start) > 0.0 else []), 0.0
    spread = max(float(points[-1] - points[0]), 1e-3 * abs(start), 1e-3)
    edges, sizes = [start], [0.0]
    while len(sizes) < _DOUBLINGS and np.isfinite(edge := start + sign * spread * 2.0 ** (len(edges) - 1)):
        mass = abs(side - float(target.cdf(edges[-1:])[0]))
        sizes.append(abs(edge - edges[-1]) * mass)
        edges.append(edge)
        if mass <= (_RESOLVED if side else 0.0) or sizes[-1] <= 1e-12 * max(sizes):
            break
    ratio = sizes[-1] / sizes[-2] if sizes[-2] > 0.0 else 0.0
    return np.array(edges[1:]), sizes[-1] * ratio / (1.0 - ratio) if ratio < 0.99 else np.inf


def _cdf(target: Target, values: Floats, low: Floats | None = None, high: Floats | float = 1.0) -> Floats:
    """F_P where it must lie between two values; or at values that increase, where it must not fall."""
    found = target.cdf(values)
    least = np.maximum.accumulate(np.append(0.0, found[:-1])) if low is None else low
    bad = np.flatnonzero(~((found >= least - 2.0 * target.cdf_accuracy) & (found <= high + 2.0 * target.cdf_accuracy)))
    if bad.size:
        raise InputError(
            f"the target's cdf is {found[bad[0]]} at {values[bad[0]]:.6g}; "
            "a cdf lies between 0 and 1 and never decreases"
        )
    return np.clip(found, 0.0, 1.0)
