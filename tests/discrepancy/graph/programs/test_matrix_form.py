"""Certificates of the matrix form against the definition of the program in rational arithmetic, without tolerance."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from support.exact_programs import CLOSE, dyadic_scores, exact_program, exact_upper_bound, fractions, grid_program

from steinkit.discrepancy.graph.programs import chain_form_kernels
from steinkit.discrepancy.graph.programs.matrix_form import UNIT_ROUNDOFF, CoordinateProgram, power_of_two
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.discrepancy.graph.spanner.geometry import complete_graph, sorted_graph
from steinkit.discrepancy.operators import Coefficients


@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize("seed", range(5))
def test_bounds_of_any_candidate_hold_for_the_definition(seed, dim):
    """A feasible multiple of y attains the lower bound, and p costs at most the upper bound."""
    program, rng = grid_program(seed, dim), np.random.default_rng(seed)
    for j in range(dim):
        exact, form = exact_program(program, j), program.coordinate(j)
        assert fractions(form.objective) == exact.objective
        assert fractions(form.box) == exact.box
        for size in (1e-3, 1.0):
            y = form.box * np.clip(size * rng.standard_normal(len(form.box)), -1.0, 1.0)
            y *= np.sign(form.objective @ y)
            for factor in (1.0, 2.0**40):
                value, feasible = form.lower_bound(factor * y)
                truth = exact.value(exact.feasible(fractions(factor * y)))
                assert Fraction(value) <= truth
                assert Fraction(value) >= truth * (1 - Fraction(1, 10**9))
                assert exact.excess(fractions(feasible)) <= 0
            p = size * rng.standard_normal(len(form.radius)) * (rng.random(len(form.radius)) < 0.2)
            bound, rounding = exact_upper_bound(form, exact.objective, p)
            trivial, _ = exact_upper_bound(form, exact.objective, np.zeros(len(p)))
            assert min(bound, trivial) <= Fraction(form.upper_bound(p)) <= min(bound + rounding, trivial * (1 + CLOSE))


@pytest.mark.parametrize("seed", range(10))
def test_cancelling_multipliers_give_valid_upper_bounds(seed):
    """For points 2^-36 apart, the multipliers of Taylor and gradient rows cancel."""
    rng = np.random.default_rng(seed)
    points = np.array([[0.25, 0.5], [0.25 + 5 * 2.0**-36, 0.5 - 3 * 2.0**-36]])
    scores = np.abs(dyadic_scores(rng, (2, 2))) * [[1.0], [-1.0]]
    program = SteinProgram(points, scores, np.array([0.25, 0.75]), complete_graph(points))
    form, exact = program.coordinate(0), exact_program(program, 0)
    assert len(form.radius) == 5
    step, held = points[0] - points[1], np.abs(form.objective[:2]).min()
    p = np.array([held, *(3e9 * rng.random() * np.array([*step, 1.0, -1.0]))])
    bound, rounding = exact_upper_bound(form, exact.objective, p)
    trivial, _ = exact_upper_bound(form, exact.objective, np.zeros(5))
    assert bound + rounding < trivial
    assert bound <= Fraction(form.upper_bound(p)) <= bound + rounding


@pytest.mark.parametrize("seed", range(20))
def test_residual_below_double_precision_is_counted(seed):
    """With one row and one variable, the multiplier b / a leaves the rounding error of the quotient."""
    rng = np.random.default_rng(seed)
    b, a = rng.uniform(0.5, 2.0, 2)
    form = CoordinateProgram(sparse.csr_array([[a]]), np.array([2.0**-90]), np.ones(1), np.array([b]), 1)
    p = np.array([b / a])
    bound, rounding = exact_upper_bound(form, [Fraction(b)], p)
    assert bound <= Fraction(form.upper_bound(p)) <= bound + rounding


@pytest.mark.parametrize("n", [1, 64])
@pytest.mark.parametrize("size", [0.0, 2.0**-60, 1.0])
def test_isolated_points_have_the_value_of_their_boxes(n, size):
    """The optimum is the sum of q (c1 |s| + c2), an exact double or slightly above one."""
    points, signs = 8.0 * np.arange(n)[:, None], (-1.0) ** np.arange(n)
    form = SteinProgram(points, size * signs[:, None], np.full(n, 1.0 / n), sorted_graph(points)).coordinate(0)
    assert form.upper_bound(np.empty(0)) >= Fraction(size) + 1
    for factor in (1.0, 4.0):
        lower, _ = form.lower_bound(factor * np.concatenate([signs, np.ones(n)]))
        assert 1.0 - 1e-13 < lower / (1.0 + size) <= 1.0


def test_objective_of_a_diffusion_operator():
    """The objective is the sum of q (drift_j gamma + sum_k a_jk Gamma_k)."""
    rng = np.random.default_rng(0)
    points, drift, covariance = rng.random((3, 2)), rng.standard_normal((3, 2)), rng.standard_normal((3, 2, 2))
    weights = np.array([0.5, 0.25, 0.25])
    program = SteinProgram(
        points, -points, weights, complete_graph(points), coefficients=Coefficients(drift, covariance)
    )
    for j in range(2):
        expected = [weights * drift[:, j], weights * covariance[:, j, 0], weights * covariance[:, j, 1]]
        high, low = program.objective(j)
        np.testing.assert_array_equal(high, np.concatenate(expected))
        assert not low.any()
    weights = rng.random(3)
    program = replace(program, weights=weights)
    for j in range(2):
        coefficients = [drift[:, j], covariance[:, j, 0], covariance[:, j, 1]]
        products = [Fraction(q) * Fraction(a) for column in coefficients for q, a in zip(weights, column, strict=True)]
        for found, low, exact in zip(*map(fractions, program.objective(j)), products, strict=True):
            assert abs(found + low - exact) <= abs(exact) * Fraction(1, 2**96)


def test_unit_roundoff():
    """Both forms use half the distance from 1 to the next double."""
    assert UNIT_ROUNDOFF == chain_form_kernels._UNIT_ROUNDOFF == np.finfo(np.float64).eps / 2.0


def test_power_of_two():
    sizes = np.array([0.0, 1.0, 1.5, 2.0, 3.0, 0.7, 2.0**-1000, 1.7e308])
    np.testing.assert_array_equal(power_of_two(sizes), [1.0, 1.0, 1.0, 2.0, 2.0, 0.5, 2.0**-1000, 2.0**1023])


def test_negative_objectives_give_no_lower_bound():
    form = CoordinateProgram(sparse.csr_array([[1.0, 1.0]]), np.ones(1), np.ones(2), np.array([1.0, -0.5]), 2)
    for y in ([-0.5, 0.0], [0.0, 0.25], [-1.0, 1.0]):
        lower, feasible = form.lower_bound(np.array(y))
        assert lower == 0.0
        np.testing.assert_array_equal(feasible, [0.0, 0.0])


@pytest.mark.parametrize("seed", range(10))
def test_bounds_hold_for_all_objectives_within_the_errors(seed):
    """The trivial, dual and primal bounds are those of the worst objective."""
    rng = np.random.default_rng(seed)
    b, error, box = rng.standard_normal(4), rng.random(4), rng.uniform(0.5, 2.0, 4)
    matrix = sparse.csr_array(rng.standard_normal((3, 4)))
    form = CoordinateProgram(matrix, np.full(3, 100.0), box, b, 4, objective_error=error)
    close = 1.0 + 1e-12
    trivial = box @ (np.abs(b) + error)
    assert trivial / close <= form.upper_bound(np.zeros(3)) <= trivial * close
    p = 1e-3 * rng.standard_normal(3)
    form.radius[:] = 0.01
    bound = form.radius @ np.abs(p) + box @ (np.abs(b - matrix.T @ p) + error)
    assert form.upper_bound(p) >= min(bound, trivial) / close
    y = 1e-3 * np.sign(b)
    worst = b @ y - error @ np.abs(y)
    assert form.lower_bound(y)[0] <= max(worst, 0.0) * close
    assert form.lower_bound(y)[0] >= worst / close


@pytest.mark.parametrize("seed", range(10))
def test_cancelling_products_in_the_objective(seed):
    """The difference of two products is below double precision but exceeds the radius 2^-80."""
    rng = np.random.default_rng(seed)
    a = rng.uniform(1.0, 2.0, 2)
    y = np.array([rng.uniform(0.5, 1.0), 0.0])
    y[1] = a[0] * y[0] / a[1]
    form = CoordinateProgram(sparse.csr_array([[a[0], -a[1]]]), np.array([2.0**-80]), np.full(2, 4.0), np.ones(2), 2)
    activity = abs(Fraction(a[0]) * Fraction(y[0]) - Fraction(a[1]) * Fraction(y[1]))
    value = sum(fractions(y)) / max(1, activity * 2**80)
    assert Fraction(form.lower_bound(y)[0]) <= value
