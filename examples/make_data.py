"""Generate the draws bundled in `examples/data`, which are exact and biased samples from a posterior.

    python examples/make_data.py [--output FOLDER]

The target is the posterior of Welling and Teh's mixture (`sk.targets.MixturePosterior`), which has two modes. Each
sample consists of 5 draws from each of 200 independent chains, which start from N(0, I). There are enough steps before
and between the draws to remove the dependence on earlier states. The samples therefore differ in bias and not in
autocorrelation:

    metropolis.csv    random-walk Metropolis with all the data, proposal sd 1, every 1000th step: exact
    sgld_5e-3.csv     stochastic gradient Langevin dynamics, step size 5e-3, every 8000th step: slightly biased
    sgld_5e-2.csv     the same with step size 5e-2: strongly biased

    sgld_nodal.csv    the same for a logistic regression with one mode, `sk.targets.LogisticRegression.nodal()`

The chains mix slowly because they rarely move between the modes. The autocorrelation of theta2 falls below 0.05 after
about 200 steps of Metropolis, 2000 steps of SGLD with step size 5e-2, and 6000 steps with step size 5e-3. The SGLD
chains are therefore thinned more than the Metropolis chains. The thinning is the same for both step sizes.

The random numbers come from `numpy.random.Generator` with PCG64 and the seeds below. The draws are rounded to 8
decimals, so differences between platforms in the last bits of exp do not change the files.

References
----------
M. Welling and Y. W. Teh (2011), "Bayesian learning via stochastic gradient Langevin dynamics", section 5.1.
J. Gorham and L. Mackey (2015), "Measuring sample quality with Stein's method", section 5.3.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np

import steinkit as sk

CHAINS, DRAWS_PER_CHAIN = 200, 5
PROPOSAL_SD = 1.0
BATCH_SIZE = 5
DECIMALS = 8

Steps = Iterator[np.ndarray]


def metropolis(target: sk.Posterior, rng: np.random.Generator) -> Steps:
    """Yield the states of random-walk Metropolis chains, shape (chains, 2), step by step."""
    theta = rng.standard_normal((CHAINS, 2))
    height = target.log_density(theta)
    while True:
        proposal = theta + PROPOSAL_SD * rng.standard_normal(theta.shape)
        proposed_height = target.log_density(proposal)
        accepted = np.log(rng.random(CHAINS)) < proposed_height - height
        theta = np.where(accepted[:, None], proposal, theta)
        height = np.where(accepted, proposed_height, height)
        yield theta


def sgld(target: sk.Posterior, step_size: float, rng: np.random.Generator) -> Steps:
    """Yield the states of stochastic gradient Langevin dynamics, without a Metropolis correction.

    theta <- theta + step_size / 2 (grad log prior + N/b sum of grad log likelihood over the batch)
                   + sqrt(step_size) N(0, I)

    Each chain uses the data in batches of b = 5 without replacement, in a new order each epoch.
    """
    (data,) = target.data
    scale = target.size / BATCH_SIZE
    theta = rng.standard_normal((CHAINS, 2))
    while True:
        epoch = rng.permuted(np.tile(data, (CHAINS, 1)), axis=1)
        for batch in np.split(epoch, target.size // BATCH_SIZE, axis=1):
            gradient = target.grad_log_prior(theta) + scale * target.grad_log_likelihood_many(theta, batch)
            theta = theta + 0.5 * step_size * gradient + np.sqrt(step_size) * rng.standard_normal(theta.shape)
            yield theta


def thinned(steps: Steps, every: int) -> sk.Sample:
    """Return the states of all chains at every n-th step, ordered by chain."""
    states = islice(steps, every - 1, every * DRAWS_PER_CHAIN, every)
    draws = np.stack(list(states), axis=1).reshape(-1, 2)
    return sk.Sample(np.round(draws, DECIMALS), names=("theta1", "theta2"))


def sgld_nodal() -> sk.Sample:
    """Run SGLD on the nodal posterior.

    The step size is 5e-2, the batches contain 10 of 53 data points, and every 1000th step is kept.
    """
    settings = {"step_size": 5e-2, "batch_size": 10, "chains": CHAINS, "draws": DRAWS_PER_CHAIN, "thin": 1000}
    draws = sk.samplers.sgld(sk.targets.LogisticRegression.nodal(), **settings, seed=1).to_sample()
    return sk.Sample(np.round(draws.points, DECIMALS), names=draws.names)


SAMPLES: dict[str, Callable[[sk.Posterior], sk.Sample]] = {
    "metropolis.csv": lambda target: thinned(metropolis(target, np.random.default_rng(1)), every=1000),
    "sgld_5e-3.csv": lambda target: thinned(sgld(target, 5e-3, np.random.default_rng(2)), every=8000),
    "sgld_5e-2.csv": lambda target: thinned(sgld(target, 5e-2, np.random.default_rng(3)), every=8000),
    "sgld_nodal.csv": lambda target: sgld_nodal(),
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the draws bundled with the examples (about half a minute).")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "data", help="folder to write to")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    target = sk.targets.MixturePosterior()
    for name, make in SAMPLES.items():
        sample = make(target)
        sk.write_sample(sample, folder / name)
        mean, sd = sample.points.mean(axis=0), sample.points.std(axis=0)
        print(f"{name:16} {len(sample)} draws, mean {np.round(mean, 3)}, sd {np.round(sd, 3)}")


if __name__ == "__main__":
    main()
