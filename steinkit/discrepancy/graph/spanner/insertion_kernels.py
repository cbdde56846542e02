"""Kernels of the greedy spanner's insertion: the pairs that the filter leaves open, one at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steinkit.discrepancy.graph.spanner.bounded_search_kernels import (
    EXHAUSTED,
    JOINED,
    TIED,
    Adjacency,
    Frontier,
    Goals,
    clear,
    new_frontier,
    search_both_ways,
    search_goals,
    search_within,
)
from steinkit.discrepancy.graph.spanner.filter_kernels import Problem
from steinkit.runtime.compilation import inner_kernel, kernel
from steinkit.sample import Floats, Integers

Flags = NDArray[np.bool_]

BUDGET = 256  # nodes that a two-sided search may settle before one search is run for all pairs of a point
FEWEST_SHARED = 4  # ... provided that so many pairs of the point are still to come


@inner_kernel
def add_link(graph: Adjacency, node: int, other: int, length: float) -> None:
    """Append a link to the row of a node; links are added in order of length."""
    k = graph.start[node] + graph.degree[node]
    graph.to[k] = other
    graph.length[k] = length
    graph.degree[node] += 1


@inner_kernel
def settle_all(
    problem: Problem,
    graph: Adjacency,
    node: int,
    pairs: Integers,
    lengths: Floats,
    awaited: Integers,
    settled: Flags,
    goals: Goals,
    frontier: Frontier,
) -> None:
    """Settle, by one search from ``node``, those of the pairs ``awaited`` at it that the graph joins already."""
    limit, is_open = goals
    factor = problem.dilation * (1.0 - problem.margin)
    reach, n_open, patience = 0.0, np.int64(0), np.int64(0)
    for c in awaited:
        if not settled[c]:
            other = pairs[c, 0] + pairs[c, 1] - node
            limit[other] = factor * lengths[c]
            reach = max(reach, limit[other])
            is_open[other] = True
            n_open += 1
    search_goals(graph, node, goals, reach, n_open, patience, frontier)
    clear(frontier)
    for c in awaited:
        if not settled[c]:
            other = pairs[c, 0] + pairs[c, 1] - node
            settled[c] = not is_open[other]
            is_open[other] = False


@inner_kernel
def is_joined(graph: Adjacency, u: int, v: int, reach: float, frontier: Frontier) -> bool:
    """Whether the distance from u to v, paths summed link by link from u, is at most ``reach``."""
    search_within(graph, u, reach, v, frontier)
    joined: bool = frontier.distance[v] <= reach
    clear(frontier)
    return joined


@kernel
def insert_in_order(
    problem: Problem, graph: Adjacency, pairs: Integers, lengths: Floats, first: Integers, incident: Integers
) -> Flags:
    """Go through pairs in order, and link those whose distance in the graph exceeds the dilation times their length.

    ``incident[first[x]:first[x + 1]]`` are the numbers of the pairs at x, ascending. Returns which pairs were linked.
    """
    n, n_pairs = len(graph.start), len(lengths)
    forward, backward = new_frontier(graph), new_frontier(graph)
    goals = Goals(np.empty(n), np.zeros(n, np.bool_))
    settled, linked = np.zeros(n_pairs, np.bool_), np.zeros(n_pairs, np.bool_)
    passed = first[:-1].copy()  # where in its row of ``incident`` each node has arrived
    for c in range(n_pairs):
        if problem.stop[0]:
            break
        u, v = pairs[c]
        if not settled[c]:
            reach = problem.dilation * lengths[c]
            node = u if first[u + 1] - passed[u] >= first[v + 1] - passed[v] else v
            shareable = first[node + 1] - passed[node] >= FEWEST_SHARED
            budget = BUDGET if shareable else len(graph.to) + 2
            answer = search_both_ways(graph, u, v, reach, problem.margin, budget, forward, backward)
            clear(forward)
            clear(backward)
            if answer == EXHAUSTED:
                awaited = incident[passed[node] : first[node + 1]]
                settle_all(problem, graph, node, pairs, lengths, awaited, settled, goals, forward)
                answer = JOINED if settled[c] else TIED
            if answer == TIED and is_joined(graph, u, v, reach, forward):
                answer = JOINED
            if answer != JOINED:
                add_link(graph, u, v, lengths[c])
                add_link(graph, v, u, lengths[c])
                linked[c] = True
        passed[u] += 1
        passed[v] += 1
    return linked
