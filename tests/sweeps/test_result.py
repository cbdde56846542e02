"""What is said of a sweep, for choices of which the right thing to say is known."""

from __future__ import annotations

import math
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
    """Cells whose values by measures are those given, a little different from seed to seed; None is a failed cell."""
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


def _result(seeds=8, race=None, refused=None, **values):
    cells = _cells(seeds, **values) if values else []
    settings = _SETTINGS[: len(next(iter(values.values())))] if values else _SETTINGS
    known = [name for name in values if any(name in cell.measures for cell in cells)]
    criteria = {name: choose(cells, name, settings) for name in known}
    return SweepResult(tuple(cells), settings, tuple(range(seeds)), _RUN, "", criteria, refused or {}, race, 0, ())


def _answers(result):
    return dict(answers(result.statements()))


def test_a_clear_winner():
    found = _result(graph=[4.0, 1.0, 2.0], ess=[90.0, 30.0, 3.0])
    assert (found.leading, found.blind, found.draws) == ("graph", "ess", 1000)
    choice = found.criteria["graph"]
    assert [row.standing for row in choice.rows] == ["worse", "best", "worse"]
    assert choice.row is choice.rows[1]
    assert (choice.best, choice.at_end) == ({"step_size": 0.01}, None)
    assert (
        found.headline() == "Step size 0.01 is the best of 3 settings by graph Stein discrepancy, and none ties with it"
    )
    said = _answers(found)
    assert "0.9995" in said["Which setting?"]
    assert "step size 0.1" in said["What would effective sample size have picked?"]
    assert "1000 draws" in said["What does this not prove?"]
    assert found.tables()[0] == choice_table(choice)
    assert found.tables()[0].marked == 1


def test_ties_are_named():
    found = _result(graph=[4.0, [1.0, 1.2], [1.2, 1.0]])
    (tie,) = found.criteria["graph"].ties  # or the test is of something else
    assert f"step size {tie['step_size']:g} cannot be told from it" in found.headline()


@pytest.mark.parametrize(("values", "end"), [([4.0, 2.0, 1.0], "smallest"), ([1.0, 2.0, 4.0], "largest")])
def test_a_winner_at_the_end_of_the_grid_is_cautioned(values, end):
    found = _result(graph=values)
    assert found.criteria["graph"].at_end == ("step_size", end)
    assert end in _answers(found)["Which setting?"]


def test_a_setting_with_half_of_its_cells_failed_is_the_worst_there_is():
    bad = [None, None, None, 1.0]
    found = _result(graph=[bad, 1.0, 2.0], ess=[bad, 30.0, 3.0])
    assert [found.criteria[name].rows[0].median for name in ("graph", "ess")] == [math.inf, -math.inf]
    assert found.criteria["ess"].best == {"step_size": 0.01}


def test_cells_that_failed_are_counted_and_worst_in_the_table():
    found = _result(graph=[None, [1.0, 1.0, 1.0, None], 2.0])
    assert (found.failed, found.cells) == (10, 24)
    assert [(each.settings["step_size"], len(each.seeds)) for each in found.failures] == [(0.1, 8), (0.01, 2)]
    rows = found.tables()[0].rows
    assert rows[0][2:4] == ("worst", "worst to worst")
    assert found.tables()[-1].rows[0] == ("step size 0.1", "0 to 7", "diverged")
    assert _answers(found)["Did anything fail?"].startswith("10 of 24 cells failed.")


def test_what_a_race_dropped_is_said():
    found = _result(graph=[4.0, 1.0, 2.0], race={"step_size 0.1": "too far"})
    said = _answers(replace(found, records=found.records[:10]))["Was every cell run?"].split("\n")
    assert all(each in said[0] for each in ("10 cells", "24"))
    assert "step_size 0.1" in said[1]


@pytest.mark.parametrize(("measure", "claim"), [("graph", "proved"), ("wasserstein", "found")])
def test_a_bracket_is_called_what_it_is(measure, claim):
    cells = [
        Cell(each, seed, measures={measure: Measured(measure, 1.0 + k, 0.9, 3.0)})
        for k, each in enumerate(_SETTINGS)
        for seed in range(3)
    ]
    criteria = {measure: choose(cells, measure, _SETTINGS)}
    found = SweepResult(tuple(cells), _SETTINGS, (0, 1, 2), _RUN, "", criteria, {}, None, 0, ())
    assert f"{claim} to lie between 0.9" in _answers(found)["How sure is that?"]
    assert f"{claim} between" in found.tables()[0].columns
    every = "".join(_answers(found).values())
    assert ("proved" in every) == (claim == "proved")


def test_one_seed_and_one_setting():
    found = _result(graph=[4.0], seeds=1)
    assert found.criteria["graph"].interval is None
    assert "one seed only" in _answers(found)["How sure is that?"]
    assert found.headline().startswith("Step size 0.1, the only setting")


def test_no_choice():
    found = _result(graph=[None, None, None])
    assert (found.leading, found.criteria) == (None, {})
    assert found.headline() == "No setting could be chosen: 24 of 24 cells failed"
    assert [table.caption for table in found.tables()] == ["Failures"]


def test_a_measure_that_may_not_choose_is_named():
    found = _result(ess=[1.0, 2.0, 3.0], refused={"graph": "it is at its ceiling"})
    assert found.headline().startswith("No setting is chosen by graph Stein discrepancy")
    assert "it is at its ceiling" in _answers(found)["Which setting?"]


def test_how_far_off_the_best_setting_is_and_what_effective_sample_size_would_have_chosen():
    said = _answers(_result(bias=[4.0, 1.0, 2.0], ess=[90.0, 30.0, 3.0]))["How wrong are its numbers?"]
    assert "off by 1 sd" in said
    assert "by 4 sd" in said
    assert "How wrong are its numbers?" not in _answers(_result(graph=[4.0, 1.0, 2.0]))


def test_facts_are_what_was_run():
    facts = dict(_result(graph=[4.0, 1.0, 2.0]).facts())
    assert facts["target"] == "normal (dim 2)"
    assert facts["sampler draws"] == "9"
    assert facts["seeds"] == "0 to 7"
    assert _result(graph=[1.0]).subject == "rwmh on target normal (dim=2)"
