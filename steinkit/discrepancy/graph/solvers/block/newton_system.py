"""Newton systems of the interior point method by a block sparse Cholesky factorisation: two and three dimensions.

A program max b'y, |A y| <= r, |y| <= u is written in x = y/u and in rows of radius one, B = [diag(1/r) A diag(u); I].
The Newton matrix B'WB of `interior_point` then has a block of d + 1 columns for each point, and couples two points only
if a row holds both: those joined by an edge of the graph. On the spanner of a sample in the plane its factor has some
tens of numbers a column; in three dimensions it grows faster than n, and beyond that there is no saving.

Order, elimination tree and positions of the entries depend on the rows' pattern only. They are found once and shared
by the coordinates (`prepare`). What a factorisation will cost is known before any is done (`BlockPlan.flops`).

**Nested dissection** is an elimination order of a graph whose nodes are points in space. A plane cuts the points in two
halves. The edges across it are covered by as few nodes as can be, the separator; without them the halves have nothing
to do with each other. Each half is ordered in the same way, and the separator is eliminated last [1]_. The plane is the
one, of a few directions, through the middle of the points, whose separator is smallest; the smallest set of nodes that
covers the edges of a bipartite graph comes from a largest matching (Koenig). Parts that are small enough are left to
the minimum degree order.

In three dimensions this fills less than the minimum degree order from some thousands of points on; in two it does not.

**The factorisation** is that of a matrix made of small blocks on a graph. H has a block of p x p for every node of a
graph on its diagonal and one for every edge, as B'WB has when every row of B touches a few nodes. The factorisation
H = L L' is multifrontal [2]_: nodes are eliminated in an order that keeps L sparse, in dense fronts, each of which
passes its Schur complement on to its parent in the elimination tree. Small fronts cost little beyond their arithmetic,
large ones are products of dense matrices.

The order is a minimum degree order [3]_, or that of `nested_dissection` if it is better. Order, tree and fronts depend
on the graph only: they are found once (`analyse`), for any number of matrices.

References
----------
.. [1] A. George, "Nested dissection of a regular finite element mesh", SIAM J. Numer. Anal. 10 (1973).
.. [2] I. S. Duff and J. K. Reid, "The multifrontal solution of indefinite sparse symmetric linear equations", ACM
   Trans. Math. Softw. 9 (1983); J. W. H. Liu, "The multifrontal method for sparse matrix solution", SIAM Rev. 34
   (1992).
.. [3] J. W. H. Liu, "Modification of the minimum-degree algorithm by multiple elimination", ACM Trans. Math. Softw. 11
   (1985); the implementation is SuperLU's.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import maximum_bipartite_matching
from scipy.sparse.linalg import spilu

from steinkit.discrepancy.bracket import relative_width
from steinkit.discrepancy.graph.programs.matrix_form import CoordinateProgram
from steinkit.discrepancy.graph.programs.relative_form import AnyForm, suitable_forms
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.discrepancy.graph.solvers import interior_point
from steinkit.discrepancy.graph.solvers.base import (
    Candidate,
    Settings,
    asked_for,
    closed_form,
    each_coordinate,
    unsolved,
)
from steinkit.discrepancy.graph.solvers.block import elimination_kernels
from steinkit.discrepancy.graph.solvers.block import rows_kernels as kernels
from steinkit.discrepancy.graph.solvers.block.cholesky_kernels import Fronts
from steinkit.discrepancy.graph.solvers.block.rows_kernels import SparseRows
from steinkit.runtime.compilation import small_work
from steinkit.runtime.deadlines import require_time
from steinkit.sample import Floats, Integers

_SMALL_PART = 300

Order = Callable[[Integers, Integers], Integers]


def nested_dissection(starts: Integers, neighbours: Integers, points: Floats, order_part: Order) -> Integers:
    """Order the nodes of a graph for elimination.

    Parameters
    ----------
    starts, neighbours : ndarray of int, shapes (n + 1,) and (2 m,)
        Adjacency lists of the nodes, one after another.
    points : ndarray, shape (n, d)
        Where the nodes are; it helps if edges are short.
    order_part : callable
        Orders small parts, given their adjacency lists.

    Returns
    -------
    ndarray of int, shape (n,)
        The node eliminated k-th, for all k.
    """
    n = len(points)
    graph = sparse.csr_array((np.ones(len(neighbours)), neighbours, starts), shape=(n, n))
    heights = points @ _directions(points.shape[1]).T
    last_first: list[Integers] = []
    uncut = [np.arange(n, dtype=np.int64)]
    while uncut:
        require_time("the factorisation was planned")
        part = uncut.pop()
        if len(part) <= _SMALL_PART:
            inside = sparse.csr_array(graph[part][:, part])
            order = order_part(inside.indptr.astype(np.int64), inside.indices.astype(np.int64))
            last_first.append(part[order[::-1]])
            continue
        low, high, separator = min(
            (_cut(graph, part, height[part]) for height in heights.T), key=lambda cut: len(cut[2])
        )
        last_first.append(separator)
        uncut += [low, high]
    return np.concatenate(last_first)[::-1]


def _directions(dim: int) -> Floats:
    """Axes and diagonals of space, each of them once; from four dimensions on the axes only."""
    if dim > 3:
        return np.eye(dim)
    return np.array([v for v in itertools.product((-1.0, 0.0, 1.0), repeat=dim) if v > (0.0,) * dim])


def _cut(graph: sparse.csr_array, part: Integers, height: Floats) -> tuple[Integers, Integers, Integers]:
    """Halves of a part below and above its middle, without the separator, and the separator."""
    order = np.argsort(height, kind="stable")
    low, high = part[order[: len(part) // 2]], part[order[len(part) // 2 :]]
    in_low, in_high = smallest_cover(sparse.csr_array(graph[low][:, high]))
    return low[~in_low], high[~in_high], np.concatenate([low[in_low], high[in_high]])


def smallest_cover(links: sparse.csr_array) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Smallest set of rows and columns that covers all entries of a sparse matrix.

    Koenig: start from the rows with entries that a largest matching leaves out, and alternate between entries and
    matched pairs; the columns reached and the rows not reached, among those with entries, cover all entries.
    """
    column_of = maximum_bipartite_matching(links, perm_type="column")
    row_of = np.full(links.shape[1], -1)
    matched = np.flatnonzero(column_of >= 0)
    row_of[column_of[matched]] = matched
    busy = np.diff(links.indptr) > 0
    reached_rows, reached_columns = busy & (column_of < 0), np.zeros(links.shape[1], dtype=bool)
    front = np.flatnonzero(reached_rows)
    while front.size:
        columns = np.unique(links[front].indices)
        columns = columns[~reached_columns[columns]]
        reached_columns[columns] = True
        front = row_of[columns]  # each is matched, or the matching could be made larger
        front = front[~reached_rows[front]]
        reached_rows[front] = True
    return busy & ~reached_rows, reached_columns


