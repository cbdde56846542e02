"""Autocorrelation times of chains and tail probabilities of statistics.

Consider n draws with autocorrelations rho_t, and let tau = 1 + 2 sum_t rho_t. The mean of the draws has the same
variance as the mean of n / tau independent draws. The sum is truncated using Geyer's initial monotone sequence. For a
reversible chain, the sums of neighboring autocorrelations, P_k = rho_2k + rho_2k+1, are positive and decreasing.
Therefore, P_k is replaced by min(P_0, ..., P_k), and the sum ends before the first P_k that is not positive:

    tau = max(2 sum_k P_k - 1, 1).

Pairs of draws at a given lag are formed within chains. Deviations are computed from the mean of all chains, so
autocorrelation times are large if the chains disagree.

**Slow mixing below the noise.** Consider a chain that rarely moves between two regions and mixes quickly within each
region, and a function with similar means in both regions. Let f be the fraction of the variance of the function that is
due to the difference between the regions, and let tau be the mixing time between the regions. The autocorrelation of
the function is about f at all lags up to tau, and its autocorrelation time is 1 + f tau. An autocorrelation estimated
from n draws has a noise level of n^-1/2. If f is smaller than this noise, Geyer's sequence ends immediately and gives
an autocorrelation time of 1. For f = 0.03, tau = 200 and n = 1000, the standard error of the mean is then too small by
a factor of 2.6, and exact chains are rejected.

Means of batches of L successive draws reveal slow mixing. Averaging divides the variance of the noise by L but
preserves the variance between regions. The autocorrelation time is therefore also computed from the means of batches of
2, 4, 8, ... draws as long as there are at least sixteen batches. If von Neumann's test finds a significant correlation
between successive means, the autocorrelation time is

    tau = L var(batch means) / var(function) * tau(batch means).

The batch means in each chain are centered at the mean of the chain because a difference between chains may be due to a
biased chain instead of slow mixing. The mixing time between regions is estimated by L tau(batch means). The variance
ratio is omitted because the batch means contain little noise. The estimate may exceed the mixing time by up to L.
`slowest_change` computes this estimate for functions that distinguish regions. These functions are the coordinates z_j,
squares and products in the form sgn(z_i z_j) |z_i z_j|^(1/2), and the logarithms of the norms of draws and scores. In
more than a hundred dimensions, only the products of the most correlated pairs are used. All of these functions have
light tails, so a few draws cannot dominate the estimate.

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

_DIRECT_PAIRS = 32  # number of lag pairs summed directly before a Fourier transform is used
FEWEST_BATCHES = 16
_CLEAR = 2.5  # minimum significant correlation between batch means, in standard errors
_CHANCE = 3e-4  # probability of a false detection of slow mixing for each batch length
_NEAR = 0.03  # added to norms divided by sqrt(d), which bounds their logarithms from below
_ROUNDING = 1e-12  # smaller relative changes are due to rounding errors
_FUNCTIONS = 64  # maximum number of functions processed together
MOST_VALUES = 1 << 22  # maximum number of values processed together
_MOST_PAIRS = 5050  # maximum number of coordinate pairs: all pairs in a hundred dimensions

Chains = Sequence[slice]


def integrated_autocorrelation_times(deviations: Floats, chains: Sequence[slice]) -> Floats:
    """Return integrated autocorrelation times from Geyer's monotone sequence.

    Parameters
    ----------
    deviations : ndarray, shape (k, n)
        Values of k functions at n draws, minus their means.
    chains : sequence of slice
        Draws of each chain, in order.

    Returns
    -------
    ndarray, shape (k,)
        Autocorrelation times, which are at least 1, and equal to 1 for constant functions.
    """
    squares = lagged_products(deviations, chains, 0)
    times = np.ones(len(deviations))
    rows = np.flatnonzero(squares > 0.0)
    values, scale = (deviations if len(rows) == len(squares) else deviations[rows]), squares[rows]
    sums, last = np.zeros(len(rows)), np.full(len(rows), np.inf)
    longest = max((chain.stop - chain.start for chain in chains), default=0)
    for k in range(min(_DIRECT_PAIRS, longest // 2)):
        even = lagged_products(values, chains, 2 * k) if k else scale
        last = np.minimum(last, (even + lagged_products(values, chains, 2 * k + 1)) / scale)
        going = last > 0.0
        sums += np.where(going, last, 0.0)
        if 2 * np.count_nonzero(going) <= len(going):  # otherwise, copying takes longer than keeping the finished rows
            times[rows] = 2.0 * sums - 1.0
            rows, values, scale = rows[going], values[going], scale[going]
            sums, last = sums[going], last[going]
        if not len(rows):
            break
    times[rows] = 2.0 * sums - 1.0
    rows, values, scale = rows[last > 0.0], values[last > 0.0], scale[last > 0.0]
    if len(rows):
        times[rows] = 2.0 * _sums_by_transform(values, scale, chains, longest) - 1.0
    return np.maximum(times, 1.0)


def lagged_products(values: Floats, chains: Sequence[slice], lag: int) -> Floats:
    """Return sums of products of values at a given lag within chains."""
    sums = np.zeros(len(values))
    for chain in chains:
        if chain.stop - chain.start > lag:
            early, late = values[:, chain.start : chain.stop - lag], values[:, chain.start + lag : chain.stop]
            sums += np.einsum("kn,kn->k", early, late)
    return sums


def _sums_by_transform(values: Floats, scale: Floats, chains: Sequence[slice], longest: int) -> Floats:
    """Return Geyer's sums, computed from the autocorrelations at all lags."""
    from scipy import fft

    size = fft.next_fast_len(2 * longest, real=True)
    sums = np.empty(len(values))
    for k, row in enumerate(values):  # one row at a time because each row requires 50 MB for a million draws
        power = np.zeros(size // 2 + 1)
        for chain in chains:
            power += np.abs(fft.rfft(row[chain], size)) ** 2
        sums[k] = initial_monotone_sum(fft.irfft(power, size)[:longest] / scale[k])
    return sums


def initial_monotone_sum(correlation: Floats) -> float:
    """Return the sum of the initial monotone sequence of correlations."""
    whole = len(correlation) // 2 * 2
    pairs = np.minimum.accumulate(correlation[0:whole:2] + correlation[1:whole:2])
    ends: Integers = np.flatnonzero(pairs <= 0.0)
    return float(pairs[: ends[0] if len(ends) else None].sum())


def long_run_times(deviations: Floats, chains: Chains) -> Floats:
    """Return autocorrelation times that account for slow mixing below the noise.

    Parameters
    ----------
    deviations : ndarray, shape (k, n)
        Values of k functions at n draws, minus their means.
    chains : sequence of slice
        Draws of each chain, in order.

    Returns
    -------
    ndarray, shape (k,)
        Autocorrelation times, none smaller than the value from `integrated_autocorrelation_times`.
    """
    times = integrated_autocorrelation_times(deviations, chains)
    for length, means, places in _batch_means(deviations, chains):
        rows = np.flatnonzero(_correlation_of_neighbors(means, places) > _CLEAR)
        if len(rows):
            clear, variance = means[rows], lagged_products(deviations[rows], chains, 0) / deviations.shape[1]
            ratio = length * lagged_products(clear, places, 0) / clear.shape[1] / variance
            times[rows] = np.maximum(times[rows], ratio * integrated_autocorrelation_times(clear, places))
    return times


def slowest_change(points: Floats, scores: Floats, chains: Chains) -> float:
    """Return the autocorrelation time of the slowest mixing direction, in draws.

    Parameters
    ----------
    points, scores : ndarray, shape (n, d)
        Draws and their scores, in standard units.
    chains : sequence of slice
        Draws of each chain, in order.

    Returns
    -------
    float
        The autocorrelation time, or 1 if there is no significant slow mixing.
    """
    from scipy.special import ndtri

    dim = points.shape[1]
    clear = -float(ndtri(_CHANCE / (dim + 2 + dim * (dim + 1) // 2)))
    times: defaultdict[int, list[float]] = defaultdict(list)
    for values in _distinguishing_functions(points, scores):
        size = np.abs(values).max(axis=1)
        values = _about_chains(values, chains)
        values[np.abs(values).max(axis=1) <= _ROUNDING * size] = 0.0
        for length, means, places in ((1, values, chains), *_batch_means(values, chains)):
            rows = np.flatnonzero(_correlation_of_neighbors(means, places) > clear)
            if len(rows):
                times[length] += integrated_autocorrelation_times(means[rows], places).tolist()
    return max((length * float(np.median(found)) for length, found in times.items()), default=1.0)


def _about_chains(values: Floats, chains: Chains) -> Floats:
    """Subtract from each value the mean of its chain."""
    about = np.empty_like(values)
    for chain in chains:
        np.subtract(values[:, chain], values[:, chain].mean(axis=1, keepdims=True), out=about[:, chain])
    return about


def _batch_means(values: Floats, chains: Chains) -> Iterator[tuple[int, Floats, Chains]]:
    """Yield each batch length (2, 4, ...) with the batch means and their chains.

    The means are centered at the mean of the chain.
    """
    centres = [values[:, chain].mean(axis=1, keepdims=True) for chain in chains]
    length = 1
    while values.shape[1] >= FEWEST_BATCHES:
        cut = [values[:, chain.start : chain.stop - (chain.stop - chain.start) % 2] for chain in chains]
        halved = [0.5 * (each[:, ::2] + each[:, 1::2]) for each in cut]
        if length == 1:
            halved = [each - centre for each, centre in zip(halved, centres, strict=True)]
        ends = np.cumsum([each.shape[1] for each in halved]).tolist()
        chains = [slice(end - each.shape[1], end) for end, each in zip(ends, halved, strict=True) if each.size]
        values = halved[0] if len(halved) == 1 else np.concatenate(halved, axis=1)
        length *= 2
        yield length, values, chains


def _correlation_of_neighbors(means: Floats, chains: Chains) -> Floats:
    """Return the autocorrelations at lag 1 in units of their standard errors.

    They are zero if there are too few batches.
    """
    neighbors = means.shape[1] - len(chains)
    if means.shape[1] < FEWEST_BATCHES or not neighbors:
        return np.zeros(len(means))
    squares = lagged_products(means, chains, 0)
    with np.errstate(over="ignore", invalid="ignore"):  # the caller ignores statistics that are not finite
        correlation = lagged_products(means, chains, 1) / np.where(squares > 0.0, squares, 1.0)
    return np.asarray(correlation * means.shape[1] / math.sqrt(neighbors))


def _distinguishing_functions(points: Floats, scores: Floats) -> Iterator[Floats]:
    """Yield blocks of functions that distinguish regions, each of shape (k, n)."""
    z = points.T - points.mean(axis=0)[:, None]
    roots = np.sign(z) * np.sqrt(np.abs(z))
    first, second = np.triu_indices(len(z))
    if len(first) > _MOST_PAIRS:  # only the most correlated pairs
        correlation = np.abs(np.corrcoef(z))[first, second]
        kept = np.sort(np.argpartition(-correlation, _MOST_PAIRS)[:_MOST_PAIRS])  # the pairs include the squares
        first, second = first[kept], second[kept]
    width = max(1, min(_FUNCTIONS, MOST_VALUES // z.shape[1]))
    sizes = [np.hypot.reduce(values, axis=0) / math.sqrt(len(values)) for values in (z, scores.T)]
    others = np.concatenate([z, np.log(np.array(sizes) + _NEAR)])
    for rows in blocks(len(first), width, "searching for slow mixing directions"):
        yield np.concatenate([others, roots[first[rows]] * roots[second[rows]]])
        others = others[:0]


EFFECTIVE_PER_FREEDOM = 5.0  # effective draws per degree of freedom; 10 would be conservative, 3 anticonservative


@overload
def tail_probability(z: float, n_effective: float) -> float: ...
@overload
def tail_probability(z: Floats, n_effective: Floats) -> Floats: ...
def tail_probability(z: float | Floats, n_effective: float | Floats) -> float | Floats:
    """Return the probability that a z-score computed from exact draws exceeds ``z``.

    The probability is computed from Student's t distribution. The degrees of freedom were calibrated with slowly mixing
    chains.
    """
    from scipy.special import stdtr

    tails = stdtr(n_effective / EFFECTIVE_PER_FREEDOM, np.negative(z))
    return np.asarray(tails, dtype=np.float64) if isinstance(z, np.ndarray) else float(tails)
