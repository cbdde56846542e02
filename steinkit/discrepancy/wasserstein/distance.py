"""The Wasserstein distance W_1 between a sample and a target of one dimension, or between two samples.

In one dimension W_1(Q, P) is the integral of |F_Q - F_P| over the line. It is also the largest difference of means over
the functions with Lipschitz constant 1, in one dimension and in more. Between two samples x_i, y_j with weights p, q it
is the optimum of the transport problem

    minimise  sum_ij T_ij |x_i - y_j|   subject to   T >= 0,   sum_j T_ij = p_i,   sum_i T_ij = q_j.

References
----------
.. [1] C. Villani, "Topics in Optimal Transportation", AMS 2003, theorems 1.14 and 2.18.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from steinkit.containers.reading import DrawsLike, as_sample
from steinkit.discrepancy.bracket import Bracketed
from steinkit.discrepancy.preparation import require_names
from steinkit.discrepancy.tolerance import accepted
from steinkit.discrepancy.units import Units, UnitsLike
from steinkit.errors import InputError, UsageError, cautious, reservations
from steinkit.sample import DistinctSample, Floats, Sample
from steinkit.target import Target

_ROUNDING = 1e-12  # of the largest distance between two points, of the transport problem
_UNIT_ROUNDOFF = 2.0**-52
_WEIGHT_ROUNDING = 2.0**-50  # of a sum of weights that adds up to 1
_RESOLUTION = 1e-11  # of the largest coordinate: distances that are zero but for rounding
_MOST_ASSIGNED = 5000
_MOST_PAIRS = 250_000


@dataclass(frozen=True, eq=False)
class WassersteinDistance(Bracketed):
    """A Wasserstein distance with its bracket.

    Attributes
    ----------
    lower, upper : float
        The distance, in `units`, lies in [lower, upper]; the warnings say where the bracket rests on more than proof.
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

    lower: float
    upper: float
    sample: DistinctSample
    units: Units
    tolerance: float
    seconds: dict[str, float]
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        return (
            f"<WassersteinDistance {self.value:.6g} in {self.bracket}, "
            f"{len(self.sample)} points{reservations(self.warnings)}>"
        )


@cautious
def wasserstein_distance(
    draws: DrawsLike,
    target_or_draws: Target | DrawsLike,
    *,
    weights: ArrayLike | None = None,
    other_weights: ArrayLike | None = None,
    units: UnitsLike = "raw",
    tolerance: float | None = None,
) -> WassersteinDistance:
    """Measure the Wasserstein distance W_1, with a bracket, from a sample to a target or to another sample.

    Parameters
    ----------
    draws : Sample, array_like of shape (n,), (n, d) or (chains, draws, d), or what else `as_sample` takes
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

    Returns
    -------
    WassersteinDistance

    Raises
    ------
    UsageError
        If the target has no cdf or several dimensions, a setting cannot be honoured, or the samples are too large.
    InputError
        If the samples do not fit together, the cdf is none, or the distance is infinite as the target has no mean.
    SolverError
        If the answer could not be bracketed to within 10 %.

    Warns
    -----
    SteinkitWarning
        If the bracket is wider than `tolerance`.

    Notes
    -----
    The rounding allowance takes cdfs and their integrals to be accurate to 1e-13. A cdf alone proves nothing of its
    tails beyond the points where it is evaluated, of which the warnings tell.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> result = sk.wasserstein_distance(np.random.default_rng(7).random(1000), sk.targets.Uniform())
    >>> round(result.value, 9)
    0.006062289
    """
    if tolerance is not None and not 0.0 < tolerance < 1.0:
        raise UsageError(f"tolerance must lie between 0 and 1; received {tolerance}")
    began = time.perf_counter()
    sample = _weighted(draws, weights, "weights")
    points = sample.distinct()
    chosen = Units.of(units, points)
    notes = _notes_on(sample, points)
    if isinstance(target_or_draws, Target):
        if other_weights is not None:
            raise UsageError("other_weights are for another sample; a target has none: drop them")
        _require_cdf(target_or_draws, sample.dim)
        require_names(sample, target_or_draws)
        wanted = tolerance or (1e-6 if target_or_draws.has_tail_integrals else 1e-3)
        lower, upper, more = _to_target(points, target_or_draws, wanted)
        lower, upper = _over(lower, upper, chosen)
    else:
        wanted, more = tolerance or 1e-6, ()
        lower, upper = _to_sample(sample, _weighted(target_or_draws, other_weights, "other_weights"), chosen)
    result = WassersteinDistance(
        lower=max(lower, 0.0),
        upper=upper,
        sample=points,
        units=chosen,
        tolerance=wanted,
        seconds={"distance": time.perf_counter() - began},
        warnings=notes + more,
    )
    return _accept(result, _RESOLUTION * float(np.abs(points.points / chosen.scale).max()))


