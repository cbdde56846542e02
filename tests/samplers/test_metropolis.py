"""Chains against known moments and quantiles; and controls that must fail the same checks."""

import numpy as np
import pytest
from scipy import stats
from support.monte_carlo import LIMIT, POSTERIOR, POSTERIOR_MARGINALS, RUN, normal, worst

import steinkit as sk
from steinkit import samplers

POSTERIOR_SCALE = 1.5 * np.sqrt(POSTERIOR.posterior_variance)

CORRELATED = sk.targets.Normal(mean=[1.0, -1.0], covariance=[[1.0, 0.8], [0.8, 2.0]])

CORRELATED_MARGINALS = [normal(1.0, 1.0), normal(-1.0, 2.0)]

GAMMA = sk.targets.Gamma(shape=2.0, rate=1.0)

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
def test_exact_samplers_have_the_exact_moments_and_quantiles(case):
    function, target, marginals, options = CASES[case]
    draws = function(target, seed=1, **RUN, **options)
    assert worst(draws, marginals) < LIMIT
    assert (draws.acceptance > 0.05).all()  # the chains move
    steps = 60 + 3 * np.arange(1, 41)
    size = getattr(target, "size", 1)
    if target.bounds is None:
        np.testing.assert_array_equal(draws.cost, np.tile(size * steps, (100, 1)))
    else:  # a proposal outside the support is rejected without evaluating it
        assert (draws.cost <= size * steps).all()


def test_a_user_defined_proposal_with_its_ratio():
    def move(states, noise):
        return states * np.exp(noise)

    def log_ratio(states, proposals):  # q(theta'|theta) is log-normal: the ratio is theta' / theta
        return np.log(proposals / states).sum(axis=1)

    def run(proposal):
        test = samplers.MetropolisTest()
        return samplers.metropolis_hastings(GAMMA, proposal=proposal, test=test, start=1.0, seed=3, **RUN)

    assert worst(run(samplers.CustomProposal(move, log_ratio)), [stats.gamma(2.0)]) < LIMIT
    assert worst(run(samplers.CustomProposal(move)), [stats.gamma(2.0)]) > 2 * LIMIT


def test_a_user_defined_symmetric_proposal():
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
