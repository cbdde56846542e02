"""Test for bias in the first draws of the chains.

The test compares the first tenth of each chain with the rest. The test statistics are location and spread features of
each coordinate, which have mean zero under the target. If a chain starts far from the target, its slow approach
resembles autocorrelation, so a test of all the draws may miss this bias. The center and the autocorrelation times are
therefore estimated from the later draws.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from steinkit.autocorrelation import integrated_autocorrelation_times, tail_probability
from steinkit.draws import ChainDraws
from steinkit.sample import Floats, Integers

_EARLY = 0.1
"""Fraction of each chain treated as burn-in."""


def rows_after_burn_in(draws: ChainDraws, level: float) -> Integers | None:
    """Return the draws after the first tenth of each chain if that tenth is biased.

    The features are t_j and 1 + c_j t_j, where the scores t and the centered coordinates c are in units of the later
    draws. A Bonferroni correction accounts for the 2 d features. The autocorrelation time of each location (or spread)
    feature is replaced by the median over all location (or spread) features if the median is larger. The variance of a
    feature is estimated from the early and from the later draws, and the larger estimate is used. If a feature has
    heavy tails, as in the neck of a funnel, one early draw of an exact chain may be more extreme than all later draws.

    Parameters
    ----------
    draws : ChainDraws
        Draws in standard units, so that squares do not overflow.
    level : float
        Significance level of the test.

    Returns
    -------
    ndarray of int or None
        Rows of the later draws. None if the first draws are not significantly biased, or the chains are too short for
        the test.
    """
    is_early = np.zeros(len(draws.points), dtype=bool)
    for chain in draws.chains:
        is_early[chain][: math.ceil(_EARLY * (chain.stop - chain.start))] = True
    late = draws.points[~is_early]
    if len(late) < 2 or not late.std(axis=0).all():
        return None
    t, c = draws.scores * late.std(axis=0), (draws.points - late.mean(axis=0)) / late.std(axis=0)
    features: Floats = np.concatenate([t.T, 1.0 + (c * t).T])
    first, rest = features[:, is_early], features[:, ~is_early]
    ends = [0, *np.cumsum(~is_early)[[chain.stop - 1 for chain in draws.chains]].tolist()]
    deviations = rest - rest.mean(axis=1, keepdims=True)
    times = integrated_autocorrelation_times(deviations, [slice(*pair) for pair in pairwise(ends)])
    usual = np.median(times.reshape(2, -1), axis=1)
    variance = np.maximum(rest.var(axis=1), first.var(axis=1))
    error = np.sqrt(variance * np.maximum(times, usual.repeat(len(times) // 2)) / first.shape[1])
    z = np.abs(first.mean(axis=1)) / np.where(error > 0.0, error, np.inf)
    p = 2.0 * len(z) * tail_probability(float(z.max()), first.shape[1] / float(usual.max()))
    return np.flatnonzero(~is_early) if p <= level else None
