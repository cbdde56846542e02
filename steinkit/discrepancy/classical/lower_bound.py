"""A function of the classical program integrated from gap to gap, and the lower bound it proves.

The scaled bends u and turns v of any answer, with a slope and a value to start from, *define* gamma and Gamma by the
equations of `cone_program`,

    Gamma' = Gamma + c3 h v,      gamma' = gamma + h (Gamma + Gamma') / 2 + (c3 h^2 / 2) u,

so nothing is lost over short gaps, where u computed from gamma and Gamma would be noise. From a bound at distance a the
start is gamma = a Gamma + c3 a^2 u. Between two bounds the function is integrated from both sides and matched in the
longest gap, as in shooting methods: a constant change of slope on either side makes the two match, and what is left is
counted in the u and v of that gap. The functions admitted are a convex set around zero, so each component of the
program is scaled down until every restriction holds, with an allowance for rounding: the sums run in extended
precision, where the machine has it, with a bound on their error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steinkit.discrepancy.classical.cone_program import ClassicalProgram, ConeAnswer
from steinkit.sample import Floats

LongFloats = NDArray[np.longdouble]

_ALLOWANCE = 2.0**-49  # relative; covers a dozen operations in double precision
_TINY = 2.0**-1070  # more than a number loses that falls below the normal range
_LONG = float(np.finfo(np.longdouble).eps)
_HALVINGS = 60
_MARGIN = 1e-14  # of cones whose left-hand sides are sums of four terms of about one
_CORRECTIONS = 3


def lower_bound(program: ClassicalProgram, answer: ConeAnswer) -> tuple[float, Floats, Floats]:
    """Lower bound of the optimum by any answer, and the gamma and Gamma that attain it.

    Returns
    -------
    lower : float
        Not negative, as zero is admitted.
    value, slope : ndarray, shape (n,)
    """
    n = len(program.points)
    trajectory = _Trajectory(*(np.zeros(n, dtype=np.longdouble) for _ in range(4)))
    trajectory.value[:], trajectory.slope[:] = answer.value, answer.slope
    gaps = np.zeros((4, len(program.lengths)), dtype=np.longdouble)  # u, v and their errors
    gaps[0], gaps[1, : len(program.inner)] = answer.bend, answer.turn[: len(program.inner)]
    for first, stop in _coupled_components(program):
        component = _Component.of(program, answer, first, stop)
        found, matching = component.integrated()
        for name, values in vars(found).items():
            getattr(trajectory, name)[first:stop] = values
        if matching is not None:
            gaps[:, matching.gap] = matching.found()
    scale = _largest_multiples(program, trajectory, gaps)
    value, slope = (np.asarray(scale * each, dtype=np.float64) for each in (trajectory.value, trajectory.slope))
    terms = program.weights * (program.scores * value + slope)
    value_error, slope_error = (
        trajectory.value_error + _ALLOWANCE * abs(value),
        trajectory.slope_error + _ALLOWANCE * abs(slope),
    )
    loss = program.weights * (abs(program.scores) * (value_error + _TINY) + slope_error + _TINY) + _TINY
    total = float(np.sum(terms - loss, dtype=np.longdouble))
    lower = total - (len(terms) * _LONG + _ALLOWANCE) * float((np.abs(terms) + loss).sum())
    return (lower, value, slope) if lower > 0.0 else (0.0, np.zeros(n), np.zeros(n))


@dataclass(frozen=True, eq=False)
class _Trajectory:
    """Values and slopes at some points, and how far rounding may have taken them from what they are to be."""

    value: LongFloats
    slope: LongFloats
    value_error: LongFloats
    slope_error: LongFloats

    def reflected(self) -> _Trajectory:
        """The same seen from the other side."""
        return _Trajectory(-self.value[::-1], self.slope[::-1], self.value_error[::-1], self.slope_error[::-1])


def _coupled_components(program: ClassicalProgram) -> Iterator[tuple[int, int]]:
    """First point and end of each component that has a gap."""
    bounded = {end[0] for end in program.ends}
    alone = np.diff(program.starts) == 1
    for first, stop, single in zip(program.starts[:-1], program.starts[1:], alone, strict=True):
        if not single or first in bounded:
            yield int(first), int(stop)


@dataclass(frozen=True, eq=False)
class _Component:
    """A component of the program as a chain of points, with a bound on either side, or none.

    Attributes
    ----------
    points, value, slope : ndarray, shape (k,)
        Value and slope as the answer has them.
    bend, turn : ndarray, shape (k - 1,)
    bounds : tuple of (distance, u) or None, two of them
        The bound on the left and on the right.
    gaps : tuple of int or None, three of them
        Numbers, in the program, of the left bound's gap, of the first gap between points, and of the right bound's.
    smoothness : float
    """

    points: LongFloats
    value: LongFloats
    slope: LongFloats
    bend: LongFloats
    turn: LongFloats
    bounds: tuple[tuple[np.longdouble, np.longdouble] | None, tuple[np.longdouble, np.longdouble] | None]
    gaps: tuple[int | None, int, int | None]
    smoothness: float

    @classmethod
    def of(cls, program: ClassicalProgram, answer: ConeAnswer, first: int, stop: int) -> _Component:
        offset = int(np.searchsorted(program.inner, first))
        between, at = slice(offset, offset + stop - first - 1), slice(first, stop)
        points = program.points.astype(np.longdouble)
        bounds, gaps = [], []
        for sign, point, bound in ((1.0, first, program.bounds[0]), (-1.0, stop - 1, program.bounds[1])):
            ends = enumerate(program.ends, start=len(program.inner))
            gap = next((number for number, end in ends if end[0] == point and end[2] == sign), None)
            gaps.append(gap)
            distance = np.abs(points[point] - np.longdouble(bound))
            bounds.append(None if gap is None else (distance, np.longdouble(answer.bend[gap])))
        return cls(
            points=points[at],
            value=answer.value[at].astype(np.longdouble),
            slope=answer.slope[at].astype(np.longdouble),
            bend=answer.bend[between].astype(np.longdouble),
            turn=answer.turn[between].astype(np.longdouble),
            bounds=(bounds[0], bounds[1]),
            gaps=(gaps[0], offset, gaps[1]),
            smoothness=program.factors.smoothness,
        )

    def integrated(self) -> tuple[_Trajectory, _Matching | None]:
        """Values and slopes, and the gap where trajectories from two bounds meet."""
        k = len(self.points)
        if self.bounds[0] is None or self.bounds[1] is None:
            if self.bounds[1] is None:
                return self._from_left(k, 0.0), None
            return self._reflected()._from_left(k, 0.0).reflected(), None
        widths = [2.0 * self.bounds[0][0], *np.diff(self.points), 2.0 * self.bounds[1][0]]
        place = int(np.argmax(widths))
        shifts = np.zeros(2, dtype=np.longdouble)
        for turn in range(_CORRECTIONS):
            left = self._from_left(place, shifts[0])
            right = self._reflected()._from_left(k - place, shifts[1]).reflected()
            matching = _Matching.of(self, left, right, place)
            if turn < _CORRECTIONS - 1:
                shifts += matching.shifts()
        both = zip(vars(left).values(), vars(right).values(), strict=True)
        return _Trajectory(*(np.concatenate(pair) for pair in both)), matching

    def _reflected(self) -> _Component:
        return _Component(
            points=-self.points[::-1],
            value=-self.value[::-1],
            slope=self.slope[::-1],
            bend=self.bend[::-1],
            turn=-self.turn[::-1],
            bounds=self.bounds[::-1],
            gaps=self.gaps[::-1],
            smoothness=self.smoothness,
        )

    def _from_left(self, k: int, shift: float | np.longdouble) -> _Trajectory:
        """Integrate over the first k points from the left on, starting with the answer's slope, changed by `shift`."""
        if not k:
            return _Trajectory(*(np.zeros(0, dtype=np.longdouble) for _ in range(4)))
        c3, h = np.longdouble(self.smoothness), np.diff(self.points[:k])
        turns = c3 * h * self.turn[: k - 1]
        slope = np.cumsum(np.concatenate([[self.slope[0] + shift], turns]))
        slope_error = 2.0 * _LONG * np.cumsum(np.abs(slope) + 4.0 * _after_zero(np.abs(turns)))
        bends = 0.5 * c3 * h * h * self.bend[: k - 1]
        if self.bounds[0] is None:
            start, start_error = self.value[0], np.longdouble(0.0)
        else:
            a, u = self.bounds[0]
            start = a * slope[0] + c3 * a * a * u
            start_error = a * slope_error[0] + 8.0 * _LONG * (np.abs(a * slope[0]) + np.abs(c3 * a * a * u))
        rises = 0.5 * h * (slope[1:] + slope[:-1])
        value = np.cumsum(np.concatenate([[start], rises + bends]))
        sizes = 0.5 * h * (np.abs(slope[1:]) + np.abs(slope[:-1])) + np.abs(bends)
        rounding = 2.0 * _LONG * (np.abs(value) + 8.0 * _after_zero(sizes))
        value_error = start_error + np.cumsum(rounding + _after_zero(h * slope_error[1:]))
        return _Trajectory(value, slope, value_error, slope_error.astype(np.longdouble))


