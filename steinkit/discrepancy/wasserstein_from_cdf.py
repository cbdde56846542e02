"""The integral of |F_Q - F_P| over the line, bracketed by what is known of the target's cdf F_P.

F_Q is constant between neighbouring points: 0 below the smallest, 1 above the largest. On a piece [a, b] where it is c,
F_P increases from F(a) to F(b), so

    (b - a) min |c - F|  <=  integral of |c - F_P|  <=  (b - a) max(|c - F(a)|, |c - F(b)|),    F in [F(a), F(b)],

whatever F_P does inside. With the integrals of F_P and 1 - F_P the pieces on which c - F_P keeps its sign are known,
and the place where the sign changes is found by bisection of F_P. With F_P alone, the pieces with the widest brackets
are halved, level by level, which no narrow component of the target can escape.

A piece is a record of its ends, F_P at them, and the level c with its error.

Errors of F_P and of its integrals, as large as the target says they may be, and of F_Q are in the brackets. A cdf's is
relative to it, so that it vanishes with the cdf; an integral's is relative to E|X - x|.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steinkit.errors import InputError
from steinkit.runtime.deadlines import require_time
from steinkit.sample import Floats
from steinkit.target import Target

_ROUNDING = 2.0**-49  # relative, of a piece's own arithmetic
_TINY = 2.0**-1060  # more than a piece loses that falls below the normal range
_HALVINGS = 60
_MOST_PIECES = 2_000_000
_DOUBLINGS = 1000
_RESOLVED = 2.0**-40  # where 1 - F has lost half its digits
_PIECE = np.dtype([(name, np.float64) for name in ("a", "b", "cdf_a", "cdf_b", "level", "level_error")])

Pieces = NDArray[np.void]


def distance_from_cdf(
    points: Floats, levels: Floats, error: float, target: Target, tolerance: float
) -> tuple[float, float, tuple[str, ...]]:
    """Bracket of the distance, and what its reader should know.

    Parameters
    ----------
    points : ndarray, shape (n,)
        Of the sample, increasing.
    levels : ndarray, shape (n - 1,)
        F_Q between neighbouring points.
    error : float
        Of the levels.
    target : Target
    tolerance : float
        Relative width of the bracket, where it is from the cdf alone.
    """
    pieces = _pieces(points, _cdf(target, points), levels, error, target)
    if target.has_tail_integrals:
        return *_by_integrals(points, pieces, target), ()
    return _by_halving(points, pieces, target, tolerance)


def _by_integrals(points: Floats, pieces: Pieces, target: Target) -> tuple[float, float]:
    """Bracket of the distance, from the cdf and its integrals; infinite where the target has no mean."""
    accuracy = target.cdf_accuracy
    ends = target.tail_integrals(points[[0, -1]])
    if not (ends >= 0.0).all():  # also refuses NaN
        raise InputError(
            f"the target's tail_integrals at {points[0]:.6g} and {points[-1]:.6g} are {ends.tolist()}; means of "
            "max(x - X, 0) and of max(X - x, 0) are not negative"
        )
    outside = float(ends[0, 0] + ends[1, 1])
    outside_error = accuracy * float(ends.sum()) + _ROUNDING * outside
    if np.isinf(outside):
        return np.inf, np.inf
    crossed = (pieces["cdf_a"] < pieces["level"]) & (pieces["cdf_b"] > pieces["level"])
    turning = pieces[crossed]
    for _ in range(_HALVINGS):
        require_time("the cdf was evaluated")
        left, right = _halves(turning, target)
        turning = np.where(left["cdf_b"] < turning["level"], right, left)
    before, after = pieces[crossed], pieces[crossed]
    before["b"], before["cdf_b"] = turning["a"], turning["cdf_a"]
    after["a"], after["cdf_a"] = turning["b"], turning["cdf_b"]
    lower, upper = _signed(np.concatenate([pieces[~crossed], before, after]), target)
    turning_lower, turning_upper = _bracket(turning, accuracy)
    least, most = outside + lower + float(turning_lower.sum()), outside + upper + float(turning_upper.sum())
    slack = outside_error + 2.0 * _ROUNDING * most + _TINY
    return least - slack, most + slack


def _by_halving(
    points: Floats, pieces: Pieces, target: Target, tolerance: float
) -> tuple[float, float, tuple[str, ...]]:
    """Bracket of the distance to a relative width, from the cdf alone, and what the reader should know of it."""
    missing = 0.0
    for side in (0, 1):
        outside, rest = _outside(points, target, side)
        pieces, missing = np.concatenate([pieces, outside]), missing + rest
    while True:
        require_time("the cdf was evaluated")
        lower, upper = _bracket(pieces, target.cdf_accuracy)
        least, most = float(lower.sum()), float(upper.sum())
        if most - least <= tolerance * most or len(pieces) > _MOST_PIECES:
            break
        a, b = pieces["a"], pieces["b"]
        middle = 0.5 * a + 0.5 * b
        wide = (upper - lower > 0.5 * tolerance * least / len(pieces)) & (a < middle) & (middle < b)
        wide &= 0.125 * (upper - lower) > (b - a) * _error(pieces, target.cdf_accuracy)  # no more is known of others
        if not wide.any():  # a cdf that jumps
            break
        pieces = np.concatenate([pieces[~wide], *_halves(pieces[wide], target)])
    unbounded = target.bounds is None or not np.isfinite(target.bounds).all()
    notes = (
        "beyond the points where the cdf was evaluated its tails were taken to go on falling as fast as they do there; "
        "give Target tail_integrals= for a proof",
    )
    lost = _TINY * len(pieces)
    return least * (1.0 - _ROUNDING) - lost, (most + missing) * (1.0 + _ROUNDING) + lost, notes if unbounded else ()


def _pieces(x: Floats, cdf: Floats, level: Floats | float, level_error: float, target: Target) -> Pieces:
    """The pieces between neighbouring places, at which F_P is `cdf`."""
    found = np.empty(len(x) - 1, dtype=_PIECE)
    found["a"], found["b"], found["cdf_a"], found["cdf_b"] = x[:-1], x[1:], cdf[:-1], cdf[1:]
    found["level"], found["level_error"] = level, level_error
    return _increasing(found, target)


def _halves(pieces: Pieces, target: Target) -> tuple[Pieces, Pieces]:
    middle = 0.5 * pieces["a"] + 0.5 * pieces["b"]
    left, right = pieces.copy(), pieces.copy()
    left["b"] = right["a"] = middle
    left["cdf_b"] = right["cdf_a"] = _cdf(target, middle)
    return _increasing(left, target), _increasing(right, target)


def _error(pieces: Pieces, accuracy: float) -> Floats:
    """Of c - F at the ends."""
    return np.asarray(pieces["level_error"] + accuracy * pieces["cdf_b"])


def _nearest(pieces: Pieces) -> Floats:
    """How near F_P comes to the level; zero where it crosses it."""
    to_a, to_b = pieces["level"] - pieces["cdf_a"], pieces["level"] - pieces["cdf_b"]
    return np.where(np.sign(to_a) * np.sign(to_b) < 0.0, 0.0, np.minimum(abs(to_a), abs(to_b)))


def _bracket(pieces: Pieces, accuracy: float) -> tuple[Floats, Floats]:
    """Bounds of the integral over each piece by monotonicity."""
    width, error = pieces["b"] - pieces["a"], _error(pieces, accuracy)
    furthest = np.maximum(abs(pieces["level"] - pieces["cdf_a"]), abs(pieces["level"] - pieces["cdf_b"]))
    return (
        width * np.maximum(_nearest(pieces) - error, 0.0) * (1.0 - _ROUNDING),
        width * (furthest + error) * (1.0 + _ROUNDING),
    )


def _outside(points: Floats, target: Target, side: int) -> tuple[Pieces, float]:
    """Pieces below the smallest (side 0) or above the largest point, and an estimate of what lies beyond them.

    They double in length until the mass beyond is nothing, or too little to be resolved beside 1. The products of
    length and mass then fall from piece to piece by a ratio that is less than 1 where the mean exists.
    """
    start, sign = float(points[-side]), 2.0 * side - 1.0
    bound = np.inf * sign if target.bounds is None else float(target.bounds[0, side])
    level = float(side)
    if np.isfinite(bound):
        to_bound = np.array([start, bound] if sign * (bound - start) > 0.0 else [start])
        return _outward(to_bound, _cdf(target, to_bound), side, target), 0.0
    spread = max(float(points[-1] - points[0]), 1e-3 * abs(start), 1e-3)
    edges, cdfs = [start], [float(_cdf(target, points[[-side]])[0])]
    sizes: list[float] = []
    for k in range(_DOUBLINGS):
        edge = start + sign * spread * (2.0**k)
        if not np.isfinite(edge):
            break
        mass = abs(level - cdfs[-1])
        sizes.append(abs(edge - edges[-1]) * mass)
        edges.append(edge)
        cdfs.append(float(_cdf(target, np.array([edge]))[0]))
        if mass <= (_RESOLVED if side else 0.0) or sizes[-1] <= 1e-12 * max(sizes):
            break
    ratio = sizes[-1] / sizes[-2] if len(sizes) > 1 and sizes[-2] > 0.0 else 0.0
    rest = sizes[-1] * ratio / (1.0 - ratio) if ratio < 0.99 else np.inf
    return _outward(np.array(edges), np.array(cdfs), side, target), rest


def _outward(edges: Floats, cdf: Floats, side: int, target: Target) -> Pieces:
    """Pieces between edges that go outwards."""
    order = slice(None) if side else slice(None, None, -1)
    return _pieces(edges[order], cdf[order], float(side), 0.0, target)


def _signed(pieces: Pieces, target: Target) -> tuple[float, float]:
    """Bracket of the sum over pieces on which c - F_P keeps its sign, from the integrals of F_P and of 1 - F_P.

    An error of the integral up to a place that two pieces share cancels, unless c - F_P changes sign there. Where F_P
    comes as near to c as it may be wrong, the sign may be another on a part of the piece.
    """
    if not len(pieces):
        return 0.0, 0.0
    pieces = pieces[np.argsort(pieces["a"], kind="stable")]
    a, b, level, accuracy = pieces["a"], pieces["b"], pieces["level"], target.cdf_accuracy
    at_a, at_b = target.tail_integrals(a), target.tail_integrals(b)
    width, error = b - a, _error(pieces, accuracy)
    falling = pieces["cdf_b"] < 0.5  # where F is the smaller of F and 1 - F, its integral has the more digits
    below, above = at_b[:, 0] - at_a[:, 0], at_a[:, 1] - at_b[:, 1]
    share = width * np.where(falling, level, 1.0 - level)
    area = np.where(falling, share - below, above - share)
    error_a, error_b = (accuracy * at.sum(axis=1) for at in (at_a, at_b))
    own = _ROUNDING * (share + np.abs(area)) + width * pieces["level_error"] + _TINY
    own += np.where(_nearest(pieces) <= error, 2.0 * width * error, 0.0)
    _require_fit(pieces, np.abs(area), own + error_a + error_b, accuracy)
    cancels = (np.sign(area[1:]) == np.sign(area[:-1])) & (area[1:] != 0.0)
    cancels &= (falling[1:] == falling[:-1]) & (a[1:] == b[:-1])
    shared = np.concatenate([[False], cancels, [False]])
    slack = float(own.sum() + error_a[~shared[:-1]].sum() + error_b[~shared[1:]].sum())
    total = float(np.abs(area).sum())
    return total - slack, total + slack


def _require_fit(pieces: Pieces, area: Floats, slack: Floats, accuracy: float) -> None:
    """Areas must lie where the cdf at the ends of each piece allows."""
    least, most = _bracket(pieces, accuracy)
    wrong = np.flatnonzero(~((area + slack >= least) & (area - slack <= most)))
    if wrong.size:
        first = pieces[wrong[0]]
        raise InputError(
            f"the target's tail_integrals do not fit its cdf between {first['a']:.6g} and {first['b']:.6g}: "
            "they must be the integral of the cdf below x, and that of 1 - cdf above it"
        )


def _cdf(target: Target, values: Floats) -> Floats:
    cdf = target.cdf(values)
    accuracy = target.cdf_accuracy
    bad = np.flatnonzero(~((cdf >= -accuracy) & (cdf <= 1.0 + accuracy)))
    if bad.size:
        raise InputError(f"the target's cdf is {cdf[bad[0]]} at {values[bad[0]]:.6g}; it must lie between 0 and 1")
    return np.clip(cdf, 0.0, 1.0)


def _increasing(pieces: Pieces, target: Target) -> Pieces:
    """The pieces, over none of which the cdf falls."""
    falls = np.flatnonzero(pieces["cdf_b"] < pieces["cdf_a"] - 2.0 * target.cdf_accuracy)
    if falls.size:
        first = pieces[falls[0]]
        raise InputError(
            f"the target's cdf falls from {first['cdf_a']:.9g} at {first['a']:.6g} to {first['cdf_b']:.9g} at "
            f"{first['b']:.6g}; a cdf never decreases"
        )
    return pieces
