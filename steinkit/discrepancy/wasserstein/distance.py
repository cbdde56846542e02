"""The Wasserstein distance W_1 between a sample and a target of one dimension, or between two samples.

In one dimension W_1(Q, P) is the integral of |F_Q - F_P| over the line. It is also the largest difference of means over
the functions with Lipschitz constant 1, in one dimension and in more: between two samples, the optimum of a transport
problem.

References
----------
.. [1] C. Villani, "Topics in Optimal Transportation", AMS 2003, theorems 1.14 and 2.18.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import checked
from steinkit.containers.reading import DrawsLike, as_sample
from steinkit.discrepancy.bracket import Bracketed, accepted, instance_kept, require_ordered, tolerance_of
from steinkit.discrepancy.preparation import require_names
from steinkit.discrepancy.units import Units, UnitsLike
from steinkit.errors import InputError, UsageError, cautious
from steinkit.runtime.deadlines import seconds_left, within_time
from steinkit.sample import DistinctSample, Sample
from steinkit.target import Target

if TYPE_CHECKING:
    from steinkit.describe.results import Claim
    from steinkit.discrepancy.wasserstein.from_cdf import Steps

_UNIT_ROUNDING = 2.0**-51  # of a point that was centred and divided, relative to its distance from the centre
_RESOLUTION = 1e-11  # of the largest coordinate: distances that are zero but for rounding


@dataclass(frozen=True, eq=False, repr=False)
class WassersteinDistance(Bracketed):
    """A Wasserstein distance with its bracket.

    Attributes
    ----------
    lower, upper : float
        The distance, in `units`, lies in [lower, upper].
    claim : {"proved", "found"}
        "proved" between samples, where every rounding is in the bracket. To a target the bracket is "found": it rests
        on what is assumed or was measured of the accuracy of its cdf, `Target.cdf_accuracy`, and on what the warnings
        say.
    sample : DistinctSample
        Distinct points of the sample, in raw units, weights, counts, names.
    units : Units
        In which the distance is meant.
    tolerance : float
        The relative width of the bracket that was asked for.
    seconds : dict
        Wall time spent on "distance".
    warnings : tuple of str
        What was merged or left out, what the bracket rests on, or what was not reached.
    """

    measure: ClassVar[str] = "wasserstein"
    lower: float
    upper: float
    claim: Claim
    sample: DistinctSample
    units: Units
    tolerance: float
    seconds: dict[str, float]
    warnings: tuple[str, ...]


@cautious
@checked
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
    """Measure the Wasserstein distance W_1, with a bracket, from a sample to a target or to another sample.

    Parameters
    ----------
    draws : Sample, array_like of shape (n,), (n, d) or (chains, draws, d), or what else `as_sample` takes
        The sample.
    target_or_draws : Target, or Sample or array_like of the same dimension
        A target must have one dimension and a cdf. The distance between two samples is that of Euclidean distance; in
        several dimensions for up to 5000 equally weighted draws on each side, or for up to 250,000 pairs of points.
    weights, other_weights : array_like, shape (n,), optional
        Weights of the draws and of the other sample's, in any unit.
    units : {"own", "raw"}, array_like of shape (d,), Units, or mapping
        In which the distance is meant: none, which is the definition; the standard deviations of `draws`; or a scale
        for each coordinate, as an array or by name, {"scale": {...}}. In one dimension it divides the distance.
    tolerance : float, optional
        Widest relative bracket (upper - lower)/upper accepted; 1e-6, or 1e-3 for a target without `tail_integrals`.
    max_seconds : float, optional
        Time, from the call on, after which to give up. A cdf under way is not cut short.

    Returns
    -------
    WassersteinDistance
        The distance, in a bracket.

    Raises
    ------
    UsageError
        If the target has no cdf or several dimensions, a setting cannot be honoured, or the samples are too large.
    InputError
        If the samples do not fit together, the cdf is none, or the distance is infinite as the target has no mean.
    SolverError
        If the answer could not be bracketed to within 10 %; `TimeLimitError` if `max_seconds` pass first.

    Warns
    -----
    SteinkitWarning
        If the bracket is wider than `tolerance`.

    Notes
    -----
    Cdfs of built-in families and their integrals were measured against arithmetic of 30 digits; those of others are
    taken to be accurate to 1e-13. A cdf alone proves nothing of its tails beyond the points where it is evaluated, of
    which the warnings tell.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> result = sk.wasserstein_distance(np.random.default_rng(7).random(1000), sk.targets.Uniform())
    >>> round(result.value, 9)
    0.006062289
    """
    by_halving = isinstance(target_or_draws, Target) and not target_or_draws.has_tail_integrals
    wanted = tolerance_of(tolerance, 1e-3 if by_halving else 1e-6)
    began = time.perf_counter()
    sample = _weighted(draws, weights, "weights")
    points = sample.distinct()
    chosen = Units.of(units, points)
    notes: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    if points.weightless:
        notes = (f"{points.weightless} of {len(sample)} draws have weight zero and were left out",)
    if isinstance(target_or_draws, Target):
        if other_weights is not None:
            raise UsageError("other_weights are for another sample; a target has none: drop them")
        _require_cdf(target_or_draws, sample.dim)
        require_names(sample, target_or_draws)
        lower, upper, more = _to_target(sample, points, target_or_draws, wanted)
        lower, upper = _over(lower, upper, chosen)
    else:
        other = _weighted(target_or_draws, other_weights, "other_weights")
        lower, upper = _to_sample(sample, other, chosen)
        arrays = {"points": sample.points, "weights": sample.weights, "others": other.points}
        with instance_kept(**arrays, other_weights=other.weights):
            require_ordered(lower, upper)
    result = WassersteinDistance(
        lower=max(lower, 0.0),
        upper=upper,
        claim="found" if isinstance(target_or_draws, Target) else "proved",
        sample=points,
        units=chosen,
        tolerance=wanted,
        seconds={"distance": time.perf_counter() - began},
        warnings=notes + more,
    )
    with np.errstate(over="ignore"):
        largest = float(np.abs(points.points / chosen.scale).max())
    return _accept(result, _RESOLUTION * largest)


def _weighted(draws: DrawsLike, weights: ArrayLike | None, what: str) -> Sample:
    sample = as_sample(draws)
    if weights is None:
        return replace(sample, scores=None)
    if sample.weights is not None:
        raise UsageError(f"{what} were given, but the sample carries its own; drop one of the two")
    return replace(sample, weights=np.asarray(weights), scores=None)


def _require_cdf(target: Target, dim: int) -> None:
    if dim != 1 or (target.dim is not None and target.dim != 1):
        raise UsageError(
            f"the Wasserstein distance to a target can be computed in one dimension; the draws have {dim}, the target "
            f"{target.dim or 'any'}: compare with a sample of the target, wasserstein_distance(draws, other_draws)"
        )
    if not target.has_cdf:
        raise UsageError(
            f"the Wasserstein distance needs the target's cdf and {target.label} has none: pass cdf= to Target, or "
            "compare with a sample of the target, wasserstein_distance(draws, other_draws)"
        )


def _to_target(
    sample: Sample, points: DistinctSample, target: Target, tolerance: float
) -> tuple[float, float, tuple[str, ...]]:
    from steinkit.discrepancy.wasserstein.from_cdf import distance_by_halving, distance_by_integrals

    steps = _steps(sample, points)
    notes: tuple[str, ...] = ()
    if target.has_tail_integrals:
        lower, upper = distance_by_integrals(steps, target)
    else:
        lower, upper, notes = distance_by_halving(steps, target, tolerance)
    if not np.isfinite(upper):
        raise InputError(
            f"the Wasserstein distance to {target.label} is infinite: its tails are so heavy that it has no mean; "
            "use graph_stein_discrepancy"
        )
    return lower, upper, notes


def _steps(sample: Sample, points: DistinctSample) -> Steps:
    """The sample's distribution function."""
    from steinkit.discrepancy.wasserstein.between_samples import LONG_EPS, masses
    from steinkit.discrepancy.wasserstein.from_cdf import Steps

    order = np.argsort(points.points[:, 0])
    x = points.points[order, 0]
    if 0.5 * x[-1] - 0.5 * x[0] > 4e307:
        raise InputError("the draws lie so far apart that their distances overflow: rescale them")
    sums = np.cumsum(masses(sample, points)[order])
    levels = np.asarray(sums[:-1] / sums[-1], dtype=np.float64)
    added = 0.0 if sample.weights is None else 4.0 * LONG_EPS * len(sample)  # whole numbers are added exactly
    return Steps(x, levels, 2.0**-53 + 2.0 * LONG_EPS + added)


