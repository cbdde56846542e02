"""Result of a graph Stein discrepancy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from steinkit.discrepancy.bracket import Certified
from steinkit.discrepancy.graph.distances import DistanceBound, bound_from_convexity, bound_on_line
from steinkit.discrepancy.graph.readings import advice, expected_saturation, is_saturated, spacing, width_over_target
from steinkit.discrepancy.graph.spanner.geometry import Graph
from steinkit.discrepancy.operators import Coefficients, RiemannianLangevin
from steinkit.errors import UsageError
from steinkit.measurement import Reference, Term, terms_of
from steinkit.result import Statement, claimed
from steinkit.sample import Floats
from steinkit.target import Target, require_target
from steinkit.text import count, rounded_outwards, sentence

_NO_REFERENCE = (
    "The discrepancy decreases with the number of draws, and its size depends on the target. Without independent "
    "draws from the target as a reference, the value can only be used to compare samples."
)
_UNSEEN = (
    "A region of the target that no draw visited, such as a distant second mode, does not change the score near the "
    "draws and is not detected. A small discrepancy is evidence only for the regions that the draws visited."
)


@dataclass(frozen=True, eq=False, repr=False)
class GraphSteinDiscrepancy(Certified):
    """Result of `graph_stein_discrepancy`, with its bracket and Stein function.

    The n points are the distinct points of the sample, in order of first appearance. The array ``sample.inverse`` maps
    draws to points.

    Attributes
    ----------
    lower, upper : float
        Certified bounds on the discrepancy, in `units`.
    coordinate_lower, coordinate_upper : ndarray, shape (d,)
        Certified bounds for the coordinates, which sum to `lower` and `upper`.
    g : ndarray, shape (n, d)
        A Stein function that attains `lower`, in raw coordinates. In `units`, the values and gradients do not exceed
        their bounds, even close to the bounds of the support. The constraints on pairs of points, and the mean `lower`,
        hold up to the rounding of the stored values, that is, up to a few rounding errors of their largest terms.
    slopes : ndarray, shape (n, d, d) or (n, d, 1)
        Gradient of g. See `grad_g`. An array of the second shape contains only the derivatives of g_j in direction j.
        The other derivatives are zero because no edge adds a constraint, as is usual in hundreds of dimensions.
    scores : ndarray, shape (n, d)
        Score of the target at the points, in raw units.
    sample : DistinctSample
        Points in raw units, with weights, counts and names.
    units : Units
        Units of the bracket, the Stein factors, the graph and the saturation.
    graph : Graph
        Graph on the points, with lengths in `units`.
    dilation : float
        Dilation of the spanner, which is 1 for the complete graph.
    stein_factors : tuple of float
        Bounds (c1, c2, c3) on g, on its gradient, and on the Lipschitz constant of its gradient.
    solver : str
        Names of the solvers that contributed, in order, joined by " + ".
    tolerance : float
        Requested relative width of the bracket.
    seconds : dict
        Wall time of the stages "scores", "graph", "program" and "solve".
    warnings : tuple of str
        Notes on merged or omitted draws, solver changes and wide brackets.
    bounds : ndarray, shape (d, 2), or None
        Bounds of the support.
    operator : RiemannianLangevin, or None
        Diffusion operator, or None for the Langevin operator.
    coefficients : Coefficients, or None
        Drift and covariance of the operator at the points, in raw units, or None for the Langevin operator.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> draws = np.random.default_rng(0).standard_normal((300, 2))
    >>> found = sk.graph_stein_discrepancy(draws, sk.targets.Normal([0.0, 0.0]))
    >>> found.solver, found.gap <= 1e-6
    ('block', True)
    """

    measure: ClassVar[str] = "graph"
    title: ClassVar[str] = "graph Stein discrepancy"
    smallest_is_no_proof: ClassVar[str] = (
        "; samples that are too concentrated, and slowly mixing exact chains, may also have a small value"
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

    @cached_property
    def grad_g(self) -> Floats:
        """Gradient of g, as an array of shape (n, d, d).

        The entry ``grad_g[i, j, k]`` is the derivative of g_j in direction k at point i. The array is computed on first
        access because it requires far more memory than the sample in high dimensions.
        """
        n, dim, directions = self.slopes.shape
        if directions == dim:
            return np.ascontiguousarray(self.slopes)
        gradient = np.zeros((n, dim, dim))
        gradient[:, range(dim), range(dim)] = self.slopes[:, :, 0]
        return gradient

    @property
    def saturation(self) -> float:
        """Ratio of the discrepancy to its largest possible value, the ceiling.

        The ceiling is the sum of q (c1 |s| + c2) over all points and coordinates. For a diffusion operator, the ceiling
        is the sum of q (c1 |drift| + c2 sum |a|). The ratio is close to 1 for strongly biased samples, and for samples
        whose draws are too far apart. The property `is_saturated` distinguishes the two cases.
        """
        if self.coefficients is None:
            drift, slopes = self.units.scores(self.scores), np.ones((1, 1))
        else:
            scaled = self.coefficients.in_units(self.units)
            drift, slopes = scaled.drift, np.abs(scaled.covariance).sum(axis=2)
        value, gradient, _ = self.stein_factors
        ceiling = float(self.sample.weights @ (value * np.abs(drift) + gradient * slopes).sum(axis=1))
        return self.lower / ceiling

    @property
    def is_saturated(self) -> bool:
        """True if exact draws of this size would also be close to the ceiling.

        Samples that are too narrow may then have a smaller discrepancy than exact draws.
        """
        expected = expected_saturation(self._exact_spacing, self.sample.dim)
        return is_saturated(self.saturation, expected, self.sample.dim)

    @property
    def unranked(self) -> str:
        """Reason why samples must not be ranked by the value, or an empty string."""
        if not self.is_saturated:
            return ""
        n, dim, near = len(self.sample), self.sample.dim, self._exact_spacing
        remedies = [*(["the sliced discrepancy"] if dim > 1 else []), *advice(near, n, dim, self.stein_factors)]
        return (
            f"the discrepancy is saturated: it reaches {self.saturation:.0%} of its ceiling, and exact draws "
            f"({count(n, 'point')} in {count(dim, 'dimension')}) reach about {expected_saturation(near, dim):.0%}. "
            "Samples that are too narrow may then have a smaller discrepancy than exact draws, so samples are not "
            f"ranked; use {' or '.join(remedies)}"
        )

    @property
    def _exact_spacing(self) -> float:
        """Estimated spacing of exact draws of the same size."""
        near = spacing(self.graph, self.stein_factors)
        if self.units.kind == "own":  # these units already scale with the sample
            return near
        return near / width_over_target(self.sample.weights, self.sample.points, self.scores, self.bounds)

    @property
    def drift(self) -> Floats:
        """Coefficient of g in T_P g at each point, as an array of shape (n, d).

        The coefficient is the score, or the drift of the diffusion operator.
        """
        return self.scores if self.coefficients is None else self.coefficients.drift

    @property
    def coordinate_values(self) -> Floats:
        """Midpoints of the d brackets, one per coordinate."""
        return 0.5 * self.coordinate_lower + 0.5 * self.coordinate_upper

    @property
    def test_function(self) -> Floats:
        """Test function h = T_P g at each point, as an array of shape (n,).

        The function is h = <g, score> + div g. For a diffusion operator, h = <g, drift> + <a, grad g>. The mean
        of h is zero under the target and equals `lower` over the sample. The function tends to be positive in regions
        with too many draws and negative in regions with too few draws.
        """
        if self.coefficients is None:
            is_own = self.slopes.shape[2] < self.sample.dim  # then only derivatives of g_j in direction j are stored
            own = self.slopes[:, :, 0] if is_own else np.diagonal(self.slopes, axis1=1, axis2=2)
            spread = np.ascontiguousarray(own).sum(axis=1)
        else:
            spread = (self.coefficients.covariance * self.grad_g).sum(axis=(1, 2))
        return np.asarray((self.g * self.drift).sum(axis=1) + spread)

    @property
    def terms(self) -> tuple[Term, ...]:
        """Contributions of the coordinates to the discrepancy."""
        return terms_of(self.sample.names, self.coordinate_lower.tolist(), self.coordinate_upper.tolist())

    def _details(self) -> dict[str, object]:
        return {
            "saturation": self.saturation,
            "unranked": self.unranked or None,
            "edges": len(self.graph.edges),
            "dilation": self.dilation,
            "solver": self.solver,
        }

    def distance_bound(
        self,
        target: Target | None = None,
        *,
        convexity: float | None = None,
        third_derivative: float = 0.0,
        fourth_derivative: float = 0.0,
    ) -> DistanceBound:
        """Bound the Wasserstein distance to the target and the errors of means.

        The bounds are computed from `upper` and from the Stein factors of the target. The bounds are valid for any
        graph.

        Parameters
        ----------
        target : Target, optional
            Target with a log density in one dimension, or a normal target. The target is not required if `convexity` is
            given.
        convexity : float, optional
            Number k > 0 such that the Hessian of the log density is at most -k times the identity at all points. The
            support must be unbounded. The value is known for normal targets.
        third_derivative, fourth_derivative : float, default 0.0
            Largest operator norms of the third and fourth derivatives of the log density.

        Returns
        -------
        DistanceBound
            The bounds and their assumptions.

        Raises
        ------
        UsageError
            If neither a suitable target nor its convexity is given, if the target differs from the target of the
            discrepancy, if the Stein factors of the target are infinite, or if the discrepancy has a diffusion
            operator.

        Examples
        --------
        >>> import steinkit as sk
        >>> target = sk.targets.Normal()
        >>> found = sk.graph_stein_discrepancy(target.sample(300, 0), target, stein_factors=(1.0, 0.8, 2.0))
        >>> bound = found.distance_bound(target)
        >>> sk.wasserstein_distance(found.sample.points, target).upper <= bound.wasserstein
        True
        """
        if self.operator is not None:
            raise UsageError("a distance bound requires the Langevin operator; got a diffusion operator")
        scale = self.units.scale
        require_target(target, optional=True)
        if target is not None and not self._has_target(target):
            raise UsageError(
                f"the scores or bounds of {target.label} differ from those of the discrepancy; pass the same target"
            )
        known = getattr(target, "convexity", None) if convexity is None else convexity
        if convexity is None and target is not None and self.sample.dim == 1 and target.has_log_density:
            return bound_on_line(self.upper, self.stein_factors, target, self.sample.points[:, 0], float(scale[0]))
        if known is None:
            raise UsageError(
                "a distance bound requires a target with a log density in one dimension, or a strongly log-concave "
                "target; pass convexity="
            )
        derivatives = known, third_derivative, fourth_derivative
        return bound_from_convexity(self.upper, self.stein_factors, derivatives, scale, self.bounds)

    def _has_target(self, target: Target) -> bool:
        ours, theirs = self.bounds, target.bounds
        is_same = ours is theirs if ours is None or theirs is None else np.array_equal(ours, theirs)
        return is_same and np.allclose(target.score(self.sample.points), self.scores, rtol=1e-6)

    @property
    def is_wide(self) -> bool:
        """True if the bracket is wider than the tolerance."""
        return self.gap > self.tolerance

    def headline(self) -> str:
        """State the value, or its bracket if the bracket is wide."""
        ends = " and ".join(rounded_outwards(self.lower, self.upper))
        return f"{sentence(self.title)} between {ends}" if self.is_wide else super().headline()

    def statements(self, reference: Reference | None = None) -> tuple[Statement, ...]:
        """Return the statements of the report.

        The statements cover the value, comparison, limits and method.

        See `Measurement.statements`.
        """
        comparison = _NO_REFERENCE if reference is None else self._comparison_with(reference)
        return (
            Statement("number", f"What is the {self.title}?", self._number),
            Statement("comparison", "How does it compare with exact draws?", comparison),
            Statement("limits", "What does this not detect?", _UNSEEN),
            Statement("method", "How was it computed?", self._how),
        )

    @property
    def _number(self) -> str:
        draws, points = len(self.sample.inverse), len(self.sample)
        distinct = f", {count(points, 'distinct point')}" if points != draws else ""
        size = f"({count(draws, 'draw')}{distinct}, {count(self.sample.dim, 'coordinate')})"
        if not self.is_wide:
            return f"The {self.title} is {self.shown}, {claimed(self.claims, self.lower, self.upper)} {size}."
        return (
            f"The {self.title} lies between {' and '.join(rounded_outwards(self.lower, self.upper))} {size}. The "
            f"relative width of the bracket is {self.gap:.1e}; {self.tolerance:g} was requested. Report both bounds."
        )

    @property
    def _how(self) -> str:
        kind = "complete graph" if self.dilation == 1.0 else f"{self.dilation:g}-spanner"
        kind = "sorted sample" if self.sample.dim == 1 else kind
        seconds = f"; seconds: {self._spent}" if self._spent else ""
        return f"Computed on the {kind} ({len(self.graph.edges)} edges) by solver {self.solver}{seconds}."

    def _in_table(self, each: Term) -> str:
        return "see bracket" if self.is_wide else each.shown

    @property
    def _extent(self) -> str:
        return f"{len(self.sample)} points in {self.sample.dim} dimensions, solver {self.solver}"
