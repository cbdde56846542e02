"""Approximate Metropolis-Hastings: a random walk with the austerity test.

    theta' = theta + scale * xi,        judged by a sequential t test on a growing minibatch

The test stands in `steinkit.samplers.acceptance.austerity`.
"""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from steinkit.posterior import Posterior
from steinkit.samplers.acceptance.austerity import AusterityTest
from steinkit.samplers.chains.driver import run_chains
from steinkit.samplers.chains.options import RunOptions, Temperature
from steinkit.samplers.chains.proposals import RandomWalk
from steinkit.samplers.draws import Draws


def approximate_mh(
    posterior: Posterior,
    *,
    proposal_scale: ArrayLike,
    epsilon: float = 0.05,
    batch_size: int | None = None,
    alpha: float = 0.5,
    temperature: Temperature = 1.0,
    chains: int = 1,
    draws: int | None = None,
    budget: int | None = None,
    burn_in: int = 0,
    thin: int = 1,
    seed: int | Sequence[int] = 0,
    start: ArrayLike | None = None,
    progress: bool = False,
) -> Draws:
    """Random walk with the austerity test, which reads no more data than its decision seems to need.

    Parameters
    ----------
    posterior : Posterior
    proposal_scale : float or array_like, shape (d,)
        Standard deviation of the moves, of all coordinates or of each.
    epsilon : float
        Error allowed at one look of a test, in [0, 1]: the larger, the cheaper the steps and the more biased the draws.
        0 is exact.
    batch_size : int, optional
        Data added at each look; 500 if not given, or N where that is less.
    alpha : float
        Wang-Tsiatis exponent of the thresholds, in [1/2, 1]; 1/2 is the paper's constant threshold.
    temperature : float or callable, (n,) -> (n,)
        T that divides the log likelihood; or a schedule, T of the steps with the given numbers, from 0.
    chains, draws, budget, burn_in, thin, seed, start, progress
        Number and length of the chains, seeds, first states: see `RunOptions`.

    Returns
    -------
    Draws
        Biased unless epsilon is 0. `Draws.batch_sizes` says what each test read; the cost counts a datum once a test.

    Raises
    ------
    UsageError
        If an option is out of range, or budget does not pay one step.
    InputError
        If a function of the posterior returns a wrong shape or NaN, or a state is not finite; the message names chain,
        step and state.

    Notes
    -----
    epsilon bounds the error of one look under a normal approximation, not of a whole test and not of the draws; how far
    these are from the posterior is what a Stein discrepancy measures.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
    algorithm 1.
    """
    options = RunOptions(
        chains=chains,
        draws=draws,
        budget=budget,
        burn_in=burn_in,
        thin=thin,
        seed=seed,
        start=start,
        progress=progress,
    )
    test = AusterityTest(epsilon, batch_size, alpha)
    return run_chains(posterior, RandomWalk(proposal_scale), test, options, temperature, {"sampler": "approximate_mh"})
