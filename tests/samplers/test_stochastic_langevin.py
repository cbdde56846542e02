"""Moments and quantiles of Langevin chains, with and without a test, and controls that must fail."""

import numpy as np
import pytest
from scipy import stats
from support.monte_carlo import LIMIT, POSTERIOR, POSTERIOR_MARGINALS, RUN, normal, worst

import steinkit as sk
from steinkit import samplers
from steinkit.samplers import MetropolisTest
from steinkit.samplers.chains import gradients
from steinkit.samplers.chains.draws import StreamKind
from steinkit.samplers.chains.likelihood_terms import PosteriorModel


@pytest.mark.parametrize("test", [samplers.MetropolisTest(), samplers.BarkerTest()], ids=repr)
def test_minibatch_langevin_proposals_with_an_exact_test_are_exact(test):
    draws = samplers.corrected_sgld(POSTERIOR, step_size=0.02, batch_size=10, test=test, **RUN | {"chains": 300})
    assert worst(draws, POSTERIOR_MARGINALS) < LIMIT
    uncorrected = samplers.sgld(POSTERIOR, step_size=0.02, batch_size=10, **RUN | {"chains": 300})
    assert worst(uncorrected, POSTERIOR_MARGINALS) > 2 * LIMIT


def sgld_on_known_mean(step_size):
    posterior = sk.targets.GaussianMean.simulate(100, prior_variance=10.0)
    marginals = [normal(posterior.posterior_mean[0], posterior.posterior_variance[0])]
    start = posterior.sample(400, rng=8)
    draws = samplers.sgld(
        posterior, step_size=step_size, batch_size=20, chains=400, burn_in=50, draws=40, thin=5, start=start
    )
    return worst(draws, marginals)


def test_sgld_with_a_small_step_passes_and_with_one_ten_times_larger_fails():
    assert sgld_on_known_mean(2e-4) < LIMIT
    assert sgld_on_known_mean(5e-4) < LIMIT
    assert sgld_on_known_mean(5e-3) > 2 * LIMIT


def test_sgld_in_closed_form():
    """With all data and a normal target, a step is x' = (1 - a) x + sqrt(eps) xi, a = eps / (2 v)."""
    posterior = sk.targets.GaussianMean.simulate(10, prior_variance=10.0)
    v, eps = posterior.posterior_variance[0], 0.1
    marginals = [normal(posterior.posterior_mean[0], eps / (1.0 - (1.0 - eps / (2.0 * v)) ** 2))]
    draws = samplers.sgld(posterior, step_size=eps, batch_size=10, chains=400, burn_in=50, draws=40)
    assert worst(draws, marginals) < LIMIT


def test_control_variates_remove_the_noise_of_a_normal_target():
    """All data have the same second derivative, so the gradient of a batch is exact, as in the closed form."""
    posterior = sk.targets.GaussianMean.simulate(100, prior_variance=10.0)
    v = posterior.posterior_variance[0]
    eps = v  # smaller than the noise of the gradient of two data points
    exact = normal(posterior.posterior_mean[0], eps / (1.0 - (1.0 - eps / (2.0 * v)) ** 2))
    options = {"step_size": eps, "batch_size": 2, "chains": 400, "burn_in": 50, "draws": 40, "start": [3.0]}
    assert worst(samplers.sgld(posterior, control_variates=True, **options), [exact]) < LIMIT
    assert worst(samplers.sgld(posterior, **options), [exact]) > 2 * LIMIT


def test_the_gradient_with_control_variates_is_exact_at_the_mode():
    """With an informative prior, the gradient of the log likelihood at the mode is not 0."""
    posterior = sk.targets.GaussianMean.simulate(100, theta=[1.0], prior_variance=0.02)
    model, state = PosteriorModel(posterior), np.array([[0.7]])
    mode = gradients.Mode(state[0], posterior.grad_log_likelihood(state[0], *posterior.data), 0)
    batch = gradients.BatchGradient(model, 5, [0], mode).turn_to(np.arange(1), state, 1.0)
    np.testing.assert_allclose(batch.at_states(), posterior.score(state), rtol=1e-12)


def test_control_variates_start_at_the_mode_and_count_all_evaluations():
    posterior = sk.targets.LogisticRegression.nodal()
    draws = samplers.sgld(posterior, step_size=1e-6, batch_size=5, draws=3, control_variates=True)
    slope = posterior.score(draws.points[0, :1])[0]
    curvature = np.diff(posterior.score(draws.points[0, 0] + [[0.1] * 6, [-0.1] * 6]), axis=0)[0] / 0.2
    assert np.abs(slope).max() < 0.05 * curvature.max()  # after a step of about 1e-3
    passes, left = divmod(int(draws.cost[0, 0]) - 10, posterior.size)
    assert left == 0 < passes < 100
    np.testing.assert_array_equal(np.diff(draws.cost[0]), [10, 10])
    paid = samplers.sgld(posterior, step_size=1e-6, batch_size=5, budget=int(draws.cost[0, -1]), control_variates=True)
    np.testing.assert_array_equal(paid.points, draws.points)
    with pytest.raises(sk.UsageError, match=rf"budget.* {passes * posterior.size + 10},"):
        samplers.sgld(posterior, step_size=1e-6, batch_size=5, budget=20, control_variates=True)


