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

import itertools
import math
from dataclasses import dataclass, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import sparse

from steinkit.discrepancy.graph.programs.stein_program import SteinFactors
from steinkit.sample import Floats, Integers

_SOLVER_TOLERANCE = 1e-9
_SOLVABLE = 1e-300, 1e300  # Stein factors that a solver is given


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
        """Exponents of the powers of two nearest to sqrt(c1 / c3), a length, and to c1.

        Both zero where these units would round a number: then none are natural.
        """
        c = self.factors
        units = round(0.5 * (math.log2(c.value) - math.log2(c.smoothness))), math.frexp(c.value)[1]
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
    """Solve the program with Clarabel, in units in which c1 is 1 and c3 about 1.

    In the unit of length L and the unit c1 of g, the factors are (1, c2 L / c1, c3 L^2 / c1) and the scores s L; L is
    the power of two nearest to sqrt(c1 / c3), so that gaps stay what they are.

    Parameters
    ----------
    program : ClassicalProgram
    seconds : float
        Time after which Clarabel stops with what it has.
    """
    c = program.factors
    unit = 2.0 ** round(0.5 * (math.log2(c.value) - math.log2(c.smoothness)))
    slope_unit = unit / c.value
    with np.errstate(all="ignore"):  # what overflows in a solver proves nothing
        gradient, smoothness = np.clip([c.gradient * slope_unit, c.smoothness * slope_unit * unit], *_SOLVABLE)
        scaled = ClassicalProgram(
            program.points / unit,
            program.weights,
            program.scores * unit,
            SteinFactors(1.0, float(gradient), float(smoothness)),
            (program.bounds[0] / unit, program.bounds[1] / unit),
        )
        alike = np.array_equal(scaled.inner, program.inner) and len(scaled.ends) == len(program.ends)
        answer = _solve(scaled if alike else program, seconds)  # rounding may change which gaps restrict
        if not alike:
            return answer
        return replace(
            answer,
            value=c.value * answer.value,
            slope=c.value / unit * answer.slope,
            tension=answer.tension / unit,
            value_force=answer.value_force / unit,
        )


