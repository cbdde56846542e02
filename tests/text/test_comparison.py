"""Text of comparisons with known values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.results import comparison, reference

import steinkit as sk
from steinkit.errors import InputError
from steinkit.measures import find_measure
from steinkit.measures.scoring import ComparedSample
from steinkit.result import answers

_TWO = {"a": (1.0, 1.1), "b": (2.0, 2.1)}
_REFERENCE = reference(8.95, 9.05, width=0.05, n=20)


def answered(found):
    return dict(answers(found.statements()))


def order(found):
    return answered(found)[f"Which sample, by {find_measure(found.measures[0]).title}?"]


@pytest.mark.parametrize(("measure", "claim"), [("graph", "proved"), ("ksd", "proved"), ("wasserstein", "found")])
def test_a_difference_has_the_claim_of_the_measure(measure, claim):
    found, title = comparison(_TWO, measure), find_measure(measure).title
    assert found.headline() == f"a is {claim} better than b by {title}"
    assert found.table(measure).columns == ("rank", "sample", "draws", "value", f"{claim} between")
    assert f"ranks are {claim}" in order(found)
    assert ("proved" in found.summary()) == (claim == "proved")


def test_an_estimate_claims_no_proof():
    found = comparison(_TWO, "ess")
    assert found.headline() == "a is better than b by effective sample size"
    assert found.table("ess").columns == ("rank", "sample", "draws", "value")
    assert "proved" not in order(found)


def test_the_summary_has_the_statements_on_the_ranking():
    found = comparison(_TWO | {"c": (2.05, 2.2)}, ranking=[["a"], ["b", "c"]], references=[_REFERENCE])
    terminal = " ".join(found.summary().split())
    for each in found._order(find_measure("graph")):
        assert each.text in " ".join(answered(found).values())
        assert each.text in terminal


def test_ranks_count_better_samples():
    found = comparison(_TWO | {"c": (2.05, 2.2), "d": (5.0, 6.0)}, ranking=[["a"], ["b", "c"], ["d"]])
    ranks = [(each.name, each.rank) for each in found.standings("graph")]
    assert ranks == [("a", "1"), ("b", "2="), ("c", "2="), ("d", "4")]


def test_references_have_the_effective_size():
    own = replace(_REFERENCE, n=50)
    found = comparison(_TWO, references=[own, _REFERENCE], a={"effective": 20})
    assert [each.reference.n for each in found.standings("graph")] == [20, 50]


def test_samples_without_a_measure_have_the_reason():
    found = comparison(_TWO)
    found = replace(found, samples=(*found.samples, ComparedSample("c", None, {}, {"graph": InputError("a NaN")})))
    assert "c was not measured: graph: a NaN" in found.summary()
    assert answered(found)["Did anything fail?"] == "c was not measured: graph: a NaN"


def test_a_comparison_without_samples():
    found = comparison({}, ranking=[])
    assert "samples" in found.summary()
    assert found.headline() == "None of 0 samples could be ranked by graph Stein discrepancy"


def test_samples_without_a_rank_have_the_reason():
    found = comparison(_TWO | {"c": (0.5, 0.6)}, ranking=[["a"], ["b"]], unranked=["c"])
    refused = "It cannot rank c: it is at its ceiling."
    assert refused in " ".join(found.summary().split())
    assert refused in order(found)
    assert found.table("graph").rows[2][:2] == ("-", "c")
    assert found.headline() == "a is proved better than b by graph Stein discrepancy"


def test_a_ranking_without_samples_has_the_reason():
    found = comparison(_TWO, references=[_REFERENCE], ranking=[], unranked=["a", "b"])
    assert order(found).startswith("None of 2 samples could be ranked by graph Stein discrepancy.")
    assert "It cannot rank a and b: it is at its ceiling." in order(found)
    assert found.headline() == "None of 2 samples could be ranked by graph Stein discrepancy"


@pytest.fixture(scope="module")
def judged():
    """Exact draws, biased draws, and too few draws."""
    draws = np.random.default_rng(0).standard_normal((200, 1))
    samples = {"exact": draws, "biased": draws + 1.0, "few": draws[:10]}
    return sk.compare(samples, sk.targets.Normal([0.0]), measures="ksd", matters=0.1)


def test_the_verdicts_are_first(judged):
    table = judged.tables()[0]
    assert table.columns[:2] == ("sample", "verdict")
    assert [row[0] for row in table.rows] == ["exact", "biased", "few"]
    assert judged.summary().index(table.caption) < judged.summary().index("Kernel")


def test_the_headline_has_the_verdict_on_the_best(judged):
    heads = {
        name: replace(judged, ranking={"ksd": ((name,),)}).headline().partition(" discrepancy")[2]
        for name in ("exact", "biased", "few")
    }
    assert heads == {"exact": "; no bias was found in it", "biased": ", but biased is biased", "few": ""}


def test_biases_of_the_judged_samples_share_a_table(judged):
    sizes = judged.tables()[1]
    assert sizes.columns == ("quantity", "sample", "bias (sd)", "sd bias")
    assert [row[:2] for row in sizes.rows] == [("x1", "exact"), ("x1", "biased")]
    few = replace(judged, samples=judged.samples[2:], ranking={"ksd": ()})
    assert all("quantity" not in table.columns for table in few.tables())
