"""The sliced graph Stein discrepancy of a sample: univariate programs along directions, each with its bracket.

**One slice** is the discrepancy over functions of one linear coordinate u = v.x. For g(x) = w phi(v.x) with
w = v / |v|^2 the Langevin operator gives

    h(x) = phi(u) s(x).w + phi'(u),        E_P h = 0 for every target P with score s,

with the *full* score s, so that no marginal of P is needed. The largest mean of h over |phi| <= c1, |phi'| <= c2 and
phi' with Lipschitz constant c3 is the univariate program on the sorted u with s.w in the place of the score. Draws with
the same u are one point with the mean of their s.w, since the objective is linear. A bracket allows for the rounding of
s.w and of these means; u is v.x as floating-point numbers have it, which for a coordinate is the coordinate itself.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from steinkit import double_double
from steinkit.arguments import real_numbers
from steinkit.blind_spots import far_apart
from steinkit.containers.reading import DrawsLike
from steinkit.discrepancy.bracket import Bracketed, refuse_wide, sum_of_brackets, tolerance_of
from steinkit.discrepancy.graph.discrepancy import graph_stein_discrepancy
from steinkit.discrepancy.graph.programs.matrix_form import UNIT_ROUNDOFF
from steinkit.discrepancy.graph.programs.stein_program import SteinFactors
from steinkit.double_double import Pair
from steinkit.errors import Caution, InputError, UsageError, cautious
from steinkit.measurement import Reference, Term, terms_of
from steinkit.result import Statement
from steinkit.runtime.deadlines import require_time, within_time
from steinkit.runtime.progress import progress_bar
from steinkit.sample import DistinctSample, Floats
from steinkit.scored_sample import ScoredSample
from steinkit.target import Target
from steinkit.text import listed
from steinkit.units import Units, UnitsLike

_APART = 1e-100  # of standard units, below which the coefficients of a spline overflow


@dataclass(frozen=True, eq=False)
class Slice(Bracketed):
    """The program along one direction.

    Attributes
    ----------
    direction : ndarray, shape (d,)
        v: u = v.x.
    lower, upper : float
        The largest mean of h lies in [lower, upper].
    positions : ndarray, shape (m,)
        The distinct u, ascending.
    phi, slope : ndarray, shape (m,)
        A function that attains `lower`, and its derivative, at the positions.
    bounds : tuple of two floats
        Of u; infinite where there are none.
    """

    direction: Floats
    lower: float
    upper: float
    positions: Floats
    phi: Floats
    slope: Floats
    bounds: tuple[float, float] = (-np.inf, np.inf)

    def test_function(self, points: Floats, scores: Floats) -> Floats:
        """h at any points with their scores, (m, d), (m, d) -> (m,), in the units of the slice.

        phi is continued as a cubic Hermite spline between its positions, as a parabola to zero at a bound, and as a
        constant where there is none. Any such function has mean zero under the target.
        """
        return self.along(*projected(self.direction, points, scores))

    def along(self, u: Floats, pull: Floats) -> Floats:
        """h where u = v.x and pull = s.w, (m,), (m,) -> (m,)."""
        nodes, phi, slope = self._nodes()
        if len(nodes) == 1:
            return np.asarray(phi[0] * pull)
        inside = np.clip(u, nodes[0], nodes[-1])
        with np.errstate(over="ignore", invalid="ignore"):  # positions whose cubes are no doubles have no spline
            value, derivative = _cubic_spline(nodes, phi, slope, inside)
            return np.asarray(value * pull + np.where(inside == u, derivative, 0.0))

    def _nodes(self) -> tuple[Floats, Floats, Floats]:
        """Positions, phi and slope, with the bounds beyond the outermost positions."""
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
    """Solve the program along a direction.

    Parameters
    ----------
    direction : ndarray, shape (d,)
    points, scores : ndarray, shape (n, d)
    weights : tuple of two ndarray, shape (n,)
        As double-doubles.
    bounds : ndarray, shape (1, 2), optional
        Bounds of u, where the support is bounded in that direction and the direction is a coordinate's.
    stein_factors : tuple of three floats
    tolerance : float
    """
    require_time("slices were solved")
    along, pulls = finite_projection(direction, points, scores)
    u, (mass, _), pull = merged(along, pulls, weights)
    rounding = _rounding(direction, scores, weights[0], float(mass @ np.abs(pull)), stein_factors)
    found = graph_stein_discrepancy(
        u[:, None],
        scores=pull[:, None],
        weights=mass,
        bounds=bounds,
        stein_factors=stein_factors,
        tolerance=tolerance,
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


def finite_projection(direction: Floats, points: Floats, scores: Floats) -> tuple[Floats, Floats]:
    """u = v.x and s.w of draws; InputError if one overflows."""
    with np.errstate(over="ignore", invalid="ignore"):  # refused at once
        along, pulls = projected(direction, points, scores)
    if not (np.isfinite(along).all() and np.isfinite(pulls).all()):
        raise InputError("draws or scores overflow along a direction: rescale them, or the direction")
    return along, pulls


def projected(direction: Floats, points: Floats, scores: Floats) -> tuple[Floats, Floats]:
    """u = v.x and s.w of points with their scores."""
    only = np.flatnonzero(direction)
    if len(only) == 1 and direction[only[0]] == 1.0:  # a coordinate, which products with zeros leave as it is
        return points[:, only[0]].copy(), scores[:, only[0]].copy()
    return points @ direction, scores @ _conjugate(direction)


def merged(along: Floats, pulls: Floats, weights: Pair) -> tuple[Floats, Pair, Floats]:
    """The distinct u, ascending, the weights of each, and its mean of s.w; scores may nearly cancel in it."""
    u, inverse = np.unique(along, return_inverse=True)
    moments = double_double.times(weights, (pulls, np.zeros_like(pulls)))
    mass, moment = (double_double.sums_in_groups(terms, inverse, len(u)) for terms in (weights, moments))
    return u, mass, double_double.ratio(moment, mass)[0]


def _cubic_spline(nodes: Floats, phi: Floats, slope: Floats, u: Floats) -> tuple[Floats, Floats]:
    """Values at u, in [nodes[0], nodes[-1]], of the cubic Hermite spline, and of its derivative."""
    step = np.diff(nodes)
    chord = np.diff(phi) / step
    turn = (slope[:-1] + slope[1:] - 2.0 * chord) / step
    cubic, square = turn / step, (chord - slope[:-1]) / step - turn
    order = np.argsort(u)  # searched for in that order, neighbours are found next to one another
    at = np.empty(len(u), dtype=np.int64)
    at[order] = np.searchsorted(nodes[1:-1], u[order], side="right")
    s, first, second, third = u - nodes[at], slope[at], square[at], cubic[at]
    return phi[at] + first * s + second * (s * s) + third * (s * s * s), first + second * s * 2.0 + third * (
        s * s
    ) * 3.0


def _rounding(
    direction: Floats, scores: Floats, weights: Floats, moved: float, stein_factors: tuple[float, float, float]
) -> float:
    """How far the optimum can move by what is rounded in s.w, in the means of draws with the same u, and in weights.

    Sums over draws lose nothing to speak of. Of the k parts of a direction, w passes k + 2 operations and s.w as many,
    unless w is one part that is a power of two. A mean is rounded once and its weight twice, which moves terms by three
    roundings of their size: `moved` is the sum of sizes of what means leave of scores. One more rounding each, and the
    factor, cover higher orders and the rounding of this bound.
    """
    parts = _conjugate(direction)[direction != 0.0]
    exact = len(parts) == 1 and abs(np.frexp(direction[direction != 0.0])[0][0]) == 0.5
    with np.errstate(over="ignore"):  # then nothing is known
        pulls = float(weights @ (np.abs(scores) @ np.abs(_conjugate(direction))))
    value, slope, _ = stein_factors
    of_sums = double_double.ROUNDING + (0.0 if exact else (2 * len(parts) + 5) * UNIT_ROUNDOFF)
    moving = of_sums * value * pulls + 4.0 * UNIT_ROUNDOFF * (value * moved + slope)
    return 1.01 * moving + double_double.UNDERFLOW * (value + slope)


def _conjugate(direction: Floats) -> Floats:
    """w = v / |v|^2, along which u grows with slope one."""
    return np.asarray(direction / (direction @ direction))


_TOLERANCE = 1e-3
_REGIONS = ("at the low end", "in the middle", "at the high end")


@dataclass(frozen=True, eq=False, repr=False)
class SlicedSteinDiscrepancy(Bracketed):
    """The sum of the univariate graph Stein discrepancies along directions, with its certificate.

    Attributes
    ----------
    lower, upper : float
        The sum lies in [lower, upper].
    slices : tuple of Slice
        One a direction: its bracket, the function phi that attains it, and its test function h.
    direction_names : tuple of str
        Names of the coordinates, where these are the directions, else "direction 1" and so on.
    units : Units
        In which directions, brackets and phi are meant.
    sample : DistinctSample
        Points, in raw units, weights, counts, names.
    scores : ndarray, shape (n, d)
        At the distinct points, in raw units.
    seconds : dict
        Wall time spent on "scores" and "solve".
    warnings : tuple of str
        What a reader should know before the number.
    """

    measure: ClassVar[str] = "sliced"
    title: ClassVar[str] = "sliced graph Stein discrepancy"
    meaning: ClassVar[str] = (
        "It is the sum over the coordinates of the largest mean of h, which is 0 under the target, over functions of "
        "that coordinate alone: what it finds is there, it falls like one over the root of the number of draws in "
        "every dimension, and too narrow a sample does not score lower. It does not see shapes that no coordinate "
        "shows by itself, nor a mode that no draw has visited."
    )
    smallest_is_no_proof: ClassVar[str] = "; below is no proof of quality"

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
        """Midpoints of the directions' brackets, shape (directions,)."""
        return np.array([each.value for each in self.slices])

    @property
    def test_functions(self) -> Floats:
        """h of every direction at the distinct points, shape (n, directions).

        The mean over the sample is that direction's `lower`, to rounding.
        """
        points, scores = self.units.points(self.sample.points), self.units.scores(self.scores)
        return np.column_stack([each.test_function(points, scores) for each in self.slices])

    @property
    def terms(self) -> tuple[Term, ...]:
        """Contribution of each direction."""
        lower, upper = ([getattr(each, side) for each in self.slices] for side in ("lower", "upper"))
        return terms_of(self.direction_names, lower, upper)

    @cached_property
    def regions(self) -> Floats:
        """Means of h along every direction, shape (directions, 3).

        Over the quarter of the draws that lies lowest in it, the half in the middle, and the quarter that lies highest.
        """
        points, h = self.units.points(self.sample.points), self.test_functions
        places = [points @ each.direction for each in self.slices]
        return np.array([_regions(u, self.sample.weights, h[:, k]) for k, u in enumerate(places)])

    def statements(self, reference: Reference | None = None, *, is_biased: bool = False) -> tuple[Statement, ...]:
        """State the value, and where each direction has too many draws; see `Measurement.statements`."""
        where = self._where(reference, is_biased, [*map(_too_many, self.regions, self.terms)])
        return (*super().statements(reference), Statement("findings", "Where is the difference?", where))

    @property
    def _extent(self) -> str:
        points = f"{len(self.sample)} points in {self.sample.dim} dimensions"
        return f"{len(self.slices)} directions, {points}, {self.units.kind} units"


