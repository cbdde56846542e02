"""Cross-fitted regression on Stein features, compared with plain least squares and with exact results."""

import numpy as np
import pytest
from support.bias_samples import operand

from steinkit.diagnosis.bias.stein_regression import cross_fitted

RNG = np.random.default_rng(0)
N, DIM = 120, 3
POINTS = RNG.gamma(3.0, size=(N, DIM)) + RNG.standard_normal((N, 1))
SCORES = -(POINTS - 2.5) / 2.0 - 0.1 * POINTS**2


def test_pairs_are_exact_for_a_normal_target():
    rng = np.random.default_rng(1)
    root = np.array([[1.0, 0.0], [0.9, 0.4]])
    mean, covariance = np.array([2.0, -1.0]), root @ root.T
    points = rng.gamma(2.0, size=(400, 2))  # from another distribution
    of = operand(points, -(points - mean) @ np.linalg.inv(covariance))
    left = cross_fitted(of, of.draws.points, "pairs")
    scale = points.std(axis=0)
    expected = (mean - points.mean(axis=0)) / scale
    assert left[:, :2].mean(axis=0) == pytest.approx(expected, abs=1e-3)
    assert left[:, 2:].mean(axis=0) == pytest.approx(expected**2 + np.diag(covariance) / scale**2, abs=1e-3)
    assert left.std(axis=0).max() < 0.02
    shifted = operand(points, 0.3 - (points - mean) @ np.linalg.inv(covariance))  # another target
    assert np.abs(cross_fitted(shifted, shifted.draws.points, "pairs").mean(axis=0)[:2] - expected).min() > 0.05


@pytest.mark.parametrize("kind", ["own2", "own4"])
def test_weights_act_as_repeated_draws(kind):
    """Equal repetitions in every block preserve the folds, and a single coordinate is not shrunk."""
    times, one = np.tile([1, 2, 3, 2, 1, 3], N // 6), slice(0, 1)
    of = operand(POINTS[:, one], SCORES[:, one], weights=times)
    repeated = operand(np.repeat(POINTS[:, one], times, axis=0), np.repeat(SCORES[:, one], times, axis=0))
    a, b = (cross_fitted(each, each.draws.points, kind) for each in (of, repeated))
    assert np.repeat(a, times, axis=0) == pytest.approx(b, abs=1e-7)
    unweighted = operand(POINTS[:, one], SCORES[:, one])
    assert np.abs(cross_fitted(unweighted, unweighted.draws.points, kind) - a).max() > 0.01
