"""Accuracy of distribution functions and tail integrals, against values with thirty digits."""

import mpmath as mp
import numpy as np
import pytest

import steinkit as sk
from steinkit.targets import Gamma, GaussianMixture, Normal, StudentT, Uniform
from steinkit.targets.family import log1p_minus, stirling_error

DEVIATIONS = (-8.0, -4.6, -2.0, -0.9, -0.01, 0.01, 0.3, 1.1, 3.0, 6.0)


@pytest.fixture(autouse=True)
def _thirty_digits():
    with mp.workdps(30):
        yield


def integrals(x, mean, share, spread):
    """Compute E max(x - X, 0) = (x - m) F + sigma and E max(X - x, 0) from F, 1 - F and sigma(x)."""
    below, above = share
    return (x - mean) * below + spread, spread - (x - mean) * above


def sum_of_panels(function, a, b, panels=40):
    """Integrate by a Gauss rule with eight nodes per panel."""
    nodes, weights = np.polynomial.legendre.leggauss(8)
    width = (b - a) / panels
    half = width / 2
    return sum(
        half * mp.mpf(w) * function(a + k * width + half * (1 + mp.mpf(t)))
        for k in range(panels)
        for t, w in zip(nodes, weights, strict=True)
    )


def gamma_exactly(shape, x):
    first = mp.exp(shape * mp.log(x) - x - mp.loggamma(shape))
    if shape <= 1000:
        below = mp.gammainc(shape, 0, x, regularized=True)
    else:
        density = lambda s: mp.exp(shape * s - mp.exp(s) - mp.loggamma(shape))  # noqa: E731
        width, place = 1 / mp.sqrt(shape), mp.log(x)
        below = sum_of_panels(density, place - 16 * width, place)
    return (below, 1 - below), integrals(x, shape, (below, 1 - below), first)


def student_exactly(df, x):
    constant = mp.exp(mp.loggamma((df + 1) / 2) - mp.loggamma(df / 2)) / mp.sqrt(mp.pi * df)
    center = sum_of_panels(lambda t: constant * mp.exp(-(df + 1) / 2 * mp.log1p(t * t / df)), mp.mpf(0), abs(x), 30)
    large, small = mp.mpf(1) / 2 + center, mp.mpf(1) / 2 - center
    share = (large, small) if x > 0 else (small, large)
    spread = df / (df - 1) * constant * mp.exp(-(df - 1) / 2 * mp.log1p(x * x / df))
    return share, integrals(x, 0, share, spread)


def normal_exactly(x):
    share = mp.ncdf(x), mp.ncdf(-x)
    return share, integrals(x, 0, share, mp.npdf(x))


def largest_errors(target, values, exactly):
    """Return the largest errors of the cdf, and of the integrals relative to E|X - x|."""
    cdf, tails = target.cdf(values), target.tail_integrals(values)
    worst = [mp.mpf(0), mp.mpf(0)]
    for x, found, (below, above) in zip(map(float, values), cdf, tails, strict=True):
        (share, _), (wanted_below, wanted_above) = exactly(mp.mpf(x))
        wrong = max(abs(below - wanted_below), abs(above - wanted_above)) / (wanted_below + wanted_above)
        worst = [max(worst[0], abs(found - share)), max(worst[1], wrong)]
    return worst


def around(mean, deviation, low, high):
    places = mean + deviation * np.array(DEVIATIONS)
    return places[(places > low) & (places < high)]


@pytest.mark.parametrize("shape", [0.3, 1.0, 2.5, 15.9, 16.1, 1000.0, 1e5])
def test_gamma(shape):
    target = Gamma(shape)
    values = around(shape, shape**0.5, 0.0, np.inf)
    assert max(largest_errors(target, values, lambda x: gamma_exactly(mp.mpf(shape), x))) <= target.cdf_accuracy


@pytest.mark.parametrize("df", [1.1, 3.0, 31.0, 100.0, 1e4, 1e6, 1e9, 1e12])
def test_student(df):
    values = np.array(DEVIATIONS)
    assert max(largest_errors(StudentT(df), values, lambda x: student_exactly(mp.mpf(df), x))) < 1e-14


def test_normal_and_mixture():
    values = np.array([-37.0, *DEVIATIONS, 37.0])
    assert max(largest_errors(Normal(), values, normal_exactly)) < 1e-15
    one = GaussianMixture([0.0, 0.0], weights=[1.0, 2.0])
    assert max(largest_errors(one, values, normal_exactly)) < 1e-15


@pytest.mark.parametrize("size", [1e-100, 1.0, 1e100])
def test_integrals_have_the_unit_of_the_points(size):
    values = np.array([-1.3, 0.1, 0.4, 2.0])
    for target, scaled in (
        (Normal(0.1), GaussianMixture([0.1 * size], sd=size)),
        (Uniform(-1.0, 1.5), Uniform(-size, 1.5 * size)),
        (StudentT(3.0), StudentT(3.0, scale_matrix=size**2)),
        (Gamma(2.0, 1.0), Gamma(2.0, 1.0 / size)),
    ):
        np.testing.assert_allclose(
            scaled.tail_integrals(values * size) / size, target.tail_integrals(values), rtol=1e-14
        )


def test_stirling_and_logarithms():
    for z in (0.01, 0.5, 1.0, 15.999, 16.0, 16.001, 40.0, 1e6, 1e15):
        exact = mp.loggamma(z) - (mp.mpf(z) - 0.5) * mp.log(z) + z - mp.log(2 * mp.pi) / 2
        assert abs(stirling_error(z) - exact) < 2e-15 * (1 + abs(exact))
    for t in (-0.999, -0.4001, -0.3999, -1e-3, -1e-9, 0.0, 1e-200, 1e-12, 0.1, 0.3999, 0.4001, 5.0, 1e6):
        with mp.workdps(60):
            exact = mp.log1p(mp.mpf(t)) - mp.mpf(t)
        assert abs(float(log1p_minus(np.array(t))) - exact) <= 3e-15 * abs(exact)


@pytest.mark.parametrize(
    ("target", "exactly", "draw"),
    [
        (StudentT(1e6), lambda x: student_exactly(mp.mpf(10) ** 6, x), 0.7),
        (Gamma(1e5), lambda x: gamma_exactly(mp.mpf(10) ** 5, x), 98_500.0),
    ],
)
def test_brackets_contain_the_distance_to_a_point_mass(target, exactly, draw):
    """The distance to a point mass at x is E|X - x|."""
    result = sk.wasserstein_distance([draw], target)
    assert result.lower <= sum(exactly(mp.mpf(draw))[1]) <= result.upper
    assert result.gap < 2e-8
    assert result.claims == "found"
