r"""Effective sample sizes, R-hat and the error of a mean, by ranks and split chains, for many coordinates at once.

Chains of n draws are split into K half chains of m draws; the middle draw of an odd number belongs to neither half.
Let :math:`\gamma_{kt}` be the autocovariance of half chain k at lag t (divisor m), :math:`\gamma_t` its mean over k,
:math:`W = \gamma_0 m / (m - 1)` the variance within, B the variance of the half chains' means (divisor K - 1), and
:math:`V = \gamma_0 + B`. Then

.. math::
    \rho_t = 1 - \frac{W - \gamma_t}{V}, \qquad
    \mathrm{ESS} = \frac{K m}{\tau}, \qquad
    \tau = \max\Big( -1 + 2 \sum_{k < q} P_k + \rho_{2q}^+, \; \frac{1}{\log_{10} K m} \Big).

The sum is Geyer's: pairs :math:`P_k = \rho_{2k} + \rho_{2k+1}`, with :math:`\rho_0 = 1`, are taken up to the first one
that is not positive, :math:`P_q`, and none counts for more than the one before. The lower bound on :math:`\tau` keeps
antithetic chains from an ESS without limit. R-hat is :math:`\sqrt{(m - 1) / m + B / W}`.

Bulk ESS and R-hat are those of the draws' normal scores :math:`\Phi^{-1}((r - 3/8) / (N + 1/4))`, r the rank among all
N draws that the half chains keep, so that infinite variances do no harm. R-hat is taken again of the distances from the
median, which shows chains that differ in spread only, and the larger one counts. Tail ESS is the smaller one of the
indicators of the 5 % and 95 % quantiles. The error of the mean is sd / sqrt(ESS), by the ESS of the draws themselves.

None of it sees bias: the numbers are about the distribution that the chains converge to, whatever that is.

References
----------
A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Bürkner (2021), "Rank-normalization, folding, and
localization: an improved R-hat for assessing convergence of MCMC", Bayesian Analysis 16, sections 3 and 4.
C. J. Geyer (1992), "Practical Markov chain Monte Carlo", Statistical Science 7 (where the sum is cut off).
G. Blom (1958), Statistical Estimates and Transformed Beta-Variables (the 3/8 of the normal scores).
"""

from __future__ import annotations

import numpy as np

from steinkit.sample import Floats

FEWEST = 4  # draws of a chain: below, a half chain has no variance
_TAILS = (0.05, 0.95)
_STILL = 1e-15  # spread of the draws, of order 1, that counts as none


def bulk_effective_size(chains: Floats) -> Floats:
    """Effective size of the ranks' normal scores.

    Parameters
    ----------
    chains : ndarray, shape (d, n_chains, n_draws)
        Finite draws of each coordinate, four or more a chain, of order 1.

    Returns
    -------
    ndarray, shape (d,)
        The number of draws kept for a coordinate whose half chains do not change.
    """
    return _effective_size(_normal_scores(_halves(chains)))


def tail_effective_size(chains: Floats) -> Floats:
    """Effective size of the indicators of both tails, the smaller one; see `bulk_effective_size`."""
    low, high = np.quantile(chains, _TAILS, axis=(-2, -1), keepdims=True)
    return np.minimum(*(_effective_size(_halves((chains <= end).astype(np.float64))) for end in (low, high)))


def rank_r_hat(chains: Floats) -> Floats:
    """R-hat of the normal scores and of those of the distances from the median, the larger one.

    Parameters
    ----------
    chains : ndarray, shape (d, n_chains, n_draws)
        As `bulk_effective_size` takes them.

    Returns
    -------
    ndarray, shape (d,)
        Infinite where every half chain stands still, in different places; NaN where all stand in the same place.
    """
    halves = _halves(chains)
    distances = np.abs(halves - np.median(halves, axis=(-2, -1), keepdims=True))
    return np.fmax(_r_hat(_normal_scores(halves)), _r_hat(_normal_scores(distances)))


def error_of_mean(chains: Floats) -> Floats:
    """Standard error of the mean of all draws that autocorrelation leaves; see `bulk_effective_size`."""
    draws = chains.reshape(len(chains), -1)
    spread = np.ptp(draws, axis=1, keepdims=True)  # may be far below what the draws are
    draws = (draws - draws.mean(axis=1, keepdims=True)) / spread
    sd = draws.std(axis=1, ddof=1)
    return np.asarray(spread[:, 0] * (sd / np.sqrt(_effective_size(_halves(draws.reshape(chains.shape))))))


