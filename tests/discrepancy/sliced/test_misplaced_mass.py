"""Regions with too many draws compared with distribution functions."""

import math

import numpy as np
import pytest
from scipy import stats

from steinkit.diagnosis.findings import misplaced_mass

N = 4000
EQUAL = np.full(N, 1.0 / N)


def of_normal(u, shares=EQUAL):
    """Return the misplaced mass of draws with target N(0, 1)."""
    return misplaced_mass(u, -u, shares)


def true_excess(low, high, distribution):
    """Return the excess probability of the interval over that of the standard normal."""
    own, target = (each.cdf(high) - each.cdf(low) for each in (distribution, stats.norm))
    return own - target


@pytest.mark.parametrize(
    "distribution",
    [
        stats.norm(0.3, 1.0),
        stats.norm(0.0, 1.3),
        stats.norm(0.0, 0.7),
        stats.truncnorm(-1.5, 1.5),
        stats.gamma(8.0, loc=-8.0 / math.sqrt(8.0), scale=1.0 / math.sqrt(8.0)),
    ],
    ids=["shifted", "wide", "narrow", "cut", "skewed"],
)
def test_excess_matches_the_distributions(distribution):
    """The draws are quantiles."""
    low, high, excess = of_normal(distribution.ppf((np.arange(N) + 0.5) / N))
    assert excess == pytest.approx(true_excess(low, high, distribution), abs=0.05)
    x = np.linspace(-4.0, 4.0, 801)
    difference = np.concatenate([[0.0], distribution.cdf(x) - stats.norm.cdf(x), [0.0]])
    assert abs(excess) > 0.7 * (difference.max() - difference.min())  # nearly the largest excess


def test_missing_mode_is_not_detected():
    mixed = stats.norm(-2.0, 0.7), stats.norm(2.0, 0.7)
    quantiles = mixed[0].ppf((np.arange(N) + 0.5) / N)
    weight = 0.9 * mixed[0].pdf(quantiles), 0.1 * mixed[1].pdf(quantiles)
    pull = -(weight[0] * (quantiles + 2.0) + weight[1] * (quantiles - 2.0)) / (weight[0] + weight[1]) / 0.49
    *_, excess = misplaced_mass(quantiles, pull, EQUAL)
    assert abs(excess) < 0.1  # an unvisited mode is not detected


def test_weights_count():
    u = np.random.default_rng(0).standard_normal(N)
    weights = np.where(u > 0.5, 3.0, 1.0)
    low, high, excess = of_normal(u, weights / weights.sum())
    (threshold,) = (end for end in (low, high) if math.isfinite(end))
    assert threshold == pytest.approx(0.5, abs=0.15)
    assert abs(excess) == pytest.approx(3.0 * 0.3085 / (3.0 * 0.3085 + 0.6915) - 0.3085, abs=0.05)
    assert (excess > 0.0) == (high == math.inf)


def test_bounds_are_used():
    """Draws of an exponential distribution without values below 1/2, with bounds [0, inf) and score -1."""
    u = 0.5 + stats.expon.ppf((np.arange(N) + 0.5) / N)
    low, high, excess = misplaced_mass(u, -np.ones(N), EQUAL, (0.0, math.inf))
    assert low == -math.inf
    assert high == pytest.approx(0.5, abs=0.05)
    assert excess == pytest.approx(math.exp(-0.5) - 1.0, abs=0.03)


def test_exact_draws_have_a_small_excess():
    for seed in range(5):
        *_, excess = of_normal(np.random.default_rng(seed).standard_normal(N))
        assert abs(excess) < 0.05


def test_few_draws_and_ties():
    for u in (np.arange(8.0), np.repeat([-1.0, 1.0], 6)):
        *_, excess = misplaced_mass(u, -u, np.full(len(u), 1.0 / len(u)))
        assert math.isfinite(excess)
