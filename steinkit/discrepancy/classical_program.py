"""The classical Stein discrepancy in one dimension as a second-order cone program.

Let x_1 < ... < x_n with weights q and scores s, and let g run over the functions with |g| <= c1, |g'| <= c2 and g'
Lipschitz with constant c3 that vanish at the finite bounds of the support. Values gamma_i and slopes Gamma_i at the
points belong to such a function if and only if |Gamma_i| <= c2, |gamma_i| <= c1 - Gamma_i^2 / (2 c3), and over each
gap of length h the integral of g' lies between those of its lower and upper envelope. In scaled variables u, v that is

    gamma' - gamma = h (Gamma + Gamma') / 2 + (c3 h^2 / 2) u,      Gamma' - Gamma = c3 h v,
    v^2 + 4 t^2 + 2 u <= 1,   t >= 1/2 + ((Gamma + Gamma') / 2 - c2) / (c3 h),    t >= 0,
    v^2 + 4 t^2 - 2 u <= 1,   t >= 1/2 - ((Gamma + Gamma') / 2 + c2) / (c3 h),    t >= 0,

where t cuts an envelope off at slope c2 or -c2. A bound at distance a from the outermost point is the gap of length
h = 2 a to that point's mirror image, at which the odd continuation of g has value -gamma and slope Gamma: v = 0. In the
raw variables the coefficients of short gaps are of order h^2 and cone solvers lose them; here all but the two equations
are of order one. A gap of at least max(4 c2/c3, 2 c1/c2 + 3 c2/c3) restricts nothing that the points do not, and splits
the program into components; a component of one point has its optimum in closed form.

References
----------
.. [1] J. Gorham and L. Mackey, "Measuring sample quality with Stein's method", NeurIPS 2015, section 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import sparse

from steinkit.discrepancy.graph.programs.stein_program import SteinFactors
from steinkit.sample import Floats, Integers

_SOLVER_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class ClassicalProgram:
    """The program of a sorted sample.

    Attributes
    ----------
    points, weights, scores : ndarray, shape (n,)
        Points increase strictly.
    factors : SteinFactors
    bounds : tuple of float
        Of the support; infinite where there is none.
    """

    points: Floats
    weights: Floats
    scores: Floats
    factors: SteinFactors
    bounds: tuple[float, float]

    @property
    def natural_units(self) -> tuple[int, int]:
        """Exponents of the powers of two nearest to sqrt(c1 / c3), a length, and next below c1.

        A solver and the proof do best where c1 and c3 are about 1.

        Both zero where these units would round a number: then none are natural.
        """
        c = self.factors
        units = round(0.5 * (math.log2(c.value) - math.log2(c.smoothness))), math.frexp(c.value)[1] - 1
        there = self.in_units(*units)
        back = there.in_units(-units[0], -units[1])
        exact = back.factors == c and back.bounds == self.bounds and np.array_equal(back.points, self.points)
        return units if exact and np.array_equal(back.scores, self.scores) else (0, 0)

    def in_units(self, length: int, value: int) -> ClassicalProgram:
        """The program in units 2^length of points and 2^value of g, whose optimum is 2^(length - value) times this one.

        The factors are (c1, c2 L, c3 L^2) / 2^value for L = 2^length, and the scores s L.
        """
        c = self.factors
        powers = -value, length - value, 2 * length - value
        with np.errstate(over="ignore"):  # of units that are too small or too large, see `natural_units`
            points, scores = np.ldexp(self.points, -length), np.ldexp(self.scores, length)
            factors = SteinFactors(*np.ldexp([c.value, c.gradient, c.smoothness], powers).tolist())
            low, high = np.ldexp(self.bounds, -length).tolist()
        return ClassicalProgram(points, self.weights, scores, factors, (low, high))

    @property
    def reach(self) -> float:
        """Length from which on a gap between two points restricts nothing."""
        c = self.factors
        return max(4.0 * c.gradient / c.smoothness, 2.0 * c.value / c.gradient + 3.0 * c.gradient / c.smoothness)

    @property
    def steepest(self) -> float:
        """Largest slope at a point: min(c2, sqrt(2 c1 c3))."""
        c = self.factors
        return min(c.gradient, math.sqrt(2.0 * c.value) * math.sqrt(c.smoothness))

    @cached_property
    def starts(self) -> Integers:
        """First point of each component, and n: gaps that restrict nothing lie between the components."""
        cuts = np.flatnonzero(np.diff(self.points) >= self.reach) + 1
        return np.concatenate([[0], cuts, [len(self.points)]]).astype(np.int64)

    @cached_property
    def inner(self) -> Integers:
        """Left points of the gaps between points that restrict, in order."""
        return np.flatnonzero(np.diff(self.points) < self.reach).astype(np.int64)

    @cached_property
    def ends(self) -> tuple[tuple[int, float, float], ...]:
        """Bounds that restrict: (point, distance, sign), where sign times Gamma is the slope inwards."""
        low, high = self.points[0] - self.bounds[0], self.bounds[1] - self.points[-1]
        found = [(0, float(low), 1.0), (len(self.points) - 1, float(high), -1.0)]
        return tuple(end for end in found if 2.0 * end[1] < self.reach)

    @cached_property
    def bound_gaps(self) -> tuple[int | None, int | None]:
        """Numbers of the gaps to the mirror images beyond the lower and the upper bound."""
        number = {end[2]: number for number, end in enumerate(self.ends, start=len(self.inner))}
        return number.get(1.0), number.get(-1.0)

    @cached_property
    def lengths(self) -> Floats:
        """Lengths h of the gaps: the inner ones, then those to mirror images."""
        return np.concatenate([np.diff(self.points)[self.inner], [2.0 * distance for _, distance, _ in self.ends]])

    @cached_property
    def difference(self) -> sparse.csr_array:
        """The matrix D, (gaps, n): gamma' - gamma over each gap."""
        return self._over_gaps(-1.0, 1.0, [2.0 * sign for _, _, sign in self.ends])

    @cached_property
    def mean(self) -> sparse.csr_array:
        """The matrix M, (gaps, n): (Gamma + Gamma') / 2 over each gap; the slope at a gap's only point."""
        return self._over_gaps(0.5, 0.5, [1.0] * len(self.ends))

    def _over_gaps(self, on_left: float, on_right: float, at_ends: list[float]) -> sparse.csr_array:
        """The matrix (gaps, n) with these entries at the points of each gap."""
        left, bounded = self.inner, np.array([end[0] for end in self.ends], dtype=np.int64)
        rows = np.arange(len(left))
        places = (
            np.concatenate([rows, rows, len(left) + np.arange(len(bounded))]),
            np.concatenate([left + 1, left, bounded]),
        )
        values = np.concatenate([np.full(len(left), on_right), np.full(len(left), on_left), at_ends])
        return sparse.csr_array((values, places), shape=(len(self.lengths), len(self.points)))


