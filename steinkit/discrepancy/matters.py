"""Whether a bias matters: with enough draws any bias is significant, so ask if it is larger than a size that would.

Every location, spread and dependence has an estimated size s (`steinkit.discrepancy.blame.size_of`) with a standard
error e. That all sizes are at most DELTA is tested by the largest (s - DELTA) / e, one-sided, Bonferroni over them.
For independent normal coordinates sizes are the shift in standard deviations, the relative error of the standard
deviation and the error of the correlation; for others they are means that ought to be zero, in standard units.
"""

from __future__ import annotations

import math

import numpy as np

from steinkit.discrepancy.blame import size_of
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
        size = size_of(feature, mean)
        if size > delta:
            largest = max(largest, abs(z) * (1.0 - delta / size))  # (size - delta) / error, the error being size / |z|
    return float(np.minimum(1.0, len(named) * tail_probability(largest, moments.n_effective)))
