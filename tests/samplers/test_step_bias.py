"""Bias of acceptance probabilities, and its effect on a stationary distribution."""

import numpy as np
import pytest
from scipy.integrate import quad
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


@pytest.mark.parametrize("epsilon", [0.3, 0.1, 0.01, 1e-3])
def test_theorem_1_on_a_chain_of_known_contraction(epsilon):
    """Nine states, uniform proposals; Dobrushin's coefficient of the exact chain is a contraction."""
    rng = np.random.default_rng(2)
    states, size = np.linspace(-0.05, 0.05, 9), 2000
    data = rng.standard_normal(size)
    terms = -0.5 * (data - states[:, None]) ** 2
    differences = terms[None] - terms[:, None]
    pairs = ~np.eye(9, dtype=bool)
    moves = TrialRun(size, differences.mean(axis=2)[pairs], differences.std(axis=2)[pairs])
    found = acceptance_bias(moves, first_fraction=0.1, epsilon=epsilon)

    def kernel(probabilities):
        chain = np.zeros((9, 9))
        chain[pairs] = probabilities / 8.0
        return chain + np.diag(1.0 - chain.sum(axis=1))

    def stationary(chain):
        return np.linalg.matrix_power(chain, 20_000)[0]

    exact, approximate = kernel(found.probability), kernel(found.probability + found.bias)
    posterior = np.exp(terms.sum(axis=1) - terms.sum(axis=1).max())
    np.testing.assert_allclose(stationary(exact), posterior / posterior.sum(), atol=1e-9)
    contraction = 0.5 * np.abs(exact[:, None] - exact[None]).sum(axis=2).max()
    distance = 0.5 * np.abs(stationary(exact) - stationary(approximate)).sum()
    bound = min(1.0, np.abs(found.bias).max() / (1.0 - contraction))
    assert 1e-6 < distance <= bound
    assert bound < 1.0 or epsilon >= 0.1


def test_quadrature_by_an_adaptive_rule_agrees_once():
    """The quadrature rule of the other test agrees with SciPy's for one move."""
    move = TrialRun(1000, [-0.4 / 1000], [np.sqrt(999) / 1000])
    found = acceptance_bias(move, first_fraction=0.1, epsilon=0.1)

    def error(u):
        return float(operating_characteristics(-0.4 - np.log(u), first_fraction=0.1, epsilon=0.1).error)

    P = np.exp(-0.4)
    wanted = quad(error, P, 1.0)[0] - quad(error, 0.0, P, epsabs=1e-9)[0]
    assert found.bias[0] == pytest.approx(wanted, abs=1e-7)
