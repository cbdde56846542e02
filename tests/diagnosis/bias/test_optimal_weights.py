"""Weights of draws that minimize a Stein discrepancy."""

import numpy as np
import pytest
from scipy.stats import loggamma, norm

import steinkit as sk
from steinkit.diagnosis.bias.optimal_weights import marginal_scores

SHAPE = 3.0
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


def quantile_error(points, weights):
    truth = loggamma(SHAPE).ppf(LEVELS)[:, None]
    shares = np.broadcast_to(weights[:, None], points.shape)
    found = np.quantile(points, LEVELS, axis=0, weights=shares, method="inverted_cdf")
    return np.sqrt(np.mean((found - truth) ** 2)) / loggamma(SHAPE).std()


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_weights_correct_quantiles_of_draws_with_the_wrong_shape(dim):
    law, rng = loggamma(SHAPE), np.random.default_rng(0)
    x = rng.normal(law.mean(), law.std(), (400, dim))
    found = sk.optimal_weights(x, scores=SHAPE - np.exp(x))
    assert found.lower <= found.upper < 0.7 * found.before
    assert quantile_error(x, found.weights) < 0.5 * quantile_error(x, np.full(400, 1 / 400))


def test_weights_reduce_the_error_of_exact_draws():
    rng, ratios = np.random.default_rng(1), []
    for _ in range(5):
        x = loggamma(SHAPE).rvs((300, 3), random_state=rng)
        found = sk.optimal_weights(x, scores=SHAPE - np.exp(x))
        ratios.append(quantile_error(x, found.weights) / quantile_error(x, np.full(300, 1 / 300)))
    assert np.median(ratios) < 0.6


def test_noise_of_dependent_coordinates_is_removed():
    """The score of x_1 is -x_1 + 3 x_1 e, and that of x_2 is -e. The field x_1 e_2 removes the noise."""
    rng, ratios = np.random.default_rng(8), []
    for _ in range(5):
        x, e = rng.standard_normal((2, 400))
        draws = np.column_stack([x, 1.5 * x**2 + e])
        found = sk.optimal_weights(draws, scores=np.column_stack([-x + 3.0 * x * e, -e]))
        errors = [
            np.quantile(x, LEVELS, weights=weights, method="inverted_cdf") - norm.ppf(LEVELS)
            for weights in (found.weights, np.full(400, 1 / 400))
        ]
        ratios.append(np.linalg.norm(errors[0]) / np.linalg.norm(errors[1]))
    assert np.median(ratios) < 0.6


def test_marginal_scores_of_normal_draws_are_exact():
    covariance = np.array([[1.0, 0.8, 0.3], [0.8, 1.0, 0.5], [0.3, 0.5, 1.0]])
    z = np.random.default_rng(9).standard_normal((60, 3)) @ np.linalg.cholesky(covariance).T
    shares = np.full(60, 1 / 60)
    found = marginal_scores(z, -z @ np.linalg.inv(covariance), shares, None)
    assert found == pytest.approx(-z, abs=1e-4)
    bounds = np.array([[-np.inf, np.inf], [-9.0, np.inf], [-9.0, 9.0]])
    scores = -z @ np.linalg.inv(covariance)
    assert marginal_scores(z, scores, shares, bounds)[:, 0] == pytest.approx(scores[:, 0])


@pytest.mark.parametrize("tau", [1e-7, 1e-9])
def test_nearly_collinear_draws_have_weights(tau):
    y, e = np.random.default_rng(11).standard_normal((2, 400))
    slope = e / tau
    found = sk.optimal_weights(np.column_stack([y, y + tau * e]), scores=np.column_stack([slope - y, -slope]))
    assert found.upper < 0.2 * found.before


def test_time_limit_is_kept_in_many_dimensions():
    x = np.random.default_rng(12).standard_normal((1000, 150))
    with pytest.raises(sk.TimeLimitError):
        sk.optimal_weights(x, scores=-x, max_seconds=0.5)


