"""CVXPY: any LP solver it knows, time limits that not all of them take, and work in threads."""

import warnings

import numpy as np
import pytest

import steinkit as sk
from steinkit.discrepancy.graph.engines import cvxpy as modelling


def test_any_lp_solver_of_cvxpy_by_name():
    assert {"HIGHS", "CLARABEL", "SCIPY"} <= set(modelling.linear_solvers())
    points = np.random.default_rng(0).standard_normal((20, 2))
    reference = sk.graph_stein_discrepancy(points, scores=-points, engine="highs")
    for solver in ("clarabel", "SCIPY"):
        result = sk.graph_stein_discrepancy(points, scores=-points, engine=f"cvxpy:{solver}", tolerance=1e-4)
        assert result.engine == f"cvxpy:{solver.upper()}"
        assert result.value == pytest.approx(reference.value, rel=1e-4)


def test_time_limits_reach_other_solvers_or_are_refused():
    points = np.random.default_rng(0).standard_normal((150, 3))
    with pytest.raises(sk.SolverError, match="time ran out"):
        sk.graph_stein_discrepancy(points, scores=-points, engine="cvxpy:CLARABEL", max_seconds=0.01)
    with pytest.raises(sk.UsageError, match=r"cannot pass max_seconds \(--max-seconds\) to SCIPY"):
        sk.graph_stein_discrepancy(points, scores=-points, engine="cvxpy:SCIPY", max_seconds=10.0)


def test_cvxpy_in_threads_leaves_the_warning_filters_as_they_were():
    points = np.random.default_rng(0).standard_normal((40, 2))
    before = list(warnings.filters)
    sk.graph_stein_discrepancy(points, scores=-points, engine="cvxpy", n_jobs=2)
    assert list(warnings.filters) == before
