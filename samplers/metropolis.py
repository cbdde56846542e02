"""Exact and minibatch Metropolis-Hastings samplers.

The following samplers are exact and use all the data in each step:

                           proposal                                                   acceptance probability
    rwmh                   theta' = theta + scale xi                                  min(1, r)
    barker                 theta' = theta + scale xi                                  r / (1 + r)
    mala                   theta' ~ N(theta + (eps / 2) grad log p(theta), eps I)     min(1, r)
    metropolis_hastings    theta' ~ q(. | theta), any                                 any test

with r = p(theta') q(theta | theta') / (p(theta) q(theta' | theta)). Without the ratio of proposal densities q, the
stationary distribution of MALA would be narrower than p.

The following samplers use minibatches and random-walk proposals theta' = theta + scale xi:

    approximate_mh    sequential t test, on a minibatch that grows until the test decides
    subsampling_mh    empirical Bernstein bound, on a minibatch that grows until the test decides
    barker_mh         Barker's test (1965), which uses the noise of the minibatch as a source of randomness

The samplers `barker` and `barker_mh` use Barker's acceptance test (1965). The Barker proposal of Livingstone and
Zanella (2022), which uses gradients, is not included. The loop over steps is in `steinkit.samplers.chains.run`, and the
tests are in `steinkit.samplers.acceptance`.
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
    """Sample by random-walk Metropolis, which is exact and uses all the data.

    Parameters
    ----------
    target : Target or Posterior
        Distribution to sample from. If it has no data, a log density is required, and each evaluation of the density
        costs 1.
    proposal_scale : float or array_like, shape (d,)
        Standard deviation of the moves, for all coordinates or for each coordinate.
    temperature : float, default 1.0
        Temperature T, which divides the log likelihood.
    **run
        Options of the run. See `RunOptions`.

    Returns
    -------
    Draws
        Draws of all chains, with a cost of N per step.

    Raises
    ------
    UsageError
        If an option is out of range, or if the budget is too small for one step.
    InputError
        If a function of the target returns an array that has an invalid shape or contains NaN, or if a state is not
        finite. The message states the chain, the step and the state.

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
    """Sample with a random walk and Barker's exact test (1965) on all the data.

    Parameters
    ----------
    target : Target or Posterior
        Distribution to sample from. If it has no data, a log density is required, and each evaluation of the density
        costs 1.
    proposal_scale : float or array_like, shape (d,)
        Standard deviation of the moves, for all coordinates or for each coordinate.
    temperature : float, default 1.0
        Temperature T, which divides the log likelihood.
    **run
        Options of the run. See `RunOptions`.

    Returns
    -------
    Draws
        Draws of all chains, with a cost of N per step.

    Raises
    ------
    UsageError
        If an option is out of range, or if the budget is too small for one step.
    InputError
        If a function of the target returns an array that has an invalid shape or contains NaN, or if a state is not
        finite. The message states the chain, the step and the state.

    Notes
    -----
    The sampler `barker_mh` approximates this sampler on minibatches. For a given proposal, the Metropolis test has the
    highest acceptance probability among exact tests that depend on the ratio of densities. The acceptance probability
    of Barker's test is at least half as large. The proposals are those of `rwmh`, not the Barker proposal of
    Livingstone and Zanella (2022).

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
    """Sample by the Metropolis-adjusted Langevin algorithm, which is exact.

    Parameters
    ----------
    target : Target or Posterior
        Distribution to sample from. If it has no data, a log density is required, and each evaluation of the density
        costs 1.
    step_size : float
        Variance eps of the noise of a move. The drift is eps / 2 times the gradient.
    temperature : float, default 1.0
        Temperature T, which divides the log likelihood.
    **run
        Options of the run. See `RunOptions`.

    Returns
    -------
    Draws
        Draws of all chains, with a cost of N per step. The likelihood and the gradient of a data point at one state
        count as one evaluation.

    Raises
    ------
    UsageError
        If an option is out of range, or if the budget is too small for one step.
    InputError
        If a function of the target returns an array that has an invalid shape or contains NaN, or if a state is not
        finite. The message states the chain, the step and the state.

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
    """Sample with Metropolis-Hastings, using any proposal and acceptance test.

    Parameters
    ----------
    target : Target or Posterior
        Distribution to sample from. If it has no data, a log density is required, and each evaluation of the density
        costs 1.
    proposal : Proposal
        A `RandomWalk`, `Langevin` or `CustomProposal`.
    test : AcceptanceTest
        A `MetropolisTest` or `BarkerTest`. For a posterior, an `AusterityTest`, `ConcentrationTest` or
        `MinibatchBarkerTest` can also be used.
    temperature : float, default 1.0
        Temperature T, which divides the log likelihood.
    **run
        Options of the run. See `RunOptions`.

    Returns
    -------
    Draws
        Draws of all chains. The cost of a step is the number of data points read by the test. For a Langevin proposal,
        it also includes the data points used in the gradient, unless the test reads all the data.

    Raises
    ------
    UsageError
        If an option is out of range, or if the budget is too small for one step.
    InputError
        If a function of the target returns an array that has an invalid shape or contains NaN, or if a state is not
        finite. The message states the chain, the step and the state.

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
    """Sample with a random walk and the austerity test; epsilon controls the bias.

    Parameters
    ----------
    posterior : Posterior
        Posterior with N data points. Minibatches of these points are used for the tests.
    proposal_scale : float or array_like, shape (d,)
        Standard deviation of the moves, for all coordinates or for each coordinate.
    epsilon : float, default 0.05
        Error allowed at one stage of a test, in [0, 1]. Larger values make the steps cheaper and the draws more biased.
        With a value of 0, the sampler is exact and gives the same draws as `rwmh`.
    batch_size : int, optional
        Number of data points added per stage. The default is min(500, N).
    alpha : float, default 0.5
        Wang-Tsiatis exponent of the thresholds, in [1/2, 1]. The value 1/2 gives the constant thresholds of the paper.
    temperature : float, default 1.0
        Temperature T, which divides the log likelihood.
    **run
        Options of the run. See `RunOptions`.

    Returns
    -------
    Draws
        Draws of all chains, which are biased unless epsilon is 0. The attribute `Draws.batch_sizes` reports the number
        of data points read by each test. The cost counts each data point once per test.

    Raises
    ------
    UsageError
        If an option is out of range, or if the budget is too small for one step.
    InputError
        If a function of the posterior returns an array that has an invalid shape or contains NaN, or if a state is not
        finite. The message states the chain, the step and the state.

    Notes
    -----
    Under a normal approximation, epsilon bounds the error of one stage. The value of epsilon does not bound the error
    of a whole test or the bias of the draws. A Stein discrepancy measures this bias.

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
    bound=OwnOption("X|oracle", "Bound on the log likelihood ratio of any data point (concentration test)."),
    factor=OwnOption("X", "Growth factor of the batch size per stage (concentration test)."),
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
    """Sample with a random walk and the concentration test, which bounds the error.

    Parameters
    ----------
    posterior : Posterior
        Posterior with N data points. Minibatches of these points are used for the tests.
    proposal_scale : float or array_like, shape (d,)
        Standard deviation of the moves, for all coordinates or for each coordinate.
    epsilon : float, default 0.01
        Error allowed for a whole test, in [0, 1]. With a value of 0, the sampler is exact and gives the same draws as
        `rwmh`.
    batch_size : int, optional
        Number of data points in the first stage. The default is min(100, N).
    bound : float or "oracle", default "oracle"
        Bound C on |log p(x | theta') - log p(x | theta)| over all data points and moves. With the value "oracle", all
        the data are scanned at each step. The diagnostic ``oracle_cost`` reports the cost of the scans.
    factor : float, default 2.0
        Growth factor of the sample size per stage, which must be above 1.
    temperature : float, default 1.0
        Temperature T, which divides the log likelihood.
    **run
        Options of the run. See `RunOptions`.

    Returns
    -------
    Draws
        Draws of all chains. The attribute `Draws.batch_sizes` reports the number of data points read by each test. The
        cost counts each data point once per test.

    Raises
    ------
    UsageError
        If an option is out of range, or if the budget is too small for one step.
    InputError
        If a function of the posterior returns an array that has an invalid shape or contains NaN, or if a state is not
        finite. The message states the chain, the step and the state.

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


@sampler(sigma=OwnOption("X", "Standard deviation of the noise in the minibatch Barker test."))
def barker_mh(
    posterior: Posterior,
    *,
    proposal_scale: ArrayLike,
    batch_size: int | None = None,
    sigma: float = 1.0,
    temperature: float = 1.0,
    **run: Unpack[RunKeywords],
) -> Draws:
    """Sample with a random walk and Barker's test on minibatches (almost unbiased).

    Parameters
    ----------
    posterior : Posterior
        Posterior with N data points. Minibatches of these points are used for the tests.
    proposal_scale : float or array_like, shape (d,)
        Standard deviation of the moves, for all coordinates or for each coordinate.
    batch_size : int, optional
        Number of data points in the first batch and in each additional batch. The default is min(100, N).
    sigma : float, default 1.0
        Standard deviation of the noise of a test. The value 1.3 requires a third fewer data points and is less
        accurate.
    temperature : float, default 1.0
        Temperature T, which divides the log likelihood.
    **run
        Options of the run. See `RunOptions`.

    Returns
    -------
    Draws
        Draws of all chains, which are almost unbiased. The attribute `Draws.batch_sizes` reports the number of data
        points read by each test. The cost counts each data point once per test.

    Raises
    ------
    UsageError
        If an option is out of range, or if the budget is too small for one step.
    InputError
        If a function of the posterior returns an array that has an invalid shape or contains NaN, or if a state is not
        finite. The message states the chain, the step and the state.

    Notes
    -----
    The number of data points read by a test grows with the square of the product of N / T and the length of the move.
    Choose values of proposal_scale and temperature for which the log likelihood ratio varies by about one. Otherwise,
    each test reads all the data. The proposals are those of `rwmh`, not the Barker proposal of Livingstone and Zanella
    (2022).

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
