"""Normal noise plus the correction is logistic, according to exact sums and to draws."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import erfc

import steinkit as sk
from steinkit.samplers.acceptance.minibatch_barker import correction_distribution

LOGISTIC_VARIANCE = math.pi**2 / 3


def largest_difference(correction):
    """Compute sup |CDF of N(0, sigma^2) + X_corr - logistic CDF| from the error function, on a separate grid."""
    x = np.linspace(-35.0, 35.0, 70 * round(2.0 / min(correction.sigma, 0.1)) + 3)
    cdf = 0.5 * erfc((correction.atoms - x[:, None]) / (math.sqrt(2.0) * correction.sigma)) @ correction.probabilities
    return np.abs(cdf - 1.0 / (1.0 + np.exp(-x))).max()


@pytest.mark.parametrize(
    ("sigma", "smallest"), [(0.9, 7e-10), (1.0, 5.4e-8), (1.1, 1.4e-6), (1.2, 1.6e-5), (1.3, 1.1e-4)]
)
def test_error_is_minimal(sigma, smallest):
    correction = correction_distribution(sigma)
    assert smallest / 1.5 < largest_difference(correction) < 2.0 * smallest
    assert correction.error == pytest.approx(largest_difference(correction), rel=0.02)


@pytest.mark.parametrize("sigma", [0.05, 0.3, 0.5, 0.8, 0.85, 0.919, 0.92, 0.94])
def test_error_is_below_1e_8_where_sigma_is_small(sigma):
    correction = correction_distribution(sigma)
    assert largest_difference(correction) < 1e-8
    assert correction.error < 1e-8


@pytest.mark.parametrize("sigma", [0.05, 0.5, 0.8, 0.9, 0.95, 1.0, 1.1, 1.2, 1.3, 1.5, 1.8])
def test_variances_add_up_to_the_logistic(sigma):
    correction = correction_distribution(sigma)
    variance = (correction.probabilities * correction.atoms**2).sum()
    assert correction.variance == pytest.approx(variance, rel=1e-14)
    assert abs(variance - (LOGISTIC_VARIANCE - sigma**2)) < 1e-6
    assert correction.probabilities.sum() == pytest.approx(1.0, abs=1e-14)
    assert (correction.probabilities > 0.0).all()
    np.testing.assert_array_equal(correction.atoms, -correction.atoms[::-1])
    np.testing.assert_array_equal(correction.probabilities, correction.probabilities[::-1])


@pytest.mark.parametrize("sigma", [0.9, 1.0, 1.1, 1.3])
def test_few_atoms_remain(sigma):
    assert (correction_distribution(sigma).atoms >= 0.0).sum() <= 40


def test_cdf_is_that_of_the_sum():
    x = np.array([-3.0, 0.0, 0.7])
    np.testing.assert_allclose(correction_distribution(1.0).cdf(x), stats.logistic.cdf(x), atol=1e-7)


@pytest.mark.parametrize("sigma", [0.8, 1.0])
def test_normal_plus_correction_passes_as_logistic(sigma):
    n = 500_000
    rng = np.random.default_rng(7)
    draws = sigma * rng.standard_normal(n) + correction_distribution(sigma).sample(rng.random(n))
    assert stats.kstest(draws, "logistic").pvalue > 1e-3


def test_a_missing_or_different_correction_is_detected():
    n = 200_000
    rng = np.random.default_rng(8)
    normal, uniforms = rng.standard_normal(n), rng.random(n)
    assert stats.kstest(normal * math.pi / math.sqrt(3), "logistic").pvalue < 1e-6
    assert stats.kstest(normal + correction_distribution(1.1).sample(uniforms), "logistic").pvalue < 1e-6


def test_draws_have_the_exact_probabilities():
    correction = correction_distribution(1.0)
    uniforms = (np.arange(1_000_000) + 0.5) / 1_000_000  # stratified, exact to 1e-6
    found = correction.sample(uniforms.reshape(1000, 1000))
    assert found.shape == (1000, 1000)
    assert (np.diff(found.ravel()) >= 0.0).all()
    share = (found.ravel()[:, None] == correction.atoms).mean(axis=0)
    assert np.abs(share - correction.probabilities).max() < 1.1e-6
    ends = correction.sample(np.array([0.0, np.nextafter(1.0, 0.0)]))
    np.testing.assert_array_equal(ends, correction.atoms[[0, -1]])


def test_it_is_cached_and_read_only():
    correction = correction_distribution(1.05)
    assert correction_distribution(np.float64(1.05)) is correction
    assert correction_distribution(1.06) is not correction
    with pytest.raises(ValueError, match="read-only"):
        correction.atoms[0] = 0.0


@pytest.mark.parametrize("sigma", [0.0, -1.0, 0.01, 1.82, np.inf, np.nan])
def test_sigma_out_of_range_is_rejected(sigma):
    with pytest.raises(sk.UsageError, match=r"sigma .*1.814"):
        correction_distribution(sigma)


def test_a_non_numeric_sigma_is_rejected():
    with pytest.raises(sk.UsageError, match=r"sigma .*'one'"):
        correction_distribution("one")
