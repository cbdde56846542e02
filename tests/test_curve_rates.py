"""The fitted rate and its bootstrap interval against closed forms."""

import math

import numpy as np
import pytest

from steinkit.curves import fit_rate, medians

SIZES = np.array([10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0])
ALL = np.ones(len(SIZES), dtype=bool)


def _noisy(rng, noise, repeats):
    return SIZES**-0.5 * np.exp(rng.normal(0.0, noise, (repeats, len(SIZES))))


@pytest.mark.parametrize("power", [-1.0, -0.5, 0.0, 1.0])
def test_a_power_law_is_recovered_and_one_sample_has_no_interval(power):
    found = fit_rate(3.0 * SIZES[None] ** power, SIZES, ALL)
    assert found.rate == pytest.approx(power, abs=1e-12)
    assert found.interval is None
    assert np.isnan(found.rate_interval).all()


def test_only_the_tail_is_fitted():
    values = np.where(SIZES < 100.0, 0.01, SIZES**-1.0)[None]
    found = fit_rate(values, SIZES, SIZES >= 100.0)
    assert found.rate == pytest.approx(-1.0)
    assert fit_rate(values, SIZES, ALL).rate > -0.9
    assert found.tail.tolist() == (SIZES >= 100.0).tolist()


def test_the_bootstrap_interval_has_the_width_of_the_error_of_the_median():
    """The median of R values with log normal noise s has standard error s sqrt(pi / (2 R)), on the logarithm."""
    rng = np.random.default_rng(1)
    noise, repeats = 0.3, 60
    centered = np.log(SIZES) - np.log(SIZES).mean()
    exact = noise * math.sqrt(math.pi / (2 * repeats)) / math.sqrt(centered @ centered)
    found = [fit_rate(_noisy(rng, noise, repeats), SIZES, ALL, rng=k) for k in range(8)]
    widths = [(each.rate_interval[1] - each.rate_interval[0]) / (2 * 1.96) for each in found]
    assert np.mean(widths) == pytest.approx(exact, rel=0.25)
    assert sum(each.rate_interval[0] <= -0.5 <= each.rate_interval[1] for each in found) >= 5
    assert found[0].interval.shape == (len(SIZES), 2)


def test_the_interval_depends_on_the_seed():
    replicates = _noisy(np.random.default_rng(2), 0.3, 9)
    one, again, other = (fit_rate(replicates, SIZES, ALL, rng=seed).rate_interval for seed in (4, 4, 5))
    assert one == again != other


@pytest.mark.parametrize("repeats", [1, 3])
def test_points_without_a_logarithm_are_omitted(repeats):
    values = np.tile(SIZES**-1.0, (repeats, 1))
    values[:, 1], values[:, 3] = -1.0, math.nan
    found = fit_rate(values, SIZES, ALL)
    assert found.rate == pytest.approx(-1.0)
    assert found.tail.tolist() == [True, False, True, False, True, True, True]


@pytest.mark.parametrize("repeats", [1, 3])
def test_two_points_have_no_rate(repeats):
    found = fit_rate(np.tile(SIZES**-1.0, (repeats, 1)), SIZES, SIZES >= 500.0)
    assert math.isnan(found.rate)
    assert all(map(math.isnan, found.rate_interval))


def test_medians_ignore_missing_values():
    values = np.array([[1.0, math.nan], [3.0, math.nan], [math.nan, math.nan]])
    assert medians(values)[0] == 2.0
    assert math.isnan(medians(values)[1])
