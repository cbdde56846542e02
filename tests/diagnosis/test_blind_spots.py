"""Modes far apart, whose distance makes the unit, are told from heavy tails, funnels and correlation."""

import numpy as np
import pytest

import steinkit as sk
from steinkit.blind_spots import far_apart
from steinkit.units import Units


def told(x, scores, units="own"):
    points = sk.Sample(x).distinct()
    return tuple(far_apart(points, scores[points.first], Units.of(units, points)))


def mixture(seed, n, apart, modes=2, shares=None):
    """Draws of normal modes on a line with a further normal coordinate, and scores."""
    rng = np.random.default_rng(seed)
    centres = apart * np.arange(modes)
    shares = np.full(modes, 1.0 / modes) if shares is None else np.asarray(shares)
    x = rng.choice(centres, size=n, p=shares) + rng.standard_normal(n)
    logs = np.log(shares) - 0.5 * (x[:, None] - centres) ** 2
    belongs = np.exp(logs - logs.max(axis=1, keepdims=True))
    belongs /= belongs.sum(axis=1, keepdims=True)
    y = rng.standard_normal(n)
    return np.column_stack([x, y]), np.column_stack([(belongs * (centres - x[:, None])).sum(axis=1), -y])


def student(rng, n):
    x = rng.standard_t(1.5, (n, 2))
    return x, -2.5 * x / (1.5 + x**2)


def gamma(rng, n):
    x = rng.gamma(0.5, size=(n, 2))
    return x, -0.5 / x - 1.0


def u_shaped(rng, n):
    x = np.clip(rng.beta(0.2, 0.2, (n, 2)), 1e-12, 1.0 - 1e-12)
    return x, -0.8 / x + 0.8 / (1.0 - x)


def funnel(rng, n):
    v = 3.0 * rng.standard_normal(n)
    x = np.exp(v / 2.0)[:, None] * rng.standard_normal((n, 5))
    own = -v / 9.0 + 0.5 * (x**2).sum(axis=1) * np.exp(-v) - 2.5
    return np.column_stack([v, x]), np.column_stack([own, -x * np.exp(-v)[:, None]])


def correlated(rng, n):
    covariance = np.array([[1.0, 0.9999], [0.9999, 1.0]])
    x = rng.multivariate_normal([0.0, 0.0], covariance, n)
    return x, -x @ np.linalg.inv(covariance)


def late(rng, n):
    """A chain that started far off."""
    x = rng.standard_normal((n, 2))
    x[: n // 10] += 40.0
    return x, -x


@pytest.mark.parametrize("n", [50, 200, 1000])
@pytest.mark.parametrize("draws", [student, gamma, u_shaped, funnel, correlated, late])
def test_what_has_one_mode_is_not_told(draws, n):
    """Though a standard deviation times that of the score is as large as 70 or more in four of the six."""
    assert sum(bool(told(*draws(np.random.default_rng(seed), n))) for seed in range(20)) == 0


@pytest.mark.parametrize("n", [50, 200, 1000])
@pytest.mark.parametrize(
    ("apart", "modes", "shares", "wanted"),
    [(6.0, 2, None, 0), (20.0, 2, None, 20), (400.0, 2, None, 20), (400.0, 2, [0.1, 0.9], 13), (50.0, 4, None, 18)],
)
def test_modes_are_told_from_about_twelve_of_their_deviations(n, apart, modes, shares, wanted):
    """One of ten holds fewer than three of 50 draws in a ninth of the samples."""
    found = [told(*mixture(seed, n, apart, modes, shares)) for seed in range(20)]
    hits = sum(map(bool, found))
    assert hits >= wanted
    assert hits == 0 or wanted > 0
    assert all("in x1 (" in each[0] and "x2" not in each[0] for each in found if each)


def test_units_that_were_given_are_their_users_business():
    x, scores = mixture(0, 200, 400.0)
    assert told(x, scores)
    assert not told(x, scores, "raw")
    assert not told(x, scores, [1.0, 1.0])
    assert not told(x[:5], scores[:5])


def test_scale_and_sign_of_a_coordinate_do_not_matter():
    x, scores = mixture(1, 300, 30.0)
    for factor in (-1.0, 1e-5, -1e8):
        assert told(factor * x, scores / factor) == told(x, scores)


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
def test_whatever_is_in_standard_units_says_so(take):
    x, scores = mixture(2, 300, 100.0)
    with pytest.warns(sk.SteinkitWarning, match="groups far apart in x1"):
        take(x, scores)


def test_within_far_modes_a_wrong_spread_is_missed_in_own_units_and_found_in_those_of_a_group():
    """What the caution is about, and that its remedy helps."""
    x, scores = mixture(3, 1000, 400.0)
    centre = 400.0 * np.round(x[:, 0] / 400.0)
    wide = x.copy()
    wide[:, 0] = centre + 1.5 * (x[:, 0] - centre)
    score = np.column_stack([centre - wide[:, 0], scores[:, 1]])
    assert sk.moment_stein_discrepancy(wide, scores=score).p_value > 0.01
    first = wide[:, 0] < 200.0
    assert sk.moment_stein_discrepancy(wide[first], scores=score[first]).p_value < 1e-6
