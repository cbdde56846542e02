"""Kernel of a cover of a graph: nodes within reach of one of which all others lie."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steinkit.discrepancy.graph.spanner.bounded_search_kernels import (
    N_TOUCHED,
    Adjacency,
    clear,
    new_frontier,
    search_within,
)
from steinkit.runtime.compilation import kernel
from steinkit.sample import Integers

Flags = NDArray[np.bool_]


@kernel
def cover(graph: Adjacency, radius: float, stop: Flags) -> Integers:
    """The nodes, in order, that are within ``radius`` of none before them: every other is within that of one of them.

    Once ``stop[0]`` is true it returns with its work unfinished.
    """
    n = len(graph.start)
    is_covered, count, centres = np.zeros(n, np.bool_), 0, np.empty(n, np.int64)
    frontier = new_frontier(graph)
    for node in range(n):
        if stop[0]:
            break
        if is_covered[node]:
            continue
        centres[count] = node
        count += 1
        search_within(graph, node, radius, node, frontier)
        for k in range(frontier.counts[N_TOUCHED]):
            is_covered[frontier.touched[k]] = True
        clear(frontier)
    return centres[:count]
