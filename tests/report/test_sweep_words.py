"""A sweep's verdict in words, for choices whose right words are known."""

from __future__ import annotations

import math

import pytest

from steinkit.report import sweep_words
from steinkit.sweeps.choice import choose

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
    return {name: choose(records, name, _SETTINGS[: len(graph)]) for name in names}


def _document(failed=0, failures=(), racing=None):
    return {"cells": 24, "failed": failed, "failures": list(failures), "racing": racing}


def _answers(criteria, **changes):
    return dict(sweep_words.answers(criteria, _document(**changes), 1000))


class TestClearWinner:
    criteria = _criteria([4.0, 1.0, 2.0], ess=[90.0, 30.0, 3.0])

    def test_headline(self):
        expected = "Step size 0.01 is the best of 3 settings by graph Stein discrepancy, and none ties with it"
        assert sweep_words.headline(self.criteria, _document()) == expected

    def test_how_far_the_others_are(self):
        words = _answers(self.criteria)["Which setting?"]
        assert "over 8 seeds is 0.9995" in words
        assert "Next comes step size 0.001 with 1.999, 2 times as large." in words
        assert "tried" not in words

    def test_what_effective_sample_size_would_have_cost(self):
        words = _answers(self.criteria)["What would effective sample size have picked?"]
        assert words.startswith("Step size 0.1, with a median effective sample size of 89.9")
        assert "has median graph Stein discrepancy 3.998, 4 times that of the best" in words
        assert "blind" in words

    def test_what_is_not_proved(self):
        words = _answers(self.criteria)["What does this not prove?"]
        assert "a mode that no draw has come near" in words
        assert "chains of 1000 draws" in words

    def test_nothing_failed(self):
        assert _answers(self.criteria)["Did anything fail?"].startswith("No: all 24 cells")


def test_ties_are_named():
    criteria = _criteria([4.0, [1.0, 1.2], [1.2, 1.0]])
    assert criteria["graph"].ties  # or the test is of something else
    assert "but step size 0.0" in sweep_words.headline(criteria, _document())
    assert "cannot be told from it" in sweep_words.headline(criteria, _document())
    assert "could as well be the best" in _answers(criteria)["What cannot be told from it?"]


def test_a_winner_at_the_end_of_the_grid_is_cautioned():
    assert "smallest step size that was tried" in _answers(_criteria([4.0, 2.0, 1.0]))["Which setting?"]
    assert "largest step size that was tried" in _answers(_criteria([1.0, 2.0, 4.0]))["Which setting?"]


def test_the_same_pick_is_said():
    words = _answers(_criteria([4.0, 1.0, 2.0], ess=[1.0, 50.0, 3.0]))["What would effective sample size have picked?"]
    assert words.endswith("That is the same setting.")


def test_a_pick_that_failed_is_said():
    criteria = _criteria([[None, None, None, 1.0], 1.0, 2.0], ess=[90.0, 30.0, 3.0])
    blind = criteria["ess"]
    assert math.isinf(sweep_words.row_of(criteria["graph"], {"step_size": 0.1}).median)
    words = sweep_words._blind(
        criteria["graph"], choose(_records([1.0, 1.0, 1.0], [90.0, 30.0, 3.0]), "ess", _SETTINGS)
    )
    assert "Half or more of its cells have no graph Stein discrepancy" in words
    assert blind.best != {"step_size": 0.1}


def test_failures_are_named_with_their_reasons():
    failures = [{"settings": {"step_size": 0.1}, "seeds": [3, 5], "reason": "diverged"}] * 5
    words = _answers(_criteria([4.0, 1.0, 2.0]), failed=10, failures=failures)["Did anything fail?"]
    assert words.startswith("10 of 24 cells failed.")
    assert "Step size 0.1, seed 3, 5: diverged" in words
    assert words.endswith("table of failures.")


def test_racing_is_told():
    racing = {"dropped": {"step_size 0.1": "too far"}, "cells_run": 10, "cells_full": 24, "saved": 0.5}
    words = _answers(_criteria([4.0, 1.0, 2.0]), racing=racing)["Was every cell run?"]
    assert "10 cells were run" in words
    assert "50%" in words
    assert "step_size 0.1 (too far)" in words


def test_one_seed_says_that_little_is_known():
    words = _answers(_criteria([4.0, 1.0], seeds=1))["How sure is that?"]
    assert words.startswith("There is one seed only")


def test_one_setting():
    criteria = _criteria([4.0])
    assert sweep_words.headline(criteria, _document()).startswith("Step size 0.1, the only setting")
    assert _answers(criteria)["What cannot be told from it?"] == "There is no other setting."


def test_no_choice():
    headline = sweep_words.headline({}, _document(failed=24))
    assert headline == "No setting could be chosen: 24 of 24 cells failed"
    assert list(_answers({}, failed=24)) == ["Did anything fail?"]


@pytest.mark.parametrize(
    ("value", "shown"), [(31.2, "31.20"), (5.0, "5"), (None, "undefined"), (math.inf, "undefined")]
)
def test_numbers(value, shown):
    from steinkit.describe.numbers import number

    assert number(value) == shown