_MUCH = 1e8  # floating point operations, from which on there may be something to save
_SPARSE = 50  # neighbours of a node, on average; with more, no plane is crossed by few edges


@dataclass(frozen=True, eq=False)
class Symbolic:
    """What is known of a factorisation from the graph alone.

    Attributes
    ----------
    position : ndarray of int, shape (n,)
        Place of every node in the elimination order.
    fronts : Fronts
    entries : int
        Numbers kept of L, explicit zeros included.
    stack : int
        Most numbers of Schur complements held at a time.
    flops : float
        Floating point operations of a factorisation.
    """

    position: Integers
    fronts: Fronts
    entries: int
    stack: int
    flops: float


def analyse(starts: Integers, neighbours: Integers, block: int, points: Floats | None = None) -> Symbolic:
    """Choose an elimination order for a graph and find the fronts it leads to.

    Parameters
    ----------
    starts, neighbours : ndarray of int, shapes (n + 1,) and (2 m,)
        Adjacency lists of the n nodes, one after another; every edge stands in two of them.
    block : int
        Columns p of the matrix a node stands for.
    points : ndarray, shape (n, d), optional
        Where the nodes are. Nested dissection is then tried too where there is much to save.
    """
    found = symbolic(starts, neighbours, minimum_degree(starts, neighbours), block)
    if points is None or found.flops < _MUCH or len(neighbours) > _SPARSE * len(points):
        return found
    other = symbolic(starts, neighbours, nested_dissection(starts, neighbours, points, minimum_degree), block)
    return min(found, other, key=lambda each: each.flops)


