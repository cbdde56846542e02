"""Metropolis-Hastings samplers, exact and on minibatches.

Exact, with all data at each step:

                           proposal                                                   acceptance probability
    rwmh                   theta' = theta + scale xi                                  min(1, r)
    barker                 theta' = theta + scale xi                                  r / (1 + r)
    mala                   theta' ~ N(theta + (eps / 2) grad log p(theta), eps I)     min(1, r)
    metropolis_hastings    theta' ~ q(. | theta), any                                 any test

with r = p(theta') q(theta | theta') / (p(theta) q(theta' | theta)). Without the ratio of q, the stationary distribution
of MALA would be narrower than p.

On minibatches, with random-walk proposals theta' = theta + scale xi:

    approximate_mh    sequential t test, on a minibatch that grows until the test decides
    subsampling_mh    empirical Bernstein bound, on a minibatch that grows until the test decides
    barker_mh         Barker's test of 1965, with the noise of the minibatch as part of its randomness

`barker` and `barker_mh` are named after Barker's acceptance test of 1965. The Barker proposal of Livingstone and
Zanella (2022), which uses gradients, is not included. `steinkit.samplers.chains.run` contains the loop over steps, and
`steinkit.samplers.acceptance` the tests.
"""

from __future__ import annotations

from typing import Unpack

from numpy.typing import ArrayLike

from steinkit.posterior import Posterior
from steinkit.samplers.acceptance.interface import AcceptanceTest, BarkerTest, MetropolisTest
from steinkit.samplers.acceptance.minibatch_barker import MinibatchBarkerTest
from steinkit.samplers.acceptance.sequential import AusterityTest, Bound, ConcentrationTest
from steinkit.samplers.chains.draws import Draws, RunKeywords, RunOptions, takes_run_options
from steinkit.samplers.chains.gradients import Langevin, Proposal, RandomWalk
from steinkit.samplers.chains.run import run_chains
from steinkit.samplers.registry import OwnOption, sampler
from steinkit.target import Target


@sampler()
def rwmh(target: Target, *, proposal_scale: ArrayLike, temperature: float = 1.0, **run: Unpack[RunKeywords]) -> Draws:
    """Sample by random-walk Metropolis; exact, with all data at each step.

    Parameters
    ----------
    target : Target or Posterior
        A plain target requires a log density; each of its evaluations has cost 1.
    proposal_scale : float or array_like, shape (d,)
        Standard deviation of the moves, of all coordinates or of each.
    temperature : float, default 1.0
        T, which divides the log likelihood.
    chains : int, default 1
        Number of chains.
    draws, budget : int, optional
        Draws to keep per chain, and likelihood evaluations at single data points per chain, including
        burn-in. Give one or both; a chain ends when it reaches either.
    burn_in : int, default 0
        Number of initial steps to discard.
    thin : int, default 1
        Keep every thin-th step after burn-in.
    seed : int or sequence of int, default 0
        Seed of the run, or the seeds of the chains; see `RunOptions`.
    start : array_like, shape (d,) or (chains, d), optional
        Initial state of all chains, or of each; zeros by default.
    progress : bool, default False
        Show a progress bar on standard error if the run takes more than a second.

    Returns
    -------
    Draws
        Draws of all chains, with a cost of N per step.

    Raises
    ------
    UsageError
        If an option is out of range, or the budget is too small for one step.
    InputError
        If a function of the target returns an invalid shape or NaN, or a state is not finite. The message gives chain,
        step and state.

    References
    ----------
    N. Metropolis, A. W. Rosenbluth, M. N. Rosenbluth, A. H. Teller and E. Teller (1953), "Equation of state
    calculations by fast computing machines".

    Examples
    --------
    >>> import steinkit as sk
    >>> target = sk.targets.Normal([0.0, 0.0])
    >>> sk.samplers.rwmh(target, proposal_scale=1.5, chains=4, draws=100).points.shape
    (4, 100, 2)
    """
    return run_chains("rwmh", target, RandomWalk(proposal_scale), MetropolisTest(), RunOptions(**run), temperature)


