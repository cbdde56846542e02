"""Estimates by the feature set that explains most, and their errors."""

import numpy as np
import pytest
from support.bias_samples import operand

from steinkit.diagnosis.bias.stein_regression import chi_square, cross_fitted, regression_estimates, standard_errors

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


def test_error_combines_noise_unexplained_variance_and_range():
    of = operand(*skewed(np.random.default_rng(1)))
    found = regression_estimates(of, NONE)
    sets = ["own2", "own4", "diagonal", "pairs", "affine", "quadratic"]
    means, sds, influences = [], [], []
    for kind in sets:
        first, square = np.split(cross_fitted(of, of.points, kind), 2, axis=1)
        mean, variance = first.mean(axis=0), square.mean(axis=0) - first.mean(axis=0) ** 2
        means.append(mean)
        sds.append(np.sqrt(variance))
        parts = np.stack([first / np.sqrt(variance), (square - 2.0 * mean * first) / (2.0 * variance)])
        influences.append(parts - parts.mean(axis=1, keepdims=True))
    spread = np.array([(each**2).mean(axis=1) for each in influences])  # sets, both, coordinates
    best = spread.sum(axis=1).argmin(axis=0)
    for j in range(2):
        k = best[j]
        assert found.mean[j] == pytest.approx(means[k][j], abs=1e-12)
        assert found.sd[j] == pytest.approx(sds[k][j], abs=1e-12)
        seen = [np.clip(1.0 - spread[row, 0, j] * sds[row][j] ** 2, 0.0, 1.0) for row in range(len(sets))]
        of_means = np.ptp([w * (m[j] - means[k][j]) / sds[k][j] for w, m in zip(seen, means, strict=True)])
        of_sds = np.ptp([w * np.log(s[j] / sds[k][j]) for w, s in zip(seen, sds, strict=True)])
        ranges = [of_means, max(of_means, of_sds)]
        errors = standard_errors(of.draws, influences[k][:, :, j].T)
        chi = chi_square(of)
        error = np.sqrt(errors**2 + (0.25 + 2.5 * chi) * chi * spread[k][:, j] + 0.25 * np.square(ranges))
        assert found.explained[j] == pytest.approx(seen[k], abs=1e-9)
        assert [found.mean_error[j], found.log_sd_error[j]] == pytest.approx(error, rel=1e-9)


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
