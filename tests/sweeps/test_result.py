"""Text and tables of a sweep's result."""

from __future__ import annotations

from dataclasses import replace

import pytest

from steinkit.result import answers
from steinkit.sweeps.cells import Cell, Measured
from steinkit.sweeps.choice import choose
from steinkit.sweeps.plan import Configuration
from steinkit.sweeps.result import SweepResult
from steinkit.sweeps.text import choice_table

_SETTINGS = tuple({"step_size": step} for step in (0.1, 0.01, 0.001))
_RUN = Configuration("normal", {"dim": 2}, "f", "rwmh", {"draws": 9}, None, ("graph",), {"units": None}, "", "1.0")


def _cells(seeds=8, **values):
    """Return cells with the given values by measure, slightly different between seeds; None is a failed cell."""
    cells = []
    for k, setting in enumerate(_SETTINGS[: len(next(iter(values.values())))]):
        for seed in range(seeds):
            jitter, found = 1.0 + 0.001 * (seed - seeds // 2), {}
            for measure, rows in values.items():
                value = rows[k][seed % len(rows[k])] if isinstance(rows[k], list) else rows[k]
                if value is not None:
                    found[measure] = Measured(measure, *[value * jitter] * 3)
            cells.append(Cell(setting, seed, None if found else "diverged", 1000, measures=found))
    return cells


def _result(seeds=8, racing=None, refused=None, **values):
    cells = _cells(seeds, **values) if values else []
    settings = _SETTINGS[: len(next(iter(values.values())))] if values else _SETTINGS
    known = [name for name in values if any(name in cell.measures for cell in cells)]
    criteria = {name: choose(cells, name, settings) for name in known}
    return SweepResult(
        records=tuple(cells),
        settings=settings,
        seeds=tuple(range(seeds)),
        configuration=_RUN,
        criteria=criteria,
        refused=refused or {},
        racing=racing,
        reused=0,
        warnings=(),
    )


def _answers(result):
    return dict(answers(result.statements()))


def test_a_best_setting_without_ties_is_reported():
    found = _result(graph=[4.0, 1.0, 2.0], ess=[90.0, 30.0, 3.0])
    assert (found.leading, found.blind) == ("graph", "ess")
    choice = found.criteria["graph"]
    assert [row.standing for row in choice.rows] == ["worse", "best", "worse"]
    assert choice.row is choice.rows[1]
    assert (choice.best, choice.at_end) == ({"step_size": 0.01}, None)
    assert found.headline().startswith("Step size 0.01 is the best of 3 settings")
    text = _answers(found)
    assert "step size 0.1" in text["Which setting would effective sample size choose?"]
    assert found.tables()[0] == choice_table(choice)
    assert found.tables()[0].marked == 1
    assert found.tables()[0].rows[1][2] == "0.9995"


def test_ties_are_reported():
    found = _result(graph=[4.0, [1.0, 1.2], [1.2, 1.0]])
    (tie,) = found.criteria["graph"].ties
    assert f"step size {tie['step_size']:g}" in found.headline()


@pytest.mark.parametrize(("values", "end"), [([4.0, 2.0, 1.0], "smallest"), ([1.0, 2.0, 4.0], "largest")])
def test_a_best_setting_at_the_end_of_the_grid_is_reported(values, end):
    found = _result(graph=values)
    assert found.criteria["graph"].at_end == ("step_size", end)
    assert end in _answers(found)["Which setting is best?"]


def test_failed_cells_are_counted_and_worst_in_the_table():
    found = _result(graph=[None, [1.0, 1.0, 1.0, None], 2.0])
    assert (found.failed, found.cells) == (10, 24)
    assert [(each.settings["step_size"], len(each.seeds)) for each in found.failures] == [(0.1, 8), (0.01, 2)]
    rows = found.tables()[0].rows
    assert rows[0][2:4] == ("worst", "worst to worst")
    assert found.tables()[-1].rows[0] == ("step size 0.1", "0 to 7", "diverged")
    assert _answers(found)["Did any cells fail?"].startswith("10 of 24 cells failed")


def test_settings_that_racing_dropped_are_reported():
    found = _result(graph=[4.0, 1.0, 2.0], racing={"step_size 0.1": "too far"})
    text = _answers(replace(found, records=found.records[:10]))["Were all cells run?"]
    assert "10 of the 24 cells" in text
    assert "step_size 0.1" in text


@pytest.mark.parametrize(("measure", "claim"), [("graph", "proved"), ("wasserstein", "found")])
def test_brackets_are_labeled_by_their_claim(measure, claim):
    cells = [
        Cell(each, seed, measures={measure: Measured(measure, 1.0 + k, 0.9, 3.0)})
        for k, each in enumerate(_SETTINGS)
        for seed in range(3)
    ]
    assert f"{claim} between" in choice_table(choose(cells, measure, _SETTINGS)).columns


def test_a_single_setting_with_one_seed_has_no_interval():
    found = _result(graph=[4.0], seeds=1)
    assert found.criteria["graph"].interval is None
    assert "How certain is the choice?" not in _answers(found)
    assert found.headline().startswith("Step size 0.1, the only setting")


def test_without_values_there_is_no_choice():
    found = _result(graph=[None, None, None])
    assert (found.leading, found.criteria) == (None, {})
    assert "24 of 24 cells failed" in found.headline()
    assert [table.caption for table in found.tables()] == ["Failures"]


def test_a_measure_that_cannot_order_settings_is_reported():
    found = _result(ess=[1.0, 2.0, 3.0], refused={"graph": "it is saturated"})
    assert found.headline().startswith("No setting is chosen: graph Stein discrepancy")


def test_facts_describe_the_run():
    facts = dict(_result(graph=[4.0, 1.0, 2.0]).facts())
    assert (facts["target"], facts["target options"], facts["options"]) == ("normal", "dim 2", "draws 9")
    assert facts["seeds"] == "0 to 7"
    assert _result(graph=[1.0]).subject == "rwmh on target normal (dim=2)"
