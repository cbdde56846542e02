"""The prior of a regression with an unknown set of features."""

import math

import numpy as np
import pytest
from applications.tests.problems import FEATURES, RATE, RESPONSES, SPARSE_POSTERIOR, A, B
from applications.variable_selection import SparseLogisticRegression
from scipy import integrate, special, stats


def test_the_prior_is_the_hierarchy_with_the_scale_integrated_out():
    states = np.array([[0.4, 0.0, 0.0], [0.0, -1.2, 0.0], [0.4, 0.7, 0.0], [0.1, -0.2, 0.3]])

    def hierarchy(theta):
        k, s = np.count_nonzero(theta), np.abs(theta).sum()

        def integrand(nu):
            return (2.0 * nu) ** -k * math.exp(-s / nu) * stats.invgamma.pdf(nu, A, scale=B)

        scale, _ = integrate.quad(integrand, 0.0, np.inf, epsabs=0.0, epsrel=1e-10)
        return math.log(scale * (2.0 * RATE) ** k / (special.comb(3, k) * special.factorial(k)))

    differences = SPARSE_POSTERIOR.log_prior(states) - [hierarchy(theta) for theta in states]
    np.testing.assert_allclose(differences, differences[0], atol=1e-8)


def test_the_authors_prior_and_its_pole():
    posterior = SparseLogisticRegression(FEATURES, RESPONSES, size_rate=0.2, scale_prior=None)
    states = np.array([[0.4, 0.0, 0.0], [0.4, 0.7, 0.0], [0.1, -0.2, 0.3]])
    k = np.array([1, 2, 3])
    wanted = k * math.log(0.2) + special.betaln(k, 3 - k + 1) - k * np.log([0.4, 1.1, 0.6])
    differences = posterior.log_prior(states) - wanted
    np.testing.assert_allclose(differences, differences[0], atol=1e-12)
    rise = posterior.log_prior(states * 1e-3) - posterior.log_prior(states)
    np.testing.assert_allclose(rise, k * math.log(1e3), rtol=1e-12)
    assert SPARSE_POSTERIOR.log_prior(np.zeros((1, 3)))[0] == posterior.log_prior(np.zeros((1, 3)))[0] == -np.inf


def test_gradients_of_the_prior_within_a_model():
    state, step = np.array([[0.4, -0.7, 0.0]]), 1e-6
    gradient = SPARSE_POSTERIOR.grad_log_prior(state)[0]
    for j in (0, 1):
        move = step * np.eye(3)[j]
        change = SPARSE_POSTERIOR.log_prior(state + move) - SPARSE_POSTERIOR.log_prior(state - move)
        assert gradient[j] == pytest.approx(change[0] / (2 * step), rel=1e-6)
    assert gradient[2] == 0.0
