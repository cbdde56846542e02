"""The lower bound against its function in rational arithmetic: where it leads, what it may do, and what it is worth."""

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
    random_answer,
    random_classical,
)

from steinkit.discrepancy import classical_bounds as module
from steinkit.discrepancy.classical_bounds import lower_bound
from steinkit.discrepancy.classical_program import ClassicalProgram
from steinkit.discrepancy.classical_solver import solve_cone
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


def assert_errors_hold(program, answer):
    """No value or slope is further from the function than its error."""
    path = module.function_of(program, answer)
    for found, truth, error in zip(path[:2], exact_function(program, answer), path[2:], strict=True):
        for one, other, limit in zip(fractions(found), truth, fractions(error), strict=True):
            assert abs(one - other) <= limit


@pytest.mark.parametrize("support", SUPPORTS)
@pytest.mark.parametrize("seed", range(12))
def test_the_function_errs_by_no_more_than_it_says(seed, support):
    assert_errors_hold(*random_classical(seed, support=support))


@pytest.mark.parametrize("factors", [None, (2.0**20, 2.0**20, 1.0)])
@pytest.mark.parametrize("slope", [0.0, 2.0**40])
@pytest.mark.parametrize("value", [0.0, 2.0**40])
@pytest.mark.parametrize("support", SUPPORTS)
def test_errors_hold_for_answers_of_any_size(support, value, slope, factors):
    """Each of slope, value, bend and turn much larger than the others, or nothing at all, and lengths of any size."""
    for seed, (bend, turn) in enumerate(product((0.0, 1.0, 2.0**40), repeat=2)):
        program, answer = random_classical(seed, support=support, n=7, factors=factors)
        sizes = {"value": value, "slope": slope, "bend": bend, "turn": turn}
        assert_errors_hold(program, replace(answer, **{k: size * getattr(answer, k) for k, size in sizes.items()}))


@pytest.mark.parametrize("seed", range(4))
def test_values_close_to_either_of_two_bounds_are_accurate(seed):
    """Distances of 2^-40 from both bounds: errors are relative to the values there, not to those in the middle."""
    rng = np.random.default_rng(seed)
    points = np.array([2.0**-40, *np.sort(rng.random(6)), 1.0 - 2.0**-40])
    program = ClassicalProgram(points, np.full(8, 1 / 8), np.ones(8), SteinFactors(1.0, 1.0, 1.0), (0.0, 1.0))
    answer = random_answer(program, rng)
    assert_errors_hold(program, answer)
    value, _, error, _ = module.function_of(program, answer)
    assert (error[[0, -1]] <= 2.0**-45 * np.abs(value[[0, -1]])).all()


def excesses(program, path, answer, scale, signs):
    """Worst excess in each component of a multiple of a trajectory, with the errors in one direction or the other."""
    component = np.repeat(np.arange(len(program.starts) - 1), np.diff(program.starts))
    worst = [Fraction(-1)] * (len(program.starts) - 1)
    scales = [exact(scale[first]) for first in program.starts[:-1]]
    value, slope, value_error, slope_error = map(fractions, path)
    bend, turn = fractions(answer.bend), fractions(answer.turn)
    turn[len(program.inner) :] = [Fraction(0)] * len(program.ends)
    steep = [b + signs[0] * e for b, e in zip(slope, slope_error, strict=True)]
    for i, k in enumerate(component):
        height = value[i] + signs[1] * value_error[i]
        worst[k] = max(worst[k], excess_at_point(program, scales[k] * height, scales[k] * steep[i]))
    left = [*program.inner.tolist(), *(end[0] for end in program.ends)]
    right = [*(program.inner + 1).tolist(), *(end[0] for end in program.ends)]
    for gap, length in enumerate(gap_lengths(program)):
        k = component[left[gap]]
        if length:
            mean = (steep[left[gap]] + steep[right[gap]]) / 2
            found = (scales[k] * each for each in (mean, bend[gap], turn[gap]))
            worst[k] = max(worst[k], excess_in_gap(program, *found, length))
    return worst


def assert_largest(program, path, answer):
    """The multiples taken are admitted, whatever the errors, and a little more is not unless it is all."""
    scale = module._largest_multiples(program, path, answer)
    corners = list(product((1, -1), repeat=2))
    worst, beyond = (
        np.max([excesses(program, path, answer, multiple * scale, signs) for signs in corners], axis=0)
        for multiple in (1.0, 1.0 + 1e-11)
    )
    assert (worst <= 0).all()
    assert ((beyond > 0) | (scale[program.starts[:-1]] > 1.0 - 1e-15)).all()


def stretched(program, rng):
    """The program with points so far apart that slopes, and not values, are what restricts."""
    c, n = program.factors, len(program.points)
    length = 3.0 * c.gradient / c.smoothness
    points = np.cumsum(length * rng.uniform(0.7, 1.0, n))
    ends = [points[0] - length / 3.0, points[-1] + length / 3.0]
    bounds = tuple(np.where(np.isfinite(program.bounds), ends, program.bounds).tolist())
    factors = SteinFactors(100.0 * c.gradient**2 / c.smoothness, c.gradient, c.smoothness)
    return ClassicalProgram(points, program.weights, program.scores, factors, bounds)


