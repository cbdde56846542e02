"""The sequential test that reads the fewest data for the error it is allowed.

A test has a first share pi_1 of the data, an error epsilon allowed at one look, and a Wang-Tsiatis exponent alpha. The
*worst-case* design knows nothing of the moves to come and bounds the error of the test at the mean where it errs most,

    minimise data use(0)    subject to error(0) <= target error.

The *average* design takes the moves of a trial run for a sample of those to come, and bounds the mean bias of their
acceptance probabilities, in which errors cancel:

    minimise mean over moves of their data use    subject to  mean over moves of |P_epsilon - P| <= target error.

Both are solved on a grid of pi_1 and alpha; for each pair the largest epsilon that is allowed reads the fewest data.
The smaller pi_1, the more looks a test has, and the time to analyse it rises with the square of their number: where the
grid of the average design is not given, smaller and smaller pi_1 are tried until three in turn save less than 0.3 %.

**The bias** of an acceptance probability is less than the error of the test. Over the uniform number u of a step the
errors of the test cancel in part: it accepts some moves that Metropolis rejects, and the other way round. With the
acceptance probability P = min(1, exp(Delta)), mu(u) = k (Delta - log u), see below, and the error E(mu) of
`operating_characteristics`, the bias is

    P_epsilon - P = integral from P to 1 of E(mu(u)) du - integral from 0 to P of E(mu(u)) du.

With w = |Delta - log u|, w_0 = max(Delta, 0), D = max(-Delta, 0), and E even, this is

    P_epsilon - P = integral from 0 to D of E(k w) e^(w - D) dw - P integral from w_0 to inf of E(k w) e^(w_0 - w) dw,

and the data use is the same with + for - and the data use in the place of E. The integrand changes on the scales 1 and
1 / k of w, which may differ by orders of magnitude: w = w_low + h (e^y - 1), h = min(1, 1 / k), shows both to a
Gauss-Legendre rule in y.

**A trial run** is an exact chain that records, for each move it proposes, what a sequential test of it depends on.
Whether theta' is accepted depends on the data through the mean and the standard deviation (divisor N) of the N
differences l_i = log p(x_i | theta') - log p(x_i | theta). With the uniform number u of the step,

    Delta = (N / T) mean + offset,        offset = log [rho(theta') q(theta | theta') / (rho(theta) q(theta' | theta))],
    mu(u) = k (Delta - log u),            k = T sqrt(N - 1) / (N sd),

where mu is the standardised mean of `operating_characteristics` and Metropolis accepts if mu > 0. So a move is known to
any design by two numbers, Delta and k.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import number, require_lists, require_type, whole
from steinkit.errors import InputError, UsageError
from steinkit.posterior import Posterior
from steinkit.result import Brief
from steinkit.sample import Floats
from steinkit.samplers.acceptance.interface import Look, MetropolisTest, Verdict, exceeds_level
from steinkit.samplers.acceptance.sequential import (
    AusterityTest,
    interim_looks,
    nodes_on_two_scales,
    operating_characteristics,
)
from steinkit.samplers.chains.draws import RunOptions, Temperature
from steinkit.samplers.chains.gradients import Proposal
from steinkit.samplers.chains.run import run_chains
from steinkit.targets.family import as_finite, as_positive


@dataclass(frozen=True, eq=False, repr=False)
class TrialRun(Brief):
    """Moves that a chain proposed, for designing the tests of longer ones.

    Parameters
    ----------
    size : int
        Number of data N.
    mean, sd : array_like, shape (n,)
        Mean and standard deviation, with divisor N, of each move's l_i.
    offset : array_like, shape (n,)
        Log prior ratio and log proposal ratio of each move; 0 for a flat prior and a symmetric proposal.
    temperature : float or array_like, shape (n,)
        T that divides the log likelihood.
    cost : float
        Likelihood evaluations of single data spent.
    skipped : int
        Proposals left out: outside the support, or with a datum of no likelihood; no test reads on for them.
    settings : mapping
        How the run was made.

    Raises
    ------
    UsageError
        If size is not a whole number of at least 2, the arrays are empty, no numbers, differ in length or are not
        finite, or a standard deviation or temperature is not positive.
    """

    size: int
    mean: ArrayLike
    sd: ArrayLike
    offset: ArrayLike = 0.0
    temperature: ArrayLike = 1.0
    cost: float = 0.0
    skipped: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        whole(self.size, "size", 2)
        n = as_finite(self.mean, "mean").size
        for name in ("mean", "sd", "offset", "temperature"):
            values = (as_positive if name in ("sd", "temperature") else as_finite)(getattr(self, name), name)
            if values.shape not in {(), (n,)}:
                raise UsageError(f"{name} must be one number, or {n}, one for each move; received shape {values.shape}")
            object.__setattr__(self, name, np.broadcast_to(values, (n,)))

    @property
    def log_ratio(self) -> Floats:
        """Delta of each move, (n,): it is accepted with probability min(1, exp(Delta))."""
        mean, offset, T = (np.asarray(each, dtype=np.float64) for each in (self.mean, self.offset, self.temperature))
        return np.asarray(self.size / T * mean + offset, dtype=np.float64)

    @property
    def sharpness(self) -> Floats:
        """k of each move, (n,): standardised mean of its test for each unit of Delta - log u."""
        sd, T = (np.asarray(each, dtype=np.float64) for each in (self.sd, self.temperature))
        return np.asarray(T * (math.sqrt(self.size - 1.0) / (self.size * sd)), dtype=np.float64)


def trial_run(
    posterior: Posterior,
    *,
    proposal: Proposal,
    draws: int = 100,
    temperature: Temperature = 1.0,
    chains: int = 1,
    burn_in: int = 0,
    thin: int = 1,
    seed: int = 0,
    start: ArrayLike | None = None,
    progress: bool = False,
) -> TrialRun:
    """Run exact Metropolis-Hastings chains and keep, of each move proposed, what a sequential test depends on.

    Parameters
    ----------
    posterior : Posterior
        That of the runs to come.
    proposal : Proposal
        `RandomWalk`, `Langevin` or `CustomProposal`, as in the runs to come.
    draws : int
        Moves to record, for each chain.
    temperature : float or callable, (n,) -> (n,)
        T that divides the log likelihood; or a schedule, T of the steps with the given numbers, from 0.
    chains : int
        Number of chains.
    burn_in, thin : int
        Moves left out at the beginning, and of how many moves one is recorded. With thin above 1 they depend less on
        each other, and say more of the runs to come.
    seed : int
        Of the run.
    start : array_like, shape (d,) or (chains, d), optional
        First state of all chains, or of each; zeros if not given.
    progress : bool
        Show a bar on standard error if the run takes more than a second.

    Returns
    -------
    TrialRun
        The moves of all chains, one chain after the other.

    Raises
    ------
    UsageError
        If an option is out of range.
    InputError
        If a function of the posterior returns a wrong shape or NaN, no move can be used, or a move changes the
        likelihood of all data alike, as one that stays does.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
    section 5.2 and appendix D.
    """
    options = RunOptions(
        chains=chains, draws=draws, burn_in=burn_in, thin=thin, seed=seed, start=start, progress=progress
    )
    run = run_chains("trial_run", posterior, proposal, _Scan(), options, temperature)
    moves = {name: values.ravel() for name, values in run.diagnostics.items()}
    usable = np.isfinite(moves["mean"])  # NaN without a look, minus infinity without likelihood
    if not usable.any():
        raise InputError(
            f"all {usable.size} proposals of the trial run lie outside the support or have no likelihood; use a "
            "smaller proposal, or another start"
        )
    still = usable & (moves["sd"] == 0.0)
    if still.any():
        raise InputError(
            f"{int(still.sum())} of {usable.size} proposals of the trial run do not tell the data apart: all l_i are "
            "equal, and a test would read them all; use a larger proposal, or one that does not stay where it is"
        )
    return TrialRun(
        size=posterior.size,
        **{name: values[usable] for name, values in moves.items()},
        cost=float(run.cost[:, -1].sum()),
        skipped=int((~usable).sum()),
        settings=run.settings,
    )


@dataclass(frozen=True)
class _Scan(MetropolisTest):
    """Metropolis's test on all the data, but from minibatches, where the l_i are formed; it reports their moments."""

    needs_all_data = False
    diagnostics = ("mean", "sd", "offset", "temperature")

    def decide(self, look: Look) -> Verdict:
        """Accept if Delta > log u."""
        N = look.size
        moments = {
            "mean": look.mean,
            "sd": math.sqrt(look.variance * ((N - 1.0) / N)),
            "offset": look.offset,
            "temperature": look.temperature,
        }
        return Verdict(*exceeds_level(look), moments)


