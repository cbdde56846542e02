"""A binary min-heap in two plain arrays, for the searches of the greedy spanner.

``keys[0:size]`` and ``nodes[0:size]`` hold the heap: entry i has children 2 i + 1 and 2 i + 2 and no larger key than
either. Keys are not decreased in place: a node whose distance shrinks is pushed again and the reader skips the
outdated entry.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steinkit.runtime.compilation import kernel


@kernel
def heap_push(keys: NDArray[np.float64], nodes: NDArray[np.int64], size: int, key: float, node: int) -> int:
    """Add an entry to a heap of ``size`` entries; return the new size."""
    hole = size
    while hole > 0:
        parent = (hole - 1) >> 1
        if keys[parent] <= key:
            break
        keys[hole] = keys[parent]
        nodes[hole] = nodes[parent]
        hole = parent
    keys[hole] = key
    nodes[hole] = node
    return size + 1


@kernel
def heap_pop(keys: NDArray[np.float64], nodes: NDArray[np.int64], size: int) -> int:
    """Remove the least entry, which the caller has read at position 0; return the new size."""
    last = size - 1
    key = keys[last]
    node = nodes[last]
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= last:
            break
        if child + 1 < last and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[hole] = keys[child]
        nodes[hole] = nodes[child]
        hole = child
    keys[hole] = key
    nodes[hole] = node
    return last
