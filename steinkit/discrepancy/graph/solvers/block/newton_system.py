"""Solver `block`, an interior point method for two and three dimensions.

With x = y/u, the program max b'y, |A y| <= r, |y| <= u has the rows B = [diag(1/r) A diag(u); I] of radius one. The
Newton matrix H = B'WB of `interior_point` has one block of d + 1 columns per point. Two points are coupled only if a
row contains both points, that is, if an edge of the graph joins the two points. On the spanner of a sample in the
plane, the Cholesky factor has a few dozen entries per column. In three dimensions, the factor grows faster than n. In
higher dimensions, the factor is nearly dense.

The factorization H = LL' is multifrontal [1]_, which means that nodes are eliminated in dense fronts. The nodes are
eliminated in a minimum degree ordering [2]_. Every front passes its Schur complement to its parent in the elimination
tree. The ordering, the tree and the positions of the entries depend only on the sparsity pattern of the rows. These
structures are computed once and shared by the coordinates (`prepare`). The cost of a factorization is computed from
these structures in advance (`Symbolic.flops`).

References
----------
.. [1] I. S. Duff and J. K. Reid, "The multifrontal solution of indefinite sparse symmetric linear equations", ACM
   Trans. Math. Softw. 9 (1983); J. W. H. Liu, "The multifrontal method for sparse matrix solution", SIAM Rev. 34
   (1992).
.. [2] J. W. H. Liu, "Modification of the minimum-degree algorithm by multiple elimination", ACM Trans. Math. Softw. 11
   (1985); the implementation is that of SuperLU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import spilu

from steinkit.discrepancy.bracket import relative_width
from steinkit.discrepancy.graph.programs.matrix_form import CoordinateProgram
from steinkit.discrepancy.graph.programs.relative_form import suitable_forms, suitable_programs
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.discrepancy.graph.solvers import interior_point
from steinkit.discrepancy.graph.solvers.base import Candidate, Settings, asked_for, each_coordinate
from steinkit.discrepancy.graph.solvers.block import cholesky_kernels, elimination_kernels
from steinkit.discrepancy.graph.solvers.block.cholesky_kernels import Fronts
from steinkit.discrepancy.graph.solvers.block.rows_kernels import assemble, pair_positions
from steinkit.runtime.compilation import small_work
from steinkit.runtime.deadlines import blocks, require_time
from steinkit.sample import Floats, Integers

CORRECTORS = interior_point.Correctors(3, longer_by=0.5, times=2.0, lowest=0.3)
"""Correctors with longer target steps. These steps save 13% of the solves and 4% of the iterations."""
_ROWS_AT_ONCE = 500_000  # number of rows analyzed between two checks of the deadline (about 0.1 s)
_ANALYZED, _INTERPRETED = 1e-6, 2.5e-6  # seconds of plain Python per nonzero of a matrix and per product of two entries


@dataclass(frozen=True, eq=False)
class Symbolic:
    """Factorization structure determined by the graph.

    Attributes
    ----------
    position : ndarray of int, shape (n,)
        Position of every node in the elimination ordering.
    fronts : Fronts
    entries : int
        Number of stored entries of L, including explicit zeros.
    stack : int
        Maximum number of Schur complement entries that are stored at a time.
    flops : float
        Number of floating-point operations in one factorization. A solution requires ten to thirty factorizations.
    """

    position: Integers
    fronts: Fronts
    entries: int
    stack: int
    flops: float


def analyse(starts: Integers, neighbours: Integers, block: int) -> Symbolic:
    """Compute the fronts of a graph in its minimum degree ordering.

    Parameters
    ----------
    starts, neighbours : ndarray of int, shapes (n + 1,) and (2 m,)
        Concatenated adjacency lists of the n nodes. Every edge occurs twice.
    block : int
        Number of matrix columns per node.
    """
    n = len(starts) - 1
    order = minimum_degree(starts, neighbours)
    position, first, rows_start, rows = elimination_kernels.analyse(starts, neighbours, order)
    owner = np.repeat(np.arange(len(first) - 1), np.diff(first))
    front = np.repeat(np.arange(len(first) - 1), np.diff(rows_start))
    keys = np.sort(front * n + rows)
    rows = keys % n
    # The parent contains the front's first row. The array `place` locates each row there, among the columns or the
    # rows.
    parent = owner[rows[rows_start[front]]]
    among_rows = np.searchsorted(keys, parent * n + rows) - rows_start[parent]
    place = np.where(rows < first[parent + 1], rows - first[parent], first[parent + 1] - first[parent] + among_rows)
    children = np.bincount(owner[rows[rows_start[:-1][np.diff(rows_start) > 0]]], minlength=len(first) - 1)
    width, below = block * np.diff(first), block * np.diff(rows_start)
    size = width + below
    panel_start = np.concatenate([[0], np.cumsum(width * size)]).astype(np.int64)
    fronts = Fronts(block, first, rows_start, rows, place, children, panel_start)
    # the elimination of column q of a front costs (size - q)^2
    flops = float(sum(_squares(size.astype(float)) - _squares(below.astype(float))))
    return Symbolic(position, fronts, int(panel_start[-1]), _stack_needed(children, below), flops)


def minimum_degree(starts: Integers, neighbours: Integers) -> Integers:
    """Return the minimum degree ordering of a graph.

    Entry k is the node that is eliminated in step k.
    """
    n = len(starts) - 1
    if 2 * len(neighbours) >= n * (n - 1):  # the graph is nearly complete, so all orderings cost about the same
        return np.arange(n, dtype=np.int64)
    adjacency = sparse.csc_array((np.ones(len(neighbours)), neighbours, starts), shape=(n, n))
    dominant = sparse.csc_array(adjacency + sparse.diags_array(np.diff(starts) + 1.0))
    # SuperLU cannot compute the ordering without a factorization. A factorization that drops most entries is the
    # cheapest way to obtain the ordering.
    decomposition = spilu(
        dominant,
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        drop_rule="basic",
        drop_tol=1.0,
        fill_factor=1.0,
        options={"SymmetricMode": True},
    )
    return np.argsort(decomposition.perm_c).astype(np.int64)


def _squares(n: Floats) -> Floats:
    """Return 1 + 4 + ... + n^2."""
    return n * (n + 1.0) * (2.0 * n + 1.0) / 6.0


def _stack_needed(children: Integers, below: Integers) -> int:
    """Return the maximum number of Schur complement entries stored at a time.

    A front and its children are stored together.
    """
    held: list[int] = []
    used = most = 0
    for count, height in zip(children.tolist(), below.tolist(), strict=True):
        most = max(most, used + height * height)
        for _ in range(count):
            used -= held.pop()
        if height:
            held.append(height * height)
            used += held[-1]
    return most


@dataclass(frozen=True, eq=False)
class Pattern:
    """Structure shared by the coordinates with the same row pattern.

    Attributes
    ----------
    rows : ndarray of int, shape (m,)
        Order of the rows of A, sorted by the first column of each row to be eliminated. This order keeps memory
        accesses local.
    starts, columns : ndarray of int
        Rows in that order, and the columns of their entries in elimination order.
    entries : ndarray of int
        Positions of these entries in A.
    symbolic : Symbolic
    positions, diagonal : ndarray of int
        Positions in the factor to which products of pairs of entries in a row, and squares of the variables, are added.
    place : ndarray of int, shape (N,)
        Position of every column of A in the elimination ordering.
    """

    rows: Integers
    starts: Integers
    columns: Integers
    entries: Integers
    symbolic: Symbolic
    positions: Integers
    diagonal: Integers
    place: Integers


def prepare(program: SteinProgram) -> list[Pattern]:
    """Analyze the rows of every coordinate.

    The patterns are cached in the program. Coordinates with the same edge rows share one pattern.
    """
    if "patterns" not in program.known:
        forms = suitable_forms(program)
        patterns: list[Pattern] = []
        for j, form in enumerate(forms):
            known = forms.index(form)  # forms are compared by identity
            if known < j:
                patterns.append(patterns[known])
                continue
            with small_work(_ANALYZED * form.edge_rows[0].nnz):
                patterns.append(find_pattern(form.edge_rows[0], program.n_points))
        program.known["patterns"] = patterns
    found: list[Pattern] = program.known["patterns"]
    return found


def solve(program: SteinProgram, settings: Settings, coordinates: Sequence[int] | None = None) -> list[Candidate]:
    """Solve a program for the given coordinates (default: all)."""
    every, programs = prepare(program), suitable_programs(program, coordinates)
    patterns = [every[j] for j in asked_for(program, coordinates)]
    with small_work(_INTERPRETED * sum(len(pattern.positions) for pattern in patterns)):
        return each_coordinate(solve_coordinate, "block", settings, programs, patterns)


def find_pattern(matrix: sparse.csr_array, n_points: int) -> Pattern:
    """Analyze the rows of a matrix.

    The columns belong to the points 0, ..., n - 1, 0, ..., n - 1, ...
    """
    require_time("analyzing the rows of the programs")
    n_columns = matrix.shape[1]
    given, columns = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    block = n_columns // n_points
    incidence = sparse.csr_array((np.ones(len(columns)), columns % n_points, given), shape=(len(given) - 1, n_points))
    pairs = sparse.coo_array(incidence.T @ incidence)  # pairs of points that occur in the same row
    apart = pairs.row != pairs.col
    links = sparse.csr_array((pairs.data[apart], (pairs.row[apart], pairs.col[apart])), shape=pairs.shape)
    links.sort_indices()
    symbolic = analyse(links.indptr.astype(np.int64), links.indices.astype(np.int64), block)
    component, node = np.divmod(np.arange(n_columns), n_points)
    place = symbolic.position[node] * block + component
    order = _by_first_column(given, place[columns], n_columns)
    lengths = np.diff(given)[order]
    starts = np.append(0, np.cumsum(lengths))
    entries = np.arange(len(columns)) + np.repeat(given[order] - starts[:-1], lengths)
    columns = place[columns[entries]]
    positions = _pair_positions(starts, columns, symbolic.fronts)
    diagonal = _pair_positions(np.arange(n_columns + 1), np.arange(n_columns), symbolic.fronts)
    return Pattern(order, starts, columns, entries, symbolic, positions, diagonal, place)


def _by_first_column(starts: Integers, columns: Integers, n_columns: int) -> Integers:
    """Return the order of the rows, sorted by their smallest column.

    Empty rows come last.
    """
    first = np.full(len(starts) - 1, n_columns)
    filled = np.diff(starts) > 0
    if filled.any():
        first[filled] = np.minimum.reduceat(columns, starts[:-1][filled])
    return np.argsort(first.astype(np.min_scalar_type(n_columns)), kind="stable")  # a radix sort of short integers


def _pair_positions(starts: Integers, columns: Integers, fronts: Fronts) -> Integers:
    """Return the positions in the factor to which products of two entries are added."""
    parts = [
        pair_positions(starts, columns, fronts, some.start, some.stop)
        for some in blocks(len(starts) - 1, _ROWS_AT_ONCE, "analyzing the rows of the programs")
    ]
    return np.concatenate([np.empty(0, np.int64), *parts])


def solve_coordinate(program: CoordinateProgram, pattern: Pattern, settings: Settings) -> Candidate:
    """Solve one coordinate, given its program and the pattern of the leading rows."""
    system = BlockSystem(program, _extended(pattern, program.matrix), settings)
    solution = interior_point.solve(system, settings, CORRECTORS)
    y, p = system.unscaled(solution)
    gap = relative_width(solution.lower, solution.upper)
    notes: tuple[str, ...] = ()
    if gap > settings.tolerance and not settings.stopped:
        notes = (f"the block interior point method stopped at a relative bracket width of {gap:.1e}",)
    return Candidate(program, y, p, ("block",), notes, solution.iterations)


def _extended(pattern: Pattern, matrix: sparse.csr_array) -> Pattern:
    """Add the remaining rows of a matrix to a pattern.

    These rows must not contain new pairs of columns.
    """
    known = len(pattern.rows)
    if matrix.shape[0] == known:
        return pattern
    starts = matrix.indptr[known:].astype(np.int64)
    columns = pattern.place[matrix.indices[starts[0] :]]
    positions = _pair_positions(starts - starts[0], columns, pattern.symbolic.fronts)
    return replace(
        pattern,
        rows=np.concatenate([pattern.rows, np.arange(known, matrix.shape[0])]),
        starts=np.concatenate([pattern.starts, starts[1:]]),
        columns=np.concatenate([pattern.columns, columns]),
        entries=np.concatenate([pattern.entries, np.arange(starts[0], starts[-1])]),
        positions=np.concatenate([pattern.positions, positions]),
    )


class BlockSystem:
    """Newton systems for one coordinate.

    The class implements `interior_point.NewtonSystem`.

    The rows are the rows of A in pattern order, followed by the boxes in elimination order. A variable with a box of
    radius zero has a zero column.

    Attributes
    ----------
    panels : ndarray
        The Newton matrix, and later its factor, at the positions given by `Fronts`.
    """

    def __init__(self, program: CoordinateProgram, pattern: Pattern, settings: Settings) -> None:
        matrix, radius = program.matrix, program.radius[pattern.rows]
        m, n = matrix.shape
        with np.errstate(divide="ignore"):
            inverse = np.where(radius > 0.0, 1.0 / radius, 0.0)
        values = (matrix.data * program.box[matrix.indices])[pattern.entries]
        values *= np.repeat(inverse, np.diff(pattern.starts))
        self.program, self.pattern, self.inverse_radius = program, pattern, inverse
        self.stop = settings.interrupted.flag
        self.rows, self._values = sparse.csr_array((values, pattern.columns, pattern.starts), shape=(m, n)), values
        self.objective = np.empty(n)
        self.objective[pattern.place] = program.objective * program.box
        self.scale = float(np.abs(self.objective).max(initial=0.0)) or 1.0
        self.objective /= self.scale
        self.start = np.concatenate([np.zeros(m), self.objective])
        self.omega = np.ones(m + n)
        symbolic, fronts = pattern.symbolic, pattern.symbolic.fronts
        front_sizes = fronts.block * (np.diff(fronts.first) + np.diff(fronts.rows_start))
        self.panels, self._stack = np.zeros(symbolic.entries), np.empty(symbolic.stack)
        self._front = np.empty(int(front_sizes.max(initial=0)))

    def factorise(self, weights: Floats) -> None:
        """Factorize H = B' diag(weights) B."""
        pattern = self.pattern
        assemble(pattern.starts, self._values, weights, pattern.positions, pattern.diagonal, self.panels)
        cholesky_kernels.factorise(pattern.symbolic.fronts, self.panels, self._stack, self.stop)

    def step(self, force: Floats, change: Floats) -> None:
        """Set `change` to B dx, where H dx = b + B'force."""
        m = self.rows.shape[0]
        x = self.objective + force[m:] + self.rows.T @ force[:m]
        cholesky_kernels.solve(self.pattern.symbolic.fronts, self.panels, x, self._front)
        change[:m], change[m:] = np.asarray(self.rows @ x), x

    def bounds(self, rows: Floats, multipliers: Floats) -> tuple[float, float]:
        """Return the bounds b'x / max(1, |B x|) and 1'|p| + 1'|b - A'p|.

        The bounds are in units of `scale`. The first multipliers are p, and the last rows are x.
        """
        m = self.rows.shape[0]
        x, p = rows[m:], multipliers[:m]
        violation = max(1.0, np.abs(np.asarray(self.rows @ x)).max(initial=0.0), np.abs(x).max())
        upper = np.abs(p).sum() + np.abs(self.objective - np.asarray(self.rows.T @ p)).sum()
        return float((self.objective * x).sum() / violation), float(upper)

    def unscaled(self, solution: interior_point.Solution) -> tuple[Floats, Floats]:
        """Return the variables y and multipliers p of the program."""
        m = len(self.program.radius)
        y = self.program.box * solution.rows[m:][self.pattern.place]
        p = np.empty(m)
        p[self.pattern.rows] = self.scale * self.inverse_radius * solution.multipliers[:m]
        return y, p