@dataclass(frozen=True, eq=False)
class _Matching:
    """The gap where trajectories from two bounds meet.

    Its equations are those of two points at the ends, or of one point and its mirror image beyond a bound.
    """

    gap: int
    length: np.longdouble
    smoothness: float
    reach: tuple[np.longdouble, np.longdouble]  # how far the trajectories have come from their bounds
    rise: np.longdouble  # gamma' - gamma - h (Gamma + Gamma') / 2, and its error
    rise_error: np.longdouble
    change: np.longdouble  # Gamma' - Gamma, and its error
    change_error: np.longdouble
    wanted: tuple[np.longdouble, np.longdouble]  # u and v

    @classmethod
    def of(cls, component: _Component, left: _Trajectory, right: _Trajectory, place: int) -> _Matching:
        lower, upper = component.bounds
        assert lower is not None  # trajectories meet between two bounds only
        assert upper is not None
        points, k = component.points, len(component.points)
        mirror = not place or place == k
        near = right.reflected() if not place else left  # a bound's gap is seen from its point: outwards last
        a = near.value[-1], near.slope[-1], near.value_error[-1], near.slope_error[-1]
        if mirror:
            b = -a[0], a[1], a[2], a[3]
            length, u = (2.0 * lower[0], lower[1]) if not place else (2.0 * upper[0], upper[1])
            gap, v = (component.gaps[0] if not place else component.gaps[2]), np.longdouble(0.0)
        else:
            b = right.value[0], right.slope[0], right.value_error[0], right.slope_error[0]
            length, u, v = points[place] - points[place - 1], component.bend[place - 1], component.turn[place - 1]
            gap = component.gaps[1] + place - 1
        assert gap is not None
        mean = 0.5 * length * (a[1] + b[1])
        sizes = np.abs(a[0]) + np.abs(b[0]) + 0.5 * length * (np.abs(a[1]) + np.abs(b[1]))
        return cls(
            gap=gap,
            length=length,
            smoothness=component.smoothness,
            reach=(
                points[place - 1] - points[0] + lower[0] if place else np.longdouble(0.0),
                points[-1] - points[place] + upper[0] if place < k else np.longdouble(0.0),
            ),
            rise=b[0] - a[0] - mean,
            rise_error=a[2] + b[2] + 0.5 * length * (a[3] + b[3]) + 8.0 * _LONG * sizes,
            change=np.longdouble(0.0) if mirror else b[1] - a[1],
            change_error=np.longdouble(0.0) if mirror else a[3] + b[3] + 4.0 * _LONG * (np.abs(a[1]) + np.abs(b[1])),
            wanted=(u, v),
        )

    def shifts(self) -> LongFloats:
        """Changes of slope of the left and the right trajectory at which the gap has the u and v wanted."""
        h, c3 = self.length, np.longdouble(self.smoothness)
        rise = self.rise - 0.5 * c3 * h * h * self.wanted[0]
        left, right = self.reach
        if not left:
            return np.array([0.0, rise / (2.0 * right + h)], dtype=np.longdouble)
        if not right:
            return np.array([rise / (2.0 * left + h), 0.0], dtype=np.longdouble)
        change = self.change - c3 * h * self.wanted[1]
        second = (rise - change * (left + 0.5 * h)) / (left + right + h)
        return np.array([second + change, second], dtype=np.longdouble)

    def found(self) -> tuple[np.longdouble, ...]:
        """The gap's u and v, and their errors."""
        h, c3 = self.length, np.longdouble(self.smoothness)
        unit_rise, unit_change = 0.5 * c3 * h * h, c3 * h
        u, v = self.rise / unit_rise, self.change / unit_change
        allowance = 16.0 * _LONG
        return (
            u,
            v,
            self.rise_error / unit_rise + allowance * np.abs(u),
            self.change_error / unit_change + allowance * np.abs(v),
        )