@sampler()
def barker(target: Target, *, proposal_scale: ArrayLike, temperature: float = 1.0, **run: Unpack[RunKeywords]) -> Draws:
    """Sample by a random walk with Barker's test of 1965; exact, with all data.

    Parameters
    ----------
    target : Target or Posterior
        A plain target requires a log density; each of its evaluations has cost 1.
    proposal_scale : float or array_like, shape (d,)
        Standard deviation of the moves, of all coordinates or of each.
    temperature : float, default 1.0
        T, which divides the log likelihood.
    chains : int, default 1
        Number of chains.
    draws, budget : int, optional
        Draws to keep per chain, and likelihood evaluations at single data points per chain, including
        burn-in. Give one or both; a chain ends when it reaches either.
    burn_in : int, default 0
        Number of initial steps to discard.
    thin : int, default 1
        Keep every thin-th step after burn-in.
    seed : int or sequence of int, default 0
        Seed of the run, or the seeds of the chains; see `RunOptions`.
    start : array_like, shape (d,) or (chains, d), optional
        Initial state of all chains, or of each; zeros by default.
    progress : bool, default False
        Show a progress bar on standard error if the run takes more than a second.

    Returns
    -------
    Draws
        Draws of all chains, with a cost of N per step.

    Raises
    ------
    UsageError
        If an option is out of range, or the budget is too small for one step.
    InputError
        If a function of the target returns an invalid shape or NaN, or a state is not finite. The message gives chain,
        step and state.

    Notes
    -----
    `barker_mh` approximates this sampler on minibatches. For a given proposal, the Metropolis test has the highest
    acceptance probability among exact tests that depend on the ratio of densities; that of Barker's test is at least
    half as large. The proposals are those of `rwmh`, and not the Barker proposal of Livingstone and Zanella (2022).

    References
    ----------
    A. A. Barker (1965), "Monte Carlo calculations of the radial distribution functions for a proton-electron
    plasma".

    Examples
    --------
    >>> import steinkit as sk
    >>> target = sk.targets.Normal([0.0, 0.0])
    >>> sk.samplers.barker(target, proposal_scale=1.5, chains=4, draws=100).points.shape
    (4, 100, 2)
    """
    return run_chains("barker", target, RandomWalk(proposal_scale), BarkerTest(), RunOptions(**run), temperature)


@sampler()
def mala(target: Target, *, step_size: float, temperature: float = 1.0, **run: Unpack[RunKeywords]) -> Draws:
    """Sample by the Metropolis-adjusted Langevin algorithm; exact, with all data.

    Parameters
    ----------
    target : Target or Posterior
        A plain target requires a log density; each of its evaluations has cost 1.
    step_size : float
        Variance eps of the noise of a move; its drift is eps / 2 times the gradient.
    temperature : float, default 1.0
        T, which divides the log likelihood.
    chains : int, default 1
        Number of chains.
    draws, budget : int, optional
        Draws to keep per chain, and likelihood or gradient evaluations at single data points per chain, including
        burn-in. Give one or both; a chain ends when it reaches either.
    burn_in : int, default 0
        Number of initial steps to discard.
    thin : int, default 1
        Keep every thin-th step after burn-in.
    seed : int or sequence of int, default 0
        Seed of the run, or the seeds of the chains; see `RunOptions`.
    start : array_like, shape (d,) or (chains, d), optional
        Initial state of all chains, or of each; zeros by default.
    progress : bool, default False
        Show a progress bar on standard error if the run takes more than a second.

    Returns
    -------
    Draws
        Draws of all chains, with a cost of N per step: the likelihood and the gradient of a data point at one state
        count once.

    Raises
    ------
    UsageError
        If an option is out of range, or the budget is too small for one step.
    InputError
        If a function of the target returns an invalid shape or NaN, or a state is not finite. The message gives chain,
        step and state.

    References
    ----------
    G. O. Roberts and R. L. Tweedie (1996), "Exponential convergence of Langevin distributions and their discrete
    approximations".

    Examples
    --------
    >>> import steinkit as sk
    >>> posterior = sk.targets.LogisticRegression.nodal()
    >>> sk.samplers.mala(posterior, step_size=0.3, draws=100).points.shape
    (1, 100, 6)
    """
    return run_chains("mala", target, Langevin(step_size), MetropolisTest(), RunOptions(**run), temperature)