def symbolic(starts: Integers, neighbours: Integers, order: Integers, block: int) -> Symbolic:
    """Fronts of a graph in a given elimination order: order[k] is the node eliminated k-th."""
    n = len(order)
    position, first, rows_start, rows = elimination_kernels.analyse(starts, neighbours, order)
    owner = np.repeat(np.arange(len(first) - 1), np.diff(first))
    front = np.repeat(np.arange(len(first) - 1), np.diff(rows_start))
    keys = np.sort(front * n + rows)
    rows = keys % n
    parent = owner[rows[rows_start[:-1][np.diff(rows_start) > 0]]]
    children = np.bincount(parent, minlength=len(first) - 1)
    place = _places(front, rows, keys, owner, first, rows_start)
    width, below = block * np.diff(first), block * np.diff(rows_start)
    size = width + below
    panel_start = np.concatenate([[0], np.cumsum(width * size)]).astype(np.int64)
    fronts = Fronts(block, first, rows_start, rows, place, children, panel_start)
    # elimination of column q of a front costs (size - q)^2
    flops = float(sum(_squares(size.astype(float)) - _squares(below.astype(float))))
    return Symbolic(position, fronts, int(panel_start[-1]), _stack_needed(children, below), flops)


def _places(
    front: Integers, rows: Integers, keys: Integers, owner: Integers, first: Integers, rows_start: Integers
) -> Integers:
    """Where each row of each front is in the front of its parent: among the columns, or else among the rows."""
    parent = owner[rows[rows_start[front]]]
    among_rows = np.searchsorted(keys, parent * len(owner) + rows) - rows_start[parent]
    return np.where(rows < first[parent + 1], rows - first[parent], first[parent + 1] - first[parent] + among_rows)


def minimum_degree(starts: Integers, neighbours: Integers) -> Integers:
    """Minimum degree order of a graph: the node eliminated k-th, for all k."""
    n = len(starts) - 1
    if 2 * len(neighbours) >= n * (n - 1):  # no order is much better than another
        return np.arange(n, dtype=np.int64)
    adjacency = sparse.csc_array((np.ones(len(neighbours)), neighbours, starts), shape=(n, n))
    dominant = sparse.csc_array(adjacency + sparse.diags_array(np.diff(starts) + 1.0))
    # only the order is wanted: an incomplete factorisation, which drops all it may, comes after the same one
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


class Factorisation:
    """Room for a matrix and its factor, and the work space of the kernels; one to a thread.

    Parameters
    ----------
    symbolic : Symbolic

    Attributes
    ----------
    panels : ndarray, shape (entries,)
        The matrix, to be filled in, then its factor; where each entry belongs, `Fronts` says.
    stack : ndarray
        Schur complements that wait for their parents.
    local : ndarray
        A front's share of x.
    """

    def __init__(self, symbolic: Symbolic) -> None:
        fronts = symbolic.fronts
        size = fronts.block * (np.diff(fronts.first) + np.diff(fronts.rows_start))
        self.panels: Floats = np.zeros(symbolic.entries)
        self.stack: Floats = np.empty(symbolic.stack)
        self.local: Floats = np.empty(int(size.max(initial=0)))


def _squares(n: Floats) -> Floats:
    """1 + 4 + ... + n^2."""
    return n * (n + 1.0) * (2.0 * n + 1.0) / 6.0


