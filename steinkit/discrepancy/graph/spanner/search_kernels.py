"""Compiled shortest-path searches with a distance bound.

The greedy spanner applies these searches to its current graph. All searches are variants of Dijkstra's algorithm.
Adjacency lists are sorted by length, so a scan stops at the first link that leads beyond the bound. The labels of a
search are stored in a `Frontier`. The function `clear` resets the frontier in time proportional to the number of
labeled nodes.

The heap of a frontier is a binary heap in the arrays ``keys[0:size]`` and ``nodes[0:size]``. If the distance of a node
decreases, the node is pushed again, and the outdated entry is skipped later.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steinkit.runtime.compilation import as_source, inner_kernel, kernel
from steinkit.sample import Floats, Integers

Flags = NDArray[np.bool_]

APART, TIED, JOINED, EXHAUSTED = 0, 1, 2, 3
HEAP_SIZE, N_TOUCHED = 0, 1


class Adjacency(NamedTuple):
    """Adjacency lists of a growing graph.

    The links of x are start[x], ..., start[x] + degree[x] - 1, in ascending order of length. The lists have space for
    additional links.
    """

    start: Integers
    degree: Integers
    to: Integers
    length: Floats


class Frontier(NamedTuple):
    """Labels and heap of one search.

    The array ``distance`` is infinite except at the nodes listed in ``touched``, and ``counts`` contains the sizes of
    the heap and of the list.
    """

    distance: Floats
    touched: Integers
    keys: Floats
    nodes: Integers
    counts: Integers
    closed: Flags


class Goals(NamedTuple):
    """Targets of a search.

    A target is open until a path within its limit is found.
    """

    limit: Floats
    is_open: Flags


@as_source
@kernel
def new_frontier(graph: Adjacency) -> Frontier:
    """Return an empty frontier.

    Each link is relaxed at most once per search, which limits the size of the heap.
    """
    n = len(graph.start)
    room = len(graph.to) + 2
    distance = np.empty(n)
    distance[:] = np.inf
    counts = np.zeros(2, np.int64)
    return Frontier(
        distance, np.empty(n, np.int64), np.empty(room), np.empty(room, np.int64), counts, np.zeros(n, np.bool_)
    )


@inner_kernel
def label(frontier: Frontier, node: int, distance: float, key: float) -> None:
    """Assign a shorter distance to a node, and push the node onto the heap."""
    if frontier.distance[node] == np.inf:
        frontier.touched[frontier.counts[N_TOUCHED]] = node
        frontier.counts[N_TOUCHED] += 1
    frontier.distance[node] = distance
    size = frontier.counts[HEAP_SIZE]
    frontier.counts[HEAP_SIZE] = heap_push(frontier.keys, frontier.nodes, size, key, node)


@inner_kernel
def settle_next(frontier: Frontier) -> int:
    """Pop and close the node with the smallest key.

    Return -1 if the node is already closed.
    """
    node: int = frontier.nodes[0]
    frontier.counts[HEAP_SIZE] = heap_pop(frontier.keys, frontier.nodes, frontier.counts[HEAP_SIZE])
    if frontier.closed[node]:
        return -1
    frontier.closed[node] = True
    return node


@as_source
@kernel
def clear(frontier: Frontier) -> None:
    """Reset a frontier."""
    distance, touched, counts = frontier.distance, frontier.touched, frontier.counts
    for k in range(counts[N_TOUCHED]):
        distance[touched[k]] = np.inf
        frontier.closed[touched[k]] = False
    counts[HEAP_SIZE] = 0
    counts[N_TOUCHED] = 0


@as_source
@kernel
def search_within(graph: Adjacency, source: int, reach: float, goal: int, frontier: Frontier) -> None:
    """Label all nodes within `reach` of `source` with their distances.

    The search stops early once `goal` is settled. If `goal` equals `source`, the search has no goal.
    """
    start, degree, to, length = graph
    label(frontier, source, 0.0, 0.0)
    distance, counts = frontier.distance, frontier.counts
    while counts[HEAP_SIZE] > 0:
        node = settle_next(frontier)
        if node < 0:
            continue
        if node == goal and node != source:
            return
        for k in range(start[node], start[node] + degree[node]):
            through = distance[node] + length[k]
            if through > reach:
                break
            if through < distance[to[k]]:
                label(frontier, to[k], through, through)


@inner_kernel
def beyond_box(columns: Floats, node: int, low: Floats, high: Floats) -> float:
    """Return the L1 distance from a point to a box."""
    total = 0.0
    for k in range(len(columns)):
        total += max(0.0, low[k] - columns[k, node], columns[k, node] - high[k])
    return total


@as_source
@kernel
def search_goals(
    graph: Adjacency,
    columns: Floats,
    source: int,
    low: Floats,
    high: Floats,
    goals: Goals,
    reach: float,
    n_open: int,
    patience: int,
    weight: float,
    frontier: Frontier,
) -> int:
    """Close the open goals that lie within their limits from `source`.

    Return the number of the `n_open` goals that remain open. Nodes are settled in order of the path length plus
    `weight` times the distance to a box that contains all goals. A weight above 1 settles fewer nodes but may find
    longer paths. With a weight of 0, the box is not used. The search ends at `reach`, or when at most `patience` goals
    are open.
    """
    limit, is_open = goals
    start, degree, to, length = graph
    label(frontier, source, 0.0, 0.0)
    distance, counts = frontier.distance, frontier.counts
    while counts[HEAP_SIZE] > 0 and n_open > patience:
        node = settle_next(frontier)
        if node < 0:
            continue
        at = distance[node]
        for k in range(start[node], start[node] + degree[node]):
            through = at + length[k]
            if through > reach:
                break
            other = to[k]
            if through < distance[other] and not frontier.closed[other]:
                left = beyond_box(columns, other, low, high) if weight > 0.0 else 0.0
                if through + left > reach:
                    continue
                label(frontier, other, through, through + weight * left)
                if is_open[other] and through <= limit[other]:
                    is_open[other] = False
                    n_open -= 1
    return n_open


@as_source
@kernel
def search_both_ways(
    graph: Adjacency, u: int, v: int, reach: float, margin: float, budget: int, forward: Frontier, backward: Frontier
) -> int:
    """Compare the distance between u and v with `reach`, searching from both ends.

    The two halves of a path are summed separately, which changes the rounding of the sum. The result is therefore
    JOINED or APART only if the relative difference exceeds `margin`, and TIED otherwise. Return EXHAUSTED if
    `budget` nodes are settled without a decision.

    If a node has no label from the other side, its distance from that side is at least the distance to the nearest
    unsettled node of that side (`from_u` or `from_v`). The node is skipped if this distance is too large.
    """
    label(forward, u, 0.0, 0.0)
    label(backward, v, 0.0, 0.0)
    certain, furthest = reach * (1.0 - margin), reach * (1.0 + margin)
    shortest = np.inf
    for _ in range(budget):
        if forward.counts[HEAP_SIZE] == 0 or backward.counts[HEAP_SIZE] == 0:
            return TIED if shortest <= furthest else APART
        from_u, from_v = forward.keys[0], backward.keys[0]
        if from_u + from_v > furthest:
            return TIED if shortest <= furthest else APART
        if from_u <= from_v:
            shortest = settle_nearest(graph, forward, from_u, backward.distance, from_v, furthest, shortest)
        else:
            shortest = settle_nearest(graph, backward, from_v, forward.distance, from_u, furthest, shortest)
        if shortest <= certain:
            return JOINED
    return EXHAUSTED


@inner_kernel
def settle_nearest(
    graph: Adjacency, near: Frontier, at: float, beyond: Floats, from_other: float, furthest: float, shortest: float
) -> float:
    """Settle the nearest node of one side, at distance `at`.

    Return the length of the shortest path found.
    """
    start, degree, to, length = graph
    node = settle_next(near)
    if node < 0:
        return shortest
    for k in range(start[node], start[node] + degree[node]):
        through, other = at + length[k], to[k]
        if through > furthest:
            break
        if through < near.distance[other]:
            shortest = min(shortest, through + beyond[other])
            if through + from_other <= furthest:
                label(near, other, through, through)
    return shortest


@as_source
@kernel
def heap_push(keys: NDArray[np.float64], nodes: NDArray[np.int64], size: int, key: float, node: int) -> int:
    """Push an entry onto a heap of `size` entries, and return the new size."""
    hole = size
    while hole > 0:
        parent = (hole - 1) >> 1
        if keys[parent] <= key:
            break
        keys[hole] = keys[parent]
        nodes[hole] = nodes[parent]
        hole = parent
    keys[hole] = key
    nodes[hole] = node
    return size + 1


@as_source
@kernel
def heap_pop(keys: NDArray[np.float64], nodes: NDArray[np.int64], size: int) -> int:
    """Remove the smallest entry, which is at position 0, and return the new size."""
    last = size - 1
    key = keys[last]
    node = nodes[last]
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= last:
            break
        if child + 1 < last and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[hole] = keys[child]
        nodes[hole] = nodes[child]
        hole = child
    keys[hole] = key
    nodes[hole] = node
    return last
