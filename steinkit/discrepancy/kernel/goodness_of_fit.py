r"""Kernel test of goodness of fit: whether a sample is further from its target than a right chain of draws would be.

For draws x_1, ..., x_n in the order of time and a Stein kernel k0 (see `stein_kernel`), the statistic and its wild
bootstrap [1]_ are

.. math:: n V = \frac1n \sum_{ij} k_0(x_i, x_j), \qquad n B = \frac1n \sum_{ij} W_i W_j k_0(x_i, x_j),

where W is a Markov chain of signs that flips with probability a at each step, so that E[W_i W_j] = r^|i - j| with
r = 1 - 2a. It starts anew at the start of every chain of the sample. The p-value is the share of B at or above V.

**The probability of a flip.** Where the draws are right, the mean of n V is the sum over lags t of the autocovariance
c_t = E[k0(x_i, x_(i+t))] of the draws' features, and the mean of n B is the sum of c_t r^|t|. Signs that flip too often
make B too small, and the test rejects too much; signs that hardly flip make every B nearly equal to V. This is the
choice of a lag window in estimating a long-run variance: the best window r^|t| leaves out a share of the variance of
order (n / tau)^(-1/3), where tau is the features' integrated autocorrelation time. We leave out the share

.. math:: \delta = 0.4 \, d^{-1/2} (n / \tau)^{-1/3}.

The factor d^(-1/2) is there because n V adds up about one slow feature a coordinate, so that its standard deviation
relative to its mean falls so. For autocorrelations rho^t, with rho = (tau - 1) / (tau + 1), the sum with the window is
(1 + rho r) / (1 - rho r). It equals (1 - delta) tau for the r used here; for independent draws r = 0, a = 1/2.

tau is the larger of two estimates. The first is from rows of the matrix k0(x_i, x_j), at most 200 evenly spaced i: each
row is a time series in j. The autocovariances of the centred rows are added up, and their sum is cut off where Geyer's
initial monotone sequence ends [2]_. It weighs features by the squares of their variances; the largest are odd.

**Antithetic chains.** Draws of NUTS and of Hamiltonian Monte Carlo alternate about the mean, so that odd functions are
*negatively* correlated, while even ones, such as the energy, are positively. The odd features then say tau = 1, the
many even ones inflate n V all the same, and signs that flip at every draw reject nearly every exact chain in fifty
dimensions. So the second estimate is the longest time of |z|^2, and of those z_j^2, for standardised draws z, that are
clearly autocorrelated at lag one; the others would only add the noise of the largest of many. The z_j need no estimate
of their own: the rows follow them, and a longer time costs power where no level needs it.

The constant 0.4 is from simulation, `benchmarks/measures.py --test-size`; the level for chains of NUTS and Hamiltonian
Monte Carlo is counted by `benchmarks/verdict.py`.

**What kernels add to a verdict** is a test that sees all of a shape, and how many independent draws have the same KSD.
Both take time that grows with the square of the draws, and take a part of many.

References
----------
.. [1] K. Chwialkowski, H. Strathmann and A. Gretton, "A kernel test of goodness of fit", ICML (2016), section 3.
.. [2] C. J. Geyer, "Practical Markov chain Monte Carlo", Statistical Science 7 (1992), section 3.3.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steinkit.arguments import generator_from, number, whole
from steinkit.autocorrelation import initial_monotone_sum, integrated_autocorrelation_times, lagged_products
from steinkit.chains import in_order_of_content, split_chains
from steinkit.containers.reading import DrawsLike
from steinkit.discrepancy.kernel.base_kernels import IMQ, BaseKernel, kernel_of
from steinkit.discrepancy.kernel.ksd import KernelSteinDiscrepancy, kernel_stein_discrepancy
from steinkit.discrepancy.kernel.stein_kernel import SteinKernel, run_pieces, stein_kernel_at, stein_kernel_for
from steinkit.discrepancy.operators import RiemannianLangevin
from steinkit.draws import Draws
from steinkit.errors import Caution, InputError, cautious, reservations
from steinkit.runtime.compilation import announced_compilation, small_work
from steinkit.runtime.deadlines import one_thread_in_libraries, require_time, thread_count, within_time
from steinkit.sample import DistinctSample, Floats, Integers, Sample
from steinkit.scored_sample import ScoredSample
from steinkit.target import Seed, Target
from steinkit.units import Units, UnitsLike

_SHARE = 0.4  # of delta above
_LARGEST_SHARE = 0.5
_SERIES = 200  # rows of the kernel matrix that tau is estimated from
_SERIES_AT_ONCE = 20
_COORDINATES_AT_ONCE = 32
_CHANCE = 0.01  # of taking some coordinate for autocorrelated where none is
_FEWEST = 20  # draws in units of tau, below which the level is not kept
_BELOW_ALL = 0.95  # of the least bootstrap replicate, below which the statistic is that of chosen draws
_TOO_MANY = 4.0  # equivalent draws over the effective size of weighted ones, above which these were chosen
_ROWS = 256
_REPLICATES = 128
_ROUGH = 1e-5  # of the largest sum over pairs i != j: twenty times what single precision has been seen to err
_LEAST = 1e-20  # of a statistic whose terms neither overflow nor vanish in single precision


@dataclass(frozen=True, eq=False)
class KernelSteinTest:
    """A kernel test of goodness of fit.

    Attributes
    ----------
    p_value : float
        (1 + number of bootstrap values at or above the statistic) / (1 + n_bootstrap).
    statistic : float
        n times the squared V-statistic of `kernel_stein_discrepancy`, for n draws.
    bootstrap : ndarray, shape (n_bootstrap,)
        What the statistic might have been were the draws' distribution the target.
    flip_probability : float
        Of the signs, at each draw.
    autocorrelation_time : float
        tau above, in draws; NaN if the flip probability was given.
    kernel : IMQ, GaussianKernel or MaternKernel
        The base kernel with its parameters, the scale filled in.
    operator : RiemannianLangevin, or None
        None for Langevin's.
    bounds : ndarray, shape (d, 2), or None
        Bounds of the support that were respected.
    sample : DistinctSample
        Points, in raw units, counts, names.
    scores : ndarray, shape (n_points, d)
        Score of the target at the distinct points, in raw units.
    units : Units
        In which the statistic and the kernel's scale are meant.
    seconds : dict
        Wall time spent on "scores", "autocorrelation" and "bootstrap".
    warnings : tuple of str
        What a reader should know before the number.
    """

    p_value: float
    statistic: float
    bootstrap: Floats
    flip_probability: float
    autocorrelation_time: float
    kernel: BaseKernel
    operator: RiemannianLangevin | None
    bounds: Floats | None
    sample: DistinctSample
    scores: Floats
    units: Units
    seconds: dict[str, float]
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        return (
            f"<KernelSteinTest p = {self.p_value:.4g} from {len(self.bootstrap)} replicates, statistic "
            f"{self.statistic:.6g}, flip probability {self.flip_probability:.4g}{reservations(self.warnings)}>"
        )


@cautious
@within_time
def kernel_stein_test(
    draws: DrawsLike,
    target: Target | None = None,
    *,
    scores: ArrayLike | None = None,
    bounds: ArrayLike | None = None,
    units: UnitsLike = "raw",
    kernel: str | BaseKernel = "imq",
    operator: RiemannianLangevin | None = None,
    flip_probability: float | None = None,
    n_bootstrap: int = 1000,
    rng: Seed = 0,
    max_seconds: float | None = None,
    n_jobs: int = 1,
) -> KernelSteinTest:
    """Test whether draws come from the target, in whatever way they depend on their predecessors.

    Time O(n^2 (d + n_bootstrap)), memory O(n n_bootstrap). The order of the draws matters: chain labels split the
    sample, draw numbers order each chain; without them it is one chain in the order given.

    A large p-value is no proof: the score does not know the mode weights far apart, so a chain that missed a mode
    passes. A small one says that the draws are not from the target, not that the bias matters. Samples of every biased
    sampler are rejected once they are long enough.

    Parameters
    ----------
    draws : Sample, array_like of shape (n,), (n, d) or (chains, draws, d), or what else `as_sample` takes
        Equally weighted, stationary: without burn-in, and not chosen by `thin`. Repeats of a chain that rejects
        belong to it.
    target : Target, optional
        What the draws claim to represent. Exactly one of `target`, `scores` and scores stored in the sample is needed.
    scores : array_like, shape (n, d), optional
        Scores at the draws in place of a target.
    bounds : array_like, shape (d, 2), optional
        Bounds of the support; the target's own if not given.
    units : {"own", "raw"}, array_like of shape (d,), Units, or mapping
        As in `kernel_stein_discrepancy`.
    kernel : {"imq", "gaussian", "matern"} or IMQ, GaussianKernel, MaternKernel
        As in `kernel_stein_discrepancy`.
    operator : RiemannianLangevin, optional
        Another Stein operator than Langevin's.
    flip_probability : float, optional
        Above 0, at most 1/2, which is for independent draws. If not given, it is set from the draws' autocorrelation
        by the rule above.
    n_bootstrap : int
        Replicates. Replicate b is the same however many are asked for.
    rng : int, numpy.random.Generator or None
        Seed.
    max_seconds : float, optional
        Time, from the call on, after which to give up.
    n_jobs : int
        Threads; -1 for all processors. The result does not depend on it.

    Returns
    -------
    KernelSteinTest
        The statistic, its bootstrap replicates and the p-value.

    Raises
    ------
    UsageError
        If a setting cannot be honoured.
    InputError
        If sample, scores, bounds and operator do not fit together, the draws carry unequal weights or are all the same
        point, or the numbers overflow.
    TimeLimitError
        If `max_seconds` pass first.
    """
    _require_settings(flip_probability, n_bootstrap)
    threads = thread_count(n_jobs)
    began = time.perf_counter()
    prepared = ScoredSample.of(draws, target, scores=scores, bounds=bounds).in_units(units)
    found = _test(prepared, kernel, operator, flip_probability, n_bootstrap, rng, threads)
    return replace(
        found, seconds={"scores": time.perf_counter() - began - sum(found.seconds.values()), **found.seconds}
    )


def _test(
    prepared: ScoredSample,
    kernel: str | BaseKernel,
    operator: RiemannianLangevin | None = None,
    flip_probability: float | None = None,
    n_bootstrap: int = 1000,
    rng: Seed = 0,
    threads: int = 1,
    *,
    only_p: bool = False,
) -> KernelSteinTest:
    """The test of draws with their scores; its replicates are not exact if only the p-value is wanted."""
    _require_equal_weights(prepared.given)
    points = prepared.points
    if len(points) == 1:
        raise InputError(
            "all draws are the same point: a chain that has not moved cannot be tested; give a sample of more draws"
        )
    base, notes = kernel_of(kernel).fitted(points.points)
    stein = stein_kernel_for(base, prepared, operator)
    chains, disorder = split_chains(prepared.given)
    series = [points.inverse[rows] for rows in in_order_of_content(chains, prepared.given.points)]
    ends = np.cumsum([len(each) for each in series]).tolist()
    places = [slice(end - len(each), end) for end, each in zip(ends, series, strict=True)]
    rows = np.concatenate(series)
    seen = time.perf_counter()
    size = _size(stein, points)
    tau = math.nan
    if flip_probability is None:
        tau = max(_autocorrelation_time(stein, rows, places), _slowest_even_time(points.points, rows, places))
        flip_probability = _flip_probability(tau, len(points.inverse), points.dim)
        notes += _doubts(tau, len(points.inverse))
    correlated = time.perf_counter()
    signs = _sign_sums(rows, places, len(points), flip_probability, n_bootstrap, generator_from(rng))
    signs = np.vstack([points.counts.astype(np.float32), signs])
    rough = only_p and _LEAST < size < 1.0 / _LEAST
    sums = _pair_sums(stein, signs, threads, rough)
    if rough:
        sums[np.abs(signs.sum(axis=1)) == len(points.inverse)] = sums[0]  # signs that never flip: not to be taken again
        error = _ROUGH * np.abs(sums).max()
        sums += np.einsum("rn,rn,n->r", signs, signs, stein.diagonal())
        near = np.flatnonzero((np.abs(sums - sums[0]) <= error) & (sums != sums[0]))
        if len(near):
            sums[near] = _pair_sums(stein, signs[near], threads)
    sums /= len(points.inverse)
    statistic, bootstrap = max(float(sums[0]), 0.0), sums[1:]
    # signs that never flip give the statistic itself, up to the rounding of either: a tie
    reached = int((bootstrap >= statistic - 2.0**-52 * len(points) * size).sum())
    return KernelSteinTest(
        p_value=(1 + reached) / (1 + n_bootstrap),
        statistic=statistic * stein.factor,
        bootstrap=bootstrap * stein.factor,
        flip_probability=float(flip_probability),
        autocorrelation_time=tau,
        kernel=base,
        operator=operator,
        bounds=prepared.raw.bounds,
        sample=prepared.raw.points,
        scores=prepared.raw.scores,
        units=prepared.units,
        seconds={
            "autocorrelation": correlated - seen,
            "bootstrap": time.perf_counter() - correlated,
        },
        warnings=(*prepared.cautions, *map(Caution, disorder), *notes),
    )


def _require_settings(flip_probability: float | None, n_bootstrap: int) -> None:
    if flip_probability is not None:
        number(flip_probability, "flip_probability", lambda share: 0.0 < share <= 0.5, "above 0 and at most 0.5")
    whole(n_bootstrap, "n_bootstrap", 1)


def _require_equal_weights(sample: Sample) -> None:
    weights = sample.weights
    if weights is not None and (weights != weights[0]).any():
        raise InputError(
            f"the draws carry unequal weights, from {weights.min():g} to {weights.max():g}, and the test is calibrated "
            "for equal ones: drop the weights, or test the draws before they were weighted"
        )


def _size(stein: SteinKernel, points: DistinctSample) -> float:
    """At least the statistic and every replicate: (sum_i sqrt(k0(x_i, x_i)))^2 / n over draws i."""
    with announced_compilation(), np.errstate(over="ignore", invalid="ignore"):
        diagonal = stein.diagonal()
        size = float((points.counts @ np.sqrt(diagonal)) ** 2) / len(points.inverse)
    if not math.isfinite(size * max(stein.factor, 1.0)):
        raise InputError("the Stein kernel overflows: draws or scores are too large; rescale them")
    return size


def _doubts(tau: float, draws: int) -> tuple[str, ...]:
    if draws >= _FEWEST * tau:
        return ()
    return (
        Caution(
            f"the {draws} draws are worth about {draws / tau:.2g} independent ones (autocorrelation time {tau:.3g}); "
            f"below {_FEWEST} the test rejects right samples more often than it should: run the chain for longer"
        ),
    )


def _autocorrelation_time(stein: SteinKernel, whole: Integers, chains: list[slice]) -> float:
    """Integrated autocorrelation time of the kernel's features, at least 1; `whole` holds the point of each draw."""
    picked = whole[np.unique(np.linspace(0, len(whole) - 1, _SERIES).astype(np.int64))]
    covariance = np.zeros(max(chain.stop - chain.start for chain in chains))
    unit = -int(np.frexp(stein.diagonal().max())[1])  # k0(x, y)^2 <= k0(x, x) k0(y, y): squares below one

    def add(_: int) -> Iterator[None]:
        for start in range(0, len(picked), _SERIES_AT_ONCE):
            rows = picked[start : start + _SERIES_AT_ONCE]
            values = np.ldexp(stein.rows(rows)[:, whole], unit)
            own = whole == rows[:, None]  # k0(x, x) is no draw of k0(x, .), and large
            others = np.maximum((~own).sum(axis=1, keepdims=True), 1)
            values -= np.where(own, 0.0, values).sum(axis=1, keepdims=True) / others
            values[own] = 0.0
            for chain in chains:
                covariance[: chain.stop - chain.start] += _autocovariance(values[:, chain])
            yield

    run_pieces(add)
    if not covariance[0] > 0.0:
        return 1.0
    total = 2.0 * initial_monotone_sum(covariance) - covariance[0]
    return float(max(total / covariance[0], 1.0))


