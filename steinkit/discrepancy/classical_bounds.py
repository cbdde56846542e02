"""Proved bounds for the classical program from the result of a cone solver.

**Lower bound.** Any function in the class yields a lower bound. The function is integrated gap by gap. Given an initial
slope and value, the scaled bends u and turns v in any solver result *define* gamma and Gamma by the equations of
`classical_program`,

    Gamma' = Gamma + c3 h v,      gamma' = gamma + h (Gamma + Gamma') / 2 + (c3 h^2 / 2) u.

This construction is accurate even over short gaps, where rounding errors would dominate u if it were computed from
gamma and Gamma. At distance a from a bound of the support, the value is gamma = a Gamma + c3 a^2 u. Between two bounds,
a linear function is added to g. The linear function does not change u and v, and the sum vanishes at both bounds. The
recursion is computed in integers, in a unit that is small enough to represent all gaps exactly. The functions in the
class form a convex set that contains zero. Each component of the program is therefore scaled down until every
constraint holds with a margin for rounding errors.

**Upper bound.** Let lambda and mu be any multipliers of the equations for gamma and Gamma in `classical_program`, and
let rho >= 0 be any multipliers of the inequalities for t_+ and t_-. By weak duality, the optimum is at most

    sum over points of  max {alpha gamma + beta Gamma}  +  sum over gaps of  max {A u + B v + C_+ t_+ + C_- t_-}
                                                        +  sum over gaps of  (rho_+ + rho_-) (c2 - c3 h / 2),

    alpha = q s - D' lambda,    beta = q + M' (h lambda - rho_+ + rho_-) - E' mu,
    A = lambda c3 h^2 / 2,      B = mu c3 h,      C = rho c3 h,

where D, E and M take differences of gamma, differences of Gamma and means of Gamma over the gaps. The maximum at a
point has a closed form. The maximum over the cones of a gap is at most

    S + B^2 / (4 S) + C_+^2 / (8 (S + A/2)) + C_-^2 / (8 (S - A/2))      for every S >= |A| / 2,

and bisection finds the best S. Inaccurate multipliers yield a larger upper bound.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from steinkit.discrepancy.bracket import require_ordered
from steinkit.discrepancy.classical_program import ClassicalProgram, ConeAnswer, pointwise_optimum
from steinkit.sample import Floats

# this relative margin covers the double-precision operations on a term and the rounding of an exact sum
_ROUNDING = 2.0**-48
_TINY = 2.0**-900  # this margin exceeds the total underflow of all terms and slopes, values excepted
_UNDERFLOW = 2.0**-1074  # largest error of a value that underflows
_HALVINGS = 60
_MARGIN = 1e-14  # margin for cones; their left-hand side is a sum of four terms of order one


def prove(program: ClassicalProgram, answer: ConeAnswer) -> tuple[float, float, Floats, Floats]:
    """Return proved bounds on the optimum, and a function for the lower bound.

    The function is given by its values gamma and slopes Gamma at the points.

    Solution entries that are not finite are replaced by zero.

    Raises
    ------
    CrossedBracketError
        If the lower bound exceeds the upper bound.
    """
    answer = ConeAnswer(**{name: np.where(np.isfinite(each), each, 0.0) for name, each in vars(answer).items()})
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # bounds that are not finite are replaced
        lower, value, slope = lower_bound(program, answer)
        nothing = np.zeros((4, len(program.lengths)))
        trivial = upper_bound(program, nothing[0], nothing[1], nothing[2:])
        upper = min(trivial, upper_bound(program, answer.tension, answer.torque, np.maximum(answer.cut, 0.0)))
    require_ordered(lower, upper, stein_factors=program.factors, **vars(answer))
    return lower, upper, value, slope


def lower_bound(program: ClassicalProgram, answer: ConeAnswer) -> tuple[float, Floats, Floats]:
    """Return a lower bound on the optimum and a function that attains the bound.

    The function is given by its values gamma and slopes Gamma, each of shape (n,).
    """
    limits = {"value": program.factors.value, "slope": program.steepest, "bend": 0.5, "turn": 1.0}
    value, slope, bend, turn = (np.clip(getattr(answer, name), -most, most) for name, most in limits.items())
    value, slope = function_of(program, value, slope, bend, turn)
    scale = _largest_multiples(program, value, slope, bend, turn)
    value, slope = scale * value, scale * slope
    parts = np.concatenate([program.weights * (program.scores * value), program.weights * slope])
    underflow = _UNDERFLOW * math.fsum(program.weights * np.abs(program.scores))
    lower = math.fsum(parts) - _ROUNDING * math.fsum(np.abs(parts)) - underflow - _TINY
    return (lower, value, slope) if lower > 0.0 else (0.0, *np.zeros((2, len(value))))


def function_of(
    program: ClassicalProgram, value: Floats, slope: Floats, bend: Floats, turn: Floats
) -> tuple[Floats, Floats]:
    """Return the values and slopes of a solution's function at the points.

    Each result is rounded only once.
    """
    c3, low, high = Fraction(program.factors.smoothness), *program.bounds
    x, values, slopes, bends, turns = (
        [Fraction(number) for number in each.tolist()] for each in (program.points, value, slope, bend, turn)
    )
    at_bounds = {}  # a and c3 a^2 u
    for (point, _, sign), u in zip(program.ends, bends[len(program.inner) :], strict=True):
        distance = abs(x[point] - Fraction(low if sign > 0.0 else high))
        at_bounds[sign] = distance, c3 * distance * distance * u
    for component, (first, stop) in enumerate(pairwise(program.starts.tolist())):
        left = at_bounds.get(1.0) if first == 0 else None
        right = at_bounds.get(-1.0) if stop == len(x) else None
        if left:
            values[first] = left[0] * slopes[first] + left[1]
        for k in range(first, stop - 1):
            h, gap = x[k + 1] - x[k], k - component  # a component has one gap fewer than points
            slopes[k + 1] = slopes[k] + c3 * h * turns[gap]
            values[k + 1] = values[k] + h * (slopes[k] + slopes[k + 1]) / 2 + c3 * h * h / 2 * bends[gap]
        if right:
            miss = values[stop - 1] + right[0] * slopes[stop - 1] + right[1]
            tilt = miss / (Fraction(high) - Fraction(low)) if left else Fraction(0)
            for k in range(first, stop):
                values[k] -= tilt * (x[k] - Fraction(low)) if left else miss
                slopes[k] -= tilt
    return np.array(values, dtype=np.float64), np.array(slopes, dtype=np.float64)


def _largest_multiples(program: ClassicalProgram, value: Floats, slope: Floats, bend: Floats, turn: Floats) -> Floats:
    """Return the largest admissible multiple of the function at each point.

    The multiple is found by bisection and is the same for all points of a component.
    """
    c, mean = program.factors, program.matrices[1] @ slope
    left = np.append(program.inner, [point for point, _, _ in program.ends]).astype(np.int64)
    turn = np.where(np.arange(len(left)) < len(program.inner), turn, 0.0)
    count = len(program.starts) - 1
    component = np.repeat(np.arange(count), np.diff(program.starts))
    real = program.lengths > 0.0  # if a draw lies on a bound, there is no additional constraint
    width = np.where(real, c.smoothness * program.lengths, 1.0)
    envelope = np.array([[1.0], [-1.0]])  # the upper and the lower envelope

    def fails(scale: Floats) -> NDArray[np.bool_]:
        at_points, at_gaps = scale[component], scale[component[left]]
        steep = at_points * np.abs(slope)
        top = at_points * np.abs(value) / c.value + 0.5 * (steep / c.value) * (steep / c.smoothness)
        bad_points = ~((steep <= c.gradient * (1.0 - _MARGIN)) & (top <= 1.0 - _MARGIN))
        peak = at_gaps * envelope * mean + 2.0**-50 * c.gradient
        cut = np.maximum(0.5 + (peak - c.gradient) / width, 0.0)
        full = (at_gaps * turn) ** 2 + 4.0 * cut**2 + 2.0 * envelope * at_gaps * bend
        bad_gaps = real & ~(full <= 1.0 - _MARGIN).all(axis=0)
        bad = np.concatenate([component[bad_points], component[left[bad_gaps]]])
        return np.bincount(bad, minlength=count) > 0

    low, high = np.zeros(count), np.ones(count)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        failed = fails(middle)
        low, high = np.where(failed, low, middle), np.where(failed, middle, high)
    return low[component]


def upper_bound(program: ClassicalProgram, tension: Floats, torque: Floats, cut: Floats) -> float:
    """Return the upper bound on the optimum for these multipliers, rounded up."""
    c, h = program.factors, program.lengths
    D, M, E = program.matrices
    torque, cuts = np.where(np.arange(len(h)) < len(program.inner), torque, 0.0), cut.sum(axis=0)
    alpha = program.weights * program.scores - D.T @ tension
    alpha_size = abs(program.weights * program.scores) + abs(D).T @ abs(tension)
    beta = program.weights + M.T @ (h * tension - cut[0] + cut[1]) - E.T @ torque
    beta_size = program.weights + M.T @ (h * abs(tension) + cuts) + abs(E).T @ abs(torque)
    value, slope = pointwise_optimum(program, alpha, beta)
    at_points = alpha * value + beta * slope + _ROUNDING * (alpha_size * c.value + beta_size * program.steepest)
    width = c.smoothness * h
    at_gaps = (1.0 + _ROUNDING) * _gap_maximum(0.5 * width * (h * tension), width * torque, width * cut)
    at_gaps += cuts * (c.gradient - 0.5 * width) + _ROUNDING * cuts * (c.gradient + width)
    terms = np.concatenate([at_points, at_gaps])
    if not np.isfinite(terms).all():
        return math.inf
    return math.fsum(terms) + _ROUNDING * math.fsum(np.abs(terms)) + _TINY


def _gap_maximum(A: Floats, B: Floats, C: Floats) -> Floats:
    """Bound A u + B v + C_+ t_+ + C_- t_- from above over the cones of each gap.

    The variable rest = S - |A| / 2 is found by bisection.
    """
    parts = np.stack([0.5 * B, *math.sqrt(0.125) * C])
    offsets = 0.5 * np.abs(A) + np.stack([0.0 * A, 0.5 * A, -0.5 * A])
    low, high = np.zeros(len(A)), np.hypot(parts[0], np.hypot(parts[1], parts[2]))
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        is_above = ((parts / (middle + offsets)) ** 2).sum(axis=0) < 1.0
        low, high = np.where(is_above, low, middle), np.where(is_above, middle, high)
    shares = np.where(parts == 0.0, 0.0, parts * (parts / np.where(parts == 0.0, 1.0, high + offsets)))
    return np.asarray(high + offsets[0] + shares.sum(axis=0))
