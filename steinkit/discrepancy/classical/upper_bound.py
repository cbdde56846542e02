"""The upper bound that any multipliers of the classical program prove, by weak duality.

For any lambda, mu of the equations of `cone_program` for gamma and Gamma, and any rho >= 0 of its rows for t_+, t_-,
the optimum is at most

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

import math

import numpy as np
from scipy import sparse

from steinkit.discrepancy.classical.cone_program import ClassicalProgram, ConeAnswer, pointwise_optimum
from steinkit.sample import Floats, Integers

_ALLOWANCE = 2.0**-48  # relative; covers the operations on a term, and an exact sum's rounding
_TINY = 2.0**-1070  # more than a product loses that falls below the normal range
_HALVINGS = 60


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
    at_points = alpha * value + beta * slope + _ALLOWANCE * (alpha_error * c.value + beta_error * program.steepest)
    at_points += _TINY * len(h) * (1.0 + c.value + program.steepest)
    bend = c.smoothness * h
    at_gaps = _gap_maximum(0.5 * bend * (h * tension), bend * turned, bend * cut)
    at_gaps += _TINY * (1.0 + bend) * (1.0 + h * abs(tension) + abs(turned) + cut.sum(axis=0))
    shares = cut.sum(axis=0) * (c.gradient - 0.5 * c.smoothness * h)
    shares += _ALLOWANCE * cut.sum(axis=0) * (c.gradient + c.smoothness * h)
    terms = np.concatenate([at_points, at_gaps * (1.0 + _ALLOWANCE), shares])
    if not np.isfinite(terms).all():
        return math.inf
    return math.fsum(terms) + _ALLOWANCE * math.fsum(np.abs(terms))


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
