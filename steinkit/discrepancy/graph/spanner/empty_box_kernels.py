"""Kernels of the greedy spanner in the plane that looks at pairs with an empty box only, and their twins in Python.

Both ways list the same pairs and link the same ones; see `empty_boxes`.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from steinkit.discrepancy.graph.spanner.bucket_kernels import add_link, is_joined
from steinkit.discrepancy.graph.spanner.search_kernels import (
    Adjacency,
    Goals,
    clear,
    new_frontier,
    search_towards,
)
from steinkit.runtime.compilation import inner_kernel, kernel, with_twin
from steinkit.sample import Floats, Integers

MOST_TIES = 64
"""Pairs that are joined only just, up to which it is worth looking for chains of them."""

Links = list[list[tuple[float, int]]]


def _boxes_on_arrays(x: Floats, y: Floats, pairs: Integers) -> int:
    """`list_empty_boxes`, a point's pairs at a time."""
    count = 0
    for i in range(len(x)):
        rest = y[i + 1 :]
        above, below = np.where(rest >= y[i], rest, np.inf), np.where(rest < y[i], rest, -np.inf)
        lowest, highest = np.minimum.accumulate(above), np.maximum.accumulate(below)
        empty = np.zeros(len(rest), dtype=bool)
        empty[:1] = True
        empty[1:] = (above[1:] < lowest[:-1]) | (below[1:] > highest[:-1])
        others = np.flatnonzero(empty) + i + 1
        if count + len(others) > len(pairs):
            return len(pairs) + 1
        pairs[count : count + len(others)] = np.column_stack([np.full(len(others), i), others])
        count += len(others)
    return count


@with_twin(_boxes_on_arrays)
@kernel
def list_empty_boxes(x: Floats, y: Floats, pairs: Integers) -> int:
    """List pairs i < j whose closed box holds no point between them in order, x ascending and y with it among equals.

    Returns how many there are; more than there is room for if there are too many.
    """
    count = 0
    for i in range(len(x)):
        above, below = np.inf, -np.inf
        for j in range(i + 1, len(x)):
            if y[i] <= y[j] < above:
                above = y[j]
            elif below < y[j] < y[i]:
                below = y[j]
            else:
                continue
            if count == len(pairs):
                return count + 1
            pairs[count, 0], pairs[count, 1] = i, j
            count += 1
    return count


def _insert_by_python(
    columns: Floats,
    dilation: float,
    slack: float,
    graph: Adjacency,
    pairs: Integers,
    lengths: Floats,
    stop: NDArray[np.bool_],
) -> tuple[NDArray[np.bool_], Integers, int]:
    """`insert_empty_boxes` with lists and `heapq`; the graph is left as it is."""
    places = columns.T.tolist()
    links: Links = [[] for _ in places]
    linked, ties = np.zeros(len(lengths), dtype=bool), list[int]()
    for c, ((u, v), length) in enumerate(zip(pairs.tolist(), lengths.tolist(), strict=True)):
        if stop[0] or len(ties) > MOST_TIES:
            return linked, np.array(ties, dtype=np.int64), c
        reach = dilation * length
        if any(_has_path(links, places, u, v, reach - slack, weight) for weight in (dilation, 1.0)):
            continue
        if _has_path(links, places, u, v, reach, 0.0):
            ties.append(c)
        else:
            linked[c] = True
            links[u].append((length, v))
            links[v].append((length, u))
    return linked, np.array(ties, dtype=np.int64), len(lengths)


def _has_path(links: Links, places: list[list[float]], u: int, v: int, reach: float, weight: float) -> bool:
    """Whether a search from u finds v within a reach: `search_towards` with a weight, `search_within` without."""
    x, y = places[v]
    distance, closed, heap = {u: 0.0}, set[int](), [(0.0, u)]
    while heap:
        node = heappop(heap)[1]
        if node in closed:
            continue
        closed.add(node)
        for length, other in links[node]:
            through = distance[node] + length
            if through > reach:
                break
            if other in closed or through >= distance.get(other, np.inf):
                continue
            if other == v:
                return True
            left = weight and weight * (abs(places[other][0] - x) + abs(places[other][1] - y))
            if weight and through + left / weight > reach:
                continue
            distance[other] = through
            heappush(heap, (through + left, other))
    return False


@with_twin(_insert_by_python)
@kernel
def insert_empty_boxes(
    columns: Floats,
    dilation: float,
    slack: float,
    graph: Adjacency,
    pairs: Integers,
    lengths: Floats,
    stop: NDArray[np.bool_],
) -> tuple[NDArray[np.bool_], Integers, int]:
    """Go through pairs in order, and link those whose distance in the graph exceeds the dilation times their length.

    Returns which pairs were linked; the numbers of those that were not though no path falls short of that by `slack`;
    and how many pairs were gone through: all, unless it was told to stop or more than `MOST_TIES` are of that kind.

    Most pairs are joined by a link that ends near the other end. A search that makes straight for it finds most others
    joined by the first path it comes to.
    """
    n, n_pairs = columns.shape[1], len(lengths)
    frontier, goals = new_frontier(graph), Goals(np.empty(n), np.zeros(n, np.bool_))
    linked, ties, count = np.zeros(n_pairs, np.bool_), np.empty(MOST_TIES + 1, np.int64), 0
    for c in range(n_pairs):
        if stop[0] or count > MOST_TIES:
            return linked, ties[:count], c
        u, v = pairs[c]
        reach = dilation * lengths[c]
        near = reach - 2.0 * slack
        if leads_on(graph, columns, u, v, dilation, near) or leads_on(graph, columns, v, u, dilation, near):
            continue
        end, n_open = columns[:, v], np.int64(1)
        goals.limit[v], goals.is_open[v] = reach - slack, True
        for weight in (dilation, 1.0):
            if n_open > 0:
                clear(frontier)
                n_open = search_towards(graph, columns, u, end, end, goals, reach + slack, n_open, weight, frontier)
        goals.is_open[v], is_near = False, frontier.distance[v] < np.inf
        clear(frontier)
        if n_open == 0:
            continue
        if is_near and is_joined(graph, u, v, reach, frontier):
            ties[count] = c
            count += 1
        else:
            add_link(graph, u, v, lengths[c])
            add_link(graph, v, u, lengths[c])
            linked[c] = True
    return linked, ties[:count], n_pairs


@inner_kernel
def leads_on(graph: Adjacency, columns: Floats, u: int, v: int, dilation: float, reach: float) -> bool:
    """Whether a link of u ends so near v that it makes a path no longer than ``reach`` with the one that leads on.

    Points at the ends of shorter pairs than u and v are joined by paths of dilation t already.
    """
    for k in range(graph.start[u], graph.start[u] + graph.degree[u]):
        w = graph.to[k]
        left = abs(columns[0, w] - columns[0, v]) + abs(columns[1, w] - columns[1, v])
        if graph.length[k] + dilation * left <= reach:
            return True
    return False
