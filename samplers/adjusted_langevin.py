"""Metropolis-adjusted Langevin algorithm (MALA).

    theta' ~ N(m(theta), eps I),    m(theta) = theta + (eps / 2) grad log p(theta)
    accepted if log u < log p(theta') - log p(theta) + log q(theta | theta') - log q(theta' | theta)

Without the last two terms, the proposal ratio, the chain has another stationary law, narrower than p.
"""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from steinkit.samplers.acceptance.exact import MetropolisTest
from steinkit.samplers.chains.driver import run_chains
from steinkit.samplers.chains.options import RunOptions, Temperature
from steinkit.samplers.chains.proposals import Langevin
from steinkit.samplers.draws import Draws
from steinkit.target import Target


def mala(
    target: Target,
    *,
    step_size: float,
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
    """Metropolis-adjusted Langevin algorithm, exact: each step reads all the data.

    Parameters
    ----------
    target : Target or Posterior
        A plain target needs a log density; its evaluations then count 1 each.
    step_size : float
        eps: the variance of the noise of a move; its drift is eps / 2 times the gradient.
    temperature : float or callable, (n,) -> (n,)
        T that divides the log likelihood; or a schedule, T of the steps with the given numbers, from 0.
    chains, draws, budget, burn_in, thin, seed, start, progress
        Number and length of the chains, seeds, first states: see `RunOptions`.

    Returns
    -------
    Draws
        Cost N a step: likelihood and gradient of a datum at one state count once.

    Raises
    ------
    UsageError
        If an option is out of range, or budget does not pay one step.
    InputError
        If a function of the target returns a wrong shape or NaN, or a state is not finite; the message names chain,
        step and state.

    References
    ----------
    G. O. Roberts and R. L. Tweedie (1996), "Exponential convergence of Langevin distributions and their discrete
    approximations".
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
    return run_chains(target, Langevin(step_size), MetropolisTest(), options, temperature, {"sampler": "mala"})
