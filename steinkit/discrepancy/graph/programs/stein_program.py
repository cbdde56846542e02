"""The Stein programs: one linear program for each coordinate of the target.

The graph Stein discrepancy of a weighted sample (x_i, q_i), i = 1..n, with scores s is a supremum over functions g and
their gradients, known at the sample's points only. The L1 norm on points decouples it into one program a coordinate j,
in gamma_i = g_j(x_i) and Gamma_ik = d_k g_j(x_i) [1]_:

    maximise   sum_i q_i (s_j(x_i) gamma_i + Gamma_ij)
    subject to |gamma_i| <= c1,   |Gamma_ik| <= c2,   and for every edge (i, l) of the graph, D = ||x_i - x_l||_1:
               |gamma_i - gamma_l| <= c2 D                                   unless D >= 2 c1/c2
               |Gamma_ik - Gamma_lk| <= c3 D   for every k                   unless D >= 2 c2/c3
               |gamma_i - gamma_l - <Gamma_i, x_i - x_l>| <= c3 D^2 / 2      unless D >= 4 c2/c3
               |gamma_i - gamma_l - <Gamma_l, x_i - x_l>| <= c3 D^2 / 2      unless D >= 4 c2/c3

The rows left out cannot bind: the boxes imply the first two kinds, and |gamma_i - gamma_l| <= c2 D, which holds by row
or by box, with |<Gamma, x_i - x_l>| <= c2 D the last. A finite bound b of coordinate j adds, with a = |x_ij - b|,

               |gamma_i| <= c2 a,   |Gamma_ik| <= c3 a (k != j),   |gamma_i - Gamma_ij (x_ij - b)| <= c3 a^2 / 2,

the last only for 0 < a < 4 c2/c3. The rows of the edges are the same for all coordinates and are built once.

Where all edges are so long that they add no rows, as in hundreds of dimensions, nothing ties the points together, and
derivatives in other directions than j are held by nothing and in no objective: they are zero, and left out.

Another diffusion operator than Langevin's, T g = <drift, g> + <a, grad g>, changes the objective only, which becomes

               sum_i q_i (drift_j(x_i) gamma_i + sum_k a_jk(x_i) Gamma_ik).

References
----------
.. [1] J. Gorham and L. Mackey, "Measuring sample quality with Stein's method", NeurIPS 2015, section 4, equations
   (6)-(8), and section 3.4 for the Stein factors (c1, c2, c3).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

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

_ROWS_AT_ONCE = 200_000  # a tenth of a second's work, between two looks at the clock
_CERTAINLY = 1.0 + 1e-9  # how much further than a reach edges are looked at before their lengths are summed anew


@dataclass(frozen=True)
class SteinFactors:
    """Bounds on g, on its gradient, and on the gradient's Lipschitz constant."""

    value: float = 1.0
    gradient: float = 1.0
    smoothness: float = 1.0

    @classmethod
    def of(cls, factors: tuple[float, float, float]) -> SteinFactors:
        """Check three numbers (c1, c2, c3)."""
        wanted = "three positive numbers (c1, c2, c3)"
        c = real_numbers(factors, "stein_factors", wanted)
        if c.shape != (3,) or not (np.isfinite(c).all() and (c > 0).all()):
            raise UsageError(f"stein_factors must be {wanted}; received {factors}")
        require_range(c, "Stein factors")
        return cls(*map(float, c))

    @property
    def value_reach(self) -> float:
        """Distance from which on two values of g cannot differ too much: 2 c1/c2."""
        return 2.0 * self.value / self.gradient

    @property
    def gradient_reach(self) -> float:
        """Distance from which on two gradients cannot differ too much: 2 c2/c3."""
        return 2.0 * self.gradient / self.smoothness

    @property
    def taylor_reach(self) -> float:
        """Distance from which on the Taylor rows cannot bind: 4 c2/c3."""
        return 4.0 * self.gradient / self.smoothness

    def taylor_radius(self, distance: float | Floats) -> Floats:
        """Radius c3 D^2 / 2 of the Taylor rows, whose square alone may be no double.

        Infinite, it restricts nothing. Where it underflows it is off by less than the smallest number times 1 + c3.
        """
        with np.errstate(over="ignore"):
            distance = np.asarray(distance)
            return self.smoothness * (0.5 * distance) * distance


