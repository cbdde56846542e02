"""The critic: exact draws pass, and draws shifted along a curved ridge are rejected."""

import numpy as np
import pytest

import steinkit as sk
from steinkit.diagnosis.critic import critic_p_value
from steinkit.scored_sample import ScoredSample

RIDGE, WIDTH = 1.5, 0.4


def p_value(draws, scores, weights=None, bounds=None):
    prepared = ScoredSample.of(draws, scores=scores, weights=weights, bounds=bounds)
    return critic_p_value(prepared.draws, prepared.own_units, prepared.bounds)


def ridge(mean, seed, n=1000):
    rng = np.random.default_rng(seed)
    first = mean + rng.standard_normal(n)
    x = np.column_stack([first, RIDGE * first**2 + WIDTH * rng.standard_normal(n)])
    pull = (x[:, 1] - RIDGE * x[:, 0] ** 2) / WIDTH**2
    return x, np.column_stack([-x[:, 0] + 2.0 * RIDGE * x[:, 0] * pull, -pull])


def chain(rho, seed, n=1000, dim=3):
    noise = np.random.default_rng(seed).standard_normal((n, dim))
    x = noise.copy()
    for k in range(1, n):
        x[k] = rho * x[k - 1] + np.sqrt(1.0 - rho**2) * noise[k]
    return x


def rejections(p_values, level):
    return sum(p <= level for p in p_values)


def test_draws_shifted_along_a_curved_ridge_are_rejected():
    exact = [p_value(*ridge(0.0, seed)) for seed in range(30)]
    shifted = [p_value(*ridge(0.3, seed)) for seed in range(10)]
    assert rejections(exact, 0.05) <= 5  # binomial(30, .05) exceeds it with probability .003
    assert rejections(shifted, 0.01) >= 8


def test_coordinate_that_depends_on_a_product_is_rejected():
    x = np.random.default_rng(1).standard_normal((1000, 10))
    x[:, 2] += 0.5 * x[:, 0] * x[:, 1]
    assert p_value(x, -x) < 1e-3


@pytest.mark.parametrize("rho", [-0.7, 0.5, 0.8])
def test_autocorrelated_exact_draws_pass(rho):
    p_values = [p_value(x, -x) for x in (chain(rho, seed) for seed in range(30))]
    assert rejections(p_values, 0.05) <= 5
    assert rejections(p_values, 0.01) <= 2


def test_scores_at_a_bound_need_not_vanish():
    exact, wrong = [], []
    for seed in range(20):
        x = np.random.default_rng(seed).exponential(size=(1000, 2))
        exact.append(p_value(x, -np.ones_like(x), bounds=[[0.0, np.inf]] * 2))
        wrong.append(p_value(1.2 * x, -np.ones_like(x), bounds=[[0.0, np.inf]] * 2))
    assert rejections(exact, 0.05) <= 4
    assert rejections(wrong, 0.01) >= 18


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
