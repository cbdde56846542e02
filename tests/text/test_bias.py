"""Text of bias estimates with given numbers."""

import math

import pytest
from support.verdicts import estimate, quantity

from steinkit.diagnosis.bias.repair import Repaired
from steinkit.diagnosis.bias.result import compared_biases

FAR = quantity("far", reason="the margin of error is too wide")


def clause(**given):
    (only,) = estimate(quantity(**given)).quantities
    return only.is_biased, str(only)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"mean_bias": -0.9, "mean_margin": 0.1}, "mean 0.90 ± 0.10 sd too low"),
        ({"mean_bias": 0.054, "mean_margin": 0.0042}, "mean 0.054 ± 0.004 sd too high"),
        ({"sd_bias": math.log(0.74), "sd_margin": 0.04}, "sd 26% ± 3% too small"),
        ({"sd_bias": math.log(1.2), "sd_margin": 0.002}, "sd 20.0% ± 0.2% too large"),
        (
            {"mean_bias": 0.31, "mean_margin": 0.05, "sd_bias": math.log(1.5), "sd_margin": 0.1},
            "mean 0.31 ± 0.05 sd too high, sd 50% ± 15% too large",
        ),
        ({"mean_bias": 0.3, "mean_margin": 0.0}, "mean 0.300 ± 0.001 sd too high"),
    ],
)
def test_a_bias_has_its_sign_and_its_margin(given, expected):
    assert clause(**given) == (True, expected)


@pytest.mark.parametrize(
    "given",
    [
        {"mean_bias": 0.1, "mean_margin": 0.11},  # within its margin
        {"mean_bias": 0.049, "mean_margin": 0.0001},  # too small to be reported
        {"sd_bias": -0.2, "sd_margin": 0.21},
        {"mean_bias": math.nan, "mean_margin": math.nan, "sd_bias": math.nan, "sd_margin": math.nan, "reason": "few"},
        {"mean_bias": math.inf, "mean_margin": 0.1, "reason": "few"},
    ],
)
def test_a_bias_within_its_margin_is_not_reported(given):
    assert clause(**given) == (False, "")


def test_the_worst_come_first_then_the_accuracy_of_the_others():
    found = estimate(quantity("mu", mean_bias=0.01), quantity("tau", mean_bias=-0.9, mean_margin=0.1))
    assert [each.name for each in found.quantities] == ["tau", "mu"]
    assert found.sentence.startswith("tau: mean 0.90 ± 0.10 sd too low. ")
    assert found.sentence.endswith(" mu: mean within 0.03 sd, sd within 2%.")


def test_of_many_three_are_named():
    many = [quantity(f"b{k}", mean_bias=1.0 - 0.1 * k) for k in range(6)]
    said = estimate(*many).sentence
    assert ("b2: " in said, "b3" in said, "; 3 more are biased." in said) == (True, False, True)
    assert "more" not in estimate(*many[:3]).sentence


def test_the_accuracy_is_that_of_the_worst_quantity():
    found = estimate(quantity("a"), quantity("b", mean_bias=0.05, mean_margin=0.06))
    assert found.sentence == found.accuracy_sentence == "All quantities: mean within 0.11 sd, sd within 2%."
    assert estimate(quantity("a"), FAR).accuracy_sentence == ""


def test_unknown_biases_have_a_reason():
    found = estimate(quantity("near"), quantity("by"), FAR, FAR | {"name": "farther"})
    assert "All reliable quantities: mean within 0.02 sd" in found.sentence
    assert "far and farther could not be estimated: the margin of error is too wide." in found.sentence
    none = estimate(FAR, FAR | {"name": "farther"})
    assert none.sentence == "The biases of means and sds could not be estimated: the margin of error is too wide."
    assert none.tables() == ()


def test_a_run_that_was_too_short_reports_the_change_of_the_means():
    found = estimate(FAR | {"at_least": 0.4}, quantity("near"), FAR | {"name": "farther", "at_least": 3.0})
    assert "farther by 3 sd and far by 0.4 sd" in found.sentence
    assert "moved them" not in estimate(FAR, quantity("near")).sentence