def _weighted(draws: DrawsLike, weights: ArrayLike | None, what: str) -> Sample:
    sample = as_sample(draws)
    if weights is None:
        return replace(sample, scores=None)
    if sample.weights is not None:
        raise UsageError(f"{what} were given, but the sample carries its own; drop one of the two")
    return replace(sample, weights=np.asarray(weights), scores=None)


def _notes_on(sample: Sample, points: DistinctSample) -> tuple[str, ...]:
    if not points.weightless:
        return ()
    return (f"{points.weightless} of {len(sample)} draws have weight zero and were left out",)


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


def _to_target(points: DistinctSample, target: Target, tolerance: float) -> tuple[float, float, tuple[str, ...]]:
    from steinkit.discrepancy.wasserstein.from_cdf import distance_by_halving, distance_by_integrals

    order = np.argsort(points.points[:, 0])
    x, q = points.points[order, 0], points.weights[order]
    notes: tuple[str, ...] = ()
    if target.has_tail_integrals:
        lower, upper = distance_by_integrals(x, q, target)
    else:
        lower, upper, notes = distance_by_halving(x, q, target, tolerance)
    if not np.isfinite(upper):
        raise InputError(
            f"the Wasserstein distance to {target.label} is infinite: its tails are so heavy that it has no mean; "
            "use graph_stein_discrepancy"
        )
    return lower, upper, notes


def _over(lower: float, upper: float, units: Units) -> tuple[float, float]:
    """The bracket of a distance on the line, in units."""
    if units.kind == "raw":
        return lower, upper
    (scale,) = units.scale.tolist()
    return math.nextafter(lower / scale, -math.inf), math.nextafter(upper / scale, math.inf)


def _to_sample(sample: Sample, other: Sample, units: Units) -> tuple[float, float]:
    """Bracket of the distance between two samples, in units."""
    if sample.dim != other.dim:
        raise InputError(
            f"the draws have {sample.dim} coordinates, the other draws {other.dim}; they must have as many"
        )
    if sample.dim == 1:
        return _over(*_on_the_line(sample, other), units)
    if units.kind != "raw":
        sample, other = (replace(each, points=units.points(each.points)) for each in (sample, other))
    equal = len(sample) == len(other) and _equally_weighted(sample) and _equally_weighted(other)
    if equal and len(sample) <= _MOST_ASSIGNED:
        from scipy.optimize import linear_sum_assignment
        from scipy.spatial.distance import cdist

        costs = cdist(sample.points, other.points)
        distance = float(costs[linear_sum_assignment(costs)].mean())
        slack = len(sample) * _UNIT_ROUNDOFF * float(costs.max())  # of as many paths, each found in double precision
        return distance - slack, distance + slack
    here, there = sample.distinct(), other.distinct()
    if len(here) * len(there) > _MOST_PAIRS:
        raise UsageError(
            f"the Wasserstein distance in {sample.dim} dimensions was asked for between {len(here)} and {len(there)} "
            f"points; at most {_MOST_PAIRS:,} pairs are solved, or {_MOST_ASSIGNED} equally weighted draws on each "
            "side: thin the samples"
        )
    return _transport(here, there)


