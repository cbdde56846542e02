"""The lower estimate of chi^2(P | Q): near zero for exact draws, and near known values otherwise."""

import numpy as np
import pytest
from support.bias_samples import operand

from steinkit.diagnosis.bias.stein_regression import chi_square


def of_normal(points):
    return chi_square(operand(points, -points))


@pytest.mark.parametrize(("n", "dim"), [(1000, 2), (400, 20), (300, 100)])
def test_estimate_is_small_for_exact_draws(n, dim):
    found = [of_normal(np.random.default_rng([dim, k]).standard_normal((n, dim))) for k in range(12)]
    assert np.mean(found) < 2.0 * np.sqrt(4.0 * dim) / (n / 2.0)  # noise of the products of means


@pytest.mark.parametrize("shift", [0.3, 0.6])
def test_estimate_is_near_the_value_for_a_shifted_normal(shift):
    found = [of_normal(np.array([shift, 0.0]) + np.random.default_rng(k).standard_normal((4000, 2))) for k in range(6)]
    assert 0.8 * np.expm1(shift**2) < np.mean(found) < 1.1 * np.expm1(shift**2)


def test_estimate_is_a_lower_one_for_wide_draws():
    """chi^2(N(0, 1) | N(0, s^2)) = s^2 / sqrt(2 s^2 - 1) - 1."""
    sd = 1.2
    found = [of_normal(sd * np.random.default_rng(k).standard_normal((4000, 1))) for k in range(6)]
    exact = sd**2 / np.sqrt(2.0 * sd**2 - 1.0) - 1.0
    assert 0.5 * exact < np.mean(found) < 1.15 * exact


def test_wrong_shape_with_the_correct_mean_and_spread_is_detected():
    shape = 6.0
    x = np.random.default_rng(0).standard_normal((2000, 2))
    skewed = (np.random.default_rng(0).gamma(shape, size=(2000, 2)) - shape) / np.sqrt(shape)

    def score(z):  # of a standardized gamma variable
        return np.sqrt(shape) * ((shape - 1.0) / np.maximum(shape + np.sqrt(shape) * z, 0.4) - 1.0)

    assert chi_square(operand(x, score(x))) > 5.0 * chi_square(operand(skewed, score(skewed)))


def test_weights_that_correct_the_draws_reduce_the_estimate():
    points = 1.3 * np.random.default_rng(2).standard_normal((4000, 2))
    weights = np.exp(-0.5 * (1.0 - 1.0 / 1.69) * (points**2).sum(axis=1))
    assert chi_square(operand(points, -points)) > 0.1
    assert chi_square(operand(points, -points, weights=weights)) < 0.02