_ALPHAS = (0.5, 0.75, 1.0)
_SMALLEST_FRACTION, _LARGEST_FRACTION = 0.01, 0.5
_FRACTIONS = 12
_SMALLEST_BATCH = 100
# Least share of the data in the default batches, for the time that smaller ones take.
_SMALLEST_SHARE = 1e-3
# Smaller default batches are tried as long as the last so many have saved so much, relatively.
_TRIED, _WORTH_TRYING = 3, 0.003
# Relative accuracy with which epsilon exhausts the error allowed.
_ACCURACY = 1e-3

# Error and data use of (first_fraction, epsilon, alpha).
_Criterion = Callable[[float, float, float], tuple[float, float]]
_NODES = 64
# Exponents beyond which exp(-w) is nought, and standard deviations beyond which a normal density is.
_LONGEST = 36.0
_FAR = 8.0
# Means at which the curves of a test are computed; in between they are interpolated.
_TABLE = 240
_GROWTH = 7.5


@dataclass(frozen=True)
class SequentialDesign:
    """A sequential test, and what it was designed for.

    Attributes
    ----------
    first_fraction : float
        Share of the data read at each look.
    epsilon : float
        Error allowed at one look.
    alpha : float
        Wang-Tsiatis exponent of the thresholds.
    criterion : str
        "worst case" or "average".
    target_error : float
        The error that was allowed.
    error : float
        The error expected, by the criterion: at most target_error.
    data_use : float
        The share of the data expected to be read, by the criterion: at mean 0, or on average over the trial run.
    """

    first_fraction: float
    epsilon: float
    alpha: float
    criterion: str
    target_error: float
    error: float
    data_use: float

    def options(self, size: int) -> dict[str, Any]:
        """Options of `approximate_mh` for N data: ``approximate_mh(posterior, **design.options(posterior.size), ...)``.

        Parameters
        ----------
        size : int
            Number of data N.

        Returns
        -------
        dict
            "epsilon", "batch_size" (``first_fraction`` of N, rounded, at least 1) and "alpha".

        Raises
        ------
        UsageError
            If size is not a whole number of at least 1.
        """
        batch_size = max(1, round(self.first_fraction * whole(size, "size", 1)))
        return {"epsilon": self.epsilon, "batch_size": batch_size, "alpha": self.alpha}

    def test(self, size: int) -> AusterityTest:
        """Acceptance test for N data, for `corrected_sgld` and `metropolis_hastings`.

        Parameters
        ----------
        size : int
            Number of data N.

        Returns
        -------
        AusterityTest
            With the options that `options` gives.

        Raises
        ------
        UsageError
            If size is not a whole number of at least 1.
        """
        return AusterityTest(**self.options(size))


