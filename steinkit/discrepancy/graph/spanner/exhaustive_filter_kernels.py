"""Kernels of the greedy spanner's filter for many dimensions, in which boxes around points are of no use.

Pairs of a bucket of lengths are all measured; those that quick searches prove joined are left out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steinkit.discrepancy.graph.spanner.bounded_search_kernels import (
    N_TOUCHED,
    Adjacency,
    Frontier,
    Goals,
    clear,
    new_frontier,
    search_within,
)
from steinkit.discrepancy.graph.spanner.desk_kernels import Problem
from steinkit.discrepancy.graph.spanner.pair_list_kernels import keep_shorter_half
from steinkit.discrepancy.graph.spanner.range_kernels import distances_run
from steinkit.discrepancy.graph.spanner.target_kernels import drop_joined
from steinkit.runtime.compilation import inner_kernel, kernel
from steinkit.sample import Floats, Integers

Flags = NDArray[np.bool_]

SMALLEST_CLUSTER = 4  # below this, one wide search costs more than the narrow ones it saves


@inner_kernel
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


@inner_kernel
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


@inner_kernel
def enlarged(pairs: Integers, lengths: Floats, count: int, room: int) -> tuple[Integers, Floats]:
    """Copy the first ``count`` pairs and their lengths to arrays with room for more."""
    more_pairs, more_lengths = np.empty((room, 2), np.int64), np.empty(room)
    for k in range(count):
        more_pairs[k, 0], more_pairs[k, 1], more_lengths[k] = pairs[k, 0], pairs[k, 1], lengths[k]
    return more_pairs, more_lengths


@kernel
def filter_all(
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
            distances_run(problem.columns, u, u + 1, n, row)
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
