"""Exact tests accept as often as they should."""

import numpy as np
from scipy.special import expit

import steinkit as sk
from steinkit import samplers
from steinkit.samplers import (
    BarkerTest,
    MetropolisTest,
    metropolis_hastings,
)


def test_exact_frequencies():
    posterior = sk.targets.GaussianMean.simulate(30)
    states, proposals = np.full((4000, 1), 0.1), np.full((4000, 1), 0.4)
    delta = np.diff(posterior.log_density([[0.1], [0.4]]))[0]
    proposal = samplers.CustomProposal(lambda thetas, noise: proposals)
    for test, probability in ((MetropolisTest(), min(1.0, np.exp(delta))), (BarkerTest(), expit(delta))):
        draws = metropolis_hastings(posterior, proposal=proposal, test=test, chains=4000, draws=1, start=states)
        error = np.sqrt(probability * (1 - probability) / 4000)
        assert abs(draws.accepted.mean() - probability) < 4.5 * error
