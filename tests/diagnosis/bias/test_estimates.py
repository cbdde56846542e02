"""Estimates from the feature set that explains the most, and their errors."""

import numpy as np
import pytest
from support.bias_samples import operand

from steinkit.diagnosis.bias.stein_regression import standard_errors


def test_standard_errors_include_autocorrelation():
    noise = np.random.default_rng(3).standard_normal((4000, 2))
    for k in range(1, 4000):
        noise[k, 0] = 0.8 * noise[k - 1, 0] + 0.6 * noise[k, 0]
    of = operand(noise, -noise)
    slow, quick = standard_errors(of.draws, noise - noise.mean(axis=0))
    assert slow == pytest.approx(3.0 / np.sqrt(4000), rel=0.3)  # (1 + .8) / (1 - .8) = 9
    assert quick == pytest.approx(1.0 / np.sqrt(4000), rel=0.2)
