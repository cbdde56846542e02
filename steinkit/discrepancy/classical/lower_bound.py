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

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steinkit.discrepancy.classical.cone_program import ClassicalProgram, ConeAnswer
from steinkit.sample import Floats

LongFloats = NDArray[np.longdouble]
_Bound = tuple[np.longdouble, np.longdouble]

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
    n, n_inner = len(program.points), len(program.inner)
    path = np.zeros((4, n), dtype=np.longdouble)
    path[0], path[1] = answer.value, answer.slope
    gaps = np.zeros((4, len(program.lengths)), dtype=np.longdouble)  # u, v and their errors
    gaps[0], gaps[1, :n_inner] = answer.bend, answer.turn[:n_inner]
    bounded = {end[0] for end in program.ends}
    for first, stop in itertools.pairwise(program.starts.tolist()):
        if stop - first == 1 and first not in bounded:
            continue  # nothing to integrate over
        component, numbers = _component(program, answer, first, stop)
        path[:, first:stop], place, matched = component.integrated()
        if matched is not None:
            gaps[:, numbers[place]] = matched
    scale = _largest_multiples(program, path, gaps)
    value, slope = np.asarray(scale * path[:2], dtype=np.float64)
    terms = program.weights * (program.scores * value + slope)
    value_error, slope_error = path[2] + _ALLOWANCE * abs(value), path[3] + _ALLOWANCE * abs(slope)
    loss = program.weights * (abs(program.scores) * (value_error + _TINY) + slope_error + _TINY) + _TINY
    total = float(np.sum(terms - loss, dtype=np.longdouble))
    lower = total - (len(terms) * _LONG + _ALLOWANCE) * float((np.abs(terms) + loss).sum())
    return (lower, value, slope) if lower > 0.0 else (0.0, np.zeros(n), np.zeros(n))


@dataclass(frozen=True, eq=False)
class _Component:
    """A component of the program as a chain of points, with a bound on either side, or none.

    A trajectory over some of its points is an array with a row each for values, slopes, and how far rounding may have
    taken either from what they are to be.

    Attributes
    ----------
    points, value, slope : ndarray, shape (k,)
        Value and slope as the answer has them.
    bend, turn : ndarray, shape (k - 1,)
    bounds : tuple of (distance, u) or None, two of them
        The bound on the left and on the right.
    smoothness : float
    """

    points: LongFloats
    value: LongFloats
    slope: LongFloats
    bend: LongFloats
    turn: LongFloats
    bounds: tuple[_Bound | None, _Bound | None]
    smoothness: float

    def integrated(self) -> tuple[LongFloats, int, tuple[np.longdouble, ...] | None]:
        """A trajectory, and the place of the gap where those from two bounds meet, with its u, v and their errors.

        The gap at place 0 is that to the left bound, at place p < k that before point p, at place k to the right bound.
        """
        k, (left_bound, right_bound) = len(self.points), self.bounds
        if right_bound is None:
            return self._from_left(k, 0.0), 0, None
        if left_bound is None:
            return _reflected(self._seen_from_right()._from_left(k, 0.0)), 0, None
        place = int(np.argmax([2.0 * left_bound[0], *np.diff(self.points), 2.0 * right_bound[0]]))
        shifts = np.zeros(2, dtype=np.longdouble)
        for _ in range(_CORRECTIONS):
            left = self._from_left(place, shifts[0])
            right = _reflected(self._seen_from_right()._from_left(k - place, shifts[1]))
            found, changes = self._matched(left, right, place, left_bound, right_bound)
            shifts += changes
        return np.concatenate([left, right], axis=1), place, found

    def _seen_from_right(self) -> _Component:
        return _Component(
            points=-self.points[::-1],
            value=-self.value[::-1],
            slope=self.slope[::-1],
            bend=self.bend[::-1],
            turn=-self.turn[::-1],
            bounds=self.bounds[::-1],
            smoothness=self.smoothness,
        )

    def _from_left(self, k: int, shift: float | np.longdouble) -> LongFloats:
        """Integrate over the first k points from the left on, starting with the answer's slope, changed by `shift`."""
        if not k:
            return np.zeros((4, 0), dtype=np.longdouble)
        c3, h = np.longdouble(self.smoothness), np.diff(self.points[:k])
        turns = c3 * h * self.turn[: k - 1]
        slope = np.cumsum(np.concatenate([[self.slope[0] + shift], turns]))
        slope_error = 2.0 * _LONG * np.cumsum(np.abs(slope) + 4.0 * _after_zero(np.abs(turns)))
        bends = 0.5 * c3 * h * h * self.bend[: k - 1]
        start, start_error = self.value[0], np.longdouble(0.0)
        if self.bounds[0] is not None:
            a, u = self.bounds[0]
            start = a * slope[0] + c3 * a * a * u
            start_error = a * slope_error[0] + 8.0 * _LONG * (np.abs(a * slope[0]) + np.abs(c3 * a * a * u))
        rises = 0.5 * h * (slope[1:] + slope[:-1])
        value = np.cumsum(np.concatenate([[start], rises + bends]))
        sizes = 0.5 * h * (np.abs(slope[1:]) + np.abs(slope[:-1])) + np.abs(bends)
        rounding = 2.0 * _LONG * (np.abs(value) + 8.0 * _after_zero(sizes))
        value_error = start_error + np.cumsum(rounding + _after_zero(h * slope_error[1:]))
        return np.array([value, slope, value_error, slope_error], dtype=np.longdouble)

    def _matched(
        self, left: LongFloats, right: LongFloats, place: int, left_bound: _Bound, right_bound: _Bound
    ) -> tuple[tuple[np.longdouble, ...], LongFloats]:
        """The u and v, with their errors, of the gap where trajectories from two bounds meet.

        Also the changes of slope of either trajectory at which the gap has the u and v of the answer. The gap's
        equations are those of two points at its ends, or of one point and its mirror image beyond a bound.
        """
        points, c3, zero = self.points, np.longdouble(self.smoothness), np.longdouble(0.0)
        mirrored = place in (0, len(points))
        if mirrored:  # a bound's gap is seen from its point: outwards last
            here = left[:, -1] if place else _reflected(right)[:, -1]
            there = _reflected(here[:, None])[:, 0]
            distance, u = right_bound if place else left_bound
            h, v = 2.0 * distance, zero
        else:
            here, there = left[:, -1], right[:, 0]
            h, u, v = points[place] - points[place - 1], self.bend[place - 1], self.turn[place - 1]
        unit_rise, unit_change = 0.5 * c3 * h * h, c3 * h
        steepness = np.abs(here[1]) + np.abs(there[1])
        sizes = np.abs(here[0]) + np.abs(there[0]) + 0.5 * h * steepness
        rise = there[0] - here[0] - 0.5 * h * (here[1] + there[1])
        rise_error = here[2] + there[2] + 0.5 * h * (here[3] + there[3]) + 8.0 * _LONG * sizes
        change = there[1] - here[1]
        change_error = zero if mirrored else here[3] + there[3] + 4.0 * _LONG * steepness
        found = rise / unit_rise, change / unit_change
        allowance = 16.0 * _LONG * np.abs(found)
        errors = rise_error / unit_rise + allowance[0], change_error / unit_change + allowance[1]

        before = points[place - 1] - points[0] + left_bound[0] if place else zero
        after = points[-1] - points[place] + right_bound[0] if place < len(points) else zero
        rise, change = rise - unit_rise * u, change - unit_change * v
        if not before:
            shifts = zero, rise / (2.0 * after + h)
        elif not after:
            shifts = rise / (2.0 * before + h), zero
        else:
            second = (rise - change * (before + 0.5 * h)) / (before + after + h)
            shifts = second + change, second
        return (*found, *errors), np.array(shifts, dtype=np.longdouble)


