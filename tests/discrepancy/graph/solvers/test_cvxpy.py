"""Solver `cvxpy`: other LP solvers, time limits, and threads."""

import threading
import time
import warnings

import numpy as np
import pytest
from cvxpy.reductions.solvers.solving_chain import SolvingChain
from support.ordeal import asked, make

import steinkit as sk
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.discrepancy.graph.solvers import Settings
from steinkit.discrepancy.graph.solvers import cvxpy as modelling


def test_lp_solvers_by_name():
    points = np.random.default_rng(0).standard_normal((20, 2))
    reference = sk.graph_stein_discrepancy(points, scores=-points, solver="highs")
    for solver in ("clarabel", "SCIPY"):
        result = sk.graph_stein_discrepancy(points, scores=-points, solver=f"cvxpy:{solver}", tolerance=1e-4)
        assert result.solver == f"cvxpy:{solver.upper()}"
        assert result.value == pytest.approx(reference.value, rel=1e-4)


def test_time_limits_of_other_solvers():
    points = np.random.default_rng(0).standard_normal((150, 3))
    with pytest.raises(sk.SolverError, match="time ran out"):
        sk.graph_stein_discrepancy(points, scores=-points, solver="cvxpy:CLARABEL", max_seconds=0.01)
    with pytest.raises(sk.UsageError, match="SCIPY"):
        sk.graph_stein_discrepancy(points, scores=-points, solver="cvxpy:SCIPY", max_seconds=10.0)


def test_solver_that_exceeds_its_time_limit_is_abandoned(monkeypatch):
    release = threading.Event()
    monkeypatch.setattr("steinkit.runtime.deadlines._GRACE", 0.0)
    monkeypatch.setattr(SolvingChain, "solve_via_data", lambda *given, **options: release.wait(60.0))
    points = np.random.default_rng(0).standard_normal((20, 1))
    program = SteinProgram(points, -points, np.full(20, 1 / 20), sk.sorted_graph(points))
    try:
        (found,) = modelling.solve(program, Settings(1e-6, deadline=time.monotonic() + 0.3))
    finally:
        release.set()
    assert found.notes == ("HIGHS exceeded its time limit",)
    assert (found.y == 0.0).all()


def test_threads_do_not_change_warning_filters():
    points = np.random.default_rng(0).standard_normal((40, 2))
    before = list(warnings.filters)
    sk.graph_stein_discrepancy(points, scores=-points, solver="cvxpy", n_jobs=2)
    assert list(warnings.filters) == before


def test_highs_through_cvxpy_in_one_dimension():
    """Three other solvers agree on the reference value."""
    points = np.random.default_rng(1).standard_normal((1000, 1))
    result = sk.graph_stein_discrepancy(points, scores=-points, solver="cvxpy")
    assert result.gap <= 1e-6
    assert result.value == pytest.approx(0.0754980932, rel=1e-7)


@pytest.mark.parametrize("family", ["cancelling", "near", "clusters cancel", "bounded", "at bounds", "larger"])
def test_highs_through_cvxpy_closes_the_same_brackets(family):
    for seed in range(2):
        direct, through = (asked(make(family, seed).by(solver)) for solver in ("highs", "cvxpy"))
        assert (through.result is None) == (direct.result is None)
        assert direct.lower <= through.upper
        assert through.lower <= direct.upper


def test_other_solvers_solve_the_dual_program_once():
    points = np.random.default_rng(0).standard_normal((30, 1))
    with pytest.warns(sk.SteinkitWarning, match="1e-13"):
        result = sk.graph_stein_discrepancy(points, scores=-points, solver="cvxpy:CLARABEL", tolerance=1e-13)
    assert any("the dual program: " in note and "the program itself: " in note for note in result.warnings)
    assert not any("at 1e-10" in note for note in result.warnings)
