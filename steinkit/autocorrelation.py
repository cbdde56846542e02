"""Autocorrelation times of functions of chains, and the tails of statistics that rest on them.

Times are computed for many functions of the same chains at a time. A mean over n draws with
autocorrelations rho_t varies as one over n / tau independent draws, tau = 1 + 2 sum_t rho_t. The sum is cut off by
Geyer's initial monotone sequence: the sums of neighbours P_k = rho_2k + rho_2k+1 are positive and fall for a reversible
chain, so they are taken up to the first that is not positive, each no larger than the one before:

    tau = 2 sum_k P_k - 1,      never below 1.

Lags stay within chains, and deviations are from the mean of all chains, so that chains which disagree have large times.

Slow mixing may hide in the noise. A chain that seldom crosses between two regions, and is quick within each, has
functions that differ little between the regions: with a share f of the variance between them, the autocorrelation is
about f at all lags up to the time tau of the crossings, and the function's own time is 1 + f tau. Where f is below the
noise of an autocorrelation, n^-1/2 for n draws, Geyer's sequence ends at once with a time of 1. At f = .03, tau = 200
and n = 1000 the standard error of the mean is then 2.6 times too small, and exact chains are rejected.

The means of L neighbours in a chain show it: noise loses all but 1/L of its variance, and what changes slowly keeps it.
So the time is taken again from batch means of 2, 4, 8, ... draws, down to sixteen of them, wherever neighbouring means
are clearly alike (von Neumann's test):

    tau = L var(batch means) / var(function) * tau(batch means).

Means are taken about those of their chains: chains that disagree, of which one may be wrong, are no slow change. The
time of a change itself, as long as its regions last, is L tau(batch means), without the ratio of variances: batch means
shed the noise beside it. It is long rather than short, by up to L. It is sought in functions that tell regions apart,
whichever they are: coordinates z_j, sizes and dependences sgn(z_i z_j) |z_i z_j|^(1/2) (above a hundred coordinates
those of the most correlated pairs), and the logarithms of the norms of draw and score, all with tails
so light that a few draws do not drown the rest.

References
----------
C. J. Geyer (1992), "Practical Markov chain Monte Carlo", Statistical Science 7, section 3.3.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np

from steinkit.runtime.deadlines import blocks
from steinkit.sample import Floats, Integers

_DIRECT_PAIRS = 32  # of lags, up to which products are summed one lag after the other
_FEWEST_BATCHES = 16
_CLEAR = 2.5  # standard errors from which batch means are alike: less takes noise for slowness
_CHANCE = 3e-4  # of finding a change where there is none, at each length of batches
_NEAR = 0.03  # norm over sqrt(d) below which draws are equally near the centre: their logarithms have no end
_ROUNDING = 1e-12  # of a function's size, below which its changes are rounding
_FUNCTIONS = 64  # looked at together, at most
_VALUES = 1 << 22  # numbers of these
_MOST_PAIRS = 5050  # of coordinates, all of a hundred: time would grow with their square

Chains = Sequence[slice]


def integrated_autocorrelation_times(deviations: Floats, chains: Sequence[slice]) -> Floats:
    """Integrated autocorrelation times of k functions of n draws.

    Parameters
    ----------
    deviations : ndarray, shape (k, n)
        Their values less their means.
    chains : sequence of slice
        The draws of each chain, in order.

    Returns
    -------
    ndarray, shape (k,)
        At least 1; 1 for a function that never changes.
    """
    squares = np.einsum("kn,kn->k", deviations, deviations)
    times = np.ones(len(deviations))
    rows = np.flatnonzero(squares > 0.0)
    values, scale = deviations[rows], squares[rows]
    sums, last = np.zeros(len(rows)), np.full(len(rows), np.inf)
    longest = max((chain.stop - chain.start for chain in chains), default=0)
    for k in range(min(_DIRECT_PAIRS, longest // 2)):
        pair = (lagged_products(values, chains, 2 * k) + lagged_products(values, chains, 2 * k + 1)) / scale
        last = np.minimum(last, pair)
        going = last > 0.0
        if np.count_nonzero(going) < len(going):
            times[rows[~going]] = 2.0 * sums[~going] - 1.0
            rows, values, scale = rows[going], values[going], scale[going]
            sums, last = sums[going], last[going]
        if not len(rows):
            break
        sums += last
    if len(rows):
        times[rows] = 2.0 * _sums_by_transform(values, scale, chains, longest) - 1.0
    return np.maximum(times, 1.0)


def lagged_products(values: Floats, chains: Sequence[slice], lag: int) -> Floats:
    """Sums of products of values that lie a lag apart in their chains, shape (k,)."""
    sums = np.zeros(len(values))
    for chain in chains:
        if chain.stop - chain.start > lag:
            early, late = values[:, chain.start : chain.stop - lag], values[:, chain.start + lag : chain.stop]
            sums += np.einsum("kn,kn->k", early, late)
    return sums


def _sums_by_transform(values: Floats, scale: Floats, chains: Sequence[slice], longest: int) -> Floats:
    """Geyer's sums from the autocorrelations at all lags, by fast Fourier transforms."""
    from scipy import fft

    size = fft.next_fast_len(2 * longest, real=True)
    sums = np.empty(len(values))
    for k, row in enumerate(values):  # one by one: a chain of a million draws takes 50 MB
        power = np.zeros(size // 2 + 1)
        for chain in chains:
            power += np.abs(fft.rfft(row[chain], size)) ** 2
        sums[k] = initial_monotone_sum(fft.irfft(power, size)[:longest] / scale[k])
    return sums


def initial_monotone_sum(correlation: Floats) -> float:
    """The sum of the initial monotone sequence of pairs of correlations at the lags 0, 1, ..., shape (lags,)."""
    whole = len(correlation) // 2 * 2
    pairs = np.minimum.accumulate(correlation[0:whole:2] + correlation[1:whole:2])
    ends: Integers = np.flatnonzero(pairs <= 0.0)
    return float(pairs[: ends[0] if len(ends) else None].sum())


def long_run_times(deviations: Floats, chains: Chains) -> Floats:
    """Integrated autocorrelation times of functions, small slow changes beside much noise included.

    Parameters
    ----------
    deviations : ndarray, shape (k, n)
        Values of k functions at n draws, less their means.
    chains : sequence of slice
        The draws of each chain, in order.

    Returns
    -------
    ndarray, shape (k,)
        No shorter than those of `integrated_autocorrelation_times`.
    """
    times = integrated_autocorrelation_times(deviations, chains)
    variance = _mean_squares(deviations)
    for length, means, places in _batch_means(_about_chains(deviations, chains), chains):
        rows = np.flatnonzero(_likeness(means, places) > _CLEAR) if length > 1 else ()
        if len(rows):
            clear = means[rows]
            ratio = length * _mean_squares(clear) / variance[rows]
            times[rows] = np.maximum(times[rows], ratio * integrated_autocorrelation_times(clear, places))
    return times


def slowest_change(points: Floats, scores: Floats, chains: Chains) -> float:
    """The longest time for which something about the draws stays as it is, in draws.

    Parameters
    ----------
    points, scores : ndarray, shape (n, d)
        In standard units.
    chains : sequence of slice
        The draws of each chain, in order.

    Returns
    -------
    float
        The time of the slowest change seen; 1 where none is.
    """
    from scipy.special import ndtri

    dim = points.shape[1]
    clear = -float(ndtri(_CHANCE / (dim + 2 + dim * (dim + 1) // 2)))
    times: defaultdict[int, list[float]] = defaultdict(list)
    for values in _telling_functions(points, scores):
        size = np.abs(values).max(axis=1)
        values = _about_chains(values, chains)
        values[np.abs(values).max(axis=1) <= _ROUNDING * size] = 0.0
        for length, means, places in _batch_means(values, chains):
            rows = np.flatnonzero(_likeness(means, places) > clear)
            if len(rows):
                times[length] += integrated_autocorrelation_times(means[rows], places).tolist()
    return max((length * float(np.median(found)) for length, found in times.items()), default=1.0)


def _about_chains(values: Floats, chains: Chains) -> Floats:
    """Values less the mean of their chain."""
    return np.concatenate([values[:, chain] - values[:, chain].mean(axis=1, keepdims=True) for chain in chains], axis=1)


def _batch_means(values: Floats, chains: Chains) -> Iterator[tuple[int, Floats, Chains]]:
    """Means of 1, 2, 4, ... neighbours within chains, their number and the places of the chains among them."""
    length = 1
    while values.shape[1] >= _FEWEST_BATCHES:
        yield length, values, chains
        cut = [values[:, chain.start : chain.stop - (chain.stop - chain.start) % 2] for chain in chains]
        halved = [0.5 * (each[:, ::2] + each[:, 1::2]) for each in cut]
        ends = np.cumsum([each.shape[1] for each in halved]).tolist()
        chains = [slice(end - each.shape[1], end) for end, each in zip(ends, halved, strict=True) if each.size]
        values = halved[0] if len(halved) == 1 else np.concatenate(halved, axis=1)
        length *= 2


def _likeness(means: Floats, chains: Chains) -> Floats:
    """The first autocorrelation over its standard error for independent values, shape (k,)."""
    squares, neighbours = np.einsum("kn,kn->k", means, means), means.shape[1] - len(chains)
    if not neighbours:
        return np.zeros(len(means))
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused with the statistics
        correlation = lagged_products(means, chains, 1) / np.where(squares > 0.0, squares, 1.0)
    return np.asarray(correlation * means.shape[1] / math.sqrt(neighbours))


def _mean_squares(values: Floats) -> Floats:
    return np.asarray(np.einsum("kn,kn->k", values, values) / values.shape[1])


def _telling_functions(points: Floats, scores: Floats) -> Iterator[Floats]:
    """Values at the draws of functions that tell regions apart, some at a time, shape (k, n)."""
    z = points.T - points.mean(axis=0)[:, None]
    roots = np.sign(z) * np.sqrt(np.abs(z))
    first, second = _pairs(z)
    width = max(1, min(_FUNCTIONS, _VALUES // z.shape[1]))
    others = np.concatenate([z, [_log_norm(z), _log_norm(scores.T)]])
    for rows in blocks(len(first), width, "slow changes were sought"):
        yield np.concatenate([others, roots[first[rows]] * roots[second[rows]]])
        others = others[:0]


def _pairs(z: Floats) -> tuple[Integers, Integers]:
    """Squares, and pairs of coordinates; of many only those with the largest correlations, in the same order."""
    first, second = np.triu_indices(len(z))
    if len(first) > _MOST_PAIRS:
        correlation = np.abs(np.corrcoef(z))[first, second]
        kept = np.sort(np.argpartition(-correlation, _MOST_PAIRS)[:_MOST_PAIRS])  # squares among them
        first, second = first[kept], second[kept]
    return first, second


def _log_norm(values: Floats) -> Floats:
    """Logarithm of the root mean square over the coordinates; scores may be too large for their squares."""
    return np.asarray(np.log(np.hypot.reduce(values, axis=0) / math.sqrt(len(values)) + _NEAR))


EFFECTIVE_PER_FREEDOM = 5.0  # effective draws that count as one degree of freedom; 10 is cautious, 3 too bold


@overload
def tail_probability(z: float, n_effective: float) -> float: ...
@overload
def tail_probability(z: Floats, n_effective: Floats) -> Floats: ...
def tail_probability(z: float | Floats, n_effective: float | Floats) -> float | Floats:
    """Probability that a right sample's z-score exceeds this one: the tail of Student's t, set on slow chains."""
    from scipy.special import stdtr

    tails = stdtr(n_effective / EFFECTIVE_PER_FREEDOM, np.negative(z))
    return np.asarray(tails, dtype=np.float64) if isinstance(z, np.ndarray) else float(tails)
