"""Kernels of the greedy spanner in the plane that looks at pairs with an empty box only, and the twin of one in Python.

Both ways list the same pairs and link the same ones; `greedy` says why these pairs are enough.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from steinkit.discrepancy.graph.spanner.bucket_kernels import add_link, is_joined
from steinkit.discrepancy.graph.spanner.search_kernels import (
    HEAP_SIZE,
    N_TOUCHED,
    Adjacency,
    Frontier,
    clear,
    heap_pop,
    heap_push,
    label,
    new_frontier,
)
from steinkit.runtime.compilation import inner_kernel, kernel, with_twin
from steinkit.sample import Floats, Integers

RUN = 128
"""Points that are looked at together."""
MOST_TIES = 64
"""Pairs that are joined only just, up to which it is worth looking for chains of them."""

Links = list[list[tuple[float, int]]]


@kernel
def list_empty_boxes(x: Floats, y: Floats, runs: Floats, pairs: Integers, stop: NDArray[np.bool_]) -> int:
    """List pairs i < j whose closed box holds no point between them in order, x ascending and y with it among equals.

    Returns how many there are; more than there is room for if there are too many, or if told to stop. ``runs`` holds y
    with each `RUN` neighbours in order, and infinities behind them: the two nearest to i among these say whether any of
    them makes a pair with it.
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
        if any(_has_path(links, places, u, v, reach - slack, dilation, weight) for weight in (dilation, 1.0)):
            continue
        if _has_path(links, places, u, v, reach, dilation, 0.0):
            ties.append(c)
        else:
            linked[c] = True
            links[u].append((length, v))
            links[v].append((length, u))
    return linked, np.array(ties, dtype=np.int64), len(lengths)


def _has_path(
    links: Links, places: list[list[float]], u: int, v: int, reach: float, dilation: float, weight: float
) -> bool:
    """Whether a search from u finds v within a reach: `has_path` with a weight, `search_within` without."""
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
            left = abs(places[other][0] - x) + abs(places[other][1] - y) if weight else 0.0
            if weight and through + dilation * left <= reach:
                return True
            if through + left > reach:
                continue
            distance[other] = through
            heappush(heap, (through + weight * left, other))
    return False


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
    """Whether u and v, a pair that all shorter ones have gone before, are joined within the first limit.

    It is enough to come to a point so near to v that a path of the dilation stays within it from there: the shorter
    pair of that point and v has one. Nodes are taken in order of the path so far plus ``weight`` times the distance
    from v, none twice. If the weight is 1 all paths count, and v is labelled if there is one within the second limit.
    """
    reach, furthest = limits
    start, degree, to, length = graph
    label(frontier, u, 0.0)
    distance, counts, found = frontier.distance, frontier.counts, False
    while counts[HEAP_SIZE] > 0 and not found:
        node = frontier.nodes[0]
        counts[HEAP_SIZE] = heap_pop(frontier.keys, frontier.nodes, counts[HEAP_SIZE])
        if frontier.closed[node]:
            continue
        frontier.closed[node] = True
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
            if distance[other] == np.inf:
                frontier.touched[counts[N_TOUCHED]] = other
                counts[N_TOUCHED] += 1
            distance[other] = through
            key = through + weight * left
            counts[HEAP_SIZE] = heap_push(frontier.keys, frontier.nodes, counts[HEAP_SIZE], key, other)
    return found


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

    A search that makes straight for the other end finds most pairs joined within a few links. What is no path within
    slack of the limit is no tie.
    """
    n_pairs, frontier = len(lengths), new_frontier(graph)
    linked, ties, count = np.zeros(n_pairs, np.bool_), np.empty(MOST_TIES + 1, np.int64), 0
    for c in range(n_pairs):
        if stop[0] or count > MOST_TIES:
            return linked, ties[:count], c
        u, v = pairs[c]
        reach = dilation * lengths[c]
        is_joined_surely = is_near = False
        for weight in (dilation, 1.0):
            if not is_joined_surely:
                limits = reach - slack, reach + slack
                is_joined_surely = has_path(graph, columns, u, v, limits, dilation, weight, frontier)
                is_near = frontier.distance[v] < np.inf
                clear(frontier)
        if is_joined_surely:
            continue
        if is_near and is_joined(graph, u, v, reach, frontier):
            ties[count] = c
            count += 1
        else:
            add_link(graph, u, v, lengths[c])
            add_link(graph, v, u, lengths[c])
            linked[c] = True
    return linked, ties[:count], n_pairs
