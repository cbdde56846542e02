"""The graph Stein discrepancy of a sample: the number, its proof, and the function that attains it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from steinkit.discrepancy.bracket import Measured
from steinkit.discrepancy.graph.readings import (
    advice,
    confirmed,
    direction,
    expected_saturation,
    influences,
    is_saturated,
    moments_of,
    spacing,
    width_over_target,
)
from steinkit.discrepancy.graph.spanner.geometry import Graph
from steinkit.discrepancy.operators import Coefficients, RiemannianLangevin
from steinkit.measurement import Reference, Term, terms_of
from steinkit.result import Statement, claimed
from steinkit.sample import Floats
from steinkit.text import count, rounded_outwards, sentence

DIRECTIONS = {
    "high": "the draws are too high: moving them down would lower the discrepancy",
    "low": "the draws are too low: moving them up would lower the discrepancy",
    "wide": "the draws are too wide: pulling them together would lower the discrepancy",
    "narrow": "the draws are too concentrated: moving them apart would lower the discrepancy",
    "strays": "the draws are too far from the modes: moving them uphill would lower the discrepancy",
    "crowds": "the draws are too close to the modes: moving them away would lower the discrepancy",
}
_UNCLEAR = "No single coordinate is shifted or stretched; the figure shows where the draws are wrong."
_BESIDE_NOTHING = (
    "Compared with what? The number shrinks as draws are added, at a level set by the target. Without independent "
    "draws from the target (a reference) it only compares samples with one another."
)
_UNSEEN = (
    "What this does not prove: a region of the target that no draw has visited, such as a second mode far from the "
    "draws, changes the score nowhere near them and is not seen. A low discrepancy speaks for the regions visited; "
    "whether all were visited must be known from elsewhere."
)
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
    title: ClassVar[str] = "graph Stein discrepancy"
    smallest_is_no_proof: ClassVar[str] = (
        "; one that is too concentrated can be, and right chains that mix slowly are, so this alone is no praise"
    )

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

    @property
    def terms(self) -> tuple[Term, ...]:
        """Contribution of each coordinate."""
        return terms_of(self.sample.names, self.coordinate_lower.tolist(), self.coordinate_upper.tolist())

    def _details(self) -> dict[str, Any]:
        return {
            "saturation": self.saturation,
            "unranked": self.unranked or None,
            "edges": len(self.graph.edges),
            "dilation": self.dilation,
            "solver": self.solver,
        }

    @cached_property
    def directions(self) -> tuple[str, ...]:
        """Direction of each coordinate's error: a key of `DIRECTIONS`, or "unclear" where moments do not confirm it."""
        moments = moments_of(self.sample, self.scores, self.bounds)
        known = {} if moments is None else confirmed(*moments)
        found = [self._direction(j) for j in range(self.sample.dim)]
        return tuple(each if each in known and known[each][j] else "unclear" for j, each in enumerate(found))

    @property
    def is_wide(self) -> bool:
        """True if the bracket is wider than the tolerance."""
        return self.gap > self.tolerance

    def headline(self) -> str:
        """State the value, or its bracket if that is wide."""
        ends = " and ".join(rounded_outwards(self.lower, self.upper))
        return f"{sentence(self.title)} between {ends}" if self.is_wide else super().headline()

    def statements(self, reference: Reference | None = None, *, is_biased: bool = False) -> tuple[Statement, ...]:
        """State the value, the comparison, the coordinates, the draws, the limits and the method.

        See `Measurement.statements`.
        """
        beside = _BESIDE_NOTHING if reference is None else self._beside(reference)
        hints = [DIRECTIONS.get(each, "") for each in self.directions]
        where = self._where(reference, is_biased, hints, _UNCLEAR, is_certain=any(hints))
        draws, half = influences(self.sample, self.test_function)
        weighing = (
            f"The draws with the most influence on the worst test function h (mean {self.lower:.4g} over the sample, 0 "
            f"under the target; large where there tend to be too many draws): {'; '.join(map(str, draws))}. Half of "
            f"the influence lies on {half} of {len(self.sample)} points."
        )
        return (
            Statement("number", f"What is its {self.title}?", self._number),
            Statement("comparison", "Is that good?", beside),
            Statement("findings", "Where is the difference?", where),
            Statement("draws", "Which draws weigh most?", weighing),
            Statement("limits", "What does this not prove?", _UNSEEN),
            Statement("method", "How was it computed?", self._how),
        )

    @property
    def _number(self) -> str:
        draws, points = len(self.sample.inverse), len(self.sample)
        distinct = f", {count(points, 'distinct point')}" if points != draws else ""
        what = f"({count(draws, 'draw')}{distinct}, {count(self.sample.dim, 'coordinate')})"
        if not self.is_wide:
            return f"The {self.title} is {self.shown}, {claimed(self.claims, self.lower, self.upper)} {what}."
        return (
            f"The {self.title} lies between {' and '.join(rounded_outwards(self.lower, self.upper))} {what}. The "
            f"bracket's relative width is {self.gap:.1e} where {self.tolerance:g} was asked for: quote both ends."
        )

    @property
    def _how(self) -> str:
        kind = "complete graph" if self.dilation == 1.0 else f"{self.dilation:g}-spanner"
        kind = "sorted sample" if self.sample.dim == 1 else kind
        seconds = f"; seconds: {self._spent}" if self._spent else ""
        return f"Computed on the {kind} ({len(self.graph.edges)} edges) by solver {self.solver}{seconds}."

    def _in_table(self, each: Term) -> str:
        return "see bracket" if self.is_wide else each.shown

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