@dataclass(frozen=True, eq=False)
class SteinProgram:
    """The d linear programs of a sample.

    Parameters
    ----------
    points, scores : ndarray, shape (n, d)
    weights : ndarray, shape (n,)
        Positive, summing to one but for rounding.
    graph : Graph
        Pairs of points whose values are held together.
    factors : SteinFactors
    bounds : ndarray, shape (d, 2), or None
    coefficients : Coefficients, optional
        Of a diffusion operator at the points; the Langevin operator's if not given.
    weights_low : ndarray, shape (n,), optional
        What the weights meant are beyond `weights`; see `DistinctSample`. Nothing if not given.

    Attributes
    ----------
    known : dict
        What was found out about the program and is worth keeping as long as it.

    Notes
    -----
    The program is that of points, scores, bounds, factors and coefficients as the doubles that they are, and of weights
    to double-double precision. What is computed from them here is rounded, by no more than goes with it.
    """

    points: Floats
    scores: Floats
    weights: Floats
    graph: Graph
    factors: SteinFactors = SteinFactors()
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
    def n_variables(self) -> int:
        """Number of variables of each program: values and derivatives."""
        return self.n_points * (2 if self.is_loose else self.dim + 1)

    @property
    def arrays(self) -> dict[str, Any]:
        """What it takes to state the program again."""
        c, coefficients = self.factors, self.coefficients
        return {
            "points": self.points,
            "scores": self.scores,
            "weights": self.weights,
            "weights_low": self.weights_low,
            "edges": self.graph.edges,
            "stein_factors": np.array([c.value, c.gradient, c.smoothness]),
            "bounds": self.bounds,
            "drift": None if coefficients is None else coefficients.drift,
            "covariance": None if coefficients is None else coefficients.covariance,
        }

    @cached_property
    def edge_rows(self) -> tuple[sparse.csr_array, Floats]:
        """Matrix A and radii r of the edges' rows, shared by all coordinates."""
        require_time("the programs were written down")
        c = self.factors
        if self.is_loose:
            return Rows(self.n_variables).assemble()
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
        """Whether no edge adds a row, in more than three dimensions and under Langevin's operator."""
        return self.dim > 3 and self.coefficients is None and not any(self._edges_with_rows)

    def alone(self, j: int) -> SteinProgram:
        """Coordinate j's program in a loose one: as if the sample had no other coordinates, and no edges."""
        some = slice(j, j + 1)
        bounds = None if self.bounds is None else self.bounds[some]
        points, scores = self.points[:, some], self.scores[:, some]
        return replace(self, points=points, scores=scores, graph=unjoined(self.n_points), bounds=bounds)

    @property
    def _edges_with_rows(self) -> list[int]:
        """How many edges add a row of values, rows of gradients, Taylor rows."""
        c = self.factors
        reaches = c.value_reach, c.gradient_reach, c.taylor_reach
        return [len(self.nearer(self.graph.lengths, reach)) for reach in reaches]

    @property
    def size(self) -> tuple[int, int]:
        """Rows and entries of the largest of the programs as they are written here, counted without writing them."""
        d, (values, gradients, taylor) = self.dim, self._edges_with_rows
        at_bounds = max(
            sum(len(self._near_bound(np.abs(self.points[:, j] - bound))) for bound in self.finite_bounds(j))
            for j in range(d)
        )
        rows = values + d * gradients + 2 * taylor + at_bounds
        return rows, 2 * (values + d * gradients + (d + 2) * taylor + at_bounds)

    def nearer(self, distance: Floats, reach: float) -> Integers:
        """Edges that may be shorter than a reach, rounding allowed for: the rows of others surely cannot bind."""
        return np.flatnonzero(distance < reach * (1.0 + self._lengths_rounding))

    def radius_error(self, radius: Floats) -> Floats:
        """How far rounding may have taken radii c2 D, c3 D or c3 D^2 / 2: D is a sum of d rounded differences.

        Infinite radii restrict nothing, rounded or not.
        """
        known = np.where(np.isfinite(radius), radius, 0.0)
        return self._lengths_rounding * known + 2.0 * SMALLEST * (1.0 + self.factors.smoothness)

    @property
    def _lengths_rounding(self) -> float:
        """Largest relative error of the square of a length and of a few operations on it."""
        return (2 * self.dim + 8) * UNIT_ROUNDOFF

    def objective(self, j: int) -> Pair:
        """Weights of coordinate j's variables as double-doubles, each part of shape (n (d + 1),).

        q_i s_ij on gamma_i and q_i on Gamma_ij, or q_i drift_ij on gamma_i and q_i a_jk(x_i) on every Gamma_ik. The
        products are not rounded to doubles: where they cancel, what they lost would be all there is.
        """
        nothing = np.zeros(self.n_points)
        weights = self.weights, nothing if self.weights_low is None else self.weights_low
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
        """What bounds each optimum whatever the graph: c1 sum |b_gamma| + c2 sum |b_Gamma|, rounded up; shape (d,)."""
        return np.array([self._trivial_bound(j) for j in range(self.dim)])

    @np.errstate(over="ignore")  # infinite where it is
    def _trivial_bound(self, j: int) -> float:
        objective = self.objective(j) if self.coefficients is not None else self.alone(j).objective(0)
        b = np.abs(objective[0]) + double_double.error_of_high(objective)
        on_value, on_slope = b[: self.n_points].sum(), b[self.n_points :].sum()
        return float(self.factors.value * on_value + self.factors.gradient * on_slope) * (1.0 + 1e-9)

    def coordinate(self, j: int) -> CoordinateProgram:
        """The linear program of coordinate j; with derivatives in that direction alone where it `is_loose`."""
        if self.is_loose:
            return self.alone(j).coordinate(0)
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
        """Bounds of coordinate j's support, without infinite ones."""
        return [] if self.bounds is None else [float(bound) for bound in self.bounds[j] if np.isfinite(bound)]

    def _add_bound(self, j: int, bound: float, box: Floats, rows: Rows) -> None:
        """Hold coordinate j's function to what a finite bound of its support asks of it."""
        c = self.factors
        inward = self.points[:, j] - bound
        distance = np.abs(inward)
        box[0] = np.minimum(box[0], c.gradient * distance)
        for k in range(self.dim):
            if k != j:
                box[k + 1] = np.minimum(box[k + 1], c.smoothness * distance)
        near = self._near_bound(distance)
        slope = self.n_points * (j + 1) + near
        rows.add(c.taylor_radius(distance[near]), [(near, 1.0), (slope, -inward[near])])

    def _near_bound(self, distance: Floats) -> Integers:
        """Points that have a Taylor row for a bound at these distances."""
        return np.flatnonzero((distance > 0.0) & (distance < self.factors.taylor_reach))


