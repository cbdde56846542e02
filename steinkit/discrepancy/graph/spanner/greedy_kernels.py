"""Kernels of the greedy spanner: distances, the filter of a bucket of pairs, and insertion in order.

See `steinkit.discrepancy.graph.spanner.greedy` for the algorithm they make up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steinkit.discrepancy.graph.spanner.binary_heap_kernels import heap_pop, heap_push
from steinkit.discrepancy.graph.spanner.bounded_search_kernels import (
    EXHAUSTED,
    JOINED,
    N_TOUCHED,
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
from steinkit.runtime.compilation import kernel
from steinkit.sample import Floats, Integers

Flags = NDArray[np.bool_]

SMALLEST_CLUSTER = 4  # below this, one wide search costs more than the narrow ones it saves
MEDIAN_OF = 255  # lengths, evenly spaced, whose median stands for that of all
BUDGET = 256  # nodes that a two-sided search may settle before one search is run for all pairs of a point
FEWEST_SHARED = 4  # ... provided that so many pairs of the point are still to come


class Problem(NamedTuple):
    """What does not change between buckets: coordinates (d, n), dilation, rounding margin; and whether to go on.

    Once ``stop[0]`` is true the kernels return with their work unfinished, for the caller to throw away.
    """

    columns: Floats
    dilation: float
    margin: float
    stop: Flags


@kernel
def distances_row(columns: Floats, u: int, row: Floats) -> None:
    """L1 distances from point u to the points after it, in ``row[u + 1:]``; coordinates are summed in order."""
    dim, n = columns.shape
    row[u + 1 :] = 0.0
    for k in range(dim):
        for v in range(u + 1, n):
            row[v] += abs(columns[k, v] - columns[k, u])


@kernel
def gather_cluster(
    graph: Adjacency, centre: int, radius: float, waiting: Flags, frontier: Frontier, members: Integers, offsets: Floats
) -> int:
    """List the waiting sources within ``radius`` of ``centre`` in the graph, with their distance to it."""
    search_within(graph, centre, radius, centre, frontier)
    members[0] = centre
    offsets[0] = 0.0
    count = 1
    for k in range(frontier.counts[N_TOUCHED]):
        node = frontier.touched[k]
        if waiting[node] and node != centre:
            members[count] = node
            offsets[count] = frontier.distance[node]
            count += 1
    clear(frontier)
    return count


@kernel
def collect_targets(
    u: int,
    row: Floats,
    lower: float,
    upper: float,
    factor: float,
    via_centre: Floats,
    offset: float,
    targets: Integers,
    limit: Floats,
) -> int:
    """List the points v > u at a distance in (lower, upper] to which the way through the centre is too long.

    A path is short enough for v up to ``limit[v]``, which is ``factor`` times the distance.
    """
    count = 0
    for v in range(u + 1, len(row)):
        if lower < row[v] <= upper:
            limit[v] = factor * row[v]
            if offset + via_centre[v] > limit[v]:
                targets[count] = v
                count += 1
    return count


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


@kernel
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
    count = 0
    for k in range(n_targets):
        if is_open[targets[k]]:
            is_open[targets[k]] = False
            targets[count] = targets[k]
            count += 1
    return count


@kernel
def keep_shorter_half(pairs: Integers, lengths: Floats, count: int, upper: float) -> tuple[int, float]:
    """Lower the bucket's limit to about the median length of its pairs; return how many are left, and the limit."""
    keys, nodes, size = np.empty(MEDIAN_OF), np.empty(MEDIAN_OF, np.int64), np.int64(0)
    for k in range(MEDIAN_OF):
        size = heap_push(keys, nodes, size, lengths[k * count // MEDIAN_OF], k)
    for _ in range(MEDIAN_OF // 2):
        size = heap_pop(keys, nodes, size)
    limit = min(upper, keys[0])
    kept = 0
    for k in range(count):
        if lengths[k] <= limit:
            pairs[kept, 0], pairs[kept, 1], lengths[kept] = pairs[k, 0], pairs[k, 1], lengths[k]
            kept += 1
    return kept, limit


@kernel
def enlarged(pairs: Integers, lengths: Floats, count: int, room: int) -> tuple[Integers, Floats]:
    """Copy the first ``count`` pairs and their lengths to arrays with room for more."""
    more_pairs, more_lengths = np.empty((room, 2), np.int64), np.empty(room)
    for k in range(count):
        more_pairs[k, 0], more_pairs[k, 1], more_lengths[k] = pairs[k, 0], pairs[k, 1], lengths[k]
    return more_pairs, more_lengths


@kernel
def filter_block(
    problem: Problem,
    graph: Adjacency,
    sources: Integers,
    lower: float,
    upper: float,
    radius: float,
    patience: int,
    room: int,
) -> tuple[Integers, Floats, float]:
    """Pairs (u, v), u < v, u in ``sources``, at a distance in (lower, upper], that no quick search proves joined.

    Sources within ``radius`` of one another share a search from one of them. If there are more than ``room`` pairs,
    the upper limit is lowered; the pairs, their lengths and the limit in force are returned.
    """
    n = problem.columns.shape[1]
    factor = problem.dilation * (1.0 - problem.margin)
    pairs, lengths, count = np.empty((room + n, 2), np.int64), np.empty(room + n), np.int64(0)
    shared, own = new_frontier(graph), new_frontier(graph)
    row, offsets, goals = np.empty(n), np.empty(n), Goals(np.empty(n), np.zeros(n, np.bool_))
    members, targets = np.empty(n, np.int64), np.empty(n, np.int64)
    waiting = np.zeros(n, np.bool_)
    for source in sources:
        waiting[source] = True
    for centre in sources:
        if not waiting[centre]:
            continue
        n_members = gather_cluster(graph, centre, radius, waiting, own, members, offsets)
        clustered = n_members >= SMALLEST_CLUSTER
        if clustered:
            search_within(graph, centre, problem.dilation * upper, centre, shared)
        else:
            n_members = 1
        for k in range(n_members):
            if problem.stop[0]:
                return pairs[:0], lengths[:0], upper
            u = members[k]
            waiting[u] = False
            distances_row(problem.columns, u, row)
            left = collect_targets(u, row, lower, upper, factor, shared.distance, offsets[k], targets, goals.limit)
            if left > 0 and not (clustered and u == centre):
                left = drop_joined(graph, u, goals, targets, left, patience, own)
            for v in targets[:left]:
                pairs[count, 0], pairs[count, 1], lengths[count] = u, v, row[v]
                count += 1
            if count > room:
                count, upper = keep_shorter_half(pairs, lengths, count, upper)
                if count > room:  # too many pairs of one length
                    room *= 2
                    pairs, lengths = enlarged(pairs, lengths, count, room + n)
        clear(shared)
    return pairs[:count], lengths[:count], upper


@kernel
def add_link(graph: Adjacency, node: int, other: int, length: float) -> None:
    """Append a link to the row of a node; links are added in order of length."""
    k = graph.start[node] + graph.degree[node]
    graph.to[k] = other
    graph.length[k] = length
    graph.degree[node] += 1


@kernel
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


@kernel
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
