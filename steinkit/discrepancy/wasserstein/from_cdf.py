"""The integral of |F_Q - F_P| over the line, bracketed by what is known of the target's cdf F_P.

F_Q is constant between neighbouring points: 0 below the smallest, 1 above the largest. On a piece [a, b] where it is c,
F_P increases from F(a) to F(b), so

    (b - a) min |c - F|  <=  integral of |c - F_P|  <=  (b - a) max(|c - F(a)|, |c - F(b)|),    F in [F(a), F(b)],

whatever F_P does inside. With the integrals of F_P and 1 - F_P the pieces on which c - F_P keeps its sign are known,
and the place where the sign changes is found by bisection of F_P. With F_P alone, the pieces with the widest brackets
are halved, level by level, which no narrow component of the target can escape.

Errors of F_P and of its integrals, as large as the target says they may be, and of F_Q are in the brackets. A cdf's is
relative to it, so that it vanishes with the cdf; an integral's is relative to E|X - x|.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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


@dataclass(frozen=True, eq=False)
class _Pieces:
    """Pieces [a, b] on which F_Q is `level`, to within `level_error`, with F_P, to within `accuracy`, at their ends."""

    a: Floats
    b: Floats
    cdf_a: Floats
    cdf_b: Floats
    level: Floats
    level_error: Floats
    accuracy: Floats

    @property
    def error(self) -> Floats:
        """Of c - F at the ends."""
        return self.level_error + self.accuracy * self.cdf_b

    @property
    def nearest(self) -> Floats:
        """How near F_P comes to the level; zero where it crosses it."""
        to_a, to_b = self.level - self.cdf_a, self.level - self.cdf_b
        return np.where(np.sign(to_a) * np.sign(to_b) < 0.0, 0.0, np.minimum(abs(to_a), abs(to_b)))

    def bracket(self) -> tuple[Floats, Floats]:
        """Bounds of the integral over each piece by monotonicity."""
        width, error = self.b - self.a, self.error
        furthest = np.maximum(abs(self.level - self.cdf_a), abs(self.level - self.cdf_b))
        return (
            width * np.maximum(self.nearest - error, 0.0) * (1.0 - _ROUNDING),
            width * (furthest + error) * (1.0 + _ROUNDING),
        )

    def __getitem__(self, rows: NDArray[Any]) -> _Pieces:
        return _Pieces(*(values[rows] for values in vars(self).values()))

    def joined(self, other: _Pieces) -> _Pieces:
        return _Pieces(*(np.concatenate(pair) for pair in zip(vars(self).values(), vars(other).values(), strict=True)))

    def replaced(self, where: NDArray[np.bool_], other: _Pieces) -> _Pieces:
        """These pieces, or the other's where it says so."""
        both = zip(vars(self).values(), vars(other).values(), strict=True)
        return _Pieces(*(np.where(where, theirs, own) for own, theirs in both))

    def halves(self, target: Target) -> tuple[_Pieces, _Pieces]:
        middle = 0.5 * self.a + 0.5 * self.b
        cdf = _cdf(target, middle)
        _require_increasing(self.a, self.cdf_a, middle, cdf, target.cdf_accuracy)
        _require_increasing(middle, cdf, self.b, self.cdf_b, target.cdf_accuracy)
        return (
            _Pieces(self.a, middle, self.cdf_a, cdf, self.level, self.level_error, self.accuracy),
            _Pieces(middle, self.b, cdf, self.cdf_b, self.level, self.level_error, self.accuracy),
        )


@dataclass(frozen=True, eq=False)
class Steps:
    """The distribution function F_Q of a sample.

    Attributes
    ----------
    points : ndarray, shape (n,)
        Increasing.
    levels : ndarray, shape (n - 1,)
        F_Q between neighbouring points.
    error : float
        Of the levels.
    """

    points: Floats
    levels: Floats
    error: float


