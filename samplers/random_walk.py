"""Random-walk Metropolis.

theta' = theta + scale * xi,        accepted if log u < log p(theta') - log p(theta)
"""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from steinkit.samplers.acceptance.exact import MetropolisTest
from steinkit.samplers.chains.driver import run_chains
from steinkit.samplers.chains.options import RunOptions, Temperature
from steinkit.samplers.chains.proposals import RandomWalk
from steinkit.samplers.draws import Draws
from steinkit.target import Target


def rwmh(
    target: Target,
    *,
    proposal_scale: ArrayLike,
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
    """Random-walk Metropolis, exact: each test reads all the data.

    Parameters
    ----------
    target : Target or Posterior
        A plain target needs a log density; its evaluations then count 1 each.
    proposal_scale : float or array_like, shape (d,)
        Standard deviation of the moves, of all coordinates or of each.
    temperature : float or callable, (n,) -> (n,)
        T that divides the log likelihood; or a schedule, T of the steps with the given numbers, from 0.
    chains, draws, budget, burn_in, thin, seed, start, progress
        Number and length of the chains, seeds, first states: see `RunOptions`.

    Returns
    -------
    Draws
        Cost N a step.

    Raises
    ------
    UsageError
        If an option is out of range, or budget does not pay one step.
    InputError
        If a function of the target returns a wrong shape or NaN, or a state is not finite; the message names chain,
        step and state.

    References
    ----------
    N. Metropolis, A. W. Rosenbluth, M. N. Rosenbluth, A. H. Teller and E. Teller (1953), "Equation of state
    calculations by fast computing machines".
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
    return run_chains(target, RandomWalk(proposal_scale), MetropolisTest(), options, temperature, {"sampler": "rwmh"})
