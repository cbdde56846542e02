"""Kernels of the greedy spanner's filter: pairs of a bucket of lengths that no quick search proves joined.

Points stand in the order of a `BoxTree`. Where they lie close together compared with the lengths in question, they form
a *group*, a node of the tree, whose pairs are looked at together. A pair of points that are both in groups, or both in
none, is looked at from the first of them, another from the one that is in a group.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steinkit.discrepancy.graph.spanner.bounded_search_kernels import Goals, clear, search_goals
from steinkit.discrepancy.graph.spanner.desk_kernels import Bucket, Desk, Problem, new_desk
from steinkit.discrepancy.graph.spanner.pair_list_kernels import Pairs, append, new_pairs
from steinkit.discrepancy.graph.spanner.range_kernels import distances_run, gap, leaves_in_range, most_central, parts_of
from steinkit.discrepancy.graph.spanner.settling_kernels import FIRST_ROOM, HASTE, keep_to_room, settle, settle_twice
from steinkit.discrepancy.graph.spanner.sketch import Sketch
from steinkit.discrepancy.graph.spanner.target_kernels import drop_joined
from steinkit.runtime.compilation import inner_kernel, kernel
from steinkit.sample import Floats, Integers

Flags = NDArray[np.bool_]

PATIENCE = 64  # of a sketch's search: it may end while one goal in so many is open


@inner_kernel
def filter_point(
    problem: Problem, points: Sketch, sketch: Sketch, bucket: Bucket, u: int, desk: Desk, waiting: Pairs, found: Pairs
) -> tuple[Pairs, Pairs]:
    """Find the pairs of the bucket at point u, in no group, that a search from u leaves open.

    Where there is a sketch to search, what that leaves open is put on the list of those waiting.
    """
    columns, tree = problem.columns, problem.tree
    limit, targets, row = desk.goals.limit, desk.targets, desk.row
    factor = problem.dilation * (1.0 - problem.margin)
    place = np.empty(len(columns))
    for k in range(len(columns)):
        place[k] = columns[k, u]
    n_leaves = leaves_in_range(
        tree, place, place, bucket.lower, bucket.upper[0], u, bucket.grouped, False, sketch.whole, desk.leaves
    )
    count = np.int64(0)  # a literal would be a type of its own, for which all that is called with it is compiled again
    for leaf in desk.leaves[:n_leaves]:
        first, end = max(tree.first[leaf], u + 1), tree.end[leaf]
        distances_run(columns, u, first, end, row)
        for v in range(first, end):
            if bucket.lower < row[v] <= bucket.upper[0]:
                limit[v] = factor * row[v]
                targets[count] = v
                count += 1
    if count > 0 and len(sketch.centre) < len(row):
        count = drop_sketched(sketch, u, targets, count, desk)
        for v in targets[:count]:
            waiting = append(waiting, u, v, row[v])
        return waiting, found
    if count > 0:
        count = drop_joined(points.links, u, desk.goals, targets, count, bucket.patience, desk.own)
    for v in targets[:count]:
        found = append(found, u, v, row[v])
    keep_to_room(bucket, found)
    return waiting, found


@inner_kernel
def filter_group(
    problem: Problem, points: Sketch, sketch: Sketch, bucket: Bucket, group: int, desk: Desk, found: Pairs
) -> Pairs:
    """Find the pairs of the bucket at a group's points that no way through a central one, nor a search, proves joined.

    Parts of the tree are compared first, by their boxes and by the longest way to a point of theirs.
    """
    columns, tree = problem.columns, problem.tree
    factor = problem.dilation * (1.0 - problem.margin)
    low, high = tree.low[group], tree.high[group]
    n_leaves = leaves_in_range(
        tree,
        low,
        high,
        bucket.lower,
        bucket.upper[0],
        tree.first[group],
        bucket.grouped,
        True,
        sketch.whole,
        desk.leaves,
    )
    if n_leaves == 0:
        return found
    centre = most_central(columns, tree, group)
    label_leaves(problem, sketch, bucket, group, centre, n_leaves, desk)
    via = desk.via
    offset = largest(via, tree.first[group], tree.end[group])
    kept = 0
    for leaf in desk.leaves[:n_leaves]:
        furthest = largest(via, tree.first[leaf], tree.end[leaf])
        if offset + furthest > factor * max(bucket.lower, gap(tree, leaf, low, high)):
            desk.leaves[kept] = leaf
            desk.furthest[kept] = furthest
            kept += 1
    longer: Pairs = compare_parts(problem, points, sketch, bucket, group, kept, desk, found)
    return longer


@inner_kernel
def compare_parts(
    problem: Problem,
    points: Sketch,
    sketch: Sketch,
    bucket: Bucket,
    group: int,
    n_others: int,
    desk: Desk,
    found: Pairs,
) -> Pairs:
    """Compare the parts of a group with the others listed: by the way through the centre, from cell to cell, by points.

    Parts are cells, or leaves where points are cells of their own.
    """
    tree = problem.tree
    factor = problem.dilation * (1.0 - problem.margin)
    open_pairs, open_cells = new_pairs(FIRST_ROOM), new_pairs(FIRST_ROOM)
    for mine in desk.parts[: parts_of(tree, group, sketch.whole, desk.parts)]:
        if problem.stop[0]:
            break
        p = tree.first[mine]
        offset, own_way = largest(desk.via, p, tree.end[mine]), largest(sketch.way, p, tree.end[mine])
        for k in range(n_others):
            part = desk.leaves[k]
            q = tree.first[part]
            if tree.end[part] - 1 <= p and bucket.grouped[part]:
                continue
            shortest = max(bucket.lower, gap(tree, part, tree.low[mine], tree.high[mine]))
            if shortest > bucket.upper[0] or offset + desk.furthest[k] <= factor * shortest:
                continue
            left = shortest
            if sketch.part[p] >= 0 and sketch.part[q] >= 0 and mine != part:
                left -= (own_way + largest(sketch.way, q, tree.end[part])) / factor
            if 0.0 < left < shortest:
                ends = sketch.centre[sketch.cell[p]], sketch.centre[sketch.cell[q]]
                open_cells = append(open_cells, ends[0], ends[1], left)
            else:
                open_pairs = compare_points(problem, bucket, mine, part, desk.via, desk.row, open_pairs)
        if open_cells.used[0] > bucket.room[0]:
            open_pairs = settle_cells(problem, sketch, bucket, group, open_cells, desk, open_pairs)
        if open_pairs.used[0] > bucket.room[0]:
            found = settle_twice(problem, points, sketch, bucket, open_pairs, desk, found)
    open_pairs = settle_cells(problem, sketch, bucket, group, open_cells, desk, open_pairs)
    longer: Pairs = settle_twice(problem, points, sketch, bucket, open_pairs, desk, found)
    return longer


@inner_kernel
def drop_sketched(sketch: Sketch, u: int, targets: Integers, n_targets: int, desk: Desk) -> int:
    """Strike from the list the targets that the sketch proves joined to u; return how many are left.

    u and the targets are cells of their own.
    """
    goals = Goals(desk.via, desk.goals.is_open)
    reach = 0.0
    for v in targets[:n_targets]:
        cell = sketch.cell[v]
        goals.is_open[cell] = True
        goals.limit[cell] = desk.goals.limit[v]
        reach = max(reach, desk.goals.limit[v])
    own = sketch.cell[u]
    search_goals(sketch.links, own, goals, reach, n_targets, n_targets // PATIENCE, desk.shared)
    clear(desk.shared)
    count = 0
    for v in targets[:n_targets]:
        if goals.is_open[sketch.cell[v]]:
            goals.is_open[sketch.cell[v]] = False
            targets[count] = v
            count += 1
    return count


@inner_kernel
def label_leaves(
    problem: Problem, sketch: Sketch, bucket: Bucket, group: int, centre: int, n_leaves: int, desk: Desk
) -> None:
    """Label the points of a group, and of the leaves listed, with lengths of walks from the centre of a cell."""
    tree, (limit, is_open) = problem.tree, desk.goals
    count, furthest = np.int64(0), 0.0
    haste = 1.0 + HASTE * (problem.dilation - 1.0)
    for leaf in desk.leaves[:n_leaves]:
        first, end = tree.first[leaf], tree.end[leaf]
        distances_run(problem.columns, centre, first, end, desk.row)
        for v in range(first, end):
            if bucket.lower < desk.row[v] <= bucket.upper[0]:
                cell = sketch.cell[v]
                if not is_open[cell]:
                    is_open[cell] = True
                    desk.targets[count] = cell
                    count += 1
                limit[cell] = haste * desk.row[v]
                furthest = max(furthest, desk.row[v])
    search_goals(
        sketch.links,
        sketch.cell[centre],
        desk.goals,
        problem.dilation * furthest,
        count,
        count // PATIENCE,
        desk.shared,
    )
    for cell in desk.targets[:count]:
        is_open[cell] = False
    label_run(sketch, desk.shared.distance, tree.first[group], tree.end[group], desk.via)
    for leaf in desk.leaves[:n_leaves]:
        label_run(sketch, desk.shared.distance, tree.first[leaf], tree.end[leaf], desk.via)
    clear(desk.shared)


@inner_kernel
def label_run(sketch: Sketch, distance: Floats, first: int, end: int, via: Floats) -> None:
    """Label a run of points by the distances of the centres of their cells."""
    for v in range(first, end):
        via[v] = distance[sketch.cell[v]] + sketch.way[v]


@inner_kernel
def largest(values: Floats, first: int, end: int) -> float:
    """The largest of a run of values that are not negative."""
    found = 0.0
    for v in range(first, end):
        found = max(found, values[v])
    return found


@inner_kernel
def compare_points(
    problem: Problem, bucket: Bucket, mine: int, other: int, via: Floats, row: Floats, found: Pairs
) -> Pairs:
    """Add the pairs between two parts that are in the bucket and for which the way through the centre is too long."""
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
def settle_cells(
    problem: Problem, sketch: Sketch, bucket: Bucket, group: int, waiting: Pairs, desk: Desk, found: Pairs
) -> Pairs:
    """Settle pairs of cells, of which one lies in a group, by the sketch; compare the points of those left open."""
    tree = problem.tree
    left = settle(problem, sketch, waiting, desk, desk.shared, new_pairs(FIRST_ROOM))
    for c in range(left.used[0]):
        p, q = left.ends[c]
        if not tree.first[group] <= p < tree.end[group]:
            p, q = q, p
        found = compare_points(problem, bucket, sketch.part[p], sketch.part[q], desk.via, desk.row, found)
    return found


@kernel
def filter_block(
    problem: Problem,
    points: Sketch,
    sketch: Sketch,
    sources: Integers,
    grouped: Flags,
    lower: float,
    upper: float,
    patience: int,
    room: int,
) -> tuple[Integers, Floats, float]:
    """Pairs at a distance in (lower, upper], looked at from nodes ``sources``, that no quick search proves joined.

    ``points`` is the graph itself, ``sketch`` may be the same. A source that is ``grouped`` is looked at as one,
    another point by point. If there are more than ``room`` pairs, the upper limit is lowered; the pairs, their lengths
    and the limit in force are returned, with some pairs that are longer.
    """
    tree = problem.tree
    desk = new_desk(points, sketch, len(tree.first) // 2)
    found, waiting = new_pairs(FIRST_ROOM), new_pairs(FIRST_ROOM)
    bucket = Bucket(lower, np.array([upper]), patience, np.array([room]), grouped)
    for node in sources:
        first, end = tree.first[node], tree.end[node]
        if grouped[node]:
            found = filter_group(problem, points, sketch, bucket, node, desk, found)
        else:
            for u in range(first, end):
                if problem.stop[0]:
                    break
                waiting, found = filter_point(problem, points, sketch, bucket, u, desk, waiting, found)
                if waiting.used[0] > bucket.room[0]:
                    found = settle_twice(problem, points, sketch, bucket, waiting, desk, found)
        if problem.stop[0]:
            break
    found = settle_twice(problem, points, sketch, bucket, waiting, desk, found)
    return found.ends[: found.used[0]], found.length[: found.used[0]], bucket.upper[0]
