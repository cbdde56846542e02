"""Frequencies of single Gibbs updates compared with their exact probabilities p.

The function `update_frequencies` counts the updates in the draws of a chain. The function `update_bias` predicts their
bias for the austerity test. With the log odds L = log(p / (1 - p)), the mean of all N terms is L / N, and the threshold
for a uniform random number u is log(u / (1 - u)) / N. The standardized mean of the test is

    mu(u) = k (L - log(u / (1 - u))),        k = sqrt(N - 1) / (N sigma),

where sigma is the standard deviation of the terms. Because log(u / (1 - u)) has the logistic density f, and the error
E(mu) of `operating_characteristics` is even, the bias of an update is

    p_epsilon - p = integral over x > 0 of E(k x) (f(L + x) - f(L - x)) dx,

which is negative for L > 0, so probable values become less probable. The probability of an incorrect update is the same
integral with f(L + x) + f(L - x). The expected data usage is the latter integral with the data usage of the test in
place of E.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from applications.gibbs import MarkovField, as_states
from numpy.typing import ArrayLike

from steinkit.arguments import positive, whole
from steinkit.errors import UsageError
from steinkit.result import Brief
from steinkit.sample import Floats, Integers
from steinkit.samplers.acceptance.sequential import (
    nodes_on_two_scales,
    operating_characteristics,
)
from steinkit.samplers.chains.draws import Draws

_BINS = 10
_NODES = 160
_LONGEST = 36.0  # log odds beyond which the logistic density is zero


@dataclass(frozen=True, eq=False, repr=False)
class UpdateFrequencies(Brief):
    """Frequencies of updates to 1, in bins of their exact probability.

    Attributes
    ----------
    edges : ndarray, shape (bins + 1,)
        Edges of the bins.
    probability : ndarray, shape (bins,)
        Mean of the exact probabilities P(x_i = 1 | x_-i) of the updates in each bin, or NaN for a bin without updates.
    share : ndarray, shape (bins,)
        Fraction of these updates with the result x_i = 1.
    standard_error : ndarray, shape (bins,)
        Standard error of share - probability. It does not depend on the mixing of the chain because the errors x_i - p
        of successive exact updates are uncorrelated (martingale differences). For approximate updates, the variance of
        the errors is approximately p (1 - p).
    updates : ndarray of int, shape (bins,)
        Number of updates in each bin.
    """

    edges: Floats
    probability: Floats
    share: Floats
    standard_error: Floats
    updates: Integers


@dataclass(frozen=True, eq=False, repr=False)
class UpdateBias(Brief):
    """Theoretical bias and data usage of the austerity test for given log odds.

    Attributes
    ----------
    probability : ndarray
        Exact probability p that the variable becomes 1.
    bias : ndarray
        Bias p_epsilon - p of this probability.
    error : ndarray
        Probability that the decision differs from that of an exact update with the same u, which is at least |bias|.
    data_use : ndarray
        Expected fraction of the terms that are read.
    """

    probability: Floats
    bias: Floats
    error: Floats
    data_use: Floats


def update_frequencies(field: MarkovField, draws: Draws, *, edges: ArrayLike | None = None) -> UpdateFrequencies:
    """Count the updates of `approximate_gibbs` that give 1, in bins of their exact probability.

    Parameters
    ----------
    field : MarkovField
        Field that the chains sampled.
    draws : Draws
        Result of `approximate_gibbs` with ``thin=1``, because every sweep is needed. The count reads all terms of each
        update.
    edges : array_like, optional
        Edges of the bins of p, which must increase from 0 to 1. By default, there are ten equal bins.

    Returns
    -------
    UpdateFrequencies
        Frequencies in each bin, over all updates of all chains.

    Raises
    ------
    UsageError
        If the draws are thinned, if no chain has two draws, or if the edges do not increase from 0 to 1.
    InputError
        If the draws are not states of the field.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
    figure 14.
    """
    bounds = np.linspace(0.0, 1.0, _BINS + 1) if edges is None else _reals(edges, "edges")
    if (
        bounds.ndim != 1
        or len(bounds) < 2
        or bounds[0] != 0.0
        or bounds[-1] != 1.0
        or not (np.diff(bounds) > 0.0).all()
    ):
        raise UsageError(f"edges must increase from 0 to 1; got {bounds.tolist()}")
    if draws.settings.get("thin", 1) != 1:
        raise UsageError(f"every sweep is needed, thin=1; these draws have thin={draws.settings['thin']}")
    lengths = draws.present.sum(axis=1)
    if lengths.max(initial=0) < 2:
        raise UsageError("an update is told by two successive draws; no chain has two")
    sums = np.zeros((4, len(bounds) - 1))
    for points, length in zip(draws.points, lengths, strict=True):
        states = as_states(points[:length], field.dim)
        seen = states[:-1].copy()  # variables before i have their new values, and the others have their old ones
        for i in range(field.dim):
            p, ones = field.conditional(i, seen), states[1:, i]
            seen[:, i] = ones
            weights = (np.ones(len(p)), p, ones.astype(float), p * (1.0 - p))
            sums += [np.histogram(p, bounds, weights=each)[0] for each in weights]
    with np.errstate(invalid="ignore"):  # 0/0 occurs in a bin without updates
        updates, expected, found, variance = sums
        error = np.sqrt(variance) / updates
        return UpdateFrequencies(bounds, expected / updates, found / updates, error, updates.astype(np.int64))


def update_bias(
    log_odds: ArrayLike, *, deviation: float, size: int, batch_size: int, epsilon: float, alpha: float = 0.5
) -> UpdateBias:
    """Compute the bias and the data usage of updates by the austerity test.

    The results follow from the theory of the random walk of the test.

    Parameters
    ----------
    log_odds : float or array_like
        Log odds L of each update.
    deviation : float
        Standard deviation sigma of the N terms of an update.
    size, batch_size : int
        Number of terms N per update, and number of terms per stage.
    epsilon : float
        Largest error per stage, in [0, 1].
    alpha : float
        Wang-Tsiatis exponent of the thresholds, in [1/2, 1].

    Returns
    -------
    UpdateBias
        Result whose arrays have the same shape as `log_odds`.

    Raises
    ------
    UsageError
        If a parameter is out of range, or if the log odds are not finite.

    Notes
    -----
    The steps of the walk are assumed to be normal, which is a good approximation for tests on a few hundred terms.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
    section 5.1 and appendix F.
    """
    from scipy.special import expit

    L = _reals(log_odds, "log_odds")
    if not np.isfinite(L).all():
        raise UsageError(f"log odds must be finite; got {log_odds!r}")
    N = whole(size, "size", 2)
    if whole(batch_size, "batch_size", 1) > N:
        raise UsageError(f"batch_size must be at most the number of terms, {N}; got {batch_size}")
    k = np.asarray(np.sqrt(N - 1.0) / (N * positive(deviation, "deviation")))
    x, weights = nodes_on_two_scales(np.zeros_like(L), np.abs(L) + _LONGEST, k, _NODES)
    test = operating_characteristics(k * x, first_fraction=batch_size / N, epsilon=epsilon, alpha=alpha)
    above, below = (weights * expit(at) * expit(-at) for at in (L[..., None] + x, L[..., None] - x))
    return UpdateBias(
        probability=np.asarray(expit(L)),
        bias=(test.error * (above - below)).sum(axis=-1),
        error=(test.error * (above + below)).sum(axis=-1),
        data_use=(test.data_use * (above + below)).sum(axis=-1),
    )


def _reals(values: ArrayLike, name: str) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"{name} must be numbers; got {values!r}") from None