def distance_by_integrals(steps: Steps, target: Target) -> tuple[float, float]:
    """Bracket of the distance, from the cdf and its integrals; infinite where the target has no mean."""
    points, accuracy = steps.points, target.cdf_accuracy
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
    pieces = _between(steps, target)
    crossed = (pieces.cdf_a < pieces.level) & (pieces.cdf_b > pieces.level)
    turning = pieces[crossed]
    for _ in range(_HALVINGS):
        require_time("the cdf was evaluated")
        left, right = turning.halves(target)
        below = left.cdf_b < turning.level
        turning = left.replaced(below, right)
    level = turning.level, turning.level_error, turning.accuracy
    before = _Pieces(pieces.a[crossed], turning.a, pieces.cdf_a[crossed], turning.cdf_a, *level)
    after = _Pieces(turning.b, pieces.b[crossed], turning.cdf_b, pieces.cdf_b[crossed], *level)
    lower, upper = _signed(pieces[~crossed].joined(before).joined(after), target)
    turning_lower, turning_upper = turning.bracket()
    least, most = outside + lower + float(turning_lower.sum()), outside + upper + float(turning_upper.sum())
    slack = outside_error + 2.0 * _ROUNDING * most + _TINY
    return least - slack, most + slack


def distance_by_halving(steps: Steps, target: Target, tolerance: float) -> tuple[float, float, tuple[str, ...]]:
    """Bracket of the distance to a relative width, from the cdf alone, and what the reader should know of it."""
    pieces = _between(steps, target)
    missing = 0.0
    for side in (0, 1):
        outside, rest = _outside(steps.points, target, side)
        pieces, missing = pieces.joined(outside), missing + rest
    while True:
        require_time("the cdf was evaluated")
        lower, upper = pieces.bracket()
        least, most = float(lower.sum()), float(upper.sum())
        if most - least <= tolerance * most or len(pieces.a) > _MOST_PIECES:
            break
        middle = 0.5 * pieces.a + 0.5 * pieces.b
        divisible = (pieces.a < middle) & (middle < pieces.b)
        wide = (upper - lower > 0.5 * tolerance * least / len(pieces.a)) & divisible
        wide &= 0.125 * (upper - lower) > (pieces.b - pieces.a) * pieces.error  # no more is known of the others
        if not wide.any():  # a cdf that jumps
            break
        left, right = pieces[wide].halves(target)
        pieces = pieces[~wide].joined(left).joined(right)
    unbounded = target.bounds is None or not np.isfinite(target.bounds).all()
    notes = (
        "beyond the points where the cdf was evaluated its tails were taken to go on falling as fast as they do there; "
        "give Target tail_integrals= for a proof",
    )
    lost = _TINY * len(pieces.a)
    return least * (1.0 - _ROUNDING) - lost, (most + missing) * (1.0 + _ROUNDING) + lost, notes if unbounded else ()


def _between(steps: Steps, target: Target) -> _Pieces:
    """The pieces between neighbouring points."""
    points, levels = steps.points, steps.levels
    cdf = _cdf(target, points)
    _require_increasing(points[:-1], cdf[:-1], points[1:], cdf[1:], target.cdf_accuracy)
    error, accuracy = (np.full(len(levels), each) for each in (steps.error, target.cdf_accuracy))
    return _Pieces(points[:-1], points[1:], cdf[:-1], cdf[1:], levels, error, accuracy)


def _outside(points: Floats, target: Target, side: int) -> tuple[_Pieces, float]:
    """Pieces below the smallest (side 0) or above the largest point, and an estimate of what lies beyond them.

    They double in length until the mass beyond is nothing, or too little to be resolved beside 1. The products of
    length and mass then fall from piece to piece by a ratio that is less than 1 where the mean exists.
    """
    start, sign = float(points[-side]), 2.0 * side - 1.0
    bound = np.inf * sign if target.bounds is None else float(target.bounds[0, side])
    level = float(side)
    if np.isfinite(bound):
        to_bound = np.array([start, bound] if sign * (bound - start) > 0.0 else [start])
        return _outward(to_bound, _cdf(target, to_bound), side, target.cdf_accuracy), 0.0
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
    return _outward(np.array(edges), np.array(cdfs), side, target.cdf_accuracy), rest