def _stack_needed(children: Integers, below: Integers) -> int:
    """Most numbers on the stack of Schur complements: a front's own lies above its children's while it is made."""
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
    entries : ndarray of int
        Where A has these entries.
    symbolic : Symbolic
    positions, diagonal : ndarray of int
        Where the products of a row's pairs of entries belong in the factor, and where the squares of variables do.
    place : ndarray of int, shape (N,)
        Place of every column of A in the elimination order.
    """

    rows: Integers
    starts: Integers
    columns: Integers
    entries: Integers
    symbolic: Symbolic
    positions: Integers
    diagonal: Integers
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


def solve(
    program: SteinProgram, settings: Settings, coordinates: Sequence[int] | None = None, plan: BlockPlan | None = None
) -> list[Candidate]:
    """Solve coordinates of a program, whose forms and patterns may be known."""
    plan = plan or prepare(program)
    asked = asked_for(program, coordinates)
    tasks = [(plan.forms[j].coordinate(j), plan.patterns[j]) for j in asked]
    with small_work(_INTERPRETED * sum(len(pattern.positions) for _, pattern in tasks)):
        return each_coordinate(solve_coordinate, tasks, settings)


def find_pattern(matrix: sparse.csr_array, points: Floats) -> Pattern:
    """Analyse the rows of a matrix whose columns belong, one after another, to points 0, ..., n - 1, 0, ..."""
    n_points, n_columns = len(points), matrix.shape[1]
    given, columns = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    block = n_columns // n_points
    symbolic = analyse(*_neighbours(given, columns % n_points, n_points), block, points)
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
    """Order of rows by the least of their columns; those without entries come last."""
    first = np.full(len(starts) - 1, n_columns)
    filled = np.diff(starts) > 0
    if filled.any():
        first[filled] = np.minimum.reduceat(columns, starts[:-1][filled])
    return np.argsort(first.astype(np.min_scalar_type(n_columns)), kind="stable")  # sooner of short integers


def _neighbours(starts: Integers, nodes: Integers, n_nodes: int) -> tuple[Integers, Integers]:
    """Adjacency lists of the graph that joins nodes with a row in common."""
    parts = [np.unique(kernels.node_pairs(starts, nodes, n_nodes, *rows)) for rows in _portions(len(starts) - 1)]
    i, k = np.divmod(np.unique(np.concatenate(parts)), n_nodes)
    links = np.sort(np.concatenate([i * n_nodes + k, k * n_nodes + i]))
    return np.searchsorted(links, n_nodes * np.arange(n_nodes + 1)), links % n_nodes


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


def solve_coordinate(task: tuple[CoordinateProgram, Pattern], settings: Settings) -> Candidate:
    """Solve one coordinate by its program and the pattern of its leading rows."""
    program, pattern = task
    if not len(program.radius):
        return closed_form(program, "block")
    if not settings.has_time(_SETUP_SECONDS * program.matrix.nnz):
        return unsolved(program, "block")
    system = BlockSystem(program, _extended(pattern, program.matrix), settings)
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
    return replace(
        pattern,
        rows=np.concatenate([pattern.rows, np.arange(known, matrix.shape[0])]),
        starts=np.concatenate([pattern.starts, starts[1:]]),
        columns=np.concatenate([pattern.columns, columns]),
        entries=np.concatenate([pattern.entries, np.arange(starts[0], starts[-1])]),
        positions=np.concatenate([pattern.positions, positions]),
    )


class BlockSystem:
    """The Newton systems of a coordinate: a `NewtonSystem`.

    Rows are those of A in the pattern's order, then the boxes in elimination order. A variable whose box is 0 has zeros
    for its column.
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
        self.rows = SparseRows(pattern.starts, pattern.columns, values)
        self.objective = np.empty(n)
        self.objective[pattern.place] = program.objective * program.box
        self.scale = float(np.abs(self.objective).max(initial=0.0)) or 1.0
        self.objective /= self.scale
        self.start = np.concatenate([np.zeros(m), self.objective])
        self.omega = np.ones(m + n)
        self.factor = Factorisation(pattern.symbolic)
        self.x, self.activity = np.empty(n), np.empty(m)

    def factorise(self, weights: Floats) -> None:
        """Factorise H = B' diag(weights) B."""
        factor, pattern = self.factor, self.pattern
        kernels.factorise(
            self.rows, weights, pattern.positions, pattern.diagonal, pattern.symbolic.fronts, factor.panels,
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
