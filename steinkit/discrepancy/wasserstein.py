"""Wasserstein distance of a one-dimensional sample.

The distance is that to a target or to another sample.

W_1(Q, P) is the largest difference of means under Q and P of functions with Lipschitz constant 1 [1]_.

**Distance to a target.** It is the integral of |F_Q - F_P|. F_Q is constant between neighboring points. If its level c
crosses F_P at t, the integrand is c - F_P before t and F_P - c after t. With B(x) = E max(x - X, 0),
A(x) = E max(X - x, 0) and the sign s of F_Q - F_P, a piece from y to z of length h contributes

    s (c h - B(z) + B(y))  =  s (A(y) - A(z) - (1 - c) h).

The first form is more accurate for F_P < 1/2, the second for larger F_P. The bracket includes errors of F_P, errors of
A and B relative to E|X - x|, and rounding errors. Errors of A and B are counted only where s or the form changes,
because the sum telescopes elsewhere.

**Distance between two samples.** It is the integral of |F - G|, and the bracket includes all rounding errors.

References
----------
.. [1] C. Villani, "Topics in Optimal Transportation", AMS 2003, theorems 1.14 and 2.18.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import require_range
from steinkit.containers.reading import DrawsLike, as_sample
from steinkit.discrepancy.bracket import Measured, accepted, instance_kept, require_ordered, tolerance_of
from steinkit.errors import InputError, UsageError, cautious
from steinkit.result import Claim
from steinkit.runtime.deadlines import require_time, within_time
from steinkit.sample import DistinctSample, Floats, Sample
from steinkit.scored_sample import require_names
from steinkit.target import Target
from steinkit.units import Units, UnitsLike

_EPS = 2.0**-52
_ROUNDING = 2.0**-49  # relative, per piece
_RESOLUTION = 1e-11  # relative to the largest coordinate: smaller distances may be 0
_HALVINGS = 64


@dataclass(frozen=True, eq=False, repr=False)
class WassersteinDistance(Measured):
    """Wasserstein distance of a sample, with its bracket.

    Attributes
    ----------
    lower, upper : float
        Bounds of the distance, in `units`.
    claim : {"proved", "found"}
        "proved" between samples: the bracket includes all rounding errors. "found" for a target: the bracket assumes
        the accuracy `Target.cdf_accuracy` of the target's cdf.
    sample : DistinctSample
        Distinct points in raw units, with weights, counts and names.
    units : Units
        Units of the distance.
    tolerance : float
        Requested relative width of the bracket.
    seconds : dict of str to float
        Wall time of the stage "distance".
    warnings : tuple of str
        Notes on omitted draws and on the accuracy of the bracket.

    Examples
    --------
    >>> import steinkit as sk
    >>> result = sk.wasserstein_distance([0.0, 1.0, 3.0], [5.0, 6.0, 8.0])
    >>> round(result.value, 6), result.claim
    (5.0, 'proved')
    """

    measure: ClassVar[str] = "wasserstein"
    title: ClassVar[str] = "Wasserstein distance"
    meaning: ClassVar[str] = (
        "It is the smallest mean distance, in the unit of the draws, over which mass must be moved to turn the sample "
        "into the target. It requires the cdf of the target, and detects modes that no draw visited."
    )
    claim: Claim

    @property
    def claims(self) -> Claim:
        """Claim of the bracket."""
        return self.claim


@cautious
@within_time
def wasserstein_distance(
    draws: DrawsLike,
    target_or_draws: Target | DrawsLike,
    *,
    weights: ArrayLike | None = None,
    other_weights: ArrayLike | None = None,
    units: UnitsLike = "raw",
    tolerance: float | None = None,
    max_seconds: float | None = None,
) -> WassersteinDistance:
    """Compute the Wasserstein distance of a one-dimensional sample.

    The distance W_1 to a target or to another sample is computed.

    Parameters
    ----------
    draws : Sample or array_like, shape (n,), (n, 1) or (chains, draws, 1)
        The sample, in any form that `as_sample` accepts.
    target_or_draws : Target, Sample or array_like
        A target with a cdf and tail integrals, or the other sample.
    weights, other_weights : array_like, shape (n,), optional
        Weights of the draws and of the other sample, in any unit.
    units : {"raw", "own"}, array_like of shape (1,), Units or mapping, default "raw"
        Scale by which the distance is divided: 1, the standard deviation of `draws`, or a scale as an array or by name,
        ``{"scale": {...}}``.
    tolerance : float, default 1e-6
        Largest accepted relative width of the bracket, (upper - lower) / upper.
    max_seconds : float, optional
        Time limit in seconds. It does not interrupt an evaluation of the cdf.

    Returns
    -------
    WassersteinDistance
        The distance with its bracket.

    Raises
    ------
    UsageError
        If there are several dimensions, the target has no tail integrals, or an argument is not valid.
    InputError
        If the samples contain nonzero values outside 1e-100 to 1e100 in size, the cdf or the tail
        integrals are not valid, or the distance is infinite because the target has no mean.
    SolverError
        If the relative width of the bracket exceeds 10 %.
    TimeLimitError
        If the time limit is exceeded.

    Warns
    -----
    SteinkitWarning
        If the bracket is wider than `tolerance`.

    Notes
    -----
    The accuracy of the built-in cdfs and their integrals was measured against 30-digit arithmetic. Other cdfs are
    assumed to be accurate to 1e-13.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> result = sk.wasserstein_distance(np.random.default_rng(7).random(1000), sk.targets.Uniform())
    >>> round(result.value, 9)
    0.006062289
    """
    requested = tolerance_of(tolerance, 1e-6)
    began = time.perf_counter()
    sample = _weighted(draws, weights, "weights")
    points = sample.distinct()
    chosen = Units.of(units, points)
    if isinstance(target_or_draws, Target):
        if other_weights is not None:
            raise UsageError("`other_weights` requires another sample; got a target")
        lower, upper = _to_target(sample, points, target_or_draws)
    else:
        other = _weighted(target_or_draws, other_weights, "other_weights")
        lower, upper = _to_sample(sample, other)
        arrays = {"points": sample.points, "weights": sample.weights, "others": other.points}
        with instance_kept(**arrays, other_weights=other.weights):
            require_ordered(lower, upper)
    if chosen.kind != "raw":
        lower, upper = lower / chosen.scale.item() * (1.0 - _EPS), upper / chosen.scale.item() * (1.0 + _EPS)
    omitted = f"{points.weightless} of {len(sample)} draws have weight zero and were omitted"
    result = WassersteinDistance(
        lower=max(lower, 0.0),
        upper=upper,
        claim="found" if isinstance(target_or_draws, Target) else "proved",
        sample=points,
        units=chosen,
        tolerance=requested,
        seconds={"distance": time.perf_counter() - began},
        warnings=(omitted,) if points.weightless else (),
    )
    if result.upper <= _RESOLUTION * float(np.abs(points.points / chosen.scale).max()):
        return result  # the relative width of a distance of 0 is not defined
    return accepted(result, "the Wasserstein distance", "", "Rescale the draws, or omit distant draws")


def _weighted(draws: DrawsLike, weights: ArrayLike | None, name: str) -> Sample:
    sample = as_sample(draws)
    if weights is not None and sample.weights is not None:
        raise UsageError(f"`{name}` must be omitted, because the sample has weights")
    sample = replace(sample, weights=sample.weights if weights is None else np.asarray(weights), scores=None)
    if sample.dim != 1:
        raise UsageError(
            f"the Wasserstein distance requires draws with one coordinate; got {sample.dim}: "
            "use sliced_stein_discrepancy"
        )
    require_range(sample.points, "draws")
    if sample.weights is not None:
        require_range(sample.weights, name)
    return sample


def _to_target(sample: Sample, points: DistinctSample, target: Target) -> tuple[float, float]:
    """Bracket the integral of |F_Q - F_P|."""
    if not target.has_tail_integrals:
        raise UsageError(
            f"expected a target with a cdf and tail integrals, got {target.label}: pass cdf= and tail_integrals= to "
            "Target, or compare with a sample from the target"
        )
    require_names(sample, target)
    order, is_weighted = np.argsort(points.points[:, 0]), sample.weights is not None
    x = points.points[order, 0]
    masses = np.cumsum((points.weights if is_weighted else points.counts)[order])
    x, levels = np.append(x, x[-1]), masses / masses[-1]
    error = _EPS * (2.0 + (len(sample) if is_weighted else 0.0))

    accuracy = target.cdf_accuracy
    crossings, undecided = _crossings(target, x, levels)
    ends = np.append(np.stack([x[:-1], crossings], axis=1).ravel(), x[-1])
    positive = np.flatnonzero(np.diff(ends) > 0.0)
    level, sign = np.repeat(levels, 2)[positive], np.resize([1.0, -1.0], 2 * len(levels))[positive]
    ends = ends[np.append(positive, len(ends) - 1)]
    cdf, h = np.clip(target.cdf(ends), 0.0, 1.0), np.diff(ends)
    integrals = target.tail_integrals(ends)
    if not (integrals >= 0.0).all():  # true for NaN as well
        raise InputError(
            "`tail_integrals` must return the means of max(x - X, 0) and max(X - x, 0), which are not negative; "
            f"got {np.min(integrals)}"
        )
    below, above = integrals.T
    outside = float(below[0] + above[-1])
    if not math.isfinite(outside):
        raise InputError(
            f"the Wasserstein distance to {target.label} is infinite, because the target has no mean; "
            "use graph_stein_discrepancy"
        )

    is_low, doubt = cdf[1:] < 0.5, error + 2.0 * accuracy * level
    inside = np.where(is_low, np.diff(below), h + np.diff(above))  # integral of F_P over each piece
    inaccuracy = 2.0 * accuracy * (integrals[1:] + integrals[:-1]).sum(axis=1) + (_ROUNDING + 2.0 * accuracy) * h
    misfit = np.flatnonzero(~((inside >= cdf[:-1] * h - inaccuracy) & (inside <= cdf[1:] * h + inaccuracy)))
    if misfit.size:
        raise InputError(
            f"`cdf` and `tail_integrals` do not match between {ends[misfit[0]]:.6g} and {ends[misfit[0] + 1]:.6g}: "
            "expected a non-decreasing cdf, its integral below x, and the integral of 1 - cdf above x"
        )
    parts = h * np.where(is_low, level, 1.0 - level)
    area = sign * np.where(is_low, parts - np.diff(below), -np.diff(above) - parts)
    distance = outside + float(area.sum())
    is_near = (cdf[:-1] <= level + doubt) & (cdf[1:] >= level - doubt)
    slack = float(h @ (error + 2.0 * doubt * is_near) + 2.0 * undecided + accuracy * outside)
    slack += _ROUNDING * float(parts.sum() + np.abs(area).sum() + outside + distance)
    for part, used in ((below, is_low), (above, ~is_low)):  # changes of the coefficient of an integral
        slack += accuracy * float(np.abs(np.diff(sign * used, prepend=0.0, append=0.0)) @ part)
    return distance - slack, distance + slack


def _crossings(target: Target, x: Floats, levels: Floats) -> tuple[Floats, float]:
    """Return the point of each gap up to which F_P is below the level.

    The total length of the undecided intervals is returned as well.
    """
    low, high = x[:-1].copy(), x[1:].copy()
    for _ in range(_HALVINGS):
        require_time("the cdf was evaluated")
        middle = 0.5 * low + 0.5 * high
        is_below = target.cdf(middle) < levels
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    at_end = (low == x[:-1]) | (high == x[1:])
    return np.where(high == x[1:], high, low), float(np.where(at_end, 0.0, high - low).sum())


def _to_sample(sample: Sample, other: Sample) -> tuple[float, float]:
    """Bracket the integral of |F - G| over two samples.

    SciPy sums and divides the weights, and sums up the integral.
    """
    from scipy.stats import wasserstein_distance as scipy_distance

    x, y = sample.points[:, 0], other.points[:, 0]
    distance = float(scipy_distance(x, y, sample.weights, other.weights))
    n = len(x) + len(y)
    rounded = n if sample.weights is not None or other.weights is not None else 0
    slack = _EPS * ((n + 8) * distance + (rounded + 4) * float(max(x.max(), y.max()) - min(x.min(), y.min())))
    return distance - slack, distance + slack
