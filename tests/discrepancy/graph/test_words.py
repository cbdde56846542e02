"""The summary says what is so: direction, draws, comparison, limits."""

import numpy as np
import pytest

import steinkit as sk
from steinkit.describe.numbers import midpoint, rounded_outwards

TARGET = sk.targets.Normal(0.0, dim=2)


def wrong(change, n=150):
    draws = np.random.default_rng(0).standard_normal((n, 2))
    draws[:, 1] = change(draws[:, 1])
    return sk.graph_stein_discrepancy(sk.Sample(draws, names=("alpha", "beta")), TARGET, tolerance=1e-3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda x: x + 1.0, "In beta, the draws sit too high"),
        (lambda x: x - 1.0, "In beta, the draws sit too low"),
        (lambda x: 2.0 * x, "In beta, the draws are spread too widely for this target"),
        (lambda x: 0.3 * x, "In beta, the draws are too concentrated for this target"),
    ],
)
def test_direction_of_the_error(change, words):
    assert words in " ".join(wrong(change).summary().split())


def test_the_worst_coordinate_comes_first_and_the_worst_draw_is_named():
    draws = np.random.default_rng(0).standard_normal((100, 2))
    draws[41] = 9.0, 0.0
    result = sk.graph_stein_discrepancy(draws, TARGET, tolerance=1e-3)
    summary = " ".join(result.summary().split())
    assert summary.index("x1 ") < summary.index("x2 ")
    assert "draw 42 at (9, 0), h = +" in summary
    assert "What this does not prove" in summary


def test_numbers_in_the_summary_are_those_of_the_result():
    result = wrong(lambda x: x)
    summary = " ".join(result.summary().split())
    ends = " and ".join(rounded_outwards(result.lower, result.upper))
    assert f"is {midpoint(result.lower, result.upper)}, proved to lie between {ends}" in summary
    assert float(midpoint(result.lower, result.upper)) == pytest.approx(result.value, rel=1e-5)
    assert "150 draws, 2 coordinates" in summary
    share = result.coordinate_values.max() / result.value
    assert f"{share:.0%}" in summary


def test_a_wide_bracket_is_never_a_bare_number():
    draws = np.random.default_rng(0).standard_normal((60, 2))
    with pytest.warns(sk.SteinkitWarning):
        result = sk.graph_stein_discrepancy(draws, TARGET, tolerance=1e-15)
    summary = " ".join(result.summary().split())
    assert "The graph Stein discrepancy lies between" in summary
    assert "quote both ends" in summary
    assert "proved" not in summary


def test_comparison_with_independent_draws():
    result, worse = wrong(lambda x: x), wrong(lambda x: x + 1.0)
    reference = sk.reference_discrepancy(TARGET, 150, 4, tolerance=1e-3)
    assert "Compared with what?" in result.summary()
    told = " ".join(worse.summary(reference).split())
    assert "This sample is above all of them" in told
    assert f"{worse.value / reference.median:.2f} times their median" in told
    assert "sampling noise" not in told
    values = np.array([0.5, 0.9, 1.0, 9.0])
    inside = sk.Reference(lower=values, upper=values, n=150)
    assert "within their range" in " ".join(result.summary(inside).split())
    assert "sampling noise" in result.summary(inside)
    below = sk.Reference(lower=inside.lower + 50.0, upper=inside.upper + 50.0, n=150)
    assert "below all of them" in " ".join(result.summary(below).split())
    assert "no praise" in " ".join(result.summary(below).split())
    assert "sampling noise" not in result.summary(below)
    single = " ".join(result.summary(sk.Reference(lower=values[:1], upper=values[:1], n=150)).split())
    assert "one independent sample of 150 draws from the target has discrepancy 0.5" in single
    assert "score five or more" in single


@pytest.mark.parametrize(
    ("lower", "upper", "text"),
    [
        (0.22232093766, 0.22232093794, "0.22232093 and 0.22232094"),
        (1 / 3, 1 / 3, "0.333333 and 0.333334"),
        (0.1129, 0.1201, "0.112900 and 0.120100"),
    ],
)
def test_brackets_are_rounded_outwards(lower, upper, text):
    assert " and ".join(rounded_outwards(lower, upper)) == text
    low, high = map(float, rounded_outwards(lower, upper))
    assert low <= lower
    assert high >= upper
    assert low <= float(midpoint(lower, upper)) <= high


@pytest.mark.parametrize(
    ("spread", "words"), [(2.0, "stray too far from the modes"), (0.4, "crowd the modes too closely")]
)
def test_direction_where_there_are_two_modes(spread, words):
    """Each mode too wide or too narrow, the modes themselves in place: no shift and no stretch of the whole."""
    means = np.array([[-10.0, 0.0], [10.0, 0.0]])
    draws = np.repeat(means, 100, axis=0) + spread * np.random.default_rng(1).standard_normal((200, 2))
    result = sk.graph_stein_discrepancy(draws, sk.targets.GaussianMixture(means, 1.0), tolerance=1e-3)
    assert f"In x1, the draws {words}" in " ".join(result.summary().split())
