"""Compiled passes of the first-order method over the rows of a program.

The program is scaled to max b'y subject to |A y| <= 1 and |y| <= 1. The rows of A are compressed: row i has the entries
start[i] to start[i + 1] - 1. The module `first_order` describes the method. None of these functions allocates memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steinkit.runtime.compilation import array_kernel
from steinkit.sample import Floats, Integers


class MatrixRows(NamedTuple):
    """Rows of A in compressed form.

    Attributes
    ----------
    start : ndarray of uint32, shape (m + 1,)
    column : ndarray of uint32, shape (entries,)
    value : ndarray, shape (entries,)
        Entries in float32 for `halpern_steps`, and in float64 for `repair`.
    """

    start: NDArray[np.uint32]
    column: NDArray[np.uint32]
    value: Floats


class Iterates(NamedTuple):
    """Iterates of the method in float32.

    Attributes
    ----------
    y, anchor_y, ahead : ndarray, shape (N,)
        Variables, variables at the last restart, and 2 y+ - y.
    p, anchor_p : ndarray, shape (m,)
        Multipliers, and multipliers at the last restart.
    pull : ndarray, shape (N,)
        A'p.
    """

    y: Floats
    anchor_y: Floats
    ahead: Floats
    p: Floats
    anchor_p: Floats
    pull: Floats


@array_kernel
def halpern_steps(
    rows: MatrixRows,
    objective: Floats,
    tau: Floats,
    sigma: Floats,
    iterates: Iterates,
    weights: Floats,
    active: Integers,
    stop: NDArray[np.bool_],
) -> None:
    """Take several reflected Halpern steps.

    The step is z <- w (2 z+ - z) + (1 - w) z_0, where z = (y, p), with one weight w per step. Only the rows in `active`
    are processed. The multipliers of all other rows must be zero. The steps end as soon as `stop[0]` is true.
    """
    y, anchor_y, ahead, p, anchor_p, pull = iterates
    one, two = np.float32(1.0), np.float32(2.0)
    for weight in weights:
        if stop[0]:
            return
        rest = one - weight
        for i in range(len(y)):
            ahead[i] = two * min(max(y[i] + tau[i] * (objective[i] - pull[i]), -one), one) - y[i]
            y[i] = weight * ahead[i] + rest * anchor_y[i]
            pull[i] = np.float32(0.0)
        for i in active:
            begin, end = rows.start[i], rows.start[i + 1]
            product = np.float32(0.0)
            for k in range(begin, end):
                product += rows.value[k] * ahead[rows.column[k]]
            moved = p[i] + sigma[i] * product
            if p[i] == 0.0 and anchor_p[i] == 0.0 and abs(moved) <= sigma[i]:
                continue
            stepped = moved - min(max(moved, -sigma[i]), sigma[i])
            multiplier = weight * (two * stepped - p[i]) + rest * anchor_p[i]
            p[i] = multiplier
            for k in range(begin, end):
                pull[rows.column[k]] += rows.value[k] * multiplier


@array_kernel
def repair(
    rows: MatrixRows, step: Floats, y: Floats, limit: float, most: float, sweeps: int, stop: NDArray[np.bool_]
) -> None:
    """Reduce row violations by relaxed Kaczmarz sweeps.

    Each sweep is followed by a projection onto the box. If |a'y| > R for a row a, the sweep adds -lambda (a'y -+ R)
    a/||a||^2 to y, where 0 < lambda < 2. The value lambda = 1 corresponds to the projection onto |a'y| <= R.

    Parameters
    ----------
    rows : MatrixRows
        Rows in float64.
    step : ndarray, shape (m,)
        Steps lambda/||a||^2.
    y : ndarray, shape (N,)
        Variables, which are updated in place.
    limit : float
        The number R.
    most : float
        The sweeps end if no row exceeds this number.
    sweeps : int
        Maximum number of sweeps.
    stop : ndarray of bool, shape (1,)
        No further sweep begins once the flag is true.
    """
    for _ in range(sweeps):
        if stop[0]:
            return
        worst = 0.0
        for i in range(len(step)):
            product = 0.0
            for k in range(rows.start[i], rows.start[i + 1]):
                product += rows.value[k] * y[rows.column[k]]
            if abs(product) > limit:
                worst = max(worst, abs(product))
                change = step[i] * (min(max(product, -limit), limit) - product)
                for k in range(rows.start[i], rows.start[i + 1]):
                    y[rows.column[k]] += change * rows.value[k]
        for i in range(len(y)):
            y[i] = min(max(y[i], -1.0), 1.0)
        if worst <= most:
            return