@pytest.mark.parametrize("kind", ["value", "slope", "bend", "turn", "mean", "all"])
@pytest.mark.parametrize("seed", range(6))
def test_multiples_are_the_largest_that_are_admitted_whatever_the_errors(seed, kind):
    """Values, slopes, bends or turns in the lead, with errors that matter; `mean`: steep slopes and long gaps."""
    rng = np.random.default_rng(seed)
    program, answer = random_classical(seed, n=6, extent=None if kind == "all" else 1.0, support=SUPPORTS[seed % 4])
    n, gaps, c = len(program.points), len(program.lengths), program.factors
    size = {name: 1.0 if kind in (name, "all") else 1e-3 for name in ("value", "slope", "bend", "turn")}
    if kind == "mean":
        size["slope"], program = 1.0, stretched(program, rng)
        gaps, c = len(program.lengths), program.factors

    def normal(name, unit, count):
        return (size[name] * unit * rng.standard_normal(count)).astype(np.longdouble)

    errors = (0.3 * rng.random() * np.ones(n, dtype=np.longdouble) for _ in range(2))
    units = {"value": c.value, "slope": program.steepest}
    values = [normal(name, unit, n) for name, unit in units.items()]
    path = np.array([*values, *(size[name] * units[name] * next(errors) for name in units)])
    bend, turn = (normal(name, 1.0, gaps).astype(np.float64) for name in ("bend", "turn"))
    assert_largest(program, path, replace(answer, bend=bend, turn=turn))


def worth(program, value, slope, value_error, slope_error):
    """The least mean of s gamma + Gamma over weights, for values and slopes known up to errors."""
    columns = (program.weights, program.scores, value, slope, value_error, slope_error)
    rows = zip(*(column if isinstance(column, list) else fractions(column) for column in columns), strict=True)
    return sum(q * (s * g + d - abs(s) * e - f) for q, s, g, d, e, f in rows)


@pytest.mark.parametrize("support", SUPPORTS)
@pytest.mark.parametrize("seed", range(10))
def test_a_multiple_of_the_function_that_any_answer_defines_is_worth_the_bound(monkeypatch, seed, support):
    """From the answer to the bound with nothing rounded but what is tested: admitted everywhere, and worth it."""
    scales = []

    def recorded(*given):
        scales.append(find(*given))
        return scales[-1]

    find = module._largest_multiples
    monkeypatch.setattr(module, "_largest_multiples", recorded)
    program, answer = random_classical(seed, support=support)
    for sign, size in product((1.0, -1.0), (0.1, 3.0)):
        changed = {name: sign * size * getattr(answer, name) for name in ("value", "slope", "bend", "turn")}
        one = replace(answer, **changed)
        lower, _, _ = lower_bound(program, one)
        scale, path = fractions(scales[-1]), module.function_of(program, one)
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
        nothing = [Fraction(0)] * len(value)
        assert Fraction(lower) <= max(worth(program, value, slope, nothing, nothing), 0)
        size = -worth(program, nothing, nothing, *([abs(each) for each in part] for part in (value, slope)))
        least = worth(program, value, slope, path[2], path[3])
        assert Fraction(lower) >= least - Fraction(1, 10**13) * size


def times(one, other):
    return [a * b for a, b in zip(one, other, strict=True)]


@pytest.mark.parametrize("seed", range(6))
def test_errors_of_the_function_are_taken_from_what_it_is_worth(monkeypatch, seed):
    """With errors that matter, and scores of any size, the bound is the least mean within them, rounded down."""
    rng = np.random.default_rng(seed)
    scores = 2.0 ** rng.integers(-8, 9, 12) * rng.choice([-1.0, 1.0], 12)
    points, weights = np.cumsum(rng.uniform(0.5, 1.0, 12)), rng.dirichlet(np.ones(12))
    program = ClassicalProgram(points, weights, scores, SteinFactors(1e6, 1e6, 1e6), (-np.inf, np.inf))
    straight = np.zeros(11)
    answer = replace(random_answer(program, rng), bend=straight, turn=straight)
    value_error, slope_error = (rng.random(12) * 10.0 ** rng.integers(-3, 1, 12) for _ in range(2))
    value, slope = np.sign(scores) * (2.0 + rng.random(12)), 2.0 + rng.random(12)
    path = np.array([value, slope, value_error, slope_error], dtype=np.longdouble)
    monkeypatch.setattr(module, "function_of", lambda program, answer: path)
    lower, found_value, found_slope = lower_bound(program, answer)
    np.testing.assert_allclose([found_value, found_slope], [value, slope], rtol=1e-15)
    truth = worth(program, found_value, found_slope, value_error, slope_error)
    assert truth * (1 - Fraction(1, 10**12)) <= Fraction(lower) <= truth


@pytest.mark.parametrize("side", ["left", "right"])
def test_one_point_beside_a_bound_is_held_to_it(side):
    """An answer that leaves the bound out of account: gamma = c1 at a distance of a tenth, where |gamma| <= 0.1 c2."""
    bounds = (-0.1, np.inf) if side == "left" else (-np.inf, 0.1)
    program = ClassicalProgram(np.zeros(1), np.ones(1), np.ones(1), SteinFactors(1.0, 1.0, 1.0), bounds)
    answer = solve_cone(program)
    lie = replace(answer, value=np.ones(1), slope=np.zeros(1), bend=np.zeros(1))
    assert 0.0 < lower_bound(program, answer)[0] <= 1.1  # score times gamma, and a slope of c2
    assert lower_bound(program, lie)[0] <= 0.1
