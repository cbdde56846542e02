"""Minibatch Metropolis-Hastings: a random walk with Barker's test on a minibatch.

    theta' = theta + scale * xi,        judged by Barker's test with the minibatch's noise as part of its randomness

The test stands in `steinkit.samplers.acceptance.minibatch_barker`.
"""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from steinkit.posterior import Posterior
from steinkit.samplers.acceptance.minibatch_barker import MinibatchBarkerTest
from steinkit.samplers.chains.driver import run_chains
from steinkit.samplers.chains.options import RunOptions, Temperature
from steinkit.samplers.chains.proposals import RandomWalk
from steinkit.samplers.draws import Draws


def barker_mh(
    posterior: Posterior,
    *,
    proposal_scale: ArrayLike,
    batch_size: int | None = None,
    sigma: float = 1.0,
    growth: str = "fixed",
    temperature: Temperature = 1.0,
    clt_bound: bool = False,
    delta: float | None = None,
    chains: int = 1,
    draws: int | None = None,
    budget: int | None = None,
    burn_in: int = 0,
    thin: int = 1,
    seed: int | Sequence[int] = 0,
    start: ArrayLike | None = None,
    progress: bool = False,
) -> Draws:
    """Random walk with Barker's test on a minibatch.

    Parameters
    ----------
    posterior : Posterior
    proposal_scale : float or array_like, shape (d,)
        Standard deviation of the moves, of all coordinates or of each.
    batch_size : int, optional
        Data of the first batch, and of each further one; 100 if not given, or N where that is less.
    sigma : float
        Standard deviation of the noise with which a test decides; 1.3 needs a third fewer data and is less exact.
    growth : {"fixed", "jump"}
        Add batch_size data at a time, or as many as the spread of those seen suggests.
    temperature : float or callable, (n,) -> (n,)
        T that divides the log likelihood; or a schedule, T of the steps with the given numbers, from 0.
    clt_bound : bool
        Report a bound on the error of each test's normal approximation as diagnostic ``clt_bound``.
    delta : float, optional
        Also read on until that bound is at most delta.
    chains, draws, budget, burn_in, thin, seed, start, progress
        Number and length of the chains, seeds, first states: see `RunOptions`.

    Returns
    -------
    Draws
        Nearly unbiased. `Draws.batch_sizes` says what each test read; the cost counts a datum once a test.

    Raises
    ------
    UsageError
        If an option is out of range, or budget does not pay one step.
    InputError
        If a function of the posterior returns a wrong shape or NaN, or a state is not finite; the message names chain,
        step and state.

    Notes
    -----
    The data a test reads grow with the square of N / T times the length of the move: choose proposal_scale and
    temperature so that the log likelihood ratio varies by about one, else each test reads all the data.

    References
    ----------
    D. Seita, X. Pan, H. Chen and J. Canny (2017), "An efficient minibatch acceptance test for Metropolis-Hastings",
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
    test = MinibatchBarkerTest(batch_size, sigma, growth, clt_bound, delta)
    return run_chains(posterior, RandomWalk(proposal_scale), test, options, temperature, {"sampler": "barker_mh"})
