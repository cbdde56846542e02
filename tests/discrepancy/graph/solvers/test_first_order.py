"""Solver `first_order`: reference values, agreement with HiGHS, and wrong iterates."""

import threading
import time

import numpy as np
import pytest
from support.instances import REFERENCE, instance
from support.stein_programs import program_of, proofs, random_program

import steinkit as sk
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.discrepancy.graph.solvers import Settings, first_order, highs
from steinkit.discrepancy.graph.spanner.geometry import Graph, complete_graph


@pytest.mark.parametrize("tolerance", [1e-2, 1e-3, 1e-4])
def test_reference_values(tolerance):
    points, scores = instance("narrow normal 200x7")
    edges, values = REFERENCE["narrow normal 200x7"]
    program = program_of(points, scores)
    assert len(program.graph.edges) == edges
    answers = first_order.solve(program, Settings(tolerance))
    for proof, value, answer in zip(proofs(answers), values, answers, strict=True):
        assert proof.lower <= value + 1e-10
        assert proof.upper >= value - 1e-10
        assert proof.gap <= tolerance
        assert answer.solvers == ("first_order",)
        assert answer.notes == ()
        assert answer.iterations >= 100


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("dim", [2, 5, 9])
def test_brackets_agree_with_highs(seed, dim):
    program = random_program(seed, dim)
    mine = proofs(first_order.solve(program, Settings(1e-3)))
    theirs = proofs(highs.solve(program, Settings(1e-6)))
    assert max(proof.gap for proof in theirs) < 1e-5
    for proof, right in zip(mine, theirs, strict=True):
        assert proof.lower <= right.upper
        assert proof.upper >= right.lower
        assert proof.gap <= 1e-3


def test_programs_without_rows():
    for points in (np.array([[0.3, -2.0, 1.0]]), np.array([[0.0, 0.0], [50.0, 50.0]])):
        scores = np.full(points.shape, -1.5)
        answers = first_order.solve(program_of(points, scores, graph=complete_graph(points)), Settings(1e-3))
        for proof in proofs(answers):
            assert proof.lower == pytest.approx(2.5, rel=1e-14)  # |score| c1 + c2
            assert proof.gap < 1e-12


def test_rows_of_one_coordinate_only():
    points = np.array([[0.5, 0.3]])
    program = program_of(
        points,
        np.array([[2.0, -1.0]]),
        graph=Graph(1, np.empty((0, 2), int), np.empty(0)),
        bounds=np.array([[0.0, np.inf], [-np.inf, np.inf]]),
    )
    first, second = proofs(first_order.solve(program, Settings(1e-4)))
    # maximize 2 gamma + Gamma, |gamma| <= .5, |Gamma| <= 1, |gamma - .5 Gamma| <= .125
    assert first.lower <= 2.0 <= first.upper
    assert first.gap <= 1e-4
    assert second.lower <= 2.0 <= second.upper
    assert second.gap <= 1e-4


def test_coordinate_with_zero_objective():
    """The objective b of the coordinate is zero."""
    points = np.random.default_rng(3).standard_normal((12, 4))
    program = program_of(points, -points)
    zero = np.zeros((2, 12 * 5))

    class Without(SteinProgram):
        def objective(self, j):
            return zero if j == 2 else super().objective(j)

    program = Without(points, -points, program.weights, program.graph)
    found = proofs(first_order.solve(program, Settings(1e-3)))
    assert (found[2].lower, found[2].upper) == (0.0, 0.0)
    assert all(0.0 < found[j].lower <= found[j].upper for j in (0, 1, 3))
    assert max(proof.gap for proof in found) <= 1e-3