@takes_run_options
def metropolis_hastings(
    target: Target,
    *,
    proposal: Proposal,
    test: AcceptanceTest,
    temperature: float = 1.0,
    **run: Unpack[RunKeywords],
) -> Draws:
    """Sample by Metropolis-Hastings with a given proposal and acceptance test.

    Parameters
    ----------
    target : Target or Posterior
        A plain target requires a log density; each of its evaluations has cost 1.
    proposal : Proposal
        `RandomWalk`, `Langevin` or `CustomProposal`.
    test : AcceptanceTest
        `MetropolisTest` or `BarkerTest`; for a posterior also `AusterityTest`, `ConcentrationTest` or
        `MinibatchBarkerTest`.
    temperature : float, default 1.0
        T, which divides the log likelihood.
    chains : int, default 1
        Number of chains.
    draws, budget : int, optional
        Draws to keep per chain, and likelihood or gradient evaluations at single data points per chain, including
        burn-in. Give one or both; a chain ends when it reaches either.
    burn_in : int, default 0
        Number of initial steps to discard.
    thin : int, default 1
        Keep every thin-th step after burn-in.
    seed : int or sequence of int, default 0
        Seed of the run, or the seeds of the chains; see `RunOptions`.
    start : array_like, shape (d,) or (chains, d), optional
        Initial state of all chains, or of each; zeros by default.
    progress : bool, default False
        Show a progress bar on standard error if the run takes more than a second.

    Returns
    -------
    Draws
        Draws of all chains. The cost of a step is the number of data points read by the test, plus those of the
        gradient of a Langevin proposal unless the test reads all data.

    Raises
    ------
    UsageError
        If an option is out of range, or the budget is too small for one step.
    InputError
        If a function of the target returns an invalid shape or NaN, or a state is not finite. The message gives chain,
        step and state.

    References
    ----------
    W. K. Hastings (1970), "Monte Carlo sampling methods using Markov chains and their applications".

    Examples
    --------
    >>> import steinkit as sk
    >>> from steinkit.samplers import AusterityTest, RandomWalk, metropolis_hastings
    >>> posterior = sk.targets.LogisticRegression.nodal()
    >>> run = {"proposal": RandomWalk(0.3), "test": AusterityTest(0.1, 10)}
    >>> metropolis_hastings(posterior, **run, draws=100).points.shape
    (1, 100, 6)
    """
    return run_chains("metropolis_hastings", target, proposal, test, RunOptions(**run), temperature)