def _halves(chains: Floats) -> Floats:
    """The first and the last half of each chain, shape (d, 2 n_chains, n_draws // 2)."""
    half = chains.shape[-1] // 2
    return np.concatenate([chains[..., :half], chains[..., -half:]], axis=1)


def _normal_scores(halves: Floats) -> Floats:
    from scipy.special import ndtri

    draws = halves.reshape(len(halves), -1)
    scores = ndtri((_mean_ranks(draws) - 3 / 8) / (draws.shape[1] - 2 * (3 / 8) + 1))
    return np.asarray(scores.reshape(halves.shape))


def _mean_ranks(draws: Floats) -> Floats:
    """Ranks from 1 in each row, equal draws sharing the mean of theirs."""
    order = np.argsort(draws, axis=1)
    ordered = np.take_along_axis(draws, order, axis=1)
    differs = np.diff(ordered, axis=1) != 0.0
    edge, places = np.ones((len(draws), 1), dtype=bool), np.arange(draws.shape[1])
    first = np.maximum.accumulate(np.where(np.hstack([edge, differs]), places, 0), axis=1)
    last = np.where(np.hstack([differs, edge]), places, draws.shape[1])
    last = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
    ranks = np.empty(draws.shape)
    np.put_along_axis(ranks, order, (first + last) / 2 + 1, axis=1)
    return ranks


def _r_hat(halves: Floats) -> Floats:
    m = halves.shape[-1]
    between = m * halves.mean(axis=-1).var(axis=-1, ddof=1)
    within = halves.var(axis=-1, ddof=1).mean(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):  # no variance within
        return np.asarray(np.sqrt((between / within + m - 1) / m))


def _effective_size(halves: Floats) -> Floats:
    """Of the draws as they are, shape (d,)."""
    m = halves.shape[-1]
    size = halves.shape[-2] * m
    covariance = _autocovariance(halves)
    within = covariance[:, 0] * m / (m - 1.0)
    variance = within * (m - 1.0) / m + halves.mean(axis=-1).var(axis=-1, ddof=1)
    with np.errstate(invalid="ignore"):  # of coordinates that stand still
        correlation = 1.0 - (within[:, None] - covariance) / variance[:, None]
    correlation[:, 0] = 1.0
    time = np.maximum(_integrated_time(correlation), 1.0 / np.log10(size))
    still = np.ptp(halves, axis=(-2, -1)) < _STILL
    return np.asarray(np.where(still, size, size / time), dtype=np.float64)


def _autocovariance(halves: Floats) -> Floats:
    """Mean over the half chains at each lag, shape (d, m), by fast Fourier transforms."""
    from scipy.fft import next_fast_len

    m = halves.shape[-1]
    length = next_fast_len(2 * m, real=True)  # so that the ends do not meet
    spectrum = np.fft.rfft(halves - halves.mean(axis=-1, keepdims=True), length)
    spectrum *= np.conjugate(spectrum)
    covariance = np.fft.irfft(spectrum, length)[..., :m] / m
    return np.asarray(np.ascontiguousarray(covariance.swapaxes(1, 2)).mean(axis=-1))


def _integrated_time(correlation: Floats) -> Floats:
    """1 + 2 sum of the correlations at the lags 1, 2, ..., by Geyer's initial monotone sequence."""
    last = max(0, (correlation.shape[1] + 1) // 2 - 2)  # pair, so that the estimates of the longest lags stay out
    correlation = correlation[:, : 2 * last + 2]
    pairs = correlation[:, ::2] + correlation[:, 1::2]
    ended = ~(pairs > 0.0)
    ended[:, last] = True
    end = np.argmax(ended, axis=1)
    monotone = np.minimum.accumulate(pairs, axis=1)
    lowered = np.repeat(pairs > monotone, 2, axis=1)
    summands = np.where(lowered, np.repeat(monotone / 2.0, 2, axis=1), correlation)
    whole = np.array([row[: 2 * q].sum() for row, q in zip(summands, end, strict=True)])
    rows = np.arange(len(end))
    beyond = correlation[rows, 2 * end]
    beyond = np.where(pairs[rows, end] >= 0.0, beyond, np.maximum(beyond, 0.0))
    return np.asarray(-1.0 + 2.0 * whole + beyond)
