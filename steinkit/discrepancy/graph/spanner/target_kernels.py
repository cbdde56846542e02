"""Searches for a list of targets: those that are found within their limit are struck off."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steinkit.discrepancy.graph.spanner.bounded_search_kernels import (
    Adjacency,
    Frontier,
    Goals,
    clear,
    search_goals,
    search_towards,
)
from steinkit.runtime.compilation import inner_kernel, kernel
from steinkit.sample import Floats, Integers

Flags = NDArray[np.bool_]


@kernel
def push_two_hops(graph: Adjacency, u: int, goals: Goals, reach: float, n_open: int) -> int:
    """Close every open goal that two links join to u within its limit; return how many stay open."""
    limit, is_open = goals
    start, degree, to, length = graph
    for k in range(start[u], start[u] + degree[u]):
        middle = to[k]
        for m in range(start[middle], start[middle] + degree[middle]):
            through = length[k] + length[m]
            if through > reach:
                break
            other = to[m]
            if is_open[other] and through <= limit[other]:
                is_open[other] = False
                n_open -= 1
    return n_open


@inner_kernel
def drop_joined(
    graph: Adjacency, u: int, goals: Goals, targets: Integers, n_targets: int, patience: int, frontier: Frontier
) -> int:
    """Strike from the list the targets that a two-hop push or a search from u closes; return how many are left."""
    limit, is_open = goals
    reach = 0.0
    for k in range(n_targets):
        is_open[targets[k]] = True
        reach = max(reach, limit[targets[k]])
    n_open = push_two_hops(graph, u, goals, reach, n_targets)
    if n_open > patience:
        search_goals(graph, u, goals, reach, n_open, patience, frontier)
        clear(frontier)
    left: int = strike_closed(targets, n_targets, is_open)
    return left


@inner_kernel
def drop_reached(
    graph: Adjacency,
    columns: Floats,
    u: int,
    goals: Goals,
    targets: Integers,
    n_targets: int,
    weight: float,
    frontier: Frontier,
) -> int:
    """Strike from the list the targets, which lie together, that a search from u towards them closes.

    A hasty search comes first, then one that finds shortest paths to what is left. Returns how many are left.
    """
    limit, is_open = goals
    low, high = np.empty(len(columns)), np.empty(len(columns))
    for k in range(len(columns)):
        low[k] = high[k] = columns[k, targets[0]]
    reach = 0.0
    for v in targets[:n_targets]:
        is_open[v] = True
        reach = max(reach, limit[v])
        for k in range(len(columns)):
            low[k], high[k] = min(low[k], columns[k, v]), max(high[k], columns[k, v])
    n_open = search_towards(graph, columns, u, low, high, goals, reach, n_targets, weight, frontier)
    if n_open > 0:
        clear(frontier)
        search_towards(graph, columns, u, low, high, goals, reach, n_open, 1.0, frontier)
    clear(frontier)
    left: int = strike_closed(targets, n_targets, is_open)
    return left


@inner_kernel
def strike_closed(targets: Integers, n_targets: int, is_open: Flags) -> int:
    """Strike the targets that are closed from the list, and end their being goals; return how many are left."""
    count = 0
    for k in range(n_targets):
        if is_open[targets[k]]:
            is_open[targets[k]] = False
            targets[count] = targets[k]
            count += 1
    return count
