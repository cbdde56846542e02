"""Solver `block`: degenerate programs, and wrong steps."""

import threading
import time

import numpy as np
import pytest
from support.stein_programs import program_of, proofs

import steinkit as sk
from steinkit.discrepancy.graph.programs.matrix_form import certify
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.discrepancy.graph.solvers import Settings
from steinkit.discrepancy.graph.solvers.block import newton_system as block
from steinkit.discrepancy.graph.spanner.geometry import Graph

TOLERANCE = 1e-6


def test_one_point_has_the_value_of_its_boxes():
    program = program_of(np.array([[0.3, 0.2]]), np.array([[-0.3, 0.5]]))
    for proof, value in zip(proofs(block.solve(program, Settings(TOLERANCE))), (1.3, 1.5), strict=True):
        assert proof.lower <= value <= proof.upper
        assert proof.gap <= TOLERANCE


def test_points_without_edges_are_independent():
    points = np.random.default_rng(0).standard_normal((6, 2))
    graph = Graph(6, np.empty((0, 2), dtype=np.int64), np.empty(0))
    program = program_of(points, -points, graph=graph)
    for j, proof in enumerate(proofs(block.solve(program, Settings(TOLERANCE)))):
        assert proof.lower <= 1.0 + np.abs(points[:, j]).mean() <= proof.upper
        assert proof.gap <= TOLERANCE


def test_zero_objective():
    points = np.random.default_rng(0).standard_normal((6, 2))
    program = SteinProgram(points, np.zeros((6, 2)), np.zeros(6), sk.greedy_spanner(points))
    for proof in proofs(block.solve(program, Settings(TOLERANCE))):
        assert proof.lower == proof.upper == 0.0


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_objectives_of_any_size(scale):
    points = np.random.default_rng(0).standard_normal((30, 2))
    weights = np.full(30, 1 / 30)
    graph = sk.greedy_spanner(points)
    large = SteinProgram(points, scale * points, weights, graph)
    for proof in proofs(block.solve(large, Settings(TOLERANCE))):
        assert proof.gap <= TOLERANCE


def test_function_vanishes_at_draws_on_a_bound():
    points = np.random.default_rng(0).random((60, 2))
    points[:5, 0], points[5:8, 1], points[8:10, 0] = 0.0, 1.0, 1.0
    program = program_of(points, np.zeros((60, 2)), bounds=np.array([[0.0, 1.0], [0.0, 1.0]]))
    for j, answer in enumerate(block.solve(program, Settings(TOLERANCE))):
        proof = certify(answer.program, answer.y, answer.p)
        assert proof.gap <= TOLERANCE
        value, _ = answer.program.stein_function(proof.feasible)
        on_bound = (points[:, j] == 0.0) | (points[:, j] == 1.0)
        assert not value[on_bound].any()
        assert value[~on_bound].any()


def test_results_do_not_depend_on_threads():
    points = np.random.default_rng(1).standard_normal((200, 3))
    points[::7] = points[1::7][: len(points[::7])] + 1e-7
    program = program_of(points, -points, bounds=np.array([[-6.0, np.inf]] + [[-np.inf, np.inf]] * 2))
    alone = block.solve(program, Settings(TOLERANCE))
    together = block.solve(program, Settings(TOLERANCE, n_jobs=3), range(3))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one.y, other.y)
        np.testing.assert_array_equal(one.p, other.p)


def test_time_limit_and_interrupt_give_valid_brackets():
    points = np.random.default_rng(0).standard_normal((1000, 2))
    program = program_of(points, -points)
    truth = proofs(block.solve(program, Settings(TOLERANCE)))
    late = Settings(TOLERANCE, deadline=time.monotonic())
    interrupted = Settings(TOLERANCE)
    threading.Timer(0.02, interrupted.interrupted.set).start()
    for stopped in (late, interrupted):
        for proof, right in zip(proofs(block.solve(program, stopped)), truth, strict=True):
            assert proof.lower <= right.upper
            assert proof.upper >= right.lower
            assert proof.gap > TOLERANCE


STRAYING = {
    "noise": lambda change: np.random.default_rng(3).standard_normal(change.shape),
    "turned": lambda change: -change,
    "too long": lambda change: 1e3 * change,
    "not a number": lambda change: np.full(change.shape, np.nan),
}


@pytest.mark.parametrize("astray", STRAYING)
def test_wrong_steps_give_wide_valid_brackets(monkeypatch, astray):
    points = np.random.default_rng(2).standard_normal((60, 2))
    program = program_of(points, -points)
    truth = proofs(block.solve(program, Settings(TOLERANCE)))
    step = block.BlockSystem.step

    def wrong(system, force, change):
        step(system, force, change)
        change[:] = STRAYING[astray](change)

    monkeypatch.setattr(block.BlockSystem, "step", wrong)
    for proof, right in zip(proofs(block.solve(program, Settings(TOLERANCE))), truth, strict=True):
        assert proof.gap > 1e-3
        assert proof.lower <= right.upper
        assert proof.upper >= right.lower
