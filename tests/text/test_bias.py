"""What is said of biases: by documents made for it, so that every number of a sentence is known."""

import math

import pytest

from steinkit.diagnosis.bias.text import (
    accused_bias_sentence,
    bias_clause,
    bias_sentence,
    bias_statements,
    bias_table,
    compared_biases,
    is_off,
    matters_sentence,
    not_known,
    repair_statements,
    within_sentence,
)


def quantity(name="mu", mean_bias=0.0, mean_margin=0.02, sd_bias=0.0, sd_margin=0.02, reason=""):
    return {
        "name": name,
        "mean": 1.0,
        "sd": 2.0,
        "draws_mean": 1.0 + 2.0 * (mean_bias or 0.0),
        "draws_sd": 2.0 * math.exp(sd_bias or 0.0),
        "mean_bias": mean_bias,
        "sd_bias": sd_bias,
        "mean_margin": mean_margin,
        "sd_margin": sd_margin,
        "reliable": not reason,
        "reason": reason,
    }


def document(*quantities, method="regression", worth=850.0):
    return {"quantities": list(quantities), "method": method, "worth": worth, "draws": 1000, "features": "quadratic"}


@pytest.mark.parametrize(
    ("given", "said"),
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
def test_a_bias_is_said_with_its_sign_and_its_margin(given, said):
    assert bias_clause(quantity(**given)) == said
    assert is_off(quantity(**given))


@pytest.mark.parametrize(
    "given",
    [
        {"mean_bias": 0.1, "mean_margin": 0.11},  # within its margin
        {"mean_bias": 0.049, "mean_margin": 0.0001},  # too small to be worth a word
        {"sd_bias": -0.2, "sd_margin": 0.2},
        {"mean_bias": None, "mean_margin": None, "sd_bias": None, "sd_margin": None, "reason": "too few draws"},
    ],
)
def test_what_is_within_its_margin_is_not_off(given):
    assert not is_off(quantity(**given))
    assert bias_clause(quantity(**given)) == ""


def test_the_worst_are_said_then_how_right_the_others_are():
    off = quantity("tau", mean_bias=-0.9, mean_margin=0.1)
    assert bias_sentence(document(off, quantity("mu", mean_bias=0.01))) == (
        "tau: mean 0.90 ± 0.10 sd too low. The mean of mu is right to 0.03 sd, its sd to 2%."
    )


def test_of_many_three_are_named():
    many = [quantity(f"b{k}", mean_bias=1.0 - 0.1 * k) for k in range(6)]
    said = bias_sentence(document(*many))
    assert said.startswith("b0: mean 1.00 ± 0.02 sd too high; b1: mean 0.90 ± 0.02 sd too high; b2: ")
    assert "; 3 more are off." in said
    assert "b3" not in said
    assert "2 more" not in bias_sentence(document(*many[:3]))


def test_where_all_is_right_it_is_one_sentence():
    assert bias_sentence(document(quantity("a"), quantity("b", mean_bias=0.05, mean_margin=0.06))) == (
        "All means are right to 0.11 sd, their sds to 2%."
    )
    assert bias_sentence(document(quantity("a"))) == "The mean is right to 0.02 sd, its sd to 2%."


def test_what_is_not_known_is_said_with_its_reason():
    far = quantity("far", reason="the margin is too wide (+- 0.4 sd)")
    farther = quantity("farther", reason="the margin is too wide (+- 3 sd)")
    assert bias_sentence(document(quantity("near"), quantity("by"), far, farther)) == (
        "All means that are known are right to 0.02 sd, their sds to 2%. "
        "How far far and farther are off cannot be said: the margin is too wide."
    )
    assert not_known(document(far, farther)) == [
        "How far means and sds are off cannot be said: the margin is too wide."
    ]
    assert not_known(document(quantity("near"))) == []


@pytest.mark.parametrize(
    ("method", "how"),
    [
        ("regression", "by regression on Stein features"),
        ("weights", "by weights of largest entropy"),
        ("run", "by a short exact run from every draw"),
    ],
)
def test_how_it_was_estimated_is_said_and_how_far_it_sees(method, how):
    first, second = bias_statements(document(quantity(), method=method))
    assert first.text == bias_sentence(document(quantity()))
    assert how in second.text
    assert "as far as quadratic vector fields see" in second.text
    fewer = bias_statements({**document(quantity(), method=method), "features": "affine"})[1]
    assert "as far as affine vector fields see; more draws allow quadratic ones" in fewer.text


def test_a_repair_says_what_was_and_what_is():
    before, after = document(quantity("tau", mean_bias=-0.9)), document(quantity("tau"))
    given = {"draws": 1000, "worth": 849.6, "before": before, "after": after, "method": "weights"}
    texts = [each.text for each in repair_statements(given)]
    assert texts[0] == "Repaired: 1000 weighted draws, worth 850."
    assert texts[1] == "Before: tau: mean 0.90 ± 0.02 sd too low."
    assert texts[2] == "After: The mean is right to 0.02 sd, its sd to 2%."
    moved = repair_statements({**given, "method": "run"})[0].text
    assert moved == "Repaired: 1000 draws, each moved by a short exact run."


def test_the_table_has_a_row_a_quantity_in_their_order():
    rows = [
        quantity("tau", mean_bias=-0.9, mean_margin=0.1, sd_bias=math.log(0.8), sd_margin=0.02),
        quantity("mu"),
        quantity("far", mean_bias=None, mean_margin=None, sd_bias=None, sd_margin=None, reason="too few draws"),
    ]
    lines = bias_table(document(*rows), None).splitlines()
    named = [line for line in lines if line.split() and line.split()[0] in {"tau", "mu", "far"}]
    assert [line.split()[0] for line in named] == ["tau", "mu", "far"]
    assert "-0.90 ± 0.10" in named[0]
    assert "-20% ± 2%" in named[0]
    assert named[2].split()[-3:] == ["?", "?", "?"]
    short = bias_table(document(*rows), 1)
    assert short.endswith("and 2 more")
    assert "mu" not in short


def test_what_is_rounded_to_zero_has_no_sign():
    line = bias_table(document(quantity(mean_bias=-0.0004, mean_margin=0.001, sd_bias=-0.0004)), None).splitlines()[-1]
    assert "  0.000 ± 0.001" in line
    assert "  0% ± 2%" in line
    assert "-" not in line


def test_samples_compared_have_a_row_a_quantity_and_sample_the_worst_of_any_first():
    first = document(quantity("tau", mean_bias=-0.9, mean_margin=0.1), *map(quantity, ("mu", "nu", "pi", "rho")))
    second = document(quantity("mu", mean_bias=0.2), quantity("tau", reason="too few draws"))
    rows = compared_biases({"a": first, "b": second}, None).rows
    assert rows[:4] == (
        ("tau", "a", "-0.90 ± 0.10", "0% ± 2%"),
        ("tau", "b", "?", "?"),
        ("mu", "a", "0.00 ± 0.02", "0% ± 2%"),
        ("mu", "b", "+0.20 ± 0.02", "0% ± 2%"),
    )
    assert len(rows) == 7
    assert compared_biases({"a": first, "b": second}, 2).rows == rows[:5]  # three quantities
    unknown = document(quantity("far", reason="too few draws"))
    assert compared_biases({"a": unknown}, None) is None
    assert compared_biases({}, None) is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"mean_bias": 0.3}, "The mean of mu is off by 0.30 ± 0.02 sd, more than 0.1."),
        ({"mean_bias": -0.05}, "No mean is off by more than 0.1 sd: mu's is off by 0.05 ± 0.02."),
        ({"mean_bias": 0.09}, "Whether a mean is off by more than 0.1 sd cannot be said: mu's is off by 0.09 ± 0.02."),
        ({"mean_bias": 0.9, "reason": "too few draws"}, ""),
    ],
)
def test_whether_a_bias_matters_is_said_with_its_margin(given, said):
    assert matters_sentence(document(quantity(**given)), 0.1) == said


def test_an_accusation_says_what_mends_or_that_it_does_not_show():
    off, right = quantity("tau", mean_bias=-0.9), quantity("mu")
    assert accused_bias_sentence(document(off, right)).endswith("`steinkit repair` mends them.")
    assert accused_bias_sentence(document(off, right, worth=150.0)).endswith("`steinkit repair` may mend them.")
    unsure = document(off, quantity("far", reason="too few draws"))
    assert accused_bias_sentence(unsure).endswith("`steinkit repair` may mend them.")
    assert accused_bias_sentence(document(right, quantity("nu"))) == (
        "What is wrong does not show: all means are right to 0.02 sd, their sds to 2%."
    )
    modes = {**document(off, right), "method": "modes"}
    assert accused_bias_sentence(modes).endswith("`steinkit repair` weighs the modes by their shares.")
    unknown = quantity("far", reason="too few draws")
    assert "repair" not in accused_bias_sentence(document(unknown))


def test_how_right_numbers_are_is_said_only_where_all_is_known():
    assert within_sentence(document(quantity("a"), quantity("b"))) == "All means are right to 0.02 sd, their sds to 2%."
    assert within_sentence(document(quantity("a"), quantity("b", reason="too few draws"))) == ""
    assert within_sentence(document()) == ""