def _shares(weights: Pair, factors: Floats) -> Pair:
    """Products of weights and other numbers; zero only where these are."""
    return double_double.times(weights, (factors, np.zeros_like(factors)))


class Rows:
    """Collects rows of a sparse matrix a block at a time."""

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self.count = 0
        self.radii: list[Floats] = []
        self.blocks: list[sparse.csr_array] = []

    def add(self, radii: Floats, terms: list[tuple[Integers, float | Floats]]) -> None:
        """Add a row for each radius; a term is the columns and the coefficients of one entry in each row."""
        for begin in range(0, len(radii), _ROWS_AT_ONCE):
            require_time("the programs were written down")
            some = slice(begin, begin + _ROWS_AT_ONCE)
            columns = np.column_stack([column[some] for column, _ in terms])
            values = np.empty(columns.shape)
            for k, (_, coefficients) in enumerate(terms):
                values[:, k] = coefficients[some] if isinstance(coefficients, np.ndarray) else coefficients
            starts = np.arange(0, columns.size + 1, len(terms))
            shape = (len(columns), self.columns)
            self.blocks.append(sparse.csr_array((values.ravel(), columns.ravel(), starts), shape=shape))
            self.blocks[-1].sum_duplicates()
            self.blocks[-1].eliminate_zeros()
        self.radii.append(radii)
        self.count += len(radii)

    def assemble(
        self, matrix: sparse.csr_array | None = None, radii: Floats | None = None
    ) -> tuple[sparse.csr_array, Floats]:
        """The matrix, without explicit zeros, and the radii; below a matrix and its radii where these are given."""
        above = sparse.csr_array((0, self.columns)) if matrix is None else matrix
        radii_above = np.empty(0) if radii is None else radii
        if not self.count:
            return above, radii_above
        blocks = [above, *self.blocks] if above.shape[0] else self.blocks
        return sparse.csr_array(sparse.vstack(blocks, format="csr")), np.concatenate([radii_above, *self.radii])
