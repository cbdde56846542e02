"""The upper bound against optima in exact fractions."""

from fractions import Fraction

import numpy as np
import pytest

from steinkit.discrepancy.classical.cone_program import ClassicalProgram, solve_cone
from steinkit.discrepancy.classical.upper_bound import upper_bound
from steinkit.discrepancy.graph.programs.stein_program import SteinFactors


def isolated_points(seed, n):
    """Points too far apart for a gap to restrict anything, c1 = c2 = c3 = 1 and scores of at least 1."""
    rng = np.random.default_rng(seed)
    weights, scores = rng.random(n), rng.uniform(1.0, 3.0, n)
    weights /= weights.sum()
    return ClassicalProgram(100.0 * np.arange(n), weights, scores, SteinFactors(1.0, 1.0, 1.0), (-np.inf, np.inf))


def exact_optimum(program):
    """Each point has its own optimum of s gamma + Gamma over gamma <= 1 - Gamma^2 / 2, at Gamma = 1/s."""
    pairs = zip(program.weights.tolist(), program.scores.tolist(), strict=True)
    return sum(Fraction(q) * (Fraction(s) + 1 / (2 * Fraction(s))) for q, s in pairs)


@pytest.mark.parametrize("n", [1, 3, 30])
def test_rounding_does_not_take_it_below_the_optimum(n):
    programs = [isolated_points(seed, n) for seed in range(20)]
    for program in programs:
        bound = Fraction(upper_bound(program, solve_cone(program)))
        assert exact_optimum(program) <= bound <= exact_optimum(program) * (1 + Fraction(1, 10**13))
