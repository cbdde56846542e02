"""Subsampling Metropolis-Hastings: a random walk with the concentration test.

    theta' = theta + scale * xi,        judged by an empirical Bernstein bound on a growing minibatch

The test stands in `steinkit.samplers.acceptance.concentration`.
"""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from steinkit.posterior import Posterior
from steinkit.samplers.acceptance.concentration import Bound, ConcentrationTest
from steinkit.samplers.chains.driver import run_chains
from steinkit.samplers.chains.options import RunOptions, Temperature
from steinkit.samplers.chains.proposals import RandomWalk
from steinkit.samplers.draws import Draws


def subsampling_mh(
    posterior: Posterior,
    *,
    proposal_scale: ArrayLike,
    epsilon: float = 0.01,
    batch_size: int | None = None,
    bound: Bound = "oracle",
    factor: float = 2.0,
    power: float = 2.0,
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
    """Random walk with the concentration test, whose error is bounded at every sample size.

    Parameters
    ----------
    posterior : Posterior
    proposal_scale : float or array_like, shape (d,)
        Standard deviation of the moves, of all coordinates or of each.
    epsilon : float
        Error allowed for a whole test, in [0, 1]. 0 is exact.
    batch_size : int, optional
        Data at the first look; 100 if not given, or N where that is less.
    bound : float, callable or "oracle"
        Bound C of |log p(x | theta') - log p(x | theta)| over all data: a number, a function ((n, d), (n, d)) -> (n,)
        of states and proposals, or "oracle": scan all data at each step, at a cost counted apart in the diagnostic
        ``oracle_cost``.
    factor : float
        Growth of the data from look to look, above 1.
    power : float
        How fast the error allowed falls from look to look, above 1.
    temperature : float or callable, (n,) -> (n,)
        T that divides the log likelihood; or a schedule, T of the steps with the given numbers, from 0.
    chains, draws, budget, burn_in, thin, seed, start, progress
        Number and length of the chains, seeds, first states: see `RunOptions`.

    Returns
    -------
    Draws
        `Draws.batch_sizes` says what each test read; the cost counts a datum once a test.

    Raises
    ------
    UsageError
        If an option is out of range, or budget does not pay one step.
    InputError
        If a function of the posterior returns a wrong shape or NaN, or a state is not finite; the message names chain,
        step and state.

    References
    ----------
    R. Bardenet, A. Doucet and C. Holmes (2014), "Towards scaling up Markov chain Monte Carlo: an adaptive subsampling
    approach".
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
    test = ConcentrationTest(epsilon, batch_size, bound, factor, power)
    return run_chains(posterior, RandomWalk(proposal_scale), test, options, temperature, {"sampler": "subsampling_mh"})
