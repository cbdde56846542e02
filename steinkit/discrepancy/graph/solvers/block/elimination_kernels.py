"""Kernels that follow the elimination of a graph's nodes: what a Cholesky factor has where, before any number is known.

Eliminating a node joins its later neighbours. Column j of the factor therefore has the later neighbours of node j, and
what is left of the columns whose parent it is, the parent of a column being its first row below the diagonal [1]_.
Columns that agree, or nearly agree, with their parent are merged into one front.

References
----------
.. [1] J. W. H. Liu, "The role of elimination trees in sparse factorization", SIAM J. Matrix Anal. Appl. 11 (1990).
"""

from __future__ import annotations

import numpy as np

from steinkit.runtime.compilation import array_kernel, inner_array_kernel

_MORE_ZEROS = 0.2  # share of explicit zeros that merged fronts may hold
_NARROW, _FEW_ROWS = 4, 2  # a front of at most so many nodes is merged if it gains at most so many rows


@array_kernel
def analyse(starts, neighbours, order):  # type: ignore[no-untyped-def]
    """Symbolic factorisation of a graph in a given elimination order.

    Parameters
    ----------
    starts, neighbours : ndarray of int
        Adjacency lists of all nodes, one after another.
    order : ndarray of int, shape (n,)
        Node eliminated k-th.

    Returns
    -------
    position : ndarray of int, shape (n,)
        Place of every node in an equivalent order in which fronts are consecutive.
    first, rows_start, rows : ndarray of int
        See `cholesky_kernels.Fronts`; the rows of a front are not sorted yet.
    """
    n = len(order)
    column_start, column, parent = column_structures(starts, neighbours, order)
    later = _postorder(parent, column_start)
    position, old = np.empty(n, np.int64), np.empty(n, np.int64)
    count, above = np.empty(n, np.int64), np.empty(n, np.int64)
    for j in range(n):
        position[order[j]] = later[j]
        old[later[j]] = j
        count[later[j]] = column_start[j + 1] - column_start[j]
        above[later[j]] = later[parent[j]] if parent[j] >= 0 else -1
    first = _merge_columns(above, count)
    rows_start = np.zeros(len(first), np.int64)
    for s in range(len(first) - 1):
        rows_start[s + 1] = rows_start[s] + count[first[s + 1] - 1]
    rows = np.empty(rows_start[len(first) - 1], np.int64)
    for s in range(len(first) - 1):
        start = column_start[old[first[s + 1] - 1]]
        for k in range(rows_start[s + 1] - rows_start[s]):
            rows[rows_start[s] + k] = later[column[start + k]]
    return position, first, rows_start, rows


@inner_array_kernel
def column_structures(starts, neighbours, order):  # type: ignore[no-untyped-def]
    """Rows below the diagonal of every column of L, in no order, and the first of them: its parent, or -1.

    Column j has the later neighbours of its node, and what the columns whose parent it is pass on to it.
    """
    n = len(order)
    position = np.empty(n, np.int64)
    for j in range(n):
        position[order[j]] = j
    start = np.zeros(n + 1, np.int64)
    rows = np.empty(4 * len(neighbours) + 64, np.int64)
    seen, parent = np.full(n, -1), np.full(n, -1)
    child, sibling = np.full(n, -1), np.full(n, -1)
    for j in range(n):
        if start[j] + n - j > len(rows):
            longer = np.empty(2 * len(rows) + n, np.int64)
            for k in range(start[j]):
                longer[k] = rows[k]
            rows = longer
        seen[j] = j
        end, lowest = start[j], n
        for k in range(starts[order[j]], starts[order[j] + 1]):
            end, lowest = _note(position[neighbours[k]], j, seen, rows, end, lowest)
        c = child[j]
        while c >= 0:
            for k in range(start[c], start[c + 1]):
                end, lowest = _note(rows[k], j, seen, rows, end, lowest)
            c = sibling[c]
        start[j + 1] = end
        if lowest < n:
            parent[j] = lowest
            sibling[j] = child[lowest]
            child[lowest] = j
    return start, rows, parent


@inner_array_kernel
def _note(i, j, seen, rows, end, lowest):  # type: ignore[no-untyped-def]
    """Add row i to column j's unless it is there; returns the rows' end and the first row so far."""
    if i > j and seen[i] != j:
        seen[i] = j
        rows[end] = i
        return end + 1, min(lowest, i)
    return end, lowest


@inner_array_kernel
def _postorder(parent, column_start):  # type: ignore[no-untyped-def]
    """Place of every node in a postorder of the forest, the child with the longest column last of its siblings."""
    n = len(parent)
    child, sibling = np.full(n + 1, -1), np.full(n, -1)  # node n stands above all roots
    for j in range(n - 1, -1, -1):
        p = parent[j] if parent[j] >= 0 else n
        k = child[p]
        if k >= 0 and column_start[j + 1] - column_start[j] > column_start[k + 1] - column_start[k]:
            sibling[j], child[p] = k, j  # the longest stays at the head of its list
        elif k >= 0:
            sibling[j], sibling[k] = sibling[k], j
        else:
            child[p] = j
    # places are given from the end, a node before its children, the head of a list first
    place, waiting = np.empty(n, np.int64), np.empty(n + 1, np.int64)
    free, count = n - 1, 0
    j = child[n]
    while j >= 0 or count > 0:
        if j < 0:
            count -= 1
            j = waiting[count]
            continue
        place[j] = free
        free -= 1
        if sibling[j] >= 0:
            waiting[count] = sibling[j]
            count += 1
        j = child[j]
    return place


@inner_array_kernel
def _merge_columns(parent, count):  # type: ignore[no-untyped-def]
    """Group a column with the next, its parent, where their rows agree or nearly do; returns the groups' starts."""
    n = len(parent)
    first = np.zeros(n + 1, np.int64)
    fronts, zeros = 0, 0
    for j in range(1, n):
        merge = False
        if parent[j - 1] == j:
            width = j - first[fronts]
            gained = count[j] + 1 - count[j - 1]
            more = zeros + gained * width
            small = width <= _NARROW and gained <= _FEW_ROWS
            merge = gained == 0 or small or more <= _MORE_ZEROS * (width + 1) * (width + 1 + count[j])
            if merge:
                zeros = more
        if not merge:
            fronts += 1
            first[fronts] = j
            zeros = 0
    first[fronts + 1] = n
    return first[: fronts + 2]
