"""Design of sequential tests that use the least data for a given error.

The parameters of a test are the fraction pi_1 of the data read per stage, the error epsilon allowed per stage, and a
Wang-Tsiatis exponent alpha. The *worst-case* design bounds the error of the test at its worst mean:

    minimize data use(0)    subject to error(0) <= target error.

The *average* design treats the moves of a trial run as a sample of future moves. This design bounds the mean bias of
the acceptance probabilities. In this mean, the errors partly cancel:

    minimize mean over moves of their data use    subject to  mean over moves of |P_epsilon - P| <= target error.

Both problems are solved on a grid of values of pi_1 and alpha. For each pair, the largest admissible epsilon minimizes
the data use. A smaller pi_1 leads to more stages, and the running time of the analysis is quadratic in the number of
stages. By default, the average design therefore decreases pi_1 until three successive values each save less than 0.3%
of the data.

**Bias.** The bias of an acceptance probability is smaller than the error of the test. The test accepts some moves that
the Metropolis test rejects and rejects some moves that the Metropolis test accepts. When averaged over the uniform
random number u of a step, these errors partly cancel. Let P = min(1, exp(Delta)) be the acceptance probability, let
mu(u) = k (Delta - log u) (see below), and let E(mu) be the error computed by `operating_characteristics`. The bias is

    P_epsilon - P = integral from P to 1 of E(mu(u)) du - integral from 0 to P of E(mu(u)) du.

E is an even function. With w = |Delta - log u|, w_0 = max(Delta, 0) and D = max(-Delta, 0), the bias is equal to

    P_epsilon - P = integral from 0 to D of E(k w) e^(w - D) dw - P integral from w_0 to inf of E(k w) e^(w_0 - w) dw.

The data use is given by the same expression with + instead of - and with the data use of the test instead of E. The
integrand varies on the scales 1 and 1 / k of w, which may differ by orders of magnitude. The substitution w = w_low + h
(e^y - 1), with h = min(1, 1 / k), resolves both scales in a Gauss-Legendre rule in y.

**Trial run.** An exact chain records the statistics that determine the sequential test of each proposed move. The
decision depends on the data through the mean and the standard deviation (divisor N) of the N differences
l_i = log p(x_i | theta') - log p(x_i | theta). For the uniform random number u of the step, define

    Delta = (N / T) mean + offset,        offset = log [rho(theta') q(theta | theta') / (rho(theta) q(theta' | theta))],
    mu(u) = k (Delta - log u),            k = T sqrt(N - 1) / (N sd),

where mu is the standardized mean in `operating_characteristics`. The Metropolis test accepts if mu > 0. Therefore, the
two numbers Delta and k characterize a move.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import number, positive, require_lists, require_type, whole
from steinkit.errors import InputError, UsageError
from steinkit.posterior import Posterior
from steinkit.result import Brief
from steinkit.sample import Floats
from steinkit.samplers.acceptance.interface import Decision, MetropolisTest, Stage, exceeds_level
from steinkit.samplers.acceptance.sequential import (
    AusterityTest,
    interim_stages,
    nodes_on_two_scales,
    operating_characteristics,
)
from steinkit.samplers.chains.draws import RunKeywords, RunOptions, takes_run_options
from steinkit.samplers.chains.gradients import Proposal
from steinkit.samplers.chains.run import run_chains
from steinkit.targets.family import as_finite, as_positive, as_vector


@dataclass(frozen=True, eq=False, repr=False)
class TrialRun(Brief):
    """Statistics of proposed moves used to design sequential tests.

    Parameters
    ----------
    size : int
        Number of data points N.
    mean, sd : array_like, shape (n,)
        Mean and standard deviation, with divisor N, of the l_i of each move.
    offset : float or array_like, shape (n,), default 0.0
        Log prior ratio plus log proposal ratio of each move. The sum is 0 for a flat prior and a symmetric proposal.
    temperature : float, default 1.0
        Temperature T, which divides the log likelihood.
    cost : float, default 0.0
        Number of likelihood evaluations at single data points.
    skipped : int, default 0
        Number of omitted proposals, which are outside the support or have zero likelihood at a data point.
    settings : mapping
        Options of the run.

    Raises
    ------
    UsageError
        If size is not an integer >= 2, if the arrays are empty, differ in length or have a non-finite value,
        or if a standard deviation or the temperature is not positive.

    Examples
    --------
    >>> from steinkit.samplers import TrialRun
    >>> trial = TrialRun(size=10_000, mean=[1e-4, -2e-4], sd=[0.01, 0.02])
    >>> trial.log_ratio
    array([ 1., -2.])
    """

    size: int
    mean: ArrayLike
    sd: ArrayLike
    offset: ArrayLike = 0.0
    temperature: float = 1.0
    cost: float = 0.0
    skipped: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        whole(self.size, "size", 2)
        positive(self.temperature, "temperature")
        n = as_finite(self.mean, "mean").size
        for name in ("mean", "sd", "offset"):
            values = (as_positive if name == "sd" else as_finite)(getattr(self, name), name)
            object.__setattr__(self, name, as_vector(values, n, name))

    @property
    def log_ratio(self) -> Floats:
        """Array of shape (n,) that contains Delta for each move.

        The acceptance probability is min(1, e^Delta).
        """
        scale = self.size / self.temperature
        return np.asarray(scale * np.asarray(self.mean) + np.asarray(self.offset), dtype=np.float64)

    @property
    def sharpness(self) -> Floats:
        """Standardized mean k per unit of Delta - log u for each move."""
        return np.asarray(self.temperature * (math.sqrt(self.size - 1.0) / (self.size * np.asarray(self.sd))))


@takes_run_options
def trial_run(
    posterior: Posterior, *, proposal: Proposal, temperature: float = 1.0, **run: Unpack[RunKeywords]
) -> TrialRun:
    """Record the moves proposed by exact Metropolis-Hastings chains.

    Parameters
    ----------
    posterior : Posterior
        Posterior for the future runs.
    proposal : Proposal
        Proposal for the future runs: a `RandomWalk`, `Langevin` or `CustomProposal`.
    temperature : float, default 1.0
        Temperature T, which divides the log likelihood.
    chains : int, default 1
        Number of chains.
    draws, budget : int, optional
        Number of moves to record per chain, and maximum number of likelihood or gradient evaluations at single data
        points per chain. If neither is given, 100 moves are recorded.
    burn_in : int, default 0
        Number of initial moves to discard.
    thin : int, default 1
        Keep every thin-th move after the burn-in. Larger values reduce the dependence between moves.
    seed : int or sequence of int, default 0
        Seed for the run, or a sequence with the seeds of the chains. See `RunOptions`.
    start : array_like, shape (d,) or (chains, d), optional
        Initial state of all chains, or one state per chain. The default is zeros.
    progress : bool, default False
        If True, a progress bar is shown on standard error if the run takes more than a second.

    Returns
    -------
    TrialRun
        The moves of all chains, concatenated.

    Raises
    ------
    UsageError
        If an option is out of range.
    InputError
        If a function of the posterior returns an array that has an invalid shape or contains NaN, if no move can be
        used, or if all l_i of a move are equal. The latter occurs if a move does not change the state.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
    section 5.2 and appendix D.

    Examples
    --------
    >>> import steinkit as sk
    >>> from steinkit.samplers import RandomWalk, trial_run
    >>> posterior = sk.targets.MixturePosterior.simulate(10_000)
    >>> trial = trial_run(posterior, proposal=RandomWalk(0.1), draws=50)
    >>> len(trial.log_ratio)
    50
    """
    options = RunOptions(**({"draws": 100} if not {"draws", "budget"} & run.keys() else {}) | run)
    draws = run_chains("trial_run", posterior, proposal, _Scan(), options, temperature)
    moves = {name: values[draws.present] for name, values in draws.diagnostics.items()}
    usable = np.isfinite(moves["mean"])  # NaN outside the support and minus infinity if the likelihood is zero
    if not usable.any():
        raise InputError(
            f"all {usable.size} proposals of the trial run are outside the support or have zero likelihood; use a "
            "smaller proposal scale or step, or another start"
        )
    constant = usable & (moves["sd"] == 0.0)
    if constant.any():
        raise InputError(
            f"all l_i are equal for {int(constant.sum())} of {usable.size} proposals in the trial run, so a test would "
            "read all the data; use a larger proposal scale or step, or a proposal that changes the state"
        )
    return TrialRun(
        size=posterior.size,
        **{name: values[usable] for name, values in moves.items()},
        temperature=temperature,
        cost=float(np.nanmax(draws.cost, axis=1).sum()),
        skipped=int((~usable).sum()),
        settings=draws.settings,
    )


@dataclass(frozen=True)
class _Scan(MetropolisTest):
    """Metropolis test on all the data.

    The data are read in minibatches to compute the moments of the l_i.
    """

    needs_all_data = False
    diagnostics = ("mean", "sd", "offset")

    def decide(self, stage: Stage) -> Decision:
        """Accept if Delta > log u."""
        N = stage.size
        sd = math.sqrt(stage.variance * ((N - 1.0) / N))
        return Decision(*exceeds_level(stage), {"mean": stage.mean, "sd": sd, "offset": stage.offset})


_ALPHAS = (0.5, 0.75, 1.0)
_SMALLEST_FRACTION, _LARGEST_FRACTION = 0.01, 0.5
_FRACTIONS = 12
_SMALLEST_BATCH = 100
# Smallest fraction of the data among the default batch sizes. This value limits the running time of the analysis.
_SMALLEST_SHARE = 1e-3
# The search ends after this number of successive batch sizes that reduce the data use by less than this fraction.
_TRIED, _WORTH_TRYING = 3, 0.003
# Relative accuracy of the computed largest admissible epsilon.
_ACCURACY = 1e-3

# Error and data use as functions of (first_fraction, epsilon, alpha).
_Criterion = Callable[[float, float, float], tuple[float, float]]
_NODES = 64
# The function exp(-w) is negligible beyond this exponent. A normal density is negligible beyond this number of standard
# deviations.
_LONGEST = 36.0
_FAR = 8.0
# Number and spacing of the means where the curves of a test are computed before interpolation.
_TABLE = 240
_GROWTH = 7.5


@dataclass(frozen=True)
class SequentialDesign:
    """Sequential test and the criterion used in its design.

    Attributes
    ----------
    first_fraction : float
        Fraction of the data read at each stage.
    epsilon : float
        Error allowed per stage.
    alpha : float
        Wang-Tsiatis exponent of the thresholds.
    criterion : str
        "worst case" or "average".
    target_error : float
        Error allowed by the design.
    error : float
        Error according to the criterion, which is at most target_error.
    data_use : float
        Expected fraction of the data read, at mean 0 for "worst case", and averaged over the trial run for "average".

    Examples
    --------
    >>> from steinkit.samplers import worst_case_design
    >>> design = worst_case_design(0.05, first_fractions=[0.1], alphas=[0.5])
    >>> design.options(10_000)["batch_size"]
    1000
    """

    first_fraction: float
    epsilon: float
    alpha: float
    criterion: str
    target_error: float
    error: float
    data_use: float

    def options(self, size: int) -> dict[str, Any]:
        """Return the options of `approximate_mh` for N data points.

        Parameters
        ----------
        size : int
            Number of data points N.

        Returns
        -------
        dict
            "epsilon", "alpha", and "batch_size", which is ``first_fraction`` times N, rounded and at least 1. The
            options can be used as ``approximate_mh(posterior, **design.options(posterior.size), ...)``.

        Raises
        ------
        UsageError
            If size is not a positive integer.
        """
        batch_size = max(1, round(self.first_fraction * whole(size, "size", 1)))
        return {"epsilon": self.epsilon, "batch_size": batch_size, "alpha": self.alpha}

    def test(self, size: int) -> AusterityTest:
        """Return an acceptance test for `corrected_sgld` and `metropolis_hastings`.

        Parameters
        ----------
        size : int
            Number of data points N.

        Returns
        -------
        AusterityTest
            Test with the values of `options`.

        Raises
        ------
        UsageError
            If size is not a positive integer.
        """
        return AusterityTest(**self.options(size))


def worst_case_design(
    target_error: float, *, first_fractions: Sequence[float] | None = None, alphas: Sequence[float] = _ALPHAS
) -> SequentialDesign:
    """Find the cheapest sequential test that satisfies an error bound at every mean.

    Parameters
    ----------
    target_error : float
        Error allowed for the whole test, in (0, 1/2).
    first_fractions : sequence of float, optional
        Candidates for the fraction of the data read per stage, in (0, 1]. The default candidates are twelve values from
        0.01 to 1/2.
    alphas : sequence of float, default (0.5, 0.75, 1.0)
        Candidates for the Wang-Tsiatis exponent, in [1/2, 1].

    Returns
    -------
    SequentialDesign
        A conservative design, which is valid for any posterior. If most means are far from 0, the error is much smaller
        than target_error, and `average_design` reads less data for the same bias.

    Raises
    ------
    UsageError
        If a number is out of range, or a sequence is empty.

    Notes
    -----
    The objective is almost flat, because at mean 0 a test with error e reads all the data with probability 1 - 2 e for
    any number of stages.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
    eq. 8.

    Examples
    --------
    >>> from steinkit.samplers import worst_case_design
    >>> design = worst_case_design(0.05, first_fractions=[0.1], alphas=[0.5])
    >>> design.error <= 0.05
    True
    """
    if first_fractions is None:
        first_fractions = np.geomspace(_SMALLEST_FRACTION, _LARGEST_FRACTION, _FRACTIONS).tolist()

    def criterion(first_fraction: float, epsilon: float, alpha: float) -> tuple[float, float]:
        found = operating_characteristics(0.0, first_fraction=first_fraction, epsilon=epsilon, alpha=alpha)
        return float(found.error), float(found.data_use)

    return _search("worst case", criterion, target_error, first_fractions, alphas)


def average_design(
    trial: TrialRun,
    target_error: float,
    *,
    batch_sizes: Sequence[int] | None = None,
    alphas: Sequence[float] = _ALPHAS,
) -> SequentialDesign:
    """Find the cheapest sequential test that satisfies a bound on the mean bias.

    Parameters
    ----------
    trial : TrialRun
        Trial run with at least a hundred moves from the region that the future chains explore.
    target_error : float
        Allowed mean of |P_epsilon - P|, in (0, 1/2).
    batch_sizes : sequence of int, optional
        Candidates for the number of data points per stage. All candidates are evaluated. By default, the candidates are
        twelve values that decrease from half the data to 100 or a thousandth of the data. The search ends when smaller
        batches no longer reduce the data use. The design assumes that the batch means are normal, which requires about
        a hundred data points or more per batch.
    alphas : sequence of float, default (0.5, 0.75, 1.0)
        Candidates for the Wang-Tsiatis exponent, in [1/2, 1].

    Returns
    -------
    SequentialDesign
        The design with the smallest data use for the moves of the trial run.

    Raises
    ------
    UsageError
        If a number is out of range, or a sequence is empty.

    Notes
    -----
    The error applies to the moves of the trial run, under a normal approximation. Other moves, such as the moves of a
    chain in another region, may have a larger error. A small mean bias does not bound the error of the draws.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
    eqs. 7 and 35.

    Examples
    --------
    >>> import steinkit as sk
    >>> from steinkit.samplers import RandomWalk, average_design, trial_run
    >>> posterior = sk.targets.MixturePosterior.simulate(10_000)
    >>> trial = trial_run(posterior, proposal=RandomWalk(0.1), draws=50)
    >>> average_design(trial, 0.02, batch_sizes=[1000], alphas=[0.5]).error <= 0.02
    True
    """
    require_type(TrialRun, "a TrialRun", trial=trial)
    require_lists(batch_sizes=batch_sizes)
    by_default = batch_sizes is None
    if batch_sizes is None:
        batch_sizes = _default_batches(trial.size)
    for batch_size in batch_sizes:
        if whole(batch_size, "a batch size", 1) > trial.size:
            raise UsageError(f"`batch_sizes` must be at most the number of data points, {trial.size}; got {batch_size}")

    def criterion(first_fraction: float, epsilon: float, alpha: float) -> tuple[float, float]:
        found = acceptance_bias(trial, first_fraction=first_fraction, epsilon=epsilon, alpha=alpha)
        return float(np.abs(found.bias).mean()), float(found.data_use.mean())

    fractions = [batch_size / trial.size for batch_size in batch_sizes]
    return _search("average", criterion, target_error, fractions, alphas, stops_early=by_default)


def _default_batches(size: int) -> list[int]:
    if size <= 2 * _SMALLEST_BATCH:
        raise UsageError(
            f"the default batches require more than {2 * _SMALLEST_BATCH} data points, got {size}; pass batch_sizes=, "
            "or use an exact sampler"
        )
    smallest = max(_SMALLEST_BATCH, _SMALLEST_SHARE * size)
    batches = {round(b) for b in np.geomspace(smallest, _LARGEST_FRACTION * size, _FRACTIONS).tolist()}
    return sorted(batches, reverse=True)


def _search(
    name: str,
    criterion: _Criterion,
    target_error: float,
    fractions: Sequence[float],
    alphas: Sequence[float],
    *,
    stops_early: bool = False,
) -> SequentialDesign:
    """Return the first design that attains the smallest data use."""
    criterion = cache(criterion)  # the search for epsilon repeats some values
    number(target_error, "target_error", lambda x: 0.0 < x < 0.5, "in (0, 1/2)")
    require_lists(first_fractions=fractions, alphas=alphas)
    if alphas is None or not len(fractions) or not len(alphas):
        raise UsageError("expected at least one fraction of the data and one alpha, got none")
    for fraction in fractions:
        for alpha in alphas:
            interim_stages(fraction, 0.5, alpha)  # check the ranges before the search
    designs: list[SequentialDesign] = []
    least: list[float] = []  # smallest data use found up to each fraction
    for fraction in map(float, fractions):
        for alpha in map(float, alphas):
            if any(design.data_use <= fraction for design in designs):
                continue  # the data use is at least the fraction read in the first stage
            epsilon = _loosest(criterion, target_error, fraction, alpha)
            error, data_use = criterion(fraction, epsilon, alpha)
            designs.append(SequentialDesign(fraction, epsilon, alpha, name, float(target_error), error, data_use))
        least.append(min(design.data_use for design in designs))
        if stops_early and len(least) > _TRIED and least[-1] > (1.0 - _WORTH_TRYING) * least[-1 - _TRIED]:
            break
    return min(designs, key=lambda design: design.data_use)


def _loosest(criterion: _Criterion, target_error: float, fraction: float, alpha: float) -> float:
    """Return the largest admissible epsilon, which is at most 1/2.

    The error of a stage is at most epsilon, so target_error / J is admissible for J stages. If the error is not
    monotonic in epsilon, a larger epsilon may also be admissible.
    """
    from scipy.optimize import brentq

    stages = len(interim_stages(fraction, 0.5, alpha)[0])
    if not stages:
        return 0.5

    def excess(log_epsilon: float) -> float:
        return math.log(max(criterion(fraction, math.exp(log_epsilon), alpha)[0], 1e-300) / target_error)

    lowest, highest = math.log(target_error / (stages + 1)), math.log(0.5)
    if excess(highest) <= 0.0:
        return 0.5
    log_epsilon = float(brentq(excess, lowest, highest, xtol=0.2 * _ACCURACY))
    while excess(log_epsilon) > 0.0:
        log_epsilon -= 0.2 * _ACCURACY
    return math.exp(log_epsilon)


@dataclass(frozen=True, eq=False, repr=False)
class AcceptanceBias(Brief):
    """Data use and bias of a sequential test for each of n moves.

    Attributes
    ----------
    probability : ndarray, shape (n,)
        Acceptance probability P of the Metropolis test.
    bias : ndarray, shape (n,)
        The difference P_epsilon - P. The bias is positive if the sequential test accepts more often.
    error : ndarray, shape (n,)
        Probability, over u, of a decision that differs from the decision of the Metropolis test. This probability is at
        least |bias|.
    data_use : ndarray, shape (n,)
        Expected fraction of the data read.

    Examples
    --------
    >>> from steinkit.samplers import TrialRun, acceptance_bias
    >>> trial = TrialRun(size=10_000, mean=[-1e-4], sd=[0.01])
    >>> found = acceptance_bias(trial, first_fraction=0.1, epsilon=0.05)
    >>> bool(abs(found.bias[0]) <= found.error[0])
    True
    """

    probability: Floats
    bias: Floats
    error: Floats
    data_use: Floats


def acceptance_bias(trial: TrialRun, *, first_fraction: float, epsilon: float, alpha: float = 0.5) -> AcceptanceBias:
    """Compute the data use of a test and the bias of its acceptance probabilities.

    Parameters
    ----------
    trial : TrialRun
        Result of `trial_run`, with n moves.
    first_fraction : float
        Fraction of the data read at each stage, in (0, 1].
    epsilon : float
        Error allowed per stage, in [0, 1].
    alpha : float, default 0.5
        Wang-Tsiatis exponent of the thresholds, in [1/2, 1].

    Returns
    -------
    AcceptanceBias
        The probabilities, biases, errors and data use, with one entry per move.

    Raises
    ------
    UsageError
        If a parameter is out of range.

    Notes
    -----
    The analysis treats the test as a random walk with normal steps. For data with heavy tails, the error may be larger.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
    eqs. 6 and 21.

    Examples
    --------
    >>> import steinkit as sk
    >>> from steinkit.samplers import RandomWalk, acceptance_bias, trial_run
    >>> posterior = sk.targets.MixturePosterior.simulate(10_000)
    >>> trial = trial_run(posterior, proposal=RandomWalk(0.1), draws=50)
    >>> acceptance_bias(trial, first_fraction=0.1, epsilon=0.05).data_use.shape
    (50,)
    """
    require_type(TrialRun, "a TrialRun", trial=trial)
    log_ratio, k = trial.log_ratio, trial.sharpness
    w_0, D = np.maximum(log_ratio, 0.0), np.maximum(-log_ratio, 0.0)
    P = np.exp(-D)
    right, right_weights = nodes_on_two_scales(w_0, w_0 + _LONGEST, k, _NODES)
    left, left_weights = nodes_on_two_scales(np.maximum(D - _LONGEST, 0.0), D, k, _NODES)
    right_weights = P[:, None] * right_weights * np.exp(w_0[:, None] - right)
    left_weights = left_weights * np.exp(left - D[:, None])
    curves = _curves(first_fraction, epsilon, alpha)
    wrong_rejections, read = (curves(k[:, None] * right) * right_weights).sum(axis=-1)
    wrong_acceptances, read_on_left = (curves(k[:, None] * left) * left_weights).sum(axis=-1)
    bias, error = wrong_acceptances - wrong_rejections, wrong_acceptances + wrong_rejections
    return AcceptanceBias(P, bias, error, read + read_on_left)


def _curves(first_fraction: float, epsilon: float, alpha: float) -> Callable[[Floats], Floats]:
    """Return functions that interpolate the error and the data use of a test.

    The functions map means of shape (...) to values of shape (2, ...).
    """
    from scipy.interpolate import CubicSpline

    fractions, thresholds = interim_stages(first_fraction, epsilon, alpha)
    # beyond this mean, the first stage gives the correct decision
    farthest = (thresholds[0] + _FAR) * math.sqrt(1.0 / fractions[0] - 1.0) if len(fractions) else 1.0
    s = np.linspace(0.0, 1.0, _TABLE)
    means = farthest * np.sinh(_GROWTH * s) / math.sinh(_GROWTH)
    found = operating_characteristics(means, first_fraction=first_fraction, epsilon=epsilon, alpha=alpha)
    spline = CubicSpline(s, np.stack((found.error, found.data_use)), axis=1)
    return lambda means: spline(np.arcsinh(np.minimum(means / farthest, 1.0) * math.sinh(_GROWTH)) / _GROWTH)
