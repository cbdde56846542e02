"""What an answer of the classical program proves: a lower bound by a function, an upper one by multipliers.

**From below** a function proves a bound, integrated from gap to gap. The scaled bends u and turns v of any answer, with
a slope and a value to start from, *define* gamma and Gamma by the equations of `classical_program`,

    Gamma' = Gamma + c3 h v,      gamma' = gamma + h (Gamma + Gamma') / 2 + (c3 h^2 / 2) u,

so nothing is lost over short gaps, where u computed from gamma and Gamma would be noise. From a bound at distance a the
start is gamma = a Gamma + c3 a^2 u. Between two bounds a linear function is added, which changes no u and no v, so that
the sum vanishes at both: a change of the slope to start from. Near the second bound the integral from there is the more
accurate one. The functions admitted are a convex set around zero, so each component of the program is scaled down until
every restriction holds, with an allowance for rounding: the sums run in extended precision, where the machine has it,
with a bound on their error.

**From above** any multipliers prove a bound, by weak duality. For any lambda, mu of the equations of
`classical_program` for gamma and Gamma, and any rho >= 0 of its rows for t_+, t_-, the optimum is at most

    sum over points of  max {alpha gamma + beta Gamma}  +  sum over gaps of  max {A u + B v + C_+ t_+ + C_- t_-}
                                                        +  sum over gaps of  (rho_+ + rho_-) (c2 - c3 h / 2),

    alpha = q s - D' lambda,    beta = q + M' (h lambda - rho_+ + rho_-) - E' mu,
    A = lambda c3 h^2 / 2,      B = mu c3 h,      C = rho c3 h,

where D, E and M take differences of gamma, differences of Gamma and means of Gamma over the gaps. The first maximum,
over what a point admits, is in closed form. The second, over what a gap's cones admit, is at most

    S + B^2 / (4 S) + C_+^2 / (8 (S + A/2)) + C_-^2 / (8 (S - A/2))      for every S >= |A| / 2,

and the best S is found by bisection. So no multipliers are wrong: bad ones only prove less.
"""

from __future__ import annotations

import itertools
import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from steinkit.discrepancy.classical_program import ClassicalProgram, ConeAnswer, pointwise_optimum
from steinkit.sample import Floats

LongFloats = NDArray[np.longdouble]
_Bound = tuple[np.longdouble, np.longdouble]  # its distance a, and c3 a^2 u

_LONG = float(np.finfo(np.longdouble).eps)
_ROUNDING = 2.0**-48  # relative; covers the operations on a term in double precision, and an exact sum's rounding
_TINY = 2.0**-1000  # more than what is lost below the normal range
_HALVINGS = 60
_MARGIN = 1e-14  # of cones whose left-hand sides are sums of four terms of about one


def lower_bound(program: ClassicalProgram, answer: ConeAnswer) -> tuple[float, Floats, Floats]:
    """Lower bound of the optimum by any answer, and the gamma and Gamma that attain it.

    Returns
    -------
    lower : float
        Not negative, as zero is admitted.
    value, slope : ndarray, shape (n,)
    """
    path = function_of(program, answer)
    scale = _largest_multiples(program, path, answer)
    value, slope = np.asarray(scale * path[:2], dtype=np.float64)
    terms = program.weights * (program.scores * value + slope)
    value_error, slope_error = path[2:] + _ROUNDING * np.abs([value, slope]) + _TINY
    loss = program.weights * (abs(program.scores) * value_error + slope_error) + _TINY
    total = float(np.sum(terms - loss, dtype=np.longdouble))
    lower = total - (len(terms) * _LONG + _ROUNDING) * float((np.abs(terms) + loss).sum())
    return (lower, value, slope) if lower > 0.0 else (0.0, *np.zeros((2, len(terms))))


