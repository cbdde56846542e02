"""The minibatch Barker test against its formulas and the logistic probability."""

import numpy as np
import pytest
from scipy.special import expit, ndtr
from support.stages import stage

from steinkit.samplers import MinibatchBarkerTest, correction_distribution


@pytest.mark.parametrize("sigma", [0.7, 1.0, 1.2])
@pytest.mark.parametrize("delta", [-3.0, -0.4, 0.0, 1.0, 5.0])
def test_the_barker_test_on_all_data_accepts_with_the_logistic_probability(sigma, delta):
    """Find, by bisection, the smallest normal number that leads to acceptance, for each atom of X_corr."""
    test, correction = MinibatchBarkerTest(sigma=sigma), correction_distribution(sigma)
    upper = np.cumsum(correction.probabilities)
    levels = test.level(upper - 0.5 * correction.probabilities)
    low, high = np.full(len(levels), -60.0), np.full(len(levels), 60.0)
    for _ in range(70):
        middle = 0.5 * (low + high)
        stages = [
            stage(seen=1000, mean=(delta - 0.3) / 500, level=level, normal=normal, number=9)
            for level, normal in zip(levels, middle, strict=True)
        ]
        decisions = [test.decide(each) for each in stages]
        assert all(decision.decided for decision in decisions)
        accepted = np.array([decision.accepted for decision in decisions])
        low, high = np.where(accepted, low, middle), np.where(accepted, middle, high)
    probability = (correction.probabilities * ndtr(-high)).sum()
    assert probability == pytest.approx(expit(delta), abs=max(1e-6, 1.1 * correction.error))
    assert correction.error < (1e-6 if sigma <= 1.0 else 2e-5)


def test_decides_when_the_variance_is_below_sigma_squared():
    test, scale = MinibatchBarkerTest(100, sigma=1.2), 1000 / 2.0
    edge = 1.44 * 100 / (1 - 0.1) / scale**2
    for factor, decided in ((1 - 1e-9, True), (1 + 1e-9, False)):
        assert test.decide(stage(variance=factor * edge)).decided == decided
    assert test.decide(stage(variance=4.0 * edge)).next_size == 200