@pytest.mark.parametrize("size", [1e-12, 1e12])
def test_brackets_close_for_objectives_of_any_scale(size):
    points = 0.4 * np.random.default_rng(5).standard_normal((60, 4))
    program = program_of(points, -points, np.full(60, 1.0 / 60))
    scaled = SteinProgram(points, -points, program.weights * size, program.graph)
    unscaled = proofs(first_order.solve(program, Settings(1e-3)))
    for one, other in zip(unscaled, proofs(first_order.solve(scaled, Settings(1e-3))), strict=True):
        assert other.gap <= 1e-3
        assert one.lower <= other.upper / size * (1 + 1e-12)
        assert other.lower / size <= one.upper * (1 + 1e-12)


def test_stalling_is_noted():
    """Edges of length 1e-5 make the program ill-conditioned; the bracket is wide and valid."""
    points = np.random.default_rng(0).standard_normal((40, 4))
    points[1::2] = points[::2] + 1e-5 * np.random.default_rng(1).standard_normal((20, 4))
    program = program_of(points, -points)
    answers = first_order.solve(program, Settings(1e-6))
    assert all(answer.iterations <= 20_000 for answer in answers)
    assert any("stopped at a relative bracket width of" in note for answer in answers for note in answer.notes)
    for proof, right in zip(proofs(answers), proofs(highs.solve(program, Settings(1e-6))), strict=True):
        assert proof.lower <= right.upper
        assert proof.upper >= right.lower


def test_time_limit_and_interrupt_give_valid_brackets():
    points = 0.3 * np.random.default_rng(0).standard_normal((300, 7))
    program = program_of(points, -points / 0.09)
    values = [(2.632, 2.636)]  # of the first coordinate, by HiGHS
    started = time.monotonic()
    answers = first_order.solve(program, Settings(1e-6, deadline=started + 0.05))
    assert time.monotonic() - started < 20.0
    proof = proofs(answers)[0]
    assert proof.gap > 1e-6  # the tolerance: the time limit ended the iterations
    assert proof.lower < values[0][1]
    assert proof.upper > values[0][0]

    settings = Settings(1e-7)
    threading.Timer(0.1, settings.interrupted.set).start()
    answers = first_order.solve(program, settings)
    assert answers[0].iterations < 20_000
    assert proofs(answers)[0].lower < values[0][1]


LIES = {
    "noise": lambda values: np.random.default_rng(4).standard_normal(values.shape),
    "scaled": lambda values: 3.0 * values,
    "turned": lambda values: -values,
    "the next entry's": lambda values: np.roll(values, 1),
}


@pytest.mark.parametrize("lie", LIES)
def test_wrong_iterates_give_wide_valid_brackets(monkeypatch, lie):
    """The iterates are replaced; the method continues to its limit and adds a note."""
    points = 0.3 * np.random.default_rng(6).standard_normal((50, 5))
    program = program_of(points, -points / 0.09)
    right = proofs(first_order.solve(program, Settings(1e-3)))
    advance = first_order.Iteration.advance

    def lying(run):
        advance(run)
        run.y, run.p = LIES[lie](run.y), LIES[lie](run.p)

    monkeypatch.setattr(first_order.Iteration, "advance", lying)
    monkeypatch.setattr(first_order.Iteration, "restart", lambda _: None)
    answers = first_order.solve(program, Settings(1e-3))
    assert any("stopped at a relative bracket width" in note for answer in answers for note in answer.notes)
    found = proofs(answers)
    assert max(proof.gap for proof in found) > 1e-2
    for proof, truth in zip(found, right, strict=True):
        assert proof.lower <= truth.upper
        assert proof.upper >= truth.lower


def test_brackets_closed_to_the_last_digit():
    """Rounding may make the bounds cross during the iteration."""
    draws = np.repeat([[0.0], [1.0]], 8, axis=1)
    settings = {"scores": np.full((2, 8), 0.01), "stein_factors": (1.0, 0.1, 10.0), "solver": "first_order"}
    with pytest.warns(sk.SteinkitWarning, match="ceiling"):
        result = sk.graph_stein_discrepancy(draws, **settings)
    assert result.lower <= 0.88 <= result.upper  # 8 (c1 .01 + c2)
    assert result.gap < 1e-6