def _slowest_even_time(points: Floats, whole: Integers, chains: list[slice]) -> float:
    """The longest integrated autocorrelation time of |z|^2 and of the z_j^2 that have one, at least 1."""
    from scipy.special import ndtri

    n, dim = len(whole), points.shape[1]
    clear = -float(ndtri(_CHANCE / (2 * dim))) / math.sqrt(n)
    radius, slowest = np.zeros(n), 1.0
    for begin in range(0, dim, _COORDINATES_AT_ONCE):
        z = points[whole, begin : begin + _COORDINATES_AT_ONCE].T
        z = z - z.mean(axis=1, keepdims=True)
        size = np.abs(z).max(axis=1, keepdims=True)
        squares = (z / np.where(size > 0.0, size, 1.0)) ** 2  # which neither overflow nor vanish
        variance = squares.mean(axis=1, keepdims=True)
        squares /= np.where(variance > 0.0, variance, 1.0)
        radius += squares.sum(axis=0)
        squares -= squares.mean(axis=1, keepdims=True)
        total = np.einsum("kn,kn->k", squares, squares)
        first = lagged_products(squares, chains, 1) / np.where(total > 0.0, total, 1.0)
        times = integrated_autocorrelation_times(squares[np.abs(first) > clear], chains)
        slowest = max(slowest, times.max(initial=1.0))
    radius -= radius.mean()
    return float(max(slowest, integrated_autocorrelation_times(radius[None], chains)[0]))


