"""Every engine: reference values, agreement, and what happens when a solver stops early or lies."""

import threading
import time
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from instances import REFERENCE, instance

import steinkit as sk
from steinkit.discrepancy.certificate import certify
from steinkit.discrepancy.engines import ENGINES, Settings, engine_named, highs, modelling
from steinkit.discrepancy.geometry import complete_graph
from steinkit.discrepancy.program import SteinFactors, SteinProgram


@pytest.fixture(scope="module")
def scored():
    """Result of an instance by an engine, computed once."""
    known = {}

    def score(name, engine):
        if (name, engine) not in known:
            points, scores = instance(name)
            known[name, engine] = sk.graph_stein_discrepancy(
                points, scores=scores, engine=engine, tolerance=1e-6, n_jobs=2
            )
        return known[name, engine]

    return score


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", REFERENCE)
def test_reference_values(scored, name, engine):
    edges, values = REFERENCE[name]
    result = scored(name, engine)
    assert len(result.graph.edges) == edges
    np.testing.assert_allclose(result.coordinate_values, values, rtol=1e-6)
    # the reference is rounded to ten decimals: the bracket holds a number within that rounding
    assert (result.coordinate_lower <= np.array(values) + 1e-10).all()
    assert (result.coordinate_upper >= np.array(values) - 1e-10).all()
    assert result.gap <= 1e-6


def random_program(seed):
    rng = np.random.default_rng(seed)
    n, dim = rng.integers(2, 25), rng.integers(1, 4)
    points = rng.uniform(-1.0, 2.0, (n, dim)) * rng.choice([0.2, 1.0, 3.0])
    bounds = None
    if rng.random() < 0.5:
        bounds = np.column_stack([points.min(axis=0) - rng.random(dim), np.full(dim, np.inf)])
    factors = SteinFactors.of(tuple(rng.choice([0.5, 1.0, 2.0], 3)))
    scores = rng.standard_normal((n, dim)) * rng.choice([0.1, 1.0, 10.0])
    return SteinProgram(points, scores, rng.dirichlet(np.ones(n)), complete_graph(points), factors, bounds)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_engines_agree(seed):
    program = random_program(seed)
    brackets = []
    for name in (*ENGINES, "cvxpy:CLARABEL"):  # the last shares no code with HiGHS
        answers = engine_named(name)[1](program, Settings(tolerance=1e-6))
        brackets.append([certify(answer.program, answer.y, answer.p) for answer in answers])
    for proofs in zip(*brackets, strict=True):
        assert max(proof.lower for proof in proofs) <= min(proof.upper for proof in proofs)
        if program.dim > 1:
            assert max(proof.gap for proof in proofs) < 1e-3


def test_any_lp_solver_of_cvxpy_by_name():
    assert {"HIGHS", "CLARABEL", "SCIPY"} <= set(modelling.linear_solvers())
    points = np.random.default_rng(0).standard_normal((20, 2))
    reference = sk.graph_stein_discrepancy(points, scores=-points)
    for solver in ("clarabel", "SCIPY"):
        result = sk.graph_stein_discrepancy(points, scores=-points, engine=f"cvxpy:{solver}", tolerance=1e-4)
        assert result.engine == f"cvxpy:{solver.upper()}"
        assert result.value == pytest.approx(reference.value, rel=1e-4)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("higs", 'did you mean "highs"'),
        ("simplex", "choose auto, highs, cvxpy"),
        ("highs:ipx", "unknown engine"),
        ("cvxpy:nonsense", "no LP solver 'nonsense' installed here; it has .*HIGHS"),
        ("", "unknown engine"),
    ],
)
def test_unknown_engines_and_solvers(name, message):
    with pytest.raises(sk.UsageError, match=message):
        engine_named(name)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_answers_do_not_depend_on_the_number_of_jobs(n_jobs):
    points = np.random.default_rng(1).standard_normal((60, 3))
    alone = sk.graph_stein_discrepancy(points, scores=-points)
    together = sk.graph_stein_discrepancy(points, scores=-points, n_jobs=n_jobs)
    for name in ("coordinate_lower", "coordinate_upper", "g", "grad_g"):
        np.testing.assert_array_equal(getattr(alone, name), getattr(together, name))


