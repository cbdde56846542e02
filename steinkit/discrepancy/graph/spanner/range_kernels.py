"""Kernels of a tree of boxes: what lies at an L1 distance in a range from a point or a box.

Bounds on distances are sums over the coordinates in order, as the distances themselves; rounding is monotone, so that
they hold for the distances as rounded, to the last bit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steinkit.discrepancy.graph.spanner.box_tree import BoxTree
from steinkit.runtime.compilation import inner_kernel, kernel
from steinkit.sample import Floats, Integers

Flags = NDArray[np.bool_]


@inner_kernel
def gap(tree: BoxTree, node: int, low: Floats, high: Floats) -> float:
    """A lower bound on the distances between the points of a node and those of a box."""
    total = 0.0
    for k in range(len(low)):
        total += max(0.0, low[k] - tree.high[node, k], tree.low[node, k] - high[k])
    return total


@inner_kernel
def span(tree: BoxTree, node: int, low: Floats, high: Floats) -> float:
    """An upper bound on the distances between the points of a node and those of a box."""
    total = 0.0
    for k in range(len(low)):
        total += max(high[k] - tree.low[node, k], tree.high[node, k] - low[k])
    return total


@kernel
def leaves_in_range(
    tree: BoxTree,
    low: Floats,
    high: Floats,
    lower: float,
    upper: float,
    after: int,
    grouped: Flags,
    for_group: bool,
    whole: Flags,
    leaves: Integers,
) -> int:
    """List the leaves with points that may lie in (lower, upper] from those of a box; return how many.

    Of the grouped leaves only those with points behind number ``after`` are listed for a group, and none for others;
    of the leaves that are not, all for a group, and those with points behind ``after`` for others. ``leaves`` has room
    for all; its end serves as the stack of nodes still to be looked at.
    """
    count, top = 0, len(leaves) - 1
    leaves[top] = 1
    while top < len(leaves):
        node = leaves[top]
        top += 1
        if (grouped[node] and not for_group) or (tree.end[node] - 1 <= after and grouped[node] == for_group):
            continue
        if gap(tree, node, low, high) > upper or span(tree, node, low, high) <= lower:
            continue
        if whole[node]:
            leaves[count] = node
            count += 1
        else:
            top -= 2
            leaves[top], leaves[top + 1] = 2 * node, 2 * node + 1
    return count


@kernel
def distances_run(columns: Floats, u: int, first: int, end: int, row: Floats) -> None:
    """L1 distances from point u to the points of a run, in ``row[first:end]``; coordinates are summed in order."""
    row[first:end] = 0.0
    for k in range(len(columns)):
        for v in range(first, end):
            row[v] += abs(columns[k, v] - columns[k, u])


@inner_kernel
def most_central(columns: Floats, tree: BoxTree, node: int) -> int:
    """The point of a node that is nearest to the middle of its box."""
    best: int = tree.first[node]
    nearest = np.inf
    for v in range(tree.first[node], tree.end[node]):
        distance = 0.0
        for k in range(len(columns)):
            distance += abs(columns[k, v] - 0.5 * (tree.low[node, k] + tree.high[node, k]))
        if distance < nearest:
            best, nearest = v, distance
    return best


@kernel
def parts_of(tree: BoxTree, node: int, whole: Flags, parts: Integers) -> int:
    """List the largest nodes at or below a node that are ``whole``; return how many."""
    count, top = 0, len(parts) - 1
    parts[top] = node
    while top < len(parts):
        node = parts[top]
        top += 1
        if whole[node]:
            parts[count] = node
            count += 1
        else:
            top -= 2
            parts[top], parts[top + 1] = 2 * node + 1, 2 * node
    return count
