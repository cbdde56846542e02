"""Nested dissection: an elimination order of a graph whose nodes are points in space.

A plane cuts the points in two halves. The edges across it are covered by as few nodes as can be, the separator; without
them the halves have nothing to do with each other. Each half is ordered in the same way, and the separator is
eliminated last [1]_. The plane is the one, of a few directions, through the middle of the points, whose separator is
smallest; the smallest set of nodes that covers the edges of a bipartite graph comes from a largest matching (Koenig).
Parts that are small enough are left to the minimum degree order.

In three dimensions this fills less than the minimum degree order from some thousands of points on; in two it does not.

References
----------
.. [1] A. George, "Nested dissection of a regular finite element mesh", SIAM J. Numer. Anal. 10 (1973).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import maximum_bipartite_matching

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
