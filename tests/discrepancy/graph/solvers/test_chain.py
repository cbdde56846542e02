"""Solver `chain`: reference values, agreement with HiGHS, difficult spacings, and interrupts."""

import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from support.lines import line, normal, spaced

import steinkit as sk
from steinkit.discrepancy.graph.programs.matrix_form import certify
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.discrepancy.graph.solvers import Settings, chain, highs
from steinkit.discrepancy.graph.spanner.geometry import complete_graph


def proved(program, tolerance=1e-6):
    (answer,) = chain.solve(program, Settings(tolerance=tolerance))
    return answer, certify(answer.program, answer.y, answer.p)


def test_reference_value():
    """Three other solvers agree on the value."""
    answer, proof = proved(normal(1000), 1e-9)
    assert proof.gap <= 1e-9
    assert proof.lower <= 0.0754980932 + 5e-11
    assert proof.upper >= 0.0754980932 - 5e-11
    assert answer.solvers == ("chain",)
    assert answer.notes == ()
    assert 5 < answer.iterations < 30


@hypothesis_settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_agreement_with_highs_on_the_matrix_form(seed):
    """The values agree, and the function satisfies all rows of the matrix form."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 14))
    points = rng.uniform(0.0, 1.0, n) * rng.choice([0.1, 1.0, 3.0, 10.0])
    below, above = points.min() - rng.choice([0.0, 1e-3, 0.1, 1.0, 20.0]), points.max() + rng.choice([1e-3, 0.1, 5.0])
    bounds = [None, (below, np.inf), (-np.inf, above), (below, above)][rng.integers(4)]
    scores = rng.standard_normal(n) * rng.choice([0.1, 1.0, 10.0])
    c = tuple(rng.choice([0.25, 0.5, 1.0, 2.0, 4.0], 3))
    program = line(points, scores, bounds, c, rng.dirichlet(np.ones(n)))
    answer, proof = proved(program, 1e-8)
    (other,) = highs.solve(program, Settings(tolerance=1e-8))
    reference = certify(other.program, other.y, other.p)
    assert proof.gap <= 1e-8
    assert proof.lower <= reference.upper * (1 + 1e-12) + 1e-15
    assert reference.lower <= proof.upper * (1 + 1e-12) + 1e-15
    g, gradient = answer.program.stein_function(proof.feasible)
    y = np.concatenate([g, gradient[:, 0]])
    matrix = program.coordinate(0)
    assert (np.abs(y) <= matrix.box * (1 + 1e-12) + 1e-15).all()
    assert (np.abs(matrix.matrix @ y) <= matrix.radius + 1e-14 * max(c) * max(1.0, np.abs(points).max())).all()
    assert matrix.objective @ y == pytest.approx(proof.lower, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("name", spaced(2, np.random.default_rng(0)))
def test_brackets_close_for_many_targets(name):
    answer, proof = proved(spaced(3000, np.random.default_rng(2))[name])
    assert proof.gap <= 1e-6
    assert answer.iterations <= 45


@pytest.mark.parametrize("distance", [1e-3, 1e-6, 1e-9, 1e-12, 1e-15])
def test_brackets_close_for_clusters(distance):
    centres = np.random.default_rng(1).standard_normal(100)
    points = np.unique(np.concatenate([centres - distance, centres, centres + distance]))
    _, proof = proved(line(points, -points))
    assert proof.gap <= 1e-6
    merged = proved(line(centres, -centres))[1]
    assert proof.lower == pytest.approx(merged.lower, rel=max(1e-5, 30.0 * distance))


@pytest.mark.parametrize("distance", [1e-3, 1e-9, 1e-12, 1e-15, 1e-100, 5e-324, 0.0])
@pytest.mark.parametrize("side", ["left", "right", "both"])
def test_brackets_close_for_points_near_or_on_a_bound(distance, side):
    points = np.sort(np.random.default_rng(2).uniform(0.1, 0.9, 100))
    if side != "right":
        points[0] = distance
    if side != "left":
        points[-1] = 1.0 - distance  # equals 1 for the smallest distances
    _, proof = proved(line(points, np.sin(9.0 * points), (0.0, 1.0)))
    assert proof.gap <= 1e-6


@pytest.mark.parametrize("shape", [0.5, 0.2, 0.1, 0.02])
def test_brackets_close_for_draws_concentrated_at_a_bound(shape):
    """Distances from the bound span a hundred orders of magnitude."""
    points = np.random.default_rng(1).gamma(shape, size=1000)
    points = np.unique(points[points > 1e-120])
    _, proof = proved(line(points, (shape - 1.0) / points - 1.0, (0.0, np.inf)))
    assert proof.gap <= 1e-6


@pytest.mark.parametrize(
    ("points", "bounds"),
    [
        ([0.3], None),
        ([0.3], (0.0, 1.0)),
        ([0.3], (0.3, np.inf)),
        ([0.3, 0.1], None),
        ([0.5, 0.5 + 1e-9], (0.0, 1.0)),
        ([0.0, 1e10, 1e300], None),
        ([0.0, 1e10, 1e300], (-5.0, 1e300)),
        (np.arange(4) * 5e-324, None),
        (np.arange(4) * 1e-200, (0.0, 1.0)),
        (np.arange(300) * 1e3, None),
    ],
)
def test_brackets_close_for_few_and_distant_points(points, bounds):
    _, proof = proved(line(points, 1.0 + np.arange(len(points)), bounds))
    assert proof.gap <= 1e-6


def test_one_point_in_closed_form():
    """At distance t = 0.3 from a bound: gamma = t chord, Gamma = chord - (t/2) w, so the best is chord = w' = 1."""
    _, proof = proved(line([0.3], [2.0], (0.0, np.inf)), 1e-9)
    assert proof.lower == pytest.approx(2.0 * 0.3 + 1.0, rel=1e-9)
    _, proof = proved(line([0.3], [2.0]), 1e-9)
    assert proof.upper == pytest.approx(3.0, rel=1e-9)