def _autocovariance(values: Floats) -> Floats:
    """sum_j v_j v_(j+t) at each lag t, added up over the rows of `values`, (rows, n); shape (n,)."""
    from scipy.fft import irfft, next_fast_len, rfft

    n = values.shape[1]
    length = next_fast_len(2 * n, real=True)  # so that the ends do not meet
    power = np.abs(rfft(values, length, axis=1)) ** 2
    return np.asarray(irfft(power.sum(axis=0), length)[:n])


def _flip_probability(tau: float, draws: int, dim: int) -> float:
    """The probability a at which the signs leave out a share delta of the variance, from 0 (not reached) to 1/2."""
    share = min(_SHARE / math.sqrt(dim) * (tau / draws) ** (1.0 / 3.0), _LARGEST_SHARE)
    left = (1.0 - share) * tau
    if left <= 1.0:
        return 0.5
    rho = (tau - 1.0) / (tau + 1.0)
    return float(0.5 * (1.0 - (left - 1.0) / (left + 1.0) / rho))


def _sign_sums(
    whole: Integers,
    chains: list[slice],
    n_points: int,
    flip_probability: float,
    n_bootstrap: int,
    rng: np.random.Generator,
) -> NDArray[np.float32]:
    """Sum of the signs of the draws at each point, for each replicate, shape (n_bootstrap, n_points)."""
    flips = np.full(len(whole), flip_probability)
    flips[[chain.start for chain in chains]] = 0.5
    grouped = np.argsort(whole, kind="stable")
    starts = np.searchsorted(whole[grouped], np.arange(n_points))
    sums = np.empty((n_bootstrap, n_points), dtype=np.float32)  # whole numbers: exact
    for first in range(0, n_bootstrap, _REPLICATES):
        last = min(first + _REPLICATES, n_bootstrap)
        require_time("signs were drawn")
        flipped = rng.random((last - first, len(whole))) < flips
        signs = 1.0 - 2.0 * np.logical_xor.accumulate(flipped, axis=1).astype(np.float32)
        signs = signs[:, grouped]
        sums[first:last] = signs if len(whole) == n_points else np.add.reduceat(signs, starts, axis=1)
    return sums


