"""Scores from batches of data: unbiased, exact for a quadratic log density, and rejected if mostly noise."""

import time

import numpy as np
import pytest

import steinkit as sk


@pytest.fixture(scope="module", name="posterior")
def made_posterior():
    rng = np.random.default_rng(1)
    x = np.column_stack([np.ones(4000), rng.standard_normal((4000, 2))])
    y = np.where(rng.random(4000) < 1.0 / (1.0 + np.exp(-x @ [0.3, 1.0, -0.5])), 1.0, -1.0)
    return sk.targets.LogisticRegression(x, y, prior_variance=25.0)


@pytest.fixture(scope="module", name="draws")
def made_draws(posterior):
    return sk.samplers.mala(posterior, step_size=0.002, draws=300, burn_in=200).points[0]


@pytest.mark.parametrize(("order", "accuracy"), [(1, 0.3), (2, 0.03)])
def test_mean_over_batches_is_the_score(posterior, draws, order, accuracy):
    exact = posterior.score(draws)
    found = np.array([sk.stochastic_scores(draws, posterior, batch=100, order=order, rng=k).scores for k in range(60)])
    errors = (found - exact) / exact.std(axis=0)
    assert errors.std() < accuracy
    assert np.abs(errors.mean(axis=0) / (errors.std(axis=0) / np.sqrt(60))).max() < 5.0  # errors of 900 means
    assert abs(errors.mean()) < 5.0 * errors.std() / np.sqrt(errors.size)


def test_scores_of_a_normal_posterior_are_exact():
    rng = np.random.default_rng(2)
    data = rng.normal(3.0, 1.0, 500)
    posterior = sk.Posterior(
        (data,),
        log_likelihood=lambda theta, y: -0.5 * (y - theta[0]) ** 2,
        grad_log_likelihood=lambda theta, y: np.array([(y - theta[0]).sum()]),
        log_prior=lambda theta: -0.5 * theta[:, 0] ** 2,
        grad_log_prior=lambda theta: -theta,
        dim=1,
    )
    draws = rng.normal(data.sum() / 501.0, 0.05, (40, 1))
    scores = sk.stochastic_scores(draws, posterior, batch=2).scores
    np.testing.assert_allclose(scores, data.sum() - 501.0 * draws, atol=1e-5 * 500.0)


def test_equal_draws_have_equal_scores_that_depend_on_the_seed(posterior, draws):
    doubled = np.repeat(draws, 2, axis=0)
    found = sk.stochastic_scores(doubled, posterior, batch=50, order=1, rng=3).scores
    np.testing.assert_array_equal(found[::2], found[1::2])
    np.testing.assert_array_equal(found, sk.stochastic_scores(doubled, posterior, batch=50, order=1, rng=3).scores)
    assert (found != sk.stochastic_scores(doubled, posterior, batch=50, order=1, rng=4).scores).any()


def test_verdict_accepts_them(posterior, draws):
    wide = draws.mean(axis=0) + 1.4 * (draws - draws.mean(axis=0))
    found = sk.verdict(sk.stochastic_scores(wide, posterior, batch=50))
    exact = sk.verdict(wide, scores=posterior.score(wide))
    assert (found.p < 0.01) == (exact.p < 0.01)
    np.testing.assert_allclose(found.bias.sd_bias, exact.bias.sd_bias, atol=0.03)


def test_verdict_computes_them(posterior, draws):
    found = sk.verdict(draws, posterior, score_batch=50, rng=4)
    scored = sk.verdict(sk.stochastic_scores(draws, posterior, batch=50, rng=4), rng=4)
    assert found.p == scored.p
    np.testing.assert_array_equal(found.bias.mean_bias, scored.bias.mean_bias)
    assert 0.0 < found.to_dict()["score_noise"] < 0.1
    assert scored.score_noise is None
    assert any("batches of 50 data" in each for each in found.warnings)
    assert "mode weights" in found.to_dict()["not_tested"]


def test_verdict_keeps_the_time_limit_and_the_functions_of_the_posterior():
    def gradient(theta, y):
        time.sleep(0.002)
        return np.array([(y - theta[0]).sum()])

    data = np.random.default_rng(0).normal(1.0, 1.0, 1000)
    given = {
        "log_likelihood": lambda theta, y: -0.5 * (y - theta[0]) ** 2,
        "log_prior": lambda theta: -0.5 * theta[:, 0] ** 2,
        "grad_log_prior": lambda theta: -theta,
        "dim": 1,
    }
    draws = np.random.default_rng(1).normal(1.0, 0.03, (150, 1))
    slow = sk.Posterior((data,), grad_log_likelihood=gradient, **given)
    began = time.monotonic()
    with pytest.raises(sk.TimeLimitError):
        sk.verdict(draws, slow, score_batch=10, max_seconds=0.2)
    assert time.monotonic() - began < 6.0  # the functions would sleep for twelve seconds
    quick = sk.Posterior(
        (data,),
        grad_log_likelihood=lambda theta, y: np.array([(y - theta[0]).sum()]),
        functions={"square": lambda theta: theta[:, 0] ** 2},
        **given,
    )
    assert sk.verdict(draws, quick, score_batch=20).bias.names == ("x1", "square")


def test_verdict_uses_the_names_of_the_posterior(draws):
    x = np.column_stack([np.ones(4000), np.random.default_rng(1).standard_normal((4000, 2))])
    named = sk.targets.LogisticRegression(x, np.arange(4000) % 2, names=["a", "b", "c"])
    assert sk.verdict(0.1 * draws, named, score_batch=20).names == ("a", "b", "c")
    turned = sk.Sample(draws, names=["b", "a", "c"])
    with pytest.raises(sk.InputError, match="order"):
        sk.verdict(turned, named, score_batch=20)


def test_verdict_rejects_noise_and_other_targets(posterior, draws):
    mixture = sk.targets.MixturePosterior()
    with pytest.raises(sk.InputError, match="noise"):
        sk.verdict(mixture.sample(200, 0), mixture, score_batch=5)
    for given in ({"target": sk.targets.Normal(0.0, dim=3)}, {"scores": draws}, {"target": posterior, "scores": draws}):
        with pytest.raises(sk.UsageError, match="score_batch"):
            sk.verdict(draws, **given, score_batch=5)


def test_noise_has_a_warning_or_is_rejected(posterior, draws):
    with pytest.warns(sk.SteinkitWarning, match="batches of 20 data"):
        sk.stochastic_scores(draws, posterior, batch=20, order=1)
    with pytest.raises(sk.InputError, match="batches of 2 data"):
        sk.stochastic_scores(draws, posterior, batch=2, order=1)


def test_multimodal_draws_are_rejected():
    posterior = sk.targets.MixturePosterior()
    with pytest.raises(sk.InputError, match="noise"):
        sk.stochastic_scores(posterior.sample(200, 0), posterior, batch=5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch": 1}, "from 2 to the number of data points, 4000"),
        ({"batch": 4001}, "from 2 to the number of data points, 4000"),
        ({"order": 3}, "order must be 1 or 2"),
    ],
)
def test_invalid_options_are_rejected(posterior, draws, options, message):
    with pytest.raises(sk.UsageError, match=message):
        sk.stochastic_scores(draws, posterior, **options)
