"""What is said of a sweep, for choices of which the right thing to say is known."""

from __future__ import annotations

import json
import math
import re

import pytest

from steinkit.measures import find_measure
from steinkit.result import answers
from steinkit.sweeps.choice import choose
from steinkit.sweeps.text import headline, rows_of, statements, table, text

_SETTINGS = [{"step_size": 0.1}, {"step_size": 0.01}, {"step_size": 0.001}]


def _records(graph, ess=None, seeds=8):
    """Cells whose values are those given, a little different from seed to seed; None is a failed cell."""
    records = []
    for k, setting in enumerate(_SETTINGS[: len(graph)]):
        for seed in range(seeds):
            value = graph[k][seed % len(graph[k])] if isinstance(graph[k], list) else graph[k]
            jitter = 1.0 + 0.001 * (seed - seeds // 2)
            results = [] if value is None else [{"measure": "graph", "value": value * jitter}]
            if ess is not None and value is not None:
                results.append({"measure": "ess", "value": ess[k] * jitter})
            records.append({"settings": setting, "seed": seed, "results": results, "cost_per_draw": None})
    return records


def _criteria(graph, ess=None, seeds=8):
    records = _records(graph, ess, seeds)
    names = ("graph", "ess") if ess is not None else ("graph",)
    return {name: choose(records, name, _SETTINGS[: len(graph)]).to_dict() for name in names}


def _document(criteria, failed=0, failures=(), racing=None):
    found = {"cells": 24, "failed": failed, "failures": list(failures), "racing": racing, "reused": 0, "seconds": 1.0}
    return json.loads(json.dumps({"criteria": criteria, **found}, allow_nan=False))


def _answers(criteria, **changes):
    return dict(answers(statements(_document(criteria, **changes), find_measure, 1000)))


def _headline(criteria, **changes):
    return headline(_document(criteria, **changes), find_measure)


def _text(criteria, **changes):
    return text(_document(criteria, **changes), find_measure, 3, 8)


class TestClearWinner:
    criteria = _criteria([4.0, 1.0, 2.0], ess=[90.0, 30.0, 3.0])

    def test_headline(self):
        expected = "Step size 0.01 is the best of 3 settings by graph Stein discrepancy, and none ties with it"
        assert _headline(self.criteria) == expected

    def test_which_setting_is_best(self):
        said = _answers(self.criteria)["Which setting?"]
        assert "over 8 seeds is 0.9995" in said
        assert "tried" not in said

    def test_what_effective_sample_size_would_have_chosen(self):
        said = _answers(self.criteria)["What would effective sample size have picked?"]
        assert said == (
            "Effective sample size, which does not see bias, would have chosen step size 0.1; by measure graph that is "
            "worse."
        )

    def test_what_is_not_proved(self):
        said = _answers(self.criteria)["What does this not prove?"]
        assert "a mode that no draw has come near" in said
        assert "chains of 1000 draws" in said

    def test_nothing_failed(self):
        assert _answers(self.criteria)["Did anything fail?"].startswith("No: all 24 cells")


def test_ties_are_named():
    criteria = _criteria([4.0, [1.0, 1.2], [1.2, 1.0]])
    assert criteria["graph"]["ties"]  # or the test is of something else
    assert "but step size 0.0" in _headline(criteria)
    assert "cannot be told from it" in _headline(criteria)
    assert "could as well be the best" in _answers(criteria)["What cannot be told from it?"]


def test_a_winner_at_the_end_of_the_grid_is_cautioned():
    assert "smallest step size that was tried" in _answers(_criteria([4.0, 2.0, 1.0]))["Which setting?"]
    assert "largest step size that was tried" in _answers(_criteria([1.0, 2.0, 4.0]))["Which setting?"]


def test_the_same_pick_is_said():
    said = _answers(_criteria([4.0, 1.0, 2.0], ess=[1.0, 50.0, 3.0]))["What would effective sample size have picked?"]
    assert said.startswith("Effective sample size, which does not see bias, chooses the same: step size 0.01.")


def test_a_setting_with_half_of_its_cells_failed_is_the_worst_there_is():
    criteria = _criteria([[None, None, None, 1.0], 1.0, 2.0], ess=[90.0, 30.0, 3.0])
    medians = [[row.median for row in rows_of(criteria[name], find_measure(name))] for name in ("graph", "ess")]
    assert [each[0] for each in medians] == [math.inf, -math.inf]
    assert criteria["ess"]["best"] != {"step_size": 0.1}


def test_seeds_that_failed_are_seeds_all_the_same():
    found = _criteria([4.0, [1.0, 1.0, 1.0, None], 2.0])
    assert "over 8 seeds (2 of them failed and count as worst) is" in _answers(found)["Which setting?"]


def test_cells_that_failed_are_worst_in_the_terminal_as_on_a_page():
    found = _criteria([None, [1.0, 1.0, None], 2.0])
    rows = table(found["graph"], find_measure("graph")).rows
    lines = [re.split(r"\s{2,}", line) for line in _text(found).splitlines() if line.startswith("step_size")]
    assert [line[1:] for line in lines] == [[cell for cell in row[1:] if cell] for row in rows]
    assert rows[0][2:4] == ("worst", "worst to worst")
    assert rows[1][3].endswith(" to worst")


def test_failures_are_named_with_their_reasons():
    failures = [{"settings": {"step_size": 0.1 * k}, "seeds": [3, 5], "reason": "diverged"} for k in range(1, 6)]
    found = _criteria([4.0, 1.0, 2.0])
    said = _answers(found, failed=10, failures=failures)["Did anything fail?"]
    assert said.startswith("10 of 24 cells failed.")
    assert "Step size 0.1, seeds 3, 5: diverged\n" in said
    assert said.endswith("table of failures.")
    assert "\n  step_size 0.1, seeds 3, 5: diverged\n" in _text(found, failed=10, failures=failures)


def test_what_a_race_dropped_is_said():
    racing = {"dropped": {"step_size 0.1": "too far"}, "cells_run": 10, "cells_full": 24, "saved": 0.5}
    racing |= {"seconds_spent": 1.0, "seconds_full_estimate": 2.0}
    found = _criteria([4.0, 1.0, 2.0])
    said = _answers(found, racing=racing)["Was every cell run?"].split("\n")
    assert said[0].startswith("Racing ran 10 cells where the full sweep has 24")
    assert "50%" in said[0]
    assert said[1] == "Dropped step_size 0.1: too far"
    assert said[0] in _text(found, racing=racing)


def test_terminal_and_page_say_the_same_of_effective_sample_size():
    found = _criteria([4.0, 1.0, 2.0], ess=[90.0, 30.0, 3.0])
    page = _answers(found)["What would effective sample size have picked?"].partition(".  ")[0]
    (line,) = [each for each in _text(found).splitlines() if each.startswith("Effective sample size")]
    assert page.startswith(line.replace("step_size", "step size"))


def test_terminal_and_page_say_the_same_of_the_pick():
    found = _criteria([4.0, 1.0, 2.0])
    caption = table(found["graph"], find_measure("graph")).caption
    assert caption.startswith(
        "By graph Stein discrepancy (smallest median): step size 0.01, median 0.9995 (95% interval"
    )
    assert caption.replace("step size", "step_size") in _text(found).splitlines()


@pytest.mark.parametrize(("measure", "claim"), [("graph", "proved"), ("wasserstein", "found")])
def test_a_bracket_is_called_what_it_is(measure, claim):
    records = [
        {
            "settings": each,
            "seed": seed,
            "results": [{"measure": measure, "value": 1.0 + k, "lower": 0.9, "upper": 3.0}],
        }
        for k, each in enumerate(_SETTINGS)
        for seed in range(3)
    ]
    criteria = {measure: choose(records, measure, _SETTINGS).to_dict()}
    assert f"it is {claim} to lie between 0.9" in _answers(criteria)["How sure is that?"]
    assert f"{claim} between" in table(criteria[measure], find_measure(measure)).columns
    every = "".join(_answers(criteria).values())
    assert ("proved" in every) == (claim == "proved")


def test_one_seed_says_that_little_is_known():
    said = _answers(_criteria([4.0, 1.0], seeds=1))["How sure is that?"]
    assert said.startswith("There is one seed only")


def test_one_setting():
    criteria = _criteria([4.0])
    assert _headline(criteria).startswith("Step size 0.1, the only setting")
    assert _answers(criteria)["What cannot be told from it?"] == "There is no other setting."


def test_no_choice():
    found = _headline({}, failed=24)
    assert found == "No setting could be chosen: 24 of 24 cells failed"
    assert list(_answers({}, failed=24)) == ["Did anything fail?"]


def test_how_far_off_the_best_setting_is_and_what_effective_sample_size_would_have_chosen():
    records = _records([4.0, 1.0, 2.0], ess=[90.0, 30.0, 3.0])
    for record in records:
        record["results"][0]["measure"] = "bias"
    document = _document({name: choose(records, name, _SETTINGS).to_dict() for name in ("bias", "ess")})
    said = "Means and sds of draws with step size 0.01 are off by 1 sd (root mean square, median over the seeds); with "
    said += "step size 0.1, which effective sample size would have chosen, by 4 sd."
    assert dict(answers(statements(document, find_measure, 1000)))["How wrong are its numbers?"] == said
    assert said.replace("step size", "step_size") in text(document, find_measure, 3, 8)
    assert "How wrong are its numbers?" not in _answers(_criteria([4.0, 1.0, 2.0]))