def _largest_multiples(program: ClassicalProgram, path: _Trajectory, gaps: LongFloats) -> Floats:
    """For each point, the largest multiple of its component's trajectory that is surely admitted, by bisection."""
    c = program.factors
    at_ends = np.array([end[0] for end in program.ends], dtype=np.int64)
    component_of_point = np.repeat(np.arange(len(program.starts) - 1), np.diff(program.starts))
    component_of_gap = component_of_point[
        np.concatenate([program.inner, [end[0] for end in program.ends]]).astype(np.int64)
    ]
    real = program.lengths > 0.0
    width = np.where(real, c.smoothness * program.lengths.astype(np.longdouble), 1.0)
    left, right = program.inner, program.inner + 1
    mean = np.concatenate([0.5 * (path.slope[left] + path.slope[right]), path.slope[at_ends]])
    mean_error = np.concatenate(
        [np.maximum(path.slope_error[left], path.slope_error[right]), path.slope_error[at_ends]]
    )
    bend, turn, bend_error, turn_error = np.where(real, gaps, 0.0)
    height, steepness = (
        np.abs(path.value) + path.value_error,
        np.abs(path.slope) + path.slope_error,
    )

    def fails(scale: Floats) -> NDArray[np.bool_]:
        at_points, at_gaps = scale[component_of_point], scale[component_of_gap]
        slope = at_points * steepness
        top = at_points * height / c.value + 0.5 * (slope / c.value) * (slope / c.smoothness)
        bad_points = ~((slope <= c.gradient * (1.0 - _MARGIN)) & (top <= 1.0 - _MARGIN))
        bad_gaps = np.zeros(len(at_gaps), dtype=bool)
        for sign in (1.0, -1.0):  # the upper and the lower envelope
            peak = at_gaps * (sign * mean + mean_error) + 4.0 * _LONG * c.gradient
            cut = np.where(real, np.maximum(0.5 + (peak - c.gradient) / width, 0.0), 0.0)
            bent = 2.0 * at_gaps * (sign * bend + bend_error)
            bad_gaps |= ~((at_gaps * (np.abs(turn) + turn_error)) ** 2 + 4.0 * cut**2 + bent <= 1.0 - _MARGIN)
        failed = np.zeros(len(scale), dtype=bool)
        failed[component_of_point[bad_points]] = True
        failed[component_of_gap[bad_gaps]] = True
        return failed

    low, high = np.zeros(len(program.starts) - 1), np.ones(len(program.starts) - 1)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        failed = fails(middle)
        low, high = np.where(failed, low, middle), np.where(failed, middle, high)
    return low[component_of_point]


def _after_zero(values: LongFloats) -> LongFloats:
    return np.concatenate([np.zeros(1, dtype=np.longdouble), values])
