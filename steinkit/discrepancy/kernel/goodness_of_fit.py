r"""Kernel goodness-of-fit test for dependent draws.

The test is calibrated by a wild bootstrap.

For draws x_1, ..., x_n in temporal order and a Stein kernel k0 (see `stein_kernel`), the statistic and its wild
bootstrap [1]_ are

.. math:: n V = \frac1n \sum_{ij} k_0(x_i, x_j), \qquad n B = \frac1n \sum_{ij} W_i W_j k_0(x_i, x_j),

where W is a Markov chain of signs that flips with probability a at each step. Therefore, E[W_i W_j] = r^|i - j| with r
= 1 - 2a. The chain W restarts with each chain of the sample. The p-value is the fraction of bootstrap values B that are
at least as large as V.

**Flip probability.** For draws from the target, the mean of n V is the sum over lags t of the autocovariance c_t =
E[k0(x_i, x_(i+t))] of the features, and the mean of n B is the sum of c_t r^|t|. If the signs flip too often, B is too
small, and the test rejects too often. If the signs rarely flip, all bootstrap values B are nearly equal to V. Choosing
r is equivalent to choosing a lag window for a long-run variance. The optimal window r^|t| neglects a fraction of the
variance of order (n / tau)^(-1/3), where tau is the integrated autocorrelation time of the features. The test neglects
the fraction

.. math:: \delta = 0.4 \, d^{-1/2} (n / \tau)^{-1/3}.

The factor d^(-1/2) accounts for the slow features in n V. With about one slow feature per coordinate, the standard
deviation of n V is smaller relative to its mean. For autocorrelations rho^t, with rho = (tau - 1) / (tau + 1), the sum
with the window is (1 + rho r) / (1 - rho r). The value of r is chosen to make this sum equal to (1 - delta) tau. For
independent draws, r = 0 and a = 1/2.

The time tau is the larger of two estimates. The first estimate uses at most 200 evenly spaced rows of the matrix
k0(x_i, x_j). Each row is a time series in j. The autocovariances of the centered rows are summed up to the end of
Geyer's initial monotone sequence [2]_. This estimate weights the features by their squared variances, and the features
with the largest variance are odd functions.

**Antithetic chains.** Successive draws from NUTS and Hamiltonian Monte Carlo lie on opposite sides of the mean. Odd
functions then have *negative* autocorrelations, but even functions such as the energy have positive autocorrelations.
The odd features then give tau = 1, although the many even features inflate n V. With signs that flip at every draw,
nearly every exact chain would be rejected in fifty dimensions. For standardized draws z, the second estimate is
therefore the longest autocorrelation time of |z|^2 and of each z_j^2 with a clear autocorrelation at lag one. Because
the estimate is a maximum, noise in the other z_j^2 could only increase it. The z_j do not require separate estimates
because the rows include them.

The constant 0.4 was determined by simulation (`benchmarks/measures.py --test-size`). The program
`benchmarks/verdict.py` measures the level for NUTS and Hamiltonian Monte Carlo chains.

**In the verdict**, the kernel is used to test the whole distribution and to compute the number of independent draws
with the same expected squared KSD. Both computations take time quadratic in the number of draws, so long samples are
subsampled.

References
----------
.. [1] K. Chwialkowski, H. Strathmann and A. Gretton, "A kernel test of goodness of fit", ICML (2016), section 3.
.. [2] C. J. Geyer, "Practical Markov chain Monte Carlo", Statistical Science 7 (1992), section 3.3.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import InitVar, dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steinkit.arguments import generator_from, number, whole
from steinkit.autocorrelation import initial_monotone_sum, integrated_autocorrelation_times, lagged_products
from steinkit.containers.reading import DrawsLike
from steinkit.discrepancy.kernel.base import IMQ, BaseKernel, kernel_of
from steinkit.discrepancy.kernel.ksd import kernel_stein_discrepancy
from steinkit.discrepancy.kernel.stein_kernel import SteinKernel, run_pieces, stein_kernel_for
from steinkit.draws import ChainDraws
from steinkit.errors import Caution, InputError, cautious, reservations
from steinkit.runtime.compilation import small_work
from steinkit.runtime.deadlines import one_thread_in_libraries, require_time, thread_count, within_time
from steinkit.sample import DistinctSample, Floats, Integers, split_chains
from steinkit.scored_sample import ScoredSample
from steinkit.target import Seed, Target
from steinkit.units import UnitsLike

_SHARE = 0.4  # the constant factor in delta
_LARGEST_SHARE = 0.5
_SERIES = 200  # number of rows of the kernel matrix in the estimate of tau
_SERIES_AT_ONCE = 20
_COORDINATES_AT_ONCE = 32
_CHANCE = 0.01  # probability that an uncorrelated coordinate appears autocorrelated
_FEWEST = 20  # minimum number of draws, in units of tau, for which the level is maintained
_BELOW_ALL = 0.95  # below this fraction of the smallest replicate, the statistic indicates that the draws were selected
# above this ratio of equivalent draws to effective size, weighted draws are considered to be selected
_TOO_MANY = 4.0
_COMPARED = 64  # number of draws per chain that determine the order of chains
_ROWS = 256
_REPLICATES = 128
# tolerance relative to the largest sum over pairs i != j: twenty times the observed single-precision error
_ROUGH = 1e-5
_LEAST = 1e-20  # statistics between this number and its inverse neither overflow nor underflow in single precision


@dataclass(frozen=True, eq=False)
class KernelSteinTest:
    """Result of a kernel goodness-of-fit test.

    Attributes
    ----------
    p : float
        The number (1 + number of bootstrap values at or above the statistic) / (1 + n_bootstrap).
    statistic : float
        The product of n and the squared V-statistic of `kernel_stein_discrepancy`, for n draws.
    bootstrap : ndarray, shape (n_bootstrap,)
        Replicates of the statistic under the target.
    flip_probability : float
        Probability of a sign change at each draw.
    autocorrelation_time : float
        Estimate of tau in draws, or NaN if the flip probability was specified.
    kernel : IMQ or GaussianKernel
        Base kernel with its scale.
    seconds : dict of str to float
        Wall time of the stages "scores", "autocorrelation" and "bootstrap".
    warnings : tuple of str
        Notes on the sample and on the reliability of the p-value.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> draws = np.random.default_rng(0).standard_normal((400, 2))
    >>> test = sk.kernel_stein_test(draws, sk.targets.Normal([0.0, 0.0]))
    >>> len(test.bootstrap), bool(test.p > 0.05)
    (1000, True)
    """

    p: float
    statistic: float
    bootstrap: Floats
    flip_probability: float
    autocorrelation_time: float
    kernel: BaseKernel
    seconds: dict[str, float]
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        return (
            f"<KernelSteinTest p = {self.p:.4g} from {len(self.bootstrap)} replicates, statistic "
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
    flip_probability: float | None = None,
    n_bootstrap: int = 1000,
    rng: Seed = 0,
    max_seconds: float | None = None,
    n_jobs: int = 1,
) -> KernelSteinTest:
    """Test whether dependent draws come from the target, using a Stein kernel.

    The order of the draws matters. Chain labels split the sample into chains, and draw numbers determine the order
    within each chain. Without labels, the sample is treated as a single chain in the given order. The test takes O(n^2
    (d + n_bootstrap)) time and O(n n_bootstrap) memory.

    Parameters
    ----------
    draws : Sample or array_like, shape (n,), (n, d) or (chains, draws, d)
        Equally weighted draws of stationary chains. The draws must not contain burn-in and must not have been selected
        by `thin`. Repeated draws that result from rejected proposals must be included.
    target : Target, optional
        Target distribution. Exactly one source of scores is required: `target`, `scores`, or scores stored in `draws`.
    scores : array_like, shape (n, d), optional
        Score of the target at each draw.
    bounds : array_like, shape (d, 2), optional
        Bounds of the support. The default is the bounds of the target.
    units : {"raw", "own"}, array_like of shape (d,), Units or mapping, default "raw"
        Scale of the coordinates. See `kernel_stein_discrepancy`.
    kernel : {"imq", "gaussian"}, IMQ or GaussianKernel, default "imq"
        Base kernel. See `kernel_stein_discrepancy`.
    flip_probability : float, optional
        Probability of a sign change, above 0 and at most 1/2 (for independent draws). By default, the probability is
        determined from the autocorrelation of the draws.
    n_bootstrap : int, default 1000
        Number of replicates. The first replicates do not depend on this number.
    rng : int, numpy.random.Generator or None, default 0
        Random seed.
    max_seconds : float, optional
        Time limit in seconds.
    n_jobs : int, default 1
        Number of threads. The value -1 uses all processors. The result does not depend on this number.

    Returns
    -------
    KernelSteinTest
        The statistic, its bootstrap replicates and the p-value.

    Raises
    ------
    UsageError
        If an argument is not valid.
    InputError
        If the sample, scores and bounds are inconsistent, if the draws have unequal weights or are all equal, or if the
        numbers overflow.
    TimeLimitError
        If the time limit is exceeded.

    Notes
    -----
    A large p-value does not prove that a sample is good. The score does not depend on the weights of distant modes, and
    a chain that missed a mode is not rejected. A small p-value is evidence of bias, but not of a relevant bias, because
    every biased sample is rejected if it is large enough.

    References
    ----------
    .. [1] K. Chwialkowski, H. Strathmann and A. Gretton, "A kernel test of goodness of fit", ICML 2016.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> draws, target = np.random.default_rng(0).standard_normal((400, 2)), sk.targets.Normal([0.0, 0.0])
    >>> sk.kernel_stein_test(1.3 * draws, target).p < 0.01
    True
    """
    if flip_probability is not None:
        number(flip_probability, "flip_probability", lambda share: 0.0 < share <= 0.5, "above 0 and at most 0.5")
    whole(n_bootstrap, "n_bootstrap", 1)
    threads = thread_count(n_jobs)
    began = time.perf_counter()
    prepared = ScoredSample.of(draws, target, scores=scores, bounds=bounds).in_units(units)
    found = _test(prepared, kernel, flip_probability, n_bootstrap, rng, threads)
    return replace(
        found, seconds={"scores": time.perf_counter() - began - sum(found.seconds.values()), **found.seconds}
    )


def _test(
    prepared: ScoredSample,
    kernel: str | BaseKernel,
    flip_probability: float | None = None,
    n_bootstrap: int = 1000,
    rng: Seed = 0,
    threads: int = 1,
    *,
    only_p: bool = False,
) -> KernelSteinTest:
    """Test a scored sample.

    If only the p-value is required (`only_p`), the replicates contain rounding errors.
    """
    points, weights = prepared.points, prepared.given.weights
    if weights is not None and (weights != weights[0]).any():
        raise InputError(
            f"the kernel test requires equal weights; got weights from {weights.min():g} to {weights.max():g}: use "
            "draws without weights"
        )
    if len(points) == 1:
        raise InputError("the kernel test requires at least two different draws; got one")
    base, notes = kernel_of(kernel).fitted(points.points)
    stein = stein_kernel_for(base, prepared)
    chains, disorder = split_chains(prepared.given)
    series = [points.inverse[rows] for rows in _in_order_of_content(chains, prepared.given.points)]
    ends = np.cumsum([len(each) for each in series]).tolist()
    places = [slice(end - len(each), end) for end, each in zip(ends, series, strict=True)]
    rows = np.concatenate(series)
    seen, n = time.perf_counter(), len(points.inverse)
    with np.errstate(over="ignore", invalid="ignore"):
        # an upper bound on the statistic and every replicate: (sum_i sqrt(k0(x_i, x_i)))^2 / n
        size = float((points.counts @ np.sqrt(stein.diagonal())) ** 2) / n
    if not math.isfinite(size):
        raise InputError("the Stein kernel overflows: rescale draws and scores")
    tau = math.nan
    if flip_probability is None:
        tau = max(_autocorrelation_time(stein, rows, places), _slowest_even_time(points.points, rows, places))
        flip_probability = _flip_probability(tau, n, points.dim)
        if n < _FEWEST * tau:
            message = (
                f"the {n} draws are equivalent to about {n / tau:.2g} independent draws (autocorrelation time "
                f"{tau:.3g}). With fewer than {_FEWEST}, the test rejects exact samples too often: run longer chains"
            )
            notes += (Caution(message),)
    correlated = time.perf_counter()
    signs = _sign_sums(rows, places, len(points), flip_probability, n_bootstrap, generator_from(rng))
    signs = np.vstack([points.counts.astype(np.float32), signs])
    rough = only_p and _LEAST < size < 1.0 / _LEAST
    sums = _pair_sums(stein, signs, threads, rough)
    if rough:
        sums[np.abs(signs.sum(axis=1)) == n] = sums[0]  # replicates whose signs never flip
        error = _ROUGH * np.abs(sums).max()
        sums += np.einsum("rn,rn,n->r", signs, signs, stein.diagonal())
        near = np.flatnonzero((np.abs(sums - sums[0]) <= error) & (sums != sums[0]))
        if len(near):
            exact = _pair_sums(stein, signs[[0, *near]], threads)
            sums[sums == sums[0]], sums[near] = exact[0], exact[1:]
    sums /= n
    statistic, bootstrap = max(float(sums[0]), 0.0), sums[1:]
    # signs that never flip reproduce the statistic up to rounding errors; such replicates count as ties
    reached = int((bootstrap >= statistic - 2.0**-52 * len(points) * size).sum())
    return KernelSteinTest(
        p=(1 + reached) / (1 + n_bootstrap),
        statistic=statistic,
        bootstrap=bootstrap,
        flip_probability=float(flip_probability),
        autocorrelation_time=tau,
        kernel=base,
        seconds={"autocorrelation": correlated - seen, "bootstrap": time.perf_counter() - correlated},
        warnings=(*prepared.cautions, *map(Caution, disorder), *notes),
    )


def _autocorrelation_time(stein: SteinKernel, whole: Integers, chains: list[slice]) -> float:
    """Estimate the integrated autocorrelation time of the kernel features.

    The array `whole` maps each draw to the index of its point.
    """
    picked = whole[np.unique(np.linspace(0, len(whole) - 1, _SERIES).astype(np.int64))]
    covariance = np.zeros(max(chain.stop - chain.start for chain in chains))
    # because k0(x, y)^2 <= k0(x, x) k0(y, y), the squares are below one
    unit = -int(np.frexp(stein.diagonal().max())[1])

    def add(_: int) -> Iterator[None]:
        for start in range(0, len(picked), _SERIES_AT_ONCE):
            rows = picked[start : start + _SERIES_AT_ONCE]
            values = np.ldexp(stein.rough_rows(rows)[:, whole], unit)
            own = whole == rows[:, None]  # k0(x, x) is large and is excluded from the series k0(x, .)
            others = np.maximum((~own).sum(axis=1, keepdims=True), 1)
            values -= np.where(own, 0.0, values).sum(axis=1, keepdims=True) / others
            values[own] = 0.0
            for chain in chains:
                covariance[: chain.stop - chain.start] += _autocovariance(values[:, chain])
            yield

    with one_thread_in_libraries("blas"):  # the result must not depend on the number of threads
        run_pieces(add)
    if not covariance[0] > 0.0:
        return 1.0
    total = 2.0 * initial_monotone_sum(covariance) - covariance[0]
    return float(max(total / covariance[0], 1.0))


def _slowest_even_time(points: Floats, whole: Integers, chains: list[slice]) -> float:
    """Estimate the longest autocorrelation time of |z|^2 and selected z_j^2.

    Only the z_j^2 with a clear autocorrelation are included. The estimate is at least 1.
    """
    from scipy.special import ndtri

    n, dim = len(whole), points.shape[1]
    clear = -float(ndtri(_CHANCE / (2 * dim))) / math.sqrt(n)
    radius, slowest = np.zeros(n), 1.0
    for begin in range(0, dim, _COORDINATES_AT_ONCE):
        z = points[whole, begin : begin + _COORDINATES_AT_ONCE].T
        z = z - z.mean(axis=1, keepdims=True)
        size = np.abs(z).max(axis=1, keepdims=True)
        # scaled to prevent overflow and underflow of the squares
        squares = (z / np.where(size > 0.0, size, 1.0)) ** 2
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
    """Compute sum_j v_j v_(j+t) at each lag t as an array of shape (n,).

    The sums are accumulated over the rows of `values`, which has shape (rows, n).
    """
    from scipy.fft import irfft, next_fast_len, rfft

    n = values.shape[1]
    length = next_fast_len(2 * n, real=True)  # this avoids wrap-around
    power = np.abs(rfft(values, length, axis=1)) ** 2
    return np.asarray(irfft(power.sum(axis=0), length)[:n])


def _flip_probability(tau: float, draws: int, dim: int) -> float:
    """Return the flip probability that neglects a fraction delta of the variance.

    The probability lies in (0, 1/2].
    """
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
    """Draw the sums of the signs at each point for every bootstrap replicate."""
    flips = np.full(len(whole), flip_probability)
    flips[[chain.start for chain in chains]] = 0.5
    grouped = np.argsort(whole, kind="stable")
    starts = np.searchsorted(whole[grouped], np.arange(n_points))
    sums = np.empty((n_bootstrap, n_points), dtype=np.float32)  # integers, which are exact in single precision
    for first in range(0, n_bootstrap, _REPLICATES):
        last = min(first + _REPLICATES, n_bootstrap)
        require_time("drawing signs")
        flipped = rng.random((last - first, len(whole))) < flips
        signs = 1.0 - 2.0 * np.logical_xor.accumulate(flipped, axis=1).astype(np.float32)
        signs = signs[:, grouped]
        sums[first:last] = signs if len(whole) == n_points else np.add.reduceat(signs, starts, axis=1)
    return sums


def _pair_sums(stein: SteinKernel, signs: NDArray[np.float32], threads: int, rough: bool = False) -> Floats:
    """Compute sum_ij q_i q_j k0(x_i, x_j) for each row q of `signs`.

    The array `signs` has shape (replicates, n), and the result has shape (replicates,).

    Rows of the kernel matrix are computed in blocks that start at the diagonal. Entries to the right of the diagonal
    block count twice. If `rough` is True, the rows are computed by `SteinKernel.rough_rows`, and all sums except the
    first two are computed in single precision, which takes half the time. The single-precision sums omit the pairs
    i = j, which could have larger rounding errors than the sum over all other pairs.
    """
    n = len(stein)
    blocks, starts = range(0, n, _ROWS), range(2 if rough else _REPLICATES, len(signs), _REPLICATES)
    sums = np.zeros((len(blocks), len(signs)))

    def fill(number: int) -> Iterator[None]:
        first = blocks[number]
        last = min(first + _ROWS, n)
        rows = (stein.rough_rows if rough else stein.rows)(np.arange(first, last), first)[:, first:]
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

    with one_thread_in_libraries("blas"):  # because run_pieces uses threads
        run_pieces(fill, len(blocks), threads)
    return np.asarray(sums.sum(axis=0))


_MOST_PAIRED = 4000  # maximum number of draws in the bootstrap; the time is quadratic in this number
_MOST_SUMMED = 20_000  # maximum number of draws for the computation of equivalent draws
# seconds per pair and coordinate without compilation, and overhead per pair as a number of coordinates
_INTERPRETED, _RADIAL = 1e-8, 4


def _equivalent_draws(found: KernelEvidence) -> float:
    """Return the mean of k0(x, x) divided by KSD^2."""
    summed, squared = vars(found)["kept"]
    with small_work(_interpreted(summed.points)):
        if squared is None:
            squared = kernel_stein_discrepancy(summed.given, bounds=summed.bounds, kernel=IMQ(), squared=True).value
        mean = float(summed.points.weights @ stein_kernel_for(IMQ(), summed).diagonal())
    return mean / float(squared) if squared > 0.0 else math.inf


@dataclass(frozen=True, eq=False)
class KernelEvidence:
    """Result of the kernel test in the verdict.

    Attributes
    ----------
    p : float or None
        The p-value; None if the test was omitted.
    equivalent_draws : float
        The equivalent draws, as defined in `Verdict.ksd_equivalent_draws`, computed on access from `summed`, the draws
        in standard units, and `squared`, their squared discrepancy (None if the test used fewer draws).
    """

    p: float | None
    equivalent_draws: float = field(init=False, repr=False, default=cached_property(_equivalent_draws))  # type: ignore[assignment]
    summed: InitVar[ScoredSample]
    squared: InitVar[float | None]

    def __post_init__(self, summed: ScoredSample, squared: float | None) -> None:
        """Keep the draws, which are not saved with the result."""
        vars(self)["kept"] = summed, squared


def kernel_evidence(sample: ScoredSample, rng: Seed) -> tuple[KernelEvidence, tuple[str, ...]]:
    """Test a sample with at most `_MOST_PAIRED` of its draws.

    The result is returned with notes about omitted tests and selected draws.

    Parameters
    ----------
    sample : ScoredSample
    rng : int, numpy.random.Generator or None
        Random seed for the bootstrap.
    """
    scored, draws, standard = sample.carried, sample.draws, sample.standard
    chains = _in_order_of_content([draws.rows[chain] for chain in draws.chains], scored.points)
    in_chains = np.arange(len(scored)) if draws.is_weighted else np.concatenate(chains)
    rows = standard.points.inverse[standard.points.inverse >= 0]
    standardised = replace(scored, points=standard.points.points[rows], scores=standard.scores[rows])
    summed = ScoredSample.of(standardised[_spread(in_chains, _MOST_SUMMED)], bounds=standard.bounds)
    test, untested, squared = None, tuple[str, ...](), None
    if not draws.is_weighted:
        paired = replace(standardised, weights=None)[_spread(in_chains, _MOST_PAIRED)]
        try:
            given = ScoredSample.of(paired, bounds=standard.bounds)
            with small_work(_interpreted(given.points)):
                test = _test(given, IMQ(), rng=rng, only_p=True)
        except InputError as error:  # for example, if the selected draws are equal
            untested = (f"the kernel test was omitted: {error}",)
    if test is not None and len(paired) == len(summed.given):  # the statistic is n KSD^2 for the same draws
        squared = test.statistic / len(paired)
    found = KernelEvidence(None if test is None else test.p, summed, squared)
    return found, untested + _selection(test, found, draws)


def _interpreted(points: DistinctSample) -> float:
    """Return the time for the kernel matrix without compilation, in seconds."""
    return _INTERPRETED * len(points) ** 2 * (_RADIAL + points.dim)


def _selection(test: KernelSteinTest | None, found: KernelEvidence, draws: ChainDraws) -> tuple[str, ...]:
    """Warn if the draws appear to have been selected, for example by thinning.

    In this case, the statistic or the weighted discrepancy is too small for random draws.
    """
    if test is not None and test.statistic >= _BELOW_ALL * test.bootstrap.min():
        return ()
    equivalent = found.equivalent_draws
    if test is None and equivalent <= _TOO_MANY * draws.size:
        return ()
    message = (
        "the draws were probably selected by thinning, or weighted by the score: their kernel discrepancy equals "
        f"that of {equivalent:.3g} independent draws. Selected draws are not independent, and their p-values are not "
        "valid"
    )
    return (Caution(message),)


def _spread(rows: Integers, most: int) -> Integers:
    """Return at most `most` rows, evenly spread along the chains."""
    if len(rows) <= most:
        return np.sort(rows)
    return np.sort(rows[np.linspace(0, len(rows) - 1, most).round().astype(np.int64)])


def thinning_notes(draws: int) -> tuple[str, ...]:
    """Return a note if the kernel test used a subset with this number of draws."""
    if draws <= _MOST_PAIRED:
        return ()
    return (f"the kernel test used {_MOST_PAIRED} evenly spread draws of {draws}",)


def _in_order_of_content(chains: list[Integers], points: Floats) -> list[Integers]:
    """Sort chains by their first draws to make the order independent of labels."""
    return sorted(chains, key=lambda rows: points[rows[:_COMPARED]].tolist())
