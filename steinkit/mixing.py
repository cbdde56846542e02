r"""Effective sample sizes and R-hat of one function of several chains, as Vehtari and others define them.

Given are the values of a function along K chains of n draws each. Every chain is cut into two halves, so that one which
drifts differs from itself; a middle draw is left out. Of these M = 2 K pieces of N draws, with autocovariances s_t,
each piece's about its own mean, averaged over the pieces, and B the variance of the pieces' means,

.. math:: \rho_t = 1 - \frac{\frac{N}{N-1} s_0 - s_t}{s_0 + B}, \qquad
          \mathrm{ESS} = \frac{M N}{-1 + 2 \sum_{k < K} P_k + \hat\rho}, \qquad P_k = \rho_{2k} + \rho_{2k+1},

where :math:`\rho_0 = 1`. For a reversible chain the sums of neighbours :math:`P_k` are positive and fall; so they are
taken up to the first that is not positive, :math:`P_K`, each no larger than the one before, and of that one the even
part :math:`\hat\rho = \rho_{2K}`, where it is positive. An ESS never exceeds M N log10(M N).

They are from arviz-stats to rounding, which the tests hold them against. They are written here because it costs ten
times as long to load as to compute them: it brings scipy.stats, and pandas where xarray is installed.

References
----------
A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Bürkner (2021), "Rank-normalization, folding, and
localization: an improved R-hat for assessing convergence of MCMC", Bayesian Analysis 16, sections 3 and 4.
C. J. Geyer (1992), "Practical Markov chain Monte Carlo", Statistical Science 7, section 3.3.
"""

from __future__ import annotations

import math

import numpy as np

from steinkit.sample import Floats

FEWEST_DRAWS = 4  # of a chain: halves of two draws
_OFFSET = 0.375  # of ranks, by which normal scores are nearly unbiased (Blom 1958)


def bulk_effective_size(values: Floats) -> float:
    """Effective size of the ranks' normal scores.

    Parameters
    ----------
    values : ndarray, shape (chains, draws)
        At least four draws of each.

    Returns
    -------
    float
    """
    return _effective_size(normal_scores(_halves(values)))


def tail_effective_size(values: Floats, tail: float) -> float:
    """The smaller effective size of two indicators: of values up to the quantiles of levels `tail` and 1 - `tail`."""
    quantiles = np.quantile(values, (tail, 1.0 - tail))
    return min(_effective_size(_halves((values <= quantile).astype(float))) for quantile in quantiles)


def error_of_mean(values: Floats) -> float:
    """Standard error of the mean of all values that their autocorrelation leaves."""
    return float(values.std(ddof=1)) / math.sqrt(_effective_size(_halves(values)))


def rank_r_hat(values: Floats) -> float:
    """R-hat of ranks, the larger of that of the values and that of their distances from the median.

    Infinite where pieces stand still in different places.
    """
    halves = _halves(values)
    folded = np.abs(halves - np.median(halves))
    return float(np.fmax(_r_hat(normal_scores(halves)), _r_hat(normal_scores(folded))))


def normal_scores(values: Floats) -> Floats:
    """Normal quantiles of the ranks of all values together, equal values sharing the mean of their ranks."""
    from scipy.special import ndtri

    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    rank = np.cumsum(count) - 0.5 * (count - 1)
    scores: Floats = ndtri((rank - _OFFSET) / (values.size - 2.0 * _OFFSET + 1.0))
    return scores[place].reshape(values.shape)


def _halves(values: Floats) -> Floats:
    """First and second half of each chain as pieces of their own, shape (2 chains, draws // 2)."""
    half = values.shape[1] // 2
    return np.concatenate([values[:, :half], values[:, -half:]])


def _r_hat(pieces: Floats) -> float:
    """Square root of the variance of all over that within pieces."""
    n = pieces.shape[1]
    within = pieces.var(axis=1, ddof=1).mean()
    between = pieces.mean(axis=1).var(ddof=1)
    return float(np.sqrt(between / within + (n - 1) / n))


def _effective_size(pieces: Floats) -> float:
    """See the top of the module; of values that never change it is their number."""
    spread = np.ptp(pieces)
    if spread == 0.0:
        return float(pieces.size)
    scaled = (pieces - pieces.mean()) / spread  # squares neither overflow nor vanish
    n = pieces.shape[1]
    means = scaled.mean(axis=1)
    covariance = _autocovariances(scaled - means[:, None])
    correlation = 1.0 - (covariance[0] * n / (n - 1) - covariance) / (covariance[0] + means.var(ddof=1))
    correlation[0] = 1.0
    pairs = correlation[0 : n - 1 : 2] + correlation[1:n:2]
    pairs = pairs[: max((n - 1) // 2, 1)]  # of an even number of lags the last two are left out
    end = int(np.argmax(pairs <= 0.0)) if pairs.min() <= 0.0 else len(pairs) - 1
    even = correlation[2 * end]
    last = even if even > 0.0 or pairs[end] >= 0.0 else 0.0
    time = -1.0 + 2.0 * np.minimum.accumulate(pairs[:end]).sum() + last
    return float(pieces.size / max(time, 1.0 / math.log10(pieces.size)))


def _autocovariances(deviations: Floats) -> Floats:
    """Means over pieces of the products at all lags, over the number of draws, shape (draws,)."""
    n = deviations.shape[1]
    size = 1 << (2 * n - 1).bit_length()  # zeros beyond the end, so that no lag comes round
    transform = np.fft.rfft(deviations, size)
    power = (transform.real**2 + transform.imag**2).mean(axis=0)
    covariance: Floats = np.fft.irfft(power, size)[:n] / n
    return covariance