@sampler(alpha=OwnOption("X", "Wang-Tsiatis exponent of the austerity test, in [0.5, 1]."))
def approximate_mh(
    posterior: Posterior,
    *,
    proposal_scale: ArrayLike,
    epsilon: float = 0.05,
    batch_size: int | None = None,
    alpha: float = 0.5,
    temperature: float = 1.0,
    **run: Unpack[RunKeywords],
) -> Draws:
    """Sample by a random walk with the austerity test; epsilon determines the bias.

    Parameters
    ----------
    posterior : Posterior
        Posterior with N data points, from which the tests draw minibatches.
    proposal_scale : float or array_like, shape (d,)
        Standard deviation of the moves, of all coordinates or of each.
    epsilon : float, default 0.05
        Error allowed at one stage of a test, in [0, 1]. Larger values make the steps cheaper and the draws more biased;
        0 is exact and equal to `rwmh`.
    batch_size : int, optional
        Number of data points added per stage; min(500, N) by default.
    alpha : float, default 0.5
        Wang-Tsiatis exponent of the thresholds, in [1/2, 1]; 1/2 gives the constant thresholds of the paper.
    temperature : float, default 1.0
        T, which divides the log likelihood.
    chains : int, default 1
        Number of chains.
    draws, budget : int, optional
        Draws to keep per chain, and likelihood evaluations at single data points per chain, including
        burn-in. Give one or both; a chain ends when it reaches either.
    burn_in : int, default 0
        Number of initial steps to discard.
    thin : int, default 1
        Keep every thin-th step after burn-in.
    seed : int or sequence of int, default 0
        Seed of the run, or the seeds of the chains; see `RunOptions`.
    start : array_like, shape (d,) or (chains, d), optional
        Initial state of all chains, or of each; zeros by default.
    progress : bool, default False
        Show a progress bar on standard error if the run takes more than a second.

    Returns
    -------
    Draws
        Draws of all chains, biased unless epsilon is 0. `Draws.batch_sizes` reports the data read by each test. The
        cost counts a data point once per test.

    Raises
    ------
    UsageError
        If an option is out of range, or the budget is too small for one step.
    InputError
        If a function of the posterior returns an invalid shape or NaN, or a state is not finite. The message gives
        chain, step and state.

    Notes
    -----
    epsilon bounds the error of one stage under a normal approximation. It does not bound the error of a whole test or
    the bias of the draws, which a Stein discrepancy measures.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
    algorithm 1.

    Examples
    --------
    >>> import steinkit as sk
    >>> posterior = sk.targets.MixturePosterior.simulate(10_000)
    >>> run = {"draws": 200, "start": [0.0, 1.0]}
    >>> draws = sk.samplers.approximate_mh(posterior, proposal_scale=0.1, **run)
    >>> draws.mean_batch_size < posterior.size
    array([ True])
    """
    test = AusterityTest(epsilon, batch_size, alpha)
    return run_chains("approximate_mh", posterior, RandomWalk(proposal_scale), test, RunOptions(**run), temperature)


@sampler(
    bound=OwnOption("X|oracle", "Bound on the log likelihood ratio of a data point (concentration test)."),
    factor=OwnOption("X", "Growth factor of the batch per stage (concentration test)."),
)
def subsampling_mh(
    posterior: Posterior,
    *,
    proposal_scale: ArrayLike,
    epsilon: float = 0.01,
    batch_size: int | None = None,
    bound: Bound = "oracle",
    factor: float = 2.0,
    temperature: float = 1.0,
    **run: Unpack[RunKeywords],
) -> Draws:
    """Sample by a random walk with the concentration test; bounded error.

    Parameters
    ----------
    posterior : Posterior
        Posterior with N data points, from which the tests draw minibatches.
    proposal_scale : float or array_like, shape (d,)
        Standard deviation of the moves, of all coordinates or of each.
    epsilon : float, default 0.01
        Error allowed for a whole test, in [0, 1]; 0 is exact and equal to `rwmh`.
    batch_size : int, optional
        Number of data points in the first stage; min(100, N) by default.
    bound : float or "oracle", default "oracle"
        Bound C of |log p(x | theta') - log p(x | theta)| over all data points and moves. "oracle" scans all data at
        each step; the diagnostic ``oracle_cost`` reports the cost of the scans.
    factor : float, default 2.0
        Growth factor of the sample size per stage, above 1.
    temperature : float, default 1.0
        T, which divides the log likelihood.
    chains : int, default 1
        Number of chains.
    draws, budget : int, optional
        Draws to keep per chain, and likelihood evaluations at single data points per chain, including
        burn-in. Give one or both; a chain ends when it reaches either.
    burn_in : int, default 0
        Number of initial steps to discard.
    thin : int, default 1
        Keep every thin-th step after burn-in.
    seed : int or sequence of int, default 0
        Seed of the run, or the seeds of the chains; see `RunOptions`.
    start : array_like, shape (d,) or (chains, d), optional
        Initial state of all chains, or of each; zeros by default.
    progress : bool, default False
        Show a progress bar on standard error if the run takes more than a second.

    Returns
    -------
    Draws
        Draws of all chains. `Draws.batch_sizes` reports the data read by each test. The cost counts a data point once
        per test.

    Raises
    ------
    UsageError
        If an option is out of range, or the budget is too small for one step.
    InputError
        If a function of the posterior returns an invalid shape or NaN, or a state is not finite. The message gives
        chain, step and state.

    References
    ----------
    R. Bardenet, A. Doucet and C. Holmes (2014), "Towards scaling up Markov chain Monte Carlo: an adaptive subsampling
    approach".

    Examples
    --------
    >>> import steinkit as sk
    >>> posterior = sk.targets.LogisticRegression.nodal()
    >>> draws = sk.samplers.subsampling_mh(posterior, proposal_scale=0.3, batch_size=10, draws=50)
    >>> draws.points.shape
    (1, 50, 6)
    """
    test = ConcentrationTest(epsilon, batch_size, bound, factor)
    return run_chains("subsampling_mh", posterior, RandomWalk(proposal_scale), test, RunOptions(**run), temperature)


