"""The graph Stein discrepancy of a sample: the number, its proof, and the function that attains it.

**Findings** say where a sample is off, in numbers read from the optimal g. The reading is heuristic. For a distribution
with a density, moving every point x a little along g(x) changes its Kullback-Leibler divergence from the target at the
rate of minus the mean of h = T_P g [1]_; the optimal g makes that mean largest among the functions admitted. So g
points from where draws lie to where they should lie, and the sample is off against it. The diffusion operator of a
covariance coefficient a is Langevin's applied to a g, which is then the flow; the directions are about its part
a_jj g_j, which has the sign of g_j.

What g shows of a right sample is noise, and a coordinate is off in its g as well where only a correlated one is wrong.
So a direction is said only where moments that are zero under the target say the same beyond chance. Given the other
coordinates they are the means of the score s_j, for a shift, and of 1 + c_j s_j, for the rest, with c = x - m.
Whatever the others are: if C is the covariance of the draws and A minus the mean of c s', a normal target has
covariance S = A^-1 C, and its mean is S times the mean score off. The mean of (S s)_j, and S_jj over C_jj with the
error of the mean of -(A^-1 c)_j (S' s)_j, leave out what is only correlated with something wrong. What is said of
modes, which S does not know, is said where the spread is further off than the coordinate's dependence on every other.

**Saturation** is how near the number is to its ceiling because draws lie too far apart. The Stein factors bound g by
c1, its gradient by c2 and the gradient's Lipschitz constant by c3, so that g changes over a length l =
min(c2/c3, sqrt(c1/c3)). Where neighbours lie further apart, nothing holds g back: the value comes near

    sum_i q_i (c1 |s(x_i)| + c2)         summed over coordinates, the ceiling,

whatever the sample is, and a sample that is too narrow, whose scores are smaller, scores lower than a right one. A
sample that is simply far off comes near its ceiling, too, and that is no fault of the number. What tells the two apart
is what a *right* sample with as many draws would reach. For r, the median L1 distance to the nearest neighbour over l,
independent draws of N(0, I) reach about

    1.3 sqrt(r) of the ceiling in one dimension,     1.4 r in two and more

(measured for 10 to 8000 draws in one to five dimensions, and Stein factors 1, k, k^2 with k from 1/16 to 100, which is
coordinates in units 1/k times as large). Neighbours of a sample sqrt(a) times as wide as its target lie sqrt(a) times
further apart than those of a right one; a is what -(x - m) s is on average, 1 under the target.

References
----------
.. [1] Q. Liu and D. Wang, "Stein variational gradient descent", NeurIPS 2016, theorem 3.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from steinkit.containers.reading import as_sample
from steinkit.discrepancy.bracket import Measured, Reference, bracket_entries
from steinkit.discrepancy.graph.spanner.geometry import Graph
from steinkit.discrepancy.moments import moment_stein_discrepancy
from steinkit.discrepancy.operators import Coefficients, RiemannianLangevin
from steinkit.discrepancy.text import graph_statements
from steinkit.errors import InputError
from steinkit.result import cautioned, running_text
from steinkit.sample import DistinctSample, Floats
from steinkit.text import count

_LEADING_DRAWS = 3
_CLEAR = 0.4  # share of a coordinate's discrepancy from which a shift or a stretch explains it
_PREVAILS = 2.0  # times the other part of the mean of h, from which one is worth a word
_SIGNIFICANT = 3.0  # standard errors


def moments_of(sample: DistinctSample, scores: Floats, bounds: Floats | None) -> tuple[Floats, Floats, Floats] | None:
    """How many standard errors moments of the coordinates are from zero, from the draws in their order.

    Returns
    -------
    location, spread : ndarray, shape (2, d)
        Negative where the draws are too high, and too wide: given the other coordinates in one row, whatever these are
        in the next.
    dependence : ndarray, shape (d,)
        Of each coordinate's dependences on others the one furthest from zero, without sign.

    None where there are too few draws, or a coordinate never changes.
    """
    rows = sample.inverse[sample.inverse >= 0]
    weights = (sample.weights / sample.counts)[rows]
    points, at_draws = sample.points[rows], scores[rows]
    try:
        found = moment_stein_discrepancy(as_sample(points), scores=at_draws, weights=weights, bounds=bounds)
    except InputError:
        return None
    kinds = np.array([feature.kind for feature in found.features])
    own = {kind: np.flatnonzero(kinds == kind) for kind in ("location", "spread")}
    location, spread = (found.z[own[kind]] for kind in ("location", "spread"))
    dependence = np.zeros(sample.dim)
    for feature, z in zip(found.features, found.z, strict=True):
        if feature.kind == "dependence":
            pair = list(feature.coordinates)
            dependence[pair] = np.maximum(dependence[pair], abs(z))
    if bounds is not None:  # where the score itself does not have mean zero
        return np.stack([location, location]), np.stack([spread, spread]), dependence
    p, unit = weights / weights.sum(), found.units.scale
    centred, pulls = (points - p @ points) / unit, at_draws * unit
    times = found.autocorrelation_time
    try:
        inverse = np.linalg.inv(-(p[:, None] * centred).T @ pulls)
    except np.linalg.LinAlgError:
        return None
    covariance = inverse @ ((p[:, None] * centred).T @ centred)
    shift = _z(pulls @ covariance.T, p, times[own["location"]].max())
    lost = _z(-(centred @ inverse.T) * (pulls @ covariance), p, times[own["spread"]].max())  # S_jj over its error
    ratio = np.maximum(np.diag(covariance), np.finfo(float).tiny)  # of S_jj to C_jj, on whose logarithm errors are even
    return np.stack([location, shift]), np.stack([spread, np.log(ratio) * lost]), dependence


def _z(values: Floats, p: Floats, autocorrelation_time: float) -> Floats:
    """Weighted means over their standard errors, coordinate by coordinate; 0 for what does not change."""
    mean = p @ values
    with np.errstate(over="ignore"):  # an infinite error makes it 0
        error = np.sqrt(autocorrelation_time * (p**2 @ (values - mean) ** 2))
    return np.divide(mean, error, out=np.zeros_like(mean), where=error > 0.0)


def confirmed(location: Floats, spread: Floats, dependence: Floats) -> dict[str, NDArray[np.bool_]]:
    """For each direction the coordinates whose moments, as `moments_of` has them, say the same beyond chance."""
    needed = np.maximum(_SIGNIFICANT, dependence)
    return {
        "high": (-location >= _SIGNIFICANT).all(axis=0),
        "low": (location >= _SIGNIFICANT).all(axis=0),
        "wide": (-spread >= _SIGNIFICANT).all(axis=0),
        "narrow": (spread >= _SIGNIFICANT).all(axis=0),
        "strays": -spread[0] >= needed,
        "crowds": spread[0] >= needed,
    }


def influences(sample: DistinctSample, h: Floats) -> dict[str, Any]:
    """Which draws weigh most in the mean of h, by q_i |h_i|, as JSON can hold it.

    Returns
    -------
    dict
        "draws": of the leading points the first "draw" there, counted from one, the "count" of draws, the "point" and
        "h". "half": on how many of the points half of the influence lies.
    """
    influence = sample.weights * np.abs(h)
    leaders = np.argsort(-influence, kind="stable")[:_LEADING_DRAWS]
    draws = [
        {
            "draw": int(sample.first[i]) + 1,
            "count": int(sample.counts[i]),
            "point": sample.points[i].tolist(),
            "h": float(h[i]),
        }
        for i in leaders
    ]
    half = np.searchsorted(np.cumsum(np.sort(influence)[::-1]), 0.5 * influence.sum()) + 1
    return {"draws": draws, "half": int(half)}


@np.errstate(over="ignore", invalid="ignore")  # unclear is what is no number
def direction(
    weights: Floats, x: Floats, flow: Floats, drift: Floats, uphill: Floats, own: float, carried: float
) -> str:
    """Which way a coordinate of the sample is off: the part of the flow g_j that carries its discrepancy.

    The flow's best fit a + b (x_j - mean) splits off what a plain shift and a plain stretch contribute to the mean of
    h: a times the mean score, and b times 1 + the mean of (x_j - mean) times the score; with a diffusion operator, a
    times the mean drift, and b times the mean of a_jj + (x_j - mean) times the drift. Where neither explains it, as
    with several modes, what is left is which part of the mean of h prevails: <flow, score>, a flow that climbs the
    density, or its divergence, one that spreads.

    Parameters
    ----------
    weights, x, flow, drift, uphill : ndarray, shape (n,)
        Of the points: weights, x_j, g_j, what multiplies g_j in T_P g, and what of that is the score.
    own : float
        The mean of a_jj; 1 for Langevin's operator.
    carried : float
        What the coordinate carries of the discrepancy.

    Returns
    -------
    {"high", "low", "wide", "narrow", "strays", "crowds", "unclear"}
    """
    centred = x - weights @ x
    shift, variance = float(weights @ flow), float(weights @ centred**2)
    stretch = float(weights @ (centred * flow)) / variance if variance > 0.0 else 0.0
    by_shift = shift * float(weights @ drift)
    by_stretch = stretch * (own + float(weights @ (centred * drift)))
    if not (math.isfinite(by_shift) and math.isfinite(by_stretch)):
        return "unclear"
    if max(by_shift, by_stretch) < _CLEAR * carried:
        climb = float(weights @ (flow * uphill))
        divergence = carried - climb
        if climb > _PREVAILS * divergence:
            return "strays"
        return "crowds" if divergence > _PREVAILS * climb else "unclear"
    if by_shift >= by_stretch:
        return "high" if shift < 0.0 else "low"
    return "wide" if stretch < 0.0 else "narrow"


_AT_UNIT_SPACING = (1.3, 1.4)  # of the ceiling, in one dimension and in more
_REACHED, _EXPECTED = 0.2, 0.25  # shares of the ceiling; sd .9 scores .93 times sd 1 at .43 in three dimensions
_EXPECTED_ON_A_LINE = 0.4  # where sd .9 still scores more than sd 1 on average
_EITHER_FROM_FIVE = 0.1  # in ten dimensions sd .9 scores .88 times sd 1 at .15
_FACTORS_HELP_BELOW = 5  # dimensions: from five on narrow samples score lower at any Stein factors
_MOST_DRAWS = 20_000  # worth advising
_SMALLEST_FACTOR = 1e-300


def spacing(graph: Graph, stein_factors: tuple[float, float, float]) -> float:
    """Median distance to the nearest neighbour, in units of the length over which g changes; 0 for a single point."""
    if not len(graph.edges):
        return 0.0
    value, gradient, smoothness = stein_factors
    nearest = np.full(graph.n_points, np.inf)
    for end in graph.edges.T:
        np.minimum.at(nearest, end, graph.lengths)
    return float(np.median(nearest)) * max(smoothness / gradient, math.sqrt(smoothness) / math.sqrt(value))


def width_over_target(weights: Floats, points: Floats, scores: Floats, bounds: Floats | None) -> float:
    """How many times as wide as its target a sample is by its scores, the geometric mean over coordinates.

    Bounded coordinates, and those along which the scores lead away from the mean, count as right.
    """
    centred = points - weights @ points
    with np.errstate(over="ignore", invalid="ignore"):
        ratios = -(weights @ (centred * scores))
    if bounds is not None:
        ratios = np.where(np.isfinite(bounds).any(axis=1), 1.0, ratios)
    ratios = np.where(np.isfinite(ratios) & (ratios > 0.0), ratios, 1.0)
    return float(np.exp(0.5 * np.log(ratios).mean()))


def expected_saturation(right_spacing: float, dim: int) -> float:
    """Share of the ceiling that a right sample of this spacing reaches, about."""
    in_one, in_more = _AT_UNIT_SPACING
    return min(1.0, in_one * math.sqrt(right_spacing) if dim == 1 else in_more * right_spacing)


def is_saturated(reached: float, expected: float, dim: int) -> bool:
    """Whether samples must not be ordered by a value that reaches a share of its ceiling, where that is expected."""
    if dim >= _FACTORS_HELP_BELOW:
        return min(reached, expected) > _EITHER_FROM_FIVE
    return reached > _REACHED and expected > (_EXPECTED_ON_A_LINE if dim == 1 else _EXPECTED)


def advice(right_spacing: float, n: int, dim: int, stein_factors: tuple[float, float, float]) -> list[str]:
    """What brings the ceiling away: Stein factors under which neighbours are near enough, and draws that are.

    Returns
    -------
    list of str
        Such as "Stein factors 1,0.48,0.23" and "about 9000 draws", or "larger units" where factors would underflow;
        empty in many dimensions, where neither helps.
    """
    if dim >= _FACTORS_HELP_BELOW:
        return []
    near = (_REACHED / _AT_UNIT_SPACING[0]) ** 2 if dim == 1 else _REACHED / _AT_UNIT_SPACING[1]
    value, gradient, smoothness = stein_factors
    ratio = near / right_spacing
    if min(ratio, gradient * ratio, smoothness * ratio**2) < _SMALLEST_FACTOR:
        return ["larger units"]
    smaller = (_two_digits(factor, math.floor) for factor in (gradient * ratio, smoothness * ratio**2))
    found = [f"Stein factors {','.join(f'{factor:g}' for factor in (value, *smaller))}"]
    if math.log(n) - dim * math.log(ratio) <= math.log(_MOST_DRAWS):  # the power itself may overflow
        found.append(f"about {_two_digits(n * ratio**-dim, math.ceil):g} draws")
    return found


def _two_digits(number: float, rounded: Callable[[float], int]) -> float:
    """A number to two significant digits, rounded down or up."""
    unit = 10.0 ** (math.floor(math.log10(number)) - 1)
    return rounded(number / unit) * unit


_ROOM = 900  # powers of two kept free below numbers of which small multiples are summed


@dataclass(frozen=True, eq=False, repr=False)
class GraphSteinDiscrepancy(Measured):
    """A graph Stein discrepancy with its certificate.

    The n points are the sample's distinct points in order of first appearance; ``sample.inverse`` maps draws to them.

    Attributes
    ----------
    lower, upper : float
        The discrepancy, in `units`, lies in [lower, upper], whatever solver found it.
    coordinate_lower, coordinate_upper : ndarray, shape (d,)
        The same for each coordinate; they sum to `lower` and `upper`.
    g : ndarray, shape (n, d)
        A Stein function that attains `lower`, in raw coordinates: it is bounded by the Stein factors in `units`.
    slopes : ndarray, shape (n, d, d) or (n, d, 1)
        Its gradient, as `grad_g` says it. In the second shape, where nothing ties points together, as in hundreds of
        dimensions: the derivatives of g_j in direction j, the others being zero.
    scores : ndarray, shape (n, d)
        Score of the target at the points, in raw units.
    sample : DistinctSample
        Points, in raw units, weights, counts, names.
    units : Units
        In which brackets, Stein factors, graph and saturation are meant.
    graph : Graph
        The graph whose edges hold g together, on the points in `units`.
    dilation : float
        The spanner's stretch; 1 where the graph is complete.
    dilation_asked : float, or None
        The stretch asked for, where it is smaller because there was no time for such a spanner (`max_seconds`).
    stein_factors : tuple of float
        Bounds (c1, c2, c3) on g, on its gradient and on the gradient's Lipschitz constant.
    solver : str
        The solvers that had a part in the answer, joined by " + " in the order of their hand-overs.
    tolerance : float
        The relative width of the bracket that was asked for.
    seconds : dict
        Wall time spent on "scores", "graph", "program" and "solve".
    warnings : tuple of str
        What was merged, dropped, handed over, or not reached.
    bounds : ndarray, shape (d, 2), or None
        Bounds of the support.
    operator : RiemannianLangevin, or None
        The diffusion operator T_P; None for Langevin's.
    coefficients : Coefficients, or None
        That operator at the points, in raw units: drift and covariance; None for Langevin's, which are `scores` and
        the identity.
    """

    measure: ClassVar[str] = "graph"

    coordinate_lower: Floats
    coordinate_upper: Floats
    g: Floats
    slopes: Floats
    scores: Floats
    graph: Graph
    dilation: float
    stein_factors: tuple[float, float, float]
    solver: str
    bounds: Floats | None = None
    operator: RiemannianLangevin | None = None
    coefficients: Coefficients | None = None
    dilation_asked: float | None = None

    @cached_property
    def grad_g(self) -> Floats:
        """The gradient of g, shape (n, d, d): ``grad_g[i, j, k]`` is the derivative of g_j in direction k at point i.

        It is made when first asked for: in many dimensions it takes far more memory than the sample.
        """
        n, dim, directions = self.slopes.shape
        if directions == dim:
            return np.ascontiguousarray(self.slopes)
        gradient = np.zeros((n, dim, dim))
        gradient[:, range(dim), range(dim)] = self.slopes[:, :, 0]
        return gradient

    @property
    def _own_slopes(self) -> Floats:
        """Derivatives of g_j in direction j, shape (n, d)."""
        dim, directions = self.slopes.shape[1:]
        return self.slopes[:, :, 0] if directions < dim else np.diagonal(self.slopes, axis1=1, axis2=2)

    @property
    def saturation(self) -> float:
        """Share of the ceiling, sum q (c1 |s| + c2) over points and coordinates, that the discrepancy reaches.

        With a diffusion operator the ceiling is sum q (c1 |drift| + c2 sum |a|). A sample that is far off comes near
        it, and so does any sample whose draws lie too far apart, which `is_saturated` tells from it.
        """
        if self.coefficients is None:
            drift, slopes = self.units.scores(self.scores), np.ones((1, 1))
        else:
            scaled = self.coefficients.in_units(self.units)
            drift, slopes = scaled.drift, np.abs(scaled.covariance).sum(axis=2)
        parts = [(c, *_with_exponent(part)) for c, part in zip(self.stein_factors, (drift, slopes), strict=False)]
        largest = max(math.frexp(c)[1] + exponent for c, _, exponent in parts)
        unit = largest - _ROOM  # the ceiling may be no double, nor may a small weight's share in it
        shares = [np.ldexp(c * np.abs(part), exponent - unit) for c, part, exponent in parts]
        ceiling = float(self.sample.weights @ (shares[0] + shares[1]).sum(axis=1))
        return math.ldexp(self.lower, -unit) / ceiling

    @property
    def is_saturated(self) -> bool:
        """Whether even a right sample of this size would come near the ceiling: then narrower ones may score lower."""
        expected = expected_saturation(self._right_spacing, self.sample.dim)
        return is_saturated(self.saturation, expected, self.sample.dim)

    @property
    def unranked(self) -> str:
        """Why samples must not be ordered by the value; empty where they may."""
        reasons = []
        if self.dilation_asked is not None:
            reasons.append(
                f"there was no time for a {self.dilation_asked:g}-spanner: the value is that of a coarser graph, of a "
                f"dilation of at most {self.dilation:.3g}, so samples are not ranked by it; allow more time "
                "(max_seconds, --max-seconds), or thin the sample"
            )
        if self.is_saturated:
            n, dim, near = len(self.sample), self.sample.dim, self._right_spacing
            remedies = [*(["the sliced discrepancy"] if dim > 1 else []), *advice(near, n, dim, self.stein_factors)]
            reasons.append(
                f"the discrepancy is at {self.saturation:.0%} of its ceiling, where right samples of "
                f"{count(n, 'point')} in {count(dim, 'dimension')} are at about {expected_saturation(near, dim):.0%}: "
                "one that is too narrow may score lower than a right one, so samples are not ranked by it; take "
                f"{' or '.join(remedies)}"
            )
        return "; ".join(reasons)

    @property
    def _right_spacing(self) -> float:
        """The spacing that draws would have, were they as wide as the target by their scores."""
        near = spacing(self.graph, self.stein_factors)
        if self.units.kind == "own":  # which shrink with the sample
            return near
        return near / width_over_target(self.sample.weights, self.sample.points, self.scores, self.bounds)

    @property
    def drift(self) -> Floats:
        """What multiplies g in T_P g at the points, shape (n, d): the scores, or the diffusion operator's drift."""
        return self.scores if self.coefficients is None else self.coefficients.drift

    @property
    def coordinate_values(self) -> Floats:
        """Midpoints of the coordinates' brackets, shape (d,)."""
        return 0.5 * self.coordinate_lower + 0.5 * self.coordinate_upper

    @property
    def test_function(self) -> Floats:
        """h = T_P g at the points, shape (n,): <g, score> + div g, or a diffusion's <g, drift> + <a, grad g>.

        Its mean is zero under the target and `lower` under the sample: h tends to be large where the sample has
        too many draws, and negative where it has too few.
        """
        if self.coefficients is None:
            spread = np.ascontiguousarray(self._own_slopes).sum(axis=1)
        else:
            with np.errstate(over="ignore", invalid="ignore"):  # 0 times a derivative that overflows in raw units
                terms = self.coefficients.covariance * self.grad_g
                spread = np.where(np.isnan(terms), 0.0, terms).sum(axis=(1, 2))
        with np.errstate(over="ignore", invalid="ignore"):  # infinite where it is
            return np.asarray((self.g * self.drift).sum(axis=1) + spread)

    def _details(self) -> dict[str, Any]:
        lower, upper = self.coordinate_lower.tolist(), self.coordinate_upper.tolist()
        return {
            "coordinates": bracket_entries(self.sample.names, lower, upper),
            "saturation": self.saturation,
            "unranked": self.unranked or None,
            "edges": len(self.graph.edges),
            "dilation": self.dilation,
            "solver": self.solver,
        }

    def summary(self, reference: Reference | None = None) -> str:
        """Say in words what the number means, where the sample goes wrong, and what the number does not prove.

        Parameters
        ----------
        reference : Reference, optional
            Discrepancies of independent samples of the same size, from `steinkit.reference_discrepancy`.

        Returns
        -------
        str
            Paragraphs, with a blank line between them.
        """
        sample = {"draws": len(self.sample.inverse), "distinct": len(self.sample), "dim": self.sample.dim}
        entry = {**self.to_dict(), "details": self.details(), "sample": sample}
        said = graph_statements(entry | {"reference": None if reference is None else reference.to_dict()})
        return running_text([*said, *cautioned(self.warnings)])

    def details(self) -> dict[str, Any]:
        """What g shows of where the sample is off, in JSON: which way each coordinate, and at which draws.

        Returns
        -------
        dict
            "gap" and "tolerance" of the bracket, "directions" (one a coordinate, "unclear" where its moments do not
            say the same), "draws" and "half".
        """
        moments = moments_of(self.sample, self.scores, self.bounds)
        known = {} if moments is None else confirmed(*moments)
        found = [self._direction(j) for j in range(self.sample.dim)]
        return {
            "gap": self.gap,
            "tolerance": self.tolerance,
            "directions": [each if each in known and known[each][j] else "unclear" for j, each in enumerate(found)],
            **influences(self.sample, self.test_function),
        }

    def _direction(self, j: int) -> str:
        weights, own, uphill = self.sample.weights, 1.0, self.scores[:, j]
        if self.coefficients is not None:
            covariance = self.coefficients.covariance[:, j]
            own, uphill = float(weights @ covariance[:, j]), (covariance * self.scores).sum(axis=1)
        x, carried = self.sample.points[:, j], float(self.coordinate_lower[j])
        return direction(weights, x, self.g[:, j], self.drift[:, j], uphill, own, carried)

    @property
    def _extent(self) -> str:
        return f"{len(self.sample)} points in {self.sample.dim} dimensions, solver {self.solver}"


def _with_exponent(values: Floats) -> tuple[Floats, int]:
    """Values over a power of two, below 1, and its exponent; of zeros one below all others."""
    largest = float(np.abs(values).max())
    exponent = math.frexp(largest)[1] if largest > 0.0 else -4096
    return np.ldexp(values, -exponent), exponent
