"""Metropolis-Hastings that reads all the data at each step: exact.

                           proposal                                                   accepted with probability
    rwmh                   theta' = theta + scale xi                                  min(1, r)
    barker                 theta' = theta + scale xi                                  r / (1 + r)
    mala                   theta' ~ N(theta + (eps / 2) grad log p(theta), eps I)     min(1, r)
    metropolis_hastings    theta' ~ q(. | theta), any                                 by any test

with r = p(theta') q(theta | theta') / (p(theta) q(theta' | theta)). Without the part of q in it, MALA would have
another stationary law, narrower than p. Two inventions bear the name of Barker: ``barker`` has his acceptance test of
1965; the Barker proposal of Livingstone and Zanella (2022), which uses gradients, is not here.

The loop over the steps stands in `steinkit.samplers.chains.run`, the tests in `steinkit.samplers.acceptance`.
"""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from steinkit.samplers.acceptance.exact import BarkerTest, MetropolisTest
from steinkit.samplers.acceptance.interface import AcceptanceTest
from steinkit.samplers.chains.options import RunOptions, Temperature
from steinkit.samplers.chains.proposals import Langevin, Proposal, RandomWalk
from steinkit.samplers.chains.run import run_chains
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
    chains : int
        Number of chains.
    draws, budget : int, optional
        Draws to keep of each chain, and likelihood evaluations that it may spend, burn-in included. One of the two is
        needed; with both, what is reached first ends a chain.
    burn_in, thin : int
        Steps left out at the beginning, and of how many steps one is kept.
    seed : int, or sequence of int
        Of the run, or of each chain: see `RunOptions`.
    start : array_like, shape (d,) or (chains, d), optional
        First state of all chains, or of each; zeros if not given.
    progress : bool
        Show a bar on standard error if the run takes more than a second.

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
    options = RunOptions(chains, draws, budget, burn_in, thin, seed, start, progress)
    return run_chains("rwmh", target, RandomWalk(proposal_scale), MetropolisTest(), options, temperature)


def barker(
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
    """Random walk with Barker's acceptance test of 1965, exact: each test reads all the data.

    Parameters
    ----------
    target : Target or Posterior
        A plain target needs a log density; its evaluations then count 1 each.
    proposal_scale : float or array_like, shape (d,)
        Standard deviation of the moves, of all coordinates or of each.
    temperature : float or callable, (n,) -> (n,)
        T that divides the log likelihood; or a schedule, T of the steps with the given numbers, from 0.
    chains : int
        Number of chains.
    draws, budget : int, optional
        Draws to keep of each chain, and likelihood evaluations that it may spend, burn-in included. One of the two is
        needed; with both, what is reached first ends a chain.
    burn_in, thin : int
        Steps left out at the beginning, and of how many steps one is kept.
    seed : int, or sequence of int
        Of the run, or of each chain: see `RunOptions`.
    start : array_like, shape (d,) or (chains, d), optional
        First state of all chains, or of each; zeros if not given.
    progress : bool
        Show a bar on standard error if the run takes more than a second.

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

    Notes
    -----
    Not the Barker proposal of Livingstone and Zanella (2022): the moves here are those of `rwmh`, and know no gradient.

    What the minibatch Barker test approximates. For one proposal no exact test that accepts by the ratio of densities
    accepts more often than Metropolis; this one accepts at least half as often.

    References
    ----------
    A. A. Barker (1965), "Monte Carlo calculations of the radial distribution functions for a proton-electron
    plasma".
    """
    options = RunOptions(chains, draws, budget, burn_in, thin, seed, start, progress)
    return run_chains("barker", target, RandomWalk(proposal_scale), BarkerTest(), options, temperature)


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
    chains : int
        Number of chains.
    draws, budget : int, optional
        Draws to keep of each chain, and likelihood or gradient evaluations that it may spend, burn-in included. One
        of the two is needed; with both, what is reached first ends a chain.
    burn_in, thin : int
        Steps left out at the beginning, and of how many steps one is kept.
    seed : int, or sequence of int
        Of the run, or of each chain: see `RunOptions`.
    start : array_like, shape (d,) or (chains, d), optional
        First state of all chains, or of each; zeros if not given.
    progress : bool
        Show a bar on standard error if the run takes more than a second.

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
    options = RunOptions(chains, draws, budget, burn_in, thin, seed, start, progress)
    return run_chains("mala", target, Langevin(step_size), MetropolisTest(), options, temperature)


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
    chains : int
        Number of chains.
    draws, budget : int, optional
        Draws to keep of each chain, and likelihood or gradient evaluations that it may spend, burn-in included. One
        of the two is needed; with both, what is reached first ends a chain.
    burn_in, thin : int
        Steps left out at the beginning, and of how many steps one is kept.
    seed : int, or sequence of int
        Of the run, or of each chain: see `RunOptions`.
    start : array_like, shape (d,) or (chains, d), optional
        First state of all chains, or of each; zeros if not given.
    progress : bool
        Show a bar on standard error if the run takes more than a second.

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
    options = RunOptions(chains, draws, budget, burn_in, thin, seed, start, progress)
    return run_chains("metropolis_hastings", target, proposal, test, options, temperature)