def test_weights_of_draws_with_decreasing_steps():
    posterior = sk.targets.GaussianMean.simulate(10)
    draws = samplers.sgld(
        posterior, step_size=0.3, batch_size=10, decay=0.5, decay_offset=4.0, draws=5, burn_in=2, thin=3, chains=2
    )
    steps = 2 + 3 * np.arange(1, 6)  # steps taken up to each draw, and the number, from 0, of the next step
    a = 0.3 * 4.0**0.5
    np.testing.assert_allclose(draws.weights, np.tile(a * (4.0 + steps) ** -0.5, (2, 1)))
    np.testing.assert_array_equal(draws.cost[0], steps * 10)
    assert samplers.sgld(posterior, step_size=0.3, batch_size=10, draws=5).weights is None


def test_decreasing_steps_are_asymptotically_unbiased():
    posterior = sk.targets.GaussianMean.simulate(10, prior_variance=10.0)
    marginals = [normal(posterior.posterior_mean[0], posterior.posterior_variance[0])]
    options = {"step_size": 0.15, "batch_size": 10, "chains": 200, "draws": 600}
    constant = samplers.sgld(posterior, **options)
    decreasing = samplers.sgld(posterior, decay=0.6, decay_offset=10.0, burn_in=200, **options)
    assert worst(constant, marginals) > LIMIT > worst(decreasing, marginals)


@pytest.mark.parametrize("seed", range(2))
def test_weighted_draws_have_the_distribution_of_the_recursion(seed):
    """With all data and a normal target, the steps determine the mean and variance of each draw."""
    rng = np.random.default_rng(seed)
    posterior = sk.targets.GaussianMean.simulate(int(rng.integers(2, 12)), prior_variance=float(rng.uniform(0.5, 10.0)))
    mean, variance = posterior.posterior_mean[0], posterior.posterior_variance[0]
    step, decay, offset = rng.uniform(0.3, 1.5) * variance, rng.uniform(0.1, 1.0), rng.uniform(0.5, 5.0)
    burn, thin, start = int(rng.integers(0, 3)), int(rng.integers(1, 4)), float(rng.normal())
    draws = samplers.sgld(
        posterior, step_size=step, batch_size=posterior.size, decay=decay, decay_offset=offset, chains=3000, draws=6,
        burn_in=burn, thin=thin, start=[start], seed=seed,
    )  # fmt: skip
    steps = step * (1.0 + np.arange(burn + thin * 6 + 1) / offset) ** -decay
    bias, spread, means, variances = start - mean, 0.0, [], []
    for t, each in enumerate(steps):
        if t > burn and (t - burn) % thin == 0:
            means.append(mean + bias)
            variances.append(spread)
        kept = 1.0 - each / (2.0 * variance)
        bias, spread = kept * bias, kept**2 * spread + each
    for k, (at, width) in enumerate(zip(means, variances, strict=True)):
        assert stats.kstest(draws.points[:, k, 0], normal(at, width).cdf).pvalue > 1e-5
    shares = steps[burn + thin * np.arange(1, 7)]
    weighted = (draws.weights * draws.points[:, :, 0]).sum(axis=1) / draws.weights.sum(axis=1)
    error = weighted.std(ddof=1) / np.sqrt(len(weighted))
    assert abs(weighted.mean() - shares @ means / shares.sum()) < LIMIT * error


PITFALL = {"step_size": 5e-6, "batch_size": 500, "chains": 50, "seed": 2}


@pytest.mark.slow
def test_an_acceptance_test_corrects_langevin_dynamics():
    posterior = sk.targets.LassoRegression.toy()
    options = PITFALL | {"start": posterior.sample(50, rng=1), "draws": 250}
    runs = {
        "uncorrected": samplers.sgld(posterior, **options),
        "exact": samplers.corrected_sgld(posterior, test=MetropolisTest(), **options | {"draws": 150}),
        "epsilon .1": samplers.corrected_sgld(posterior, epsilon=0.1, **options),
        "epsilon .5": samplers.corrected_sgld(posterior, epsilon=0.5, **options),
    }
    distance, share = {}, {}
    for name, draws in runs.items():
        distance[name] = stats.kstest(draws.points.ravel(), posterior.cdf).statistic
        share[name] = 0.0 if draws.batch_sizes is None else draws.batch_sizes.mean() / posterior.size
        print(
            f"{name}: mean {draws.points.mean():.5f}, sd {draws.points.std():.5f}, KS {distance[name]:.3f}, "
            f"data {share[name]:.3f}, acceptance {1.0 if draws.acceptance is None else draws.acceptance.mean():.3f}"
        )
    assert distance["uncorrected"] > 0.25
    assert max(distance["exact"], distance["epsilon .1"], distance["epsilon .5"]) < 0.12
    assert share["exact"] == 1.0 > share["epsilon .1"] > share["epsilon .5"] == pytest.approx(0.05)


def test_a_test_on_the_minibatch_of_the_proposal_accepts_too_often(monkeypatch):
    """At epsilon = 1/2, a test reads one batch; in the same order, it is the minibatch of the proposal."""
    posterior = sk.targets.LassoRegression.toy()
    options = PITFALL | {"epsilon": 0.5, "draws": 100, "start": posterior.sample(50, rng=1)}
    separate = samplers.corrected_sgld(posterior, **options)
    walk = gradients.DataWalk
    monkeypatch.setattr(gradients, "DataWalk", lambda data, seeds, kind: walk(data, seeds, StreamKind.TEST_ORDER))
    together = samplers.corrected_sgld(posterior, **options)
    print("acceptance", separate.acceptance.mean(), together.acceptance.mean())
    assert separate.acceptance.mean() < 0.85 < 0.9 < together.acceptance.mean()