@dataclass(frozen=True, eq=False)
class ConeAnswer:
    """What a cone solver says, right or wrong; see `lower_bound` and `upper_bound` for what it proves.

    Attributes
    ----------
    value, slope : ndarray, shape (n,)
        gamma and Gamma.
    bend, turn : ndarray, shape (gaps,)
        u and v.
    tension : ndarray, shape (gaps,)
        Multipliers of the equations for gamma.
    cut : ndarray, shape (2, gaps)
        Multipliers of the rows for t, of the upper and the lower envelope.
    value_force, slope_force : ndarray, shape (n,)
        What the restrictions at the points themselves contribute to the multipliers of gamma and Gamma.
    status : str
    """

    value: Floats
    slope: Floats
    bend: Floats
    turn: Floats
    tension: Floats
    cut: Floats
    value_force: Floats
    slope_force: Floats
    status: str


def solve_cone(program: ClassicalProgram, seconds: float = math.inf) -> ConeAnswer:
    """Solve the program with Clarabel; components of one point without a bound need no solver.

    Parameters
    ----------
    program : ClassicalProgram
    seconds : float
        Time after which Clarabel stops with what it has.
    """
    with np.errstate(all="ignore"):  # what overflows in a solver proves nothing
        return _solve(program, seconds)


def _solve(program: ClassicalProgram, seconds: float) -> ConeAnswer:
    value, slope = pointwise_optimum(program, program.weights * program.scores, program.weights)
    n, gaps = len(program.points), len(program.lengths)
    nothing = np.zeros(n)
    if not gaps:
        empty = np.zeros(0)
        return ConeAnswer(value, slope, empty, empty, empty, np.zeros((2, 0)), nothing, nothing, "closed form")
    coupled = np.flatnonzero(abs(program.difference).sum(axis=0) > 0.0)
    cost = np.zeros(2 * n + 4 * gaps)
    cost[coupled] = -(program.weights * program.scores)[coupled]
    cost[n + coupled] = -program.weights[coupled]
    matrix, right, cones = _rows(program)
    solution, scale = _solved(cost, matrix, right, cones, seconds)
    x, z = (np.nan_to_num(np.asarray(each), posinf=0.0, neginf=0.0) for each in (solution.x, solution.z))
    z *= scale
    forces = np.asarray(matrix[12 * gaps :].T @ z[12 * gaps :])
    value[coupled], slope[coupled] = x[coupled], x[n + coupled]
    return ConeAnswer(
        value=value,
        slope=slope,
        bend=x[2 * n : 2 * n + gaps],
        turn=x[2 * n + gaps : 2 * n + 2 * gaps],
        tension=z[:gaps],
        cut=z[2 * gaps : 4 * gaps].reshape(2, gaps),
        value_force=forces[:n],
        slope_force=forces[n : 2 * n],
        status=str(solution.status),
    )


