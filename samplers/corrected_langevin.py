"""Stochastic gradient Langevin dynamics, corrected by an acceptance test.

    theta' ~ N(m_X(theta), eps I),    m_X(theta) = theta + (eps / 2) (grad log rho + (N / n) sum over X of grad log p)
    judged with the ratio q_X(theta | theta') / q_X(theta' | theta), the same minibatch X in both

The proposal is a mixture over minibatches; detailed balance for each of its components gives it for the mixture. The
test reads data in an order independent of X: on X itself it would accept what X is wrong about.
"""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from steinkit.posterior import Posterior
from steinkit.samplers.acceptance.austerity import AusterityTest
from steinkit.samplers.acceptance.interface import AcceptanceTest
from steinkit.samplers.chains.driver import run_chains
from steinkit.samplers.chains.options import RunOptions, Temperature
from steinkit.samplers.chains.proposals import Langevin
from steinkit.samplers.draws import Draws


def corrected_sgld(
    posterior: Posterior,
    *,
    step_size: float,
    batch_size: int,
    epsilon: float = 0.05,
    test: AcceptanceTest | None = None,
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
    """Langevin proposals on minibatches, each judged by an acceptance test.

    Parameters
    ----------
    posterior : Posterior
    step_size : float
        eps: the variance of the noise of a move; its drift is eps / 2 times the gradient.
    batch_size : int
        Data n of a proposal's minibatch, and of a batch of the austerity test.
    epsilon : float
        Error allowed at one look of the austerity test, in [0, 1].
    test : AcceptanceTest, optional
        Any other acceptance test; epsilon is then not used.
    temperature : float or callable, (n,) -> (n,)
        T that divides the log likelihood; or a schedule, T of the steps with the given numbers, from 0.
    chains, draws, budget, burn_in, thin, seed, start, progress
        Number and length of the chains, seeds, first states: see `RunOptions`.

    Returns
    -------
    Draws
        Cost n for a proposal and what its test reads, which `Draws.batch_sizes` holds.

    Raises
    ------
    UsageError
        If an option is out of range, or budget does not pay one step.
    InputError
        If a function of the posterior returns a wrong shape or NaN, or a state is not finite; the message names chain,
        step and state.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
    section 6.4.
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
    judge = AusterityTest(epsilon, batch_size) if test is None else test
    return run_chains(
        posterior, Langevin(step_size, batch_size), judge, options, temperature, {"sampler": "corrected_sgld"}
    )
