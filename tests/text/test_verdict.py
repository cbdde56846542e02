"""Decisions and text of verdicts with given numbers; the exact wording is in test_wording.py."""

from dataclasses import replace

import pytest
from support.verdicts import LOCATION, PAIR, SCALE, estimate, quantity, verdict

import steinkit as sk
from steinkit.diagnosis.verdict_result import TestResult, combined
from steinkit.diagnosis.verdict_text import verdicts_table

WRONG = 2.34e-9


def test_the_smallest_corrected_p_value_decides():
    tests = (TestResult("moments", 0.002, 0.3), TestResult("sliced", 0.001, 0.1), TestResult("ksd", 1e-9, 0.0))
    found = verdict(tests=tests)
    assert found.p == pytest.approx(0.002 / 0.3)
    assert (found.is_biased, found.decided_by) == (True, "moments")
    assert combined(tests, 2) == pytest.approx(0.004 / 0.3)
    assert (replace(found, analyses=2).is_biased, replace(found, analyses=2).decided_by) == (False, None)
    assert combined((TestResult("moments", 0.9, 0.3),), 5) == 1.0


@pytest.mark.parametrize(("p", "label"), [(0.01, "biased"), (0.0100001, "no bias seen")])
def test_draws_are_rejected_from_the_level_on(p, label):
    assert verdict(p, level=0.01).label == label


@pytest.mark.parametrize("p", [0.5, 1e-12])
def test_too_few_effective_draws_reject_no_sample(p):
    found = verdict(p, enough_draws=False, effective_draws=99.7, draws=900, matters=0.1, p_matters=p)
    assert (found.is_biased, found.decided_by, found.label) == (False, None, "too few draws")
    assert "99 in 900 draws" in found.headline()
    few = verdict(bias=estimate(quantity("mu")), enough_draws=False)
    assert (few.known_bias, few.tables()) == (None, ())


@pytest.mark.parametrize("p", [0.4, WRONG])
def test_an_ess_that_is_undefined_or_above_the_number_of_draws_is_not_reported(p):
    assert all("ESS" not in verdict(p, ess=ess).sentence for ess in (float("nan"), 1000.6, 2000.0))
    assert "ESS 1000" in verdict(0.4, ess=1000.0).sentence


def test_slow_mixing_may_explain_a_rejection_of_chains():
    assert verdict(WRONG, [LOCATION]).mixed
    assert verdict(WRONG, [LOCATION], mixed=False).mixed is False
    assert verdict(WRONG, [LOCATION], weighted=True).mixed is None


def test_ties_are_reported_as_ties():
    """The first two are within a tenth of the worst; the third is not."""
    assert verdict(WRONG, [LOCATION, SCALE, PAIR]).strongest == (LOCATION, SCALE)
    apart = verdict(WRONG, [LOCATION, replace(SCALE, z=8.1)])
    assert apart.strongest == (LOCATION,)
    assert SCALE.parameters[0] not in apart.headline()
    assert verdict(WRONG).strongest == ()


@pytest.mark.parametrize(("p", "is_large"), [(1e-5, True), (0.2, False)])
def test_whether_it_matters(p, is_large):
    assert verdict(WRONG, [LOCATION], matters=0.25, p_matters=p).is_large is is_large
    assert verdict().is_large is None


def test_untested_properties_are_always_reported():
    for found in (verdict(), verdict(WRONG, [LOCATION]), verdict(enough_draws=False)):
        assert len(found.not_tested) == 3
        text = " ".join(found.summary().split())
        assert all(each in text for each in found.not_tested)


def test_verdicts_are_shown_in_one_table():
    found = {"a": verdict(1e-9, [LOCATION]), "b": None, "c": verdict(), "d": verdict(1e-9)}
    assert verdicts_table(found).rows == (
        ("a", "biased", "1e-09", "100", "mu is too high"),
        ("b", "none", "-", "-", ""),
        ("c", "no bias seen", "0.4", "100", ""),
        ("d", "biased", "1e-09", "100", "no individual coordinate or pair is significantly biased"),
    )
    off = quantity("tau", mean_bias=-0.9)
    judged = verdict(matters=0.1, p_matters=0.9, bias=estimate(off))
    table = verdicts_table({"a": judged, "b": None}, "largest bias")
    assert table.columns == ("sample", "verdict", "p", "p matters", "ESS", "largest bias")
    assert table.rows[0][-3:] == ("0.9", "100", "tau: mean 0.90 ± 0.02 sd too low")
    assert table.rows[1][-3:] == ("-", "-", "not known")


def test_json_contains_the_tests_and_the_decision():
    found = verdict(tests=(TestResult("moments", 0.2, 0.4), TestResult("ksd", 1e-4, 0.2)))
    document = found.to_dict()
    assert (document["p_ksd"], document["p_critic"], document["decided_by"]) == (1e-4, None, "ksd")
    assert document["sentence"] == found.sentence
    assert isinstance(found, sk.Verdict)
