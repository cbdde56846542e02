"""Crossings of known curves, and evenly spaced draws."""

import math

import numpy as np
import pytest
from _bands import bands
from _curves import crossing, evenly_spaced

import steinkit as sk
from steinkit.errors import UsageError

SIZES = np.array([10.0, 30.0, 100.0, 300.0, 1000.0])


def power_laws(rng, seeds, scale, power, noise=0.2):
    return scale * SIZES**power * np.exp(rng.normal(0.0, noise, (seeds, 1)))


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


def test_a_curve_below_from_the_first_point_does_not_cross():
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


def test_the_interval_of_a_crossing_covers_it_and_narrows_with_the_seeds():
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
        assert held >= 8  # P(fewer than 8 of 12) = 0.02% at 95% coverage
    assert np.median(widths[12:]) == pytest.approx(np.median(widths[:12]) / 3.0, rel=0.5)


def test_curves_with_different_abscissas_are_refused():
    with pytest.raises(UsageError, match="same places"):
        crossing(bands([[1.0, 2.0]], [1, 2]), bands([[1.0, 2.0]], [1, 3]))


def test_the_same_seed_gives_the_same_numbers():
    rng = np.random.default_rng(4)
    late, early = (bands(power_laws(rng, 9, scale, power), SIZES) for scale, power in ((8.0, -0.5), (2.0, -0.25)))
    assert crossing(late, early, rng=5) == crossing(late, early, rng=5)
    assert crossing(late, early, rng=5) != crossing(late, early, rng=6)


def test_evenly_spaced_draws_have_both_ends_and_equal_steps():
    sample = sk.Sample(np.arange(100.0), cost=np.arange(100.0))
    found = evenly_spaced(sample, 12)
    assert found.points[:, 0].tolist() == np.linspace(0, 99, 12).tolist()
    assert found.cost.tolist() == found.points[:, 0].tolist()
    assert evenly_spaced(sample, 1).points.tolist() == [[0.0]]
    for n in (0, 101):
        with pytest.raises(UsageError, match="evenly"):
            evenly_spaced(sample, n)
