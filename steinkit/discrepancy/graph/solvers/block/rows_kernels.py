"""Compiled kernels that operate on the rows of a Stein program.

The kernels compute bounds, the matrix B'WB, and products with B = [A; I]. The matrix A is stored by rows. The columns
of A and all vectors x follow the elimination ordering of the factorization.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from steinkit.discrepancy.graph.solvers.block import cholesky_kernels
from steinkit.runtime.compilation import array_kernel, inner_array_kernel
from steinkit.sample import Floats, Integers

_eliminate_all = cholesky_kernels.factorise
_solve = cholesky_kernels.solve


class SparseRows(NamedTuple):
    """Sparse matrix stored by rows.

    Row i consists of the entries starts[i] to starts[i + 1] - 1 of `columns` and `values`.
    """

    starts: Integers
    columns: Integers
    values: Floats


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
def factorise(rows, weights, positions, diagonal, fronts, panels, stack, stop):  # type: ignore[no-untyped-def]
    """Assemble H = B' diag(weights) B in the panels, and factorize H.

    Return the number of replaced pivots. The factorization is abandoned when ``stop[0]`` becomes true.
    """
    for i in range(panels.size):
        panels[i] = 0.0
    count, m = 0, rows.starts.size - 1
    for row in range(m):
        for a in range(rows.starts[row], rows.starts[row + 1]):
            weighted = weights[row] * rows.values[a]
            for b in range(rows.starts[row], a + 1):
                panels[positions[count]] += weighted * rows.values[b]
                count += 1
    for column in range(diagonal.size):
        panels[diagonal[column]] += weights[m + column]
    return _eliminate_all(fronts, panels, stack, stop)


@array_kernel
def newton_step(rows, objective, force, fronts, panels, local, x, change):  # type: ignore[no-untyped-def]
    """Solve H x = b + B'force and set change = B x."""
    m = rows.starts.size - 1
    for column in range(x.size):
        x[column] = objective[column] + force[m + column]
    _add_transposed(rows.starts, rows.columns, rows.values, force, x)
    _solve(fronts, panels, x, local)
    _multiply(rows.starts, rows.columns, rows.values, x, change)
    for column in range(x.size):
        change[m + column] = x[column]


@array_kernel
def bounds(rows, objective, x, multipliers, combined, activity):  # type: ignore[no-untyped-def]
    """Return the bounds b'x / max(1, |B x|) and 1'|p| + 1'|b - B'p|.

    The array p contains the multipliers. The work arrays are `combined` of shape (N,) and `activity` of shape (m,).
    """
    value, violation = 0.0, 1.0
    for column in range(x.size):
        value += objective[column] * x[column]
        violation = max(violation, abs(x[column]))
    upper = 0.0
    _multiply(rows.starts, rows.columns, rows.values, x, activity)
    for row in range(activity.size):
        violation = max(violation, abs(activity[row]))
        upper += abs(multipliers[row])
    combined[:] = 0.0
    _add_transposed(rows.starts, rows.columns, rows.values, multipliers, combined)
    for column in range(x.size):
        upper += abs(objective[column] - combined[column])
    return value / violation, upper


@inner_array_kernel
def _multiply(starts, columns, values, x, product):  # type: ignore[no-untyped-def]
    """Set the first m entries of a product to A x."""
    for row in range(starts.size - 1):
        value = 0.0
        for k in range(starts[row], starts[row + 1]):
            value += values[k] * x[columns[k]]
        product[row] = value


@inner_array_kernel
def _add_transposed(starts, columns, values, force, x):  # type: ignore[no-untyped-def]
    """Add A'force to x, using the first m entries of the force."""
    for row in range(starts.size - 1):
        weight = force[row]
        for k in range(starts[row], starts[row + 1]):
            x[columns[k]] += values[k] * weight
