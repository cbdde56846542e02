"""Solver `highs`: fallbacks, early stops, and wrong solutions."""

import threading
import time

import numpy as np
import pytest

import steinkit as sk
from steinkit.discrepancy.graph.programs.matrix_form import certify
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.discrepancy.graph.solvers import Settings, highs


def test_fallback_is_noted(monkeypatch):
    """A failing interior point method is followed by the simplex method."""
    rng = np.random.default_rng(0)

    def noise(program, *_):
        m, n = program.matrix.shape
        return rng.standard_normal(n), rng.standard_normal(m)

    points = np.random.default_rng(2).standard_normal((30, 2))
    right = sk.graph_stein_discrepancy(points, scores=-points, solver="highs")
    monkeypatch.setattr(highs, "_interior_point", noise)
    result = sk.graph_stein_discrepancy(points, scores=-points, solver="highs")
    assert result.gap <= 1e-6
    assert result.value == pytest.approx(right.value, rel=1e-6)
    assert any("x1: highs required a fallback" in note for note in result.warnings)


LIES = {
    "noise": lambda values: np.random.default_rng(4).standard_normal(values.shape),
    "scaled": lambda values: 3.0 * values,
    "turned": lambda values: -values,
    "shuffled": lambda values: np.roll(values, 7),
}


@pytest.mark.parametrize("lie", LIES)
def test_wrong_solutions_raise(monkeypatch, lie):
    points = np.random.default_rng(2).standard_normal((30, 2))
    honest = sk.graph_stein_discrepancy(points, scores=-points, solver="highs")
    run = highs.run_highs
    monkeypatch.setattr(highs, "run_highs", lambda *arguments: tuple(map(LIES[lie], run(*arguments))))
    with pytest.raises(sk.SolverError) as caught:
        sk.graph_stein_discrepancy(points, scores=-points, solver="highs")
    assert caught.value.lower <= honest.upper
    assert caught.value.upper >= honest.lower


def test_solution_of_another_coordinate_is_not_certified(monkeypatch):
    """The solver returns the solution of the other coordinate."""
    points = np.random.default_rng(2).standard_normal((30, 2))
    program = SteinProgram(points, -points, np.full(30, 1 / 30), sk.greedy_spanner(points))
    other, asked = (program.coordinate(j) for j in range(2))
    honest = highs.solve_coordinate(asked, Settings(tolerance=1e-6))
    stale = highs.solve_coordinate(other, Settings(tolerance=1e-6))
    for method in ("_interior_point", "_dual_simplex"):
        monkeypatch.setattr(highs, method, lambda *_: (stale.y, stale.p))
    answer = highs.solve_coordinate(asked, Settings(tolerance=1e-6))
    believed, truth = certify(asked, answer.y, answer.p), certify(asked, honest.y, honest.p)
    assert truth.gap <= 1e-6
    assert believed.gap > 0.1
    assert believed.lower <= truth.upper
    assert believed.upper >= truth.lower


def test_time_limit_gives_a_valid_bracket():
    points = np.random.default_rng(0).standard_normal((400, 2))
    started = time.monotonic()
    with pytest.raises(sk.SolverError, match="time ran out") as caught:
        sk.graph_stein_discrepancy(points, scores=-points, solver="highs", max_seconds=1e-3)
    assert time.monotonic() - started < 30.0
    assert 0.0 <= caught.value.lower < caught.value.upper


def test_interrupt_stops_the_solver():
    points = np.random.default_rng(0).standard_normal((600, 2))
    program = SteinProgram(points, -points, np.full(600, 1 / 600), sk.greedy_spanner(points))
    settings = Settings(tolerance=1e-6)
    threading.Timer(0.05, settings.interrupted.set).start()
    answers = highs.solve(program, settings)
    stopped = [certify(answer.program, answer.y, answer.p) for answer in answers]
    assert max(certificate.gap for certificate in stopped) > 1e-6


def test_existing_thread_pool_of_another_size():
    """HiGHS has one thread pool per process, here started with two threads."""
    highspy = pytest.importorskip("highspy")
    highspy.Highs.resetGlobalScheduler(True)
    other = highspy.Highs()
    other.silent()
    other.setOptionValue("threads", 2)
    x = other.addVariable(lb=0.0, ub=1.0)
    other.maximize(x)
    points = np.random.default_rng(0).standard_normal((20, 2))
    try:
        assert sk.graph_stein_discrepancy(points, scores=-points, solver="highs").gap <= 1e-6
    finally:
        highspy.Highs.resetGlobalScheduler(True)
