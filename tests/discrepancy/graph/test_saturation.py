"""Saturation: detection, distinction from bias, and advice."""

import re
from functools import cache

import numpy as np
import pytest

import steinkit as sk
from steinkit.discrepancy.graph.readings import advice, expected_saturation, spacing, width_over_target
from steinkit.discrepancy.graph.spanner.geometry import complete_graph


@cache
def scored(n, dim, seed=0, width=1.0, shift=0.0, **settings):
    draws = width * np.random.default_rng(seed).standard_normal((n, dim)) + shift
    return sk.graph_stein_discrepancy(draws, sk.targets.Normal(0.0, dim=dim), tolerance=1e-2, **settings)


def test_narrow_samples_score_lower_if_saturated():
    """With 1000 draws in three dimensions, sd 1, .9 and .8 score 2.310, 2.143 and 2.127."""
    found = [scored(1000, 3, width=width) for width in (1.0, 0.9, 0.8)]
    assert [each.value for each in found] == pytest.approx([2.310, 2.143, 2.127], abs=2e-3)
    assert found[0].saturation == pytest.approx(0.42, abs=0.01)
    assert all(each.is_saturated and "sliced" in each.unranked for each in found)
    assert all(each.unranked in each.warnings for each in found)


def test_advised_stein_factors_restore_the_ranking():
    advised = re.search(r"Stein factors (\S+) or about (\d+) draws", scored(1000, 3).unranked)
    factors = tuple(map(float, advised[1].split(",")))
    right, narrow = (scored(1000, 3, width=width, stein_factors=factors) for width in (1.0, 0.9))
    assert narrow.value > right.value
    assert not right.unranked
    assert right.saturation < 0.2
    assert 7000 <= int(advised[2]) <= 10_000  # 8000 reach .219 of the ceiling, and sd .9 scores 1.11 times sd 1


def test_advised_number_of_draws_restores_the_ranking():
    draws = int(re.search(r"about (\d+) draws", scored(100, 2).unranked)[1])
    right = scored(draws, 2)
    assert not right.unranked
    assert np.mean([scored(draws, 2, seed, 0.9).value / scored(draws, 2, seed).value for seed in range(8)]) > 1.0


@pytest.mark.parametrize(
    ("n", "dim", "changes"),
    [(100_000, 1, {"shift": 3.0}), (1000, 2, {"shift": 3.0}), (1000, 2, {"width": 5.0}), (300, 2, {"width": 0.3})],
)
def test_biased_samples_are_not_saturated(n, dim, changes):
    result = scored(n, dim, **changes)
    assert result.saturation > 0.5
    assert not result.unranked
    assert not result.warnings


@pytest.mark.parametrize("width", [0.1, 1.0, 5.0])
def test_saturation_does_not_depend_on_the_width(width):
    """Otherwise narrow samples would be ranked above exact draws."""
    assert scored(300, 3, width=width).is_saturated


def test_few_draws_in_small_units_saturate_in_one_dimension():
    result = sk.graph_stein_discrepancy(
        100.0 * np.random.default_rng(0).standard_normal(100), sk.targets.Normal(0.0, covariance=[[1e4]])
    )
    assert result.saturation > 0.95
    assert "Stein factors" in result.unranked
    assert "sliced" not in result.unranked


def test_advice_for_extreme_spacing():
    x = 1e90 * np.random.default_rng(0).standard_normal((30, 2))
    found = sk.graph_stein_discrepancy(x, scores=-x)
    assert found.upper > 1e90
    assert advice(1e170, 30, 2, (1.0, 1.0, 1.0)) == ["larger units"]
    assert advice(1e110, 30, 3, (1.0, 1.0, 1.0)) == ["Stein factors 1,1.4e-111,2e-222"]


@pytest.mark.parametrize(("n", "dim"), [(100, 1), (1000, 1), (100, 2), (300, 2), (1000, 2), (1000, 3)])
def test_expected_saturation_of_exact_draws(n, dim):
    """The mean of a few seeds agrees within a factor of 1.5."""
    results = [scored(n, dim, seed) for seed in range(2)]
    reached = np.mean([each.saturation for each in results])
    expected = np.mean([expected_saturation(spacing(each.graph, (1.0, 1.0, 1.0)), dim) for each in results])
    assert reached / 1.5 < expected < 1.5 * reached


def test_spacing():
    graph = complete_graph([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [9.0, 0.0]])  # nearest 1, 1, 3, 6
    assert spacing(graph, (1.0, 1.0, 1.0)) == 2.0
    assert spacing(graph, (1.0, 0.5, 0.25)) == 1.0
    assert spacing(graph, (1.0, 1.0, 4.0)) == 8.0  # length scale c2/c3 = 1/4
    assert spacing(graph, (1.0, 100.0, 4.0)) == 4.0  # length scale sqrt(c1/c3) = 1/2
    assert spacing(complete_graph([[0.0, 0.0]]), (1.0, 1.0, 1.0)) == 0.0


def test_width_over_target():
    draws = np.random.default_rng(0).standard_normal((20_000, 2))
    weights = np.full(len(draws), 1.0 / len(draws))
    widths = np.array([2.0, 8.0])
    assert width_over_target(weights, widths * draws, -widths * draws, None) == pytest.approx(4.0, rel=0.03)
    assert width_over_target(weights, 4.0 * draws, 4.0 * draws, None) == 1.0  # scores point away from the mean
    bounds = np.array([[0.0, np.inf], [-np.inf, np.inf]])
    assert width_over_target(weights, widths * draws, -widths * draws, bounds) == pytest.approx(8.0**0.5, rel=0.03)
