"""Coordinates a portion at a time: the same answers, in little memory, and as many as there is time for."""

import tracemalloc

import numpy as np
import pytest
from support.exact_optimum import solved
from support.exact_programs import exact_program

import steinkit as sk
from steinkit.discrepancy.graph.discrepancy import Answers, solve_in_portions
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.discrepancy.graph.solvers import Settings, registry, solver_named
from steinkit.discrepancy.graph.solvers.registry import Case
from steinkit.errors import TimeLimitError

BOUNDS = np.array([[0.0, np.inf], [-np.inf, 9.0], [-1.0, 9.0], [-np.inf, np.inf], [-np.inf, np.inf]])


def far_apart(n, dim, seed=0):
    """Points on a coarse grid, no two within any reach."""
    points = np.random.default_rng(seed).integers(0, 64, (n, dim)) / 8.0
    points[:, 0] += 8.0 * np.arange(n)
    return points


def program_of(points, bounds=None):
    n = len(points)
    return SteinProgram(points, -points, np.full(n, 1.0 / n), sk.greedy_spanner(points), bounds=bounds)


@pytest.mark.parametrize("solver", ["auto", "highs", "block"])
def test_points_that_nothing_ties_together_have_the_value_of_the_definition(solver):
    """Some on a bound, some near one; the definition is in rational arithmetic, all variables included."""
    points = far_apart(4, 5)
    points[0, 2], points[1, 1], points[2, 2], points[3, 2] = -1.0, 8.5, -0.875, 9.0
    program = program_of(points, BOUNDS)
    assert program.is_loose
    found = sk.graph_stein_discrepancy(points, scores=-points, bounds=BOUNDS, solver=solver)
    for j in range(5):
        truth = float(solved(exact_program(program, j)).value)
        assert found.coordinate_lower[j] <= truth * (1.0 + 1e-12)
        assert found.coordinate_upper[j] >= truth * (1.0 - 1e-12)
    assert found.gap <= 1e-3


def test_one_short_edge_ties_points_together():
    points = far_apart(4, 5)
    points[1] = points[0]
    points[1, 0] += 3.75
    assert not program_of(points).is_loose


def test_only_derivatives_along_the_coordinates_are_kept_where_nothing_ties_points_together():
    points = far_apart(40, 5)
    found = sk.graph_stein_discrepancy(points, scores=-points, units=[1.0, 2.0, 0.5, 1.0, 1.0])
    assert found.slopes.shape == (40, 5, 1)
    assert found.grad_g.shape == (40, 5, 5)
    off = ~np.eye(5, dtype=bool)
    assert (found.grad_g[:, off] == 0.0).all()
    np.testing.assert_array_equal(found.grad_g[:, ~off], found.slopes[:, :, 0])
    h = (found.g * -points).sum(axis=1) + np.trace(found.grad_g, axis1=1, axis2=2)
    np.testing.assert_allclose(found.test_function, h, rtol=1e-12)
    assert h.mean() == pytest.approx(found.lower, rel=1e-9)


def test_a_result_without_ties_is_kept_and_read_back(tmp_path):
    points = far_apart(20, 4)
    found = sk.graph_stein_discrepancy(points, scores=-points)
    found.save(tmp_path / "found.json")
    again = sk.read_result(tmp_path / "found.json")
    np.testing.assert_array_equal(again.grad_g, found.grad_g)


def test_many_coordinates_take_no_more_memory_than_the_sample_where_nothing_ties_points_together():
    """Gradients alone would take 150 times the memory of the draws."""
    points = far_apart(300, 150)
    sk.graph_stein_discrepancy(points[:, :5], scores=-points[:, :5])
    tracemalloc.start()
    found = sk.graph_stein_discrepancy(points, scores=-points)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.gap <= 1e-9
    assert peak < 60.0 * points.nbytes


def test_portions_do_not_change_answers(monkeypatch):
    points = np.random.default_rng(1).standard_normal((40, 5))
    whole = sk.graph_stein_discrepancy(points, scores=-points, solver="highs")
    monkeypatch.setattr(registry, "PORTION", 2)
    parts = sk.graph_stein_discrepancy(points, scores=-points, solver="highs")
    for name in ("coordinate_lower", "coordinate_upper", "g", "grad_g"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))
    assert parts.warnings == whole.warnings


def test_what_there_was_no_time_for_keeps_the_bracket_that_needs_no_solver():
    points = np.random.default_rng(1).standard_normal((40, 20))
    program = program_of(points)
    solver, asked = solver_named("highs"), []

    class Slow:
        def work_on(self, case, coordinates):
            asked.append(list(coordinates))
            if len(asked) > 1:
                raise TimeLimitError("the programs were solved")
            return solver.work_on(case, coordinates)

    answers = Answers(program)
    solve_in_portions(Slow(), Case(program, Settings(1e-3)), answers)
    assert asked == [list(range(8)), list(range(8, 16))]
    assert answers.late
    assert (answers.lower[:8] > 0.0).all()
    assert (answers.lower[8:] == 0.0).all()
    np.testing.assert_allclose(answers.upper[8:], np.abs(points).mean(axis=0)[8:] + 1.0, rtol=1e-8)
    assert (answers.g[:, 8:] == 0.0).all()


def test_no_time_for_the_first_portion_is_no_answer():
    program = program_of(far_apart(5, 4))
    case = Case(program, Settings(1e-3))

    class Late:
        def work_on(self, case, coordinates):
            raise TimeLimitError("the programs were solved")

    with pytest.raises(TimeLimitError):
        solve_in_portions(Late(), case, Answers(program))
