"""Text of graph results: comparison, limits, and the table of coordinates."""

import numpy as np
import pytest

import steinkit as sk

TARGET = sk.targets.Normal(0.0, dim=2)


def wrong(change, n=150):
    draws = np.random.default_rng(0).standard_normal((n, 2))
    draws[:, 1] = change(draws[:, 1])
    return sk.graph_stein_discrepancy(sk.Sample(draws, names=("alpha", "beta")), TARGET, tolerance=1e-3)


def test_a_wide_bracket_is_never_a_bare_number():
    draws = np.random.default_rng(0).standard_normal((60, 2))
    with pytest.warns(sk.SteinkitWarning):
        result = sk.graph_stein_discrepancy(draws, TARGET, tolerance=1e-15)
    summary = " ".join(result.summary().split())
    assert "The graph Stein discrepancy lies between" in summary
    assert "Report both bounds" in summary
    assert "proved" not in summary


def test_comparison_with_independent_draws():
    result, worse = wrong(lambda x: x), wrong(lambda x: x + 1.0)
    reference = sk.reference_discrepancy(TARGET, 150, 4, tolerance=1e-3)
    assert "as a reference" in " ".join(result.summary().split())
    said = " ".join(worse.summary(reference).split())
    assert f"the largest of all 5, {worse.value / reference.median:.2f} times the median" in said
    assert "largest with probability 1/5" in said
    values = np.array([0.5, 0.9, 1.0, 9.0])
    inside = sk.Reference(lower=values, upper=values, n=150)
    assert "smallest of all 5" in " ".join(result.summary(inside).split())
    below = sk.Reference(lower=inside.lower + 50.0, upper=inside.upper + 50.0, n=150)
    assert "the smallest of all 5" in " ".join(result.summary(below).split())
    assert "may also have a small value" in " ".join(result.summary(below).split())
    single = " ".join(result.summary(sk.Reference(lower=values[:1], upper=values[:1], n=150)).split())
    assert "1 independent sample of 150 draws from the target: 0.5 to 0.5, median 0.5." in single
    assert "The value of this sample is" not in single


def test_coordinates_are_compared_with_independent_samples():
    """A narrow coordinate also dominates exact samples; the biased coordinate is reported first."""
    target = sk.targets.Normal([0.0, 0.0], covariance=np.diag([0.01, 1.0]))
    draws = target.sample(300, np.random.default_rng(0)) + np.array([0.0, 0.5])
    result = sk.graph_stein_discrepancy(draws, target, tolerance=1e-3)
    reference = sk.reference_discrepancy(target, 300, 5, tolerance=1e-3)
    medians = np.median(reference.coordinates, axis=0)
    assert reference.to_dict()["coordinates"] == medians.tolist()
    values = result.coordinate_values
    assert values[0] > values[1]
    assert values[1] / medians[1] > 1.5 > values[0] / medians[0]
    (table,) = result.tables(reference)
    assert table.columns == ("coordinate", "discrepancy", "times expected", "certified between")
    assert [row[2] for row in table.rows] == [
        f"{ratio:.2f}" for ratio in (result.value / reference.median, *(values / medians)[::-1])
    ]
    assert result.tables()[0].columns == ("coordinate", "discrepancy", "certified between")