@pytest.mark.parametrize(
    ("method", "how"),
    [
        ("regression", "by regression on Stein features"),
        ("run", "by a short exact run from every draw"),
    ],
)
def test_the_method_and_its_features_are_named(method, how):
    number, findings, last = estimate(quantity(mean_bias=0.3), method=method, features="affine").statements()
    assert "0.3 ± 0.028 posterior standard deviations" in number.text
    assert findings.text == "mu: mean 0.30 ± 0.02 sd too high."
    assert how in last.text
    assert "affine vector fields" in last.text


def test_a_repair_has_the_biases_before_and_after():
    before, after = estimate(quantity("tau", mean_bias=-0.9)), estimate(quantity("tau"))
    done, first, second = Repaired([0] * 1000, "weights", 849.6, before, after, ()).statements()
    assert done.text == "Repaired: 1000 weighted draws, effective size 850."
    assert first.text == f"Before: {before.sentence}"
    assert second.text == f"After: {after.sentence}"
    assert "a short exact run" in Repaired([0] * 1000, "run", 849.6, before, after, ()).headline()


def test_the_table_has_a_row_per_quantity_the_worst_first():
    unknown = dict.fromkeys(("mean_bias", "mean_margin", "sd_bias", "sd_margin"), math.nan)
    found = estimate(
        quantity("far", reason="too few draws", **unknown),
        quantity("mu"),
        quantity("tau", mean_bias=-0.9, mean_margin=0.1, sd_bias=math.log(0.8), sd_margin=0.02),
    )
    (table,) = found.tables()
    assert [row[0] for row in table.rows] == ["tau", "mu", "far"]
    assert table.rows[0][-2:] == ("-0.90 ± 0.10", "-20% ± 2%")
    assert table.rows[2][-3:] == ("?", "?", "?")
    short = found.table(1)
    assert "and 2 more" in short
    assert "mu" not in short


def test_a_bias_that_is_rounded_to_zero_has_no_sign():
    (table,) = estimate(quantity(mean_bias=-0.0004, mean_margin=0.001, sd_bias=-0.0004)).tables()
    assert table.rows[0][-2:] == ("0.000 ± 0.001", "0% ± 2%")


def test_samples_compared_have_a_row_per_quantity_and_sample_the_worst_of_any_first():
    first = estimate(quantity("tau", mean_bias=-0.9, mean_margin=0.1), *map(quantity, ("mu", "nu", "pi", "rho")))
    second = estimate(quantity("mu", mean_bias=0.2), quantity("tau", reason="too few draws"))
    rows = compared_biases({"a": first, "b": second}, None).rows
    assert rows[:4] == (
        ("tau", "a", "-0.90 ± 0.10", "0% ± 2%"),
        ("tau", "b", "?", "?"),
        ("mu", "a", "0.00 ± 0.02", "0% ± 2%"),
        ("mu", "b", "+0.20 ± 0.02", "0% ± 2%"),
    )
    assert len(rows) == 7
    assert compared_biases({"a": first, "b": second}, 2).rows == rows[:5]  # three quantities
    assert compared_biases({"a": estimate(FAR)}, None) is None
    assert compared_biases({}, None) is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"mean_bias": 0.3}, "by 0.30 ± 0.02 sd, more than 0.1."),
        ({"mean_bias": -0.05}, "by 0.05 ± 0.02 sd."),
        ({"mean_bias": 0.09}, "by 0.09 ± 0.02 sd."),
    ],
)
def test_whether_a_bias_matters_has_its_margin(given, expected):
    found = estimate(quantity(**given))
    assert found.matters_sentence(0.1).endswith(expected)
    assert found.is_off_by(0.1) == (given["mean_bias"] == 0.3)
    assert estimate(quantity(**given, reason="too few draws")).matters_sentence(0.1) == ""


def test_a_rejection_reports_how_to_correct_the_draws_or_that_no_bias_shows():
    off, right = quantity("tau", mean_bias=-0.9), quantity("mu")
    assert "`steinkit repair` corrects them" in estimate(off, right).rejected_sentence
    assert "`steinkit repair` may correct them" in estimate(off, right, worth=150).rejected_sentence
    assert "`steinkit repair` may correct them" in estimate(off, FAR).rejected_sentence
    assert "`steinkit repair` corrects the mode weights" in estimate(off, right, method="modes").rejected_sentence
    assert "mean within 0.02 sd" in estimate(right, quantity("nu")).rejected_sentence
    assert "repair" not in estimate(FAR).rejected_sentence