def _solve(program: ClassicalProgram, seconds: float) -> ConeAnswer:
    """Solve the program as it is; components of one point without a bound need no solver."""
    value, slope = pointwise_optimum(program, program.weights * program.scores, program.weights)
    n, gaps = len(program.points), len(program.lengths)
    nothing = np.zeros(n)
    if not gaps:
        empty = np.zeros(0)
        return ConeAnswer(value, slope, empty, empty, empty, np.zeros((2, 0)), nothing, nothing, "closed form")
    rows = _Rows(program)
    rows.add_gaps()
    rows.add_points()
    solution, scale = rows.solve(seconds)
    x = np.nan_to_num(np.asarray(solution.x), posinf=0.0, neginf=0.0)
    z = np.nan_to_num(np.asarray(solution.z), posinf=0.0, neginf=0.0) * scale
    coupled = rows.coupled
    forces = rows.point_forces(z)
    value[coupled], slope[coupled] = x[rows.gamma[coupled]], x[rows.Gamma[coupled]]
    return ConeAnswer(
        value=value,
        slope=slope,
        bend=x[rows.u],
        turn=x[rows.v],
        tension=z[rows.row_of["gamma"]],
        cut=np.stack([z[rows.row_of["t0"]], z[rows.row_of["t1"]]]),
        value_force=forces[rows.gamma],
        slope_force=forces[rows.Gamma],
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


class _Rows:
    """Rows A x + s = b with s in a product of cones, put together block by block."""

    def __init__(self, program: ClassicalProgram) -> None:
        self.program = program
        n, gaps = len(program.points), len(program.lengths)
        offsets = np.cumsum([0, n, n, gaps, gaps, gaps, gaps])
        self.gamma, self.Gamma, self.u, self.v, *self.t = (
            np.arange(start, stop) for start, stop in itertools.pairwise(offsets)
        )
        self.variables = int(offsets[-1])
        gaps_at = np.asarray(abs(program.difference).sum(axis=0)).ravel()
        self.coupled = np.flatnonzero(gaps_at > 0.0)
        self.row_of: dict[str, Integers] = {}
        self._blocks: list[sparse.coo_array] = []
        self._right: list[Floats] = []
        self._cones: list[Any] = []
        self._n_rows = 0
        self._point_rows = slice(0, 0)

    def add_gaps(self) -> None:
        """The equations, the rows for t, and the cones of each gap."""
        import clarabel

        p, gaps, n_inner = self.program, len(self.program.lengths), len(self.program.inner)
        h, c3, c2 = p.lengths, p.factors.smoothness, p.factors.gradient
        scaled = sparse.diags_array(h)
        self.row_of["gamma"] = self._add(
            {"gamma": p.difference, "Gamma": sparse.csr_array(-(scaled @ p.mean)), "u": -_diagonal(0.5 * c3 * h * h)},
            np.zeros(gaps),
        )
        turning = sparse.csr_array(p.difference[:n_inner]) if n_inner else sparse.csr_array((0, len(p.points)))
        flat = sparse.csr_array((len(p.ends), len(p.points)))
        width = np.where(np.arange(gaps) < n_inner, c3 * h, 1.0)
        self.row_of["Gamma"] = self._add(
            {"Gamma": sparse.csr_array(sparse.vstack([turning, flat])), "v": -_diagonal(width)}, np.zeros(gaps)
        )
        self._cones.append(clarabel.ZeroConeT(2 * gaps))
        for k, sign in enumerate((1.0, -1.0)):
            self.row_of[f"t{k}"] = self._add({f"t{k}": -_diagonal(c3 * h), "Gamma": sign * p.mean}, c2 - 0.5 * c3 * h)
        self._cones.append(clarabel.NonnegativeConeT(2 * gaps))
        for k, sign in enumerate((1.0, -1.0)):
            self._add_cones({"u": -2.0 * sign * np.ones(gaps)}, [("v", np.ones(gaps)), (f"t{k}", np.full(gaps, 2.0))])

    def add_points(self) -> None:
        """|Gamma| <= c2 and Gamma^2 / (2 c3) +- gamma <= c1, at every point."""
        import clarabel

        first, n, c = self._n_rows, len(self.program.points), self.program.factors
        for sign in (1.0, -1.0):
            self._add({"Gamma": sign * _diagonal(np.ones(n))}, np.full(n, c.gradient))
        self._cones.append(clarabel.NonnegativeConeT(2 * n))
        curvature = np.full(n, 1.0 / math.sqrt(2.0 * c.value) / math.sqrt(c.smoothness))
        for sign in (1.0, -1.0):
            self._add_cones({"gamma": np.full(n, -sign / c.value)}, [("Gamma", curvature)])
        self._point_rows = slice(first, self._n_rows)

    def solve(self, seconds: float) -> tuple[Any, float]:
        """Clarabel's solution, and the factor by which its objective is too small."""
        import clarabel

        p = self.program
        cost = np.zeros(self.variables)
        cost[self.gamma[self.coupled]] = -(p.weights * p.scores)[self.coupled]
        cost[self.Gamma[self.coupled]] = -p.weights[self.coupled]
        scale = float(np.abs(cost).max())
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_threads = 1
        settings.tol_gap_rel = settings.tol_feas = _SOLVER_TOLERANCE
        settings.tol_gap_abs = 1e-12
        settings.iterative_refinement_enable = False  # twice as fast; what it costs in precision the proof would show
        if math.isfinite(seconds):
            settings.time_limit = max(seconds, 1e-3)
        matrix, right = sparse.csc_matrix(self._matrix()), np.concatenate(self._right)
        if not (np.isfinite(matrix.data).all() and np.isfinite(right).all() and 0.0 < scale < math.inf):
            nothing = np.zeros(self.variables), np.zeros(self._n_rows)
            return SimpleNamespace(x=nothing[0], z=nothing[1], status="numbers that overflow"), 1.0
        none = sparse.csc_matrix((self.variables, self.variables))
        solver = clarabel.DefaultSolver(none, cost / scale, matrix, right, self._cones, settings)
        return solver.solve(), scale

    def point_forces(self, z: Floats) -> Floats:
        """Products A'z over the rows of `add_points`, shape (variables,)."""
        rows = self._matrix()[self._point_rows]
        return np.asarray(rows.T @ z[self._point_rows])

    def _matrix(self) -> sparse.csr_array:
        return sparse.csr_array(sparse.vstack(self._blocks))

    def _add(self, terms: dict[str, sparse.csr_array], right: Floats) -> Integers:
        """Rows sum of matrix @ variable <= right; gives their numbers."""
        k = len(right)
        block = sparse.csr_array((k, self.variables))
        for name, matrix in terms.items():
            columns = self._columns(name)
            entries = matrix.tocoo()
            i, j = entries.coords
            block = block + sparse.csr_array((entries.data, (i, columns[j])), shape=block.shape)
        self._blocks.append(sparse.coo_array(block))
        self._right.append(right)
        self._n_rows += k
        return np.arange(self._n_rows - k, self._n_rows)

    def _add_cones(self, linear: dict[str, Floats], squares: list[tuple[str, Floats]]) -> None:
        """Sum of (a x)^2 <= 1 + l x, one cone a row: ||(l x, 2 a x)|| <= 2 + l x."""
        import clarabel

        (name, slope), size = next(iter(linear.items())), 2 + len(squares)
        k = len(slope)
        base = size * np.arange(k)
        entries = [(base, self._columns(name), -slope), (base + 1, self._columns(name), -slope)]
        entries += [(base + 2 + m, self._columns(x), -2.0 * a) for m, (x, a) in enumerate(squares)]
        rows, columns, values = (np.concatenate(each) for each in zip(*entries, strict=True))
        right = np.zeros(size * k)
        right[base] = 2.0
        self._blocks.append(sparse.coo_array((values, (rows, columns)), shape=(size * k, self.variables)))
        self._right.append(right)
        self._n_rows += size * k
        self._cones.extend([clarabel.SecondOrderConeT(size)] * k)

    def _columns(self, name: str) -> Integers:
        return self.t[int(name[1])] if name in ("t0", "t1") else getattr(self, name)


def _diagonal(values: Floats) -> sparse.csr_array:
    return sparse.csr_array(sparse.diags_array(values))
