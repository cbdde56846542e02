"""Upper bound of the classical program compared with exact optima and weak duality in rational arithmetic."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from support.exact_classical import SUPPORTS, dual_value, random_classical

from steinkit.discrepancy.classical_bounds import prove, upper_bound
from steinkit.discrepancy.classical_program import ClassicalProgram, ConeAnswer, solve_cone
from steinkit.discrepancy.graph.programs.stein_program import SteinFactors


def isolated_points(seed, n):
    """Return a program with c1 = c2 = c3 = 1, scores of at least 1, and no restricting gap."""
    rng = np.random.default_rng(seed)
    weights, scores = rng.random(n), rng.uniform(1.0, 3.0, n)
    weights /= weights.sum()
    return ClassicalProgram(100.0 * np.arange(n), weights, scores, SteinFactors(1.0, 1.0, 1.0), (-np.inf, np.inf))


def exact_optimum(program):
    """Return the sum of the maxima of s gamma + Gamma over gamma <= 1 - Gamma^2 / 2, attained at Gamma = 1/s."""
    pairs = zip(program.weights.tolist(), program.scores.tolist(), strict=True)
    return sum(Fraction(q) * (Fraction(s) + 1 / (2 * Fraction(s))) for q, s in pairs)


@pytest.mark.parametrize("n", [1, 3, 30])
def test_upper_bound_exceeds_the_optimum_despite_rounding(n):
    programs = [isolated_points(seed, n) for seed in range(20)]
    for program in programs:
        bound = Fraction(prove(program, solve_cone(program)[0])[1])
        assert exact_optimum(program) <= bound <= exact_optimum(program) * (1 + Fraction(1, 10**13))


def size_of(program, tension, torque, cut):
    """Return the sum of the absolute values of all rounded terms."""
    c, h, torque = program.factors, program.lengths, np.where(np.arange(len(torque)) < len(program.inner), torque, 0.0)
    pushes = h * np.abs(tension) + cut.sum(axis=0)
    D, M, E = program.matrices
    alpha = np.abs(program.weights * program.scores) + abs(D).T @ np.abs(tension)
    beta = program.weights + M.T @ pushes + abs(E).T @ np.abs(torque)
    at_gaps = c.smoothness * h * (pushes + np.abs(torque))
    return float(c.value * alpha.sum() + program.steepest * beta.sum() + at_gaps.sum() + c.gradient * cut.sum())


def random_factors(rng):
    """Return powers of two for which sqrt(2 c1 c3) is a power of two, too."""
    value, gradient, smoothness = rng.integers(-6, 7, 3)
    return tuple(2.0 ** np.array([value, gradient, smoothness + (value + smoothness + 1) % 2]))


@pytest.mark.parametrize("size", [0.0, 2.0**-30, 1.0, 2.0**30])
@pytest.mark.parametrize("support", SUPPORTS)
def test_upper_bound_equals_the_dual_value_rounded_up(support, size):
    """Tension, torque and cuts of any size, including zero."""
    for seed, sizes in enumerate(product((0.0, 1.0), (0.0, 2.0**-10, 2.0**20), (0.0, 1.0))):
        rng = np.random.default_rng(seed)
        program, answer = random_classical(seed, support=support, n=5, factors=random_factors(rng))
        ignored = np.ones(len(program.ends))  # the slope does not change to a mirror image
        torque = size * sizes[1] * np.append(rng.standard_normal(len(program.inner)), ignored)
        tension = size * sizes[0] * answer.tension
        cut = size * sizes[2] * np.abs(answer.cut) * rng.integers(0, 2, answer.cut.shape)
        assert_proved(program, tension, torque, cut)


def assert_proved(program, tension, torque, cut):
    least, most = dual_value(program, tension, torque, cut)
    assert most - least <= Fraction(1, 2**58) * most
    with np.errstate(invalid="ignore"):  # 0/0, as in `prove`
        bound = Fraction(upper_bound(program, tension, torque, cut))
    assert least <= bound <= most + Fraction(1, 2**46) * Fraction(size_of(program, tension, torque, cut))


@pytest.mark.parametrize("seed", range(3))
def test_multipliers_that_cancel(seed):
    """Equal tension or torque in all gaps cancels at the points up to rounding."""
    rng = np.random.default_rng(seed)
    for factors in ((2.0**-21, 1.0, 2.0**20), (2.0**20, 1.0, 2.0**-21), (1.0, 2.0**30, 2.0**61), (0.5, 1.0, 1.0)):
        program, _ = random_classical(seed, support="line", n=6, factors=factors)
        gaps = program.reach * 2.0 ** -rng.integers(8, 30) * rng.uniform(0.5, 1.0, 6)
        program = replace(program, points=np.cumsum(gaps))
        zeros, cut = np.zeros(5), np.zeros((2, 5))
        nearly = 1.0 + 2.0**-50 * rng.integers(-8, 9, 5)
        assert_proved(program, 2.0**40 * rng.random() * nearly, zeros, cut)
        assert_proved(program, zeros, 2.0**40 * rng.random() * nearly, cut)
        tension = 2.0**40 * rng.random() / program.lengths
        torque = np.cumsum(0.5 * program.lengths * tension)
        assert_proved(program, tension, torque, cut)
        cut = np.stack([program.lengths * tension, np.zeros(5)])
        assert_proved(program, tension, zeros, cut)


@pytest.mark.parametrize("support", SUPPORTS)
@pytest.mark.parametrize("seed", range(4))
def test_accurate_answer_gives_a_narrow_bracket(seed, support):
    """Any of the restrictions on slopes, values and gaps may be active."""
    rng = np.random.default_rng(seed)
    program, _ = random_classical(seed, support=support, n=8)
    points = np.cumsum(program.reach * rng.uniform(0.05, 0.6, 8))
    margins = 0.5 * program.reach * rng.uniform(0.05, 0.9, 2)
    bounds = np.where(np.isfinite(program.bounds), [points[0] - margins[0], points[-1] + margins[1]], program.bounds)
    program = replace(program, points=points, bounds=tuple(bounds.tolist()))
    lower, upper, _, _ = prove(program, solve_cone(program)[0])
    assert 0.0 < lower <= upper <= lower * (1.0 + 1e-6)


@pytest.mark.parametrize("envelope", [0, 1])
@pytest.mark.parametrize("seed", range(6))
def test_negative_multipliers_are_replaced(seed, envelope):
    """Without the sign restriction, negative multipliers of inactive cuts would give a bound below the optimum."""
    rng = np.random.default_rng(seed)
    points = np.cumsum(rng.uniform(0.2, 0.6, 6))
    program = ClassicalProgram(
        points, np.full(6, 1 / 6), rng.standard_normal(6), SteinFactors(1.0, 8.0, 1.0), (-np.inf, np.inf)
    )
    answer, _ = solve_cone(program)
    lower, upper, _, _ = prove(program, answer)
    assert upper <= lower * (1.0 + 1e-6)
    for gap in range(1, 5):
        cut = np.zeros_like(answer.cut)
        cut[envelope, gap] = -1e-2
        assert upper_bound(program, answer.tension, answer.torque, cut) < lower
        assert prove(program, replace(answer, cut=cut))[1] >= lower


@pytest.mark.parametrize("seed", range(8))
def test_rounding_of_large_contributions_of_gaps(seed):
    """Over long gaps the maxima of the gaps dominate those of the points."""
    rng = np.random.default_rng(seed)
    program, _ = random_classical(seed, support="line", n=3, factors=(2.0, 2.0**20, 1.0))
    program = replace(program, points=np.cumsum(program.reach * rng.uniform(0.3, 0.9, 3)))
    for sizes in ((1.0, 0.0, 0.0), (1.0, 2.0**20, 0.0), (0.0, 0.0, 1.0), (2.0**-20, 0.0, 1.0)):
        cut = 2.0**30 * sizes[2] * np.abs(rng.normal(size=(2, 2)))
        assert_proved(program, sizes[0] * 2.0**30 * rng.normal(size=2), sizes[1] * 2.0**30 * rng.normal(size=2), cut)


def test_lower_bound_includes_the_underflow_of_values():
    """The values are of order 1e-324. In units of the length, the optimum is that of the unit interval."""

    def bounds(length):
        points, scores = np.array([0.5 * length]), np.array([5.0 / length])
        program = ClassicalProgram(points, np.ones(1), scores, SteinFactors(), (0.0, length))
        bend, (none, zeros) = np.array([0.4999, -0.4999]), np.zeros((2, 2))
        answer = ConeAnswer(zeros[:1], zeros[:1], bend, none, none, none, np.zeros((2, 2)))
        return prove(program, answer)

    assert bounds(5e-162)[0] <= 5e-162 * bounds(1.0)[0] * (1.0 + 1e-3)
