"""What is said of samples compared, for samples of which the right thing to say is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.results import comparison, reference

import steinkit as sk
from steinkit.comparison_result import ComparedSample
from steinkit.errors import InputError
from steinkit.measures import find_measure
from steinkit.result import answers

_TWO = {"a": (1.0, 1.1), "b": (2.0, 2.1)}
_REFERENCE = reference(8.95, 9.05, width=0.05, n=20)
_GOOD = "Is the best one good?"


def said(found):
    return dict(answers(found.statements()))


def order(found):
    return said(found)[f"Which sample, by {find_measure(found.measures[0]).title}?"]


@pytest.mark.parametrize(("measure", "claim"), [("graph", "proved"), ("ksd", "proved"), ("wasserstein", "found")])
def test_a_difference_is_called_what_the_measure_claims(measure, claim):
    found, title = comparison(_TWO, measure), find_measure(measure).title
    assert found.headline() == f"a is {claim} better than b by {title}"
    assert found.table(measure).columns == ("rank", "sample", "draws", "value", f"{claim} between")
    assert f"the difference is {claim}, for these draws" in order(found)
    assert ("proved" in found.summary()) == (claim == "proved")


def test_an_estimate_claims_nothing_and_says_why():
    found = comparison(_TWO, "ess")
    assert found.headline() == "a is better than b by effective sample size"
    assert found.table("ess").columns == ("rank", "sample", "draws", "value")
    assert "blind to bias" in order(found)


def test_terminal_and_page_say_the_same():
    found = comparison(_TWO | {"c": (2.05, 2.2)}, ranking=[["a"], ["b", "c"]], references=[_REFERENCE])
    terminal = " ".join(found.summary().split())
    for each in found._order(find_measure("graph")):
        assert each.text in " ".join(said(found).values())
        assert each.text in terminal
    assert "b and c cannot be told apart: their brackets overlap." in terminal


def test_ranks_are_one_more_than_the_samples_before():
    found = comparison(_TWO | {"c": (2.05, 2.2), "d": (5.0, 6.0)}, ranking=[["a"], ["b", "c"], ["d"]])
    ranks = [(each.name, each.rank) for each in found.standings("graph")]
    assert ranks == [("a", "1"), ("b", "2="), ("c", "2="), ("d", "4")]


def test_the_best_is_held_against_independent_samples_of_its_own_size():
    own = reference(0.95, 1.15, width=0.05, n=50)
    good = said(comparison(_TWO, references=[_REFERENCE, own]))[_GOOD]
    assert "within the range 0.9 to 1.2 of 2 independent samples of 50 draws" in good  # as in the table
    assert "at 1.00 times their median" in good


def test_independent_samples_are_of_the_effective_size():
    own = replace(_REFERENCE, n=50)
    found = comparison(_TWO, references=[own, _REFERENCE], a={"effective": 20})
    assert [each.reference.n for each in found.standings("graph")] == [20, 50]


def test_samples_that_were_not_measured_are_named_with_the_reason():
    found = comparison(_TWO)
    found = replace(found, samples=(*found.samples, ComparedSample("c", None, {}, {"graph": InputError("a NaN")})))
    assert found.summary().endswith("c was not measured: a NaN")
    assert said(found)["Did anything fail?"] == "c was not measured: graph: a NaN"


def test_nothing_measured():
    found = comparison({}, ranking=[])
    assert found.summary() == "graph Stein discrepancy: no sample could be measured"
    assert found.headline() == "None of 0 samples could be ranked by graph Stein discrepancy"


def test_samples_that_a_measure_does_not_rank_are_named_with_the_reason():
    found = comparison(_TWO | {"c": (0.5, 0.6)}, ranking=[["a"], ["b"]], unranked=["c"])
    refused = "It cannot rank c: it is at its ceiling. The others are ranked among themselves."
    assert refused in " ".join(found.summary().split())
    assert refused in order(found)
    assert found.table("graph").rows[2][:2] == ("-", "c")
    assert found.headline() == "a is proved better than b by graph Stein discrepancy"


def test_a_page_says_that_no_sample_is_ranked_and_why():
    found = comparison(_TWO, references=[_REFERENCE], ranking=[], unranked=["a", "b"])
    assert order(found).startswith("None of 2 samples could be ranked by graph Stein discrepancy.")
    assert "It cannot rank a and b: it is at its ceiling (said of a)." in order(found)
    assert found.headline() == "None of 2 samples could be ranked by graph Stein discrepancy"


@pytest.fixture(scope="module")
def judged():
    """Right draws, draws that are off, and too few."""
    draws = np.random.default_rng(0).standard_normal((200, 1))
    samples = {"right": draws, "off": draws + 1.0, "few": draws[:10]}
    return sk.compare(samples, sk.targets.Normal([0.0]), measures="ksd", matters=0.1)


def test_verdicts_stand_at_the_head(judged):
    lines = [" ".join(line.split()) for line in judged.summary().splitlines()]
    assert lines[1] == "sample verdict p p matters ESS what is wrong"
    assert lines[2].startswith("right no bias seen")
    assert lines[3].startswith("off biased")
    assert lines[4].startswith("few too few draws")


def test_the_headline_says_whether_the_best_is_biased(judged):
    heads = {
        name: replace(judged, ranking={"ksd": ((name,),)}).headline().partition(" discrepancy")[2]
        for name in ("right", "off", "few")
    }
    assert heads == {"right": "; no bias is seen in it", "off": ", but off is biased", "few": ""}


def test_biases_of_the_samples_judged_stand_side_by_side(judged):
    sizes = judged.tables()[1]
    assert sizes.columns == ("quantity", "sample", "bias (sd)", "sd bias")
    assert [row[:2] for row in sizes.rows] == [("x1", "right"), ("x1", "off")]  # few have no bias that is known
    few = replace(judged, samples=judged.samples[2:], ranking={"ksd": ()})
    assert all("quantity" not in table.columns for table in few.tables())
