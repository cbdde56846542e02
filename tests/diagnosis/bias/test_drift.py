"""The drift of draws under kernels with known mixing rates."""

import numpy as np
import pytest

import steinkit as sk
from steinkit.diagnosis.bias.drift import Drift
from steinkit.draws import ChainDraws

N = 4000


def drift_of(mean, sd, mixing, seed):
    """Return normal draws and their drift under an autoregression that leaves N(0, 1) invariant."""
    rng = np.random.default_rng(seed)
    x = mean + sd * rng.standard_normal((N, 1))
    slope = 1.0 - mixing
    y = slope * x + np.sqrt(1.0 - slope**2) * rng.standard_normal((N, 1))
    draws = ChainDraws.of(sample := sk.Sample(x), sample.distinct(), -x)
    return x, Drift.of(draws, y, y**2)


def contradicted(drift, mean_bias, sd_bias, margin=0.03):
    one = np.ones(1)
    return drift.contradicts(mean_bias * one, margin * one, sd_bias * one, margin * one).item()


@pytest.mark.parametrize("mixing", [0.3, 0.9])
@pytest.mark.parametrize(("mean", "sd"), [(0.0, 1.0), (0.6, 1.0), (0.0, 1.3), (-0.5, 0.8)])
def test_drift_contradicts_incorrect_biases_only(mean, sd, mixing):
    for seed in range(5):
        x, drift = drift_of(mean, sd, mixing, seed)
        assert not contradicted(drift, x.mean(), np.log(x.std()))
        assert contradicted(drift, 0.0, 0.0) == ((mean, sd) != (0.0, 1.0))
        assert contradicted(drift, x.mean() + 0.7, np.log(x.std()))


def test_largest_change_is_in_standard_errors():
    mean, square, error, mixing = np.array([-0.2, 0.1]), np.array([0.0, 0.3]), np.array([0.02, 0.1]), np.ones(2)
    assert Drift(mean, error, mixing, square, error, mixing).largest() == pytest.approx(10.0)
    assert Drift(mean, error, mixing, 9.0 * square, error, mixing).largest() == pytest.approx(27.0)
