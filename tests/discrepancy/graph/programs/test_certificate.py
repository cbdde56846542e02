"""Certificates of any candidate, against `scipy.optimize.linprog` and in rational arithmetic."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

import steinkit as sk
from steinkit.discrepancy.bracket import relative_width, sum_of_brackets
from steinkit.discrepancy.graph.programs.matrix_form import CoordinateProgram, certify
from steinkit.discrepancy.graph.solvers.base import Candidate, best_of


def random_program(rng, m=12, n=8):
    matrix = sparse.csr_array(rng.standard_normal((m, n)) * (rng.random((m, n)) < 0.5))
    radius = rng.uniform(0.01, 1.0, m)
    return CoordinateProgram(matrix, radius, rng.uniform(0.1, 1.0, n), rng.standard_normal(n), n)


def optimum(program):
    """Return the optimum, y and p from `scipy.optimize.linprog`."""
    rows = sparse.vstack([program.matrix, -program.matrix])
    solved = linprog(
        -program.objective,
        A_ub=rows,
        b_ub=np.tile(program.radius, 2),
        bounds=np.column_stack([-program.box, program.box]),
    )
    m = len(program.radius)
    return -solved.fun, solved.x, solved.ineqlin.marginals[m:] - solved.ineqlin.marginals[:m]


@pytest.mark.parametrize("seed", range(20))
def test_optimal_candidate_is_certified(seed):
    program = random_program(np.random.default_rng(seed))
    value, y, p = optimum(program)
    certificate = certify(program, y, p)
    assert certificate.lower <= value * (1 + 1e-12)
    assert certificate.upper >= value * (1 - 1e-12)
    assert certificate.gap < 1e-9


LIES = {
    "noise": lambda rng, y, p: (rng.standard_normal(y.shape), rng.standard_normal(p.shape)),
    "scaled up": lambda rng, y, p: (1.7 * y, 1.7 * p),
    "scaled down": lambda rng, y, p: (0.3 * y, 0.3 * p),
    "signs turned": lambda rng, y, p: (-y, -p),
    "nothing": lambda rng, y, p: (0 * y, 0 * p),
    "not numbers": lambda rng, y, p: (np.full_like(y, np.nan), np.full_like(p, np.inf)),
    "huge": lambda rng, y, p: (1e300 * y, 1e300 * p),
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("seed", range(5))
def test_wrong_candidates_only_widen_the_bracket(lie, seed):
    rng = np.random.default_rng(seed)
    program = random_program(rng)
    value, y, p = optimum(program)
    certificate = certify(program, *LIES[lie](rng, y, p))
    assert certificate.lower <= value * (1 + 1e-9)
    assert value * (1 - 1e-9) <= certificate.upper <= program.box @ np.abs(program.objective) * (1 + 1e-9)
    assert certificate.gap > 1e-3


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_entries_that_are_not_finite_count_as_zero(number):
    program = random_program(np.random.default_rng(3))
    _, y, p = optimum(program)
    for k in range(len(y)):
        broken, zero = (np.where(np.arange(len(y)) == k, entry, y) for entry in (number, 0.0))
        assert certify(program, broken, p).lower == certify(program, zero, p).lower
    for k in range(len(p)):
        broken, zero = (np.where(np.arange(len(p)) == k, entry, p) for entry in (number, 0.0))
        assert certify(program, y, broken).upper == certify(program, y, zero).upper


def test_candidate_of_another_program_is_not_certified():
    first, second = (random_program(np.random.default_rng(seed)) for seed in (1, 2))
    _, y, p = optimum(first)
    value = optimum(second)[0]
    certificate = certify(second, y, p)
    assert certificate.lower < value < certificate.upper
    assert certificate.gap > 0.1


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), exponent=st.integers(-12, 3))
def test_bracket_holds_in_rational_arithmetic(seed, exponent):
    """The feasible point and both bounds are exact."""
    rng = np.random.default_rng(seed)
    program = random_program(rng, m=6, n=5)
    _, y, p = optimum(program)
    program.radius[:] *= 10.0**exponent  # the candidate is no longer optimal or feasible
    certificate = certify(program, y + 1e-9 * rng.standard_normal(5), p)
    matrix = [[Fraction(value) for value in row] for row in program.matrix.toarray()]
    radius, box, objective = (list(map(Fraction, v)) for v in (program.radius, program.box, program.objective))
    feasible, multipliers = list(map(Fraction, certificate.feasible)), list(map(Fraction, p))

    activity = [sum(a * b for a, b in zip(row, feasible, strict=True)) for row in matrix]
    slack = Fraction(1, 10**15)  # scaling y rounds each entry once
    assert all(
        abs(a) <= r * (1 + slack) + slack * sum(map(abs, row))
        for a, r, row in zip(activity, radius, matrix, strict=True)
    )
    assert all(abs(v) <= u for v, u in zip(feasible, box, strict=True))
    value = sum(b * v for b, v in zip(objective, feasible, strict=True))
    assert Fraction(certificate.lower) <= value * (1 + slack) + slack
    residual = [b - sum(matrix[i][k] * multipliers[i] for i in range(6)) for k, b in enumerate(objective)]
    upper = sum(r * abs(v) for r, v in zip(radius, multipliers, strict=True))
    upper += sum(u * abs(v) for u, v in zip(box, residual, strict=True))
    trivial = sum(u * abs(b) for u, b in zip(box, objective, strict=True))
    assert min(upper, trivial) <= Fraction(certificate.upper)


def test_zero_radii_and_boxes():
    matrix = sparse.csr_array([[1.0, 0.0], [0.0, 1.0]])
    program = CoordinateProgram(matrix, np.array([0.0, 1.0]), np.array([1.0, 1.0]), np.array([1.0, 1.0]), 2)
    assert certify(program, np.array([0.0, 1.0]), np.zeros(2)).lower == pytest.approx(1.0)
    assert certify(program, np.array([1e-300, 1.0]), np.zeros(2)).lower == 0.0
    pinned = CoordinateProgram(sparse.csr_array((0, 2)), np.empty(0), np.array([0.0, 1.0]), np.array([5.0, 1.0]), 2)
    certificate = certify(pinned, np.array([0.0, 1.0]), np.empty(0))
    assert (certificate.lower, certificate.upper) == pytest.approx((1.0, 1.0))


def test_overflow_gives_no_bound():
    """Values near the largest double have activities inf - inf."""
    matrix = sparse.csr_array([[1.0, 1.0, -1.0, -1.0]])
    program = CoordinateProgram(matrix, np.array([0.1]), np.full(4, 1.0), np.array([1.0, 1.0, -1.0, -1.0]), 4)
    for y in (np.array([1.0, 1.0, -1.0, -1.0]), np.array([1.0, 1.0, 1.0, -1.0])):
        certificate = certify(program, 1e308 * y, np.zeros(1))
        assert certificate.lower <= 0.1
    huge = CoordinateProgram(matrix, np.array([0.1]), np.full(4, 1.0), np.full(4, 1.7e308), 4)
    certificate = certify(huge, np.array([1.0, 0.0, 1.0, 0.0]), np.full(1, 1.7e308))
    assert certificate.lower <= certificate.upper
    assert certificate.gap > 0.0


def test_allowance_for_rounding_of_the_activity():
    """In floating point 1 + 2^-54 - 1 is 0; the exact value 2^-54 is 64 times the radius 2^-60."""
    matrix = sparse.csr_array([[1.0, 1.0, -1.0]])
    program = CoordinateProgram(matrix, np.array([2.0**-60]), np.full(3, 1.0), np.array([1.0, 1.0, -1.0]), 3)
    assert certify(program, np.array([1.0, 2.0**-54, 1.0]), np.zeros(1)).lower <= 2.0**-60


@pytest.mark.parametrize("seed", range(10))
def test_allowance_for_rounding_of_the_residual(seed):
    """Large multipliers cancel in A'p; the computed bound is at least the exact one."""
    rng = np.random.default_rng(seed)
    row = rng.standard_normal((1, 4))
    matrix = sparse.csr_array(np.vstack([row, row * 3.0, rng.standard_normal((2, 4))]))
    program = CoordinateProgram(matrix, np.full(4, 1e-20), np.full(4, 1.0), rng.standard_normal(4), 4)
    p = np.array([3e6 * rng.random(), 0.0, *rng.standard_normal(2)])
    p[1] = -p[0] / 3.0
    exact = sum(Fraction(r) * abs(Fraction(v)) for r, v in zip(program.radius, p, strict=True))
    dense = matrix.toarray()
    for k in range(4):
        residual = Fraction(program.objective[k]) - sum(Fraction(dense[i, k]) * Fraction(p[i]) for i in range(4))
        exact += abs(residual)
    bound = program.upper_bound(p)
    trivial = sum(abs(Fraction(b)) for b in program.objective)
    assert Fraction(bound) >= min(exact, trivial)


