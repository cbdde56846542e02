"""Crossings of curves, and samples of a common size.

A fast, biased sampler is more accurate than a slow, exact sampler for small budgets, and less accurate for large
budgets. The crossing of the median error curves is computed on the logarithm of the budget. A bootstrap over the seeds
of both samplers, which resamples whole curves, gives an interval for the crossing and the frequency of crossings.

References
----------
J. Gorham and L. Mackey (2015), "Measuring sample quality with Stein's method", figure 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from _bands import Bands

from steinkit import Sample
from steinkit.curves import between, resampled_medians
from steinkit.errors import UsageError
from steinkit.sample import split_chains


@dataclass(frozen=True)
class Crossing:
    """Point at which the median of one curve permanently falls below that of another.

    Attributes
    ----------
    at : float
        Position of the crossing by linear interpolation, on logarithmic axes if all values are positive. It is NaN if
        there is no crossing, that is, if the curve is lower at all points or is not lower at the last point.
    interval : tuple of float
        Bootstrap interval of the position, over the resamples with a crossing.
    share : float
        Fraction of the bootstrap resamples with a crossing.
    leads : float
        Fraction of the resamples in which the curve is lower at the last point.
    """

    at: float
    interval: tuple[float, float]
    share: float
    leads: float


def crossing(late: Bands, early: Bands, *, rng: int | np.random.Generator | None = 0) -> Crossing:
    """Find the point at which one median permanently falls below another.

    Parameters
    ----------
    late, early : Bands
        Curve that is lower at the end, and curve that is lower at the beginning. They must have the same abscissas and
        independent seeds. The level of the interval is that of `late`.
    rng : int, numpy.random.Generator or None
        Seed or generator for the bootstrap.

    Returns
    -------
    Crossing
        Crossing of the medians, with its bootstrap interval.

    Raises
    ------
    UsageError
        If the abscissas differ.
    """
    if not np.array_equal(late.against, early.against):
        raise UsageError("both curves must be given at the same places (against)")
    at = float(_crossings(late.median[None], early.median[None], late.against)[0])
    own, other = np.random.default_rng(rng).spawn(2)
    one, two = resampled_medians(late.replicates, own), resampled_medians(early.replicates, other)
    found = _crossings(one, two, late.against)
    there = found[np.isfinite(found)]
    ends = (0.5 * (1.0 - late.level), 0.5 * (1.0 + late.level))
    low, high = between(there, ends) if there.size else (math.nan, math.nan)
    leads = float(np.mean(one[:, -1] < two[:, -1]))
    return Crossing(at, (float(low), float(high)), there.size / len(found), leads)


def _crossings(late: np.ndarray, early: np.ndarray, against: np.ndarray) -> np.ndarray:
    """Return the last downward crossing of each pair of curves, shape (pairs,).

    It is NaN if there is no crossing.
    """
    logarithmic = bool((late > 0.0).all() and (early > 0.0).all() and (against > 0.0).all())
    gap = np.log(late / early) if logarithmic else late - early
    x = np.log(against) if logarithmic else against
    found = np.full(len(gap), math.nan)
    for k, row in enumerate(gap):
        above: np.ndarray = np.flatnonzero(~(row < 0.0))
        if above.size and above[-1] < len(row) - 1:
            i = above[-1]
            found[k] = x[i] + (x[i + 1] - x[i]) * row[i] / (row[i] - row[i + 1])
    return np.exp(found) if logarithmic else found


def evenly_spaced(sample: Sample, n: int) -> Sample:
    """Select n evenly spaced draws from the chains in order, including the first and the last draw.

    The selection gives samples of one size from samplers that make different numbers of draws with the same budget.

    Raises
    ------
    UsageError
        If the sample has fewer than n draws, or if n is not positive.
    """
    if not 1 <= n <= len(sample):
        raise UsageError(f"{n} evenly spaced draws were asked for, of {len(sample)} that there are")
    chains, _ = split_chains(sample)
    places = np.rint(np.linspace(0, len(sample) - 1, n)).astype(np.int64)
    return sample[np.concatenate(chains)[places]]
