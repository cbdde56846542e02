"""Programs of up to eight coordinates, laid out for passes over their rows.

Columns are ordered by point, gamma_i, Gamma_i1, ..., Gamma_id together, and rows by the points they join, so that the
entries that a pass touches one after the other are near in memory. The rows of the edges come first; those that a bound
adds to one coordinate follow, a group for each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from steinkit.discrepancy.graph.engines.first_order.halpern_kernels import LaneColumns, LaneRows
from steinkit.discrepancy.graph.engines.first_order.simd_lanes import LANES
from steinkit.discrepancy.graph.programs.matrix_form import CoordinateProgram, power_of_two
from steinkit.sample import Floats, Integers

_SMALLEST_RADIUS = 1e-30  # keeps steps within single precision; the certificate judges by the radii as they are
_RELAXATION = 1.6  # lambda in (0, 2); a plain projection, 1, takes four times the sweeps


@dataclass(frozen=True, eq=False)
class Layout:
    """A batch of programs in lanes; a lane without a program has b = 0.

    Attributes
    ----------
    programs : list of CoordinateProgram
        One a lane, at most eight.
    rows, columns : LaneRows, LaneColumns
        In single precision, with the steps sigma and tau of the iteration.
    exact_rows, exact_columns : LaneRows, LaneColumns
        In double precision, with the steps lambda/||a||^2 of the repair on rows.
    scale : ndarray, shape (programs,)
        What the objectives were divided by: their largest entries.
    units, row_units : ndarray
        Powers of two: the variables laid out stand for y * units, and rows and radii were divided by row_units, so that
        neither iteration nor range depends on the units of the sample.
    column_order, row_order : ndarray of int
        Columns and rows of the edges in the order laid out.
    """

    programs: list[CoordinateProgram]
    rows: LaneRows
    columns: LaneColumns
    exact_rows: LaneRows
    exact_columns: LaneColumns
    scale: Floats
    units: Floats
    row_units: Floats
    column_order: Integers
    row_order: Integers

    def variables(self, lane: int, y: Floats) -> Floats:
        """One lane's variables in the order of its program."""
        found = np.empty(len(self.column_order))
        found[self.column_order] = y[:, lane] * self.units
        return found

    def multipliers(self, lane: int, p: Floats) -> Floats:
        """One lane's multipliers in the order and in the units of its program."""
        shared = len(self.row_order)
        found = np.empty(len(self.programs[lane].radius))
        p = p[:, lane].astype(np.float64) / self.row_units
        found[self.row_order] = p[:shared]
        groups = self.rows.groups
        found[shared:] = p[groups[lane + 1] : groups[lane + 2]]
        found *= self.scale[lane]
        return found


def lay_out(programs: list[CoordinateProgram], shared: int) -> Layout:
    """Lay out up to eight programs whose first `shared` rows are the same."""
    first = programs[0]
    n = first.n_points
    column_order = np.arange(len(first.box)).reshape(-1, n).T.ravel()
    row_order = _along_the_edges(first.matrix[:shared], n)
    extra = [sparse.csr_array(program.matrix[shared:]) for program in programs]
    matrix = sparse.vstack([first.matrix[:shared][row_order], *extra], format="csr")[:, column_order]
    matrix = sparse.csr_array(matrix)
    matrix.sort_indices()
    radius = np.concatenate([first.radius[:shared][row_order], *(program.radius[shared:] for program in programs)])
    groups = np.cumsum([0, shared, *(part.shape[0] for part in extra)])
    member = np.zeros((len(programs) + 1, LANES))
    member[0] = 1.0
    member[1:, : len(programs)] = np.eye(len(programs))

    objective, box = np.zeros((2, len(column_order), LANES))
    for lane, program in enumerate(programs):
        objective[:, lane], box[:, lane] = program.objective[column_order], program.box[column_order]
    units, row_units = power_of_two(box.max(axis=1)), power_of_two(np.maximum(radius, _SMALLEST_RADIUS))
    matrix.data *= units[matrix.indices] / np.repeat(row_units, np.diff(matrix.indptr))
    objective, box, radius = objective * units[:, None], box / units[:, None], radius / row_units
    scale = np.abs(objective).max(axis=0)
    scale[scale == 0.0] = 1.0
    objective /= scale
    sigma, tau = _steps(matrix, np.maximum(radius, _SMALLEST_RADIUS), groups, member)
    squares = np.asarray((matrix**2).sum(axis=1))

    def rows(dtype: type, step: Floats) -> LaneRows:
        return LaneRows(
            matrix.indptr.astype(np.uint64),
            matrix.indices.astype(np.uint32),
            matrix.data.astype(dtype),
            radius.astype(dtype),
            step.astype(dtype),
            groups,
            member.astype(dtype),
        )

    def columns(dtype: type) -> LaneColumns:
        return LaneColumns(objective.astype(dtype), box.astype(dtype), tau.astype(dtype))

    return Layout(
        programs,
        rows(np.float32, sigma),
        columns(np.float32),
        rows(np.float64, _RELAXATION / squares),
        columns(np.float64),
        scale,
        units,
        row_units,
        column_order,
        row_order,
    )


def _along_the_edges(matrix: sparse.csr_array, n_points: int) -> Integers:
    """Order of the rows by the first and then the last point that they join."""
    if not matrix.shape[0]:
        return np.arange(0)
    point = matrix.indices % n_points
    start = matrix.indptr[:-1]
    return np.lexsort((np.maximum.reduceat(point, start), np.minimum.reduceat(point, start)))


def _steps(matrix: sparse.csr_array, radius: Floats, groups: Integers, member: Floats) -> tuple[Floats, Floats]:
    """Diagonal steps for rows scaled to radius one: 1/(r sum |a|) a row, 1/sum(|a|/r) a column and lane."""
    magnitudes = sparse.csr_array(abs(matrix))
    sigma = 1.0 / (radius * np.asarray(magnitudes.sum(axis=1)))
    sums = np.zeros((matrix.shape[1], LANES))
    for begin, end, lanes in zip(groups[:-1], groups[1:], member, strict=True):
        sums += np.outer(magnitudes[begin:end].T @ (1.0 / radius[begin:end]), lanes)
    held = sums[sums > 0.0]
    least = held.min() if held.size else 1.0  # a column without rows, or with rows too wide to hold it, takes any step
    return sigma, 1.0 / np.maximum(sums, least)
