"""Masses of a sample's draws or points, as exactly as their shares are wanted: before any division."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from steinkit.sample import DistinctSample, Sample

LongFloats = NDArray[np.longdouble]

LONG_EPS = float(np.finfo(np.longdouble).eps)


def masses(sample: Sample, points: DistinctSample | None = None) -> LongFloats:
    """What each draw, or each distinct point, carries, in any unit; shape (n,).

    Numbers of draws are whole, and exact. Weights are exact of draws, in extended precision where the machine has it,
    and to within a relative LONG_EPS times their number of points.
    """
    if sample.weights is None:
        return (np.ones(len(sample)) if points is None else points.counts).astype(np.longdouble)
    unit = math.frexp(float(sample.weights.max()))[1]
    weights = np.ldexp(sample.weights.astype(np.longdouble), -unit)
    if points is None:
        return weights
    sums = np.zeros(len(points), dtype=np.longdouble)
    carried = points.inverse >= 0
    np.add.at(sums, points.inverse[carried], weights[carried])
    return sums
