"""Distant modes, which determine the unit of a coordinate, cause a warning; heavy tails and funnels do not."""

import numpy as np
import pytest
from support.bias_samples import funnel

import steinkit as sk
from steinkit.blind_spots import far_apart
from steinkit.units import Units


def warnings_for(x, scores, units="own"):
    points = sk.Sample(x).distinct()
    return tuple(far_apart(points, scores[points.first], Units.of(units, points)))


def mixture(seed, n, apart, modes=2, shares=None):
    """Return draws from normal modes on a line, with another normal coordinate, and their scores."""
    centres = np.column_stack([apart * np.arange(modes), np.zeros(modes)])
    target = sk.targets.GaussianMixture(centres, sd=1.0, weights=shares)
    x = target.sample(n, np.random.default_rng(seed))
    return x, target.score(x)


def student(rng, n):
    x = rng.standard_t(1.5, (n, 2))
    return x, -2.5 * x / (1.5 + x**2)


def gamma(rng, n):
    x = rng.gamma(0.5, size=(n, 2))
    return x, -0.5 / x - 1.0


def u_shaped(rng, n):
    x = np.clip(rng.beta(0.2, 0.2, (n, 2)), 1e-12, 1.0 - 1e-12)
    return x, -0.8 / x + 0.8 / (1.0 - x)


def correlated(rng, n):
    covariance = np.array([[1.0, 0.9999], [0.9999, 1.0]])
    x = rng.multivariate_normal([0.0, 0.0], covariance, n)
    return x, -x @ np.linalg.inv(covariance)


def late(rng, n):
    """Return a chain with a distant start."""
    x = rng.standard_normal((n, 2))
    x[: n // 10] += 40.0
    return x, -x


@pytest.mark.parametrize("n", [50, 200, 1000])
@pytest.mark.parametrize("draws", [student, gamma, u_shaped, funnel, correlated, late])
def test_unimodal_draws_have_no_warning(draws, n):
    """In four of the six, the sd of the draws times that of the score is at least 70."""
    assert sum(bool(warnings_for(*draws(np.random.default_rng(seed), n))) for seed in range(20)) == 0


@pytest.mark.parametrize("n", [50, 200, 1000])
@pytest.mark.parametrize(
    ("apart", "modes", "shares", "expected"),
    [(6.0, 2, None, 0), (20.0, 2, None, 20), (400.0, 2, None, 20), (400.0, 2, [0.1, 0.9], 13), (50.0, 4, None, 18)],
)
def test_modes_have_a_warning_from_a_distance_of_about_twelve_sds(n, apart, modes, shares, expected):
    """With weights of .1 and .9, a mode has fewer than three of 50 draws in a ninth of the samples."""
    found = [warnings_for(*mixture(seed, n, apart, modes, shares)) for seed in range(20)]
    hits = sum(map(bool, found))
    assert hits >= expected
    assert hits == 0 or expected > 0
    assert all("in x1 (" in each[0] and "x2" not in each[0] for each in found if each)


def test_given_units_have_no_warning():
    x, scores = mixture(0, 200, 400.0)
    assert warnings_for(x, scores)
    assert not warnings_for(x, scores, "raw")
    assert not warnings_for(x, scores, [1.0, 1.0])
    assert not warnings_for(x[:5], scores[:5])


def test_warning_does_not_depend_on_scale_and_sign():
    x, scores = mixture(1, 300, 30.0)
    for factor in (-1.0, 1e-5, -1e8):
        assert warnings_for(factor * x, scores / factor) == warnings_for(x, scores)


@pytest.mark.parametrize(
    "take",
    [
        lambda x, s: sk.verdict(x, scores=s),
        lambda x, s: sk.moment_stein_discrepancy(x, scores=s),
        lambda x, s: sk.sliced_stein_discrepancy(x, scores=s),
        lambda x, s: sk.sliced_stein_test(x, scores=s),
        lambda x, s: sk.kernel_stein_discrepancy(x, scores=s, units="own"),
        lambda x, s: sk.kernel_stein_test(x, scores=s, units="own"),
        lambda x, s: sk.thin(x, m=5, scores=s),
    ],
)
def test_measures_in_standard_units_have_the_warning(take):
    x, scores = mixture(2, 300, 100.0)
    with pytest.warns(sk.SteinkitWarning, match="groups that are far apart in x1"):
        take(x, scores)


def test_wrong_spread_within_modes_is_detected_in_the_units_of_a_group_only():
    x, scores = mixture(3, 1000, 400.0)
    centre = 400.0 * np.round(x[:, 0] / 400.0)
    wide = x.copy()
    wide[:, 0] = centre + 1.5 * (x[:, 0] - centre)
    score = np.column_stack([centre - wide[:, 0], scores[:, 1]])
    assert sk.moment_stein_discrepancy(wide, scores=score).p > 0.01
    first = wide[:, 0] < 200.0
    assert sk.moment_stein_discrepancy(wide[first], scores=score[first]).p < 1e-6