@sampler(sigma=OwnOption("X", "Standard deviation of the noise in a minibatch Barker test."))
def barker_mh(
    posterior: Posterior,
    *,
    proposal_scale: ArrayLike,
    batch_size: int | None = None,
    sigma: float = 1.0,
    temperature: float = 1.0,
    **run: Unpack[RunKeywords],
) -> Draws:
    """Sample by a random walk with Barker's test on minibatches; almost unbiased.

    Parameters
    ----------
    posterior : Posterior
        Posterior with N data points, from which the tests draw minibatches.
    proposal_scale : float or array_like, shape (d,)
        Standard deviation of the moves, of all coordinates or of each.
    batch_size : int, optional
        Number of data points in the first batch and in each further batch; min(100, N) by default.
    sigma : float, default 1.0
        Standard deviation of the noise of a test. 1.3 needs a third fewer data points and is less accurate.
    temperature : float, default 1.0
        T, which divides the log likelihood.
    chains : int, default 1
        Number of chains.
    draws, budget : int, optional
        Draws to keep per chain, and likelihood evaluations at single data points per chain, including
        burn-in. Give one or both; a chain ends when it reaches either.
    burn_in : int, default 0
        Number of initial steps to discard.
    thin : int, default 1
        Keep every thin-th step after burn-in.
    seed : int or sequence of int, default 0
        Seed of the run, or the seeds of the chains; see `RunOptions`.
    start : array_like, shape (d,) or (chains, d), optional
        Initial state of all chains, or of each; zeros by default.
    progress : bool, default False
        Show a progress bar on standard error if the run takes more than a second.

    Returns
    -------
    Draws
        Draws of all chains, almost unbiased. `Draws.batch_sizes` reports the data read by each test. The cost counts a
        data point once per test.

    Raises
    ------
    UsageError
        If an option is out of range, or the budget is too small for one step.
    InputError
        If a function of the posterior returns an invalid shape or NaN, or a state is not finite. The message gives
        chain, step and state.

    Notes
    -----
    The number of data points read by a test grows with the square of N / T times the length of the move. Choose values
    of proposal_scale and temperature for which the log likelihood ratio varies by about one; otherwise each test reads
    all data. The proposals are those of `rwmh`, and not the Barker proposal of Livingstone and Zanella (2022).

    References
    ----------
    D. Seita, X. Pan, H. Chen and J. Canny (2017), "An efficient minibatch acceptance test for Metropolis-Hastings",
    algorithm 1.

    Examples
    --------
    >>> import steinkit as sk
    >>> posterior = sk.targets.MixturePosterior.simulate(10_000)
    >>> run = {"draws": 200, "start": [0.0, 1.0]}
    >>> draws = sk.samplers.barker_mh(posterior, proposal_scale=0.01, **run)
    >>> draws.mean_batch_size < posterior.size
    array([ True])
    """
    test = MinibatchBarkerTest(batch_size, sigma)
    return run_chains("barker_mh", posterior, RandomWalk(proposal_scale), test, RunOptions(**run), temperature)
