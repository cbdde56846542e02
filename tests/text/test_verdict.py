"""Decisions and text of verdicts with given numbers."""

from dataclasses import replace

import pytest
from support.verdicts import LOCATION, PAIR, SCALE, estimate, quantity, verdict

import steinkit as sk
from steinkit.diagnosis.verdict_result import TestResult, combined
from steinkit.diagnosis.verdict_text import verdicts_table
from steinkit.result import running_text

WRONG = 2.34e-9
FOUR = tuple(TestResult(*each) for each in (("moments", 0.2, 0.4), ("bounded", 0.6, 0.35), ("sliced", 0.5, 0.25)))


def text(found):
    return " ".join(running_text(found.statements()).split())


def decided(name, p=1e-4, **changes):
    return verdict(tests=(*FOUR, TestResult(name, p, 0.2)), **changes)


def test_the_smallest_corrected_p_value_decides():
    tests = (TestResult("moments", 0.002, 0.3), TestResult("sliced", 0.001, 0.1), TestResult("ksd", 1e-9, 0.0))
    found = verdict(tests=tests)
    assert found.p == pytest.approx(0.002 / 0.3)
    assert (found.is_biased, found.decided_by) == (True, "moments")
    assert combined(tests, 2) == pytest.approx(0.004 / 0.3)
    assert (replace(found, looks=2).is_biased, replace(found, looks=2).decided_by) == (False, None)
    assert combined((TestResult("moments", 0.9, 0.3),), 5) == 1.0


def test_rejected_draws_have_their_worst_finding_and_their_ess():
    found = verdict(WRONG, [LOCATION], ess=850.3)
    assert found.headline().endswith(f"(p = 2.3e-09): {LOCATION.evidence}")
    assert f"{LOCATION.evidence}. ESS 850" in found.sentence
    assert found.label == "biased"


def test_draws_that_pass_are_praised_no_more_than_they_can_show():
    assert "1000 draws with ESS 100 (p = 0.4)" in verdict().sentence
    assert "1000 draws (p = 0.4)" in verdict(ess=float("nan")).sentence
    assert verdict().label == "no bias seen"


def test_a_bias_that_may_be_hidden_is_mentioned_where_none_was_found():
    hiding = ("one draw makes up all of the variance of mu",)
    assert "hide" in verdict(hiding=hiding).sentence
    assert "hide" not in verdict(WRONG, [LOCATION], hiding=hiding).sentence


@pytest.mark.parametrize(("p", "label"), [(0.01, "biased"), (0.0100001, "no bias seen")])
def test_draws_are_rejected_from_the_level_on(p, label):
    assert verdict(p, level=0.01).label == label


@pytest.mark.parametrize("p", [0.5, 1e-12])
def test_too_few_effective_draws_reject_no_sample(p):
    found = verdict(p, enough_draws=False, effective_draws=99.7, draws=900, matters=0.1, p_matters=p)
    assert (found.is_biased, found.decided_by, found.label) == (False, None, "too few draws")
    assert "99 in 900 draws" in found.headline()
    assert "by more than" not in text(found)
    assert "30 in the slowest" in replace(found, effective_draws=29.0).sentence


@pytest.mark.parametrize("p", [0.4, WRONG])
def test_an_ess_that_is_undefined_or_above_the_number_of_draws_is_not_reported(p):
    assert all("ESS" not in verdict(p, ess=ess).sentence for ess in (float("nan"), 1000.6, 2000.0))
    assert "ESS 1000" in verdict(0.4, ess=1000.0).sentence


def test_slow_mixing_may_explain_a_rejection_of_chains():
    assert verdict(WRONG, [LOCATION]).mixed
    slow = verdict(WRONG, [LOCATION], mixed=False)
    assert slow.mixed is False
    assert "R-hat 1.30, ESS 100" in slow.sentence
    weighted = verdict(WRONG, [LOCATION], weighted=True)
    assert weighted.mixed is None
    assert weighted.sentence.endswith("ESS 100.")
    assert "ESS" not in verdict(WRONG, [LOCATION], burn_in=0.3).sentence


