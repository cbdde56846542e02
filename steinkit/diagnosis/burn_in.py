"""Burn-in: a test whether the first draws of the chains are biased and the later ones are not.

The first tenth of every chain is compared with the rest: location and spread features of each coordinate, which have
mean zero under the target, with the centre and the autocorrelation times of the rest (no less than the median of the
locations' or of the spreads'), and the larger of both variances: where features have heavy tails, as in the neck of a
funnel, one early draw may be further out than all later ones. A start far from the target hides from tests of all
draws, because its long return is autocorrelation, too.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from steinkit.autocorrelation import integrated_autocorrelation_times, tail_probability
from steinkit.draws import Draws
from steinkit.sample import Floats, Integers

_EARLY = 0.1
"""Part of every chain that is taken for its start."""


def early_rows(draws: Draws) -> tuple[Integers, Integers]:
    """Rows of the first tenth of every chain, and of the rest."""
    is_early = np.zeros(len(draws.points), dtype=bool)
    for chain in draws.chains:
        is_early[chain.start : chain.start + math.ceil(_EARLY * (chain.stop - chain.start))] = True
    return np.flatnonzero(is_early), np.flatnonzero(~is_early)


def burn_in_p_value(draws: Draws) -> float:
    """Probability that the first draws of right chains differ as much from what the target asks of them.

    Bonferroni over the 2 d features t_j and 1 + c_j t_j; 1 for chains too short to have a start. Draws are expected in
    standard units, or their squares may overflow.
    """
    early, late = early_rows(draws)
    if len(late) < 2:
        return 1.0
    centre, scale = draws.points[late].mean(axis=0), draws.points[late].std(axis=0)
    if not (scale > 0.0).all():
        return 1.0
    t, c = draws.scores * scale, (draws.points - centre) / scale
    features: Floats = np.concatenate([t.T, 1.0 + (c * t).T])
    rest = features[:, late] - features[:, late].mean(axis=1, keepdims=True)
    ends = [0, *np.searchsorted(late, [chain.stop for chain in draws.chains]).tolist()]
    times = integrated_autocorrelation_times(rest, [slice(*place) for place in pairwise(ends)])
    usual = np.repeat([np.median(times[: len(times) // 2]), np.median(times[len(times) // 2 :])], len(times) // 2)
    variance = np.maximum(rest.var(axis=1), features[:, early].var(axis=1))
    error = np.sqrt(variance * np.maximum(times, usual) / len(early))
    z = np.abs(features[:, early].mean(axis=1)) / np.where(error > 0.0, error, np.inf)
    return min(1.0, 2.0 * len(z) * tail_probability(float(z.max()), len(early) / float(usual.max())))
