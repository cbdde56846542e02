r"""Biases of draws that fall into modes whose shares are known: regressions within each mode, put together.

With means m_k and standard deviations s_k within the modes, and shares w_k, those of all are

    m = sum_k w_k m_k,      v = sum_k w_k (s_k^2 + (m_k - m)^2),

of the draws with their own m_k and s_k, of the target with those that `estimate_bias` gives. Margins of both, and those
of the shares, go into the sums by their derivatives.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from steinkit.discrepancy.bias.estimate import BiasEstimate, bias_of
from steinkit.discrepancy.bias.mode_shares import ModeShares
from steinkit.discrepancy.bias.quantities import varying
from steinkit.discrepancy.preparation import prepare
from steinkit.sample import Floats, Sample
from steinkit.target import Target


def estimates_in_modes(
    sample: Sample, target: Target, bounds: ArrayLike | None, modes: ModeShares
) -> list[BiasEstimate]:
    """By regression, of the draws of each mode, with the sample's own scores if it has any; InputError as ever."""
    rows, functions = [np.flatnonzero(modes.labels == k) for k in range(len(modes.shares))], target.functions
    for each in rows:
        functions, _ = varying(functions, sample.points[each])
    given = target if sample.scores is None else None
    parts = (prepare(sample[each], given, scores=None, weights=None, bounds=bounds) for each in rows)
    return [bias_of(part, None, functions=functions) for part in parts]


def bias_of_mixture(parts: list[BiasEstimate], modes: ModeShares, weighted: bool) -> BiasEstimate:
    """Of the draws as they are, or weighted so that their modes have the target's shares."""
    shares = modes.shares[:, None]
    means, sds = (np.array([getattr(part, name) for part in parts]) for name in ("mean", "sd"))
    mean, sd = _together(shares, means, sds)
    draws_mean, draws_sd = _together(
        shares if weighted else modes.draws_shares[:, None],
        *(np.array([getattr(part, name) for part in parts]) for name in ("draws_mean", "draws_sd")),
    )
    margins = [sds * [part.mean_margin for part in parts], sds * [part.sd_margin for part in parts]]
    away = means - mean
    of_mean = (shares * margins[0]) ** 2
    of_variance = (2.0 * shares * away * margins[0]) ** 2 + (2.0 * shares * sds * margins[1]) ** 2
    by_shares = [(np.abs(each) * modes.margins[:, None]).sum(axis=0) for each in (away, sds**2 + away**2 - sd**2)]
    why_not = tuple(next(filter(None, each), "") for each in zip(*(part.why_not for part in parts), strict=True))
    weights = modes.reweighted.probabilities
    return replace(
        parts[0],
        mean=mean,
        sd=sd,
        draws_mean=draws_mean,
        draws_sd=draws_sd,
        mean_off=(draws_mean - mean) / sd,
        sd_off=np.log(draws_sd / sd),
        mean_margin=np.sqrt(of_mean.sum(axis=0) + by_shares[0] ** 2) / sd,
        sd_margin=np.sqrt(of_variance.sum(axis=0) + by_shares[1] ** 2) / (2.0 * sd**2),
        trusted=np.array([not each for each in why_not]),
        why_not=why_not,
        weights=weights,
        worth=1.0 / float(weights @ weights),
        method="modes",
        hidden=next((part.hidden for part in parts if part.hidden), ""),
        unranked=next((part.unranked for part in parts if part.unranked), ""),
        falls_apart=True,
        draws=len(weights),
        warnings=tuple(dict.fromkeys(each for part in parts for each in part.warnings)),
    )


def _together(shares: Floats, means: Floats, sds: Floats) -> tuple[Floats, Floats]:
    mean = (shares * means).sum(axis=0)
    return mean, np.sqrt((shares * (sds**2 + (means - mean) ** 2)).sum(axis=0))
