"""`rows_kernels` on whole arrays, to the same bits, for small programs before these kernels are compiled.

Numbers are added up in the order in which the kernels add them. The factorisation itself and the solution with its
factor are kernels here, too: nothing else does them in a time worth having.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from steinkit.discrepancy.graph.solvers.block import cholesky_kernels
from steinkit.discrepancy.graph.solvers.block.cholesky_kernels import Fronts
from steinkit.sample import Floats, Integers


def node_pairs(starts: Integers, nodes: Integers, n_nodes: int, begin: int, end: int) -> Integers:
    """Pairs i < k of nodes that a row from begin to end has in common, as i n_nodes + k; some more than once."""
    low, high = _ordered_pairs(starts[begin : end + 1], nodes)
    return (low * n_nodes + high)[low < high]


def pair_positions(starts: Integers, columns: Integers, fronts: Fronts, begin: int, end: int) -> Integers:
    """Where the product of each pair of entries of the rows from begin to end belongs in the panels, in order."""
    p, widths, heights = fronts.block, np.diff(fronts.first), np.diff(fronts.rows_start)
    low, high = _ordered_pairs(starts[begin : end + 1], columns)
    later, n_nodes, numbers = high // p, fronts.first[-1], np.arange(len(widths))
    s = np.repeat(numbers, widths)[low // p]
    keys = np.repeat(numbers, heights) * n_nodes + fronts.rows
    among_rows = np.searchsorted(keys, s * n_nodes + later) - fronts.rows_start[s]
    place = np.where(later < fronts.first[s + 1], later - fronts.first[s], widths[s] + among_rows)
    column = (low - p * fronts.first[s]) * p * (widths + heights)[s]
    return np.asarray(fronts.panel_start[s] + column + place * p + high % p)


def factorise(
    rows: Any, weights: Floats, positions: Integers, diagonal: Integers, fronts: Fronts, panels: Floats, *work: Any
) -> int:
    """Form H = B' diag(weights) B in the panels and factorise it; returns the number of pivots lost to rounding."""
    first, second = _pairs(rows.starts)
    weighted = np.repeat(weights[: len(rows.starts) - 1], np.diff(rows.starts)) * rows.values
    panels[:] = np.bincount(positions, weighted[first] * rows.values[second], minlength=len(panels))
    panels[diagonal] += weights[len(rows.starts) - 1 :]
    return int(cholesky_kernels.factorise(fronts, panels, *work))


def newton_step(
    rows: Any,
    objective: Floats,
    force: Floats,
    fronts: Fronts,
    panels: Floats,
    local: Floats,
    x: Floats,
    change: Floats,
) -> None:
    """Solve H x = b + B'force and set change = B x."""
    m = len(rows.starts) - 1
    x[:] = objective + force[m:]
    _add_transposed(rows, force, x)
    cholesky_kernels.solve(fronts, panels, x, local)
    change[:m] = _product(rows, x)
    change[m:] = x


def bounds(
    rows: Any, objective: Floats, x: Floats, multipliers: Floats, combined: Floats, activity: Floats
) -> tuple[float, float]:
    """Lower bound b'x, scaled until x is feasible, and upper bound 1'|p| + 1'|b - B'p| of the optimum."""
    activity[:] = _product(rows, x)
    combined[:] = 0.0
    _add_transposed(rows, multipliers, combined)
    violation = max(1.0, np.fmax.reduce(np.abs(x)), np.fmax.reduce(np.abs(activity)))
    sizes = np.concatenate([np.abs(multipliers[: len(activity)]), np.abs(objective - combined)])
    return float(np.cumsum(objective * x)[-1] / violation), float(np.cumsum(sizes)[-1])


def _pairs(starts: Integers) -> tuple[Integers, Integers]:
    """Numbers a and b <= a of the entries of every row, all b for an a after one another."""
    lengths = np.diff(starts)
    entries = np.arange(starts[0], starts[-1])
    beginning = np.repeat(starts[:-1], lengths)
    count = entries - beginning + 1
    among = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    return np.repeat(entries, count), np.repeat(beginning, count) + among


def _ordered_pairs(starts: Integers, columns: Integers) -> tuple[Integers, Integers]:
    first, second = _pairs(starts)
    return np.minimum(columns[first], columns[second]), np.maximum(columns[first], columns[second])


def _product(rows: Any, x: Floats) -> Floats:
    """A x."""
    m = len(rows.starts) - 1
    row = np.repeat(np.arange(m), np.diff(rows.starts))
    return np.asarray(np.bincount(row, rows.values * x[rows.columns], minlength=m), dtype=np.float64)


def _add_transposed(rows: Any, force: Floats, x: Floats) -> None:
    """Add A'force to x, where the first entries of the force belong to A."""
    np.add.at(x, rows.columns, rows.values * np.repeat(force[: len(rows.starts) - 1], np.diff(rows.starts)))
