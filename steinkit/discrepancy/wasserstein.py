"""Wasserstein distance from a 1D sample to a target.

The distance W_1(Q, P) is the largest difference between the mean under Q and the mean under P of any function with
Lipschitz constant 1 [1]_. In one dimension, the distance is the integral of |F_Q - F_P|. The function F_Q is constant
between neighboring points. If its level c crosses F_P at t, the integrand is c - F_P before t and F_P - c after t. Any
other t gives a lower bound. Let B(x) = E max(x - X, 0) and A(x) = E max(X - x, 0). If F_Q - F_P has the sign s on a
sequence of pieces from y to z, the contribution of these pieces is

    s (sum c h - B(z) + B(y))  =  s (A(y) - A(z) - sum (1 - c) h),

where h are the lengths of the pieces. The first form is more accurate for F_P < 1/2, and the second for larger F_P. The
bracket accounts for the errors of F_Q, the errors of F_P relative to F_P, the errors of A and B relative to A + B = E|X
- x|, and rounding errors.

References
----------
.. [1] C. Villani, "Topics in Optimal Transportation", AMS 2003, theorems 1.14 and 2.18.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import require_range
from steinkit.containers.reading import DrawsLike, as_sample
from steinkit.discrepancy.bracket import Certified, accepted, require_one_coordinate, tolerance_of
from steinkit.errors import InputError, UsageError, cautious
from steinkit.result import Claim
from steinkit.runtime.deadlines import require_time, within_time
from steinkit.sample import DistinctSample, Floats, Sample
from steinkit.scored_sample import require_names
from steinkit.target import Target, require_target
from steinkit.units import Units, UnitsLike

_LONG = float(np.finfo(np.longdouble).eps)
_EPS = 2.0**-52
_ROUNDING = 2.0**-49  # relative error per piece
_RESOLUTION = 1e-11  # relative to the largest coordinate; smaller distances may be computed as 0
_HALVINGS = 400  # number of bisection steps from 1e100 to an accuracy of 1e-20


@dataclass(frozen=True, eq=False, repr=False)
class WassersteinDistance(Certified):
    """Wasserstein distance between a sample and a target, and its bracket.

    Attributes
    ----------
    lower, upper : float
        Bounds on the distance, in `units`. The bracket assumes the accuracy `Target.cdf_accuracy` of the target's cdf.
    sample : DistinctSample
        Distinct points in raw units, with weights, counts and names.
    units : Units
        Units of the distance.
    tolerance : float
        Requested relative width of the bracket.
    seconds : dict of str to float
        Wall time of the stage "distance".
    warnings : tuple of str
        Notes on dropped draws and on the accuracy of the bracket.

    Examples
    --------
    >>> import steinkit as sk
    >>> result = sk.wasserstein_distance([0.5], sk.targets.Uniform())
    >>> round(result.value, 6), result.claims
    (0.25, 'found')
    """

    measure: ClassVar[str] = "wasserstein"
    title: ClassVar[str] = "Wasserstein distance"
    meaning: ClassVar[str] = (
        "It is the smallest mean distance, in the units of the draws, over which mass must be moved to turn the "
        "sample into the target. The Wasserstein distance requires the cdf of the target and detects modes that no "
        "draw visited."
    )
    claims: ClassVar[Claim] = "found"


@cautious
@within_time
def wasserstein_distance(
    draws: DrawsLike,
    target: Target,
    *,
    weights: ArrayLike | None = None,
    units: UnitsLike = "raw",
    tolerance: float | None = None,
    max_seconds: float | None = None,
) -> WassersteinDistance:
    """Compute the Wasserstein distance W_1 from a one-dimensional sample to a target.

    For the distance between two samples, use `scipy.stats.wasserstein_distance`.

    Parameters
    ----------
    draws : Sample or array_like, shape (n,), (n, 1) or (chains, draws, 1)
        The sample, in any form that `as_sample` accepts.
    target : Target
        A target with a cdf and tail integrals.
    weights : array_like, shape (n,), optional
        Weights of the draws, up to a constant factor.
    units : {"raw", "own"}, array_like of shape (1,), Units or mapping, default "raw"
        Scale by which the distance is divided. The scale is 1 ("raw"), the standard deviation of `draws` ("own"), or a
        given scale, as an array or by name, ``{"scale": {...}}``.
    tolerance : float, default 1e-6
        Largest accepted relative width of the bracket, (upper - lower) / upper.
    max_seconds : float, optional
        Time limit in seconds. The limit does not interrupt an evaluation of the cdf.

    Returns
    -------
    WassersteinDistance
        The distance with its bracket.

    Raises
    ------
    UsageError
        If there are several dimensions, if the target has no tail integrals, or if an argument is not valid.
    InputError
        If the sample contains nonzero values outside the range from 1e-100 to 1e100 in absolute value, if the cdf or
        the tail integrals are not valid, or if the distance is infinite because the target has no mean.
    SolverError
        If the relative width of the bracket exceeds 10%.
    TimeLimitError
        If the time limit is exceeded.

    Warns
    -----
    SteinkitWarning
        If the bracket is wider than `tolerance`.

    Notes
    -----
    The accuracy of the built-in cdfs and their integrals was measured by comparison with 30-digit arithmetic. Other
    cdfs are assumed to be accurate to 1e-13.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> result = sk.wasserstein_distance(np.random.default_rng(7).random(1000), sk.targets.Uniform())
    >>> round(result.value, 9)
    0.006062289
    """
    requested = tolerance_of(tolerance, 1e-6)
    began = time.perf_counter()
    require_target(target)
    sample = replace(as_sample(draws), scores=None)
    if weights is not None:
        if sample.weights is not None:
            raise UsageError("`weights` must be omitted because the sample has weights")
        sample = replace(sample, weights=np.asarray(weights))
    require_one_coordinate(sample.dim, "the Wasserstein distance", "sliced_stein_discrepancy")
    require_range(sample.points, "draws")
    require_range(1.0 if sample.weights is None else sample.weights, "weights")
    points = sample.distinct()
    chosen = Units.of(units, points)
    if not target.has_tail_integrals:
        raise UsageError(
            f"expected a target with a cdf and tail integrals, got {target.label}: pass cdf= and tail_integrals= to "
            "Target, or compare with a sample from the target"
        )
    require_names(sample, target)
    lower, upper = _between_cdfs(*_levels(sample, points), target)
    if chosen.kind != "raw":
        lower, upper = lower / chosen.scale.item() * (1.0 - _EPS), upper / chosen.scale.item() * (1.0 + _EPS)
    dropped = f"{points.weightless} of {len(sample)} draws have weight zero and were dropped"
    result = WassersteinDistance(
        lower=max(lower, 0.0),
        upper=upper,
        sample=points,
        units=chosen,
        tolerance=requested,
        seconds={"distance": time.perf_counter() - began},
        warnings=(dropped,) if points.weightless else (),
    )
    if result.upper <= _RESOLUTION * float(np.abs(points.points / chosen.scale).max()):
        return result  # the relative width of a distance of 0 is not defined
    return accepted(result, "the Wasserstein distance", "", "Rescale the draws, or omit distant draws")


def _levels(sample: Sample, points: DistinctSample) -> tuple[Floats, Floats, float]:
    """Return the sorted points, and the level of F_Q after each point.

    A bound on the errors of the levels is also returned. The last point is repeated. If the sample is unweighted, the
    levels are quotients of exact sums.
    """
    order, carried = np.argsort(points.points[:, 0]), points.inverse >= 0
    x, sums = points.points[order, 0], np.zeros(len(points), dtype=np.longdouble)
    np.add.at(sums, points.inverse[carried], 1.0 if sample.weights is None else sample.weights[carried])
    sums = np.cumsum(sums[order])
    error = 2.0**-53 + 2.0 * _LONG + (0.0 if sample.weights is None else 4.0 * _LONG * len(sample))
    return np.append(x, x[-1]), np.asarray(sums / sums[-1], dtype=np.float64), error


def _between_cdfs(x: Floats, levels: Floats, error: float, target: Target) -> tuple[float, float]:
    """Bracket the integral of |F_Q - F_P| using the levels of F_Q between the points.

    The levels are exact up to ``error``.
    """
    cdf, doubt = _cdf(target, x), error + 2.0 * target.cdf_accuracy * levels
    low, high = _crossings(target, x, cdf, levels - doubt), _crossings(target, x, cdf, levels + doubt)
    places = np.append(np.stack([x[:-1], low, np.maximum(low, high)], axis=1).ravel(), x[-1])
    pieces = np.flatnonzero((np.diff(places) > 0.0) | (np.arange(len(places) - 1) == 0))
    level, sign = np.repeat(levels, 3)[pieces], np.resize([1.0, 1.0, -1.0], len(places))[pieces]
    places = places[np.append(pieces, len(places) - 1)]
    cdf, h = _cdf(target, places), np.diff(places)
    falling = cdf[1:] < 0.5
    starts = np.append(0, np.flatnonzero((np.diff(sign) != 0.0) | np.diff(falling)) + 1)
    sign, run_falls, ends = sign[starts], falling[starts], places[np.append(starts, len(h))]

    integrals = target.tail_integrals(ends)
    if not (integrals >= 0.0).all():  # this is also true for NaN
        raise InputError(
            "`tail_integrals` must return the means of max(x - X, 0) and max(X - x, 0), which must not be negative; "
            f"got {np.min(integrals)}"
        )
    outside = float(integrals[0, 0] + integrals[-1, 1])
    if not np.isfinite(outside):
        raise InputError(
            f"the Wasserstein distance to {target.label} is infinite because the target has no mean; "
            "use graph_stein_discrepancy"
        )
    parts = h * np.where(falling, level, 1.0 - level)
    share, change = np.add.reduceat(parts, starts), np.diff(integrals, axis=0)
    area = sign * np.where(run_falls, share - change[:, 0], -change[:, 1] - share)
    wrong, doubt = target.cdf_accuracy * integrals.sum(axis=1), np.repeat(doubt, 3)[pieces]
    # the crossing may be anywhere in the second of the three pieces of a gap
    unsure = np.where(pieces % 3 == 1, 2.0 * (doubt + cdf[1:] - cdf[:-1]), 0.0)
    slack = np.add.reduceat(h * (error + unsure), starts) + _ROUNDING * (share + np.abs(area)) + wrong[:-1] + wrong[1:]
    nearest = np.maximum(np.maximum(cdf[:-1] - level, level - cdf[1:]), 0.0)
    furthest = np.maximum(level - cdf[:-1], cdf[1:] - level)
    least, most = (np.add.reduceat(h * each, starts) for each in (nearest - doubt, furthest + doubt))
    misfit = np.flatnonzero(~((area + slack >= least) & (area - slack <= most)))
    if misfit.size:
        a, b = ends[misfit[0]], ends[misfit[0] + 1]
        raise InputError(
            f"`cdf` and `tail_integrals` do not match between {a:.6g} and {b:.6g}: "
            "expected the integral of the cdf below x, and the integral of 1 - cdf above x"
        )
    distance = outside + float(area.sum())
    total = float(slack.sum() + wrong[0] + wrong[-1]) + 4.0 * _ROUNDING * (outside + distance)
    return distance - total, distance + total


def _crossings(target: Target, x: Floats, cdf: Floats, levels: Floats) -> Floats:
    """Find, by bisection, the point in each gap where F_P crosses the level."""
    low, high = x[:-1].copy(), x[1:].copy()
    ends_below, begins_above = cdf[1:] <= levels, cdf[:-1] >= levels
    low[ends_below], high[begins_above] = high[ends_below], low[begins_above]
    for _ in range(_HALVINGS):
        require_time("evaluating the cdf")
        middle = 0.5 * low + 0.5 * high
        if not ((low < middle) & (middle < high)).any():
            break
        below = target.cdf(middle) < levels
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return low


def _cdf(target: Target, values: Floats) -> Floats:
    """Evaluate F_P at increasing values, and check that F_P does not decrease."""
    found = target.cdf(values)
    least, accuracy = np.maximum.accumulate(np.append(0.0, found[:-1])), 2.0 * target.cdf_accuracy
    bad = np.flatnonzero(~((found >= least - accuracy) & (found <= 1.0 + accuracy)))
    if bad.size:
        raise InputError(
            f"`cdf` must not decrease and must lie between 0 and 1; got {found[bad[0]]} at {values[bad[0]]:.6g}"
        )
    return np.clip(found, 0.0, 1.0)
