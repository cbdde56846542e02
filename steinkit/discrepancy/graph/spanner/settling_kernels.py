"""Pairs of points that a way through a centre does not join: searches of a sketch, and of the graph, from one end."""

from __future__ import annotations

import numpy as np

from steinkit.discrepancy.graph.spanner.bounded_search_kernels import Frontier, clear
from steinkit.discrepancy.graph.spanner.desk_kernels import Bucket, Desk, Problem
from steinkit.discrepancy.graph.spanner.pair_list_kernels import Pairs, append, keep_shorter_half, new_pairs
from steinkit.discrepancy.graph.spanner.sketch import Sketch
from steinkit.discrepancy.graph.spanner.target_kernels import drop_reached
from steinkit.runtime.compilation import inner_kernel
from steinkit.sample import Floats, Integers

FIRST_ROOM = 1024  # of a list of pairs
HASTE = 0.75  # of searches: the part of the stretch allowed that goes into the weight of what is left of the way
NEIGHBOURS = 32  # numbers on either side of a cell among which those that a search from it may serve as well
FEWER = 10  # times that searches from the near ends must be to be worth more than those from the far ends


@inner_kernel
def settle_twice(
    problem: Problem, points: Sketch, sketch: Sketch, bucket: Bucket, waiting: Pairs, desk: Desk, found: Pairs
) -> Pairs:
    """Settle pairs by the sketch, and what it leaves open by the graph itself."""
    if len(sketch.centre) < len(points.centre):
        waiting = settle(problem, sketch, waiting, desk, desk.shared, new_pairs(FIRST_ROOM))
    found = settle(problem, points, waiting, desk, desk.own, found)
    keep_to_room(bucket, found)
    return found


@inner_kernel
def settle(problem: Problem, sketch: Sketch, waiting: Pairs, desk: Desk, frontier: Frontier, found: Pairs) -> Pairs:
    """Move the pairs that a search of a sketch leaves open from the list of those waiting to that of those found.

    A search is from the cell of a far end towards those of its near ones, which lie together in a group, unless there
    are many far ends for each near one. What it labels serves far ends nearby as well. The list of pairs waiting is
    empty afterwards.
    """
    count = waiting.used[0]
    if count == 0:
        return found
    cell, way = sketch.cell, sketch.way
    left, right = np.int64(0), np.int64(1)  # literals would be types of their own
    fewer = FEWER * n_distinct(waiting, cell, left, desk.head) <= n_distinct(waiting, cell, right, desk.head)
    side = left if fewer else right
    factor = problem.dilation * (1.0 - problem.margin)
    weight = 1.0 + HASTE * (problem.dilation - 1.0)
    head, following, room = desk.head, np.empty(count, np.int64), np.empty(count)
    for c in range(count):
        far = cell[waiting.ends[c, side]]
        following[c] = head[far]
        head[far] = c
        room[c] = factor * waiting.length[c] - (way[waiting.ends[c, 0]] + way[waiting.ends[c, 1]])
    limit, is_open, targets, via = desk.goals.limit, desk.goals.is_open, desk.targets, frontier.distance
    for c in range(count):
        far = cell[waiting.ends[c, side]]
        k, n_targets = head[far], np.int64(0)
        while k >= 0:
            near = cell[waiting.ends[k, 1 - side]]
            if not is_open[near]:
                is_open[near] = True
                limit[near] = room[k]
                targets[n_targets] = near
                n_targets += 1
            limit[near] = min(limit[near], room[k])
            k = following[k]
        if n_targets > 0 and not problem.stop[0]:
            drop_reached(sketch.links, sketch.columns, far, desk.goals, targets, n_targets, weight, frontier)
            last = len(sketch.centre)
            for other in range(max(0, far - NEIGHBOURS), min(last, far + NEIGHBOURS + 1)):
                if head[other] >= 0 and via[other] < np.inf:
                    head[other] = strike_joined(waiting, cell, 1 - side, head[other], following, via, via[other], room)
            clear(frontier)
        k = head[far]
        head[far] = -1
        while k >= 0:
            p, q = waiting.ends[k]
            found = append(found, min(p, q), max(p, q), waiting.length[k])
            k = following[k]
    waiting.used[0] = 0
    return found


@inner_kernel
def strike_joined(
    pairs: Pairs, cell: Integers, side: int, head: int, following: Integers, via: Floats, offset: float, room: Floats
) -> int:
    """Take pairs off a linked list that a way of length ``offset`` and on from there joins; return its new head."""
    kept = -1
    while head >= 0:
        c, head = head, following[head]
        if offset + via[cell[pairs.ends[c, side]]] > room[c]:
            following[c] = kept
            kept = c
    return kept


@inner_kernel
def n_distinct(pairs: Pairs, cell: Integers, side: int, head: Integers) -> int:
    """Count the cells that stand on one side of pairs; ``head``, by cell, is -1 before and after."""
    count = 0
    for c in range(pairs.used[0]):
        node = cell[pairs.ends[c, side]]
        count += head[node] < 0
        head[node] = 0
    for c in range(pairs.used[0]):
        head[cell[pairs.ends[c, side]]] = -1
    return count


@inner_kernel
def keep_to_room(bucket: Bucket, found: Pairs) -> None:
    """Lower the bucket's limit if there are more pairs than it has room for."""
    if found.used[0] > bucket.room[0]:
        found.used[0], bucket.upper[0] = keep_shorter_half(found.ends, found.length, found.used[0], bucket.upper[0])
        if found.used[0] > bucket.room[0]:  # too many pairs of one length
            bucket.room[0] *= 2
