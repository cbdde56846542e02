"""Compiled kernels for the greedy spanner in the plane.

Only pairs with an empty box are examined. The module `greedy` proves that these pairs are sufficient.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steinkit.discrepancy.graph.spanner.bucket_kernels import add_link
from steinkit.discrepancy.graph.spanner.search_kernels import (
    HEAP_SIZE,
    Adjacency,
    Frontier,
    clear,
    label,
    new_frontier,
    settle_next,
)
from steinkit.runtime.compilation import as_source, inner_kernel, kernel
from steinkit.sample import Floats, Integers

RUN = 128
"""Number of neighboring points that are skipped together."""


@as_source
@kernel
def list_empty_boxes(x: Floats, y: Floats, runs: Floats, pairs: Integers, stop: NDArray[np.bool_]) -> int:
    """List the pairs i < j with an empty closed box.

    The points are sorted by x and then y. Return the number of pairs. The number exceeds ``len(pairs)`` if there are
    too many pairs or if ``stop[0]`` is true. The array `runs` contains y, sorted within each group of `RUN` neighbors
    and padded with infinities. The two values nearest to y_i determine whether a group contains pairs with i.
    """
    n, count = len(x), 0
    for i in range(n):
        if stop[0]:
            return len(pairs) + 1
        above, below, j = np.inf, -np.inf, i + 1
        while j < n:
            if j % RUN == 0:
                place, end = j, j + RUN
                while place < end:
                    middle = (place + end) // 2
                    if runs[middle] < y[i]:
                        place = middle + 1
                    else:
                        end = middle
                if (place == j + RUN or runs[place] >= above) and (place == j or runs[place - 1] <= below):
                    j += RUN
                    continue
            if y[i] <= y[j] < above:
                above = y[j]
            elif below < y[j] < y[i]:
                below = y[j]
            else:
                j += 1
                continue
            if count == len(pairs):
                return count + 1
            pairs[count, 0], pairs[count, 1] = i, j
            count += 1
            j += 1
    return count


@inner_kernel
def has_path(
    graph: Adjacency,
    columns: Floats,
    u: int,
    v: int,
    limits: tuple[float, float],
    dilation: float,
    weight: float,
    frontier: Frontier,
) -> bool:
    """Return True if a path from u to v exists within the first limit.

    All shorter pairs must already be joined. It is therefore sufficient to reach a point w for which the path length
    plus the dilation times the distance from w to v is within the limit. Nodes are settled once, in order of the path
    length plus `weight` times the distance to v. With a weight of 1, the search finds all paths. The node v receives
    a label if there is a path within the second limit.
    """
    reach, furthest = limits
    start, degree, to, length = graph
    label(frontier, u, 0.0, 0.0)
    distance, counts, found = frontier.distance, frontier.counts, False
    while counts[HEAP_SIZE] > 0 and not found:
        node = settle_next(frontier)
        if node < 0:
            continue
        for k in range(start[node], start[node] + degree[node]):
            through, other = distance[node] + length[k], to[k]
            if through > furthest:
                break
            if frontier.closed[other] or through >= distance[other]:
                continue
            left = abs(columns[0, other] - columns[0, v]) + abs(columns[1, other] - columns[1, v])
            if through + dilation * left <= reach:
                found = True
                break
            if through + left > furthest:
                continue
            label(frontier, other, through, through + weight * left)
    return found


@as_source
@kernel
def insert_empty_boxes(
    columns: Floats,
    dilation: float,
    slack: float,
    graph: Adjacency,
    pairs: Integers,
    lengths: Floats,
    stop: NDArray[np.bool_],
) -> tuple[NDArray[np.bool_], bool]:
    """Apply the greedy rule to pairs in order.

    A pair is linked if its distance in the graph exceeds the dilation times its length. Return a mask of the linked
    pairs, and a flag that is True if the mask is complete. The mask is incomplete if a distance equals the limit up to
    `slack`, or if ``stop[0]`` is true. A search directed toward the other endpoint finds most existing paths within a
    few links.
    """
    frontier, linked = new_frontier(graph), np.zeros(len(lengths), np.bool_)
    for c in range(len(lengths)):
        if stop[0]:
            return linked, False
        u, v = pairs[c]
        limits = dilation * lengths[c] - slack, dilation * lengths[c] + slack
        is_joined = is_near = False
        for weight in (dilation, 1.0):
            if not is_joined:
                is_joined = has_path(graph, columns, u, v, limits, dilation, weight, frontier)
                is_near = frontier.distance[v] < np.inf
                clear(frontier)
        if is_joined:
            continue
        if is_near:
            return linked, False
        add_link(graph, u, v, lengths[c])
        add_link(graph, v, u, lengths[c])
        linked[c] = True
    return linked, True