def _on_the_line(sample: Sample, other: Sample) -> tuple[float, float]:
    """The integral of |F - G|, bracketed by rounding.

    Where all weights are equal, F - G is a whole number over the product of both numbers of draws, without an error.
    Otherwise its error counts over the whole length, which matters where some points lie far from the others.
    """
    places = np.concatenate([sample.points[:, 0], other.points[:, 0]])
    order = np.argsort(places, kind="stable")
    widths = np.diff(places[order])
    error = _WEIGHT_ROUNDING + 2.0 * len(places) * float(np.finfo(np.longdouble).eps)
    n, m = len(sample), len(other)
    if _equally_weighted(sample) and _equally_weighted(other):
        steps = np.concatenate([np.full(n, m), np.full(m, -n)])
        between = np.cumsum(steps[order])[:-1] / np.longdouble(n * m)
        uncertain = 0.0
    else:
        p, q = (one.probabilities.astype(np.longdouble) for one in (sample, other))
        between = np.cumsum(np.concatenate([p / p.sum(), -q / q.sum()])[order])[:-1]
        uncertain = float(widths.sum())
    distance = float(np.abs(between) @ widths)
    slack = error * (distance + uncertain)
    return distance - slack, distance + slack


def _equally_weighted(sample: Sample) -> bool:
    return bool(np.ptp(sample.probabilities) == 0.0)


def _transport(here: DistinctSample, there: DistinctSample) -> tuple[float, float]:
    """Solve the transport problem by HiGHS and bracket it: any prices give a lower bound, a mended plan an upper one.

    Prices f_i with g_j = min_i (c_ij - f_i) satisfy f_i + g_j <= c_ij, so that p'f + q'g is a lower bound [1]_. A plan
    is mended by scaling rows and columns down to the weights and sending what is left anyhow [2]_.

    References
    ----------
    .. [1] C. Villani, "Topics in Optimal Transportation", AMS 2003, theorem 1.3.
    .. [2] J. Altschuler, J. Weed and P. Rigollet, "Near-linear time approximation algorithms for optimal transport via
       Sinkhorn iteration", NeurIPS 2017, algorithm 2.
    """
    from scipy import sparse
    from scipy.optimize import linprog
    from scipy.spatial.distance import cdist

    costs, p, q = cdist(here.points, there.points), here.weights, there.weights
    n, m = costs.shape
    rows = sparse.vstack(
        [sparse.kron(sparse.eye_array(n), np.ones((1, m))), sparse.kron(np.ones((1, n)), sparse.eye_array(m))]
    )
    sums = np.concatenate([p, q])
    solved = linprog(costs.ravel(), A_eq=sparse.csr_array(rows), b_eq=sums)  # type: ignore[call-overload]
    plan, f = np.outer(p, q), np.zeros(n)
    if solved.x is not None:
        plan, f = np.maximum(solved.x.reshape(n, m), 0.0), solved.eqlin.marginals[:n]
    g = (costs - f[:, None]).min(axis=0)
    plan = plan * _shrunk(p, plan.sum(axis=1))[:, None]
    plan = plan * _shrunk(q, plan.sum(axis=0))
    left_here, left_there = np.maximum(p - plan.sum(axis=1), 0.0), np.maximum(q - plan.sum(axis=0), 0.0)
    if left_here.sum() > 0.0:
        plan = plan + np.outer(left_here, left_there) / left_here.sum()
    slack = _ROUNDING * float(costs.max())
    return float(p @ f + q @ g) - slack, float((plan * costs).sum()) + slack


def _shrunk(wanted: Floats, found: Floats) -> Floats:
    """Factors, at most 1, that take the sums found down to those wanted."""
    return np.minimum(1.0, wanted / np.where(found > 0.0, found, 1.0))


def _accept(result: WassersteinDistance, resolution: float) -> WassersteinDistance:
    """Refuse a bracket that is no answer, and warn of one wider than asked for; a distance of 0 has no relative one."""
    if result.upper <= resolution:
        return result
    remedy = "Give Target tail_integrals=, the integrals of its cdf, or thin the sample"
    return accepted(result, "the Wasserstein distance", "", remedy)
