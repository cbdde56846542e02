"""Second-order cone program for the classical Stein discrepancy in 1D.

Let x_1 < ... < x_n have weights q and scores s. The program maximizes the weighted mean of g s + g' over functions g
that vanish at the finite bounds of the support, with |g| <= c1, |g'| <= c2 and g' Lipschitz with constant c3. Values
gamma_i and slopes Gamma_i at the points belong to such a function if and only if three conditions hold: |Gamma_i| <=
c2, |gamma_i| <= c1 - Gamma_i^2 / (2 c3), and, over each gap of length h, the integral of g' lies between the integrals
of the lower and upper envelopes of g' [1]_. In the scaled variables u and v, these conditions are

    gamma' - gamma = h (Gamma + Gamma') / 2 + (c3 h^2 / 2) u,      Gamma' - Gamma = c3 h v,
    v^2 + 4 t^2 + 2 u <= 1,   t >= 1/2 + ((Gamma + Gamma') / 2 - c2) / (c3 h),    t >= 0,
    v^2 + 4 t^2 - 2 u <= 1,   t >= 1/2 - ((Gamma + Gamma') / 2 + c2) / (c3 h),    t >= 0,

where t truncates an envelope at the slope c2 or -c2. A bound at distance a from the outermost point is represented by a
gap of length h = 2 a to the mirror image of that point. The odd continuation of g has the value -gamma and the slope
Gamma at the mirror image, so v = 0. In the raw variables, the coefficients of short gaps are of order h^2, which is
below the accuracy of cone solvers. In the scaled variables, all coefficients outside the two equations are of order
one. A gap of at least max(4 c2/c3, 2 c1/c2 + 3 c2/c3) imposes no constraint and splits the program into components. The
optimum of a component with one point has a closed form.

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
    """Cone program for a sorted sample.

    Attributes
    ----------
    points, weights, scores : ndarray, shape (n,)
        Strictly increasing points, and their weights and scores.
    factors : SteinFactors
    bounds : tuple of float
        Bounds of the support. Missing bounds are infinite.
    """

    points: Floats
    weights: Floats
    scores: Floats
    factors: SteinFactors
    bounds: tuple[float, float]

    @property
    def reach(self) -> float:
        """Smallest length of a gap between two points that imposes no constraint."""
        c = self.factors
        return max(c.taylor_reach, c.value_reach + 3.0 * c.gradient / c.smoothness)

    @property
    def steepest(self) -> float:
        """Largest slope at a point, which is min(c2, sqrt(2 c1 c3))."""
        return min(self.factors.gradient, math.sqrt(2.0 * self.factors.value) * math.sqrt(self.factors.smoothness))

    @cached_property
    def starts(self) -> Integers:
        """Index of the first point of each component, followed by n."""
        cuts = np.flatnonzero(np.diff(self.points) >= self.reach) + 1
        return np.concatenate([[0], cuts, [len(self.points)]]).astype(np.int64)

    @cached_property
    def inner(self) -> Integers:
        """Left endpoints of the gaps that impose a constraint, in order."""
        return np.flatnonzero(np.diff(self.points) < self.reach).astype(np.int64)

    @cached_property
    def ends(self) -> tuple[tuple[int, float, float], ...]:
        """Bounds of the support that impose a constraint, as (point, distance, sign).

        The inward slope is the sign times Gamma.
        """
        low, high = float(self.points[0] - self.bounds[0]), float(self.bounds[1] - self.points[-1])
        found = ((0, low, 1.0), (len(self.points) - 1, high, -1.0))
        return tuple(end for end in found if 2.0 * end[1] < self.reach)

    @cached_property
    def lengths(self) -> Floats:
        """Lengths h of all gaps, ending with the gaps to mirror images."""
        return np.concatenate([np.diff(self.points)[self.inner], [2.0 * distance for _, distance, _ in self.ends]])

    @cached_property
    def matrices(self) -> tuple[sparse.csr_array, sparse.csr_array, sparse.csr_array]:
        """Matrices D, M and E of shape (gaps, n).

        The products D gamma, M Gamma and E Gamma are gamma' - gamma, (Gamma + Gamma') / 2 and Gamma' - Gamma for each
        gap.
        """
        at_point = sparse.eye_array(len(self.points), format="csr")
        left, right = at_point[self.inner], at_point[self.inner + 1]
        outer = at_point[np.array([end[0] for end in self.ends], dtype=np.int64)]
        signs = sparse.diags_array([2.0 * sign for _, _, sign in self.ends])
        rows = ([right - left, signs @ outer], [0.5 * left + 0.5 * right, outer], [right - left, 0.0 * outer])
        difference, mean, turning = (sparse.csr_array(sparse.vstack(each)) for each in rows)
        return difference, mean, turning


@dataclass(frozen=True, eq=False)
class ConeAnswer:
    """Primal and dual variables returned by a cone solver.

    The variables need not be accurate because `classical_bounds` proves valid bounds from any values.

    Attributes
    ----------
    value, slope : ndarray, shape (n,)
        The variables gamma and Gamma.
    bend, turn : ndarray, shape (gaps,)
        The variables u and v.
    tension, torque : ndarray, shape (gaps,)
        Multipliers of the equations for gamma and for Gamma.
    cut : ndarray, shape (2, gaps)
        Multipliers of the inequalities for t, for the upper and the lower envelope.
    """

    value: Floats
    slope: Floats
    bend: Floats
    turn: Floats
    tension: Floats
    torque: Floats
    cut: Floats


def pointwise_optimum(program: ClassicalProgram, alpha: Floats, beta: Floats) -> tuple[Floats, Floats]:
    """Maximize alpha gamma + beta Gamma separately at each point.

    The constraints over the gaps are ignored.
    """
    c = program.factors
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        free = np.where(alpha == 0.0, np.inf, c.smoothness * np.abs(beta) / np.abs(alpha))
    slope = np.where(beta == 0.0, 0.0, np.minimum(program.steepest, free))
    value = np.maximum(c.value - 0.5 * slope * (slope / c.smoothness), 0.0)
    return np.sign(alpha) * value, np.sign(beta) * slope


def solve_cone(program: ClassicalProgram, seconds: float = math.inf) -> tuple[ConeAnswer, str]:
    """Solve the program with Clarabel.

    Single-point components are solved in closed form.

    Parameters
    ----------
    program : ClassicalProgram
    seconds : float
        Time limit for Clarabel. If it is exceeded, the variables are those of the last iteration, or zero if there is
        none.

    Returns
    -------
    ConeAnswer
    str
        Status reported by Clarabel, or "closed form".
    """
    import cvxpy as cp

    c, h, n, gaps = program.factors, program.lengths, len(program.points), len(program.lengths)
    pull, weights = program.weights * program.scores, program.weights
    best_value, best_slope = pointwise_optimum(program, pull, weights)
    D, M, E = program.matrices
    coupled = abs(D).sum(axis=0) > 0.0
    if not gaps:
        none = np.zeros(0)
        return ConeAnswer(best_value, best_slope, none, none, none, none, np.zeros((2, 0))), "closed form"

    scale = float((coupled * np.maximum(abs(pull), weights)).max())
    value, slope = cp.Variable(n), cp.Variable(n)
    bend, turn, over, under = (cp.Variable(gaps) for _ in range(4))
    width = c.smoothness * h
    rows = [
        D @ value == cp.multiply(h, M @ slope) + cp.multiply(0.5 * width * h, bend),
        E @ slope == cp.multiply(np.where(np.arange(gaps) < len(program.inner), width, 1.0), turn),
        M @ slope - cp.multiply(width, over) <= c.gradient - 0.5 * width,
        -(M @ slope) - cp.multiply(width, under) <= c.gradient - 0.5 * width,
    ]
    limits = [cp.abs(slope) <= c.gradient]
    curvature = math.sqrt(2.0 / c.value) / math.sqrt(c.smoothness)
    # the inequality sum of (a x)^2 <= 1 + l x is equivalent to ||(l x, 2 a x)|| <= 2 + l x
    for sign, cut in ((1.0, over), (-1.0, under)):
        limits.append(cp.SOC(2.0 - 2.0 * sign * bend, cp.vstack([2.0 * bend, 2.0 * turn, 4.0 * cut])))
        limits.append(cp.SOC(2.0 - sign * value / c.value, cp.vstack([value / c.value, curvature * slope])))
    objective = (coupled * pull / scale) @ value + (coupled * weights / scale) @ slope
    problem = cp.Problem(cp.Maximize(objective), rows + limits)
    # The error is raised if numbers overflow. The warning states that the result may be inaccurate, but the proof
    # determines the accuracy.
    with warnings.catch_warnings(action="ignore"), contextlib.suppress(cp.SolverError, ValueError):
        problem.solve(solver=cp.CLARABEL, time_limit=max(seconds, 1e-3), **_SOLVER)

    def found(numbers: Floats | None, size: int) -> Floats:
        return np.zeros(size) if numbers is None else np.asarray(numbers, dtype=np.float64)

    tension, torque, *cuts = (scale * found(row.dual_value, gaps) for row in rows)
    values = np.where(coupled, found(value.value, n), best_value)
    slopes = np.where(coupled, found(slope.value, n), best_slope)
    bends, turns = found(bend.value, gaps), found(turn.value, gaps)
    return ConeAnswer(values, slopes, bends, turns, tension, -torque, np.array(cuts)), str(problem.status)
