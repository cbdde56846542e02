"""The Wasserstein distance W_1 between a sample and a target of one dimension, or between two samples.

In one dimension W_1(Q, P) is the integral of |F_Q - F_P| over the line. It is also the largest difference of means over
the functions with Lipschitz constant 1, in one dimension and in more: between two samples, the optimum of a transport
problem.

**To a target.** F_Q is constant between neighboring points. Where it is c and crosses F_P at t, the integral over
[a, b] is that of c - F_P over [a, t] and of F_P - c over [t, b]; any other t gives a lower bound. Let B be the integral
of F_P below x and A that of 1 - F_P above x. Over a run of pieces from y to z on which F_Q - F_P keeps its sign s,

    integral of |F_Q - F_P|  =  s (sum c h - B(z) + B(y))  =  s (A(y) - A(z) - sum (1 - c) h),

where h are lengths of pieces: the first is the more accurate one where F_P < 1/2, the second elsewhere. Errors of F_P
and of its integrals, and of F_Q, are in the bracket. The error of a cdf is relative to the cdf, that of an integral
relative to E|X - x|.

**Between two samples** every rounding is in the bracket. In one dimension the distance is the integral of |F - G|. In
several it is the optimum of the transport problem

    minimise  sum_ij T_ij c_ij   subject to   T >= 0,   sum_j T_ij = p_i,   sum_i T_ij = q_j,     c_ij = |x_i - y_j|.

Any plan T bounds it from above, and any prices f, g with f_i + g_j <= c_ij from below, by p'f + q'g [1]_: whatever
solver they come from. Prices are made to fit by f_i = min_j (c_ij - g_j), a plan by scaling its rows and columns down
to the shares and sending the rest anyhow [2]_.

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
from steinkit.runtime.deadlines import deadline, interruptible, require_time, seconds_left, within_time
from steinkit.sample import DistinctSample, Floats, Sample
from steinkit.scored_sample import require_names
from steinkit.target import Target
from steinkit.units import Units, UnitsLike

if TYPE_CHECKING:
    from steinkit.result import Claim

LongFloats = NDArray[np.longdouble]

_LONG = float(np.finfo(np.longdouble).eps)
_EPS = 2.0**-52
_ROUNDING = 2.0**-49  # relative, of the arithmetic of a piece
_UNIT_ROUNDING = 2.0**-51  # of a point that was centred and divided, relative to its distance from the centre
_RESOLUTION = 1e-11  # of the largest coordinate: distances that are zero but for rounding
_HALVINGS = 400  # from 1e100 to an accuracy of 1e-20
_MOST_ASSIGNED = 5000
_MOST_PAIRS = 250_000
_CLOSE = 2.0**-40  # relative width at which prices are good enough
_REMEDY = "compare with a sample of the target, wasserstein_distance(draws, other_draws)"


@dataclass(frozen=True, eq=False, repr=False)
class WassersteinDistance(Measured):
    """A Wasserstein distance with its bracket.

    Attributes
    ----------
    lower, upper : float
        The distance, in `units`, lies in [lower, upper].
    claim : {"proved", "found"}
        "proved" between samples, where every rounding is in the bracket. To a target the bracket is "found": it rests
        on the accuracy of its cdf, `Target.cdf_accuracy`, which was measured or is assumed.
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
        A target must have one dimension, a cdf and tail integrals. The distance between two samples is that of
        Euclidean distance; in several dimensions for up to 5000 draws without weights on each side, or 250,000 pairs.
    weights, other_weights : array_like, shape (n,), optional
        Weights of the draws and of the other sample's, in any unit.
    units : {"own", "raw"}, array_like of shape (d,), Units, or mapping
        In which the distance is meant: none, which is the definition; the standard deviations of `draws`; or a scale
        for each coordinate, as an array or by name, {"scale": {...}}. In one dimension it divides the distance.
    tolerance : float, optional
        Widest relative bracket (upper - lower)/upper accepted; 1e-6 if not given.
    max_seconds : float, optional
        Time, from the call on, after which to give up. A cdf under way is not cut short.

    Returns
    -------
    WassersteinDistance
        The distance, in a bracket.

    Raises
    ------
    UsageError
        If the target has no tail integrals or several dimensions, a setting cannot be honoured, or the samples are too
        large.
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
    taken to be accurate to 1e-13.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> result = sk.wasserstein_distance(np.random.default_rng(7).random(1000), sk.targets.Uniform())
    >>> round(result.value, 9)
    0.006062289
    """
    wanted = tolerance_of(tolerance, 1e-6)
    began = time.perf_counter()
    sample = _weighted(draws, weights, "weights")
    points = sample.distinct()
    chosen = Units.of(units, points)
    weightless = f"{points.weightless} of {len(sample)} draws have weight zero and were left out"
    if isinstance(target_or_draws, Target):
        if other_weights is not None:
            raise UsageError("other_weights are for another sample; a target has none: drop them")
        lower, upper = _to_target(sample, points, target_or_draws)
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
        warnings=(weightless,) if points.weightless else (),
    )
    if result.upper <= _RESOLUTION * float(np.abs(points.points / chosen.scale).max()):
        return result  # a distance of 0 has no relative width
    cause = "" if seconds_left() else " (time ran out)"
    return accepted(result, "the Wasserstein distance", cause, "Allow more time (max_seconds), or thin the sample")


def _weighted(draws: DrawsLike, weights: ArrayLike | None, what: str) -> Sample:
    sample = as_sample(draws)
    if weights is not None and sample.weights is not None:
        raise UsageError(f"{what} were given, but the sample carries its own; drop one of the two")
    sample = replace(sample, weights=sample.weights if weights is None else np.asarray(weights), scores=None)
    require_range(sample.points, "draws")
    if sample.weights is not None:
        require_range(sample.weights, what)
    return sample


def _masses(sample: Sample, points: DistinctSample) -> LongFloats:
    """Return the weight of each distinct point, shape (n,); exact without weights."""
    weights = np.ones(len(sample)) if sample.weights is None else sample.weights
    sums, carried = np.zeros(len(points), dtype=np.longdouble), points.inverse >= 0
    np.add.at(sums, points.inverse[carried], weights[carried].astype(np.longdouble))
    return sums


def _to_target(sample: Sample, points: DistinctSample, target: Target) -> tuple[float, float]:
    """Bracket the distance to a target."""
    if sample.dim != 1 or (target.dim is not None and target.dim != 1):
        raise UsageError(
            "the Wasserstein distance to a target can be computed in one dimension; the draws have "
            f"{sample.dim}, the target {target.dim or 'any'}: {_REMEDY}"
        )
    if not target.has_tail_integrals:
        raise UsageError(
            f"expected a target with a cdf and tail integrals, got {target.label}: pass cdf= and tail_integrals= to "
            f"Target, or {_REMEDY}"
        )
    require_names(sample, target)
    order = np.argsort(points.points[:, 0])
    x, sums = points.points[order, 0], np.cumsum(_masses(sample, points)[order])
    levels = np.asarray(sums[:-1] / sums[-1], dtype=np.float64)
    if len(x) == 1:
        x, levels = np.repeat(x, 2), np.array([0.5])
    error = 2.0**-53 + 2.0 * _LONG + (0.0 if sample.weights is None else 4.0 * _LONG * len(sample))
    lower, upper = _between_cdfs(x, levels, error, target)
    if not np.isfinite(upper):
        raise InputError(
            f"the Wasserstein distance to {target.label} is infinite: its tails are so heavy that it has no mean; "
            "use graph_stein_discrepancy"
        )
    return lower, upper


def _between_cdfs(x: Floats, levels: Floats, error: float, target: Target) -> tuple[float, float]:
    """Bracket the integral of |F_Q - F_P|, for F_Q at ``levels`` between the points ``x``, up to an error."""
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
    if not (integrals >= 0.0).all():  # also refuses NaN
        raise InputError(
            "expected tail_integrals that are means of max(x - X, 0) and of max(X - x, 0), which are not negative; "
            f"got {np.min(integrals)}"
        )
    outside = float(integrals[0, 0] + integrals[-1, 1])
    if not math.isfinite(outside):
        return math.inf, math.inf
    parts = h * np.where(falling, level, 1.0 - level)
    share, change = np.add.reduceat(parts, starts), np.diff(integrals, axis=0)
    area = sign * np.where(run_falls, share - change[:, 0], -change[:, 1] - share)
    wrong, doubt = target.cdf_accuracy * integrals.sum(axis=1), np.repeat(doubt, 3)[pieces]
    unsure = np.where(pieces % 3 == 1, 2.0 * (doubt + cdf[1:] - cdf[:-1]), 0.0)  # a crossing may be anywhere there
    slack = np.add.reduceat(h * (error + unsure), starts) + _ROUNDING * (share + np.abs(area)) + wrong[:-1] + wrong[1:]
    nearest = np.maximum(np.maximum(cdf[:-1] - level, level - cdf[1:]), 0.0)
    furthest = np.maximum(level - cdf[:-1], cdf[1:] - level)
    least, most = (np.add.reduceat(h * each, starts) for each in (nearest - doubt, furthest + doubt))
    misfit = np.flatnonzero(~((area + slack >= least) & (area - slack <= most)))
    if misfit.size:
        a, b = ends[misfit[0]], ends[misfit[0] + 1]
        raise InputError(
            f"the target's tail_integrals do not fit its cdf between {a:.6g} and {b:.6g}: "
            "expected the integral of the cdf below x, and that of 1 - cdf above it"
        )
    distance = outside + float(area.sum())
    total = float(slack.sum() + wrong[0] + wrong[-1]) + 4.0 * _ROUNDING * (outside + distance)
    return distance - total, distance + total


def _crossings(target: Target, x: Floats, cdf: Floats, levels: Floats) -> Floats:
    """Return the place between each two points up to which F_P is at most the level, by bisection."""
    low, high = x[:-1].copy(), x[1:].copy()
    ends_below, begins_above = cdf[1:] <= levels, cdf[:-1] >= levels
    low[ends_below], high[begins_above] = high[ends_below], low[begins_above]
    for _ in range(_HALVINGS):
        require_time("the cdf was evaluated")
        middle = 0.5 * low + 0.5 * high
        if not ((low < middle) & (middle < high)).any():
            break
        below = target.cdf(middle) < levels
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return low


def _cdf(target: Target, values: Floats) -> Floats:
    """Evaluate F_P at values that increase, where it must not fall."""
    found = target.cdf(values)
    least, accuracy = np.maximum.accumulate(np.append(0.0, found[:-1])), 2.0 * target.cdf_accuracy
    bad = np.flatnonzero(~((found >= least - accuracy) & (found <= 1.0 + accuracy)))
    if bad.size:
        raise InputError(
            f"the target's cdf is {found[bad[0]]} at {values[bad[0]]:.6g}; "
            "a cdf lies between 0 and 1 and never decreases"
        )
    return np.clip(found, 0.0, 1.0)


def _to_sample(sample: Sample, other: Sample, units: Units) -> tuple[float, float]:
    """Bracket the distance between two samples, in units where there are several dimensions."""
    if sample.dim != other.dim:
        raise InputError(
            f"the draws have {sample.dim} coordinates and the other draws {other.dim}; both need the same number"
        )
    if sample.dim == 1:
        return _on_the_line(sample, other)
    if units.kind == "raw":
        return _in_space(sample, other)
    sample, other = (replace(each, points=units.points(each.points)) for each in (sample, other))
    require_range(np.concatenate([sample.points, other.points]), "draws in these units")
    lower, upper = _in_space(sample, other)
    shift = _UNIT_ROUNDING * sum(float(np.hypot.reduce(np.abs(each.points).max(axis=0))) for each in (sample, other))
    return lower - shift, upper + shift


def _on_the_line(sample: Sample, other: Sample) -> tuple[float, float]:
    """Bracket the integral of |F - G|. Without weights F - G is exact; else its error counts over the whole length."""
    here, there = sample.distinct(), other.distinct()
    p, q = _masses(sample, here), _masses(other, there)
    x = np.concatenate([here.points[:, 0], there.points[:, 0]])
    order = np.argsort(x, kind="stable")
    widths, rounding = np.diff(x[order]), 4.0 * _LONG * (len(sample) + len(other))
    steps = np.concatenate([p * q.sum(), -q * p.sum()])[order]
    distance = float(np.abs(np.cumsum(steps)[:-1] / (p.sum() * q.sum())) @ widths)
    exact = sample.weights is None and other.weights is None
    slack = (rounding + 2.0 * _EPS) * distance + (0.0 if exact else 2.0 * rounding * float(widths.sum()))
    return distance - slack, distance + slack


def _in_space(sample: Sample, other: Sample) -> tuple[float, float]:
    """Bracket the transport problem's optimum, in several dimensions."""
    from scipy.spatial.distance import cdist

    here, there = sample.distinct(), other.distinct()
    assigned = len(sample) == len(other) <= _MOST_ASSIGNED and sample.weights is None and other.weights is None
    if not assigned and len(here) * len(there) > _MOST_PAIRS:
        raise UsageError(
            f"the Wasserstein distance in {sample.dim} dimensions was asked for between {len(here)} and {len(there)} "
            f"points; at most {_MOST_PAIRS:,} pairs are solved, or {_MOST_ASSIGNED} draws without weights on each "
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
        p, q = _masses(sample, here), _masses(other, there)
        lower, upper = _transport(costs, p / p.sum(), q / q.sum(), 4.0 * _LONG * (len(sample) + len(other)))
    error = (2 * sample.dim + 10) * _EPS  # relative, of each distance
    return largest * (lower - error * abs(lower)), largest * (1.0 + 2.0 * error) * upper


def _assignment(costs: Floats) -> tuple[float, float]:
    """Bracket the mean cost of the best assignment, for costs (n, n) that are at most 1.

    In an optimal assignment sigma no cycle of exchanges gains anything, so that the prices g of columns are lengths of
    shortest paths in the graph of exchanges, c_(i j) - c_(i sigma(i)); Bellman and Ford's sweeps find them.
    """
    from scipy.optimize import linear_sum_assignment

    n, assigning = len(costs), partial(linear_sum_assignment, costs)
    matched = interruptible(assigning, Event(), "draws were assigned to each other", has_clock=False)
    costs = costs[:, matched[1]]  # the best is the diagonal now
    own, shares = costs.diagonal(), np.full(n, 1.0 / n)
    upper = math.fsum(own) / n * (1.0 + 2.0 * _EPS)
    g, lower = own - own.max(), -math.inf
    for _ in range(n):
        lower = max(lower, _priced(costs, shares, shares, g))
        before, g = g, np.minimum(g, (costs + (g - own)[:, None]).min(axis=0))
        if upper - lower <= _CLOSE * max(upper, _CLOSE) or (before - g).max() <= _EPS or seconds_left() == 0.0:
            break
    return max(lower, _priced(costs, shares, shares, g)), upper


def _transport(costs: Floats, p: LongFloats, q: LongFloats, error: float) -> tuple[float, float]:
    """Bracket the transport problem's optimum, for costs (n, m) that are at most 1, by HiGHS.

    `error` is relative, of the shares p and q and of the sums of their like. The plan is cut down until no row and no
    column has more than its share: the mass completed is at most the sum of all differences from the shares, and moving
    it costs at most 1.
    """
    from scipy import sparse
    from scipy.optimize import linprog

    n, m = costs.shape
    rows = [sparse.kron(sparse.eye_array(n), np.ones((1, m))), sparse.kron(np.ones((1, n)), sparse.eye_array(m))]
    sums = np.concatenate([p, q]).astype(np.float64)
    require_time("the transport was planned")
    limit = {"time_limit": seconds_left()} if deadline() < math.inf else {}
    equal = sparse.csr_array(sparse.vstack(rows))
    solving = partial(linprog, costs.ravel(), A_eq=equal, b_eq=sums, options=limit)
    solved = interruptible(solving, Event(), "the transport was planned")
    plan, g = np.outer(p, q), np.zeros(m)
    if solved.x is not None:
        plan, f = np.maximum(solved.x.reshape(n, m), 0.0).astype(np.longdouble), solved.eqlin.marginals[:n]
        g = (costs - f[:, None]).min(axis=0)
    left_over = float(np.abs(p - plan.sum(axis=1)).sum() + np.abs(q - plan.sum(axis=0)).sum())
    rounding = 8.0 * (error + _EPS)
    upper = math.fsum((plan * costs).ravel()) * (1.0 + rounding) + left_over + rounding
    return _priced(costs, sums[:n], sums[n:], g, error), upper


def _priced(costs: Floats, p: Floats, q: Floats, g: Floats, error: float = 0.0) -> float:
    """Return the lower bound by prices g of the columns and the best of the rows to go with them, rounded down.

    Prices of the rows lose 2^-52 (1 + max |g|) by rounding, products with shares `error` and 2^-51 relatively.
    """
    g = g - 0.5 * (g.max() + g.min())
    f = (costs - g).min(axis=1) - 2.0 * _EPS * (1.0 + float(np.abs(g).max()))
    terms = np.concatenate([p * f, q * g])
    return math.fsum(terms) - (error + 4.0 * _EPS) * math.fsum(np.abs(terms))
