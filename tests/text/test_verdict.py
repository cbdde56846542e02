"""A verdict in words: accused, unsuspected, undecided, off at the start, large enough to matter."""

import pytest

from steinkit.diagnosis.verdict_text import fault, verdict_label, verdict_sentence, verdict_statements
from steinkit.result import running_text

LOCATION = {"kind": "location", "coordinates": ["mu"], "z": -9.04, "size": 0.28, "direction": "too high"}
SPREAD = {"kind": "spread", "coordinates": ["tau"], "z": 8.4, "size": 0.2, "direction": "too narrow"}
PAIR = {"kind": "dependence", "coordinates": ["mu", "tau"], "z": 4.0, "size": 0.1, "direction": "correlation too weak"}
RIGHT = {
    "p": 0.4,
    "p_moments": 0.2,
    "p_bounded": 0.6,
    "p_sliced": 0.5,
    "p_ksd": 0.13,
    "level": 0.01,
    "looks": 1,
    "ess": 100.4,
    "draws": 1000,
    "effective_draws": 120.0,
    "enough_draws": True,
    "burn_in": None,
    "matters": None,
    "p_matters": None,
    "findings": [],
    "not_tested": [
        "dependence that no pair of coordinates shows",
        "mode weights that lie apart",
        "modes or regions that no draw has visited",
    ],
}
WRONG = {**RIGHT, "p": 2.34e-9, "ess": 850.3, "findings": [LOCATION]}


def said(document):
    return " ".join(running_text(verdict_statements(document)).split())


def test_wrong_draws_are_accused_with_the_worst_fault_and_their_ess():
    assert verdict_sentence(WRONG) == (
        "These draws are not from the target (p = 2.3e-09): mu is too high (its mean score is 9.0 standard errors from "
        "0). Their ESS is 850: slow mixing does not explain it."
    )
    assert verdict_label(WRONG) == "biased"


def test_right_draws_are_praised_no_more_than_they_can_show():
    assert verdict_sentence(RIGHT) == "No bias found that 1000 draws with ESS 100 could show (p = 0.4)."
    assert verdict_sentence({**RIGHT, "ess": None}) == "No bias found that 1000 draws could show (p = 0.4)."
    assert verdict_label(RIGHT) == "no bias seen"


def test_what_may_hide_a_bias_is_said_beside_that_none_was_found():
    hiding = {**RIGHT, "hiding": ["one draw makes up all of the variance of mu"]}
    assert verdict_sentence(hiding).endswith("could show (p = 0.4). The warnings say what may hide one.")
    assert "hide" not in verdict_sentence({**hiding, **WRONG})


@pytest.mark.parametrize(
    ("z", "errors"), [(9.04, "9.0"), (-42.4, "42"), (1063.2, "1060"), (9999.0, "10000"), (-1e12, "more than 10000")]
)
def test_standard_errors_are_written_without_powers_of_ten(z, errors):
    said = verdict_sentence({**WRONG, "findings": [{**LOCATION, "z": z}]})
    assert f"is {errors} standard errors from 0" in said


@pytest.mark.parametrize(("p", "label"), [(0.01, "biased"), (0.0100001, "no bias seen")])
def test_draws_are_accused_from_the_level_on(p, label):
    assert verdict_label({**RIGHT, "p": p, "level": 0.01}) == label


@pytest.mark.parametrize("p", [0.5, 1e-12])
def test_too_few_effective_draws_accuse_nobody(p):
    few = {
        **RIGHT,
        "p": p,
        "enough_draws": False,
        "effective_draws": 99.7,
        "draws": 900,
        "matters": 0.1,
        "p_matters": p,
    }
    assert verdict_sentence(few).startswith(
        "There are too few effective draws to judge: 99 of 900 draws, where 100 are wanted."
    )
    assert "not from the target" not in said(few)
    assert "off by more" not in said(few)
    assert verdict_label(few) == "too few draws"


@pytest.mark.parametrize("document", [RIGHT, WRONG])
@pytest.mark.parametrize("ess", [None, 1000.6, 2000.0])
def test_an_ess_that_is_undefined_or_above_the_number_of_draws_is_not_said(document, ess):
    assert "ESS" not in verdict_sentence({**document, "ess": ess})
    assert "ESS" in verdict_sentence({**document, "ess": 1000.0})


def test_slow_mixing_is_no_matter_of_weighted_draws_nor_of_first_draws():
    assert verdict_sentence({**WRONG, "p_ksd": None}).endswith("from 0). Their ESS is 850.")
    assert "ESS" not in verdict_sentence({**WRONG, "burn_in": 0.3})


