"""Boxes around points that lie together: which of them may lie at a distance in some range is known without a look."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from steinkit.runtime.deadlines import require_time
from steinkit.sample import Floats, Integers


class Boxes(NamedTuple):
    """Boxes around runs of points: ``first[i]``, ..., ``first[i + 1] - 1`` lie between ``low[i]`` and ``high[i]``."""

    first: Integers
    low: Floats
    high: Floats


def boxed(points: Floats, most: int) -> tuple[Integers, Boxes]:
    """Halve points, shape (n, d), across the longest side of their box until at most ``most`` >= 2 are left in each.

    Returns
    -------
    rank : ndarray of int, shape (n,)
        The points' numbers in an order in which neighbours in space are neighbours in number.
    boxes : Boxes
        Its points are those of ``points[rank]``.
    """
    n = len(points)
    rank, cuts = np.arange(n), np.array([0, n])
    while True:
        ordered = points[rank]
        low, high = (extreme.reduceat(ordered, cuts[:-1]) for extreme in (np.minimum, np.maximum))
        sizes = np.diff(cuts)
        if sizes.max() <= most:
            return rank, Boxes(cuts, low, high)
        require_time("the spanner was built")
        box = np.repeat(np.arange(len(sizes)), sizes)
        widest = np.argmax(high - low, axis=1)[box]
        rank = rank[np.lexsort((ordered[np.arange(n), widest], box))]
        cuts = np.arange(2 * len(sizes) + 1) * n // (2 * len(sizes))
