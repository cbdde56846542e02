"""Certificates of the chain form against the definition of the program in rational arithmetic, without tolerance."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from support.exact_chain import exact_cost, function_of
from support.exact_programs import dyadic_scores, dyadic_weights, exact_program, fractions, line_program

from steinkit.discrepancy.graph.programs.chain_form import ChainProgram
from steinkit.discrepancy.graph.programs.chain_form_kernels import EDGE, LIPSCHITZ_EDGE, ROWS
from steinkit.discrepancy.graph.programs.stein_program import SteinFactors, SteinProgram
from steinkit.discrepancy.graph.solvers import Settings, chain
from steinkit.discrepancy.graph.spanner.geometry import sorted_graph
from steinkit.double_double import plus, times, two_sum


@pytest.mark.parametrize("n", [1, 64])
@pytest.mark.parametrize("size", [0.0, 2.0**-60, 1.0])
def test_isolated_points_have_the_value_of_their_boxes(n, size):
    """The optimum is the sum of q (c1 |s| + c2), an exact double or slightly above one."""
    points, signs = 8.0 * np.arange(n)[:, None], (-1.0) ** np.arange(n)
    form = ChainProgram(SteinProgram(points, size * signs[:, None], np.full(n, 1.0 / n), sorted_graph(points)))
    assert form.upper_bound(np.zeros(5 * n)) >= Fraction(size) + 1
    assert 1.0 - 1e-13 < form.lower_bound(np.column_stack([signs, np.ones(n)]).ravel())[0] / (1.0 + size) <= 1.0


@pytest.mark.parametrize("seed", range(30))
def test_feasible_multiple_attains_the_lower_bound(seed):
    """Without a far bound, feasibility is achieved by scaling alone."""
    program, rng = line_program(seed), np.random.default_rng(seed)
    form, exact = ChainProgram(program), exact_program(program, 0)
    if form.chain.far >= 0.0:
        program = replace(program, bounds=np.array([[program.bounds[0, 0], np.inf]]))
        form, exact = ChainProgram(program), exact_program(program, 0)
    for size in (1.0, 1e-2):
        y = size * rng.uniform(-1.0, 1.0, 2 * form.n_points)
        if exact.value(function_of(form, fractions(y))) < 0:
            y = -y
        variables = function_of(form, fractions(y))
        value, feasible = form.lower_bound(y)
        truth = exact.value(exact.feasible(variables))
        assert Fraction(value) <= truth
        terms = sum(abs(b * v) for b, v in zip(exact.objective, variables, strict=True))
        assert Fraction(value) >= truth * (1 - Fraction(1, 2**45)) - terms * Fraction(1, 2**48)
        assert exact.excess(function_of(form, fractions(feasible))) <= Fraction(1, 2**45)
        scaled, _ = form.lower_bound(2.0**600 * y)
        assert Fraction(scaled) <= exact.value(exact.feasible([2**600 * v for v in variables]))


@pytest.mark.parametrize("noise", [0.0, 1e-16, 1e-12, 1e-6, 0.3])
@pytest.mark.parametrize("seed", range(8))
def test_shift_and_scale_are_feasible_between_two_bounds(seed, noise):
    """The feasible y, shifted to satisfy the far bound, satisfies all rows and attains the lower bound."""
    program, rng = line_program(seed, two_bounds=True), np.random.default_rng(seed)
    form, exact = ChainProgram(program), exact_program(program, 0)
    assert form.chain.far >= 0.0
    (answer,) = chain.solve(program, Settings(tolerance=1e-6))
    y = answer.y + noise * rng.standard_normal(len(answer.y))
    value, feasible = form.lower_bound(y)
    honest, _ = form.lower_bound(answer.y)
    scaled = exact.value(exact.feasible(function_of(form, fractions(y))))
    if form.chain.far > 0.0:  # a shift is used if it costs less, and always if the last draw is on the bound
        assert Fraction(value) >= scaled * (1 - Fraction(1, 10**6))
    if not noise:
        assert value >= answer.program.upper_bound(answer.p) * (1.0 - 1e-5)
    data, far = form.chain, Fraction(form.chain.far)
    variables = function_of(form, fractions(feasible))
    last, edges = form.order[-1], data.kind >= EDGE
    sign = int(form.sign[-1])
    gamma, slope = sign * variables[last], variables[form.n_points + last]
    radius, box = Fraction(data.c3) * far**2 / 2, Fraction(data.c2) * far
    below, above = max(-radius - gamma - far * slope, -box - gamma), min(radius - gamma - far * slope, box - gamma)
    kappa = min(max(Fraction(0), below), above)
    gain = Fraction(data.c3) * sum(Fraction(h) ** 2 for h in data.step[edges]) / 2
    shifted = fractions(feasible)
    for i in np.flatnonzero(edges) if gain else []:
        shifted[2 * i] += kappa / gain
        shifted[2 * i + 1] += kappa / gain
    variables = function_of(form, shifted)
    assert exact.excess(variables) <= Fraction(1, 10**12)
    assert Fraction(value) <= exact.value(variables) * (1 + Fraction(1, 10**13))
    if noise <= 1e-12 and honest > 0.0 and len(data.step) > 1:
        assert value >= honest * (1.0 - 1e-6)


def assert_enough_is_set_aside(form, y):
    """Assert that the exact shift changes rows and objective by at most the returned allowances."""
    data, n = form.chain, form.n_points
    repaired, found, scale, loss = form._settled(y)
    variables = function_of(form, fractions(repaired))
    sign, last = int(form.sign[-1]), form.order[-1]
    gamma, slope = sign * variables[last], variables[n + last]
    row, radius, box = gamma + Fraction(data.far) * slope, Fraction(data.far_radius), Fraction(float(data.box[-1]))
    gains, total = [], Fraction(0)
    for kind, h in zip(data.kind, fractions(data.step), strict=True):
        total += Fraction(data.c3) * h**2 / 2 if kind >= EDGE else 0
        gains.append(total)
    if loss == 0.0:  # scaling costs less than a shift
        assert scale == np.inf or abs(row) <= radius * max(1, Fraction(scale))
        assert scale == np.inf or abs(gamma) <= box * max(1, Fraction(scale))
        return
    worst, scale = Fraction(float(found.worst)), Fraction(scale) * (1 + Fraction(1, 2**51))
    radius, box = max(1, worst) * radius, max(1, worst) * box
    below, above = max(-radius - row, -box - gamma), min(radius - row, box - gamma)
    kappa = abs(min(max(Fraction(0), below), above)) / total
    chords = [Fraction(data.c3) * Fraction(h) / 2 for h in data.step[data.kind == LIPSCHITZ_EDGE]]
    assert kappa * max(1, total / Fraction(data.c1), max(chords, default=0) / Fraction(data.c2)) <= scale - worst
    assert kappa * sum(gain * abs(value) for gain, value in zip(gains, fractions(data.value), strict=True)) <= loss


@pytest.mark.parametrize("factors", [(1.0, 1.0, 1.0), (1.0, 16.0, 64.0), (64.0, 1.0, 64.0)])
@pytest.mark.parametrize("noise", [1e-16, 1e-13, 1e-9])
@pytest.mark.parametrize("seed", range(5))
def test_allowance_for_the_last_shift_is_sufficient(seed, noise, factors):
    rng = np.random.default_rng(seed)
    cells = np.sort(rng.choice(np.arange(100, 900), 12, replace=False)) / 1024.0
    points = np.concatenate([[2.0**-31], cells, [1.0 - 2.0 ** -int(rng.integers(20, 31))]])
    scores, bounds = 2.0**20 * dyadic_scores(rng, (14, 1)), np.array([[0.0, 1.0]])
    weights, graph = dyadic_weights(rng, 14), sorted_graph(points)
    program = SteinProgram(points[:, None], scores, weights, graph, SteinFactors.of(factors), bounds)
    (answer,) = chain.solve(program, Settings(tolerance=1e-6))
    assert_enough_is_set_aside(answer.program, np.clip(answer.y + noise * rng.standard_normal(28), -1.0, 1.0))


@pytest.mark.parametrize("seed", range(12))
def test_allowance_is_sufficient_for_a_distant_far_bound(seed):
    """The box of the last value and its Taylor row both bind."""
    form, rng = ChainProgram(line_program(seed, two_bounds=True)), np.random.default_rng(seed)
    for size in (0.05, 0.3, 1.0):
        for _ in range(20):
            assert_enough_is_set_aside(form, size * rng.uniform(-1.0, 1.0, 2 * form.n_points))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_box_of_the_last_value_with_a_satisfied_taylor_row(sign):
    """A function with gamma = 0.375 and Gamma = -1 at distance 0.25 from the far bound, where |gamma| <= 0.25."""
    points, scores, bounds = np.array([[0.25], [0.75]]), np.array([[1.0], [2.0]]), np.array([[0.0, 1.0]])
    factors = SteinFactors.of((1.0, 1.0, 8.0))
    form = ChainProgram(SteinProgram(points, scores, np.full(2, 0.5), sorted_graph(points), factors, bounds))
    y = sign * np.array([1.0, 0.5, -0.125, 0.625])
    assert function_of(form, fractions(y)) == fractions(sign * np.array([0.25, 0.375, 0.5, -1.0]))
    assert_enough_is_set_aside(form, y)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_box_of_the_last_value_belongs_to_the_last_node(sign):
    """The same with an additional node in the middle, with a box twice as wide."""
    points, bounds = np.array([[0.25], [0.5], [0.75]]), np.array([[0.0, 1.0]])
    factors, weights = SteinFactors.of((1.0, 1.0, 8.0)), np.array([0.25, 0.25, 0.5])
    scores = np.array([[1.0], [1.0], [2.0]])
    form = ChainProgram(SteinProgram(points, scores, weights, sorted_graph(points), factors, bounds))
    y = sign * np.array([1.0, 0.0, -0.5, 0.0, -0.5, 1.0])
    assert function_of(form, fractions(y)) == fractions(sign * np.array([0.25, 0.375, 0.375, 1.0, 0.5, -1.0]))
    assert_enough_is_set_aside(form, y)


@pytest.mark.parametrize("two_bounds", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_upper_bound_is_the_cost_of_its_dual_point(seed, two_bounds):
    program, rng = line_program(seed, two_bounds=two_bounds), np.random.default_rng(seed)
    (answer,) = chain.solve(program, Settings(tolerance=1e-6))
    form = answer.program
    assert fractions(form.chain.step * form.chain.step) == [h**2 for h in fractions(form.chain.step)]
    for size in (0.0, 1e-3, 1.0):
        p = answer.p + size * rng.standard_normal(len(answer.p))
        exact, bound = exact_cost(form, p), Fraction(form.upper_bound(p))
        trivial = Fraction(form.trivial)
        assert min(exact, trivial) <= bound
        assert bound <= min(exact * (1 + Fraction(1, 10**12)) + Fraction(1, 10**13), trivial)


def cancelling_line(seed):
    """Return a program with points 2^-21 apart and scores of about 2^30 that cancel in sums."""
    rng = np.random.default_rng(seed)
    places = np.sort(rng.choice(2**12, 8, replace=False))
    scores = np.zeros(8, dtype=np.int64)
    for k in range(6):
        a, b, c = places[k : k + 3]
        scores[k : k + 3] += rng.integers(2**32, 2**33) * np.array([c - b, a - c, b - a])
    points = 0.5 + places * 2.0**-30
    return SteinProgram(points[:, None], scores[:, None] * 2.0**-13, np.full(8, 0.125), sorted_graph(points))


@pytest.mark.parametrize("seed", range(12))
def test_bounds_allow_for_rounding_of_cancelling_scores(seed):
    program, rng = cancelling_line(seed), np.random.default_rng(seed)
    form, exact = ChainProgram(program), exact_program(program, 0)
    for _ in range(4):
        y = rng.uniform(-1.0, 1.0, 16)
        for sign in (1.0, -1.0):
            truth = exact.value(exact.feasible(function_of(form, fractions(sign * y))))
            assert Fraction(form.lower_bound(sign * y)[0]) <= max(truth, 0)
        p = np.zeros(40)
        p[1::ROWS] = 1e-3 * rng.standard_normal(8)
        dual, bound = exact_cost(form, p), Fraction(form.upper_bound(p))
        assert dual < form.trivial
        assert dual <= bound <= dual * (1 + Fraction(1, 10**8))


@pytest.mark.parametrize("seed", range(30))
def test_double_double_errors_are_below_their_bounds(seed):
    rng = np.random.default_rng(seed)

    def double_double():
        high = rng.standard_normal() * 2.0 ** int(rng.integers(-40, 40))
        return two_sum(high, high * 2.0**-53 * rng.uniform(-1.0, 1.0))

    a, b, factor = double_double(), double_double(), double_double()
    if seed % 2:
        b = (-a[0] * (1.0 + 2.0**-50), b[1] * 2.0**-60)
    exact, other = sum(map(Fraction, a)), sum(map(Fraction, b))
    assert abs(sum(map(Fraction, plus(a, b))) - exact - other) <= Fraction(1, 2**103) * (abs(exact) + abs(other))
    product = exact * sum(map(Fraction, factor))
    assert abs(sum(map(Fraction, times(a, factor))) - product) <= abs(product) * Fraction(1, 2**100)
