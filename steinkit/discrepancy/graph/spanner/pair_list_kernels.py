"""A growing list of pairs of points and their distances, which keeps the shorter half where it grows too long."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from steinkit.discrepancy.graph.spanner.binary_heap_kernels import heap_pop, heap_push
from steinkit.runtime.compilation import inner_kernel, kernel
from steinkit.sample import Floats, Integers

MEDIAN_OF = 255  # lengths, evenly spaced, whose median stands for that of all


class Pairs(NamedTuple):
    """Pairs (p, q) and their lengths; ``used[0]`` of them count."""

    ends: Integers
    length: Floats
    used: Integers


@inner_kernel
def new_pairs(room: int) -> Pairs:
    """Make an empty list with room for some pairs."""
    return Pairs(np.empty((room, 2), np.int64), np.empty(room), np.zeros(1, np.int64))


@inner_kernel
def append(pairs: Pairs, p: int, q: int, length: float) -> Pairs:
    """Add a pair; the arrays are exchanged for larger ones where they are full."""
    count = pairs.used[0]
    if count == len(pairs.length):
        more = new_pairs(2 * count)
        for k in range(count):
            more.ends[k, 0], more.ends[k, 1], more.length[k] = pairs.ends[k, 0], pairs.ends[k, 1], pairs.length[k]
        more.used[0] = count
        pairs = more
    pairs.ends[count, 0], pairs.ends[count, 1], pairs.length[count] = p, q, length
    pairs.used[0] += 1
    return pairs


@kernel
def keep_shorter_half(pairs: Integers, lengths: Floats, count: int, upper: float) -> tuple[int, float]:
    """Lower the bucket's limit to about the median length of its pairs; return how many are left, and the limit."""
    keys, nodes, size = np.empty(MEDIAN_OF), np.empty(MEDIAN_OF, np.int64), np.int64(0)
    for k in range(MEDIAN_OF):
        size = heap_push(keys, nodes, size, lengths[k * count // MEDIAN_OF], k)
    for _ in range(MEDIAN_OF // 2):
        size = heap_pop(keys, nodes, size)
    limit = min(upper, keys[0])
    kept = 0
    for k in range(count):
        if lengths[k] <= limit:
            pairs[kept, 0], pairs[kept, 1], lengths[kept] = pairs[k, 0], pairs[k, 1], lengths[k]
            kept += 1
    return kept, limit