def worst_case_design(
    target_error: float, *, first_fractions: Sequence[float] | None = None, alphas: Sequence[float] = _ALPHAS
) -> SequentialDesign:
    """Sequential test that errs with at most a given probability, whatever the mean of the data.

    Parameters
    ----------
    target_error : float
        Error allowed for the whole test, in (0, 1/2).
    first_fractions : sequence of float, optional
        Shares of the data to choose the first from, in (0, 1]; twelve from 0.01 to 1/2 if not given.
    alphas : sequence of float
        Wang-Tsiatis exponents to choose from, in [1/2, 1].

    Returns
    -------
    SequentialDesign
        For any posterior, and conservative: where most means are far from 0, a test errs much less than this, and the
        errors of different steps cancel. `average_design` reads fewer data at equal error.

    Raises
    ------
    UsageError
        If a number is out of range, or there is none to choose from.

    Notes
    -----
    The objective is nearly flat: at mean 0 a test that errs with probability e reads all the data with probability
    1 - 2 e, whatever its looks.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
    eq. 8.
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
    """Sequential test that biases acceptance probabilities by a given amount on average over the moves of a trial run.

    Parameters
    ----------
    trial : TrialRun
        A hundred moves or more, from where the chains to come will be.
    target_error : float
        Mean of |P_epsilon - P| allowed, in (0, 1/2).
    batch_sizes : sequence of int, optional
        Data at each look to choose from, all of which are tried. If not given, twelve from half the data down to 100,
        or a thousandth of the data where that is more, as long as they go on to save data. Fewer than about a hundred
        may not have a normal mean, on which the design relies.
    alphas : sequence of float
        Wang-Tsiatis exponents to choose from, in [1/2, 1].

    Returns
    -------
    SequentialDesign
        That which reads the fewest data on the trial's moves, at this error.

    Raises
    ------
    UsageError
        If a number is out of range, or there is none to choose from.

    Notes
    -----
    The error is that of the trial's moves, under a normal approximation. Moves that differ, such as those of a chain
    far from where the trial ran, may have more; and a small mean bias does not bound the error of the draws.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
    eq. 7 and 35.
    """
    require_type(TrialRun, "a TrialRun", trial=trial)
    require_lists(batch_sizes=batch_sizes)
    by_default = batch_sizes is None
    if batch_sizes is None:
        batch_sizes = _default_batches(trial.size)
    for batch_size in batch_sizes:
        if whole(batch_size, "a batch size", 1) > trial.size:
            raise UsageError(f"a batch size must be at most the number of data, {trial.size}; received {batch_size}")

    def criterion(first_fraction: float, epsilon: float, alpha: float) -> tuple[float, float]:
        found = acceptance_bias(trial, first_fraction=first_fraction, epsilon=epsilon, alpha=alpha)
        return float(np.abs(found.bias).mean()), float(found.data_use.mean())

    fractions = [batch_size / trial.size for batch_size in batch_sizes]
    return _search("average", criterion, target_error, fractions, alphas, stops_early=by_default)


def _default_batches(size: int) -> list[int]:
    if size <= 2 * _SMALLEST_BATCH:
        raise UsageError(
            f"{size} data are too few for batches of {_SMALLEST_BATCH}; give batch_sizes, and see that the means of "
            "such batches are normal, or run an exact sampler"
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
    """The design that reads the fewest data; of equals the first."""
    number(target_error, "target_error", lambda x: 0.0 < x < 0.5, "in (0, 1/2)")
    for values, what in ((fractions, "first shares of the data"), (alphas, "alphas")):
        if not isinstance(values, Sequence | np.ndarray):
            raise UsageError(f"a design needs a sequence of {what} to choose from; received {values!r}")
    if not len(fractions) or not len(alphas):
        raise UsageError("a design needs at least one first share of the data and one alpha to choose from")
    for fraction in fractions:
        for alpha in alphas:
            interim_looks(fraction, 0.5, alpha)  # refuses what is out of range, before the search takes its time
    designs: list[SequentialDesign] = []
    least: list[float] = []  # data use of the best design, after each first share
    for fraction in map(float, fractions):
        for alpha in map(float, alphas):
            if any(design.data_use <= fraction for design in designs):
                continue  # no test reads less than its first share
            epsilon = _loosest(criterion, target_error, fraction, alpha)
            error, data_use = criterion(fraction, epsilon, alpha)
            designs.append(SequentialDesign(fraction, epsilon, alpha, name, float(target_error), error, data_use))
        least.append(min(design.data_use for design in designs))
        if stops_early and len(least) > _TRIED and least[-1] > (1.0 - _WORTH_TRYING) * least[-1 - _TRIED]:
            break
    return min(designs, key=lambda design: design.data_use)


def _loosest(criterion: _Criterion, target_error: float, fraction: float, alpha: float) -> float:
    """The epsilon that exhausts the error allowed, or 1/2.

    No look errs with more than epsilon, and a test has at most J: target_error / J is always allowed. Where the error
    did not rise with epsilon all the way, a larger epsilon might be allowed too; the one returned is.
    """
    from scipy.optimize import brentq

    looks = len(interim_looks(fraction, 0.5, alpha)[0])
    if not looks:
        return 0.5

    def excess(log_epsilon: float) -> float:
        return math.log(max(criterion(fraction, math.exp(log_epsilon), alpha)[0], 1e-300) / target_error)

    lowest, highest = math.log(target_error / (looks + 1)), math.log(0.5)
    if excess(highest) <= 0.0:
        return 0.5
    log_epsilon = float(brentq(excess, lowest, highest, xtol=0.2 * _ACCURACY))
    while excess(log_epsilon) > 0.0:
        log_epsilon -= 0.2 * _ACCURACY
    return math.exp(log_epsilon)


@dataclass(frozen=True, eq=False, repr=False)
class AcceptanceBias(Brief):
    """Effect of a sequential test on each of n moves.

    Attributes
    ----------
    probability : ndarray, shape (n,)
        Probability P with which Metropolis accepts the move.
    bias : ndarray, shape (n,)
        P_epsilon - P: positive where the sequential test accepts more often.
    error : ndarray, shape (n,)
        Probability of a decision other than that of Metropolis, over u; at least |bias|.
    data_use : ndarray, shape (n,)
        Expected share of the data read.
    """

    probability: Floats
    bias: Floats
    error: Floats
    data_use: Floats


def acceptance_bias(trial: TrialRun, *, first_fraction: float, epsilon: float, alpha: float = 0.5) -> AcceptanceBias:
    """Bias of the acceptance probability of each move of a trial run, and the data that its test reads.

    Parameters
    ----------
    trial : TrialRun
        Of n moves, from `trial_run`.
    first_fraction : float
        Share of the data read at each look, in (0, 1].
    epsilon : float
        Error allowed at one look, in [0, 1].
    alpha : float
        Wang-Tsiatis exponent of the thresholds, in [1/2, 1].

    Returns
    -------
    AcceptanceBias
        An entry a move.

    Raises
    ------
    UsageError
        If a parameter lies outside its range.

    Notes
    -----
    The test is taken for a random walk with normal steps. On data that are heavy-tailed across a batch it may do worse.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
    eq. 6 and 21.
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
    return AcceptanceBias(
        P, wrong_acceptances - wrong_rejections, wrong_acceptances + wrong_rejections, read + read_on_left
    )


def _curves(first_fraction: float, epsilon: float, alpha: float) -> Callable[[Floats], Floats]:
    """Error and data use of a test as functions of means >= 0, by interpolation, (...) -> (2, ...)."""
    from scipy.interpolate import CubicSpline

    fractions, thresholds = interim_looks(first_fraction, epsilon, alpha)
    # beyond this mean the first look decides, and rightly
    farthest = (thresholds[0] + _FAR) * math.sqrt(1.0 / fractions[0] - 1.0) if len(fractions) else 1.0
    s = np.linspace(0.0, 1.0, _TABLE)
    means = farthest * np.sinh(_GROWTH * s) / math.sinh(_GROWTH)
    found = operating_characteristics(means, first_fraction=first_fraction, epsilon=epsilon, alpha=alpha)
    spline = CubicSpline(s, np.stack((found.error, found.data_use)), axis=1)
    return lambda means: spline(np.arcsinh(np.minimum(means / farthest, 1.0) * math.sinh(_GROWTH)) / _GROWTH)
