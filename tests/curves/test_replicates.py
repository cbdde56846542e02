"""Seeds side by side: bands against SciPy's quantiles and bootstrap, crossings of curves that are known."""

import math

import numpy as np
import pytest
from scipy import stats

from steinkit.curves import bands, crossing, fit_rate
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


def test_the_interval_of_the_median_is_that_of_scipys_bootstrap():
    values = np.random.default_rng(1).lognormal(size=(25, 2))
    found = bands(values, SIZES[:2], level=0.9)
    for k in range(2):
        other = stats.bootstrap((values[:, k],), np.median, confidence_level=0.9, method="percentile", rng=3)
        assert found.interval[k] == pytest.approx(list(other.confidence_interval), rel=0.1)


def test_a_missing_value_leaves_the_others_theirs():
    found = bands([[1.0, math.nan], [3.0, math.nan], [2.0, 7.0]], [1, 2])
    assert found.median.tolist() == [2.0, 7.0]
    assert found.low[1] == found.high[1] == 7.0


def test_a_single_seed_has_a_curve_and_no_interval():
    found = bands([[3.0, 2.0, 1.0]], [1, 2, 3])
    assert found.median.tolist() == found.low.tolist() == found.high.tolist() == [3.0, 2.0, 1.0]
    assert np.isnan(found.interval).all()
    assert found.rate().kind == "regression"


def test_the_rate_is_that_of_the_medians_and_the_single_ones_are_each_seeds():
    rng = np.random.default_rng(2)
    values = 2.0 * SIZES ** rng.normal(-0.5, 0.1, (15, 1))
    found = bands(values, SIZES)
    alone = found.single_rates()
    assert alone == pytest.approx([stats.linregress(np.log(SIZES), np.log(row)).slope for row in values])
    direct = fit_rate(values, SIZES, np.ones(5, dtype=bool))
    assert (found.rate().value, found.rate().interval) == (direct.value, direct.interval)
    assert found.rate(tail_from=100.0).fitted.tolist() == [False, False, True, True, True]


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
def test_what_is_no_band_is_refused(values, against, options):
    with pytest.raises(UsageError):
        bands(values, against, **options)


def test_power_laws_cross_where_they_are_equal():
    """8 n^-1/2 = 2 n^-1/4 at n = 4^4 = 256."""
    late, early = bands([8.0 * SIZES**-0.5] * 3, SIZES), bands([2.0 * SIZES**-0.25] * 3, SIZES)
    found = crossing(late, early)
    assert found.at == pytest.approx(256.0)
    assert found.interval == pytest.approx((256.0, 256.0))
    assert (found.share, found.leads) == (1.0, 1.0)
    back = crossing(early, late)
    assert math.isnan(back.at)
    assert (back.share, back.leads) == (0.0, 0.0)


def test_what_leads_from_the_first_point_does_not_cross():
    low, high = bands([SIZES**-0.5] * 2, SIZES), bands([2.0 * SIZES**-0.5] * 2, SIZES)
    found = crossing(low, high)
    assert math.isnan(found.at)
    assert (found.share, found.leads) == (0.0, 1.0)


def test_the_last_crossing_counts():
    late = bands([[1.0, 0.5, 2.0, 0.5, 0.25]], SIZES)
    early = bands([[0.7, 0.7, 0.7, 0.7, 0.7]], SIZES)
    assert 100.0 < crossing(late, early).at < 300.0


def test_values_that_are_not_positive_cross_on_linear_axes():
    late, early = bands([[1.0, -1.0]], [10, 20]), bands([[0.0, 0.0]], [10, 20])
    assert crossing(late, early).at == pytest.approx(15.0)


def test_the_interval_of_a_crossing_holds_it_and_narrows_with_the_seeds():
    rng = np.random.default_rng(3)
    widths = []
    for seeds in (8, 72):
        held = 0
        for _ in range(12):
            late = bands(power_laws(rng, seeds, 8.0, -0.5), SIZES)
            early = bands(power_laws(rng, seeds, 2.0, -0.25), SIZES)
            found = crossing(late, early, rng=rng)
            held += found.interval[0] <= 256.0 <= found.interval[1]
            widths.append(math.log(found.interval[1] / found.interval[0]))
        assert held >= 8  # P(fewer of 12 at 95 %) = 0.02 %
    assert np.median(widths[12:]) == pytest.approx(np.median(widths[:12]) / 3.0, rel=0.5)


def test_curves_at_other_places_do_not_cross():
    with pytest.raises(UsageError, match="same places"):
        crossing(bands([[1.0, 2.0]], [1, 2]), bands([[1.0, 2.0]], [1, 3]))


def test_the_same_seed_gives_the_same_numbers():
    rng = np.random.default_rng(4)
    late, early = (bands(power_laws(rng, 9, scale, power), SIZES) for scale, power in ((8.0, -0.5), (2.0, -0.25)))
    assert crossing(late, early, rng=5) == crossing(late, early, rng=5)
    assert crossing(late, early, rng=5) != crossing(late, early, rng=6)
