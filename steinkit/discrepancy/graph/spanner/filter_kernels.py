"""Kernels of the greedy spanner's filter: pairs of a bucket of lengths that no quick search proves joined.

Points stand in the order of a `BoxTree`. Where they lie close together compared with the lengths in question, they form
a *group*, a node of the tree, whose pairs are looked at together. A pair of points that are both in groups, or both in
none, is looked at from the first of them, another from the one that is in a group.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steinkit.discrepancy.graph.spanner.bounded_search_kernels import (
    Adjacency,
    Frontier,
    Goals,
    clear,
    new_frontier,
    search_goals,
)
from steinkit.discrepancy.graph.spanner.box_tree import BoxTree
from steinkit.discrepancy.graph.spanner.pair_list_kernels import Pairs, append, keep_shorter_half, new_pairs
from steinkit.discrepancy.graph.spanner.range_kernels import distances_run, gap, leaves_in_range, most_central
from steinkit.discrepancy.graph.spanner.target_kernels import drop_joined, drop_reached
from steinkit.runtime.compilation import inner_kernel, kernel
from steinkit.sample import Floats, Integers

Flags = NDArray[np.bool_]

FIRST_ROOM = 1024  # of a list of pairs
HASTE = 0.75  # of searches: the part of the stretch allowed that goes into the weight of what is left of the way
NEIGHBOURS = 32  # numbers on either side of a point among which those that a search from it may serve as well
FEWER = 10  # times that searches from the near ends must be to be worth more than those from the far ends


class Problem(NamedTuple):
    """What does not change between buckets: coordinates (d, n), their tree, dilation, rounding margin, and the signal.

    Once ``stop[0]`` is true the kernels return with their work unfinished, for the caller to throw away.
    """

    columns: Floats
    tree: BoxTree
    dilation: float
    margin: float
    stop: Flags


class Bucket(NamedTuple):
    """Pairs at a distance in (lower, upper[0]], how many goals a search may leave open, and room[0] for pairs.

    ``grouped`` says of each node whether it lies in one whose points share a search.
    """

    lower: float
    upper: Floats
    patience: int
    room: Integers
    grouped: Flags


class Desk(NamedTuple):
    """What a block works with: labels of its searches, and arrays by point and by leaf."""

    shared: Frontier
    own: Frontier
    goals: Goals
    row: Floats
    targets: Integers
    leaves: Integers
    head: Integers


@inner_kernel
def new_desk(graph: Adjacency, n_leaves: int) -> Desk:
    """Make blank labels and arrays."""
    n = len(graph.start)
    goals = Goals(np.empty(n), np.zeros(n, np.bool_))
    head = np.empty(n, np.int64)
    head[:] = -1
    leaves = np.empty(n_leaves + 64, np.int64)  # and the stack
    return Desk(new_frontier(graph), new_frontier(graph), goals, np.empty(n), np.empty(n, np.int64), leaves, head)


@inner_kernel
def filter_point(problem: Problem, graph: Adjacency, bucket: Bucket, u: int, desk: Desk, found: Pairs) -> Pairs:
    """Find the pairs of the bucket at point u that a search from u leaves open."""
    columns, tree = problem.columns, problem.tree
    limit, targets, row = desk.goals.limit, desk.targets, desk.row
    factor = problem.dilation * (1.0 - problem.margin)
    place = np.empty(len(columns))
    for k in range(len(columns)):
        place[k] = columns[k, u]
    n_leaves = leaves_in_range(tree, place, place, bucket.lower, bucket.upper[0], u, bucket.grouped, False, desk.leaves)
    count = np.int64(0)  # a literal would be a type of its own, for which all that is called with it is compiled again
    for leaf in desk.leaves[:n_leaves]:
        first, end = max(tree.first[leaf], u + 1), tree.end[leaf]
        distances_run(columns, u, first, end, row)
        for v in range(first, end):
            if bucket.lower < row[v] <= bucket.upper[0]:
                limit[v] = factor * row[v]
                targets[count] = v
                count += 1
    if count > 0:
        count = drop_joined(graph, u, desk.goals, targets, count, bucket.patience, desk.own)
    for v in targets[:count]:
        found = append(found, u, v, row[v])
    keep_to_room(bucket, found)
    return found


@inner_kernel
def filter_group(problem: Problem, graph: Adjacency, bucket: Bucket, group: int, desk: Desk, found: Pairs) -> Pairs:
    """Find the pairs of the bucket at a group's points that no way through a central one, nor a search, proves joined.

    Leaves of the tree are compared first, by their boxes and by the longest way to a point of theirs.
    """
    columns, tree = problem.columns, problem.tree
    factor = problem.dilation * (1.0 - problem.margin)
    low, high = tree.low[group], tree.high[group]
    n_leaves = leaves_in_range(
        tree, low, high, bucket.lower, bucket.upper[0], tree.first[group], bucket.grouped, True, desk.leaves
    )
    if n_leaves == 0:
        return found
    centre = most_central(columns, tree, group)
    label_leaves(problem, graph, bucket, centre, n_leaves, desk)
    via = desk.shared.distance
    offset = largest(via, tree.first[group], tree.end[group])
    kept = 0
    for leaf in desk.leaves[:n_leaves]:
        furthest = largest(via, tree.first[leaf], tree.end[leaf])
        if offset + furthest > factor * max(bucket.lower, gap(tree, leaf, low, high)):
            desk.leaves[kept] = leaf
            kept += 1
    open_pairs = new_pairs(FIRST_ROOM)
    inner = group  # ... and at last the first of its leaves
    while 2 * inner < len(tree.first):
        inner *= 2
    for mine in range(inner, inner + inner // group):
        if problem.stop[0]:
            break
        offset = largest(via, tree.first[mine], tree.end[mine])
        for leaf in desk.leaves[:kept]:
            if tree.end[leaf] - 1 <= tree.first[mine] and bucket.grouped[leaf]:
                continue
            furthest = largest(via, tree.first[leaf], tree.end[leaf])
            shortest = max(bucket.lower, gap(tree, leaf, tree.low[mine], tree.high[mine]))
            if shortest <= bucket.upper[0] and offset + furthest > factor * shortest:
                open_pairs = compare_leaves(problem, bucket, mine, leaf, via, desk.row, open_pairs)
        if open_pairs.used[0] > bucket.room[0]:
            found = settle(problem, graph, bucket, open_pairs, desk, found)
    clear(desk.shared)
    longer: Pairs = settle(problem, graph, bucket, open_pairs, desk, found)
    return longer


@inner_kernel
def label_leaves(problem: Problem, graph: Adjacency, bucket: Bucket, centre: int, n_leaves: int, desk: Desk) -> None:
    """Label the points of the leaves listed with lengths of paths from the centre, where there are any of use."""
    tree, goals = problem.tree, desk.goals
    count, none, furthest = np.int64(0), np.int64(0), 0.0
    factor = problem.dilation * (1.0 - problem.margin)
    for leaf in desk.leaves[:n_leaves]:
        first, end = tree.first[leaf], tree.end[leaf]
        distances_run(problem.columns, centre, first, end, desk.row)
        for v in range(first, end):
            if bucket.lower < desk.row[v] <= bucket.upper[0]:
                goals.limit[v] = factor * desk.row[v]
                furthest = max(furthest, goals.limit[v])
                goals.is_open[v] = True
                count += 1
    search_goals(graph, centre, goals, furthest, count, none, desk.shared)
    for leaf in desk.leaves[:n_leaves]:
        goals.is_open[tree.first[leaf] : tree.end[leaf]] = False


@inner_kernel
def largest(values: Floats, first: int, end: int) -> float:
    """The largest of a run of values that are not negative."""
    found = 0.0
    for v in range(first, end):
        found = max(found, values[v])
    return found


@inner_kernel
def compare_leaves(
    problem: Problem, bucket: Bucket, mine: int, other: int, via: Floats, row: Floats, found: Pairs
) -> Pairs:
    """Add the pairs between two leaves that are in the bucket and for which the way through the centre is too long."""
    tree = problem.tree
    factor = problem.dilation * (1.0 - problem.margin)
    for p in range(tree.first[mine], tree.end[mine]):
        first, end = tree.first[other], tree.end[other]
        if bucket.grouped[other]:
            first = max(first, p + 1)
        distances_run(problem.columns, p, first, end, row)
        for q in range(first, end):
            if bucket.lower < row[q] <= bucket.upper[0] and via[p] + via[q] > factor * row[q]:
                found = append(found, p, q, row[q])
    return found


@inner_kernel
def settle(problem: Problem, graph: Adjacency, bucket: Bucket, waiting: Pairs, desk: Desk, found: Pairs) -> Pairs:
    """Move the pairs that a search from one end leaves open from the list of those waiting to that of those found.

    A search is from a far end towards its near ones, which lie together in a group, unless there are many far ends for
    each near one. What it labels serves far ends nearby as well. The list of pairs waiting is empty afterwards.
    """
    count = waiting.used[0]
    if count == 0:
        return found
    low, high = np.int64(0), np.int64(1)
    side = low if FEWER * n_distinct(waiting, low, desk.head) <= n_distinct(waiting, high, desk.head) else high
    factor = problem.dilation * (1.0 - problem.margin)
    weight = 1.0 + HASTE * (problem.dilation - 1.0)
    head, following = desk.head, np.empty(count, np.int64)
    for c in range(count):
        node = waiting.ends[c, side]
        following[c] = head[node]
        head[node] = c
    for c in range(count):
        node = waiting.ends[c, side]
        k, n_targets = head[node], np.int64(0)
        head[node] = -1
        while k >= 0:
            other = waiting.ends[k, 1 - side]
            desk.row[other] = waiting.length[k]
            desk.goals.limit[other] = factor * waiting.length[k]
            desk.targets[n_targets] = other
            n_targets += 1
            k = following[k]
        if n_targets > 0 and not problem.stop[0]:
            n_targets = drop_reached(
                graph, problem.columns, node, desk.goals, desk.targets, n_targets, weight, desk.own
            )
            for other in desk.targets[:n_targets]:
                found = append(found, min(node, other), max(node, other), desk.row[other])
            via = desk.own.distance
            for near in range(max(0, node - NEIGHBOURS), min(len(head), node + NEIGHBOURS + 1)):
                if head[near] >= 0 and via[near] < np.inf:
                    head[near] = strike_joined(waiting, 1 - side, head[near], following, via, via[near], factor)
            clear(desk.own)
    waiting.used[0] = 0
    keep_to_room(bucket, found)
    return found


@inner_kernel
def strike_joined(
    pairs: Pairs, side: int, head: int, following: Integers, via: Floats, offset: float, factor: float
) -> int:
    """Take pairs off a linked list that a way of length ``offset`` and on from there joins; return its new head."""
    kept = -1
    while head >= 0:
        c, head = head, following[head]
        if offset + via[pairs.ends[c, side]] > factor * pairs.length[c]:
            following[c] = kept
            kept = c
    return kept


@inner_kernel
def n_distinct(pairs: Pairs, side: int, head: Integers) -> int:
    """Count the points that stand on one side of pairs; ``head``, by point, is -1 before and after."""
    count = 0
    for c in range(pairs.used[0]):
        node = pairs.ends[c, side]
        count += head[node] < 0
        head[node] = 0
    for c in range(pairs.used[0]):
        head[pairs.ends[c, side]] = -1
    return count


@inner_kernel
def keep_to_room(bucket: Bucket, found: Pairs) -> None:
    """Lower the bucket's limit if there are more pairs than it has room for."""
    if found.used[0] > bucket.room[0]:
        found.used[0], bucket.upper[0] = keep_shorter_half(found.ends, found.length, found.used[0], bucket.upper[0])
        if found.used[0] > bucket.room[0]:  # too many pairs of one length
            bucket.room[0] *= 2


@kernel
def filter_block(
    problem: Problem,
    graph: Adjacency,
    sources: Integers,
    grouped: Flags,
    lower: float,
    upper: float,
    patience: int,
    room: int,
) -> tuple[Integers, Floats, float]:
    """Pairs at a distance in (lower, upper], looked at from nodes ``sources``, that no quick search proves joined.

    A source that is ``grouped`` is looked at as one, another point by point. If there are more than ``room`` pairs, the
    upper limit is lowered; the pairs, their lengths and the limit in force are returned.
    """
    tree = problem.tree
    desk = new_desk(graph, len(tree.first) // 2)
    found = new_pairs(FIRST_ROOM)
    bucket = Bucket(lower, np.array([upper]), patience, np.array([room]), grouped)
    for node in sources:
        first, end = tree.first[node], tree.end[node]
        if grouped[node]:
            found = filter_group(problem, graph, bucket, node, desk, found)
        else:
            for u in range(first, end):
                if problem.stop[0]:
                    break
                found = filter_point(problem, graph, bucket, u, desk, found)
        if problem.stop[0]:
            break
    return found.ends[: found.used[0]], found.length[: found.used[0]], bucket.upper[0]