def _over(lower: float, upper: float, units: Units) -> tuple[float, float]:
    """The bracket of a distance on the line, in units."""
    if units.kind == "raw":
        return lower, upper
    (scale,) = units.scale.tolist()
    return math.nextafter(lower / scale, -math.inf), math.nextafter(upper / scale, math.inf)


def _to_sample(sample: Sample, other: Sample, units: Units) -> tuple[float, float]:
    """Bracket of the distance between two samples, in units."""
    from steinkit.discrepancy.wasserstein.between_samples import distance_in_space, distance_on_the_line

    if sample.dim != other.dim:
        raise InputError(
            f"the draws have {sample.dim} coordinates and the other draws {other.dim}; both need the same number"
        )
    if sample.dim == 1:
        return _over(*distance_on_the_line(sample, other), units)
    if units.kind == "raw":
        return distance_in_space(sample, other)
    sample, other = (replace(each, points=units.points(each.points)) for each in (sample, other))
    norms = (float(np.hypot.reduce(np.abs(each.points).max(axis=0))) for each in (sample, other))
    return distance_in_space(sample, other, shift=_UNIT_ROUNDING * sum(norms))


def _accept(result: WassersteinDistance, resolution: float) -> WassersteinDistance:
    """Refuse a bracket that is no answer, and warn of one wider than asked for; a distance of 0 has no relative one."""
    if result.upper <= resolution:
        return result
    cause, remedy = "", "Give Target tail_integrals=, the integrals of its cdf, or thin the sample"
    if seconds_left() == 0.0:
        cause, remedy = " (time ran out)", "Allow more time (max_seconds, --max-seconds), or thin the sample"
    return accepted(result, "the Wasserstein distance", cause, remedy)