def test_small_effective_size_is_reported():
    x = np.random.default_rng(10).standard_normal((300, 2))
    x = x[x[:, 0] > -0.3]
    with pytest.warns(sk.SteinkitWarning, match="draws may be missing"):
        found = sk.optimal_weights(x, sk.targets.Normal([0.0, 0.0]))
    assert found.effective_size < 0.2 * len(x)


def test_discrepancy_of_the_weighted_draws_lies_in_the_bracket():
    x = 1.2 * np.random.default_rng(2).standard_normal((200, 2))
    target = sk.targets.Normal([0.0, 0.0])
    found = sk.optimal_weights(x, target, discrepancy="graph")
    units = {"scale": found.units.scale}
    after = sk.graph_stein_discrepancy(x, target, weights=found.weights, units=units)
    before = sk.graph_stein_discrepancy(x, target, units=units)
    assert found.lower <= after.upper
    assert after.lower <= found.upper
    assert before.lower * 0.99 <= found.before <= before.upper * 1.01


def test_repeated_draws_share_the_weight_of_their_point():
    x = np.random.default_rng(3).standard_normal((100, 2))
    target = sk.targets.Normal([0.0, 0.0])
    twice = sk.optimal_weights(np.repeat(x, 2, axis=0), target)
    once = sk.optimal_weights(x, target)
    assert twice.weights[::2] == pytest.approx(twice.weights[1::2])
    assert twice.upper == pytest.approx(once.upper, rel=0.02)
    assert twice.weights.sum() == pytest.approx(1.0)


def test_max_weight_limits_the_weights_and_raises_the_discrepancy():
    x = np.random.default_rng(4).standard_normal((200, 3)) + 0.2
    target = sk.targets.Normal(np.zeros(3))
    free, limited = sk.optimal_weights(x, target), sk.optimal_weights(x, target, max_weight=2 / 200)
    assert free.weights.max() > 2 / 200 >= limited.weights.max() * (1.0 - 1e-12)
    assert limited.lower > free.upper
    assert limited.effective_size > free.effective_size
    with pytest.raises(sk.InputError, match="increase `max_weight`"):
        sk.optimal_weights(x, target, max_weight=1 / 200)


def test_bounded_support():
    x = np.random.default_rng(5).exponential(1.2, (300, 1))
    found = sk.optimal_weights(x, scores=-np.ones_like(x), bounds=[0.0, np.inf])
    assert abs(found.weights @ x[:, 0] - 1.0) < 0.02 < abs(x.mean() - 1.0)
    both = sk.optimal_weights(np.hstack([x, x[::-1]]), scores=-np.ones((300, 2)), bounds=[[0.0, np.inf]] * 2)
    assert np.abs(both.weights @ np.hstack([x, x[::-1]]) - 1.0).max() < 0.02


DRAWS = np.random.default_rng(7).standard_normal((50, 2))


@pytest.mark.parametrize(
    ("draws", "options", "error"),
    [
        (np.abs(DRAWS) + 3.0, {}, sk.InputError),  # one side of the mode
        (DRAWS + 1.5, {"max_weight": 0.03}, sk.InputError),  # no allowed weights give the scores mean zero
        (DRAWS[:1], {}, sk.InputError),
        (np.ones((50, 2)), {}, sk.InputError),
        (DRAWS, {"max_weight": 0.01}, sk.UsageError),
        (DRAWS, {"discrepancy": "kernel"}, sk.UsageError),
        (np.hstack([DRAWS, DRAWS]), {"discrepancy": "graph"}, sk.UsageError),
        (sk.Sample(DRAWS, weights=np.ones(50)), {}, sk.UsageError),
    ],
)
def test_invalid_input_is_rejected(draws, options, error):
    dim = draws.dim if isinstance(draws, sk.Sample) else draws.shape[1]
    with pytest.raises(error):
        sk.optimal_weights(draws, sk.targets.Normal(np.zeros(dim)), **options)


def test_scores_of_the_opposite_sign_are_rejected():
    with pytest.raises(sk.InputError):
        sk.optimal_weights(DRAWS, scores=DRAWS)
