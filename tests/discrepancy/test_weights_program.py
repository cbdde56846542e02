"""Optimal weights: brackets against exact rational optima, and the proof of the lower bound."""

from dataclasses import replace

import numpy as np
import pytest
from support.exact_weights import least_discrepancy, random_program

from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.discrepancy.graph.solvers import Settings
from steinkit.discrepancy.graph.spanner.geometry import sorted_graph
from steinkit.discrepancy.weights_program import WeightsProgram
from steinkit.discrepancy.weights_solver import least_mean

TIGHT = Settings(1e-3)


def slices(program):
    """Return one chain per coordinate, with the scores of the program."""
    found = []
    for j in range(program.dim):
        points, bounds = program.points[:, [j]], None if program.bounds is None else program.bounds[[j]]
        graph = sorted_graph(points)
        found.append(SteinProgram(points, program.scores[:, [j]], program.weights, graph, program.factors, bounds))
    return found


@pytest.mark.parametrize("solver", ["_by_interior_point", "_by_highs"])
@pytest.mark.parametrize("is_bounded", [False, True])
@pytest.mark.parametrize("dim", [1, 2])
def test_bracket_contains_the_exact_optimum(dim, is_bounded, solver):
    rng = np.random.default_rng(dim)
    for _ in range(4):
        program, shares, most = random_program(rng, dim, 4, is_bounded=is_bounded)
        found = getattr(WeightsProgram([program], np.empty((0, len(shares))), shares, most), solver)(TIGHT)
        assert found.lower <= least_discrepancy([program], [], most) <= found.upper
        assert found.gap < 1e-3


@pytest.mark.parametrize("solver", ["_by_interior_point", "_by_highs"])
def test_bracket_of_slices_and_moments_contains_the_exact_optimum(solver):
    rng, seen = np.random.default_rng(0), 0
    while seen < 4:
        program, shares, most = random_program(rng, 2, 4)
        if any(len(np.unique(column)) < len(column) for column in program.points.T):
            continue
        seen += 1
        parts, moments = slices(program), np.round(8.0 * rng.normal(size=(2, len(shares)))) / 8.0
        found = getattr(WeightsProgram(parts, moments, shares, most), solver)(TIGHT)
        assert found.lower <= least_discrepancy(parts, moments, most) <= found.upper
        assert found.gap < 1e-3


@pytest.fixture(scope="module")
def solved():
    points = np.round(np.random.default_rng(3).normal(0.2, 1.3, (60, 2)), 1)  # with ties in single coordinates
    points = np.unique(points, axis=0)
    shares = np.full(len(points), 1.0 / len(points))
    program = SteinProgram(points, -points, shares, None)
    moments = np.column_stack([points[:, 0] ** 2 - 1.0, points[:, 0] * points[:, 1]]).T
    parts = [replace(each, points=points[:, [j]]) for j, each in enumerate(slices_with_ties(program))]
    problem = WeightsProgram(parts, moments, shares, np.full(len(points), 3.0 / len(points)))
    return problem, problem.solve(TIGHT)


def slices_with_ties(program):
    from steinkit.discrepancy.graph.spanner.geometry import join_neighbours

    return [
        SteinProgram(
            program.points[:, [j]], program.scores[:, [j]], program.weights, join_neighbours(program.points[:, [j]])
        )
        for j in range(program.dim)
    ]


def test_mean_of_the_test_function_is_at_least_the_lower_bound(solved):
    problem, found = solved
    rng = np.random.default_rng(0)
    for _ in range(200):
        q = rng.dirichlet(np.ones(len(found.weights)))
        while (q > problem.most).any():
            q = 0.5 * (q + problem.shares)
        assert q @ found.h >= found.lower
    assert found.weights @ found.h <= found.upper


def test_no_reweighting_has_a_smaller_discrepancy(solved):
    problem, found = solved
    assert problem.bracket(found.weights, 1e-3)[1] <= found.upper * (1.0 + 1e-3)
    rng = np.random.default_rng(1)
    for _ in range(5):
        near = found.weights * rng.uniform(0.8, 1.2, len(found.weights))
        near = np.minimum(near / near.sum(), problem.most)
        assert problem.bracket(near / near.sum(), 1e-3)[1] >= found.lower
    assert problem.bracket(problem.shares, 1e-3)[0] > found.upper


def test_least_mean_fills_the_smallest_values_first():
    h = np.array([3.0, -1.0, 2.0])
    assert least_mean(h, np.ones(3)) == -1.0
    assert least_mean(h, np.full(3, 0.5)) == pytest.approx(0.5 * -1.0 + 0.5 * 2.0)
    assert least_mean(h, np.array([1.0, 0.25, 0.25])) == pytest.approx(0.25 * -1.0 + 0.25 * 2.0 + 0.5 * 3.0)


def test_highs_solves_the_program_if_the_bracket_is_too_wide(solved, monkeypatch):
    problem, found = solved
    monkeypatch.setattr(WeightsProgram, "_by_interior_point", lambda self, settings: replace(found, lower=0.0))
    other = problem.solve(TIGHT)
    assert other.solver == "interior point + highs"
    assert other.gap < 1e-3
    assert other.lower == pytest.approx(found.lower, rel=2e-3)
