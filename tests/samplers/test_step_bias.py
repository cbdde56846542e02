"""Bias of acceptance probabilities, and its effect on a stationary distribution."""

import numpy as np
import pytest
from support.sampler_problems import SIZE, trial

from steinkit.samplers import (
    TrialRun,
    acceptance_bias,
    operating_characteristics,
)


@pytest.mark.parametrize(("first", "epsilon", "alpha"), [(0.05, 0.05, 0.5), (0.02, 0.2, 0.75), (0.1, 0.02, 1.0)])
@pytest.mark.parametrize("log_ratio", [-60.0, -3.0, -0.2, 0.0, 1.5])
@pytest.mark.parametrize("sharpness", [0.05, 1.0, 30.0])
def test_bias_is_the_integral_over_u(log_ratio, sharpness, first, epsilon, alpha):
    size = 1000
    move = TrialRun(size, [log_ratio / size], [np.sqrt(size - 1) / (size * sharpness)])
    found = acceptance_bias(move, first_fraction=first, epsilon=epsilon, alpha=alpha)
    settings = {"first_fraction": first, "epsilon": epsilon, "alpha": alpha}
    P = min(1.0, np.exp(log_ratio))
    nodes, weights = np.polynomial.legendre.leggauss(16)

    def integral(lower, upper, name):
        cuts = np.concatenate(([0.0], np.geomspace(1e-8, 0.5, 16), 1.0 - np.geomspace(0.5, 1e-8, 16)[1:], [1.0]))
        low, high = lower + (upper - lower) * cuts[:-1, None], lower + (upper - lower) * cuts[1:, None]
        u = low + 0.5 * (high - low) * (nodes + 1.0)
        curve = getattr(operating_characteristics(sharpness * (log_ratio - np.log(u)), **settings), name)
        return float((curve * weights * 0.5 * (high - low)).sum())

    above, below = (integral(P, 1.0, "error") if P < 1.0 else 0.0), integral(0.0, P, "error")
    assert found.probability[0] == pytest.approx(P)
    assert found.bias[0] == pytest.approx(above - below, abs=2e-5)
    assert found.error[0] == pytest.approx(above + below, abs=2e-5)
    read = (integral(P, 1.0, "data_use") if P < 1.0 else 0.0) + integral(0.0, P, "data_use")
    assert found.data_use[0] == pytest.approx(read, abs=2e-5)


def test_errors_cancel_and_are_bounded_by_the_worst():
    settings = {"first_fraction": 0.05, "epsilon": 0.05}
    found = acceptance_bias(trial(), **settings)
    worst = operating_characteristics(0.0, **settings).error
    assert (np.abs(found.bias) <= found.error + 1e-7).all()
    assert (found.error <= worst + 1e-7).all()
    assert (found.bias[found.probability == 1.0] <= 0.0).all()
    middle = TrialRun(SIZE, [np.log(0.5) / SIZE], [1.0 / np.sqrt(SIZE) / 0.3])
    one = acceptance_bias(middle, **settings)
    assert abs(one.bias[0]) < 0.3 * one.error[0]
