"""The greedy spanner of some thousand points in the plane, from the pairs whose box is empty.

In L1 a point k in the closed box that i and j span lies between them: d(i, k) + d(k, j) = d(i, j). If it is neither i
nor j both pairs are shorter than (i, j). They have been gone through before, so paths of dilation t join their ends,
and one after the other they make a path of dilation t for (i, j), which is no edge. Only pairs whose box is empty can
be edges: about n log n of the n (n - 1)/2, where points are spread out.

*Rounding.* A pair whose box is not empty goes through a chain of pairs whose boxes are, each in the box of the ends of
any part of the chain that holds it. Rounding can hide its path only if every link of the chain is a tie: joined by a
path of t times its length, to within `slack`, which is more than all rounding in any sum here. Two ties then meet at a
point that lies between their other ends. Where that happens, on lattices for one, the spanner is built by way of
all pairs; and so it is where the closest points are so close that rounding may reorder lengths.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steinkit.discrepancy.graph.spanner.empty_box_kernels import MOST_TIES, insert_empty_boxes, list_empty_boxes
from steinkit.discrepancy.graph.spanner.geometry import edge_lengths
from steinkit.discrepancy.graph.spanner.search_kernels import Adjacency
from steinkit.runtime.compilation import small_work
from steinkit.sample import Floats, Integers

ROOM = 64  # pairs a point; clusters that face each other have more
_SECONDS_A_POINT, _SECONDS_A_PAIR = 2e-5, 2e-5  # of Python


class Joined(NamedTuple):
    """Edges i < j in order, their lengths, and a length: all pairs up to it are joined."""

    edges: Integers
    lengths: Floats
    reached: float


def span_by_empty_boxes(points: Floats, dilation: float, margin: float, stop: NDArray[np.bool_]) -> Joined | None:
    """The greedy spanner of points, shape (n, 2), or what there is of it once ``stop[0]`` is true.

    Returns
    -------
    Joined or None
        None where pairs may be needed whose box is not empty, or where there are too many whose box is.
    """
    n = len(points)
    with small_work(_SECONDS_A_POINT * n):
        pairs = _candidates(points)
    if pairs is None:
        return None
    lengths = edge_lengths(points, pairs)
    order = np.lexsort((pairs[:, 1], pairs[:, 0], lengths))
    pairs, lengths = pairs[order], lengths[order]
    slack = margin * dilation * float(np.ptp(points, axis=0).sum())
    if not (dilation - 1.0) * lengths[0] > slack:
        return None
    ends = np.bincount(pairs.ravel(), minlength=n)
    room = 2 * len(pairs)
    graph = Adjacency(
        np.cumsum(ends) - ends, np.zeros(n, dtype=np.int64), np.empty(room, dtype=np.int64), np.empty(room)
    )
    with small_work(_SECONDS_A_PAIR * len(pairs)):
        linked, ties, done = insert_empty_boxes(
            np.ascontiguousarray(points.T), dilation, slack, graph, pairs, lengths, stop
        )
    if len(ties) > MOST_TIES or _form_chains(points, pairs[ties]):
        return None
    reached = np.inf if done == len(pairs) else float(np.nextafter(lengths[done], 0.0))
    return Joined(pairs[linked], lengths[linked], reached)


def _candidates(points: Floats) -> Integers | None:
    """All pairs i < j whose box is empty, in no order, and some others; None if there is no room for them."""
    rank = np.lexsort(points.T[::-1])
    pairs = np.empty((ROOM * len(points), 2), dtype=np.int64)
    count = list_empty_boxes(*np.ascontiguousarray(points[rank].T), pairs)
    return None if count > len(pairs) else np.sort(rank[pairs[:count]], axis=1)


def _form_chains(points: Floats, ties: Integers) -> bool:
    """Whether two of these pairs meet at a point in the box of their other ends."""
    ends = np.concatenate([ties, ties[:, ::-1]])
    first, second = np.nonzero((ends[:, None, 1] == ends[None, :, 0]) & (ends[:, None, 0] != ends[None, :, 1]))
    i, k, j = points[ends[first, 0]], points[ends[first, 1]], points[ends[second, 1]]
    return bool(((np.minimum(i, j) <= k) & (k <= np.maximum(i, j))).all(axis=1).any())