def function_of(program: ClassicalProgram, answer: ConeAnswer) -> LongFloats:
    """The function that an answer defines, at the points, and how far rounding may have taken it from that.

    Returns
    -------
    ndarray, shape (4, n)
        Values, slopes, errors of the values, errors of the slopes.
    """
    c3 = np.longdouble(program.factors.smoothness)
    path = np.zeros((4, len(program.points)), dtype=np.longdouble)
    path[:2] = answer.value, answer.slope
    bounds: dict[float, _Bound] = {}
    for number, (point, _, sign) in enumerate(program.ends, start=len(program.inner)):
        distance = abs(np.longdouble(program.points[point]) - np.longdouble(program.bounds[0 if sign > 0.0 else 1]))
        bounds[sign] = distance, c3 * distance * distance * answer.bend[number]
    for first, stop in itertools.pairwise(program.starts.tolist()):
        left = bounds.get(1.0) if first == 0 else None
        right = bounds.get(-1.0) if stop == len(program.points) else None
        offset = int(np.searchsorted(program.inner, first))
        between, at = slice(offset, offset + stop - first - 1), slice(first, stop)
        h = np.diff(program.points[at].astype(np.longdouble))
        u, v = (each[between].astype(np.longdouble) for each in (answer.bend, answer.turn))
        turns, bends = c3 * h * v, 0.5 * c3 * h * h * u
        from_left = partial(_integrated, h, turns, bends, left)
        from_right = partial(_integrated, h[::-1], -turns[::-1], bends[::-1], right)
        if right is None:
            path[:, at] = from_left(path[:, first])
        elif left is None:
            path[:, at] = _reflected(from_right(_reflected(path[:, at])[:, 0]))
        else:
            one = from_left(_balanced(from_left(path[:, first]), h, left, right))
            other = _reflected(from_right(_reflected(one)[:, 0]))
            path[:, at] = np.where(np.tile(one[2:] <= other[2:], (2, 1)), one, other)
    return path


def _integrated(
    h: LongFloats, turns: LongFloats, bends: LongFloats, bound: _Bound | None, start: LongFloats
) -> LongFloats:
    """Integrate over gaps of these lengths from the value, the slope and their errors at the first point, (4,)."""
    value, slope, value_error, slope_error = start
    slopes = np.cumsum(np.append(slope, turns))
    slope_errors = slope_error + 2.0 * _LONG * np.cumsum(np.abs(slopes) + 4.0 * np.append(0.0, np.abs(turns)))
    if bound is not None:
        distance, bend = bound
        value = distance * slope + bend
        value_error = distance * slope_errors[0] + 8.0 * _LONG * (np.abs(distance * slope) + np.abs(bend))
    values = np.cumsum(np.append(value, 0.5 * h * (slopes[1:] + slopes[:-1]) + bends))
    sizes = 0.5 * h * (np.abs(slopes[1:]) + np.abs(slopes[:-1])) + np.abs(bends)
    rounding = 2.0 * _LONG * (np.abs(values) + 8.0 * np.append(0.0, sizes))
    value_errors = value_error + np.cumsum(rounding + np.append(0.0, h * slope_errors[1:]))
    return np.array([values, slopes, value_errors, slope_errors])


def _balanced(path: LongFloats, h: LongFloats, left: _Bound, right: _Bound) -> LongFloats:
    """The start of a path from the left bound, (4,), from which it vanishes at the right one, too."""
    start, (value, slope, value_error, slope_error) = path[:, 0].copy(), path[:, -1]
    parts = np.array([value, right[0] * slope, right[1]])
    length = h.sum() + left[0] + right[0]
    change = parts.sum() / length
    start[1] -= change
    start[3] = (value_error + right[0] * slope_error + 8.0 * _LONG * np.abs(parts).sum()) / length
    start[3] += 2.0 * _LONG * ((len(h) + 4) * np.abs(change) + np.abs(start[1]))
    return start


def _reflected(path: LongFloats) -> LongFloats:
    """The same seen from the other side."""
    return np.concatenate([-path[:1, ::-1], path[1:, ::-1]])


