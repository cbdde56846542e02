"""Metropolis-Hastings: chains that read all the data at each step, and random walks whose tests read minibatches.

Exact, with all the data at each step:

                           proposal                                                   accepted with probability
    rwmh                   theta' = theta + scale xi                                  min(1, r)
    barker                 theta' = theta + scale xi                                  r / (1 + r)
    mala                   theta' ~ N(theta + (eps / 2) grad log p(theta), eps I)     min(1, r)
    metropolis_hastings    theta' ~ q(. | theta), any                                 by any test

with r = p(theta') q(theta | theta') / (p(theta) q(theta' | theta)). Without the part of q in it, MALA would have
another stationary law, narrower than p. Two inventions bear the name of Barker: ``barker`` has his acceptance test of
1965; the Barker proposal of Livingstone and Zanella (2022), which uses gradients, is not here.

On minibatches, all of them random walks, theta' = theta + scale xi:

    approximate_mh    a sequential t test, on a minibatch that grows until it decides
    subsampling_mh    an empirical Bernstein bound, on a minibatch that grows until it decides
    barker_mh         Barker's test of 1965, the minibatch's noise being part of its randomness

The loop over steps stands in `steinkit.samplers.chains.run`, the tests in `steinkit.samplers.acceptance`.
"""

from __future__ import annotations

from typing import Unpack

from numpy.typing import ArrayLike

from steinkit.posterior import Posterior
from steinkit.samplers.acceptance.interface import AcceptanceTest, BarkerTest, MetropolisTest
from steinkit.samplers.acceptance.minibatch_barker import MinibatchBarkerTest
from steinkit.samplers.acceptance.sequential import AusterityTest, Bound, ConcentrationTest
from steinkit.samplers.chains.draws import Draws, RunKeywords, RunOptions, Temperature, takes_run_options
from steinkit.samplers.chains.gradients import Langevin, Proposal, RandomWalk
from steinkit.samplers.chains.run import run_chains
from steinkit.samplers.registry import sampler
from steinkit.target import Target


@sampler()
def rwmh(
    target: Target, *, proposal_scale: ArrayLike, temperature: Temperature = 1.0, **run: Unpack[RunKeywords]
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
    return run_chains("rwmh", target, RandomWalk(proposal_scale), MetropolisTest(), RunOptions(**run), temperature)


@sampler()
def barker(
    target: Target, *, proposal_scale: ArrayLike, temperature: Temperature = 1.0, **run: Unpack[RunKeywords]
) -> Draws:
    """Random walk with Barker's acceptance test of 1965, not the Barker proposal, exact: each test reads all data.

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
    return run_chains("barker", target, RandomWalk(proposal_scale), BarkerTest(), RunOptions(**run), temperature)


@sampler()
def mala(target: Target, *, step_size: float, temperature: Temperature = 1.0, **run: Unpack[RunKeywords]) -> Draws:
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
    return run_chains("mala", target, Langevin(step_size), MetropolisTest(), RunOptions(**run), temperature)


@takes_run_options
def metropolis_hastings(
    target: Target,
    *,
    proposal: Proposal,
    test: AcceptanceTest,
    temperature: Temperature = 1.0,
    **run: Unpack[RunKeywords],
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
    return run_chains("metropolis_hastings", target, proposal, test, RunOptions(**run), temperature)


@sampler()
def approximate_mh(
    posterior: Posterior,
    *,
    proposal_scale: ArrayLike,
    epsilon: float = 0.05,
    batch_size: int | None = None,
    alpha: float = 0.5,
    temperature: Temperature = 1.0,
    **run: Unpack[RunKeywords],
) -> Draws:
    """Random walk with the austerity test, which reads what its decision seems to need: biased by its epsilon.

    Parameters
    ----------
    posterior : Posterior
        With its N data, from which the tests draw minibatches.
    proposal_scale : float or array_like, shape (d,)
        Standard deviation of the moves, of all coordinates or of each.
    epsilon : float
        Error allowed at one look of a test, in [0, 1]: the larger, the cheaper the steps and the more biased the draws.
        0 is exact, and does what `rwmh` does.
    batch_size : int, optional
        Data added at each look; 500 if not given, or N where that is less.
    alpha : float
        Wang-Tsiatis exponent of the thresholds, in [1/2, 1]; 1/2 is the paper's constant threshold.
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
    test = AusterityTest(epsilon, batch_size, alpha)
    return run_chains("approximate_mh", posterior, RandomWalk(proposal_scale), test, RunOptions(**run), temperature)


@sampler()
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
    **run: Unpack[RunKeywords],
) -> Draws:
    """Random walk with the concentration test, whose error is bounded at every sample size: safe, hungry for data.

    Parameters
    ----------
    posterior : Posterior
        With its N data, from which the tests draw minibatches.
    proposal_scale : float or array_like, shape (d,)
        Standard deviation of the moves, of all coordinates or of each.
    epsilon : float
        Error allowed for a whole test, in [0, 1]. 0 is exact, and does what `rwmh` does: it needs no bound.
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
    test = ConcentrationTest(epsilon, batch_size, bound, factor, power)
    return run_chains("subsampling_mh", posterior, RandomWalk(proposal_scale), test, RunOptions(**run), temperature)


@sampler()
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
    **run: Unpack[RunKeywords],
) -> Draws:
    """Random walk with Barker's acceptance test of 1965 on a minibatch: nearly unbiased.

    Parameters
    ----------
    posterior : Posterior
        With its N data, from which the tests draw minibatches.
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
    Not the Barker proposal of Livingstone and Zanella (2022): the moves here know no gradient.

    The data a test reads grow with the square of N / T times the length of the move: choose proposal_scale and
    temperature so that the log likelihood ratio varies by about one, else each test reads all the data.

    References
    ----------
    D. Seita, X. Pan, H. Chen and J. Canny (2017), "An efficient minibatch acceptance test for Metropolis-Hastings",
    algorithm 1.
    """
    test = MinibatchBarkerTest(batch_size, sigma, growth, clt_bound, delta)
    return run_chains("barker_mh", posterior, RandomWalk(proposal_scale), test, RunOptions(**run), temperature)