def pointwise_optimum(program: ClassicalProgram, alpha: Floats, beta: Floats) -> tuple[Floats, Floats]:
    """The gamma and Gamma that maximise alpha gamma + beta Gamma at each point, gaps left aside."""
    c = program.factors
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        free = np.where(alpha == 0.0, np.inf, c.smoothness * np.abs(beta) / np.abs(alpha))
    slope = np.where(beta == 0.0, 0.0, np.minimum(program.steepest, free))
    value = np.maximum(c.value - 0.5 * slope * (slope / c.smoothness), 0.0)
    return np.sign(alpha) * value, np.sign(beta) * slope


def _rows(program: ClassicalProgram) -> tuple[sparse.csr_array, Floats, list[Any]]:
    """Rows A x + s = b, with s in a product of cones, of x = (gamma, Gamma, u, v, t_+, t_-).

    Twelve a gap: two equations, two for t, two cones of four. Then eight a point: |Gamma| <= c2, and the two cones of
    three of Gamma^2 / (2 c3) +- gamma <= c1. A sum of (a x)^2 <= 1 + l x is the cone ||(l x, 2 a x)|| <= 2 + l x.
    """
    import clarabel

    n, gaps, n_inner = len(program.points), len(program.lengths), len(program.inner)
    c, h = program.factors, program.lengths
    bend, curvature = c.smoothness * h, 1.0 / math.sqrt(2.0 * c.value) / math.sqrt(c.smoothness)
    turning = sparse.vstack([program.difference[:n_inner], sparse.csr_array((len(program.ends), n))])
    width = np.where(np.arange(gaps) < n_inner, bend, 1.0)
    cut, steepest = -sparse.diags_array(bend), sparse.eye_array(n)

    def cones(count: int, *entries: float) -> sparse.coo_array:
        """These entries of one variable in the rows of each cone."""
        return sparse.coo_array(sparse.kron(sparse.eye_array(count), np.array(entries)[:, None]))

    blocks = [
        [program.difference, -sparse.diags_array(h) @ program.mean, -sparse.diags_array(0.5 * bend * h), *[None] * 3],
        [None, turning, None, -sparse.diags_array(width), None, None],
        [None, program.mean, None, None, cut, None],
        [None, -program.mean, None, None, None, cut],
        [None, None, cones(gaps, 2, 2, 0, 0), cones(gaps, 0, 0, -2, 0), cones(gaps, 0, 0, 0, -4), None],
        [None, None, cones(gaps, -2, -2, 0, 0), cones(gaps, 0, 0, -2, 0), None, cones(gaps, 0, 0, 0, -4)],
        [None, steepest, *[None] * 4],
        [None, -steepest, *[None] * 4],
        [cones(n, 1.0 / c.value, 1.0 / c.value, 0), cones(n, 0, 0, -2.0 * curvature), *[None] * 4],
        [cones(n, -1.0 / c.value, -1.0 / c.value, 0), cones(n, 0, 0, -2.0 * curvature), *[None] * 4],
    ]
    matrix = sparse.csr_array(sparse.block_array(blocks))
    matrix.eliminate_zeros()
    flat = c.gradient - 0.5 * c.smoothness * h
    at_points = [np.full(2 * n, c.gradient), np.tile([2.0, 0.0, 0.0], 2 * n)]
    right = np.concatenate([np.zeros(2 * gaps), flat, flat, np.tile([2.0, 0.0, 0.0, 0.0], 2 * gaps), *at_points])
    products = [
        clarabel.ZeroConeT(2 * gaps),
        clarabel.NonnegativeConeT(2 * gaps),
        *[clarabel.SecondOrderConeT(4)] * (2 * gaps),
        clarabel.NonnegativeConeT(2 * n),
        *[clarabel.SecondOrderConeT(3)] * (2 * n),
    ]
    return matrix, right, products


def _solved(
    cost: Floats, matrix: sparse.csr_array, right: Floats, cones: list[Any], seconds: float
) -> tuple[Any, float]:
    """Clarabel's solution, and the factor by which its objective is too small."""
    import clarabel

    scale = float(np.abs(cost).max())
    if not (np.isfinite(matrix.data).all() and np.isfinite(right).all() and 0.0 < scale < math.inf):
        return SimpleNamespace(x=np.zeros(len(cost)), z=np.zeros(len(right)), status="numbers that overflow"), 1.0
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_gap_rel = settings.tol_feas = _SOLVER_TOLERANCE
    settings.tol_gap_abs = 1e-12
    settings.iterative_refinement_enable = False  # twice as fast; what it costs in precision the proof would show
    if math.isfinite(seconds):
        settings.time_limit = max(seconds, 1e-3)
    none = sparse.csc_matrix((len(cost), len(cost)))
    solver = clarabel.DefaultSolver(none, cost / scale, sparse.csc_matrix(matrix), right, cones, settings)
    return solver.solve(), scale
