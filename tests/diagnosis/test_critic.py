"""The critic: exact draws pass, and draws shifted along a curved ridge are rejected."""

import numpy as np
import pytest
from support.autoregressions import autoregression
from support.bias_samples import RIDGE, ridge_draws

import steinkit as sk
from steinkit.diagnosis.critic import critic_p_value
from steinkit.scored_sample import ScoredSample


def p_value(draws, scores, weights=None, bounds=None):
    return critic_p_value(ScoredSample.of(draws, scores=scores, weights=weights, bounds=bounds))


def ridge(mean, seed, n=1000):
    x = ridge_draws(mean, seed, n)
    return x, RIDGE.score(x)


def test_draws_shifted_along_a_curved_ridge_are_rejected():
    exact = [p_value(*ridge(0.0, seed)) for seed in range(30)]
    shifted = [p_value(*ridge(0.3, seed)) for seed in range(10)]
    assert sum(p <= 0.05 for p in exact) <= 5  # binomial(30, .05) exceeds it with probability .003
    assert sum(p <= 0.01 for p in shifted) >= 8


def test_coordinate_that_depends_on_a_product_is_rejected():
    x = np.random.default_rng(1).standard_normal((1000, 10))
    x[:, 2] += 0.5 * x[:, 0] * x[:, 1]
    assert p_value(x, -x) < 1e-3


@pytest.mark.parametrize("rho", [-0.7, 0.5, 0.8])
def test_autocorrelated_exact_draws_pass(rho):
    draws = (np.random.default_rng(seed).standard_normal((1000, 3)) for seed in range(30))
    p_values = [p_value(x, -x) for x in (autoregression(each, rho) for each in draws)]
    assert sum(p <= 0.05 for p in p_values) <= 5
    assert sum(p <= 0.01 for p in p_values) <= 2


def test_scores_at_a_bound_need_not_vanish():
    exact, wrong = [], []
    for seed in range(20):
        x = np.random.default_rng(seed).exponential(size=(1000, 2))
        exact.append(p_value(x, -np.ones_like(x), bounds=[[0.0, np.inf]] * 2))
        wrong.append(p_value(1.2 * x, -np.ones_like(x), bounds=[[0.0, np.inf]] * 2))
    assert sum(p <= 0.05 for p in exact) <= 4
    assert sum(p <= 0.01 for p in wrong) >= 18


def test_p_value_does_not_depend_on_units():
    x, scores = ridge(0.1, 3)
    unit = np.array([1e-3, 50.0])
    assert p_value(unit * x, scores / unit) == pytest.approx(p_value(x, scores), rel=1e-6)


def test_many_draws_or_coordinates_are_tested():
    assert p_value(*ridge(0.3, 4, n=20_000)) < 1e-6
    wide = np.random.default_rng(5).standard_normal((300, 80))
    assert 0.001 < p_value(wide, -wide) <= 1.0


def test_weighted_or_few_draws_are_not_tested():
    x, scores = ridge(0.3, 6)
    assert p_value(x, scores, weights=np.linspace(1.0, 2.0, 1000)) is None
    assert p_value(x[:99], scores[:99]) is None


def test_verdict_uses_the_critic_without_a_density():
    x, scores = ridge(0.3, 7)
    found = sk.verdict(x, scores=scores)
    assert found.is_biased
    assert found.p <= found.p_of("critic") / 0.2 < 0.01
    assert found.to_dict()["p_critic"] == found.p_of("critic")
    target = sk.Target(lambda x: -x, log_density=lambda x: -0.5 * (x**2).sum(axis=1), dim=2)
    assert sk.verdict(np.random.default_rng(8).standard_normal((300, 2)), target).p_of("critic") is None
