"""The graph Stein discrepancy of a sample: the number, its proof, and the function that attains it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from steinkit.describe.measures import graph_statements
from steinkit.describe.results import cautioned, running_text
from steinkit.describe.writing import count
from steinkit.discrepancy.bracket import Bracketed, Reference, bracket_entries
from steinkit.discrepancy.graph.findings import confirmed, direction, influences, moments_of
from steinkit.discrepancy.graph.saturation import advice, expected_saturation, is_saturated, spacing, width_over_target
from steinkit.discrepancy.graph.spanner.geometry import Graph
from steinkit.discrepancy.operators import Coefficients, RiemannianLangevin
from steinkit.discrepancy.units import Units
from steinkit.sample import DistinctSample, Floats

_ROOM = 900  # powers of two kept free below numbers of which small multiples are summed


@dataclass(frozen=True, eq=False, repr=False)
class GraphSteinDiscrepancy(Bracketed):
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
    engine : str
        The engines that had a part in the answer, joined by " + " in the order of their hand-overs.
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

    lower: float
    upper: float
    coordinate_lower: Floats
    coordinate_upper: Floats
    g: Floats
    slopes: Floats
    scores: Floats
    sample: DistinctSample
    units: Units
    graph: Graph
    dilation: float
    stein_factors: tuple[float, float, float]
    engine: str
    tolerance: float
    seconds: dict[str, float]
    warnings: tuple[str, ...]
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
        return "; ".join(reason for reason in (self._coarseness, self._ceiling) if reason)

    @property
    def _coarseness(self) -> str:
        """What is said of a graph for which there was no time."""
        if self.dilation_asked is None:
            return ""
        return (
            f"there was no time for a {self.dilation_asked:g}-spanner: the value is that of a coarser graph, of a "
            f"dilation of at most {self.dilation:.3g}, so samples are not ranked by it; allow more time (max_seconds, "
            "--max-seconds), or thin the sample"
        )

    @property
    def _ceiling(self) -> str:
        """What is said of a sample that saturates."""
        if not self.is_saturated:
            return ""
        n, dim, near = len(self.sample), self.sample.dim, self._right_spacing
        remedies = [*(["the sliced discrepancy"] if dim > 1 else []), *advice(near, n, dim, self.stein_factors)]
        return (
            f"the discrepancy is at {self.saturation:.0%} of its ceiling, where right samples of {count(n, 'point')} "
            f"in {count(dim, 'dimension')} are at about {expected_saturation(near, dim):.0%}: one that is too narrow "
            f"may score lower than a right one, so samples are not ranked by it; take {' or '.join(remedies)}"
        )

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
            "engine": self.engine,
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
        entry = {**self.to_dict(), "findings": self.findings()}
        sample = {"draws": len(self.sample.inverse), "distinct": len(self.sample), "dim": self.sample.dim}
        said = graph_statements(entry, None if reference is None else reference.to_dict(), sample)
        return running_text([*said, *cautioned(self.warnings)])

    def findings(self) -> dict[str, Any]:
        """What g shows of where the sample is off, in JSON: which way each coordinate, and at which draws.

        Returns
        -------
        dict
            "gap" and "tolerance" of the bracket, "directions" (one a coordinate, "unclear" where its moments do not
            say the same), "draws" and "half".
        """
        moments = moments_of(self.sample, self.scores, self.bounds)
        return {
            "gap": self.gap,
            "tolerance": self.tolerance,
            "directions": [confirmed(self._direction(j), moments, j) for j in range(self.sample.dim)],
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
        return f"{len(self.sample)} points in {self.sample.dim} dimensions, engine {self.engine}"


def _with_exponent(values: Floats) -> tuple[Floats, int]:
    """Values over a power of two, below 1, and its exponent; of zeros one below all others."""
    largest = float(np.abs(values).max())
    exponent = math.frexp(largest)[1] if largest > 0.0 else -4096
    return np.ldexp(values, -exponent), exponent
