"""Compiled kernels for the Newton matrix of a Stein program.

The matrix is B'WB, where B = [A; I], A contains the rows of the program, and W is diagonal. The columns of A follow the
elimination ordering of the factorization.
"""

from __future__ import annotations

import numpy as np

from steinkit.runtime.compilation import array_kernel, as_source, inner_array_kernel


@as_source
@array_kernel
def pair_positions(starts, columns, fronts, begin, end):  # type: ignore[no-untyped-def]
    """Return the positions in the panels to which products of two entries are added.

    Only the rows from begin to end are processed.
    """
    p = fronts.block
    owner = np.empty(fronts.first[-1], np.int64)
    for s in range(fronts.children.size):
        for node in range(fronts.first[s], fronts.first[s + 1]):
            owner[node] = s
    count = 0
    for row in range(begin, end):
        length = starts[row + 1] - starts[row]
        count += length * (length + 1) // 2
    positions = np.empty(count, np.int64)
    count = 0
    for row in range(begin, end):
        for a in range(starts[row], starts[row + 1]):
            for b in range(starts[row], a + 1):
                low, high = min(columns[a], columns[b]), max(columns[a], columns[b])
                node, later = low // p, high // p
                s = owner[node]
                first, width = fronts.first[s], fronts.first[s + 1] - fronts.first[s]
                height = fronts.rows_start[s + 1] - fronts.rows_start[s]
                if later < first + width:
                    place = later - first
                else:
                    place = width + _find(fronts.rows, fronts.rows_start[s], fronts.rows_start[s + 1], later)
                positions[count] = (
                    fronts.panel_start[s] + (low - p * first) * p * (width + height) + place * p + high % p
                )
                count += 1
    return positions


@inner_array_kernel
def _find(values, low, high, value):  # type: ignore[no-untyped-def]
    """Return the position of a value in the sorted array values[low:high]."""
    start = low
    while high - low > 1:
        middle = (low + high) // 2
        if values[middle] <= value:
            low = middle
        else:
            high = middle
    return low - start


@array_kernel
def assemble(starts, values, weights, positions, diagonal, panels):  # type: ignore[no-untyped-def]
    """Write the lower triangle of B' diag(weights) B to the panels, where B = [A; I].

    Row i of A consists of the entries starts[i] to starts[i + 1] - 1 of `values`.
    """
    panels[:] = 0.0
    count, m = 0, starts.size - 1
    for row in range(m):
        for a in range(starts[row], starts[row + 1]):
            weighted = weights[row] * values[a]
            for b in range(starts[row], a + 1):
                panels[positions[count]] += weighted * values[b]
                count += 1
    for column in range(diagonal.size):
        panels[diagonal[column]] += weights[m + column]
