"""Kernels on the rows of a Stein program: products with B = [A; I], the Newton matrix B'WB, and bounds.

A is held row by row; its columns, and with them all vectors x, follow the elimination order of the factorisation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from steinkit.discrepancy.graph.engines.block import cholesky_kernels
from steinkit.runtime.compilation import array_kernel
from steinkit.sample import Floats, Integers

_eliminate_all = cholesky_kernels.factorise
_solve = cholesky_kernels.solve


class Rows(NamedTuple):
    """Matrix A row by row: entries starts[i] to starts[i + 1] - 1 of columns and values make up row i."""

    starts: Integers
    columns: Integers
    values: Floats


@array_kernel
def node_pairs(starts, nodes, n_nodes, begin, end):  # type: ignore[no-untyped-def]
    """Pairs i < k of nodes that a row from begin to end has in common, as i n_nodes + k; some more than once."""
    count = 0
    for row in range(begin, end):
        length = starts[row + 1] - starts[row]
        count += length * (length - 1) // 2
    pairs = np.empty(count, np.int64)
    count = 0
    for row in range(begin, end):
        for a in range(starts[row], starts[row + 1]):
            for b in range(starts[row], a):
                low, high = min(nodes[a], nodes[b]), max(nodes[a], nodes[b])
                pair = low * n_nodes + high
                if low < high and (count == 0 or pairs[count - 1] != pair):
                    pairs[count] = pair
                    count += 1
    return pairs[:count]


@array_kernel
def pair_positions(starts, columns, fronts, begin, end):  # type: ignore[no-untyped-def]
    """Where the product of each pair of entries of the rows from begin to end belongs in the panels, in order."""
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


@array_kernel
def _find(values, low, high, value):  # type: ignore[no-untyped-def]
    """Place of a value in the ascending values[low:high], counted from low."""
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
    """Form H = B' diag(weights) B in the panels and factorise it; returns the number of pivots lost to rounding.

    Once ``stop[0]`` is true the factorisation is left unfinished.
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
    _combine(rows, force, x)
    for column in range(x.size):
        x[column] += objective[column]
    _solve(fronts, panels, x, local)
    m = rows.starts.size - 1
    for row in range(m):
        change[row] = _row_value(rows, row, x)
    for column in range(x.size):
        change[m + column] = x[column]


@array_kernel
def bounds(rows, objective, x, multipliers, combined):  # type: ignore[no-untyped-def]
    """Lower bound b'x, scaled until x is feasible, and upper bound 1'|p| + 1'|b - B'p| of the optimum."""
    value, violation = 0.0, 1.0
    for column in range(x.size):
        value += objective[column] * x[column]
        violation = max(violation, abs(x[column]))
    upper = 0.0
    for row in range(rows.starts.size - 1):
        violation = max(violation, abs(_row_value(rows, row, x)))
        upper += abs(multipliers[row])
    combined[:] = 0.0
    _scatter(rows, multipliers, combined)
    for column in range(x.size):
        upper += abs(objective[column] - combined[column])
    return value / violation, upper


@array_kernel
def _row_value(rows, row, x):  # type: ignore[no-untyped-def]
    """Row of A times x."""
    value = 0.0
    for k in range(rows.starts[row], rows.starts[row + 1]):
        value += rows.values[k] * x[rows.columns[k]]
    return value


@array_kernel
def _combine(rows, force, x):  # type: ignore[no-untyped-def]
    """Set x = B'force."""
    m = rows.starts.size - 1
    for column in range(x.size):
        x[column] = force[m + column]
    _scatter(rows, force, x)


@array_kernel
def _scatter(rows, force, x):  # type: ignore[no-untyped-def]
    """Add A'force to x."""
    for row in range(rows.starts.size - 1):
        for k in range(rows.starts[row], rows.starts[row + 1]):
            x[rows.columns[k]] += rows.values[k] * force[row]