def test_best_of_combines_both_bounds():
    program = random_program(np.random.default_rng(3))
    value, y, p = optimum(program)
    by_y = Candidate(program, y, np.zeros_like(p), ("one",), ("first",), iterations=2)
    assert by_y.proof.gap > 1e-3
    best = best_of(by_y, Candidate(program, np.zeros_like(y), p, ("one", "two"), ("second",), iterations=3))
    assert best.proof.gap < 1e-9
    assert best.proof.lower <= value <= best.proof.upper
    assert (best.solvers, best.notes, best.iterations) == (("one", "two"), ("first", "second"), 5)
    assert best_of(best, Candidate(program, 0.5 * y, 0.5 * p, ("three",))).y is y


def test_best_of_keeps_the_form_of_each_bound():
    def proving(lower, upper):
        form = SimpleNamespace(lower_bound=lambda y: (lower, y), upper_bound=lambda p: upper, stein_function=None)
        return Candidate(form, np.zeros(1), np.zeros(1), ())

    for first, second in ((proving(2.0, 9.0), proving(1.0, 5.0)), (proving(1.0, 5.0), proving(2.0, 9.0))):
        proof = best_of(first, second).proof
        assert (proof.lower, proof.upper) == (2.0, 5.0)


def test_relative_width():
    assert relative_width(1.0, 2.0) == 0.5
    assert relative_width(0.0, 0.0) == 0.0