def test_result_does_not_depend_on_the_order_of_points():
    program = normal(200)
    turned = line(program.points[::-1, 0], program.scores[::-1, 0])
    first, second = proved(program)[1], proved(turned)[1]
    assert (first.lower, first.upper) == (second.lower, second.upper)
    np.testing.assert_array_equal(first.feasible, second.feasible)


def test_repeated_runs_agree_bit_for_bit_in_threads():
    program = normal(500)
    expected, _ = proved(program)
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(proved(program)[0])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for answer in answers:
        np.testing.assert_array_equal(answer.y, expected.y)
        np.testing.assert_array_equal(answer.p, expected.p)


def test_deadline_and_interrupt_give_a_valid_bracket():
    program = normal(2000)
    for settings in (Settings(tolerance=1e-6, deadline=time.monotonic() - 1.0), Settings(tolerance=1e-6)):
        settings.interrupted.set()
        (answer,) = chain.solve(program, settings)
        proof = certify(answer.program, answer.y, answer.p)
        assert answer.iterations == 0
        assert 0.0 <= proof.lower <= proof.upper <= answer.program.trivial


def test_open_brackets_are_noted(monkeypatch):
    monkeypatch.setattr("steinkit.discrepancy.graph.solvers.interior_point._MOST_ITERATIONS", 3)
    answer, proof = proved(normal(2000))
    assert proof.gap > 1e-3
    assert "stopped at a relative bracket width of" in answer.notes[0]


def test_more_than_one_dimension_raises():
    points = np.random.default_rng(0).standard_normal((5, 2))
    with pytest.raises(sk.UsageError, match="one dimension"):
        chain.solve(SteinProgram(points, -points, np.full(5, 0.2), complete_graph(points)), Settings(tolerance=1e-6))
