"""What the kernels of the greedy spanner's filter hand to one another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steinkit.discrepancy.graph.spanner.bounded_search_kernels import Frontier, Goals, new_frontier
from steinkit.discrepancy.graph.spanner.box_tree import BoxTree
from steinkit.discrepancy.graph.spanner.sketch import Sketch
from steinkit.runtime.compilation import inner_kernel
from steinkit.sample import Floats, Integers

Flags = NDArray[np.bool_]


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
    """What a block works with: labels of its searches of the sketch and of the graph, and arrays.

    ``goals``, ``row``, ``via``, ``targets`` and ``head`` are by point or by cell, the others by node listed.
    """

    shared: Frontier
    own: Frontier
    goals: Goals
    row: Floats
    via: Floats
    targets: Integers
    leaves: Integers
    parts: Integers
    furthest: Floats
    head: Integers


@inner_kernel
def new_desk(points: Sketch, sketch: Sketch, n_leaves: int) -> Desk:
    """Make blank labels and arrays."""
    n = len(points.centre)
    goals = Goals(np.empty(n), np.zeros(n, np.bool_))
    head = np.empty(n, np.int64)
    head[:] = -1
    leaves = np.empty(n_leaves + 64, np.int64)  # and the stack
    shared, own = new_frontier(sketch.links), new_frontier(points.links)
    row, via, targets = np.empty(n), np.empty(n), np.empty(n, np.int64)
    return Desk(shared, own, goals, row, via, targets, leaves, np.empty_like(leaves), np.empty(len(leaves)), head)
