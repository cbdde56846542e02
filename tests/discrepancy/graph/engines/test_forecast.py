"""What is foretold of a solve: rows as they are, more for more, and a warning where memory may not suffice."""

import math
import warnings

import numpy as np
import pytest

import steinkit as sk
from steinkit.discrepancy.graph.engines import Settings, engine_named, registry
from steinkit.discrepancy.graph.engines.block import newton_system
from steinkit.discrepancy.graph.engines.registry import ENGINES, Case, Forecast
from steinkit.discrepancy.graph.programs.stein_program import SteinFactors, SteinProgram
from steinkit.discrepancy.graph.spanner.geometry import complete_graph


def program(n, dim, *, complete=False, bounds=None, factors=(1.0, 1.0, 1.0)):
    points = np.random.default_rng(3).uniform(0.1, 3.0, (n, dim))
    graph = complete_graph(points) if complete else sk.greedy_spanner(points)
    return SteinProgram(points, -points, np.full(n, 1.0 / n), graph, SteinFactors(*factors), bounds)


def foretold(name, n, dim, tolerance=1e-4, n_jobs=1):
    return engine_named(name).forecast(Case(program(n, dim), Settings(tolerance, n_jobs=n_jobs)))


HALF_BOUNDED = np.array([[0.0, 3.5], [-np.inf, 3.2], [-np.inf, np.inf]])


@pytest.mark.parametrize(
    "written",
    [
        program(1, 2),
        program(40, 1),
        program(70, 2),
        program(50, 3, complete=True),
        program(60, 3, bounds=HALF_BOUNDED),
        program(60, 3, factors=(0.2, 1.0, 5.0), bounds=HALF_BOUNDED),
    ],
)
def test_rows_and_entries_are_counted_as_they_are_written(written):
    programs = [written.coordinate(j) for j in range(written.dim)]
    largest = max(programs, key=lambda each: len(each.radius))
    assert written.size == (len(largest.radius), largest.matrix.nnz)


def test_rows_of_a_complete_graph_within_all_reaches():
    """Three points closer than all reaches: for each of 3 pairs one row of values, 2 of gradients, 2 of Taylor."""
    points = np.array([[0.0, 0.0], [0.5, 0.0], [0.0, 0.5]])
    written = SteinProgram(points, -points, np.full(3, 1 / 3), complete_graph(points))
    assert registry.of_writing(written).rows == 3 * (1 + 2 + 2)


@pytest.mark.parametrize("name", [name for name in ENGINES if name != "chain"])
def test_more_points_cost_more(name):
    few, many = foretold(name, 60, 3), foretold(name, 240, 3)
    assert few.rows < many.rows
    assert 0.0 < few.memory < many.memory
    assert 0.0 < few.seconds < many.seconds


def test_a_chain_is_linear():
    few, many = foretold("chain", 1000, 1), foretold("chain", 3000, 1)
    assert (many.rows, many.memory, many.seconds) == pytest.approx((3 * few.rows, 3 * few.memory, 3 * few.seconds))


@pytest.mark.parametrize(("name", "dim"), [("block", 3), ("highs", 3), ("first_order", 9)])
def test_coordinates_side_by_side_take_memory_each(name, dim):
    """Of `first_order` eight coordinates together."""
    alone, together = foretold(name, 60, dim), foretold(name, 60, dim, n_jobs=2)
    assert together.memory == pytest.approx(2.0 * alone.memory)
    assert together.seconds == alone.seconds


def test_tight_brackets_take_longer_by_first_order():
    assert foretold("first_order", 60, 4, 1e-5).seconds > 3.0 * foretold("first_order", 60, 4, 1e-3).seconds


@pytest.mark.parametrize(("dim", "engine"), [(1, "chain"), (2, "block"), (5, "first_order")])
def test_auto_foretells_what_its_engine_does(dim, engine):
    assert foretold("auto", 60, dim) == foretold(engine, 60, dim)


@pytest.mark.parametrize("dim", [2, 3])
def test_a_program_is_analysed_once(dim, monkeypatch):
    analysed, prepare = [], newton_system.prepare
    monkeypatch.setattr(newton_system, "prepare", lambda program: analysed.append(program) or prepare(program))
    points = np.random.default_rng(3).standard_normal((50, dim))
    assert sk.graph_stein_discrepancy(points, scores=-points).engine == "block"
    assert len(analysed) == 1


def test_words():
    assert str(Forecast(120_000, 1.2e9, 40.0)) == "about 40 s and 1.2 GB: 120,000 rows a program"
    assert str(Forecast(7, 3e3, 0.0)) == "about 0.1 s and 3 kB: 7 rows a program"
    assert str(Forecast(7, 1e6, 9000.0)) == "about 2.5 h and 1 MB: 7 rows a program"


def test_too_little_memory_is_told_before_anything_is_solved(monkeypatch):
    points = np.random.default_rng(0).standard_normal((50, 2))
    monkeypatch.setattr(ENGINES["block"], "work_on", lambda *_: pytest.fail("solved"))
    warnings.simplefilter("error", sk.ForecastWarning)  # pytest puts the filters back
    with pytest.raises(sk.ForecastWarning, match=r"more than the 100 kB of memory there are: about .* rows a program"):
        sk.graph_stein_discrepancy(points, scores=-points, engine="block", max_memory=1e5)


@pytest.mark.parametrize("most", ["2 GB", 2e9, None])
def test_what_fits_is_not_warned_of(most):
    points = np.random.default_rng(0).standard_normal((50, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", sk.ForecastWarning)
        sk.graph_stein_discrepancy(points, scores=-points, max_memory=most)


def test_a_warning_comes_once_and_at_the_line_of_the_user():
    points = np.random.default_rng(0).standard_normal((50, 2))
    with pytest.warns(sk.ForecastWarning) as said:
        answer = sk.graph_stein_discrepancy(points, scores=-points, max_memory="1 kB")
    assert [each.filename for each in said if each.category is sk.ForecastWarning] == [__file__]
    assert answer.gap <= 1e-6


@pytest.mark.parametrize("most", [0.0, "much"])
def test_what_is_no_memory_is_refused(most):
    with pytest.raises(sk.UsageError, match="max_memory"):
        sk.graph_stein_discrepancy([[0.0], [1.0]], scores=[[0.0], [-1.0]], max_memory=most)


@pytest.mark.parametrize(("seconds", "shown", "said"), [(40.0, True, True), (40.0, False, False), (3.0, True, False)])
def test_long_work_is_announced_to_who_watches(capsys, seconds, shown, said):
    assert not registry.announced(Forecast(120_000, 1.2e9, seconds), math.inf, shown=shown)
    expected = f"solving: about {seconds:.0f} s and 1.2 GB: 120,000 rows a program\n" if said else ""
    assert capsys.readouterr().err == expected
