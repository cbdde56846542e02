"""Newton systems of the interior point method by a block sparse Cholesky factorisation: two and three dimensions.

A program max b'y, |A y| <= r, |y| <= u is written in x = y/u and in rows of radius one, B = [diag(1/r) A diag(u); I].
The Newton matrix B'WB of `interior_point` then has a block of d + 1 columns for each point, and couples two points only
if a row holds both: those joined by an edge of the graph. On the spanner of a sample in the plane its factor has some
tens of numbers a column; in three dimensions it grows faster than n, and beyond that there is no saving.

Order, elimination tree and positions of the entries depend on the rows' pattern only. They are found once and shared
by the coordinates (`prepare`). What a factorisation will cost is known before any is done (`BlockPlan.flops`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from steinkit.discrepancy.bracket import relative_width
from steinkit.discrepancy.graph.engines import interior_point
from steinkit.discrepancy.graph.engines.base import (
    Candidate,
    Settings,
    asked_for,
    closed_form,
    each_coordinate,
    unsolved,
)
from steinkit.discrepancy.graph.engines.block import cholesky
from steinkit.discrepancy.graph.engines.block import rows_kernels as kernels
from steinkit.discrepancy.graph.engines.block.cholesky_kernels import Fronts
from steinkit.discrepancy.graph.engines.block.rows_kernels import SparseRows
from steinkit.discrepancy.graph.programs.matrix_form import CoordinateProgram
from steinkit.discrepancy.graph.programs.relative_form import AnyForm, suitable_forms
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.runtime.compilation import small_work
from steinkit.runtime.deadlines import require_time
from steinkit.sample import Floats, Integers

CORRECTORS = interior_point.Correctors(3, longer_by=0.5, times=2.0, lowest=0.3)
"""13 % fewer solves than cautious ones take, and 4 % fewer iterations."""
_SETUP_SECONDS = 1e-7  # an entry of the matrix, before the first factorisation
_ROWS_AT_ONCE = 500_000  # a tenth of a second's work
_ANALYSED, _INTERPRETED = 1e-6, 2.5e-6  # seconds of Python, an entry of the matrix and a pair of entries of a row


@dataclass(frozen=True, eq=False)
class Pattern:
    """What coordinates whose rows have the same entries share.

    Attributes
    ----------
    rows : ndarray of int, shape (m,)
        A's rows in the order in which they are kept: by the first of their columns to be eliminated, so that those
        that are taken one after another meet in the factor and in x. On large samples memory is waited for otherwise.
    starts, columns : ndarray of int
        Rows in that order and columns of A's entries, columns in the elimination order.
    symbolic : Symbolic
    positions : ndarray of int
        Where the products of a row's pairs of entries belong in the factor.
    place : ndarray of int, shape (N,)
        Place of every column of A in the elimination order.
    """

    rows: Integers
    starts: Integers
    columns: Integers
    symbolic: cholesky.Symbolic
    positions: Integers
    place: Integers


@dataclass(frozen=True, eq=False)
class BlockPlan:
    """Forms of a program's coordinates and the patterns of their rows: all there is to know before solving.

    Attributes
    ----------
    forms : list of AnyForm
        One for each coordinate.
    patterns : list of Pattern
        One for each coordinate; those of the same form are the same object.
    """

    forms: list[AnyForm]
    patterns: list[Pattern]

    @property
    def flops(self) -> float:
        """Floating point operations of a factorisation, of which a solution takes ten to thirty."""
        return max(pattern.symbolic.flops for pattern in self.patterns)

    @property
    def entries(self) -> int:
        """Numbers in a factor, each of eight bytes; there is one factor for each coordinate under way."""
        return max(pattern.symbolic.entries + pattern.symbolic.stack for pattern in self.patterns)


class PlannedCoordinate(NamedTuple):
    """A coordinate's program, and the pattern of its leading rows."""

    program: CoordinateProgram
    pattern: Pattern


