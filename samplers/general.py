"""Metropolis-Hastings with any proposal and any acceptance test.

theta' ~ q(. | theta),    accepted or not by a test of  log p(theta') q(theta | theta') / (p(theta) q(theta' | theta))
"""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from steinkit.samplers.acceptance.interface import AcceptanceTest
from steinkit.samplers.chains.driver import run_chains
from steinkit.samplers.chains.options import RunOptions, Temperature
from steinkit.samplers.chains.proposals import Proposal
from steinkit.samplers.draws import Draws
from steinkit.target import Target


def metropolis_hastings(
    target: Target,
    *,
    proposal: Proposal,
    test: AcceptanceTest,
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
    """Metropolis-Hastings chains with the proposal and the acceptance test of your choice.

    Parameters
    ----------
    target : Target or Posterior
        A plain target needs a log density; its evaluations then count 1 each.
    proposal : Proposal
        `RandomWalk`, `Langevin` or `CustomProposal`.
    test : AcceptanceTest
        `MetropolisTest`, `BarkerTest`, and for a posterior `AusterityTest`, `OracleAusterityTest`, `ConcentrationTest`,
        `MinibatchBarkerTest`.
    temperature : float or callable, (n,) -> (n,)
        T that divides the log likelihood; or a schedule, T of the steps with the given numbers, from 0.
    chains, draws, budget, burn_in, thin, seed, start, progress
        Number and length of the chains, seeds, first states: see `RunOptions`.

    Returns
    -------
    Draws
        Cost: what each test read, and a minibatch or all data for the gradient of a Langevin proposal, but nothing more
        than N where the test reads all the data anyway.

    Raises
    ------
    UsageError
        If an option is out of range, or budget does not pay one step.
    InputError
        If a function of the target returns a wrong shape or NaN, or a state is not finite; the message names chain,
        step and state.

    References
    ----------
    W. K. Hastings (1970), "Monte Carlo sampling methods using Markov chains and their applications".
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
    return run_chains(target, proposal, test, options, temperature, {"sampler": "metropolis_hastings"})