def _largest_multiples(program: ClassicalProgram, path: LongFloats, answer: ConeAnswer) -> Floats:
    """For each point, the largest multiple of its component's function that is surely admitted, by bisection."""
    c, n_inner = program.factors, len(program.inner)
    at_ends = np.array([end[0] for end in program.ends], dtype=np.int64)
    left, right = np.concatenate([program.inner, at_ends]), np.concatenate([program.inner + 1, at_ends])
    count = len(program.starts) - 1
    component = np.repeat(np.arange(count), np.diff(program.starts))
    real = program.lengths > 0.0  # of a draw on a bound nothing else is asked
    width = np.where(real, c.smoothness * program.lengths.astype(np.longdouble), 1.0)
    value, slope, value_error, slope_error = path
    height, steepness = np.abs(value) + value_error, np.abs(slope) + slope_error
    mean, mean_error = 0.5 * (slope[left] + slope[right]), np.maximum(slope_error[left], slope_error[right])
    turn = np.where(np.arange(len(left)) < n_inner, answer.turn, 0.0)

    def fails(scale: Floats) -> NDArray[np.bool_]:
        at_points, at_gaps = scale[component], scale[component[left]]
        steep = at_points * steepness
        top = at_points * height / c.value + 0.5 * (steep / c.value) * (steep / c.smoothness)
        bad_points = ~((steep <= c.gradient * (1.0 - _MARGIN)) & (top <= 1.0 - _MARGIN))
        bad_gaps = np.zeros(len(left), dtype=bool)
        for sign in (1.0, -1.0):  # the upper and the lower envelope
            peak = at_gaps * (sign * mean + mean_error) + 4.0 * _LONG * c.gradient
            cut = np.maximum(0.5 + (peak - c.gradient) / width, 0.0)
            full = (at_gaps * turn) ** 2 + 4.0 * cut**2 + 2.0 * sign * at_gaps * answer.bend
            bad_gaps |= real & ~(full <= 1.0 - _MARGIN)
        bad = np.concatenate([component[bad_points], component[left[bad_gaps]]])
        return np.bincount(bad, minlength=count) > 0

    low, high = np.zeros(count), np.ones(count)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        failed = fails(middle)
        low, high = np.where(failed, low, middle), np.where(failed, middle, high)
    return low[component]


def upper_bound(program: ClassicalProgram, answer: ConeAnswer) -> float:
    """Upper bound of the optimum by any answer; never more than what the points alone prove."""
    nothing = np.zeros((4, len(program.lengths)))
    trivial = _bound(program, nothing[0], nothing[1], nothing[2:])
    return min(trivial, _bound(program, answer.tension, answer.torque, np.maximum(answer.cut, 0.0)))


def _bound(program: ClassicalProgram, tension: Floats, torque: Floats, cut: Floats) -> float:
    """Value of the upper bound, rounded up."""
    c, h = program.factors, program.lengths
    D, M, E = program.difference, program.mean, program.turning
    torque, cuts = np.where(np.arange(len(h)) < len(program.inner), torque, 0.0), cut.sum(axis=0)
    alpha = program.weights * program.scores - D.T @ tension
    alpha_size = abs(program.weights * program.scores) + abs(D).T @ abs(tension)
    beta = program.weights + M.T @ (h * tension - cut[0] + cut[1]) - E.T @ torque
    beta_size = program.weights + M.T @ (h * abs(tension) + cuts) + abs(E).T @ abs(torque)
    value, slope = pointwise_optimum(program, alpha, beta)
    at_points = alpha * value + beta * slope + _ROUNDING * (alpha_size * c.value + beta_size * program.steepest)
    at_points += _TINY * (1.0 + c.value + program.steepest)
    width = c.smoothness * h
    at_gaps = (1.0 + _ROUNDING) * _gap_maximum(0.5 * width * (h * tension), width * torque, width * cut)
    at_gaps += cuts * (c.gradient - 0.5 * width) + _ROUNDING * cuts * (c.gradient + width)
    at_gaps += _TINY * (1.0 + width) * (1.0 + h * abs(tension) + abs(torque) + cuts)
    terms = np.concatenate([at_points, at_gaps])
    if not np.isfinite(terms).all():
        return math.inf
    return math.fsum(terms) + _ROUNDING * math.fsum(np.abs(terms))


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