@cautious
@within_time
def sliced_stein_discrepancy(
    draws: DrawsLike,
    target: Target | None = None,
    *,
    scores: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bounds: ArrayLike | None = None,
    directions: Literal["coordinates"] | ArrayLike = "coordinates",
    units: UnitsLike = "own",
    stein_factors: tuple[float, float, float] = (1.0, 1.0, 1.0),
    tolerance: float = _TOLERANCE,
    max_seconds: float | None = None,
) -> SlicedSteinDiscrepancy:
    """Measure how far a sample is from its target by functions of one variable at a time, with proof, in any dimension.

    Along coordinates the functions g(x) = v phi(v.x) / |v|^2 are some of those whose supremum is the Stein discrepancy
    of Gorham and Mackey, so that what they find is there; along others they have bounds of their own. Unlike the full
    graph's, the value does not saturate as draws lie further apart in many dimensions: it falls like one over the root
    of the number of draws in all of them. Time is linear in draws and directions.

    Parameters
    ----------
    draws : Sample, array_like of shape (n,), (n, d) or (chains, draws, d), or what else `as_sample` takes
        The sample. Repeated points are merged and their weights summed.
    target : Target, optional
        Exactly one of `target`, `scores` and scores stored in the sample is needed.
    scores : array_like, shape (n, d), optional
        Score of the target at each draw.
    weights : array_like, shape (n,), optional
        Weights of the draws, in any unit.
    bounds : array_like, shape (d, 2) or (2,), optional
        Bounds of the support; the target's own if not given.
    directions : "coordinates", or array_like, shape (k, d)
        Directions v, one a row, in the units chosen: phi is a function of v.x, with v scaled by its user. Those with a
        part in a bounded coordinate must be that coordinate alone.
    units : {"own", "raw"}, array_like of shape (d,), Units, or mapping
        The sample's own standard deviations; none; or a scale for each coordinate, the same for all samples that are to
        be compared.
    stein_factors : tuple of three floats
        Bounds (c1, c2, c3) on phi, phi' and the Lipschitz constant of phi'.
    tolerance : float
        Widest relative bracket accepted of every direction.
    max_seconds : float, optional
        Time, from the call on, after which to give up.

    Returns
    -------
    SlicedSteinDiscrepancy
        Bracket, and the value and the optimal phi of every direction.

    Raises
    ------
    UsageError, InputError, SolverError
        As `graph_stein_discrepancy` does; or if a direction is none.

    Notes
    -----
    With the coordinates as directions, dependence between them is seen only through the score: two samples with the
    same draws of every coordinate can differ in their pairs and score much alike. A mode that no draw has visited is
    not seen.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> draws, target = np.random.default_rng(0).standard_normal((1000, 10)), sk.targets.Normal(0.0, dim=10)
    >>> right, narrow = (sk.sliced_stein_discrepancy(x, target, units="raw") for x in (draws, 0.9 * draws))
    >>> narrow.lower > 2 * right.upper
    True
    """
    tolerance = tolerance_of(tolerance, _TOLERANCE)
    began = time.perf_counter()
    SteinFactors.of(stein_factors)
    prepared = ScoredSample.of(draws, target, scores=scores, weights=weights, bounds=bounds)
    sample = prepared.points
    chosen = Units.of(units, sample)
    if chosen.kind != "raw":  # raw ones are as they are: an origin at a bound would round them
        chosen = chosen.from_bounds(prepared.bounds)
    vectors, names = _directions(directions, sample.names)
    limits = None if prepared.bounds is None else chosen.limits(prepared.bounds)
    bounded = _bounds_along(vectors, limits)
    points, scaled = chosen.points(sample.points), chosen.scores(prepared.scores)
    scored = time.perf_counter()
    masses = sample.weights, sample.weights_low
    slices = tuple(
        solve_slice(vector, points, scaled, masses, bounds=each, stein_factors=stein_factors, tolerance=tolerance)
        for vector, each in progress_bar("slices", len(vectors), steps=zip(vectors, bounded, strict=True))
    )
    total = sum_of_brackets((each.lower for each in slices), (each.upper for each in slices))
    result = SlicedSteinDiscrepancy(
        lower=total[0],
        upper=total[1],
        slices=slices,
        direction_names=names,
        units=chosen,
        sample=sample,
        scores=prepared.scores,
        seconds={"scores": scored - began, "solve": time.perf_counter() - scored},
        warnings=(
            *prepared.notes,
            *far_apart(sample, prepared.scores, chosen),
            *(
                Caution(
                    f"{name}: it lies in {each.bracket}: the bracket's relative width is {each.gap:.1e}, {tolerance:g} "
                    "was asked for"
                )
                for name, each in zip(names, slices, strict=True)
                if each.gap > tolerance
            ),
        ),
    )
    refuse_wide(
        result,
        f"the discrepancy lies in {result.bracket}: the bracket's relative width is {result.gap:.1e}",
        "Scores that nearly cancel between draws next to each other leave no digits: rescale them, or thin the sample",
    )
    return result


