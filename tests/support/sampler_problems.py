"""A problem on which several tests of the samplers run: a posterior, and a trial run on it."""

from functools import cache

import steinkit as sk
from steinkit.samplers import RandomWalk, trial_run

# a posterior that can be designed for, and how its trial runs go
SIZE = 4000
POSTERIOR = sk.targets.GaussianMean.simulate(SIZE, [0.0, 0.0, 0.0], rng=1)
RUN = {"proposal": RandomWalk(0.03), "start": POSTERIOR.posterior_mean, "burn_in": 20, "thin": 3}


def vectorised(posterior):
    """The same posterior with plain functions only: its chains run together, and not in compiled code."""
    return sk.Posterior(
        posterior.data,
        posterior.log_likelihood,
        posterior.grad_log_likelihood,
        posterior.log_prior,
        posterior.grad_log_prior,
        log_likelihood_many=posterior.log_likelihood_many,
        grad_log_likelihood_many=posterior.grad_log_likelihood_many,
        dim=posterior.dim,
        bounds=posterior.bounds,
        label=posterior.label,
    )


@cache
def trial():
    """150 moves of one chain."""
    return trial_run(POSTERIOR, draws=150, seed=1, **RUN)