def test_ties_are_reported_as_ties():
    """The first two are within a tenth of the worst; the third is not."""
    found = verdict(WRONG, [LOCATION, SCALE, PAIR])
    assert f"{LOCATION.evidence} and {SCALE.evidence}." in found.sentence
    assert f"{LOCATION.evidence}; {SCALE.evidence}; {PAIR.evidence}." in text(found)
    assert found.strongest == (LOCATION, SCALE)
    apart = verdict(WRONG, [LOCATION, replace(SCALE, z=8.1)])
    assert apart.strongest == (LOCATION,)
    assert SCALE.parameters[0] not in apart.headline()
    assert verdict(WRONG).strongest == ()


def test_first_draws_that_are_biased():
    assert "p = 0.3" in verdict(WRONG, burn_in=0.3).headline()
    assert "p = 0.3" in verdict(burn_in=0.3).sentence


@pytest.mark.parametrize(("p", "is_large"), [(1e-5, True), (0.2, False)])
def test_whether_it_matters(p, is_large):
    found = verdict(WRONG, [LOCATION], matters=0.25, p_matters=p)
    assert found.is_large is is_large
    assert ("At least one moment" in found.sentence) == is_large
    assert verdict().is_large is None
    known = replace(found, bias=estimate(quantity(mean_bias=0.3)))
    assert known.sentence.endswith("more than 0.25.")


def test_without_findings_the_test_that_rejects_is_named():
    kernel = decided("ksd")
    assert kernel.decided_by == "ksd"
    assert "only the kernel test" in kernel.sentence
    assert "correlations" in decided("dependence").sentence
    assert "half of the draws" in decided("critic").sentence
    assert verdict(WRONG).headline().endswith(": no single coordinate or pair stands out")


def test_untested_properties_are_always_reported():
    for found in (verdict(), verdict(WRONG, [LOCATION]), verdict(enough_draws=False)):
        assert len(found.not_tested) == 3
        assert all(each in text(found) for each in found.not_tested)
    assert len(decided("modes", 0.5).not_tested) == 2


def test_the_tests_are_listed_with_their_p_values():
    four = verdict(tests=FOUR)
    assert "Tests: moments p = 0.2, bounded moments p = 0.6, slices p = 0.5; combined p = 0.5." in text(four)
    assert "kernel p = 0.13; combined, for 6 looks, p = 1." in text(decided("ksd", 0.13, looks=6))
    assert "p < 1e-300" in text(verdict(0.0))


def test_sizes_follow_the_verdict():
    off, right = quantity("tau", mean_bias=-0.9), quantity("mu")
    assert "tau: mean 0.90" in verdict(WRONG, [LOCATION], bias=estimate(off, right)).sentence
    assert verdict(bias=estimate(right)).sentence.endswith("mean within 0.02 sd, sd within 2%.")
    assert verdict(bias=estimate(right)).tables()[0].rows[0][0] == "mu"
    few = verdict(bias=estimate(right), enough_draws=False)
    assert (few.known_bias, few.tables()) == (None, ())


def test_verdicts_are_shown_in_one_table():
    found = {"a": verdict(1e-9, [LOCATION]), "b": None, "c": verdict(), "d": verdict(1e-9)}
    assert verdicts_table(found).rows == (
        ("a", "biased", "1e-09", "100", "mu is too high"),
        ("b", "none", "-", "-", ""),
        ("c", "no bias seen", "0.4", "100", ""),
        ("d", "biased", "1e-09", "100", "no single coordinate or pair stands out"),
    )
    off = quantity("tau", mean_bias=-0.9)
    judged = verdict(matters=0.1, p_matters=0.9, bias=estimate(off))
    table = verdicts_table({"a": judged, "b": None}, "largest bias")
    assert table.columns == ("sample", "verdict", "p", "p matters", "ESS", "largest bias")
    assert table.rows[0][-3:] == ("0.9", "100", "tau: mean 0.90 ± 0.02 sd too low")
    assert table.rows[1][-3:] == ("-", "-", "not known")


def test_json_contains_the_tests_and_the_decision():
    document = decided("ksd").to_dict()
    assert (document["p_ksd"], document["p_critic"], document["decided_by"]) == (1e-4, None, "ksd")
    assert document["sentence"] == decided("ksd").sentence
    assert isinstance(verdict(), sk.Verdict)