def _regions(u: Floats, weights: Floats, h: Floats) -> Floats:
    """Means of h over the lowest quarter, the middle half and the highest quarter of u."""
    order = np.argsort(u, kind="stable")
    reached = np.cumsum(weights[order]) - 0.5 * weights[order]
    region = np.searchsorted([0.25, 0.75], reached)
    mass = np.bincount(region, weights=weights[order], minlength=3)
    sums = np.bincount(region, weights=(weights * h)[order], minlength=3)
    return np.divide(sums, mass, out=np.zeros(3), where=mass > 0.0)


def _too_many(means: Floats, term: Term) -> str:
    """Name the regions where h is large, and those where it is negative."""
    many = [region for region, mean in zip(_REGIONS, means, strict=True) if mean >= term.value > 0.0]
    few = [region for region, mean in zip(_REGIONS, means, strict=True) if mean < 0.0]
    return f"there tend to be too many draws {listed(many)} and too few {listed(few)}" if many and few else ""


def _directions(directions: str | ArrayLike, names: tuple[str, ...]) -> tuple[Floats, tuple[str, ...]]:
    """Rows v, and what they are called."""
    if isinstance(directions, str):
        if directions != "coordinates":
            raise UsageError(f"directions must be 'coordinates' or rows of numbers; received {directions!r}")
        return np.eye(len(names)), names
    vectors = real_numbers(directions, "directions", "'coordinates' or rows of numbers")
    if vectors.ndim != 2 or vectors.shape[1] != len(names) or not len(vectors):
        raise UsageError(f"directions must have shape (k, {len(names)}), one a row; received {np.shape(directions)}")
    with np.errstate(over="ignore", under="ignore"):
        lengths = (vectors**2).sum(axis=1)
    if not np.isfinite(vectors).all() or not (vectors != 0.0).any(axis=1).all():
        raise UsageError("directions must be finite, and none of them zero")
    if not (np.isfinite(lengths) & (lengths >= np.finfo(np.float64).tiny)).all():
        raise UsageError("directions must not be so long or short that the squares of their parts over- or underflow")
    return vectors, tuple(f"direction {k + 1}" for k in range(len(vectors)))


def _bounds_along(vectors: Floats, limits: Floats | None) -> list[Floats | None]:
    """Bounds of v.x for each direction; None where there are none."""
    if limits is None or not np.isfinite(limits).any():
        return [None] * len(vectors)
    is_bounded = [bool(np.isfinite(row).any()) for row in limits]
    found: list[Floats | None] = []
    for vector in vectors:
        involved = np.flatnonzero(vector)
        if not any(is_bounded[j] for j in involved):
            found.append(None)
        elif len(involved) == 1:
            j = int(involved[0])
            found.append(np.sort(vector[j] * limits[j])[None, :])
        else:
            raise UsageError(
                "a direction that mixes a bounded coordinate with others has no bounds of its own: take the "
                "coordinates as directions, or transform the bounded ones"
            )
    return found
