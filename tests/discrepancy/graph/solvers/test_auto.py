"""Solver `auto`: choice of solvers, change of solver, and notes."""

from dataclasses import replace

import numpy as np
import pytest

import steinkit as sk
from steinkit.discrepancy.graph.programs.matrix_form import certify
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.discrepancy.graph.solvers import Settings, first_order, highs, solver_named
from steinkit.discrepancy.graph.solvers.block import newton_system as block


def normal(n, dim, seed=0):
    points = np.random.default_rng(seed).standard_normal((n, dim))
    return points, {"scores": -points}


@pytest.mark.parametrize(
    ("dim", "tolerance", "solver"),
    [(1, None, "chain"), (2, None, "block"), (3, 1e-2, "block"), (4, None, "first_order"), (6, 1e-5, "first_order")],
)
def test_choice_by_dimension(dim, tolerance, solver):
    points, scores = normal(80, dim)
    result = sk.graph_stein_discrepancy(points, **scores, tolerance=tolerance)
    assert result.solver == solver
    assert result.gap <= result.tolerance


def test_choice_for_tight_tolerances_in_high_dimension():
    points, scores = normal(60, 5)
    assert sk.graph_stein_discrepancy(points, **scores, tolerance=1e-7).solver == "block"
    points = 0.3 * np.random.default_rng(0).standard_normal((90, 12))
    result = sk.graph_stein_discrepancy(points, scores=-points / 0.09, tolerance=1e-7)
    assert result.solver == "highs"
    assert result.gap <= 1e-7


def test_time_limit_adds_an_early_solver():
    points = 0.3 * np.random.default_rng(0).standard_normal((90, 12))
    result = sk.graph_stein_discrepancy(points, scores=-points / 0.09, tolerance=1e-7, max_seconds=1e3)
    assert result.solver == "first_order + highs"
    assert any("highs continued" in note for note in result.warnings)


@pytest.mark.parametrize("smallest", [1e-8, 1e-5])
def test_one_dimension_continues_with_other_solvers(smallest):
    """The bound c1 is much smaller than the distances, with draws on both bounds."""
    points = np.random.default_rng(1).standard_normal((50, 1))
    bounds = [points.min(), points.max()]
    result = sk.graph_stein_discrepancy(points, scores=-points, stein_factors=(smallest, 1, 1), bounds=bounds)
    assert result.solver in ("chain", "chain + block")
    assert result.gap <= 1e-6


def test_single_draw_in_a_narrow_support():
    bounds = [[0.0, 1e-9], *[[-np.inf, np.inf]] * 3]
    result = sk.graph_stein_discrepancy(np.zeros((1, 4)), scores=np.ones((1, 4)), bounds=bounds)
    assert result.gap <= 1e-3


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e5])
def test_result_does_not_depend_on_units(unit):
    """Points, scores and Stein factors in other units give the same program up to scale."""
    points = np.random.default_rng(5).standard_normal((150, 5))
    usual = sk.graph_stein_discrepancy(points, scores=-points)
    factors = (unit, 1.0, 1.0 / unit)
    scaled = sk.graph_stein_discrepancy(points * unit, scores=-points / unit, stein_factors=factors)
    assert scaled.solver == usual.solver == "first_order"
    assert scaled.value == pytest.approx(usual.value, rel=2e-3)


def crippled(solver, keep=0.9):
    """Return a solver that scales y, so the relative width of its bracket is 1 - keep."""

    def solve(*arguments):
        answer = solver(*arguments)
        return replace(answer, y=keep * answer.y)

    return solve


def test_open_coordinates_continue_with_the_next_solver(monkeypatch):
    points, scores = normal(80, 2)
    honest = sk.graph_stein_discrepancy(points, **scores)
    solve = block.solve_coordinate
    calls = iter([crippled(solve), solve])
    monkeypatch.setattr(block, "solve_coordinate", lambda *arguments: next(calls)(*arguments))
    result = sk.graph_stein_discrepancy(points, **scores)
    assert result.solver == "block + highs"
    assert result.gap <= 1e-6
    assert result.lower <= honest.upper
    assert result.upper >= honest.lower
    (note,) = (note for note in result.warnings if "continued" in note)
    assert note == "x1: solver block ended at a relative bracket width of 1.0e-01; highs continued"


def test_bounds_of_different_forms_are_combined(monkeypatch):
    """The lower and upper bounds come from different solvers and forms."""
    points, _ = normal(60, 2)
    points[7] = points[3] + 1e-6  # `block` then uses relative variables
    program = SteinProgram(points, -points, np.full(60, 1 / 60), sk.greedy_spanner(points))

    def no_multipliers(coordinate, pattern, settings):
        answer = block_solve(coordinate, pattern, settings)
        return replace(answer, p=0.0 * answer.p)

    def no_solution(coordinate, settings):
        answer = highs_solve(coordinate, settings)
        return replace(answer, y=0.0 * answer.y)

    block_solve, highs_solve = block.solve_coordinate, highs.solve_coordinate
    monkeypatch.setattr(block, "solve_coordinate", no_multipliers)
    monkeypatch.setattr(highs, "solve_coordinate", no_solution)
    for answer in solver_named("auto")(program, Settings(1e-6)):
        proof = certify(answer.program, answer.y, answer.p)
        assert answer.solvers == ("block", "highs")
        assert proof.gap <= 1e-5
        g, gradient = answer.program.stein_function(proof.feasible)
        assert g.shape == (60,)
        assert gradient.shape == (60, 2)


def test_no_further_solver_after_the_time_limit(monkeypatch):
    points, scores = normal(80, 4)
    solve = first_order.solve

    def slow(program, settings, coordinates):
        answers = solve(program, settings, coordinates)
        settings.interrupted.set()
        return [replace(answer, y=0.95 * answer.y) for answer in answers]

    monkeypatch.setattr(first_order, "solve", slow)
    with pytest.warns(sk.SteinkitWarning, match="relative width"):
        result = sk.graph_stein_discrepancy(points, **scores)
    assert result.solver == "first_order"


class Stopping(Settings):
    """Settings that stop after a given number of checks."""

    @property
    def stopped(self):
        self.interrupted.looks_left -= 1
        return self.interrupted.looks_left < 0


@pytest.mark.parametrize(("dim", "analyses"), [(1, (3, 10)), (2, (4, 11)), (5, (2, 6))])
def test_time_limit_keeps_the_best_bracket(dim, analyses):
    points, _ = normal(200, dim)
    graph = sk.sorted_graph(points) if dim == 1 else sk.greedy_spanner(points)
    program = SteinProgram(points, -points, np.full(200, 1 / 200), graph)
    gaps = []
    for most in analyses:
        settings = Stopping(1e-9 if dim < 4 else 1e-4)
        settings.interrupted.looks_left = most
        answer, *_ = solver_named("auto")(program, settings)
        gaps.append(certify(answer.program, answer.y, answer.p).gap)
    assert 1e-9 < gaps[1] < 0.5 * gaps[0] < 0.1


def test_tiny_time_limit_raises():
    points, scores = normal(400, 2)
    with pytest.raises(sk.SolverError, match="time ran out") as caught:
        sk.graph_stein_discrepancy(points, **scores, max_seconds=1e-3)
    assert 0.0 <= caught.value.lower < caught.value.upper