def _pair_sums(stein: SteinKernel, signs: NDArray[np.float32], threads: int, rough: bool = False) -> Floats:
    """sum_ij q_i q_j k0(x_i, x_j) for each row q of `signs`, (replicates, n); shape (replicates,).

    Rows of the kernel matrix come in blocks, from the diagonal on; what lies right of the diagonal block counts twice.
    Roughly: all but the first two of the sums are taken in single precision, in half the time, and without the pairs
    i = j, whose rounding could be more than the others' sum.
    """
    n = len(stein)
    blocks, starts = range(0, n, _ROWS), range(2 if rough else _REPLICATES, len(signs), _REPLICATES)
    sums = np.zeros((len(blocks), len(signs)))

    def fill(number: int) -> Iterator[None]:
        first = blocks[number]
        last = min(first + _ROWS, n)
        rows = stein.rows(np.arange(first, last), first)[:, first:]
        rows[:, last - first :] *= 2.0
        if rough:
            np.fill_diagonal(rows, 0.0)
        for start, end in pairwise([0, *starts, len(signs)]):
            yield
            some = signs[start:end, first:]
            if rough and start:
                rows = rows.astype(np.float32, copy=False)
            by_row = (some.astype(rows.dtype, copy=False) @ rows.T) * some[:, : last - first]
            sums[number, start:end] = by_row.sum(axis=1, dtype=np.float64)

    with one_thread_in_libraries("blas"):  # ours are the threads
        run_pieces(fill, len(blocks), threads)
    return np.asarray(sums.sum(axis=0))


