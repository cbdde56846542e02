"""The lower bound against what it is the mean of, in exact fractions."""

from fractions import Fraction

import numpy as np
import pytest

from steinkit.discrepancy.classical.cone_program import ClassicalProgram, solve_cone
from steinkit.discrepancy.classical.lower_bound import lower_bound
from steinkit.discrepancy.graph.programs.stein_program import SteinFactors


@pytest.mark.parametrize("n", [1, 3, 100])
@pytest.mark.parametrize("spread", [0.1, 100.0])
def test_rounding_does_not_take_it_above_the_mean_of_its_function(n, spread):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        points, weights, scores = np.sort(spread * rng.standard_normal(n)), rng.random(n), rng.standard_normal(n)
        weights /= weights.sum()
        program = ClassicalProgram(points, weights, scores, SteinFactors(1.0, 1.0, 1.0), (-np.inf, np.inf))
        lower, value, slope = lower_bound(program, solve_cone(program))
        columns = zip(weights.tolist(), scores.tolist(), value.tolist(), slope.tolist(), strict=True)
        mean = sum(Fraction(q) * (Fraction(s) * Fraction(g) + Fraction(d)) for q, s, g, d in columns)
        assert 0 < Fraction(lower) <= mean <= Fraction(lower) * (1 + Fraction(1, 10**12))