def _outward(edges: Floats, cdf: Floats, side: int, accuracy: float) -> _Pieces:
    """Pieces between edges that go outwards."""
    order = slice(None) if side else slice(None, None, -1)
    x, f = edges[order], cdf[order]
    _require_increasing(x[:-1], f[:-1], x[1:], f[1:], accuracy)
    pieces = len(x) - 1
    level, exact, error = (np.full(pieces, each) for each in (float(side), 0.0, accuracy))
    return _Pieces(x[:-1], x[1:], f[:-1], f[1:], level, exact, error)


def _signed(pieces: _Pieces, target: Target) -> tuple[float, float]:
    """Bracket of the sum over pieces on which c - F_P keeps its sign, from the integrals of F_P and of 1 - F_P.

    An error of the integral up to a place that two pieces share cancels, unless c - F_P changes sign there. Where F_P
    comes as near to c as it may be wrong, the sign may be another on a part of the piece.
    """
    if not len(pieces.a):
        return 0.0, 0.0
    pieces = pieces[np.argsort(pieces.a, kind="stable")]
    at_a, at_b = target.tail_integrals(pieces.a), target.tail_integrals(pieces.b)
    width = pieces.b - pieces.a
    falling = pieces.cdf_b < 0.5  # where F is the smaller of F and 1 - F, its integral has the more digits
    below, above = at_b[:, 0] - at_a[:, 0], at_a[:, 1] - at_b[:, 1]
    share = width * np.where(falling, pieces.level, 1.0 - pieces.level)
    area = np.where(falling, share - below, above - share)
    error_a, error_b = (pieces.accuracy * at.sum(axis=1) for at in (at_a, at_b))
    own = _ROUNDING * (share + np.abs(area)) + width * pieces.level_error + _TINY
    own += np.where(pieces.nearest <= pieces.error, 2.0 * width * pieces.error, 0.0)
    _require_fit(pieces, np.abs(area), own + error_a + error_b)
    cancels = (np.sign(area[1:]) == np.sign(area[:-1])) & (area[1:] != 0.0)
    cancels &= (falling[1:] == falling[:-1]) & (pieces.a[1:] == pieces.b[:-1])
    shared = np.concatenate([[False], cancels, [False]])
    slack = float(own.sum() + error_a[~shared[:-1]].sum() + error_b[~shared[1:]].sum())
    total = float(np.abs(area).sum())
    return total - slack, total + slack


def _require_fit(pieces: _Pieces, area: Floats, slack: Floats) -> None:
    """Areas must lie where the cdf at the ends of each piece allows."""
    least, most = pieces.bracket()
    wrong = np.flatnonzero(~((area + slack >= least) & (area - slack <= most)))
    if wrong.size:
        i = wrong[0]
        raise InputError(
            f"the target's tail_integrals do not fit its cdf between {pieces.a[i]:.6g} and {pieces.b[i]:.6g}: "
            "they must be the integral of the cdf up to x, and that of 1 - cdf from x on"
        )


def _cdf(target: Target, values: Floats) -> Floats:
    cdf = target.cdf(values)
    accuracy = target.cdf_accuracy
    bad = np.flatnonzero(~((cdf >= -accuracy) & (cdf <= 1.0 + accuracy)))
    if bad.size:
        raise InputError(f"the target's cdf is {cdf[bad[0]]} at {values[bad[0]]:.6g}; it must lie between 0 and 1")
    return np.clip(cdf, 0.0, 1.0)


def _require_increasing(a: Floats, cdf_a: Floats, b: Floats, cdf_b: Floats, accuracy: float) -> None:
    falls = np.flatnonzero(cdf_b < cdf_a - 2.0 * accuracy)
    if falls.size:
        i = falls[0]
        raise InputError(
            f"the target's cdf falls from {cdf_a[i]:.9g} at {a[i]:.6g} to {cdf_b[i]:.9g} at {b[i]:.6g}; "
            "a cdf never decreases"
        )
