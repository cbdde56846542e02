"""Text and tables of a sweep's result with given values."""

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
    cells = _cells(seeds, **values)
    settings = _SETTINGS[: len(next(iter(values.values())))]
    known = [name for name in values if any(name in cell.measures for cell in cells)]
    criteria = {name: choose(cells, name, settings) for name in known}
    given = {"settings": settings, "seeds": tuple(range(seeds)), "configuration": _RUN, "criteria": criteria}
    return SweepResult(records=tuple(cells), **given, refused=refused or {}, racing=racing, reused=0, warnings=())


def _raced():
    found = _result(graph=[4.0, 1.0, 2.0], racing={"step_size 0.1": "too far"})
    return replace(found, records=found.records[:10])


def _with_budgets():
    graph = {1000: [1.0, 2.0, 4.0], 3000: [[1.0, 1.2], [1.2, 1.0], 4.0], 10_000: [4.0, 1.0, 2.0]}
    results = {budget: _result(graph=values) for budget, values in graph.items()}
    return replace(results[10_000], by_budget={budget: each.criteria for budget, each in results.items()})


RESULTS = {
    "best without ties": lambda: _result(graph=[4.0, 1.0, 2.0], ess=[90.0, 30.0, 3.0]),
    "a tie": lambda: _result(graph=[4.0, [1.0, 1.2], [1.2, 1.0]]),
    "best at the smallest": lambda: _result(graph=[4.0, 2.0, 1.0]),
    "best at the largest": lambda: _result(graph=[1.0, 2.0, 4.0]),
    "failed cells": lambda: _result(graph=[None, [1.0, 1.0, 1.0, None], 2.0]),
    "racing": _raced,
    "one setting with one seed": lambda: _result(graph=[4.0], seeds=1),
    "no values": lambda: _result(graph=[None, None, None]),
    "budgets": lambda: _with_budgets(),
    "refused": lambda: _result(ess=[1.0, 2.0, 3.0], refused={"graph": "it is saturated"}),
}


@pytest.mark.parametrize("name", RESULTS)
def test_sweeps(name, snapshot):
    found = RESULTS[name]()
    told = [f"{question} {text}" for question, text in answers(found.statements())]
    tables = ["\n".join([table.caption, *table.lines()]) for table in found.tables()]
    assert [found.headline(), found.subject, *map(repr, found.facts()), *told, *tables] == snapshot


@pytest.mark.parametrize(("measure", "claim"), [("graph", "proved"), ("wasserstein", "found")])
def test_brackets_are_labeled_by_their_claim(measure, claim):
    measured = [{measure: Measured(measure, 1.0 + k, 0.9, 3.0)} for k in range(3)]
    cells = [Cell(each, seed, measures=measured[k]) for k, each in enumerate(_SETTINGS) for seed in range(3)]
    assert f"{claim} between" in choice_table(choose(cells, measure, _SETTINGS)).columns


def test_criteria_and_failures():
    found = _result(graph=[4.0, 1.0, 2.0], ess=[90.0, 30.0, 3.0])
    assert (found.leading, found.blind) == ("graph", "ess")
    assert [row.standing for row in found.criteria["graph"].rows] == ["worse", "best", "worse"]
    assert found.criteria["graph"].at_end is None
    assert _result(graph=[4.0, 2.0, 1.0]).criteria["graph"].at_end == ("step_size", "smallest")
    failing = _result(graph=[None, [1.0, 1.0, 1.0, None], 2.0])
    assert (failing.failed, failing.cells) == (10, 24)
    assert [(each.settings["step_size"], len(each.seeds)) for each in failing.failures] == [(0.1, 8), (0.01, 2)]
    assert _result(graph=[4.0], seeds=1).criteria["graph"].interval is None
    assert (_result(graph=[None, None, None]).leading, _result(graph=[None, None, None]).criteria) == (None, {})