def _component(
    program: ClassicalProgram, answer: ConeAnswer, first: int, stop: int
) -> tuple[_Component, list[int | None]]:
    """The component of these points, and its gaps' numbers in the program by their places."""
    offset = int(np.searchsorted(program.inner, first))
    between, at = slice(offset, offset + stop - first - 1), slice(first, stop)
    numbers: list[int | None] = [None, *range(between.start, between.stop), None]
    bounds: list[_Bound | None] = [None, None]
    for side, outermost in enumerate((first == 0, stop == len(program.points))):
        gap = program.bound_gaps[side]
        if outermost and gap is not None:
            distance = np.abs(np.longdouble(program.points[-side]) - np.longdouble(program.bounds[side]))
            numbers[-side], bounds[side] = gap, (distance, np.longdouble(answer.bend[gap]))
    component = _Component(
        points=program.points[at].astype(np.longdouble),
        value=answer.value[at].astype(np.longdouble),
        slope=answer.slope[at].astype(np.longdouble),
        bend=answer.bend[between].astype(np.longdouble),
        turn=answer.turn[between].astype(np.longdouble),
        bounds=(bounds[0], bounds[1]),
        smoothness=program.factors.smoothness,
    )
    return component, numbers


def _reflected(trajectory: LongFloats) -> LongFloats:
    """The same seen from the other side."""
    return np.concatenate([-trajectory[:1, ::-1], trajectory[1:, ::-1]])


def _largest_multiples(program: ClassicalProgram, path: LongFloats, gaps: LongFloats) -> Floats:
    """For each point, the largest multiple of its component's trajectory that is surely admitted, by bisection."""
    c = program.factors
    at_ends = np.array([end[0] for end in program.ends], dtype=np.int64)
    left, right = np.concatenate([program.inner, at_ends]), np.concatenate([program.inner + 1, at_ends])
    component_of_point = np.repeat(np.arange(len(program.starts) - 1), np.diff(program.starts))
    component_of_gap = component_of_point[left]
    real = program.lengths > 0.0
    width = np.where(real, c.smoothness * program.lengths.astype(np.longdouble), 1.0)
    value, slope, value_error, slope_error = path
    mean, mean_error = 0.5 * (slope[left] + slope[right]), np.maximum(slope_error[left], slope_error[right])
    bend, turn, bend_error, turn_error = np.where(real, gaps, 0.0)
    height, steepness = np.abs(value) + value_error, np.abs(slope) + slope_error

    def fails(scale: Floats) -> NDArray[np.bool_]:
        at_points, at_gaps = scale[component_of_point], scale[component_of_gap]
        steep = at_points * steepness
        top = at_points * height / c.value + 0.5 * (steep / c.value) * (steep / c.smoothness)
        bad_points = ~((steep <= c.gradient * (1.0 - _MARGIN)) & (top <= 1.0 - _MARGIN))
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