_MOST_PAIRED = 4000  # draws that enter the kernel test's bootstrap, whose time grows with their square
_MOST_SUMMED = 20_000  # draws that enter the number of equivalent ones, which is no larger
# Seconds a pair of draws and coordinate where kernels are not compiled; in coordinates, what else a pair takes.
_INTERPRETED, _RADIAL = 1e-8, 4


def kernel_evidence(sample: ScoredSample, rng: Seed) -> tuple[float | None, float, tuple[str, ...]]:
    """The p-value of the kernel test, `Verdict.ksd_equivalent_draws`, and why the test was left out.

    Parameters
    ----------
    sample : ScoredSample
    rng : int, numpy.random.Generator or None
        Seed of the test's bootstrap.
    """
    scored, draws, standard = sample.carried, sample.draws, sample.standard
    chains = in_order_of_content([draws.rows[chain] for chain in draws.chains], scored.points)
    in_chains = np.arange(len(scored)) if draws.is_weighted else np.concatenate(chains)
    rows = standard.points.inverse[standard.points.inverse >= 0]
    standardised = replace(scored, points=standard.points.points[rows], scores=standard.scores[rows])
    summed = standardised[_spread(in_chains, _MOST_SUMMED)]
    with small_work(_INTERPRETED * len(summed) ** 2 * (_RADIAL + summed.dim)):
        test, untested = None, tuple[str, ...]()
        if not draws.is_weighted:
            paired = replace(standardised, weights=None)[_spread(in_chains, _MOST_PAIRED)]
            try:
                given = ScoredSample.of(paired, bounds=standard.bounds)
                test = _test(given, IMQ(), rng=rng, only_p=True)
            except InputError as error:  # as where draws evenly spread over a chain that stands still are one point
                untested = (f"the kernel test was left out: {error}",)
        if test is not None and len(paired) == len(summed):  # its statistic is n KSD^2 of the same draws
            equivalent = _equivalent_draws(test, test.statistic / len(paired), standard.bounds)
        else:
            found = kernel_stein_discrepancy(summed, bounds=standard.bounds, kernel=IMQ(), squared=True)
            equivalent = _equivalent_draws(found, found.value, standard.bounds)
        return None if test is None else test.p_value, equivalent, untested + _choice(test, equivalent, draws)


