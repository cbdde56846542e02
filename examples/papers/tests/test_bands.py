"""Bands of several seeds, compared with SciPy's quantiles and bootstrap."""

import math

import numpy as np
import pytest
from _bands import bands
from scipy import stats

from steinkit.curves import fit_rate
from steinkit.errors import UsageError

SIZES = np.array([10.0, 30.0, 100.0, 300.0, 1000.0])


def power_laws(rng, seeds, scale, power, noise=0.2, floor=0.0):
    return (scale * SIZES**power + floor) * np.exp(rng.normal(0.0, noise, (seeds, 1)))


def test_median_and_band_are_quantiles_over_the_seeds():
    values = np.random.default_rng(0).lognormal(size=(21, 5))
    found = bands(values, SIZES, quantiles=(0.25, 0.75))
    assert found.median == pytest.approx(np.median(values, axis=0))
    assert found.low == pytest.approx(stats.scoreatpercentile(values, 25, axis=0))
    assert found.high == pytest.approx(stats.scoreatpercentile(values, 75, axis=0))
    assert found.quantiles == (0.25, 0.75)


def test_the_interval_of_the_median_equals_scipys_bootstrap():
    values = np.random.default_rng(1).lognormal(size=(25, 2))
    found = bands(values, SIZES[:2], level=0.9)
    for k in range(2):
        other = stats.bootstrap((values[:, k],), np.median, confidence_level=0.9, method="percentile", rng=3)
        assert found.interval[k] == pytest.approx(list(other.confidence_interval), rel=0.1)


def test_a_missing_value_does_not_change_the_others():
    found = bands([[1.0, math.nan], [3.0, math.nan], [2.0, 7.0]], [1, 2])
    assert found.median.tolist() == [2.0, 7.0]
    assert found.low[1] == found.high[1] == 7.0


def test_a_single_seed_has_a_curve_and_no_interval():
    found = bands([[3.0, 2.0, 1.0]], [1, 2, 3])
    assert found.median.tolist() == found.low.tolist() == found.high.tolist() == [3.0, 2.0, 1.0]
    assert np.isnan(found.interval).all()
    assert np.isnan(found.rate().rate_interval).all()


def test_rates_of_the_medians_and_of_single_seeds():
    rng = np.random.default_rng(2)
    values = 2.0 * SIZES ** rng.normal(-0.5, 0.1, (15, 1))
    found = bands(values, SIZES)
    alone = found.single_rates()
    assert alone == pytest.approx([stats.linregress(np.log(SIZES), np.log(row)).slope for row in values])
    direct = fit_rate(values, SIZES, np.ones(5, dtype=bool))
    assert (found.rate().rate, found.rate().rate_interval) == (direct.rate, direct.rate_interval)
    assert found.rate(tail_from=100.0).tail.tolist() == [False, False, True, True, True]


@pytest.mark.parametrize(
    ("values", "against", "options"),
    [
        ([1.0, 2.0], [1, 2], {}),
        ([[1.0, 2.0]], [1, 2, 3], {}),
        ([[1.0, 2.0]], [2, 1], {}),
        ([[1.0, 2.0]], [1, math.inf], {}),
        ([[1.0, 2.0]], [1, 2], {"quantiles": (0.9, 0.1)}),
        ([[1.0, 2.0]], [1, 2], {"level": 1.0}),
        (np.empty((0, 2)), [1, 2], {}),
    ],
)
def test_invalid_bands_are_refused(values, against, options):
    with pytest.raises(UsageError):
        bands(values, against, **options)
