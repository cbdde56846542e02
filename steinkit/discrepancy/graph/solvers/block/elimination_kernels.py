"""Compiled kernels for the symbolic Cholesky factorization.

Eliminating a node connects its later neighbors to each other. The parent of a column is its first row below the
diagonal. Column j of the factor has the later neighbors of node j and the rows of the children of node j [1]_. A column
is merged with its parent into one front if both have nearly the same rows.

References
----------
.. [1] J. W. H. Liu, "The role of elimination trees in sparse factorization", SIAM J. Matrix Anal. Appl. 11 (1990).
"""

from __future__ import annotations

import numpy as np

from steinkit.runtime.compilation import array_kernel, as_source, inner_array_kernel

_MORE_ZEROS = 0.2  # largest fraction of explicit zeros in merged fronts
_NARROW, _FEW_ROWS = 4, 2  # fronts of at most 4 nodes are merged if they gain at most 2 rows


@as_source
@array_kernel
def analyse(starts, neighbours, order):  # type: ignore[no-untyped-def]
    """Compute the symbolic factorization of a graph for a given elimination ordering.

    Parameters
    ----------
    starts, neighbours : ndarray of int
        Concatenated adjacency lists.
    order : ndarray of int, shape (n,)
        Index of the node that is eliminated k-th.

    Returns
    -------
    position : ndarray of int, shape (n,)
        Position of every node in an equivalent ordering with consecutive fronts.
    first, rows_start, rows : ndarray of int
        See `cholesky_kernels.Fronts`. The rows of a front are not sorted.
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
    """Return the rows below the diagonal and the parent of each column of L.

    The parent of a root is -1.

    The rows are not sorted.
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
    """Add row i to column j unless it is present.

    Return the end index of the rows and the smallest row index.
    """
    if i > j and seen[i] != j:
        seen[i] = j
        rows[end] = i
        return end + 1, min(lowest, i)
    return end, lowest


@inner_array_kernel
def _postorder(parent, column_start):  # type: ignore[no-untyped-def]
    """Return the position of every node in a postorder.

    The child with the longest column comes last.
    """
    n = len(parent)
    child, sibling = np.full(n + 1, -1), np.full(n, -1)  # node n is the parent of all roots
    for j in range(n - 1, -1, -1):
        p = parent[j] if parent[j] >= 0 else n
        k = child[p]
        if k >= 0 and column_start[j + 1] - column_start[j] > column_start[k + 1] - column_start[k]:
            sibling[j], child[p] = k, j  # the longest column comes first in the list
        elif k >= 0:
            sibling[j], sibling[k] = sibling[k], j
        else:
            child[p] = j
    # Positions are assigned from the end. A node precedes its children, and the first node of a list comes first.
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
    """Merge each column with its parent if their rows are nearly the same.

    Return the first column of each front.
    """
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