def prepare(program: SteinProgram) -> BlockPlan:
    """Choose the form of every coordinate and analyse its rows.

    Parameters
    ----------
    program : SteinProgram
        Points that lie close together, or close to a bound, are taken relative to one another; see `relative_form`.
    """
    forms = suitable_forms(program)
    patterns: list[Pattern] = []
    for j, form in enumerate(forms):
        known = forms.index(form)  # forms are compared by identity
        if known < j:
            patterns.append(patterns[known])
        else:
            with small_work(_ANALYSED * form.edge_rows[0].nnz):
                patterns.append(find_pattern(form.edge_rows[0], program.points))
    return BlockPlan(forms, patterns)


def solve(program: SteinProgram, settings: Settings, coordinates: Sequence[int] | None = None) -> list[Candidate]:
    """Solve coordinates of a program."""
    return solve_planned(prepare(program), settings, asked_for(program, coordinates))


def solve_planned(plan: BlockPlan, settings: Settings, coordinates: Sequence[int]) -> list[Candidate]:
    """Solve coordinates whose forms and patterns are known."""
    tasks = [PlannedCoordinate(plan.forms[j].coordinate(j), plan.patterns[j]) for j in coordinates]
    with small_work(_INTERPRETED * sum(len(task.pattern.positions) for task in tasks)):
        return each_coordinate(solve_coordinate, tasks, settings)


def find_pattern(matrix: sparse.csr_array, points: Floats) -> Pattern:
    """Analyse the rows of a matrix whose columns belong, one after another, to points 0, ..., n - 1, 0, ..."""
    n_points = len(points)
    starts, columns = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    block = matrix.shape[1] // n_points
    symbolic = cholesky.analyse(*_neighbours(starts, columns % n_points, n_points), block, points)
    node, component = np.arange(matrix.shape[1]) % n_points, np.arange(matrix.shape[1]) // n_points
    place = symbolic.position[node] * block + component
    order = _by_first_column(starts, place[columns], matrix.shape[1])
    ordered = matrix[order]
    starts, columns = ordered.indptr.astype(np.int64), place[ordered.indices]
    return Pattern(order, starts, columns, symbolic, _pair_positions(starts, columns, symbolic.fronts), place)


def _by_first_column(starts: Integers, columns: Integers, n_columns: int) -> Integers:
    """Order of rows by the least of their columns; those without entries come last."""
    first = np.full(len(starts) - 1, n_columns)
    filled = np.diff(starts) > 0
    if filled.any():
        first[filled] = np.minimum.reduceat(columns, starts[:-1][filled])
    return np.argsort(first, kind="stable")


def _neighbours(starts: Integers, nodes: Integers, n_nodes: int) -> tuple[Integers, Integers]:
    """Adjacency lists of the graph that joins nodes with a row in common."""
    parts = [np.unique(kernels.node_pairs(starts, nodes, n_nodes, *rows)) for rows in _portions(len(starts) - 1)]
    i, k = np.divmod(np.unique(np.concatenate(parts)), n_nodes)
    ends = np.concatenate([i, k]), np.concatenate([k, i])
    adjacency = sparse.csr_array((np.ones(len(ends[0])), ends), shape=(n_nodes, n_nodes))
    return adjacency.indptr.astype(np.int64), adjacency.indices.astype(np.int64)


def _pair_positions(starts: Integers, columns: Integers, fronts: Fronts) -> Integers:
    """Where the products of the pairs of entries of all rows belong in the factor."""
    return np.concatenate(
        [kernels.pair_positions(starts, columns, fronts, *rows) for rows in _portions(len(starts) - 1)]
    )


def _portions(rows: int) -> Iterator[tuple[int, int]]:
    """Beginnings and ends of portions of rows, the clock looked at before each."""
    for begin in range(0, max(rows, 1), _ROWS_AT_ONCE):
        require_time("the rows of the programs were analysed")
        yield begin, min(begin + _ROWS_AT_ONCE, rows)