def test_ties_are_said_as_ties():
    """Within a tenth of the worst; the third is not."""
    tied = {**WRONG, "findings": [LOCATION, SPREAD, PAIR]}
    assert (
        "mu is too high (its mean score is 9.0 standard errors from 0) and tau is too narrow (8.4 standard errors "
        "off), a tie."
    ) in verdict_sentence(tied)
    text = said(tied)
    assert "tau is too narrow (8.4 standard errors off), a tie; the correlation of mu and tau is too weak (4.0" in text
    apart = {**WRONG, "findings": [LOCATION, {**SPREAD, "z": 8.1}]}
    assert "tie" not in said(apart)


def test_first_draws_that_are_off():
    assert verdict_sentence({**WRONG, "burn_in": 0.3}).startswith(
        "These draws are not from the target (p = 2.3e-09), but only the first draws are biased: without the first "
        "tenth of every chain no bias is seen (p = 0.3)."
    )
    assert "leave out the first tenth of every chain (p = 0.3 then)" in verdict_sentence({**RIGHT, "burn_in": 0.3})


@pytest.mark.parametrize(
    ("p", "sentence"),
    [
        (1e-5, "Some moment is off by more than 0.25 standard units (p = 1e-05)."),
        (0.2, "There is no evidence that any moment is off by more than 0.25 standard units (p = 0.2)."),
    ],
)
def test_whether_it_matters(p, sentence):
    assert verdict_sentence({**WRONG, "matters": 0.25, "p_matters": p}).endswith(sentence)


@pytest.mark.parametrize(
    ("kind", "coordinates", "direction", "clause"),
    [
        ("spread", ["a"], "too wide", "a is too wide"),
        ("spread", ["a", "b"], "too wide", "a and b together are too wide"),
        ("spread", list("abcdefg"), "too narrow", "a, b, c and 4 others together are too narrow"),
        ("dependence", ["a", "b"], "correlation too strong", "the correlation of a and b is too strong"),
        ("dependence", ["a", "b"], "correlation of wrong sign", "the correlation of a and b has the wrong sign"),
        ("tails", ["a"], "too heavy", "the tails of a are too heavy"),
        ("shape", ["a"], "too many draws below -1", "the shape of a is wrong: too many draws below -1"),
        ("shape", ["a", "b"], "wrong", "the joint shape of a and b is wrong"),
        ("shape", ["a"], "wrong", "the shape of a is wrong"),  # along an axis that loads on one coordinate most
        (
            "location given",
            ["a", "b"],
            "too low where b is near its median",
            "a is too low where b is near its median, and too high far from it",
        ),
        (
            "spread given",
            ["a", "b"],
            "too narrow where b is near its median",
            "a is too narrow where b is near its median, and too wide far from it",
        ),
        ("tails", ["a", "b"], "too light", "the tails are too light"),
    ],
)
def test_faults_are_clauses(kind, coordinates, direction, clause):
    assert fault({"kind": kind, "coordinates": coordinates, "z": 5.0, "size": 1.0, "direction": direction}) == clause


def test_the_kernel_test_alone_names_its_largest_share():
    alone = {**WRONG, "findings": [], "p_ksd": 1e-3, "ksd_share": {"coordinate": "b", "multiple": 2.5}}
    assert "no single coordinate or pair stands out; only the kernel test" in verdict_sentence(alone)
    assert "b contributes most: 2.5 times what independent draws would give" in verdict_sentence(alone)


def test_a_kernel_test_that_was_not_taken_accuses_nothing():
    """As of weighted draws."""
    sentence = verdict_sentence({**WRONG, "findings": [], "p_ksd": None, "ksd_share": None, "ess": None})
    assert sentence.endswith("): no single coordinate or pair stands out.")


@pytest.mark.parametrize("document", [RIGHT, WRONG, {**RIGHT, "enough_draws": False}])
def test_what_was_not_tested_is_always_said(document):
    assert (
        "Not tested: dependence that no pair of coordinates shows, mode weights that lie apart and modes or regions "
        "that no draw has visited."
    ) in said(document)


def test_a_kernel_test_that_was_not_taken_is_not_said():
    assert "Tests: moments p = 0.2, bounded moments p = 0.6, slices p = 0.5; together p = 0.4." in said(
        {**RIGHT, "p_ksd": None}
    )
    assert "p < 1e-300" in said({**WRONG, "p": 0.0})


def test_several_looks_are_said_where_the_tests_are():
    assert "kernel p = 0.13; together, times 6 looks, p = 0.4." in said({**RIGHT, "looks": 6})
    assert "looks" not in said(RIGHT)
    assert "looks" not in said({key: value for key, value in RIGHT.items() if key != "looks"})  # as of older documents


def test_no_verdict_at_all():
    assert verdict_label(None) == "none"
