"""Lower bound of the classical program compared with its function in rational arithmetic."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from support.exact_classical import (
    SUPPORTS,
    exact,
    exact_function,
    excess_at_point,
    excess_in_gap,
    fractions,
    gap_lengths,
    random_classical,
)

from steinkit.discrepancy import classical_bounds as module
from steinkit.discrepancy.classical_bounds import lower_bound
from steinkit.discrepancy.classical_program import ClassicalProgram, solve_cone
from steinkit.discrepancy.graph.programs.stein_program import SteinFactors


@pytest.mark.parametrize("n", [1, 3, 100])
@pytest.mark.parametrize("spread", [0.1, 100.0])
def test_lower_bound_does_not_exceed_the_mean_of_its_function(n, spread):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        points, weights, scores = np.sort(spread * rng.standard_normal(n)), rng.random(n), rng.standard_normal(n)
        weights /= weights.sum()
        program = ClassicalProgram(points, weights, scores, SteinFactors(1.0, 1.0, 1.0), (-np.inf, np.inf))
        lower, value, slope = lower_bound(program, solve_cone(program)[0])
        columns = zip(weights.tolist(), scores.tolist(), value.tolist(), slope.tolist(), strict=True)
        mean = sum(Fraction(q) * (Fraction(s) * Fraction(g) + Fraction(d)) for q, s, g, d in columns)
        assert 0 < Fraction(lower) <= mean <= Fraction(lower) * (1 + Fraction(1, 10**12))


def assert_exact(program, answer):
    """Assert that values and slopes are those of the exact function, rounded once."""
    found = module.function_of(program, answer.value, answer.slope, answer.bend, answer.turn)
    for each, truth in zip(found, exact_function(program, answer), strict=True):
        for one, other in zip(fractions(each), truth, strict=True):
            assert abs(one - other) <= Fraction(1, 2**53) * abs(other) + Fraction(1, 2**700)


@pytest.mark.parametrize("support", SUPPORTS)
@pytest.mark.parametrize("seed", range(12))
def test_function_is_defined_by_the_answer(seed, support):
    assert_exact(*random_classical(seed, support=support))


@pytest.mark.parametrize("factors", [None, (2.0**20, 2.0**20, 1.0)])
@pytest.mark.parametrize("slope", [0.0, 2.0**40])
@pytest.mark.parametrize("value", [0.0, 2.0**40])
@pytest.mark.parametrize("support", SUPPORTS)
def test_function_of_answers_of_any_size(support, value, slope, factors):
    """Each of slope, value, bend and turn may dominate or be zero."""
    for seed, (bend, turn) in enumerate(product((0.0, 1.0, 2.0**40), repeat=2)):
        program, answer = random_classical(seed, support=support, n=7, factors=factors)
        sizes = {"value": value, "slope": slope, "bend": bend, "turn": turn}
        assert_exact(program, replace(answer, **{k: size * getattr(answer, k) for k, size in sizes.items()}))


def worth(program, value, slope):
    """Return the weighted mean of s gamma + Gamma."""
    rows = zip(fractions(program.weights), fractions(program.scores), value, slope, strict=True)
    return sum(q * (s * g + d) for q, s, g, d in rows)


@pytest.mark.parametrize("support", SUPPORTS)
@pytest.mark.parametrize("seed", range(5))
def test_lower_bound_is_the_mean_of_an_admissible_multiple(monkeypatch, seed, support):
    """The scaled function satisfies all restrictions exactly, and its mean is the lower bound."""
    scales = []

    def recorded(*given):
        scales.append(find(*given))
        return scales[-1]

    find = module._largest_multiples
    monkeypatch.setattr(module, "_largest_multiples", recorded)
    program, answer = random_classical(seed, support=support)
    c = program.factors
    limits = {"value": c.value, "slope": program.steepest, "bend": 0.5, "turn": 1.0}
    for sign, size in product((1.0, -1.0), (0.1, 3.0)):
        one = replace(
            answer, **{k: np.clip(sign * size * getattr(answer, k), -most, most) for k, most in limits.items()}
        )
        lower, _, _ = lower_bound(program, one)
        scale = fractions(scales[-1])
        value, slope = (times(scale, each) for each in exact_function(program, one))
        assert max(map(excess_at_point, [program] * len(value), value, slope)) <= 0
        left = [*program.inner.tolist(), *(end[0] for end in program.ends)]
        right = [*(program.inner + 1).tolist(), *(end[0] for end in program.ends)]
        for gap, length in enumerate(gap_lengths(program)):
            i, k = left[gap], right[gap]
            assert scale[i] == scale[k]
            turn = exact(one.turn[gap]) if gap < len(program.inner) else 0
            bend = exact(one.bend[gap])
            assert excess_in_gap(program, (slope[i] + slope[k]) / 2, scale[i] * bend, scale[i] * turn, length) <= 0
        most = worth(program, value, slope)
        size = sum(fractions(program.weights * (np.abs(program.scores * np.array(value)) + np.abs(np.array(slope)))))
        assert max(most, 0) - Fraction(1, 10**13) * size <= Fraction(lower) <= max(most, 0)


def times(one, other):
    return [a * b for a, b in zip(one, other, strict=True)]


@pytest.mark.parametrize("side", ["left", "right"])
def test_point_near_a_bound_is_restricted_by_it(side):
    """An answer with gamma = c1 at a distance of 0.1 from the bound, where |gamma| <= 0.1 c2."""
    bounds = (-0.1, np.inf) if side == "left" else (-np.inf, 0.1)
    program = ClassicalProgram(np.zeros(1), np.ones(1), np.ones(1), SteinFactors(1.0, 1.0, 1.0), bounds)
    answer, _ = solve_cone(program)
    lie = replace(answer, value=np.ones(1), slope=np.zeros(1), bend=np.zeros(1))
    assert 0.0 < lower_bound(program, answer)[0] <= 1.1  # score times gamma, and a slope of c2
    assert lower_bound(program, lie)[0] <= 0.1
