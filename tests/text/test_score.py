"""A score as text: every measure says its number with its claim, beside right samples where there are any."""

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


def test_a_number_is_said_with_its_claim():
    said = one_line(scores(Bracket(claim="found")).summary(everything=True))
    assert "The new Stein discrepancy is 0.5, found to lie between 0.489999 and 0.510001." in said
    assert "Seconds: scores 0.10, solve 2.00." in said


def test_measures_stand_side_by_side_with_independent_samples_where_there_are_any():
    both = Bracket(claim="found"), Bracket("other", "other discrepancy")
    table = scores(*both, references={"other": reference(0.2, width=0.01)}).tables()[0]
    assert table.columns == ("measure", "value", "between", "independent samples")
    assert [row[0] for row in table.rows] == ["new Stein discrepancy", "other discrepancy"]
    assert [row[3] for row in table.rows] == ["", "0.19 to 0.21"]
    assert len(scores(*both).tables()[0].columns) == 3


def test_a_kernel_discrepancy_says_which_number_it_is():
    kernel = sk.GaussianKernel(scale=2.0)
    found = sk.kernel_stein_discrepancy(DRAWS, scores=-DRAWS, kernel=kernel, statistic="u", squared=True)
    assert found.full_title == "squared kernel Stein discrepancy (U-statistic)"
    assert "GaussianKernel(scale=2.0)" in found.summary()


@pytest.mark.parametrize(("references", "wanted"), [({}, True), ({"new": reference(0.2)}, False)])
def test_a_page_says_that_a_bare_number_does_not_say(references, wanted):
    assert ("Is that good?" in asked(scores(Bracket(), references=references))) == wanted


@pytest.mark.parametrize(
    ("middles", "rank"),
    [
        ([0.1, 0.2, 0.25], "the largest"),
        ([0.6, 0.7, 0.8], "the smallest"),
        ([0.4, 0.505, 0.8], "the 2nd to 3rd smallest"),
        ([0.1, 0.2, 0.495], "the 3rd to 4th smallest"),  # the brackets overlap
    ],
)
def test_the_headline_places_the_first_measure(middles, rank):
    found = scores(Bracket(), references={"new": reference(*middles, width=0.001)})
    assert found.headline() == f"New Stein discrepancy 0.5, {rank} of it and 3 independent samples"
    assert scores(Bracket()).headline() == "New Stein discrepancy 0.5"


@pytest.mark.parametrize(("median", "times"), [(0.2, "at 2.50 times their median"), (-0.1, None)])
def test_a_sample_is_placed_among_independent_ones(median, times):
    """There are no times of a negative number."""
    said = one_line(Bracket().summary(reference(median, median)))
    assert "This sample is the largest of the 3 together" in said
    assert "one exact sample in 3 is so by chance." in said
    assert ("times their median" in said) == (times is not None)
    assert times is None or times in said


def test_a_page_asks_no_question_twice():
    found = asked(scores(Bracket(), references={"new": reference(0.2)}))
    assert len(found) == len(set(found))


@pytest.mark.parametrize(("shift", "cautioned"), [(0.0, True), (1.0, False)])
def test_what_measures_find_in_draws_that_are_not_rejected_may_be_chance(verdicts, shift, cautioned):
    found = scores(Bracket(), verdict=verdicts[shift])
    said = one_line(found.summary(everything=True))
    assert ("due to chance" in said) == cautioned
    assert said.index("new Stein discrepancy is") > said.index("Not tested")
    assert any("due to chance" in each.text for each in found.statements()) == cautioned


@pytest.mark.parametrize(("shift", "cautioned"), [(0.0, True), (1.0, False)])
def test_a_rejection_needs_no_caution_for_noise(verdicts, shift, cautioned):
    draws = np.random.default_rng(1).standard_normal((50, 2))
    sliced = sk.sliced_stein_discrepancy(draws, scores=-draws)
    said = scores(sliced, verdict=verdicts[shift]).statements()
    assert any("sampling noise" in each.text for each in said) == cautioned
    assert not any("single value" in each.text for each in said)


def test_why_there_is_no_verdict_stands_in_its_place():
    found = scores(Bracket(), unjudged="the test needs at least 8 draws")
    assert found.summary().split("\n\n")[1] == "There is no verdict: the test needs at least 8 draws."
    assert found.headline() == f"No verdict; {scores(Bracket()).headline()}"


def test_the_verdict_heads_what_is_said(verdicts):
    assert "x1 is too high" in scores(Bracket(), verdict=verdicts[1.0]).headline()
    assert scores(Bracket(), verdict=verdicts[0.0]).headline() == verdicts[0.0].headline()


def test_a_screen_shows_the_worst_ten_coordinates_and_leaves_limits_to_the_verdict(verdicts):
    """The total and the worst ten of 300, the heaviest first; without a verdict the measure says its own limits."""
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
    assert all(f"\nx{k} " in judged.summary(everything=True) for k in range(300))
    assert "Its limits." not in judged.summary()
    assert "Its limits." in judged.summary(everything=True)
    assert "Its limits." in scores(result).summary()
