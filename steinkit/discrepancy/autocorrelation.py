r"""Integrated autocorrelation times, for many functions of the same chains at a time.

A mean over n draws with autocorrelations rho_t varies as one over n / tau independent draws, tau = 1 + 2 sum_t rho_t.
The sum is cut off by Geyer's initial monotone sequence: the sums of neighbours P_k = rho_2k + rho_2k+1 are positive and
fall for a reversible chain, so they are taken up to the first that is not positive, each no larger than the one before:

    tau = 2 sum_k P_k - 1,      never below 1.

Lags stay within chains, and deviations are from the mean of all chains, so that chains which disagree have large times.

References
----------
C. J. Geyer (1992), "Practical Markov chain Monte Carlo", Statistical Science 7, section 3.3.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steinkit.sample import Floats, Integers

_DIRECT_PAIRS = 32  # of lags, up to which products are summed one lag after the other


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
        times[rows[~going]] = 2.0 * sums[~going] - 1.0
        if not going.all():
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
