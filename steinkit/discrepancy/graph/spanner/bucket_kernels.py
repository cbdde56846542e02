"""Compiled kernels for the greedy spanner, which processes pairs in buckets.

The kernels filter and insert pairs. The filter returns the pairs in a bucket for which no fast search finds a path.
Points are ordered by their `Boxes`. Points form a *cluster* if they are close in the graph relative to the lengths in
the bucket. All pairs in a cluster share a single search from its center. Every pair is processed with the cluster of
its first point. The remaining pairs are inserted one by one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steinkit.discrepancy.graph.spanner.search_kernels import (
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
from steinkit.runtime.compilation import inner_kernel, kernel
from steinkit.sample import Floats, Integers

Flags = NDArray[np.bool_]

SMALLEST_CLUSTER = 4  # smallest cluster for which one wide search is faster than several narrow searches
HASTE = 0.5  # fraction of the excess dilation t - 1 to which shared and directed searches extend
FEWER = 10  # ratio of far points to members above which searches start from the members
MEDIAN_OF = 255  # number of evenly spaced lengths for an approximate median
BUDGET = 256  # number of nodes that a bidirectional search may settle before one search handles all pairs of a point
FEWEST_SHARED = 4  # minimum number of pairs per point for a single shared search


class Boxes(NamedTuple):
    """Bounding boxes of contiguous points.

    Points ``first[i]`` to ``first[i + 1] - 1`` lie between ``low[i]`` and ``high[i]``.
    """

    first: Integers
    low: Floats
    high: Floats


class Problem(NamedTuple):
    """Data shared by all buckets.

    The fields are the coordinates (d, n), the boxes, the dilation, the rounding margin and the stop flag. When
    ``stop[0]`` becomes true, the kernels return incomplete results, and the caller discards them.
    """

    columns: Floats
    boxes: Boxes
    dilation: float
    margin: float
    stop: Flags


class Scratch(NamedTuple):
    """Work arrays for a block, and the corners of the box around a cluster."""

    shared: Frontier
    own: Frontier
    goals: Goals
    distance: Floats
    targets: Integers
    low: Floats
    high: Floats


@kernel
def range_of(boxes: Boxes, box: int, low: Floats, high: Floats) -> tuple[float, float]:
    """Return bounds on the distances between the points of two boxes.

    The second box extends from `low` to `high`. The sums over coordinates are computed in the same order as for the
    distances. Because rounding is monotone, the bounds hold for rounded distances.
    """
    least = most = 0.0
    for k in range(len(low)):
        least += max(0.0, low[k] - boxes.high[box, k], boxes.low[box, k] - high[k])
        most += max(high[k] - boxes.low[box, k], boxes.high[box, k] - low[k])
    return least, most


@kernel
def distances_run(columns: Floats, u: int, first: int, end: int, row: Floats) -> None:
    """Set ``row[first:end]`` to the L1 distances from point u to these points."""
    row[first:end] = 0.0
    for k in range(len(columns)):
        for v in range(first, end):
            row[v] += abs(columns[k, v] - columns[k, u])


@inner_kernel
def gather_cluster(
    graph: Adjacency, centre: int, radius: float, waiting: Flags, frontier: Frontier, members: Integers
) -> int:
    """List the unprocessed points within `radius` of `centre` in the graph.

    The center is the first point. Return the number of points, or 1 if it is less than `SMALLEST_CLUSTER`.
    """
    search_within(graph, centre, radius, centre, frontier)
    members[0] = centre
    count = 1
    for node in frontier.touched[: frontier.counts[N_TOUCHED]]:
        if waiting[node] and node != centre:
            members[count] = node
            count += 1
    clear(frontier)
    return count if count >= SMALLEST_CLUSTER else 1


@inner_kernel
def find_far(problem: Problem, members: Integers, lower: float, upper: float, scratch: Scratch, far: Integers) -> int:
    """List the far points v that are not joined through the center.

    The distance from v to a member u < v lies in (lower, upper]. Whole boxes are excluded first, based on the longest
    path to any of their points.
    """
    columns, boxes, (low, high) = problem.columns, problem.boxes, (scratch.low, scratch.high)
    row, way, listed = scratch.distance, scratch.shared.distance, scratch.goals.is_open
    factor = problem.dilation * (1.0 - problem.margin)
    low[:], high[:] = np.inf, -np.inf
    after, longest, count = members[0], 0.0, 0
    for u in members:
        after, longest = min(after, u), max(longest, way[u])
        for k in range(len(columns)):
            low[k], high[k] = min(low[k], columns[k, u]), max(high[k], columns[k, u])
    for box in range(len(boxes.low)):
        first, end, begin = max(boxes.first[box], after + 1), boxes.first[box + 1], count
        if first >= end:
            continue
        least, most = range_of(boxes, box, low, high)
        if least > upper or most <= lower:
            continue
        furthest = 0.0
        for v in range(first, end):
            furthest = max(furthest, way[v])
        if longest + furthest <= factor * max(lower, least):
            continue
        for u in members:
            distances_run(columns, u, first, end, row)
            for v in range(max(first, u + 1), end):
                if lower < row[v] <= upper and way[u] + way[v] > factor * row[v] and not listed[v]:
                    listed[v] = True
                    far[count] = v
                    count += 1
        for v in far[begin:count]:
            listed[v] = False
    return count


@inner_kernel
def open_targets(
    problem: Problem, source: int, others: Integers, forward: bool, lower: float, upper: float, scratch: Scratch
) -> np.int64:
    """List the far points of a source that are not joined through the center.

    The distance from the source lies in (lower, upper]. Only points after the source are listed if `forward` is true,
    and only points before the source otherwise. Return the number of entries in ``scratch.targets``.
    """
    columns, distance, way = problem.columns, scratch.distance, scratch.shared.distance
    factor = problem.dilation * (1.0 - problem.margin)
    count = np.int64(0)  # a literal has a separate type and would cause a second compilation of the callees
    for other in others:
        if (source < other) != forward:
            continue
        total = 0.0
        for k in range(len(columns)):
            total += abs(columns[k, other] - columns[k, source])
        if lower < total <= upper and way[source] + way[other] > factor * total:
            distance[other] = total
            scratch.goals.limit[other] = factor * total
            scratch.targets[count] = other
            count += 1
    return count


@inner_kernel
def drop_found(
    problem: Problem, graph: Adjacency, source: int, forward: bool, n_targets: int, patience: int, scratch: Scratch
) -> int:
    """Remove the targets that a search reaches, and return the number left.

    If the search starts outside the cluster, it is directed to the box of the cluster. A greedy search is followed by a
    search for shortest paths.
    """
    goals, targets, own, low, high = scratch.goals, scratch.targets, scratch.own, scratch.low, scratch.high
    reach, n_open, count = 0.0, n_targets, 0
    for v in targets[:n_targets]:
        goals.is_open[v] = True
        reach = max(reach, goals.limit[v])
    most, hasty = (patience, 0.0) if forward else (0, 1.0 + HASTE * (problem.dilation - 1.0))
    n_open = search_goals(graph, problem.columns, source, low, high, goals, reach, n_open, most, hasty, own)
    clear(own)
    if not forward and n_open > 0:
        search_goals(graph, problem.columns, source, low, high, goals, reach, n_open, 0, 1.0, own)
        clear(own)
    for v in targets[:n_targets]:
        if goals.is_open[v]:
            goals.is_open[v] = False
            targets[count] = v
            count += 1
    return count


@kernel
def keep_shorter_half(pairs: Integers, lengths: Floats, count: int, upper: float) -> tuple[int, float]:
    """Lower the upper limit of the bucket to about the median length.

    Return the number of remaining pairs and the new limit.
    """
    limit = min(upper, np.median(lengths[np.arange(MEDIAN_OF) * count // MEDIAN_OF]))
    kept = 0
    for k in range(count):
        if lengths[k] <= limit:
            pairs[kept, 0], pairs[kept, 1], lengths[kept] = pairs[k, 0], pairs[k, 1], lengths[k]
            kept += 1
    return kept, limit


@inner_kernel
def enlarged(pairs: Integers, lengths: Floats, count: int, room: int) -> tuple[Integers, Floats]:
    """Copy the first `count` pairs and their lengths to larger arrays."""
    more_pairs, more_lengths = np.empty((room, 2), np.int64), np.empty(room)
    for k in range(count):
        more_pairs[k, 0], more_pairs[k, 1], more_lengths[k] = pairs[k, 0], pairs[k, 1], lengths[k]
    return more_pairs, more_lengths


@kernel
def filter_block(
    problem: Problem,
    graph: Adjacency,
    begin: int,
    end: int,
    lower: float,
    upper: float,
    radius: float,
    patience: int,
    room: int,
) -> tuple[Integers, Floats, float]:
    """Return the pairs in a block for which no fast search finds a path.

    The pairs satisfy u < v and begin <= u < end and have a length in (lower, upper]. The clusters have the given radius
    in the graph, which is less than half of `lower`. For pairs that are not joined through the center, a search starts
    from every member, or from the far endpoints if that requires fewer searches. If there are more than `room` pairs,
    the upper limit is lowered. Return the pairs, their lengths and the limit.
    """
    n = problem.columns.shape[1]
    reach = 1.0 + HASTE * (problem.dilation - 1.0)  # extent of shared searches, in units of the longest length
    pairs, lengths, count = np.empty((room + n, 2), np.int64), np.empty(room + n), np.int64(0)
    shared, own, goals = new_frontier(graph), new_frontier(graph), Goals(np.empty(n), np.zeros(n, np.bool_))
    low, high = np.empty(len(problem.columns)), np.empty(len(problem.columns))
    scratch = Scratch(shared, own, goals, np.empty(n), np.empty(n, np.int64), low, high)
    members, far = np.empty(n, np.int64), np.empty(n, np.int64)
    waiting = np.zeros(n, np.bool_)
    waiting[begin:end] = True
    for centre in range(begin, end):
        if not waiting[centre]:
            continue
        if problem.stop[0]:
            return pairs[:0], lengths[:0], upper
        n_members = gather_cluster(graph, centre, radius, waiting, own, members)
        waiting[members[:n_members]] = False
        if n_members > 1:
            search_within(graph, centre, reach * upper, centre, shared)
        n_far = find_far(problem, members[:n_members], lower, upper, scratch, far)
        forward = n_members == 1 or n_far > FEWER * n_members
        sources, others = (members[:n_members], far[:n_far]) if forward else (far[:n_far], members[:n_members])
        for source in sources:
            if problem.stop[0]:
                return pairs[:0], lengths[:0], upper
            left = open_targets(problem, source, others, forward, lower, upper, scratch)
            if left > 0:
                left = drop_found(problem, graph, source, forward, left, patience, scratch)
            for other in scratch.targets[:left]:
                pairs[count, 0], pairs[count, 1] = min(source, other), max(source, other)
                lengths[count] = scratch.distance[other]
                count += 1
            if count > room:
                count, upper = keep_shorter_half(pairs, lengths, count, upper)
                if count > room:  # there are too many pairs of the same length
                    room *= 2
                    pairs, lengths = enlarged(pairs, lengths, count, room + n)
        clear(shared)
    return pairs[:count], lengths[:count], upper


@inner_kernel
def add_link(graph: Adjacency, node: int, other: int, length: float) -> None:
    """Append a link to the adjacency list of a node.

    Links are added in order of increasing length.
    """
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
    """Mark the `awaited` pairs at `node` that are already joined as settled.

    A single search examines all of these pairs.
    """
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
    search_goals(graph, problem.columns, node, limit[:0], limit[:0], goals, reach, n_open, patience, 0.0, frontier)
    clear(frontier)
    for c in awaited:
        if not settled[c]:
            other = pairs[c, 0] + pairs[c, 1] - node
            settled[c] = not is_open[other]
            is_open[other] = False


@inner_kernel
def is_joined(graph: Adjacency, u: int, v: int, reach: float, frontier: Frontier) -> bool:
    """Return True if the distance from u to v is at most `reach`.

    The distance is summed along paths from u.
    """
    search_within(graph, u, reach, v, frontier)
    joined: bool = frontier.distance[v] <= reach
    clear(frontier)
    return joined


@kernel
def insert_in_order(
    problem: Problem, graph: Adjacency, pairs: Integers, lengths: Floats, first: Integers, incident: Integers
) -> Flags:
    """Apply the greedy rule to pairs in order.

    A pair is linked if its distance in the graph exceeds the dilation times its length. The entries
    ``incident[first[x]:first[x + 1]]`` are the indices of the pairs at x, in ascending order. Return a mask of the
    linked pairs.
    """
    n, n_pairs = len(graph.start), len(lengths)
    forward, backward = new_frontier(graph), new_frontier(graph)
    goals = Goals(np.empty(n), np.zeros(n, np.bool_))
    settled, linked = np.zeros(n_pairs, np.bool_), np.zeros(n_pairs, np.bool_)
    passed = first[:-1].copy()  # current position of each node in `incident`
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