def test_highs_falls_back_and_says_so(monkeypatch):
    """An interior point method that returns noise hands over; the answer is certified all the same."""
    rng = np.random.default_rng(0)

    def noise(program, settings, tolerance):
        m, n = program.matrix.shape
        return rng.standard_normal(n), rng.standard_normal(m)

    points = np.random.default_rng(2).standard_normal((30, 2))
    right = sk.graph_stein_discrepancy(points, scores=-points)
    monkeypatch.setattr(highs, "_interior_point", noise)
    result = sk.graph_stein_discrepancy(points, scores=-points)
    assert result.gap <= 1e-6
    assert result.value == pytest.approx(right.value, rel=1e-6)
    assert any("x1: HiGHS needed a fallback" in note for note in result.warnings)


LIES = {
    "noise": lambda values: np.random.default_rng(4).standard_normal(values.shape),
    "scaled": lambda values: 3.0 * values,
    "turned": lambda values: -values,
    "shuffled": lambda values: np.roll(values, 7),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lying_solver_is_never_believed(monkeypatch, lie):
    points = np.random.default_rng(2).standard_normal((30, 2))
    honest = sk.graph_stein_discrepancy(points, scores=-points)
    run = highs._run
    monkeypatch.setattr(highs, "_run", lambda *arguments: tuple(map(LIES[lie], run(*arguments))))
    with pytest.raises(sk.SolverError) as caught:
        sk.graph_stein_discrepancy(points, scores=-points)
    assert caught.value.lower <= honest.upper
    assert caught.value.upper >= honest.lower


def test_a_stale_answer_is_not_believed(monkeypatch):
    """A solver that returns the other coordinate's answer: right status, right shape, wrong program."""
    points = np.random.default_rng(2).standard_normal((30, 2))
    program = SteinProgram(points, -points, np.full(30, 1 / 30), sk.greedy_spanner(points))
    other, asked = program.coordinates()
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


def test_time_limit_ends_in_an_honest_bracket():
    points = np.random.default_rng(0).standard_normal((400, 2))
    started = time.monotonic()
    with pytest.raises(sk.SolverError, match="time ran out") as caught:
        sk.graph_stein_discrepancy(points, scores=-points, max_seconds=1e-3)
    assert time.monotonic() - started < 30.0
    assert 0.0 <= caught.value.lower < caught.value.upper


def test_time_limits_reach_other_solvers_or_are_refused():
    points = np.random.default_rng(0).standard_normal((150, 3))
    with pytest.raises(sk.SolverError, match="time ran out"):
        sk.graph_stein_discrepancy(points, scores=-points, engine="cvxpy:CLARABEL", max_seconds=0.01)
    with pytest.raises(sk.UsageError, match="not known how to pass to SCIPY"):
        sk.graph_stein_discrepancy(points, scores=-points, engine="cvxpy:SCIPY", max_seconds=10.0)


def test_cvxpy_in_threads_leaves_the_warning_filters_as_they_were():
    points = np.random.default_rng(0).standard_normal((40, 2))
    before = list(warnings.filters)
    sk.graph_stein_discrepancy(points, scores=-points, engine="cvxpy", n_jobs=2)
    assert list(warnings.filters) == before


def test_an_interrupt_stops_the_solver():
    points = np.random.default_rng(0).standard_normal((600, 2))
    program = SteinProgram(points, -points, np.full(600, 1 / 600), sk.greedy_spanner(points))
    settings = Settings(tolerance=1e-6)
    threading.Timer(0.05, settings.interrupted.set).start()
    answers = highs.solve(program, settings)
    stopped = [certify(answer.program, answer.y, answer.p) for answer in answers]
    assert max(certificate.gap for certificate in stopped) > 1e-6


def test_one_thread_pool_of_highs_started_with_another_size():
    """HiGHS keeps one pool a process; a program that started it with two threads must not stop us."""
    highspy = pytest.importorskip("highspy")
    highspy.Highs.resetGlobalScheduler(True)
    other = highspy.Highs()
    other.silent()
    other.setOptionValue("threads", 2)
    x = other.addVariable(lb=0.0, ub=1.0)
    other.maximize(x)
    points = np.random.default_rng(0).standard_normal((20, 2))
    try:
        assert sk.graph_stein_discrepancy(points, scores=-points).gap <= 1e-6
    finally:
        highspy.Highs.resetGlobalScheduler(True)
