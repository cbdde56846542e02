"""A posterior and a trial run for tests of the samplers."""

from functools import cache

import steinkit as sk
from steinkit.samplers import RandomWalk, trial_run

# a posterior for designs, and the settings of its trial runs
SIZE = 4000
POSTERIOR = sk.targets.GaussianMean.simulate(SIZE, [0.0, 0.0, 0.0], rng=1)
RUN = {"proposal": RandomWalk(0.03), "start": POSTERIOR.posterior_mean, "burn_in": 20, "thin": 3}


def plain(posterior, *more, **changed):
    """Return a posterior with the functions of another one, some of them changed, and with more of its attributes."""
    names = ("log_likelihood", "grad_log_likelihood", "log_prior", "grad_log_prior", *more)
    return sk.Posterior(posterior.data, **{name: getattr(posterior, name) for name in names} | changed)


def vectorised(posterior):
    """Return the posterior with plain functions only, which has no compiled chains."""
    return plain(posterior, "log_likelihood_many", "grad_log_likelihood_many", "dim", "bounds", "label")


@cache
def trial():
    """Return 150 moves of one chain."""
    return trial_run(POSTERIOR, draws=150, seed=1, **RUN)
