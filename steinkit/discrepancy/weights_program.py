"""Linear program for the weights that minimize a Stein discrepancy.

A Stein discrepancy of draws with weights q is the optimum of linear programs whose objectives are linear in q,

    S(q) = max sum_i q_i h_i   over h = C'y,   |A y| <= r,   |y| <= u,

where h_i is the value of the test function at draw i. Let Delta be the set of weights 0 <= q_i <= w_i that sum to one.
By linear programming duality,

    min over q in Delta of S(q)  =  max over feasible y of min over q in Delta of sum_i q_i h_i.

Therefore, the certified discrepancy of any q is an upper bound. Any feasible y gives a lower bound: under every
reweighting, the mean of the test function h is at least the weighted mean, with weights w_i, of its smallest values.
Without limits w_i, the bound is the minimum of h.

There is one program per coordinate, defined either by the graph or by a chain. Moments are functions F_k with mean zero
under the target. The moments contribute sum_k |sum_i q_i F_ki|, which is the optimum of a program with the boxes |x_k|
<= 1 and no rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from steinkit.discrepancy.bracket import relative_width, require_ordered, sum_of_brackets
from steinkit.discrepancy.graph.programs.chain_form import ChainProgram
from steinkit.discrepancy.graph.programs.matrix_form import CoordinateProgram, Form
from steinkit.discrepancy.graph.programs.relative_form import RelativeForm, RelativeProgram, suitable_forms
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.discrepancy.graph.solvers import Settings, highs, interior_point
from steinkit.discrepancy.graph.solvers.block.newton_system import CORRECTORS
from steinkit.discrepancy.graph.solvers.registry import SOLVERS
from steinkit.discrepancy.graph.spanner import geometry
from steinkit.discrepancy.weights_solver import ChainRows, MatrixRows, WeightsSystem, least_mean
from steinkit.sample import Floats, Integers

_ALLOWANCE = 2.0**-45  # rounding errors in h and in sums over draws, relative to the sizes of the terms


@dataclass(frozen=True, eq=False)
class Solved:
    """Optimal weights, and a proved bracket for the smallest discrepancy.

    Attributes
    ----------
    weights : ndarray, shape (n,)
    lower, upper : float
        Certified bounds on the smallest discrepancy. The discrepancy of the weights is at most `upper`.
    g : ndarray, shape (n, d)
        Values of the optimal Stein function.
    h : ndarray, shape (n,)
        Values of the test function of `g`, with a mean of at least `lower` under all weights.
    solver : str
    """

    weights: Floats
    lower: float
    upper: float
    g: Floats
    h: Floats
    solver: str

    @property
    def gap(self) -> float:
        """Relative width of the bracket."""
        return relative_width(self.lower, self.upper)


@dataclass(frozen=True, eq=False)
class WeightsProgram:
    """Sum of Stein programs for n points with variable weights.

    Attributes
    ----------
    programs : list of SteinProgram
        Either a single program or several one-dimensional programs. Their weights are not used.
    moments : ndarray, shape (m, n)
    shares : ndarray, shape (n,)
        Weights of the given sample, which sum to one.
    most : ndarray, shape (n,)
        Largest weights.
    """

    programs: list[SteinProgram]
    moments: Floats
    shares: Floats
    most: Floats

    def solve(self, settings: Settings) -> Solved:
        """Solve with the interior point method, or with HiGHS if the bracket is too wide."""
        found = self._by_interior_point(settings)
        if found.gap <= settings.tolerance or settings.stopped:
            return found
        other = self._by_highs(settings)
        primal = other if other.upper < found.upper else found
        dual = other if other.lower > found.lower else found
        return replace(primal, lower=dual.lower, g=dual.g, h=dual.h, solver="interior point + highs")

    def at(self, rows: Integers) -> WeightsProgram:
        """Return the program for some of the points, without limits on the weights.

        All programs must be one-dimensional.
        """
        n = len(rows)
        shares, programs = np.full(n, 1.0 / n), []
        for each in self.programs:
            points = each.points[rows]
            graph = geometry.join_neighbours(points)
            programs.append(SteinProgram(points, each.scores[rows], shares, graph, each.factors, each.bounds))
        return WeightsProgram(programs, self.moments[:, rows], shares, np.ones(n))

    def bracket(self, weights: Floats, tolerance: float) -> tuple[float, float]:
        """Return certified bounds on the discrepancy for the given weights."""
        brackets = [(0.0, 0.0)]
        for program in self._weighted(weights):
            proofs = (each.proof for each in SOLVERS["auto"](program, Settings(tolerance)))
            brackets += [(proof.lower, proof.upper) for proof in proofs]
        rounding = _ALLOWANCE * float(np.abs(self.moments).sum(axis=0) @ weights)
        for value in np.abs(self.moments @ weights).tolist():
            brackets.append((value, value))
        lower, upper = sum_of_brackets(*zip(*brackets, strict=True))
        return max(0.0, lower - rounding) * (1.0 - _ALLOWANCE), (upper + rounding) * (1.0 + _ALLOWANCE)

    def _weighted(self, weights: Floats) -> list[SteinProgram]:
        return [replace(each, weights=weights, weights_low=None) for each in self.programs]

    def _is_chains(self) -> bool:
        return self.programs[0].dim == 1

    def _by_interior_point(self, settings: Settings) -> Solved:
        unweighted = self._weighted(np.ones(len(self.shares)))
        rows: ChainRows | MatrixRows
        if self._is_chains():
            rows = ChainRows([ChainProgram(each) for each in unweighted], self.moments)
        else:
            rows = MatrixRows(*_matrices(unweighted), settings)
        system = WeightsSystem(rows, self.shares, self.most)
        solution = interior_point.solve(system, settings, CORRECTORS)
        q = system.weights(solution.multipliers)
        y = rows.variables(solution.rows[: rows.size])
        forms = [ChainProgram(each) for each in self._weighted(q)] if self._is_chains() else self._forms(q)
        return self._certified(q, forms, y, settings, "interior point")

    def _forms(self, weights: Floats) -> list[CoordinateProgram]:
        return [form.coordinate(j) for each in self._weighted(weights) for j, form in enumerate(suitable_forms(each))]

    def _by_highs(self, settings: Settings) -> Solved:
        """Solve the dual program with HiGHS.

        The dual is min r'|p| + u'|s| subject to A'p + s = C q, with q in Delta.

        The multipliers of the constraints are y.
        """
        programs, heights = _matrices(self._weighted(np.ones(len(self.shares))))
        n, m = len(self.shares), len(self.moments)
        matrix = sparse.block_diag([*(each.matrix for each in programs), sparse.csr_array((0, m))], format="csr")
        to_heights = sparse.hstack([*heights, sparse.csr_array(self.moments.T)], format="csr")
        radius = np.concatenate([each.radius for each in programs])
        box = np.concatenate([*(each.box for each in programs), np.ones(m)])
        scale = np.maximum(radius, 1e-24) ** -0.5
        rows, identity = sparse.csr_array(sparse.diags_array(scale) @ matrix).T, sparse.eye_array(len(box))
        none = sparse.csr_array((1, 2 * (len(radius) + len(box))))
        balance = sparse.hstack([rows, -rows, identity, -identity, -to_heights.T])
        total = sparse.hstack([none, sparse.csr_array(np.ones((1, n)))])
        costs = scale * radius
        right = np.append(np.zeros(len(box)), 1.0)
        columns = balance.shape[1]
        lp = highs.LinearProgram(
            sparse.csc_array(sparse.vstack([balance, total])),
            np.concatenate([costs, costs, box, box, np.zeros(n)]),
            (np.zeros(columns), np.append(np.full(columns - n, np.inf), self.most)),
            (right, right),
        )
        primal, dual = highs.run_highs(lp, highs.INTERIOR_POINT | {"ipm_optimality_tolerance": 1e-8}, settings)
        q = np.clip(primal[-n:], 0.0, self.most)
        q = q / q.sum() if q.any() else self.shares
        y = np.split(dual[:-1], np.cumsum([len(each.box) for each in programs]))
        return self._certified(q, self._forms(q), y, settings, "highs")

    def _certified(self, q: Floats, forms: Sequence[Form], y: list[Floats], settings: Settings, solver: str) -> Solved:
        """Return the weights, and the bracket that follows from the weights and y."""
        scores = np.hstack([each.scores for each in self.programs])
        factors = self.programs[0].factors
        x = np.clip(y[-1], -1.0, 1.0) if len(self.moments) else np.empty(0)
        h, sizes, g = x @ self.moments, np.abs(self.moments).sum(axis=0), np.empty_like(scores)
        for j, (form, variables) in enumerate(zip(forms, y, strict=False)):
            feasible = form.lower_bound(np.where(np.isfinite(variables), variables, 0.0))[1]
            g[:, j], slopes = form.stein_function(feasible)
            h = h + scores[:, j] * g[:, j] + slopes[:, 0 if self._is_chains() else j]
            sizes = sizes + factors.value * np.abs(scores[:, j]) + factors.gradient
        lower = max(0.0, least_mean(h - _ALLOWANCE * sizes, self.most) * (1.0 - _ALLOWANCE))
        upper = self.bracket(q, 0.1 * settings.tolerance)[1]
        require_ordered(lower, upper, weights=q)
        return Solved(q, lower, upper, g, h, solver)


def _matrices(programs: list[SteinProgram]) -> tuple[list[CoordinateProgram], list[sparse.csr_array]]:
    """Return the programs of all coordinates in matrix form, and each matrix C'."""
    found, heights = [], []
    for program in programs:
        n, points = program.n_points, np.arange(program.n_points)
        for j, form in enumerate(suitable_forms(program)):
            coordinate, s = form.coordinate(j), program.scores[:, j]
            lineage, origin = points[:, None], program.points
            if isinstance(form, RelativeForm):
                lineage, origin = form.forest.lineage, form.forest.origin
            rows, columns, values = [], [], []
            for ancestor in lineage.T:
                i = np.flatnonzero(ancestor >= 0)
                a = ancestor[i]
                rows.append(i)
                columns.append(a)
                values.append(s[i])
                for k in range(program.dim):
                    rows.append(i)
                    columns.append(n * (k + 1) + a)
                    values.append(s[i] * (program.points[i, k] - origin[a, k]) + (k == j))
            where = np.concatenate(rows), np.concatenate(columns)
            to_h = sparse.csr_array((np.concatenate(values), where), shape=(n, n * (program.dim + 1)))
            to_h.eliminate_zeros()
            units = coordinate.units if isinstance(coordinate, RelativeProgram) else np.ones(to_h.shape[1])
            found.append(coordinate)
            heights.append(sparse.csr_array(to_h @ sparse.diags_array(units)))
    return found, heights