def _choice(test: KernelSteinTest | None, equivalent: float, draws: Draws) -> tuple[str, ...]:
    """Whether the draws look chosen: no signs make the statistic as small as it is, or so few draws, if weighted."""
    if test is not None and test.statistic >= _BELOW_ALL * test.bootstrap.min():
        return ()
    if test is None and equivalent <= _TOO_MANY * draws.n_effective(1.0):
        return ()
    said = "the draws look chosen, as by thinning or weights that fit the score: their kernel discrepancy is that of "
    said += f"{equivalent:.3g} independent draws. Chosen draws are not independent, and no p-value holds for them"
    return (Caution(said),)


def _spread(rows: Integers, most: int) -> Integers:
    """At most so many rows, evenly spread along the chains."""
    if len(rows) <= most:
        return np.sort(rows)
    return np.sort(rows[np.linspace(0, len(rows) - 1, most).round().astype(np.int64)])


def _equivalent_draws(found: KernelSteinDiscrepancy | KernelSteinTest, squared: float, bounds: Floats | None) -> float:
    points = found.sample
    stein = stein_kernel_at(IMQ(), points.points, found.scores, bounds, None, names=points.names)
    return float(points.weights @ stein.diagonal()) / squared if squared > 0.0 else math.inf


def thinning_notes(draws: int) -> tuple[str, ...]:
    """Of how many draws the kernel test took fewer."""
    if draws <= _MOST_PAIRED:
        return ()
    return (f"the kernel test took {_MOST_PAIRED} of the {draws} draws, evenly spread",)
