"""Shortest-path searches that stop at a bound: the questions that the greedy spanner asks of the graph built so far.

All are Dijkstra's algorithm. The rows of the adjacency are sorted by length, so that a scan stops at the first link
that leads beyond the bound. A search leaves its labels in a `Frontier`, which `clear` returns to its blank state in
time proportional to what was touched.

A frontier's heap is binary, in two plain arrays: of ``keys[0:size]`` and ``nodes[0:size]`` entry i has children 2 i + 1
and 2 i + 2 and no larger key than either. Keys are not decreased in place: a node whose distance shrinks is pushed
again and the reader skips the outdated entry.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steinkit.runtime.compilation import inner_kernel, kernel
from steinkit.sample import Floats, Integers

Flags = NDArray[np.bool_]

APART, TIED, JOINED, EXHAUSTED = 0, 1, 2, 3
HEAP_SIZE, N_TOUCHED = 0, 1


class Adjacency(NamedTuple):
    """Links of a growing graph: those of x are entries start[x], ..., start[x] + degree[x] - 1, shortest first.

    Rows have room for the links still to come, so that adding one moves nothing.
    """

    start: Integers
    degree: Integers
    to: Integers
    length: Floats


class Frontier(NamedTuple):
    """Labels and heap of one search.

    ``distance`` is infinite except at the nodes listed in ``touched``; ``counts`` holds the sizes of heap and list.
    """

    distance: Floats
    touched: Integers
    keys: Floats
    nodes: Integers
    counts: Integers
    closed: Flags


class Goals(NamedTuple):
    """What a search is to reach: a point stays open until a path no longer than its limit is found."""

    limit: Floats
    is_open: Flags


@kernel
def new_frontier(graph: Adjacency) -> Frontier:
    """Make a blank frontier; every link is relaxed at most once in a search, which bounds the heap."""
    n = len(graph.start)
    room = len(graph.to) + 2
    distance = np.empty(n)
    distance[:] = np.inf
    counts = np.zeros(2, np.int64)
    return Frontier(
        distance, np.empty(n, np.int64), np.empty(room), np.empty(room, np.int64), counts, np.zeros(n, np.bool_)
    )


@inner_kernel
def label(frontier: Frontier, node: int, distance: float) -> None:
    """Give a node a shorter distance and queue it."""
    if frontier.distance[node] == np.inf:
        frontier.touched[frontier.counts[N_TOUCHED]] = node
        frontier.counts[N_TOUCHED] += 1
    frontier.distance[node] = distance
    size = frontier.counts[HEAP_SIZE]
    frontier.counts[HEAP_SIZE] = heap_push(frontier.keys, frontier.nodes, size, distance, node)


@inner_kernel
def take_nearest(frontier: Frontier) -> int:
    """Take the nearest node off the heap; -1 if the entry is outdated because a shorter path was found since."""
    distance = frontier.keys[0]
    node = frontier.nodes[0]
    frontier.counts[HEAP_SIZE] = heap_pop(frontier.keys, frontier.nodes, frontier.counts[HEAP_SIZE])
    return node if distance <= frontier.distance[node] else -1


@kernel
def clear(frontier: Frontier) -> None:
    """Return a frontier to its blank state."""
    distance, touched, counts = frontier.distance, frontier.touched, frontier.counts
    for k in range(counts[N_TOUCHED]):
        distance[touched[k]] = np.inf
        frontier.closed[touched[k]] = False
    counts[HEAP_SIZE] = 0
    counts[N_TOUCHED] = 0


@kernel
def search_within(graph: Adjacency, source: int, reach: float, goal: int, frontier: Frontier) -> None:
    """Label all nodes within ``reach`` of ``source`` with their distance, or stop once ``goal`` is settled.

    There is no goal if it equals the source.
    """
    start, degree, to, length = graph
    label(frontier, source, 0.0)
    distance, counts = frontier.distance, frontier.counts
    while counts[HEAP_SIZE] > 0:
        node = take_nearest(frontier)
        if node < 0:
            continue
        if node == goal and node != source:
            return
        for k in range(start[node], start[node] + degree[node]):
            through = distance[node] + length[k]
            if through > reach:
                break
            if through < distance[to[k]]:
                label(frontier, to[k], through)


@inner_kernel
def beyond_box(columns: Floats, node: int, low: Floats, high: Floats) -> float:
    """L1 distance from a point to a box."""
    total = 0.0
    for k in range(len(columns)):
        total += max(0.0, low[k] - columns[k, node], columns[k, node] - high[k])
    return total


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
    """Close the open goals that are found within their limit of ``source``; return how many of ``n_open`` stay open.

    Nodes are taken in order of the path so far plus ``weight`` times the distance from a box in which all goals lie,
    so that with a weight above 1 the first path found is not the shortest, but few nodes are looked at. With a weight
    of 0 there is no box. The search ends at ``reach``, or when no more than ``patience`` goals are left open.
    """
    limit, is_open = goals
    start, degree, to, length = graph
    label(frontier, source, 0.0)
    distance, counts = frontier.distance, frontier.counts
    while counts[HEAP_SIZE] > 0 and n_open > patience:
        node = frontier.nodes[0]
        counts[HEAP_SIZE] = heap_pop(frontier.keys, frontier.nodes, counts[HEAP_SIZE])
        at = distance[node]
        if frontier.closed[node]:
            continue
        frontier.closed[node] = True
        for k in range(start[node], start[node] + degree[node]):
            through = at + length[k]
            if through > reach:
                break
            other = to[k]
            if through < distance[other] and not frontier.closed[other]:
                left = beyond_box(columns, other, low, high) if weight > 0.0 else 0.0
                if through + left > reach:
                    continue
                if distance[other] == np.inf:
                    frontier.touched[counts[N_TOUCHED]] = other
                    counts[N_TOUCHED] += 1
                distance[other] = through
                counts[HEAP_SIZE] = heap_push(
                    frontier.keys, frontier.nodes, counts[HEAP_SIZE], through + weight * left, other
                )
                if is_open[other] and through <= limit[other]:
                    is_open[other] = False
                    n_open -= 1
    return n_open


@kernel
def search_both_ways(
    graph: Adjacency, u: int, v: int, reach: float, margin: float, budget: int, forward: Frontier, backward: Frontier
) -> int:
    """Compare the distance of u and v with ``reach``, by a search from both.

    The two halves of a path are summed apart, so that the sum can be off by rounding. The answer is therefore JOINED
    or APART only if the relative difference exceeds ``margin``, and TIED otherwise; it is EXHAUSTED if ``budget``
    nodes have been settled without an answer.

    A node that the other side has not labelled is at least as far from there as the nearest node that is still to be
    settled there, ``from_u`` or ``from_v`` away; it is left alone if even that is too far.
    """
    label(forward, u, 0.0)
    label(backward, v, 0.0)
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
    """Settle the nearest node of one side, ``at`` away from it; return the length of the shortest path known."""
    start, degree, to, length = graph
    node = take_nearest(near)
    if node < 0:
        return shortest
    for k in range(start[node], start[node] + degree[node]):
        through, other = at + length[k], to[k]
        if through > furthest:
            break
        if through < near.distance[other]:
            shortest = min(shortest, through + beyond[other])
            if through + from_other <= furthest:
                label(near, other, through)
    return shortest


@kernel
def cover(graph: Adjacency, radius: float, stop: Flags) -> Integers:
    """The nodes, in order, that are within ``radius`` of none before them: every other is within that of one of them.

    Once ``stop[0]`` is true it returns with its work unfinished.
    """
    n = len(graph.start)
    is_covered, count, centres = np.zeros(n, np.bool_), 0, np.empty(n, np.int64)
    frontier = new_frontier(graph)
    for node in range(n):
        if stop[0]:
            break
        if is_covered[node]:
            continue
        centres[count] = node
        count += 1
        search_within(graph, node, radius, node, frontier)
        is_covered[frontier.touched[: frontier.counts[N_TOUCHED]]] = True
        clear(frontier)
    return centres[:count]


@kernel
def heap_push(keys: NDArray[np.float64], nodes: NDArray[np.int64], size: int, key: float, node: int) -> int:
    """Add an entry to a heap of ``size`` entries; return the new size."""
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


@kernel
def heap_pop(keys: NDArray[np.float64], nodes: NDArray[np.int64], size: int) -> int:
    """Remove the least entry, which the caller has read at position 0; return the new size."""
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
