"""What is said of a curve, for documents of which the right thing to say is known."""

from __future__ import annotations

import pytest

from steinkit.comparison_text import curve_grounds, curve_headline, curve_statements, curve_table, curve_text
from steinkit.measures import find_measure
from steinkit.result import answers

_CURVE = {
    "measure": "graph",
    "n": [10, 100, 1000],
    "cost": None,
    "budget": None,
    "values": [1.0, 0.3, None],
    "lower": [0.99, 0.29, 0.05],
    "upper": [1.01, 0.31, None],
    "interval": None,
    "replicates": [[1.0, 0.3, None]],
    "rate": -0.5,
    "rate_interval": [-0.6, -0.4],
    "interval_kind": "regression",
    "level": 0.95,
    "tail": [0, 1],
    "warnings": [],
}


@pytest.mark.parametrize(("measure", "claim"), [("graph", "proved"), ("wasserstein", "found")])
def test_brackets_are_called_what_the_measure_claims(measure, claim):
    known = find_measure(measure)
    found = curve_table(_CURVE | {"measure": measure}, known)
    assert found.columns == ("draws", "value", f"{claim} between")
    assert found.rows[-1] == ("1000", "undefined", "0.0500000 and Infinity")


def test_terminal_and_page_say_the_same():
    known = find_measure("graph")
    page = " ".join(answer for _, answer in answers(curve_grounds(_CURVE, known)))
    terminal = " ".join(curve_text(_CURVE, known).split())
    for each in curve_statements(_CURVE, known):
        assert each.text in page
        assert each.text in terminal


def test_no_rate():
    document = _CURVE | {"rate": None, "rate_interval": [None, None]}
    assert "No rate could be fitted." in curve_text(document, find_measure("graph"))
    assert curve_headline(document, find_measure("graph")) == "Graph Stein discrepancy: no rate could be fitted"


def test_effective_size_proves_nothing_of_the_target():
    found = dict(answers(curve_grounds(_CURVE | {"measure": "ess", "rate": 1.0}, find_measure("ess"))))
    assert found["What does this not prove?"].endswith("speaks for mixing, not for the right target.")