def solve_coordinate(task: PlannedCoordinate, settings: Settings) -> Candidate:
    """Solve one coordinate."""
    program = task.program
    if not len(program.radius):
        return closed_form(program, "block")
    if not settings.has_time(_SETUP_SECONDS * program.matrix.nnz):
        return unsolved(program, "block")
    system = BlockSystem(program, _extended(task.pattern, program.matrix), settings)
    solution = interior_point.solve(system, settings, CORRECTORS)
    y, p = system.unscaled(solution)
    gap = relative_width(solution.lower, solution.upper)
    notes: tuple[str, ...] = ()
    if gap > settings.tolerance and not settings.stopped:
        notes = (f"the block interior point method stopped at a bracket of {gap:.1e}",)
    return Candidate(program, y, p, ("block",), notes, solution.iterations)


def _extended(pattern: Pattern, matrix: sparse.csr_array) -> Pattern:
    """Add a matrix's further rows to a pattern; no pair of columns in them may be new."""
    known = len(pattern.rows)
    if matrix.shape[0] == known:
        return pattern
    starts = matrix.indptr[known:].astype(np.int64)
    columns = pattern.place[matrix.indices[starts[0] :]]
    positions = _pair_positions(starts - starts[0], columns, pattern.symbolic.fronts)
    return Pattern(
        np.concatenate([pattern.rows, np.arange(known, matrix.shape[0])]),
        np.concatenate([pattern.starts, starts[1:]]),
        np.concatenate([pattern.columns, columns]),
        pattern.symbolic,
        np.concatenate([pattern.positions, positions]),
        pattern.place,
    )


class BlockSystem:
    """The Newton systems of a coordinate: a `NewtonSystem`.

    Rows are those of A in the pattern's order, then the boxes in elimination order. A variable whose box is 0 has zeros
    for its column.
    """

    def __init__(self, program: CoordinateProgram, pattern: Pattern, settings: Settings) -> None:
        matrix, radius = program.matrix[pattern.rows], program.radius[pattern.rows]
        m, n = matrix.shape
        with np.errstate(divide="ignore"):
            inverse = np.where(radius > 0.0, 1.0 / radius, 0.0)
        values = matrix.data * program.box[matrix.indices] * np.repeat(inverse, np.diff(matrix.indptr))
        self.program, self.pattern, self.inverse_radius = program, pattern, inverse
        self.stop = settings.interrupted.flag
        self.rows = SparseRows(pattern.starts, pattern.columns, values)
        self.objective = np.empty(n)
        self.objective[pattern.place] = program.objective * program.box
        self.scale = float(np.abs(self.objective).max(initial=0.0)) or 1.0
        self.objective /= self.scale
        self.start = np.concatenate([np.zeros(m), self.objective])
        self.omega = np.ones(m + n)
        self.factor = cholesky.Factorisation(pattern.symbolic)
        columns = np.arange(n)
        self.diagonal = _pair_positions(np.arange(n + 1), columns, pattern.symbolic.fronts)
        self.x, self.activity = np.empty(n), np.empty(m)

    def factorise(self, weights: Floats) -> None:
        """Factorise H = B' diag(weights) B."""
        factor = self.factor
        kernels.factorise(
            self.rows, weights, self.pattern.positions, self.diagonal, self.pattern.symbolic.fronts, factor.panels,
            factor.stack, self.stop,
        )  # fmt: skip

    def step(self, force: Floats, change: Floats) -> None:
        """Set `change` to B dx, where H dx = b + B'force."""
        factor = self.factor
        kernels.newton_step(
            self.rows, self.objective, force, self.pattern.symbolic.fronts, factor.panels, factor.local, self.x, change
        )

    def bounds(self, rows: Floats, multipliers: Floats) -> tuple[float, float]:
        """Bounds of the optimum, in units of `scale`, from x = the boxes' rows and from multipliers."""
        x, room = rows[-len(self.x) :], (self.x, self.activity)
        lower, upper = kernels.bounds(self.rows, self.objective, x, multipliers, *room)
        return float(lower), float(upper)

    def unscaled(self, solution: interior_point.Solution) -> tuple[Floats, Floats]:
        """Variables y and multipliers p of the program."""
        m = len(self.program.radius)
        y = self.program.box * solution.rows[m:][self.pattern.place]
        p = np.empty(m)
        p[self.pattern.rows] = self.scale * self.inverse_radius * solution.multipliers[:m]
        return y, p
