"""What an answer of the classical program proves: a lower bound by a function, an upper one by multipliers.

**From below** a function proves a bound, integrated from gap to gap. The scaled bends u and turns v of any answer, with
a slope and a value to start from, *define* gamma and Gamma by the equations of `classical_program`,

    Gamma' = Gamma + c3 h v,      gamma' = gamma + h (Gamma + Gamma') / 2 + (c3 h^2 / 2) u,

so nothing is lost over short gaps, where u computed from gamma and Gamma would be noise. From a bound at distance a the
start is gamma = a Gamma + c3 a^2 u. Between two bounds the function is integrated from both sides and matched in the
longest gap, as in shooting methods: a constant change of slope on either side makes the two match, and what is left is
counted in the u and v of that gap. The functions admitted are a convex set around zero, so each component of the
program is scaled down until every restriction holds, with an allowance for rounding: the sums run in extended
precision, where the machine has it, with a bound on their error.

**From above** any multipliers prove a bound, by weak duality. For any lambda, mu of the equations of
`classical_program` for gamma and Gamma, and any rho >= 0 of its rows for t_+, t_-, the optimum is at most

    sum over points of  max {alpha gamma + beta Gamma}  +  sum over gaps of  max {A u + B v + C_+ t_+ + C_- t_-}
                                                        +  sum over gaps of  (rho_+ + rho_-) (c2 - c3 h / 2),

    alpha = q s - D' lambda,    beta = q + M' (h lambda - rho_+ + rho_-) - E' mu,
    A = lambda c3 h^2 / 2,      B = mu c3 h,      C = rho c3 h,

where D, E and M take differences of gamma, differences of Gamma and means of Gamma over the gaps. The first maximum,
over what a point admits, is in closed form. The second, over what a gap's cones admit, is at most

    S + B^2 / (4 S) + C_+^2 / (8 (S + A/2)) + C_-^2 / (8 (S - A/2))      for every S >= |A| / 2,

and the best S is found by bisection. So no multipliers are wrong: bad ones only prove less. Of an answer, forces alpha
and beta and multipliers rho are kept where they act; lambda and mu follow from gap to gap, so that forces that should
vanish do, to rounding. What does not add up is left at a component's last point, or at its bound, where it is free.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from steinkit.discrepancy.classical_program import ClassicalProgram, ConeAnswer, pointwise_optimum
from steinkit.sample import Floats, Integers

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


_LOSS = 2.0**-48  # relative; covers the operations on a term, and an exact sum's rounding


def upper_bound(program: ClassicalProgram, answer: ConeAnswer) -> float:
    """Upper bound of the optimum by any answer; never more than what the points alone prove."""
    gaps = len(program.lengths)
    nothing = np.zeros(gaps)
    trivial = _bound(program, nothing, nothing[: len(program.inner)], np.zeros((2, gaps)))
    if not gaps:
        return trivial
    alpha, beta, cut = _acting(program, answer)
    tension, turning = _multipliers(program, answer, alpha, beta, cut)
    return min(trivial, _bound(program, tension, turning, cut))


def _acting(program: ClassicalProgram, answer: ConeAnswer) -> tuple[Floats, Floats, Floats]:
    """Forces and multipliers of an answer, zero where its restriction is looser than they are strong."""
    c = program.factors
    alpha, beta = answer.value_force, answer.slope_force
    strongest = max(float(np.abs(alpha).max()), float(np.abs(beta).max()), 1e-300)
    room = 1.0 - np.abs(answer.value) / c.value - answer.slope**2 / (2.0 * c.value * c.smoothness)
    touching = room < np.abs(alpha) / strongest
    steep = 1.0 - np.abs(answer.slope) / c.gradient < np.abs(beta) / strongest
    peak = 0.5 * c.smoothness * program.lengths - c.gradient
    mean = program.mean @ answer.slope
    near = np.stack([-(peak + mean), -(peak - mean)]) / c.gradient
    cut = np.maximum(answer.cut, 0.0)
    kept = near < cut / max(float(cut.max()), 1e-300)
    return np.where(touching, alpha, 0.0), np.where(touching | steep, beta, 0.0), np.where(kept, cut, 0.0)


def _multipliers(
    program: ClassicalProgram, answer: ConeAnswer, alpha: Floats, beta: Floats, cut: Floats
) -> tuple[Floats, Floats]:
    """The lambda of all gaps and mu of those between points that leave the forces alpha and beta.

    Over the points of a component, lambda' = lambda - (q s - alpha) and mu' = mu - (q + M' (h lambda - rho_+ + rho_-) -
    beta). Before the first point lambda is 0, or 2 lambda of its bound; after the last, 0 or -2 lambda of its bound.
    """
    n_inner = len(program.inner)
    firsts, lasts = program.starts[:-1], program.starts[1:] - 1
    component = np.repeat(np.arange(len(firsts)), np.diff(program.starts))
    left, right = program.bound_gaps
    pull = program.weights * program.scores - alpha

    def tension_from(before: Floats) -> Floats:
        after = before[component] - _running_sums(pull, program.starts)
        tension = np.empty(len(program.lengths))
        tension[:n_inner] = after[program.inner]
        if left is not None:
            tension[left] = 0.5 * before[0]
        if right is not None:
            tension[right] = 0.5 * after[-1]
        return tension

    def slope_pull(tension: Floats) -> Floats:
        return np.asarray(program.weights + program.mean.T @ (program.lengths * tension - cut[0] + cut[1]) - beta)

    before = np.zeros(len(firsts))
    if left is not None and right is not None and len(firsts) == 1:
        before[0] = 2.0 * answer.tension[left]
        width = program.bounds[1] - program.bounds[0]
        before[0] -= slope_pull(tension_from(before)).sum() / width  # so that mu ends at 0
    elif left is not None:
        before[0] = pull[: lasts[0] + 1].sum()
    tension = tension_from(before)
    turning = -_running_sums(slope_pull(tension), program.starts)
    return tension, turning[program.inner]


def _running_sums(values: Floats, starts: Integers) -> Floats:
    """Sums from the start of each component to each point, the point included."""
    sums = np.cumsum(values.astype(np.longdouble))
    before = np.concatenate([[np.longdouble(0.0)], sums])[starts[:-1]]
    return np.asarray(sums - np.repeat(before, np.diff(starts)), dtype=np.float64)


def _bound(program: ClassicalProgram, tension: Floats, turning: Floats, cut: Floats) -> float:
    """Value of the upper bound, rounded up."""
    c, h = program.factors, program.lengths
    n_inner = len(program.inner)
    turned = np.zeros(len(h))
    turned[:n_inner] = turning
    ends = sparse.csr_array(program.difference[:n_inner])
    alpha = program.weights * program.scores - program.difference.T @ tension
    alpha_error = abs(program.weights * program.scores) + abs(program.difference).T @ abs(tension)
    push = h * tension - cut[0] + cut[1]
    beta = program.weights + program.mean.T @ push - ends.T @ turning
    beta_error = program.weights + program.mean.T @ (h * abs(tension) + cut.sum(axis=0)) + abs(ends).T @ abs(turning)
    value, slope = pointwise_optimum(program, alpha, beta)
    at_points = alpha * value + beta * slope + _LOSS * (alpha_error * c.value + beta_error * program.steepest)
    at_points += _TINY * len(h) * (1.0 + c.value + program.steepest)
    bend = c.smoothness * h
    at_gaps = _gap_maximum(0.5 * bend * (h * tension), bend * turned, bend * cut)
    at_gaps += _TINY * (1.0 + bend) * (1.0 + h * abs(tension) + abs(turned) + cut.sum(axis=0))
    shares = cut.sum(axis=0) * (c.gradient - 0.5 * c.smoothness * h)
    shares += _LOSS * cut.sum(axis=0) * (c.gradient + c.smoothness * h)
    terms = np.concatenate([at_points, at_gaps * (1.0 + _LOSS), shares])
    if not np.isfinite(terms).all():
        return math.inf
    return math.fsum(terms) + _LOSS * math.fsum(np.abs(terms))


def _gap_maximum(A: Floats, B: Floats, C: Floats) -> Floats:
    """A bound of max A u + B v + C_+ t_+ + C_- t_- over the cones of each gap; any S gives one."""
    least = 0.5 * np.abs(A)
    low, high = np.zeros(len(A)), np.hypot(0.5 * B, math.sqrt(0.125) * np.hypot(*C))  # of S - |A| / 2

    def shares(rest: Floats) -> tuple[Floats, Floats, Floats]:
        return rest + least, rest + (least + 0.5 * A), rest + (least - 0.5 * A)

    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        both, upper, lower = shares(middle)
        rising = (0.5 * B / both) ** 2 + 0.125 * ((C[0] / upper) ** 2 + (C[1] / lower) ** 2) < 1.0
        low, high = np.where(rising, low, middle), np.where(rising, middle, high)
    both, upper, lower = shares(high)
    return both + _share(B, 4.0 * both) + _share(C[0], 8.0 * upper) + _share(C[1], 8.0 * lower)


def _share(portion: Floats, whole: Floats) -> Floats:
    """Square of a number over one that is not negative, where nothing of nothing is nothing."""
    return np.asarray(np.where(portion == 0.0, 0.0, portion * (portion / np.where(portion == 0.0, 1.0, whole))))
