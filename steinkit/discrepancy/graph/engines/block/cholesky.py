"""Sparse Cholesky factorisation of matrices made of small blocks on a graph.

H has a block of p x p for every node of a graph on its diagonal and one for every edge, as B'WB has when every row of B
touches a few nodes. The factorisation H = L L' is multifrontal [1]_: nodes are eliminated in an order that keeps L
sparse, in dense fronts, each of which passes its Schur complement on to its parent in the elimination tree. Small
fronts cost little beyond their arithmetic, large ones are products of dense matrices.

The order is a minimum degree order [2]_, or that of `dissection` if it is better. Order, tree and fronts depend on the
graph only: they are found once (`analyse`), for any number of matrices.

References
----------
.. [1] I. S. Duff and J. K. Reid, "The multifrontal solution of indefinite sparse symmetric linear equations", ACM
   Trans. Math. Softw. 9 (1983); J. W. H. Liu, "The multifrontal method for sparse matrix solution", SIAM Rev. 34
   (1992).
.. [2] J. W. H. Liu, "Modification of the minimum-degree algorithm by multiple elimination", ACM Trans. Math. Softw. 11
   (1985); the implementation is SuperLU's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import spilu

from steinkit.discrepancy.graph.engines.block import elimination_kernels
from steinkit.discrepancy.graph.engines.block.cholesky_kernels import Fronts
from steinkit.discrepancy.graph.engines.block.dissection import nested_dissection
from steinkit.sample import Floats, Integers

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