class Crossed:
    """A form with contradicting bounds."""

    def lower_bound(self, y):
        return 2.0, y

    def upper_bound(self, p):
        return 1.0 if p[0] else 3.0


def test_contradicting_bounds_raise_a_defect():
    y, p = np.zeros(1), np.ones(1)
    assert certify(Crossed(), y, 0.0 * p).upper == 3.0
    with pytest.raises(sk.CrossedBracketError, match="bug in steinkit") as raised:
        certify(Crossed(), y, p)
    assert (raised.value.lower, raised.value.upper, raised.value.exit_code) == (2.0, 1.0, 70)
    assert not isinstance(raised.value, sk.SolverError)  # a defect is not a failure of a solver


def test_sums_of_brackets_are_rounded_outwards():
    low, high = sum_of_brackets([1.0, 2.0**-60], [1.0, 2.0**-60])
    assert (low, high) == (1.0, np.nextafter(1.0, 2.0))
    low, high = sum_of_brackets([1.0, -(2.0**-60)], [1.0, -(2.0**-60)])
    assert (low, high) == (np.nextafter(1.0, 0.0), 1.0)
    assert sum_of_brackets([0.1], [0.3]) == (0.1, 0.3)
    assert sum_of_brackets([0.5, 0.25], [np.inf, 1.0]) == (0.75, np.inf)
