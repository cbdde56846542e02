"""Text of scores: values with their claims, ranks among exact samples, verdicts."""

import numpy as np
import pytest
from support.results import Bracket, reference

import steinkit as sk
from steinkit.measures.scores import Scores
from steinkit.result import answers

DRAWS = np.random.default_rng(0).standard_normal((400, 1))


def scores(*results, references=None, verdict=None, unjudged=None):
    return Scores(sk.Sample(DRAWS), results, references or {}, verdict, unjudged, ())


@pytest.fixture(scope="module")
def verdicts():
    return {shift: sk.verdict(DRAWS + shift, scores=-DRAWS - shift) for shift in (0.0, 1.0)}


def asked(found):
    return [question for question, _ in answers(found.statements())]


def one_line(text):
    return " ".join(text.split())


def test_a_value_has_its_claim():
    found_text = one_line(scores(Bracket(claim="found")).summary(everything=True))
    assert "The new Stein discrepancy is 0.5, found to lie between 0.489999 and 0.510001." in found_text
    assert "Wall time in seconds: scores 0.10, solve 2.00." in found_text


@pytest.mark.parametrize(("references", "wanted"), [({}, True), ({"new": reference(0.2)}, False)])
def test_a_value_without_a_reference_has_a_caution(references, wanted):
    assert ("Is the value small?" in asked(scores(Bracket(), references=references))) == wanted


@pytest.mark.parametrize(
    ("middles", "rank"),
    [
        ([0.1, 0.2, 0.25], "the largest"),
        ([0.6, 0.7, 0.8], "the smallest"),
        ([0.4, 0.505, 0.8], "the 2nd to 3rd smallest"),
        ([0.1, 0.2, 0.495], "the 3rd to 4th smallest"),  # the brackets overlap, so the rank is a range
    ],
)
def test_a_rank_respects_brackets(middles, rank):
    assert reference(*middles, width=0.001).rank(0.49, 0.51) == rank


@pytest.mark.parametrize(("median", "times"), [(0.2, "2.50 times the median"), (-0.1, None)])
def test_a_sample_is_ranked_among_exact_ones(median, times):
    """A negative median has no ratio."""
    found_text = one_line(Bracket().summary(reference(median, median)))
    assert "The value of this sample is the largest of all 3" in found_text
    assert "largest with probability 1/3" in found_text
    assert ("times the median" in found_text) == (times is not None)
    assert times is None or times in found_text


@pytest.mark.parametrize(("shift", "cautioned"), [(0.0, True), (1.0, False)])
def test_measures_of_draws_that_are_not_rejected_have_a_caution(verdicts, shift, cautioned):
    found = scores(Bracket(), verdict=verdicts[shift])
    found_text = one_line(found.summary(everything=True))
    assert ("due to chance" in found_text) == cautioned
    assert found_text.index("new Stein discrepancy is") > found_text.index("Not tested")
    assert any("due to chance" in each.text for each in found.statements()) == cautioned


def test_a_missing_verdict_has_the_reason():
    found = scores(Bracket(), unjudged="the test needs at least 8 draws")
    assert found.summary().split("\n\n")[1] == "There is no verdict: the test needs at least 8 draws."
    assert found.headline() == f"No verdict; {scores(Bracket()).headline()}"


def test_the_summary_has_the_worst_ten_coordinates_and_one_statement_of_limits(verdicts):
    """With a verdict, only the complete report has the limits of the measure."""
    values = np.random.default_rng(0).permutation(np.arange(1.0, 301.0))
    names = tuple(f"x{k}" for k in range(300))

    class Limited(Bracket):
        meaning = "Its limits."

    result = Limited(lower=values.sum(), upper=values.sum(), names=names, parts=tuple(values))
    table = scores(result).summary().split("\n\n")[-1].splitlines()
    worst = [f"x{k}" for k in np.argsort(-values)[:10]]
    assert [line.split()[0] for line in table] == ["coordinate", "total", *worst, "and"]
    assert table[-1] == "and 290 more"
    judged = scores(result, verdict=verdicts[0.0])
    everything = judged.summary(everything=True)
    assert all(f"\nx{k} " in everything for k in range(300))
    assert "Its limits." not in judged.summary()
    assert "Its limits." in everything
    assert "Its limits." in scores(result).summary()
