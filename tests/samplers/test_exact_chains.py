"""Chains against known moments and quantiles; and controls that must fail the same checks."""

import numpy as np
import pytest
from scipy import stats
from support.monte_carlo import LIMIT, normal, worst

import steinkit as sk
from steinkit import samplers

POSTERIOR = sk.targets.GaussianMean.simulate(40, theta=[0.3, -0.2], variance=[1.0, 4.0])
POSTERIOR_MARGINALS = [
    normal(*pair) for pair in zip(POSTERIOR.posterior_mean, POSTERIOR.posterior_variance, strict=True)
]
POSTERIOR_SCALE = 1.5 * np.sqrt(POSTERIOR.posterior_variance)
CORRELATED = sk.targets.Normal(mean=[1.0, -1.0], covariance=[[1.0, 0.8], [0.8, 2.0]])
CORRELATED_MARGINALS = [normal(1.0, 1.0), normal(-1.0, 2.0)]
GAMMA = sk.targets.Gamma(shape=2.0, rate=1.0)
RUN = {"chains": 100, "burn_in": 60, "draws": 40, "thin": 3}

CASES = {
    "rwmh-posterior": (samplers.rwmh, POSTERIOR, POSTERIOR_MARGINALS, {"proposal_scale": POSTERIOR_SCALE}),
    "rwmh-normal": (samplers.rwmh, CORRELATED, CORRELATED_MARGINALS, {"proposal_scale": 1.2}),
    "rwmh-gamma": (samplers.rwmh, GAMMA, [stats.gamma(2.0)], {"proposal_scale": 2.5, "start": 1.0}),
    "barker-posterior": (samplers.barker, POSTERIOR, POSTERIOR_MARGINALS, {"proposal_scale": POSTERIOR_SCALE}),
    "barker-gamma": (samplers.barker, GAMMA, [stats.gamma(2.0)], {"proposal_scale": 2.5, "start": 1.0}),
    "mala-posterior": (samplers.mala, POSTERIOR, POSTERIOR_MARGINALS, {"step_size": 0.04}),
    "mala-normal": (samplers.mala, CORRELATED, CORRELATED_MARGINALS, {"step_size": 0.8}),
    "mala-gamma": (samplers.mala, GAMMA, [stats.gamma(2.0)], {"step_size": 1.0, "start": 1.0}),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", [1, 2])
def test_exact_samplers_have_the_right_moments_and_quantiles(case, seed):
    function, target, marginals, options = CASES[case]
    draws = function(target, seed=seed, **RUN, **options)
    assert worst(draws, marginals) < LIMIT
    assert (draws.acceptance > 0.05).all()  # they do move
    steps = 60 + 3 * np.arange(1, 41)
    size = getattr(target, "size", 1)
    if target.bounds is None:
        np.testing.assert_array_equal(draws.cost, np.tile(size * steps, (100, 1)))
    else:  # a proposal outside the support is rejected unseen
        assert (draws.cost <= size * steps).all()


def test_a_proposal_of_ones_own_with_its_ratio():
    def move(states, noise):
        return states * np.exp(noise)

    def log_ratio(states, proposals):  # q(theta'|theta) is log-normal: the ratio is theta' / theta
        return np.log(proposals / states).sum(axis=1)

    def run(proposal):
        test = samplers.MetropolisTest()
        return samplers.metropolis_hastings(GAMMA, proposal=proposal, test=test, start=1.0, seed=3, **RUN)

    assert worst(run(samplers.CustomProposal(move, log_ratio)), [stats.gamma(2.0)]) < LIMIT
    assert worst(run(samplers.CustomProposal(move)), [stats.gamma(2.0)]) > 2 * LIMIT


@pytest.mark.parametrize("test", [samplers.MetropolisTest(), samplers.BarkerTest()], ids=repr)
def test_minibatch_langevin_proposals_with_an_exact_test_are_exact(test):
    draws = samplers.corrected_sgld(POSTERIOR, step_size=0.02, batch_size=10, test=test, **RUN | {"chains": 300})
    assert worst(draws, POSTERIOR_MARGINALS) < LIMIT
    uncorrected = samplers.sgld(POSTERIOR, step_size=0.02, batch_size=10, **RUN | {"chains": 300})
    assert worst(uncorrected, POSTERIOR_MARGINALS) > 2 * LIMIT


def test_a_symmetric_proposal_of_ones_own():
    proposal = samplers.CustomProposal(lambda states, noise: states + 0.5 * (noise[:, :2] + noise[:, 2:]), width=4)
    test = samplers.BarkerTest()
    draws = samplers.metropolis_hastings(CORRELATED, proposal=proposal, test=test, **RUN | {"burn_in": 150})
    assert worst(draws, CORRELATED_MARGINALS) < LIMIT


def test_langevin_proposals_without_their_ratio_fail():
    eps = 0.8

    def langevin(states, noise):
        return states + 0.5 * eps * CORRELATED.score(states) + np.sqrt(eps) * noise

    proposal, test = samplers.CustomProposal(langevin), samplers.MetropolisTest()
    draws = samplers.metropolis_hastings(CORRELATED, proposal=proposal, test=test, **RUN)
    assert worst(draws, CORRELATED_MARGINALS) > 2 * LIMIT


def test_tempering_divides_the_likelihood_and_not_the_prior():
    cold, T = sk.targets.GaussianMean.simulate(40, theta=1.0, prior_variance=0.5), 25.0
    precision = 1.0 / 0.5 + cold.size / T
    marginals = [normal(cold.data[0].sum() / T / precision, 1.0 / precision)]
    for function, options in (
        (samplers.rwmh, {"proposal_scale": 1.0}),
        (samplers.mala, {"step_size": 0.3}),
        (samplers.sgld, {"step_size": 0.01, "batch_size": 40, "burn_in": 300}),
    ):
        assert worst(function(cold, temperature=T, **RUN | options), marginals) < LIMIT


@pytest.mark.slow
def test_mala_on_nodal_agrees_with_a_long_run():
    """Reference: 10^6 steps of another implementation, three decimals, Monte Carlo error about 0.002."""
    draws = samplers.mala(
        sk.targets.LogisticRegression.nodal(), step_size=0.5, chains=150, burn_in=200, draws=500, seed=5
    )
    means, sds = draws.points.mean(axis=1), draws.points.std(axis=1)
    for values, reference in (
        (means, [-1.578, -0.559, 0.802, 0.492, 1.072, 0.798]),
        (np.sqrt(sds**2 + (means - means.mean(axis=0)) ** 2), [0.543, 0.539, 0.560, 0.571, 0.576, 0.534]),
    ):
        error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
        np.testing.assert_array_less(np.abs(values.mean(axis=0) - reference), LIMIT * error + 0.005)


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
    """With all data and a normal target a step is x' = (1 - a) x + sqrt(eps) xi, a = eps / (2 v): variance known."""
    posterior = sk.targets.GaussianMean.simulate(10, prior_variance=10.0)
    v, eps = posterior.posterior_variance[0], 0.1
    marginals = [normal(posterior.posterior_mean[0], eps / (1.0 - (1.0 - eps / (2.0 * v)) ** 2))]
    draws = samplers.sgld(posterior, step_size=eps, batch_size=10, chains=400, burn_in=50, draws=40)
    assert worst(draws, marginals) < LIMIT


def test_decreasing_steps_weigh_the_draws():
    posterior = sk.targets.GaussianMean.simulate(10)
    draws = samplers.sgld(
        posterior, step_size=0.3, batch_size=10, decay=0.5, decay_offset=4.0, draws=5, burn_in=2, thin=3, chains=2
    )
    steps = 2 + 3 * np.arange(1, 6)  # taken up to each draw, hence the number, from 0, of the step that leaves it
    a = 0.3 * 4.0**0.5
    np.testing.assert_allclose(draws.weights, np.tile(a * (4.0 + steps) ** -0.5, (2, 1)))
    np.testing.assert_array_equal(draws.cost[0], steps * 10)
    assert samplers.sgld(posterior, step_size=0.3, batch_size=10, draws=5).weights is None


def test_decreasing_steps_unbiased_in_the_end():
    posterior = sk.targets.GaussianMean.simulate(10, prior_variance=10.0)
    marginals = [normal(posterior.posterior_mean[0], posterior.posterior_variance[0])]
    options = {"step_size": 0.15, "batch_size": 10, "chains": 200, "draws": 600}
    constant = samplers.sgld(posterior, **options)
    decreasing = samplers.sgld(posterior, decay=0.6, decay_offset=10.0, burn_in=200, **options)
    assert worst(constant, marginals) > LIMIT > worst(decreasing, marginals)
