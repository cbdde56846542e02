"""A balanced tree of boxes over points: which of them may lie at a distance in some range is known without a look."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from steinkit.runtime.deadlines import require_time
from steinkit.sample import Floats, Integers


class BoxTree(NamedTuple):
    """Points in an order in which neighbours in space are neighbours in number, and boxes around runs of them.

    Node 1 is the root and 2 i, 2 i + 1 are the children of node i; the last half of the nodes are leaves. The points
    of node i are ``first[i]``, ..., ``end[i] - 1``, and all lie between ``low[i]`` and ``high[i]``, both shape (d,).
    """

    first: Integers
    end: Integers
    low: Floats
    high: Floats


def box_tree(points: Floats, leaf_size: int) -> tuple[Integers, BoxTree]:
    """Halve points, shape (n, d), across the longest side of their box until ``leaf_size`` >= 2 are left at most.

    Returns
    -------
    rank : ndarray of int, shape (n,)
        The points' numbers in the order of the tree.
    tree : BoxTree
        Its points are those of ``points[rank]``.
    """
    n, dim = points.shape
    rank = np.arange(n)
    depth = max(0, int(np.ceil(np.log2(n / leaf_size))))
    size = 2 << depth
    first, end = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    low, high = np.zeros((size, dim)), np.zeros((size, dim))
    for level in range(depth + 1):
        nodes = slice(1 << level, 2 << level)
        cuts = np.arange((1 << level) + 1) * n >> level
        first[nodes], end[nodes] = cuts[:-1], cuts[1:]
        ordered = points[rank]
        low[nodes], high[nodes] = (extreme.reduceat(ordered, cuts[:-1]) for extreme in (np.minimum, np.maximum))
        if level < depth:
            require_time("the spanner was built")
            sizes = np.diff(cuts)
            widest = np.repeat(np.argmax(high[nodes] - low[nodes], axis=1), sizes)
            node = np.repeat(np.arange(1 << level), sizes)
            rank = rank[np.lexsort((ordered[np.arange(n), widest], node))]
    return rank, BoxTree(first, end, low, high)
