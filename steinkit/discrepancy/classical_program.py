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

import contextlib
import math
import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from steinkit.discrepancy.graph.programs.stein_program import SteinFactors
from steinkit.sample import Floats, Integers

_SOLVER = {"tol_gap_rel": 1e-10, "tol_feas": 1e-10, "tol_gap_abs": 1e-12, "max_threads": 1, "accept_unknown": True}


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

    def in_units(self, length: int, value: int) -> ClassicalProgram:
        """The program in units 2^length of points and 2^value of g, whose optimum is 2^(length - value) times this one.

        The factors are (c1, c2 L, c3 L^2) / 2^value for L = 2^length, and the scores s L.
        """
        c = self.factors
        factors = np.ldexp([c.value, c.gradient, c.smoothness], [-value, length - value, 2 * length - value])
        points, scores = np.ldexp(self.points, -length), np.ldexp(self.scores, length)
        low, high = np.ldexp(self.bounds, -length).tolist()
        return ClassicalProgram(points, self.weights, scores, SteinFactors(*factors.tolist()), (low, high))

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

    @property
    def turning(self) -> sparse.csr_array:
        """The matrix E, (gaps, n): Gamma' - Gamma over each gap, which is zero to a mirror image."""
        return self._over_gaps(-1.0, 1.0, [0.0] * len(self.ends))

    def _over_gaps(self, on_left: float, on_right: float, at_ends: list[float]) -> sparse.csr_array:
        """The matrix (gaps, n) with these entries at the points of each gap."""
        at_point = sparse.eye_array(len(self.points), format="csr")
        inner = on_left * at_point[self.inner] + on_right * at_point[self.inner + 1]
        outer = sparse.diags_array(at_ends) @ at_point[np.array([end[0] for end in self.ends], dtype=np.int64)]
        return sparse.csr_array(sparse.vstack([inner, outer]))


@dataclass(frozen=True, eq=False)
class ConeAnswer:
    """What a cone solver says, right or wrong; see `lower_bound` and `upper_bound` for what it proves.

    Attributes
    ----------
    value, slope : ndarray, shape (n,)
        gamma and Gamma.
    bend, turn : ndarray, shape (gaps,)
        u and v.
    tension, torque : ndarray, shape (gaps,)
        Multipliers of the equations for gamma and for Gamma.
    cut : ndarray, shape (2, gaps)
        Multipliers of the rows for t, of the upper and the lower envelope.
    status : str
    """

    value: Floats
    slope: Floats
    bend: Floats
    turn: Floats
    tension: Floats
    torque: Floats
    cut: Floats
    status: str


def pointwise_optimum(program: ClassicalProgram, alpha: Floats, beta: Floats) -> tuple[Floats, Floats]:
    """The gamma and Gamma that maximise alpha gamma + beta Gamma at each point, gaps left aside."""
    c = program.factors
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        free = np.where(alpha == 0.0, np.inf, c.smoothness * np.abs(beta) / np.abs(alpha))
    slope = np.where(beta == 0.0, 0.0, np.minimum(program.steepest, free))
    value = np.maximum(c.value - 0.5 * slope * (slope / c.smoothness), 0.0)
    return np.sign(alpha) * value, np.sign(beta) * slope


def solve_cone(program: ClassicalProgram, seconds: float = math.inf) -> ConeAnswer:
    """Solve the program with Clarabel; components of one point without a bound need no solver.

    Parameters
    ----------
    program : ClassicalProgram
    seconds : float
        Time after which Clarabel stops, without an answer.
    """
    import cvxpy as cp

    c, h, n, gaps = program.factors, program.lengths, len(program.points), len(program.lengths)
    pull, weights = program.weights * program.scores, program.weights
    best_value, best_slope = pointwise_optimum(program, pull, weights)
    coupled = abs(program.difference).sum(axis=0) > 0.0
    scale = float((coupled * np.maximum(abs(pull), weights)).max())
    if scale == 0.0:
        zero = np.zeros((2, gaps))
        return ConeAnswer(best_value, best_slope, zero[0], zero[0], zero[0], zero[0], zero, "closed form")

    value, slope = cp.Variable(n), cp.Variable(n)
    bend, turn, over, under = (cp.Variable(gaps) for _ in range(4))
    width = c.smoothness * h
    D, M, E = program.difference, program.mean, program.turning
    rows = [
        D @ value == cp.multiply(h, M @ slope) + cp.multiply(0.5 * width * h, bend),
        E @ slope == cp.multiply(np.where(np.arange(gaps) < len(program.inner), width, 1.0), turn),
        M @ slope - cp.multiply(width, over) <= c.gradient - 0.5 * width,
        -(M @ slope) - cp.multiply(width, under) <= c.gradient - 0.5 * width,
    ]
    limits = [cp.abs(slope) <= c.gradient]
    curvature = math.sqrt(2.0 / c.value) / math.sqrt(c.smoothness)
    for sign, cut in ((1.0, over), (-1.0, under)):  # a sum of (a x)^2 <= 1 + l x is ||(l x, 2 a x)|| <= 2 + l x
        limits.append(cp.SOC(2.0 - 2.0 * sign * bend, cp.vstack([2.0 * bend, 2.0 * turn, 4.0 * cut])))
        limits.append(cp.SOC(2.0 - sign * value / c.value, cp.vstack([value / c.value, curvature * slope])))
    worth = (coupled * pull / scale) @ value + (coupled * weights / scale) @ slope
    problem = cp.Problem(cp.Maximize(worth), rows + limits)
    options = _SOLVER if math.isinf(seconds) else _SOLVER | {"time_limit": max(seconds, 1e-3)}
    with warnings.catch_warnings(), contextlib.suppress(cp.SolverError, ValueError):  # of numbers that overflow
        warnings.simplefilter("ignore")  # "may be inaccurate": the proof says by how much
        problem.solve(solver=cp.CLARABEL, **options)

    def found(numbers: Floats | None, size: int) -> Floats:
        return np.zeros(size) if numbers is None else np.asarray(numbers, dtype=np.float64)

    tension, torque, *cuts = (scale * found(row.dual_value, gaps) for row in rows)
    return ConeAnswer(
        value=np.where(coupled, found(value.value, n), best_value),
        slope=np.where(coupled, found(slope.value, n), best_slope),
        bend=found(bend.value, gaps),
        turn=found(turn.value, gaps),
        tension=tension,
        torque=-torque,
        cut=np.array(cuts),
        status=str(problem.status),
    )
