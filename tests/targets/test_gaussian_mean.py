"""Posterior of a normal mean, against quadrature and draws."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

import steinkit as sk
from steinkit.targets import GaussianMean


def test_moments_against_quadrature():
    data = np.random.default_rng(0).normal(0.7, 1.5, 12)
    target = GaussianMean(data, variance=2.0, prior_mean=-1.0, prior_variance=0.5)

    def density(t):
        likelihood = stats.norm.pdf(data, t, np.sqrt(2.0)).prod()
        return likelihood * stats.norm.pdf(t, -1.0, np.sqrt(0.5))

    total, first, second = (quad(lambda t, p=p: t**p * density(t), -6.0, 6.0, epsabs=0.0)[0] for p in (0, 1, 2))
    assert target.posterior_mean[0] == pytest.approx(first / total, rel=1e-8)
    assert target.posterior_variance[0] == pytest.approx(second / total - (first / total) ** 2, rel=1e-7)
    ratios = np.exp(np.diff(target.log_density([[0.0], [0.4]])))
    np.testing.assert_allclose(ratios, density(0.4) / density(0.0), rtol=1e-10)


def test_draws_cdf_and_score_agree_with_the_moments():
    target = GaussianMean.simulate(500, theta=2.0, variance=3.0, prior_variance=10.0, rng=1)
    draws = target.sample(20_000, 2)[:, 0]
    assert stats.kstest(draws, target.cdf).pvalue > 1e-3
    assert abs(draws.mean() - target.posterior_mean[0]) < 4.5 * np.sqrt(target.posterior_variance[0] / 20_000)
    np.testing.assert_allclose(target.score([target.posterior_mean]), [[0.0]], atol=1e-9)
    assert abs(target.posterior_mean[0] - 2.0) < 5.0 * np.sqrt(3.0 / 500)


def test_several_coordinates_and_a_flat_prior():
    data = np.random.default_rng(3).normal(size=(40, 3))
    target = GaussianMean(data, variance=[1.0, 2.0, 4.0], prior_variance=[np.inf, 1.0, 1.0], names=["a", "b", "c"])
    assert target.posterior_mean[0] == pytest.approx(data[:, 0].mean())
    np.testing.assert_allclose(target.posterior_variance, [1 / 40, 1 / 21, 1 / 11])
    points = target.sample(10, 1)
    assert target.check(points).compared == points.size
    assert target.names == ("a", "b", "c")


def test_simulated_data_have_the_given_distribution():
    target = GaussianMean.simulate(4000, theta=[1.0, -1.0], variance=[4.0, 1.0], rng=5)
    assert stats.kstest(target.data[0][:, 0], stats.norm(1.0, 2.0).cdf).pvalue > 1e-3
    assert stats.kstest(target.data[0][:, 1], stats.norm(-1.0, 1.0).cdf).pvalue > 1e-3
    again = GaussianMean.simulate(4000, theta=[1.0, -1.0], variance=[4.0, 1.0], rng=5)
    np.testing.assert_array_equal(again.data[0], target.data[0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"data": np.zeros((2, 2, 2))}, "data"),
        ({"variance": [1.0, 2.0]}, "variance"),
        ({"prior_variance": -1.0}, "prior_variance.*-1.0"),
        ({"data": []}, "data"),
    ],
)
def test_bad_parameters_are_rejected(settings, message):
    with pytest.raises(sk.UsageError, match=message):
        GaussianMean(**{"data": [1.0, 2.0], **settings})


@pytest.mark.parametrize("size", [0, 2.5, True, "ten"])
def test_bad_size_is_rejected(size):
    with pytest.raises(sk.UsageError, match="size"):
        GaussianMean.simulate(size)
