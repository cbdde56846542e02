"""Estimates by the feature set that explains most, and their errors."""

import numpy as np
import pytest
from support.bias_samples import operand

from steinkit.diagnosis.bias.stein_regression import regression_estimates, standard_errors

NONE = np.empty((400, 0))


def skewed(rng, n=400, dim=2):
    """Return logarithms of gamma variables and their score, which polynomials explain in part."""
    x = np.log(rng.gamma(3.0, size=(n, dim)))
    return x, 3.0 - np.exp(x)


def test_estimates_are_exact_for_a_normal_target():
    points = 0.7 * np.random.default_rng(0).standard_normal((400, 2)) + [0.4, -0.3]
    of = operand(points, -points)
    found = regression_estimates(of, NONE)
    scale = points.std(axis=0)
    assert found.mean == pytest.approx(-points.mean(axis=0) / scale, abs=1e-4)
    assert found.sd == pytest.approx(1.0 / scale, abs=1e-4)
    assert max(found.mean_error.max(), found.log_sd_error.max()) < 1e-3


def test_margins_of_two_errors_hold():
    """For exact draws and draws that are too wide."""
    mean, sd = 0.9227843350984671, 0.6284340965  # digamma(3), the root of trigamma(3)
    within = []
    for k in range(40):
        x, score = skewed(np.random.default_rng([2, k]))
        if k % 2:
            x = 1.15 * (x - 0.5)
            score = 3.0 - np.exp(x)
        found = regression_estimates(operand(x, score), NONE)
        centre, scale = x.mean(axis=0), x.std(axis=0)
        bias = (centre + scale * found.mean - mean) / sd, np.log(scale * found.sd / sd)
        within += [*(np.abs(bias[0]) < 2.0 * found.mean_error), *(np.abs(bias[1]) < 2.0 * found.log_sd_error)]
        assert np.abs(bias).max() < 0.2
    assert np.mean(within) > 0.93


def test_standard_errors_include_autocorrelation():
    rng = np.random.default_rng(3)
    noise = rng.standard_normal((4000, 2))
    for k in range(1, 4000):
        noise[k, 0] = 0.8 * noise[k - 1, 0] + 0.6 * noise[k, 0]
    of = operand(noise, -noise)
    slow, quick = standard_errors(of.draws, noise - noise.mean(axis=0))
    assert slow == pytest.approx(3.0 / np.sqrt(4000), rel=0.3)  # (1 + .8) / (1 - .8) = 9
    assert quick == pytest.approx(1.0 / np.sqrt(4000), rel=0.2)


def test_functions_need_joint_features():
    points = np.random.default_rng(6).standard_normal((60, 12))
    of = operand(points, -points)
    found = regression_estimates(of, points[:, :1] ** 3)
    assert np.isfinite(found.mean_error[:12]).all()
    assert np.isnan(found.mean[12])
    assert found.mean_error[12] == np.inf
