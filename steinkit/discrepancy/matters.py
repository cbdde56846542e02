"""Whether a bias matters: with enough draws any bias is significant, so ask if it is larger than a size that would.

Every location, spread and dependence has a size (`Blame.size`), which grows with the absolute
mean |f| of its feature. That all sizes are at most DELTA is tested by the largest (|f| - c) / e, with the mean c that
belongs to DELTA and the standard error e, one-sided, Bonferroni over all of them. For independent normal coordinates
sizes are the shift in standard deviations, the relative error of the standard deviation and the error of the
correlation; for others they are no more than means that ought to be zero, in standard units.
"""

from __future__ import annotations

import math

import numpy as np

from steinkit.discrepancy.blame import mean_of
from steinkit.discrepancy.cross_fitting import tail_probability
from steinkit.discrepancy.moments.discrepancy import MomentSteinDiscrepancy
from steinkit.errors import UsageError


def require_size(delta: float) -> None:
    """Refuse what is no size; UsageError."""
    if not (math.isfinite(delta) and delta >= 0.0):
        raise UsageError(f"matters must be a size in standard units, 0 or larger; received {delta}")


def p_value_beyond(moments: MomentSteinDiscrepancy, delta: float) -> float:
    """Probability that a sample whose moments are all off by at most `delta` shows one as large as this one's largest.

    Parameters
    ----------
    moments : MomentSteinDiscrepancy
    delta : float
        In standard units.
    """
    named = moments.largest(len(moments.features))
    largest = -math.inf
    for feature, mean, z in named:
        bound = mean_of(feature, mean, delta)
        if abs(mean) > bound:
            largest = max(largest, abs(z) * (1.0 - bound / abs(mean)))  # the standard error is |mean| / |z|
    return float(np.minimum(1.0, len(named) * tail_probability(largest, moments.n_effective)))
