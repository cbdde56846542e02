"""Rows of an array that repeat: which are the first of their kind."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_MULTIPLIERS = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB], dtype=np.uint64)
_SHIFTS = np.array([30, 27], dtype=np.uint64)


def first_occurrences(points: Floats) -> tuple[Integers, Integers]:
    """Index of the first of each group of equal rows, in order of appearance, and the group of every row.

    Rows are sorted by a hash; should two that differ share theirs, by all their coordinates, which takes longer.
    """
    found = _by_hash(points)
    return _by_coordinates(points) if found is None else found


def _by_hash(points: Floats) -> tuple[Integers, Integers] | None:
    hashes = _row_hashes(points)
    order = np.argsort(hashes, kind="stable")  # equal rows stay in order of appearance
    starts = np.ones(len(points), dtype=bool)
    starts[1:] = hashes[order[1:]] != hashes[order[:-1]]
    if starts.all():
        alone = np.arange(len(points))
        return alone, alone
    group = _numbered(order, starts)
    leaders = np.sort(order[starts])
    repeats = np.flatnonzero(leaders[group] != np.arange(len(points)))
    if (points[repeats] != points[leaders[group[repeats]]]).any():
        return None
    return leaders, group


def _row_hashes(points: Floats) -> NDArray[np.uint64]:
    """64 bits of each row, the same for rows that are equal as numbers, by the mixing steps of splitmix64."""
    hashes = np.zeros(len(points), dtype=np.uint64)
    for column in points.T:
        bits = (column + 0.0).view(np.uint64)  # -0.0 is 0.0
        hashes *= _MULTIPLIERS[0]
        hashes += bits
        for shift, multiplier in zip(_SHIFTS, _MULTIPLIERS[1:], strict=True):
            hashes ^= hashes >> shift
            hashes *= multiplier
    return hashes


def _numbered(order: Integers, starts: NDArray[np.bool_]) -> Integers:
    """The group of every row, numbered by first appearance, of rows in an order in which groups start somewhere."""
    leaders = order[starts]
    rank = np.empty(len(leaders), dtype=np.int64)
    rank[np.argsort(leaders)] = np.arange(len(leaders))
    group = np.empty(len(order), dtype=np.int64)
    group[order] = rank[np.cumsum(starts) - 1]
    return group


def _by_coordinates(points: Floats) -> tuple[Integers, Integers]:
    order = np.lexsort(points.T[::-1])  # stable: equal rows stay in order of appearance
    ordered = points[order]
    starts = np.ones(len(points), dtype=bool)
    starts[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    return np.sort(order[starts]), _numbered(order, starts)
