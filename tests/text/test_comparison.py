"""Text of comparisons with known values."""

from dataclasses import replace

import numpy as np
import pytest
from support.results import comparison, reference

import steinkit as sk
from steinkit.errors import InputError
from steinkit.measures.scoring import ComparedSample

_TWO = {"a": (1.0, 1.1), "b": (2.0, 2.1)}
_THREE = _TWO | {"c": (2.05, 2.2)}
_REFERENCE = reference(8.95, 9.05, width=0.05, n=20)


def with_a_failure():
    found = comparison(_TWO)
    return replace(found, samples=(*found.samples, ComparedSample("c", None, {}, {"graph": InputError("a NaN")})))


COMPARISONS = {
    "proved": lambda: comparison(_TWO),
    "kernel": lambda: comparison(_TWO, "ksd"),
    "found": lambda: comparison(_TWO, "wasserstein"),
    "estimated": lambda: comparison(_TWO, "ess"),
    "a tie": lambda: comparison(_THREE, ranking=[["a"], ["b", "c"]], references=[_REFERENCE]),
    "a failure": with_a_failure,
    "no samples": lambda: comparison({}, ranking=[]),
    "one without a rank": lambda: comparison(_TWO | {"c": (0.5, 0.6)}, ranking=[["a"], ["b"]], unranked=["c"]),
    "no ranks": lambda: comparison(_TWO, references=[_REFERENCE], ranking=[], unranked=["a", "b"]),
}


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons(name, snapshot):
    found = COMPARISONS[name]()
    answers = [f"{each.question} {each.text}" for each in found.statements()]
    assert [found.headline(), found.summary(), *answers] == snapshot


def test_ranks_count_better_samples():
    found = comparison(_THREE | {"d": (5.0, 6.0)}, ranking=[["a"], ["b", "c"], ["d"]])
    ranks = [(each.name, each.rank) for each in found.standings("graph")]
    assert ranks == [("a", "1"), ("b", "2="), ("c", "2="), ("d", "4")]


def test_references_have_the_effective_size():
    own = replace(_REFERENCE, n=50)
    found = comparison(_TWO, references=[own, _REFERENCE], a={"effective": 20})
    assert [each.reference.n for each in found.standings("graph")] == [20, 50]


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
