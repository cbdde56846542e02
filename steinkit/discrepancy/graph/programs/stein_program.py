"""Stein programs: one linear program per coordinate of the target.

The graph Stein discrepancy of a weighted sample (x_i, q_i), i = 1..n, with scores s is a supremum over functions g. The
functions are represented by their values and gradients at the points. If distances between points are measured in the
L1 norm, the problem separates into one linear program per coordinate j, in the variables gamma_i = g_j(x_i) and
Gamma_ik = d_k g_j(x_i) (equations (6) and (7) of [1]_):

    maximize   sum_i q_i (s_j(x_i) gamma_i + Gamma_ij)
    subject to |gamma_i| <= c1,   |Gamma_ik| <= c2,   and, for every edge (i, l) of the graph with D = ||x_i - x_l||_1,
               |gamma_i - gamma_l| <= c2 D                                   unless D >= 2 c1/c2
               |Gamma_ik - Gamma_lk| <= c3 D   for every k                   unless D >= 2 c2/c3
               |gamma_i - gamma_l - <Gamma_i, x_i - x_l>| <= c3 D^2 / 2      unless D >= 4 c2/c3
               |gamma_i - gamma_l - <Gamma_l, x_i - x_l>| <= c3 D^2 / 2      unless D >= 4 c2/c3

The omitted rows cannot bind. The boxes imply the omitted rows of the first two kinds. The Taylor rows follow from
|gamma_i - gamma_l| <= c2 D, which is implied by a row or a box, and |<Gamma, x_i - x_l>| <= c2 D. A finite bound b of
coordinate j adds the following constraints, where a = |x_ij - b| (equation (8) of [1]_):

               |gamma_i| <= c2 a,   |Gamma_ik| <= c3 a (k != j),   |gamma_i - Gamma_ij (x_ij - b)| <= c3 a^2 / 2,

where the last constraint is added only for 0 < a < 4 c2/c3. The edge rows are shared by all coordinates and are built
once.

If all edges are too long to add rows, as is usual in hundreds of dimensions, no constraint connects the points.
Derivatives in directions other than j then appear neither in the constraints nor in the objective.
`relative_form.suitable_programs` sets these derivatives to zero and omits them.

A diffusion operator T g = <drift, g> + <a, grad g> changes only the objective, which becomes

               sum_i q_i (drift_j(x_i) gamma_i + sum_k a_jk(x_i) Gamma_ik).

References
----------
.. [1] J. Gorham and L. Mackey, "Measuring sample quality with Stein's method", NeurIPS 2015, section 4, and section 3.4
   for the Stein factors (c1, c2, c3).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from steinkit import double_double
from steinkit.arguments import real_numbers, require_range
from steinkit.discrepancy.graph.programs.matrix_form import SMALLEST, UNIT_ROUNDOFF, CoordinateProgram
from steinkit.discrepancy.graph.spanner.geometry import Graph, unjoined
from steinkit.discrepancy.operators import Coefficients
from steinkit.double_double import Pair
from steinkit.errors import UsageError
from steinkit.runtime.deadlines import require_time
from steinkit.sample import Floats, Integers

_CERTAINLY = 1.0 + 1e-9  # margin for selecting edges by stored lengths before the lengths are recomputed


class SteinFactors(NamedTuple):
    """Stein factors (c1, c2, c3), which are bounds on Stein functions.

    The factors bound g, its gradient, and the Lipschitz constant of its gradient.
    """

    value: float = 1.0
    gradient: float = 1.0
    smoothness: float = 1.0

    @classmethod
    def of(cls, factors: tuple[float, float, float]) -> SteinFactors:
        """Validate the three numbers (c1, c2, c3)."""
        expected = "three positive numbers (c1, c2, c3)"
        c = real_numbers(factors, "stein_factors", expected)
        if c.shape != (3,) or not (np.isfinite(c).all() and (c > 0).all()):
            raise UsageError(f"stein_factors must be {expected}; got {factors}")
        require_range(c, "Stein factors")
        return cls(*map(float, c))

    @property
    def value_reach(self) -> float:
        """Distance 2 c1/c2 beyond which boxes imply the Lipschitz rows of g."""
        return 2.0 * self.value / self.gradient

    @property
    def gradient_reach(self) -> float:
        """Distance 2 c2/c3 beyond which boxes imply the Lipschitz rows of the gradient."""
        return 2.0 * self.gradient / self.smoothness

    @property
    def taylor_reach(self) -> float:
        """Distance 4 c2/c3 beyond which the Taylor rows do not bind."""
        return 4.0 * self.gradient / self.smoothness

    def taylor_radius(self, distance: float | Floats) -> Floats:
        """Return the radius c3 D^2 / 2 of the Taylor rows.

        The order of the products avoids computing D^2, which may underflow.
        """
        distance = np.asarray(distance)
        return self.smoothness * (0.5 * distance) * distance


_ALL_ONE = SteinFactors()


@dataclass(frozen=True, eq=False)
class SteinProgram:
    """The d linear programs for a sample.

    The programs are defined by double-precision arrays and by weights in double-double precision. The rounding errors
    of all quantities computed from the programs are bounded.

    Parameters
    ----------
    points, scores : ndarray, shape (n, d)
        Distinct points and their scores.
    weights : ndarray, shape (n,)
        Positive weights that sum to one up to rounding.
    graph : Graph
        Graph with the edges that add rows.
    factors : SteinFactors, default (1, 1, 1)
        Stein factors.
    bounds : ndarray, shape (d, 2), optional
        Bounds of the support.
    coefficients : Coefficients, optional
        Coefficients of a diffusion operator at the points. By default, the coefficients of the Langevin operator are
        used.
    weights_low : ndarray, shape (n,), optional
        Second parts of the double-double weights. See `DistinctSample`. The default is zero.

    Attributes
    ----------
    known : dict
        Cache for the forms of the coordinates and the block solver's row patterns.
    """

    points: Floats
    scores: Floats
    weights: Floats
    graph: Graph
    factors: SteinFactors = _ALL_ONE
    bounds: Floats | None = None
    coefficients: Coefficients | None = None
    weights_low: Floats | None = None
    known: dict[Any, Any] = field(default_factory=dict, init=False)

    @property
    def n_points(self) -> int:
        """Number of points n."""
        return len(self.points)

    @property
    def dim(self) -> int:
        """Number of coordinates d, which is the number of programs."""
        return int(self.points.shape[1])

    @property
    def arrays(self) -> dict[str, object]:
        """Arrays that define the program, for use by `instance_kept`."""
        operator = {} if self.coefficients is None else vars(self.coefficients)
        names = "points", "scores", "weights", "weights_low", "bounds"
        named = {name: getattr(self, name) for name in names} | {"edges": self.graph.edges}
        return named | {"stein_factors": np.array(self.factors)} | operator

    @cached_property
    def edge_rows(self) -> tuple[sparse.csr_array, Floats]:
        """Matrix A and radii r of the edge rows, which are shared by all coordinates."""
        require_time("setting up the programs")
        c = self.factors
        reach = max(c.value_reach, c.gradient_reach, c.taylor_reach)
        i, k = self.graph.edges[self.nearer(self.graph.lengths, reach * _CERTAINLY)].T
        step = self.points[i] - self.points[k]
        distance = np.abs(step).sum(axis=1)
        rows = Rows(self.n_points * (self.dim + 1))

        near = self.nearer(distance, c.value_reach)
        rows.add(c.gradient * distance[near], [(i[near], 1.0), (k[near], -1.0)])

        near = self.nearer(distance, c.gradient_reach)
        for coordinate in range(self.dim):
            block = self.n_points * (coordinate + 1)
            radii = c.smoothness * distance[near]
            rows.add(radii, [(block + i[near], 1.0), (block + k[near], -1.0)])

        near = self.nearer(distance, c.taylor_reach)
        radii = c.taylor_radius(distance[near])
        for end in (i, k):
            slopes = [
                (self.n_points * (coordinate + 1) + end[near], -step[near, coordinate])
                for coordinate in range(self.dim)
            ]
            rows.add(radii, [(i[near], 1.0), (k[near], -1.0), *slopes])
        return rows.assemble()

    @cached_property
    def is_loose(self) -> bool:
        """True if no edge adds a row.

        A program without edge rows is possible only for d > 3 and the Langevin operator.
        """
        c = self.factors
        reach = max(c.value_reach, c.gradient_reach, c.taylor_reach)
        return self.dim > 3 and self.coefficients is None and not self.nearer(self.graph.lengths, reach).size

    def alone(self, j: int) -> SteinProgram:
        """Return the one-dimensional program of coordinate j, without edges.

        The program is equivalent if the original program is loose.
        """
        some = slice(j, j + 1)
        bounds = None if self.bounds is None else self.bounds[some]
        points, scores = self.points[:, some], self.scores[:, some]
        return replace(self, points=points, scores=scores, graph=unjoined(self.n_points), bounds=bounds)

    def nearer(self, distance: Floats, reach: float) -> Integers:
        """Return the edges that may be shorter than a given reach.

        The selection accounts for rounding errors.
        """
        return np.flatnonzero(distance < reach * (1.0 + self._lengths_rounding))

    def radius_error(self, radius: Floats) -> Floats:
        """Return bounds on the errors of the radii c2 D, c3 D or c3 D^2 / 2.

        The distance D is a sum of d differences.
        """
        known = np.where(np.isfinite(radius), radius, 0.0)
        return self._lengths_rounding * known + 2.0 * SMALLEST * (1.0 + self.factors.smoothness)

    @property
    def _lengths_rounding(self) -> float:
        """Relative error of a squared length that is computed in a few operations."""
        return (2 * self.dim + 8) * UNIT_ROUNDOFF

    def objective(self, j: int) -> Pair:
        """Return the n (d + 1) objective coefficients of coordinate j as double-doubles.

        The coefficient of gamma_i is q_i s_ij, and that of Gamma_ij is q_i. With a diffusion operator, the coefficient
        of gamma_i is q_i drift_ij, and that of Gamma_ik is q_i a_jk(x_i). The products keep double-double precision
        because large products may cancel.
        """
        weights = self.weights, np.zeros(self.n_points) if self.weights_low is None else self.weights_low
        high, low = np.zeros((2, self.dim + 1, self.n_points))
        if self.coefficients is None:
            high[0], low[0] = _shares(weights, self.scores[:, j])
            high[j + 1], low[j + 1] = weights
        else:
            high[0], low[0] = _shares(weights, self.coefficients.drift[:, j])
            high[1:], low[1:] = _shares(weights, self.coefficients.covariance[:, j].T)
        return high.ravel(), low.ravel()

    @property
    def trivial_bounds(self) -> Floats:
        """Upper bounds on the d optima that are valid for any graph.

        The bounds are rounded up.

        The bounds are c1 sum |b_gamma| + c2 sum |b_Gamma|.
        """
        found = np.empty(self.dim)
        for j in range(self.dim):
            objective = self.objective(j) if self.coefficients is not None else self.alone(j).objective(0)
            b = np.abs(objective[0]) + double_double.error_of_high(objective)
            on_value, on_slope = b[: self.n_points].sum(), b[self.n_points :].sum()
            found[j] = (self.factors.value * on_value + self.factors.gradient * on_slope) * (1.0 + 1e-9)
        return found

    def coordinate(self, j: int) -> CoordinateProgram:
        """Return the linear program of coordinate j, with all derivatives.

        Solvers use `suitable_programs` instead.
        """
        box = np.full((self.dim + 1, self.n_points), self.factors.gradient)
        box[0] = self.factors.value
        rows = Rows(box.size)
        for bound in self.finite_bounds(j):
            self._add_bound(j, bound, box, rows)
        matrix, radius = rows.assemble(*self.edge_rows)
        objective, low = self.objective(j)
        return CoordinateProgram(
            matrix,
            radius,
            box.ravel(),
            objective,
            self.n_points,
            objective_error=double_double.error_of_high((objective, low)),
            radius_error=self.radius_error(radius),
        )

    def finite_bounds(self, j: int) -> list[float]:
        """Return the finite bounds of coordinate j."""
        return [] if self.bounds is None else [float(bound) for bound in self.bounds[j] if np.isfinite(bound)]

    def _add_bound(self, j: int, bound: float, box: Floats, rows: Rows) -> None:
        """Add the boxes and rows implied by a finite bound of coordinate j."""
        c = self.factors
        inward = self.points[:, j] - bound
        distance = np.abs(inward)
        box[0] = np.minimum(box[0], c.gradient * distance)
        for k in range(self.dim):
            if k != j:
                box[k + 1] = np.minimum(box[k + 1], c.smoothness * distance)
        near = np.flatnonzero((distance > 0.0) & (distance < c.taylor_reach))
        slope = self.n_points * (j + 1) + near
        rows.add(c.taylor_radius(distance[near]), [(near, 1.0), (slope, -inward[near])])


def _shares(weights: Pair, factors: Floats) -> Pair:
    """Return the double-double products of weights and doubles."""
    return double_double.times(weights, (factors, np.zeros_like(factors)))


class Rows:
    """Builder that assembles a sparse matrix from blocks of equally long rows."""

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self.radii: list[Floats] = []
        self.blocks: list[sparse.csr_array] = []

    def add(self, radii: Floats, terms: list[tuple[Integers, float | Floats]]) -> None:
        """Add one row per radius.

        Each term contains the columns and the coefficients of one entry per row.
        """
        require_time("setting up the programs")
        columns = np.column_stack([column for column, _ in terms])
        values = np.column_stack([np.broadcast_to(coefficients, len(radii)) for _, coefficients in terms])
        starts = np.arange(0, columns.size + 1, len(terms))
        block = sparse.csr_array(
            (values.astype(np.float64).ravel(), columns.ravel(), starts), shape=(len(radii), self.columns)
        )
        block.sum_duplicates()
        block.eliminate_zeros()
        self.blocks.append(block)
        self.radii.append(radii)

    def assemble(
        self, matrix: sparse.csr_array | None = None, radii: Floats | None = None
    ) -> tuple[sparse.csr_array, Floats]:
        """Return the matrix and radii, appended to the given arrays, if any."""
        above = sparse.csr_array((0, self.columns)) if matrix is None else matrix
        stacked = sparse.csr_array(sparse.vstack([above, *self.blocks], format="csr"))
        return stacked, np.concatenate([np.empty(0) if radii is None else radii, *self.radii])
