"""Portions of coordinates: results, memory and time limits."""

import tracemalloc

import numpy as np
import pytest
from support.exact_optimum import solved
from support.exact_programs import exact_program

import steinkit as sk
from steinkit.discrepancy.graph.discrepancy import Answers, solve_in_portions
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.discrepancy.graph.solvers import Settings, registry, solver_named
from steinkit.errors import TimeLimitError

BOUNDS = np.array([[0.0, np.inf], [-np.inf, 9.0], [-1.0, 9.0], [-np.inf, np.inf], [-np.inf, np.inf]])


def far_apart(n, dim, seed=0):
    """Return points on a coarse grid that are pairwise beyond all reaches."""
    points = np.random.default_rng(seed).integers(0, 64, (n, dim)) / 8.0
    points[:, 0] += 8.0 * np.arange(n)
    return points


def program_of(points, bounds=None):
    n = len(points)
    return SteinProgram(points, -points, np.full(n, 1.0 / n), sk.greedy_spanner(points), bounds=bounds)


@pytest.mark.parametrize("solver", ["auto", "highs", "block"])
def test_loose_programs_agree_with_the_definition(solver):
    """Some points are on or near a bound; the definition is evaluated in rational arithmetic."""
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


def test_one_short_edge_makes_a_program_not_loose():
    points = far_apart(4, 5)
    points[1] = points[0]
    points[1, 0] += 3.75
    assert not program_of(points).is_loose


def test_loose_programs_store_diagonal_derivatives():
    points = far_apart(40, 5)
    found = sk.graph_stein_discrepancy(points, scores=-points, units=[1.0, 2.0, 0.5, 1.0, 1.0])
    assert found.slopes.shape == (40, 5, 1)
    assert found.grad_g.shape == (40, 5, 5)
    other = ~np.eye(5, dtype=bool)
    assert (found.grad_g[:, other] == 0.0).all()
    np.testing.assert_array_equal(found.grad_g[:, ~other], found.slopes[:, :, 0])
    h = (found.g * -points).sum(axis=1) + np.trace(found.grad_g, axis1=1, axis2=2)
    np.testing.assert_allclose(found.test_function, h, rtol=1e-12)
    assert h.mean() == pytest.approx(found.lower, rel=1e-9)


def test_memory_of_loose_programs():
    """Full gradients would take 150 times the memory of the draws."""
    points = far_apart(300, 150)
    sk.graph_stein_discrepancy(points[:, :5], scores=-points[:, :5])
    tracemalloc.start()
    found = sk.graph_stein_discrepancy(points, scores=-points)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.gap <= 1e-9
    assert peak < 60.0 * points.nbytes


def test_results_do_not_depend_on_portions(monkeypatch):
    points = np.random.default_rng(1).standard_normal((40, 5))
    whole = sk.graph_stein_discrepancy(points, scores=-points, solver="highs")
    monkeypatch.setattr(registry, "PORTION", 2)
    parts = sk.graph_stein_discrepancy(points, scores=-points, solver="highs")
    for name in ("coordinate_lower", "coordinate_upper", "g", "grad_g"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))
    assert parts.warnings == whole.warnings


def test_time_limit_keeps_trivial_brackets():
    points = np.random.default_rng(1).standard_normal((40, 20))
    program = program_of(points)
    solver, asked = solver_named("highs"), []

    def slow(program, settings, coordinates):
        asked.append(list(coordinates))
        if len(asked) > 1:
            raise TimeLimitError("solving the programs")
        return solver(program, settings, coordinates)

    answers = Answers(program)
    solve_in_portions(slow, program, Settings(1e-3), answers)
    assert asked == [list(range(8)), list(range(8, 16))]
    assert answers.late
    assert (answers.lower[:8] > 0.0).all()
    assert (answers.lower[8:] == 0.0).all()
    np.testing.assert_allclose(answers.upper[8:], np.abs(points).mean(axis=0)[8:] + 1.0, rtol=1e-8)
    assert (answers.g[:, 8:] == 0.0).all()
