"""The Wasserstein distance W_1 between a sample and a target of one dimension, or between two samples.

In one dimension W_1(Q, P) is the integral of |F_Q - F_P| over the line. It is also the largest difference of means over
the functions with Lipschitz constant 1, in one dimension and in more: between two samples, the optimum of a transport
problem.

**Between two samples** every rounding is in the bracket. Shares of the mass are w_i / sum w of the weights given. In
one dimension the distance is the integral of |F - G|. In several it is the optimum of the transport problem

    minimise  sum_ij T_ij c_ij   subject to   T >= 0,   sum_j T_ij = p_i,   sum_i T_ij = q_j,     c_ij = |x_i - y_j|.

Any plan T bounds it from above, and any prices f, g with f_i + g_j <= c_ij from below, by p'f + q'g [1]_: whatever
solver they come from. Prices are made to fit by g_j = min_i (c_ij - f_i), a plan by scaling its rows and columns down
to the shares and sending what is left anyhow [2]_.

References
----------
.. [1] C. Villani, "Topics in Optimal Transportation", AMS 2003, theorems 1.3, 1.14 and 2.18.
.. [2] J. Altschuler, J. Weed and P. Rigollet, "Near-linear time approximation algorithms for optimal transport via
   Sinkhorn iteration", NeurIPS 2017, algorithm 2.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steinkit.arguments import require_range
from steinkit.containers.reading import DrawsLike, as_sample
from steinkit.discrepancy.bracket import Measured, accepted, instance_kept, require_ordered, tolerance_of
from steinkit.errors import InputError, UsageError, cautious
from steinkit.runtime.deadlines import blocks, deadline, interruptible, require_time, seconds_left, within_time
from steinkit.sample import DistinctSample, Floats, Sample
from steinkit.scored_sample import require_names
from steinkit.target import Target
from steinkit.units import Units, UnitsLike

if TYPE_CHECKING:
    from steinkit.result import Claim


LongFloats = NDArray[np.longdouble]

_LONG = float(np.finfo(np.longdouble).eps)
_EPS = 2.0**-52
_MOST_ASSIGNED = 5000
_MOST_PAIRS = 250_000
_ROWS_AT_ONCE = 256
_SWEEPS = 8  # between two looks at the bracket
_CLOSE = 2.0**-40  # relative width at which prices are good enough: rounding may change them for ever


def distance_on_the_line(sample: Sample, other: Sample) -> tuple[float, float]:
    """Bracket of the integral of |F - G|.

    Where all weights are equal, F - G is a whole number over the product of both numbers of draws, without an error.
    Otherwise its error counts over the whole length, which matters where some points lie far from the others.
    """
    n, m = len(sample), len(other)
    places = np.concatenate([sample.points[:, 0], other.points[:, 0]])
    order = np.argsort(places, kind="stable")
    widths, rounding = np.diff(places[order]), _LONG * 4.0 * (n + m)
    if _equally_weighted(sample) and _equally_weighted(other):
        steps = np.concatenate([np.full(n, m), np.full(m, -n)])
        between, uncertain = np.cumsum(steps[order])[:-1] / np.longdouble(n * m), 0.0
    else:
        p, q = masses(sample), masses(other)
        between = np.cumsum(np.concatenate([p / p.sum(), -q / q.sum()])[order])[:-1]
        uncertain = 1.01 * rounding * float(widths.sum())
    distance = float(np.abs(between) @ widths)
    slack = (rounding + 2.0 * _EPS) * distance + uncertain
    return distance - slack, distance + slack


def distance_in_space(sample: Sample, other: Sample) -> tuple[float, float]:
    """Bracket of the transport problem's optimum, in several dimensions.

    Raises
    ------
    UsageError
        If the samples are too large to be solved.
    """
    from scipy.spatial.distance import cdist

    equal = len(sample) == len(other) and _equally_weighted(sample) and _equally_weighted(other)
    assigned = equal and len(sample) <= _MOST_ASSIGNED
    here, there = sample.distinct(), other.distinct()
    if not assigned and len(here) * len(there) > _MOST_PAIRS:
        raise UsageError(
            f"the Wasserstein distance in {sample.dim} dimensions was asked for between {len(here)} and {len(there)} "
            f"points; at most {_MOST_PAIRS:,} pairs are solved, or {_MOST_ASSIGNED} equally weighted draws on each "
            "side: thin the samples"
        )
    require_time("distances were taken")
    costs = cdist(sample.points, other.points) if assigned else cdist(here.points, there.points)
    largest = float(costs.max())
    if largest == 0.0:
        return 0.0, 0.0
    costs /= largest
    if assigned:
        lower, upper = _assignment(costs)
    else:
        p, q = masses(sample, here), masses(other, there)
        lower, upper = _transport(costs, p / p.sum(), q / q.sum(), 4.0 * _LONG * (len(sample) + len(other)))
    error = (2 * sample.dim + 10) * _EPS  # relative, of each distance
    return largest * (lower - error * abs(lower)), largest * (1.0 + 2.0 * error) * upper


def masses(sample: Sample, points: DistinctSample | None = None) -> LongFloats:
    """Weight of each draw, or of each distinct point, shape (n,): exact of draws, and of points without weights.

    Sums of other weights are wrong by a relative `_LONG` times the number of draws.
    """
    weights = np.ones(len(sample)) if sample.weights is None else sample.weights
    if points is None:
        return weights.astype(np.longdouble)
    sums, carried = np.zeros(len(points), dtype=np.longdouble), points.inverse >= 0
    np.add.at(sums, points.inverse[carried], weights[carried].astype(np.longdouble))
    return sums


def _equally_weighted(sample: Sample) -> bool:
    return sample.weights is None or bool(np.ptp(sample.weights) == 0.0)


def _assignment(costs: Floats) -> tuple[float, float]:
    """Bracket of the mean cost of the best assignment, for costs (n, n) that are at most 1.

    In an optimal assignment sigma no cycle of exchanges gains anything, so that the prices g of columns are lengths of
    shortest paths in the graph of exchanges, c_(i j) - c_(i sigma(i)); Bellman and Ford's sweeps find them.
    """
    from scipy.optimize import linear_sum_assignment

    n = len(costs)
    assigning, doing = partial(linear_sum_assignment, costs), "draws were assigned to each other"
    matched = interruptible(assigning, Event(), doing, has_clock=False)
    costs = costs[:, matched[1]]  # the best is the diagonal now
    own = costs.diagonal().copy()
    upper = math.nextafter(math.nextafter(math.fsum(own), math.inf) / n, math.inf)
    shares, g = np.full(n, 1.0 / n), own - own.max()
    lower = _priced(costs, shares, shares, g)
    for sweep in range(n):
        before = g.copy()
        for rows in blocks(n, _ROWS_AT_ONCE):
            np.minimum(g, (costs[rows] + (g[rows] - own[rows])[:, None]).min(axis=0), out=g)
        settled = (before - g).max() <= _EPS
        if settled or sweep % _SWEEPS == 0:
            lower = max(lower, _priced(costs, shares, shares, g))
        if settled or upper - lower <= _CLOSE * max(upper, _CLOSE) or seconds_left() == 0.0:
            break
    return lower, upper


def _transport(costs: Floats, p: LongFloats, q: LongFloats, error: float) -> tuple[float, float]:
    """Bracket of the transport problem's optimum, for costs (n, m) that are at most 1, by HiGHS.

    `error` is relative, of the shares p and q and of the sums of their like.
    """
    from scipy import sparse
    from scipy.optimize import linprog

    n, m = costs.shape
    rows = sparse.vstack(
        [sparse.kron(sparse.eye_array(n), np.ones((1, m))), sparse.kron(np.ones((1, n)), sparse.eye_array(m))]
    )
    sums = np.concatenate([p, q]).astype(np.float64)
    require_time("the transport was planned")
    limit = {"time_limit": seconds_left()} if deadline() < math.inf else {}
    solving = partial(linprog, costs.ravel(), A_eq=sparse.csr_array(rows), b_eq=sums, options=limit)
    solved = interruptible(solving, Event(), "the transport was planned")
    plan, g = np.outer(p, q).astype(np.float64), np.zeros(m)
    if solved.x is not None:
        plan, f = np.maximum(solved.x.reshape(n, m), 0.0), solved.eqlin.marginals[:n]
        g = (costs - f[:, None]).min(axis=0)
    lower = _priced(costs, p.astype(np.float64), q.astype(np.float64), g, error)
    return lower, _planned(costs, p, q, plan, error)


def _priced(costs: Floats, p: Floats, q: Floats, g: Floats, error: float = 0.0) -> float:
    """Lower bound by prices g of the columns and the best of the rows to go with them, rounded down.

    Prices of the rows lose 2^-52 (1 + max |g|) by rounding, products with shares `error` and 2^-51 relatively.
    """
    g = g - 0.5 * (g.max() + g.min())
    f = np.concatenate([(costs[rows] - g).min(axis=1) for rows in blocks(len(costs), _ROWS_AT_ONCE)])
    f -= 2.0 * _EPS * (1.0 + float(np.abs(g).max()))
    terms = np.concatenate([p * f, q * g])
    return math.fsum(terms) - (error + 4.0 * _EPS) * math.fsum(np.abs(terms))


def _planned(costs: Floats, p: LongFloats, q: LongFloats, plan: Floats, error: float) -> float:
    """Upper bound by a plan near to one that is admitted, rounded up.

    Cut down until no row and no column has more than its share, and completed anyhow: the mass completed is at most the
    sum of all differences from the shares, and moving it costs at most 1. `error` is relative, of either share.
    """
    moved = plan.astype(np.longdouble)
    left_over = np.abs(p - moved.sum(axis=1)).sum() + np.abs(q - moved.sum(axis=0)).sum()
    rounding = 8.0 * (error + _EPS)
    return math.fsum((plan * costs).ravel()) * (1.0 + rounding) + float(left_over) + rounding


_UNIT_ROUNDING = 2.0**-51  # of a point that was centred and divided, relative to its distance from the centre
_REMEDY = "compare with a sample of the target, wasserstein_distance(draws, other_draws)"
_TAILS = (
    "beyond the points where the cdf was evaluated its tails were taken to go on falling as fast as they do there; "
    "give Target tail_integrals= for a proof"
)
_RESOLUTION = 1e-11  # of the largest coordinate: distances that are zero but for rounding


@dataclass(frozen=True, eq=False, repr=False)
class WassersteinDistance(Measured):
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
    title: ClassVar[str] = "Wasserstein distance"
    meaning: ClassVar[str] = (
        "It is the mean distance by which the sample's mass must be moved to become the target, in the unit of the "
        "draws. It needs the target's cdf, and sees a mode that no draw has visited."
    )
    claim: Claim

    @property
    def claims(self) -> Claim:
        """What the bracket claims."""
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
        If the samples do not fit together, hold values other than 0 that are not between 1e-100 and 1e100 in size, the
        cdf is none, or the distance is infinite as the target has no mean.
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
    if points.weightless:
        notes = (f"{points.weightless} of {len(sample)} draws have weight zero and were left out",)
    if isinstance(target_or_draws, Target):
        if other_weights is not None:
            raise UsageError("other_weights are for another sample; a target has none: drop them")
        lower, upper, more = _to_target(sample, points, target_or_draws, wanted)
        notes += more
    else:
        other = _weighted(target_or_draws, other_weights, "other_weights")
        lower, upper = _to_sample(sample, other, chosen)
        arrays = {"points": sample.points, "weights": sample.weights, "others": other.points}
        with instance_kept(**arrays, other_weights=other.weights):
            require_ordered(lower, upper)
    if sample.dim == 1 and chosen.kind != "raw":
        lower, upper = lower / chosen.scale.item() * (1.0 - _EPS), upper / chosen.scale.item() * (1.0 + _EPS)
    result = WassersteinDistance(
        lower=max(lower, 0.0),
        upper=upper,
        claim="found" if isinstance(target_or_draws, Target) else "proved",
        sample=points,
        units=chosen,
        tolerance=wanted,
        seconds={"distance": time.perf_counter() - began},
        warnings=notes,
    )
    largest = float(np.abs(points.points / chosen.scale).max())
    if result.upper <= _RESOLUTION * largest:  # a distance of 0 has no relative width
        return result
    cause, remedy = "", "Give Target tail_integrals=, the integrals of its cdf, or thin the sample"
    if seconds_left() == 0.0:
        cause, remedy = " (time ran out)", "Allow more time (max_seconds, --max-seconds), or thin the sample"
    return accepted(result, "the Wasserstein distance", cause, remedy)


def _weighted(draws: DrawsLike, weights: ArrayLike | None, what: str) -> Sample:
    sample = as_sample(draws)
    if weights is not None and sample.weights is not None:
        raise UsageError(f"{what} were given, but the sample carries its own; drop one of the two")
    sample = replace(sample, weights=sample.weights if weights is None else np.asarray(weights), scores=None)
    require_range(sample.points, "draws")
    if sample.weights is not None:
        require_range(sample.weights, what)
    return sample


def _to_target(
    sample: Sample, points: DistinctSample, target: Target, tolerance: float
) -> tuple[float, float, tuple[str, ...]]:
    """Bracket of the distance to a target, and what its reader should know."""
    from steinkit.discrepancy.wasserstein_from_cdf import distance_by_halving, distance_by_integrals

    if sample.dim != 1 or (target.dim is not None and target.dim != 1):
        raise UsageError(
            "the Wasserstein distance to a target can be computed in one dimension; the draws have "
            f"{sample.dim}, the target {target.dim or 'any'}: {_REMEDY}"
        )
    if not target.has_cdf:
        raise UsageError(
            f"the Wasserstein distance needs the target's cdf and {target.label} has none: pass cdf= to Target, or "
            f"{_REMEDY}"
        )
    require_names(sample, target)
    order = np.argsort(points.points[:, 0])
    sums = np.cumsum(masses(sample, points)[order])
    added = 0.0 if sample.weights is None else 4.0 * _LONG * len(sample)  # whole numbers are added exactly
    known = points.points[order, 0], np.asarray(sums[:-1] / sums[-1], dtype=np.float64), 2.0**-53 + 2.0 * _LONG + added
    notes: tuple[str, ...] = ()
    if target.has_tail_integrals:
        lower, upper = distance_by_integrals(*known, target)
    else:
        lower, upper = distance_by_halving(*known, target, tolerance)
        notes = (_TAILS,) if target.bounds is None or not np.isfinite(target.bounds).all() else ()
    if not np.isfinite(upper):
        raise InputError(
            f"the Wasserstein distance to {target.label} is infinite: its tails are so heavy that it has no mean; "
            "use graph_stein_discrepancy"
        )
    return lower, upper, notes


def _to_sample(sample: Sample, other: Sample, units: Units) -> tuple[float, float]:
    """Bracket of the distance between two samples, in units where there are several dimensions."""
    if sample.dim != other.dim:
        raise InputError(
            f"the draws have {sample.dim} coordinates and the other draws {other.dim}; both need the same number"
        )
    if sample.dim == 1:
        return distance_on_the_line(sample, other)
    if units.kind == "raw":
        return distance_in_space(sample, other)
    sample, other = (replace(each, points=units.points(each.points)) for each in (sample, other))
    require_range(np.concatenate([sample.points, other.points]), "draws in these units")
    lower, upper = distance_in_space(sample, other)
    shift = _UNIT_ROUNDING * sum(float(np.hypot.reduce(np.abs(each.points).max(axis=0))) for each in (sample, other))
    return lower - shift, upper + shift
