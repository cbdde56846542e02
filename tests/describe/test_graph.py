"""The summary says what is so: direction, draws, comparison, limits; so does what is read back from JSON."""

import json

import numpy as np
import pytest

import steinkit as sk
from steinkit.describe.graph import graph_statements
from steinkit.describe.numbers import midpoint, rounded_outwards
from steinkit.describe.render import running_text

TARGET = sk.targets.Normal(0.0, dim=2)


def wrong(change, n=150):
    draws = np.random.default_rng(0).standard_normal((n, 2))
    draws[:, 1] = change(draws[:, 1])
    return sk.graph_stein_discrepancy(sk.Sample(draws, names=("alpha", "beta")), TARGET, tolerance=1e-3)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda x: x + 1.0, "In beta, the draws sit too high"),
        (lambda x: x - 1.0, "In beta, the draws sit too low"),
        (lambda x: 2.0 * x, "In beta, the draws are spread too widely for this target"),
        (lambda x: 0.3 * x, "In beta, the draws are too concentrated for this target"),
    ],
)
def test_direction_of_the_error(change, said):
    assert said in " ".join(wrong(change).summary().split())


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
    said = " ".join(worse.summary(reference).split())
    assert "This sample is above all of them" in said
    assert f"{worse.value / reference.median:.2f} times their median" in said
    assert "sampling noise" not in said
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
    ("spread", "said"), [(2.0, "stray too far from the modes"), (0.4, "crowd the modes too closely")]
)
def test_direction_where_there_are_two_modes(spread, said):
    """Each mode too wide or too narrow, the modes themselves in place: no shift and no stretch of the whole."""
    means = np.array([[-10.0, 0.0], [10.0, 0.0]])
    draws = np.repeat(means, 100, axis=0) + spread * np.random.default_rng(1).standard_normal((200, 2))
    result = sk.graph_stein_discrepancy(draws, sk.targets.GaussianMixture(means, 1.0), tolerance=1e-3)
    assert f"In x1, the draws {said}" in " ".join(result.summary().split())


def test_a_document_read_again_says_all_but_the_findings():
    result = wrong(lambda x: x + 1.0)
    entry = json.loads(json.dumps({**result.document, "findings": result.findings()}))
    sample = {"draws": 150, "distinct": 150, "dim": 2, "names": ["alpha", "beta"]}
    reference = json.loads(json.dumps(sk.Reference(np.array([0.5, 0.9]), np.array([0.5, 0.9]), 150).document))
    again = running_text(graph_statements(entry, reference, sample))
    said = result.summary(sk.Reference(np.array([0.5, 0.9]), np.array([0.5, 0.9]), 150))
    assert said.partition("\n\nCaution:")[0] == again
    del entry["findings"]
    without = graph_statements(entry, reference, sample)
    assert [each.kind for each in without] == ["number", "comparison", "blame", "limits"]
    assert without[2].text.startswith("Coordinate by coordinate: beta ")
    assert "In beta" not in without[2].text


def test_one_coordinate_without_findings_leaves_nothing_to_blame():
    result = sk.graph_stein_discrepancy(np.linspace(-2.0, 2.0, 30), sk.targets.Normal(0.0))
    sample = {"draws": 30, "distinct": 30, "dim": 1, "names": ["x1"]}
    inside = sk.Reference(np.array([0.0, 9.0]), np.array([0.0, 9.0]), 30).document
    said = graph_statements(result.document, inside, sample)
    assert [each.text for each in said if each.kind == "blame"] == [""]
    assert "noise" not in running_text(said)
