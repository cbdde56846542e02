"""Sliced graph Stein discrepancy with one univariate program per coordinate.

**A slice** is the discrepancy over functions of one linear coordinate u = v.x. For g(x) = w phi(v.x) with w = v /
|v|^2, the Langevin operator gives

    h(x) = phi(u) s(x).w + phi'(u),        E_P h = 0 for every target P with score s.

The expression uses the *full* score s, so no marginal of P is needed. Let |phi| <= c1 and |phi'| <= c2, and let phi'
have Lipschitz constant c3. The largest mean of h over these functions is the optimum of the univariate program on the
sorted u, with s.w in place of the score. Because the objective is linear, draws with equal u are merged into one point
with the mean of their s.w.

The discrepancy uses the coordinate axes as directions v. The test in `sliced_goodness_of_fit` also uses principal axes.
The brackets along coordinates include the rounding error of the mean of s.w.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from steinkit import double_double
from steinkit.blind_spots import far_apart
from steinkit.containers.reading import DrawsLike
from steinkit.discrepancy.bracket import Bracketed, refuse_wide, sum_of_brackets, tolerance_of
from steinkit.discrepancy.graph.discrepancy import graph_stein_discrepancy
from steinkit.discrepancy.graph.programs.matrix_form import UNIT_ROUNDOFF
from steinkit.discrepancy.graph.programs.stein_program import SteinFactors
from steinkit.double_double import Pair
from steinkit.errors import Caution, InputError, cautious
from steinkit.measurement import Term, terms_of
from steinkit.runtime.deadlines import require_time, within_time
from steinkit.runtime.progress import progress_bar
from steinkit.sample import DistinctSample, Floats
from steinkit.scored_sample import ScoredSample
from steinkit.target import Target
from steinkit.units import Units, UnitsLike

_APART = 1e-100  # smallest distance between spline nodes in standard units; at smaller distances, coefficients overflow


@dataclass(frozen=True, eq=False)
class Slice(Bracketed):
    """Solved program for one direction.

    Attributes
    ----------
    direction : ndarray, shape (d,)
        Direction v, with u = v.x.
    lower, upper : float
        Bounds on the largest mean of h.
    positions : ndarray, shape (m,)
        Distinct values of u in ascending order.
    phi, slope : ndarray, shape (m,)
        Values and derivatives, at the positions, of a function that attains `lower`.
    bounds : tuple of two floats
        Bounds of u. Missing bounds are infinite.
    """

    direction: Floats
    lower: float
    upper: float
    positions: Floats
    phi: Floats
    slope: Floats
    bounds: tuple[float, float] = (-np.inf, np.inf)

    def test_function(self, points: Floats, scores: Floats) -> Floats:
        """Compute the test function h at the given points from their scores.

        The arrays have shape (m, d), and the result has shape (m,), in the units of the slice.

        The function phi is a cubic Hermite spline between its nodes. Beyond the outermost nodes, phi is a parabola that
        vanishes at the bound, or a constant if there is no bound. The test function h has mean zero under the target.
        """
        return self.along(*(each[0] for each in projected(self.direction[None], points, scores)))

    def along(self, u: Floats, pull: Floats) -> Floats:
        """Compute h from u = v.x and pull = s.w as an array of shape (m,)."""
        nodes, phi, slope = self._nodes()
        if len(nodes) == 1:
            return np.asarray(phi[0] * pull)
        inside = np.clip(u, nodes[0], nodes[-1])
        with np.errstate(over="ignore", invalid="ignore"):  # cubes of positions may overflow
            value, derivative = _cubic_spline(nodes, phi, slope, inside)
            return np.asarray(value * pull + np.where(inside == u, derivative, 0.0))

    def _nodes(self) -> tuple[Floats, Floats, Floats]:
        """Return the positions, values and slopes at the nodes and at finite bounds."""
        nodes, phi, slope = self.positions, self.phi, self.slope
        for end, bound in ((0, self.bounds[0]), (-1, self.bounds[1])):
            if np.isfinite(bound) and nodes[end] != bound:
                place = 0 if end == 0 else len(nodes)
                chord = phi[end] / (nodes[end] - bound)
                slope = np.insert(slope, place, 2.0 * chord - slope[end])
                nodes, phi = np.insert(nodes, place, bound), np.insert(phi, place, 0.0)
        apart = np.concatenate([[True], np.diff(nodes) > _APART])
        return nodes[apart], phi[apart], slope[apart]


def solve_slice(
    direction: Floats,
    points: Floats,
    scores: Floats,
    weights: Pair,
    *,
    bounds: Floats | None,
    stein_factors: tuple[float, float, float],
    tolerance: float,
) -> Slice:
    """Solve the program for one direction.

    The bracket is proved if the direction is a coordinate axis.

    The relative rounding error is one unit roundoff for a mean of s.w and two for its weight. The rounding error
    of sums over draws, relative to the sum of |s.w|, is `double_double.ROUNDING`.

    Parameters
    ----------
    direction : ndarray, shape (d,)
    points, scores : ndarray, shape (n, d)
    weights : tuple of two ndarray, shape (n,)
        Weights in double-double format.
    bounds : ndarray, shape (1, 2), optional
        Bounds of u, for a coordinate.
    stein_factors : tuple of three floats
    tolerance : float
    """
    require_time("solving slices")
    ((along,), (pulls,)) = projected(direction[None], points, scores)
    u, (mass, _), pull = merged(along, pulls, weights)
    value, slope, _ = stein_factors
    moved, summed = float(mass @ np.abs(pull)), float(weights[0] @ np.abs(pulls))
    rounding = double_double.ROUNDING * value * summed + 4.0 * UNIT_ROUNDOFF * (value * moved + slope)
    rounding = 1.01 * rounding + double_double.UNDERFLOW * (value + slope)
    found = graph_stein_discrepancy(
        u[:, None], scores=pull[:, None], weights=mass, bounds=bounds, stein_factors=stein_factors, tolerance=tolerance
    )
    return Slice(
        direction=direction,
        lower=max(found.lower - rounding, 0.0),
        upper=found.upper + rounding,
        positions=u,
        phi=found.g[:, 0],
        slope=found.grad_g[:, 0, 0],
        bounds=(-np.inf, np.inf) if bounds is None else (float(bounds[0, 0]), float(bounds[0, 1])),
    )


def projected(directions: Floats, points: Floats, scores: Floats) -> tuple[Floats, Floats]:
    """Return u = v.x and s.w for k directions v as arrays of shape (k, n).

    Here, w = v / |v|^2. The results have no rounding errors along a coordinate axis.

    Raises
    ------
    InputError
        If a result overflows.
    """
    along, pulls = np.empty((2, len(directions), len(points)))
    single = (np.count_nonzero(directions, axis=1) == 1) & (directions.max(axis=1) == 1.0)
    j, others = directions[single].argmax(axis=1), directions[~single]
    along[single], pulls[single] = points[:, j].T, scores[:, j].T
    with np.errstate(over="ignore", invalid="ignore"):
        along[~single] = others @ points.T
        pulls[~single] = (others / np.einsum("kd,kd->k", others, others)[:, None]) @ scores.T
    if not (np.isfinite(along).all() and np.isfinite(pulls).all()):
        raise InputError("draws or scores overflow along a direction: rescale them")
    return along, pulls


def merged(along: Floats, pulls: Floats, weights: Pair) -> tuple[Floats, Pair, Floats]:
    """Return the sorted distinct values of u, with the weights and the means of s.w.

    The means remain accurate if their terms nearly cancel.
    """
    u, inverse = np.unique(along, return_inverse=True)
    moments = double_double.times(weights, (pulls, np.zeros_like(pulls)))
    mass, moment = (double_double.sums_in_groups(terms, inverse, len(u)) for terms in (weights, moments))
    return u, mass, double_double.ratio(moment, mass)[0]


def _cubic_spline(nodes: Floats, phi: Floats, slope: Floats, u: Floats) -> tuple[Floats, Floats]:
    """Evaluate a cubic Hermite spline and its derivative.

    The points u lie in [nodes[0], nodes[-1]].
    """
    step = np.diff(nodes)
    chord = np.diff(phi) / step
    turn = (slope[:-1] + slope[1:] - 2.0 * chord) / step
    cubic, square = turn / step, (chord - slope[:-1]) / step - turn
    order = np.argsort(u)  # lookups are faster in sorted order
    at = np.empty(len(u), dtype=np.int64)
    at[order] = np.searchsorted(nodes[1:-1], u[order], side="right")
    s, first, second, third = u - nodes[at], slope[at], square[at], cubic[at]
    value = phi[at] + first * s + second * (s * s) + third * (s * s * s)
    return value, first + second * s * 2.0 + third * (s * s) * 3.0


@dataclass(frozen=True, eq=False, repr=False)
class SlicedSteinDiscrepancy(Bracketed):
    """Sum of the univariate graph Stein discrepancies of the coordinates.

    Attributes
    ----------
    lower, upper : float
        Proved bounds on the sum.
    slices : tuple of Slice
        Slice of each coordinate, with its bracket, an optimal function phi, and the test function h.
    direction_names : tuple of str
        Names of the coordinates.
    units : Units
        Units of the brackets and of phi.
    sample : DistinctSample
        Points in raw units, with weights, counts and names.
    scores : ndarray, shape (n, d)
        Score of the target at the distinct points, in raw units.
    seconds : dict of str to float
        Wall time of the stages "scores" and "solve".
    warnings : tuple of str
        Notes on the sample and on wide brackets.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> draws = np.random.default_rng(0).standard_normal((500, 2)) * [1.0, 1.5]
    >>> result = sk.sliced_stein_discrepancy(draws, sk.targets.Normal([0.0, 0.0]), units="raw")
    >>> result.direction_names[result.direction_values.argmax()]
    'x2'
    """

    measure: ClassVar[str] = "sliced"
    title: ClassVar[str] = "sliced graph Stein discrepancy"
    meaning: ClassVar[str] = (
        "The discrepancy is the sum over the coordinates of the largest mean of h over functions of that coordinate, "
        "where h has mean 0 under the target. In every dimension, it decreases as n^(-1/2) with the number n of "
        "draws and increases if the sample is too narrow. The discrepancy does not detect errors that are not visible "
        "in any individual coordinate, or modes that no draw visited."
    )
    smallest_is_no_proof: ClassVar[str] = "; a low value alone does not prove that a sample is good"

    lower: float
    upper: float
    slices: tuple[Slice, ...]
    direction_names: tuple[str, ...]
    units: Units
    sample: DistinctSample
    scores: Floats
    seconds: dict[str, float]
    warnings: tuple[str, ...]

    @property
    def direction_values(self) -> Floats:
        """Midpoints of the d brackets, one per coordinate."""
        return np.array([each.value for each in self.slices])

    @property
    def test_functions(self) -> Floats:
        """Test functions h of all d coordinates at the n distinct points.

        The means of these functions are the lower bounds.
        """
        points, scores = self.units.points(self.sample.points), self.units.scores(self.scores)
        return np.column_stack([each.test_function(points, scores) for each in self.slices])

    @property
    def terms(self) -> tuple[Term, ...]:
        """Contributions of the coordinates to the discrepancy."""
        lower, upper = ([getattr(each, side) for each in self.slices] for side in ("lower", "upper"))
        return terms_of(self.direction_names, lower, upper)

    @property
    def _extent(self) -> str:
        return f"{len(self.sample)} points in {self.sample.dim} dimensions, {self.units.kind} units"


@cautious
@within_time
def sliced_stein_discrepancy(
    draws: DrawsLike,
    target: Target | None = None,
    *,
    scores: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bounds: ArrayLike | None = None,
    units: UnitsLike = "own",
    stein_factors: tuple[float, float, float] = (1.0, 1.0, 1.0),
    tolerance: float = 1e-3,
    max_seconds: float | None = None,
) -> SlicedSteinDiscrepancy:
    """Compute the sliced graph Stein discrepancy of a sample.

    The Stein functions depend on one coordinate at a time.

    The discrepancy is a lower bound on Gorham and Mackey's Stein discrepancy. Unlike the graph Stein discrepancy, the
    sliced discrepancy does not saturate in high dimensions. The sliced discrepancy decreases as n^(-1/2) with the
    number n of draws. The running time is linear in the number of draws and in the number of coordinates.

    Parameters
    ----------
    draws : Sample or array_like, shape (n,), (n, d) or (chains, draws, d)
        The sample, in any form that `as_sample` accepts. Repeated points are merged, and their weights are added.
    target : Target, optional
        Target distribution. Exactly one source of scores is required: `target`, `scores`, or scores stored in `draws`.
    scores : array_like, shape (n, d), optional
        Score of the target at each draw.
    weights : array_like, shape (n,), optional
        Weights of the draws, up to a constant factor.
    bounds : array_like, shape (d, 2) or (2,), optional
        Bounds of the support. The default is the bounds of the target.
    units : {"own", "raw"}, array_like of shape (d,), Units or mapping, default "own"
        Scale by which the draws are divided and the scores are multiplied. The scales are the standard deviations of
        the draws ("own"), 1 ("raw"), or a scale for each coordinate. Samples that are compared must use the same scale.
    stein_factors : tuple of three floats, default (1, 1, 1)
        Bounds (c1, c2, c3) on phi, on phi', and on the Lipschitz constant of phi'.
    tolerance : float, default 1e-3
        Largest accepted relative width of the bracket of each coordinate, (upper - lower) / upper.
    max_seconds : float, optional
        Time limit in seconds.

    Returns
    -------
    SlicedSteinDiscrepancy
        The bracket, and the value and an optimal phi for each coordinate.

    Raises
    ------
    UsageError, InputError, SolverError
        See `graph_stein_discrepancy`.

    Notes
    -----
    Dependence between coordinates affects the discrepancy only through the score. Two samples can have similar values
    if they contain the same draws of each coordinate in different combinations. Modes that no draw visited are not
    detected.

    References
    ----------
    .. [1] J. Gorham and L. Mackey, "Measuring sample quality with Stein's method", NeurIPS 2015.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> draws, target = np.random.default_rng(0).standard_normal((1000, 10)), sk.targets.Normal(0.0, dim=10)
    >>> exact, narrow = (sk.sliced_stein_discrepancy(x, target, units="raw") for x in (draws, 0.9 * draws))
    >>> narrow.lower > 2 * exact.upper
    True
    """
    tolerance = tolerance_of(tolerance, 1e-3)
    began = time.perf_counter()
    SteinFactors.of(stein_factors)
    prepared = ScoredSample.of(draws, target, scores=scores, weights=weights, bounds=bounds)
    sample = prepared.points
    chosen = Units.of(units, sample)
    if chosen.kind != "raw":  # in raw units, moving the origin to a bound would round the draws
        chosen = chosen.from_bounds(prepared.bounds)
    limits: list[Floats | None] = [None] * sample.dim
    if prepared.bounds is not None:
        limits = [each[None] if np.isfinite(each).any() else None for each in chosen.limits(prepared.bounds)]
    points, scaled = chosen.points(sample.points), chosen.scores(prepared.scores)
    scored = time.perf_counter()
    masses = sample.weights, sample.weights_low
    from steinkit.runtime.compilation import GRAPH_SECONDS, small_work

    with small_work(GRAPH_SECONDS * sample.points.size):
        slices = tuple(
            solve_slice(axis, points, scaled, masses, bounds=each, stein_factors=stein_factors, tolerance=tolerance)
            for axis, each in progress_bar("slices", sample.dim, steps=zip(np.eye(sample.dim), limits, strict=True))
        )
    lower, upper = sum_of_brackets((each.lower for each in slices), (each.upper for each in slices))
    wide = tuple(
        Caution(
            f"{name} lies in {each.bracket}: the bracket's relative width is {each.gap:.1e}, but the requested width "
            f"is {tolerance:g}"
        )
        for name, each in zip(sample.names, slices, strict=True)
        if each.gap > tolerance
    )
    result = SlicedSteinDiscrepancy(
        lower=lower,
        upper=upper,
        slices=slices,
        direction_names=sample.names,
        units=chosen,
        sample=sample,
        scores=prepared.scores,
        seconds={"scores": scored - began, "solve": time.perf_counter() - scored},
        warnings=(*prepared.notes, *far_apart(sample, prepared.scores, chosen), *wide),
    )
    refuse_wide(
        result,
        f"the discrepancy lies in {result.bracket}: the bracket's relative width is {result.gap:.1e}",
        "If the scores of neighboring draws nearly cancel, precision is lost: rescale the draws, or thin the sample",
    )
    return result
