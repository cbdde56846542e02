"""Compiled kernels for the multifrontal Cholesky factor in `newton_system`.

Nodes are numbered by their position in the elimination ordering. The columns of a front are consecutive nodes, and its
rows are the later nodes that change when these columns are eliminated. A panel contains the columns of L that belong to
a front. Entry i of column q is `panel[q * size + i]`, so loops over i have unit stride and are vectorized. Column b of
the Schur complement of a front begins at `update[b * below]`. Entries before the diagonal are not used. Small products
are written as loops, and large products use BLAS.

The kernels must be compiled before the first result, so they avoid constructs that Numba compiles slowly, such as
two-dimensional arrays, `min` and `max`, tuples, and literals as arguments.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numba import types

from steinkit.runtime.compilation import array_kernel, inner_array_kernel
from steinkit.sample import Integers

_SMALLEST_PIVOT = 1e-30  # relative to the diagonal entry before the elimination of the front
_PARKED_PIVOT = 1e128  # replaces a pivot that is lost to rounding errors; this fixes the variable
_COLUMNS, _FEW_COLUMNS = 96, 16  # sizes of the outer and inner column blocks in BLAS products
_ROWS = 128  # number of rows of a symmetric product that are computed at once
_BLAS_FLOPS = 60_000  # size of the smallest product that uses BLAS
_KEPT, _FORGOTTEN = np.ones(1), np.zeros(1)

_DOUBLES = types.CPointer(types.float64)
_gemm = types.ExternalFunction(
    "numba_xxgemm",
    types.intc(
        types.char, types.char, types.char,  # number type, and flags for transposing either matrix
        types.intp, types.intp, types.intp,
        _DOUBLES, _DOUBLES, types.intp, _DOUBLES, types.intp, _DOUBLES, _DOUBLES, types.intp,
    ),
)  # fmt: skip
_KIND, _AS_IT_IS, _TRANSPOSED = ord("d"), ord("N"), ord("T")
_MINUS_ONE = np.array([-1.0])


class Fronts(NamedTuple):
    """Fronts of a factorization in elimination order (children before parents).

    Front s has the columns first[s] to first[s + 1] - 1 and the rows rows[rows_start[s]:rows_start[s + 1]], counted in
    nodes. The array `place` contains the position of each row in the front of the parent. The panel starts at
    panel_start[s]. A node represents `block` columns of the matrix.
    """

    block: int
    first: Integers
    rows_start: Integers
    rows: Integers
    place: Integers
    children: Integers
    panel_start: Integers


def _by_numpy(target, step, rows, size, depth, m, n, kept):  # type: ignore[no-untyped-def]
    """Subtract R'R from the target with NumPy when Numba is disabled."""
    right = np.lib.stride_tricks.as_strided(rows, (depth, n), (8 * size, 8))
    to = np.lib.stride_tricks.as_strided(target, (m, n), (8 * step, 8))
    to[:] = (to if kept[0] == 1.0 else 0.0) - right[:, :m].T @ right


@inner_array_kernel
def _by_blas(target, step, rows, size, depth, m, n, kept):  # type: ignore[no-untyped-def]
    """Subtract R'R from the target, where R has `depth` rows.

    Entries (i, k) with i < m and k < n are computed.

    Parameters
    ----------
    target, rows : ndarray
        Row i begins at target[i * step] and at rows[i * size].
    kept : ndarray, shape (1,)
        The value 1, or 0 to overwrite the target.

    Notes
    -----
    The function `np.dot` in Numba requires contiguous matrices and allocates the product. The parts of a factor are not
    contiguous. BLAS is therefore called directly through the function that Numba's runtime library exports. BLAS uses
    column-major order, so the matrices appear transposed.
    """
    _gemm(
        _KIND, _AS_IT_IS, _TRANSPOSED, n, m, depth,
        _MINUS_ONE.ctypes, rows.ctypes, size, rows.ctypes, size, kept.ctypes, target.ctypes, step,
    )  # fmt: skip


subtract_products = _by_numpy if numba.config.DISABLE_JIT else _by_blas


@array_kernel
def factorise(fronts, panels, stack, stop):  # type: ignore[no-untyped-def]
    """Compute the Cholesky factor of the matrix in the panels.

    Each front adds the Schur complements of its children, eliminates its columns, and pushes its Schur complement onto
    a stack.

    Parameters
    ----------
    fronts : Fronts
        Structure of the factor.
    panels : ndarray
        Lower triangle of the matrix on entry, and L on return.
    stack : ndarray
        Work array for Schur complements.
    stop : ndarray of bool, shape (1,)
        The factorization is left unfinished once the flag is true.
    """
    p = fronts.block
    held = np.empty(fronts.children.size, np.int64)  # fronts that have Schur complements on the stack
    places = np.empty(p * fronts.first[fronts.children.size], np.int64)
    nothing = np.int64(0)
    top = n_held = nothing
    for s in range(fronts.children.size):
        if stop[0]:
            break
        width = p * (fronts.first[s + 1] - fronts.first[s])
        below = p * (fronts.rows_start[s + 1] - fronts.rows_start[s])
        panel = panels[fronts.panel_start[s] :]
        update = stack[top:]
        before = n_held
        n_held -= fronts.children[s]
        bottom = top
        for k in range(before - 1, n_held - 1, -1):
            bottom = _extend_add(fronts, held[k], stack, bottom, nothing, width, panel, width + below, places)
        _eliminate(panel, update, width, below, stop)
        if below:
            passed = top
            for k in range(before - 1, n_held - 1, -1):
                passed = _extend_add(fronts, held[k], stack, passed, width, width + below, update, below, places)
            if bottom < top:
                for i in range(below * below):
                    stack[bottom + i] = update[i]
            held[n_held] = s
            n_held += 1
        top = bottom + below * below


@inner_array_kernel
def _extend_add(fronts, child, stack, top, low, high, target, size, places):  # type: ignore[no-untyped-def]
    """Add the Schur complement of a child to rows `low` to `high` of a front.

    Return the position on the stack where the Schur complement starts. The array `places` is a work array.
    """
    p = fronts.block
    place = fronts.place[fronts.rows_start[child] : fronts.rows_start[child + 1]]
    height = p * place.size
    bottom = top - height * height
    for k in range(place.size):
        for b in range(p):
            places[p * k + b] = p * place[k] + b - low
    for column in range(height):
        to = places[column]
        if to < 0 or to >= high - low:
            continue
        source = stack[bottom + column * height :]
        entries = target[to * size :]
        for i in range(column, height):
            entries[places[i]] += source[i]
    return bottom


@inner_array_kernel
def _eliminate(panel, update, width, below, stop):  # type: ignore[no-untyped-def]
    """Factorize the columns of a panel and set the Schur complement.

    Pivots that are lost to rounding errors are replaced.
    """
    size = width + below
    many = few = width
    if width * width * size > 4 * _BLAS_FLOPS:
        many = _COLUMNS
        few = _FEW_COLUMNS
    low = 0
    for j in range(width):
        target = panel[j * size + j : (j + 1) * size]
        if few < width and j % few == 0:
            if stop[0]:
                return
            low = j
            first = j // many * many
            columns = few
            if first == j:
                first = 0
                columns = many
            if j + columns > width:
                columns = width - j
            if j:
                subtract_products(target, size, panel[first * size + j :], size, j - first, columns, size - j, _KEPT)
        before = target[0]
        for q in range(low, j, 4):
            start = q * size + j
            b = panel[start + size] if q + 1 < j else 0.0
            c = panel[start + 2 * size] if q + 2 < j else 0.0
            d = panel[start + 3 * size] if q + 3 < j else 0.0
            _subtract_four(target, panel[start:], size, j - q, panel[start], b, c, d)
        pivot = target[0]
        if not pivot > _SMALLEST_PIVOT * abs(before):
            pivot = _PARKED_PIVOT
        target[0] = np.sqrt(pivot)
        inverse = 1.0 / target[0]
        for i in range(1, target.size):
            target[i] *= inverse
    if width * below * below < _BLAS_FLOPS:
        _subtract_outer(panel, update, width, below)
        return
    for b in range(0, below, _ROWS):
        if stop[0]:
            break
        rows = _ROWS if b + _ROWS < below else below - b
        subtract_products(update[b * below + b :], below, panel[width + b :], size, width, rows, below - b, _FORGOTTEN)


@inner_array_kernel
def _subtract_outer(panel, update, width, below):  # type: ignore[no-untyped-def]
    """Compute the Schur complement of a front using loops.

    The loops combine three columns of the complement and four columns of the panel at a time.

    Missing columns of the complement repeat the first of the three, and missing columns of the panel are treated as
    zero.
    """
    size = width + below
    for i in range(below * below):
        update[i] = 0.0
    for q in range(0, width, 4):
        rows = panel[q * size + width :]
        to_b = size if q + 1 < width else 0
        to_c = 2 * size if q + 2 < width else 0
        to_d = 3 * size if q + 3 < width else 0
        is_b = 1.0 if to_b else 0.0
        is_c = 1.0 if to_c else 0.0
        is_d = 1.0 if to_d else 0.0
        for k in range(0, below, 3):
            m = k + 1 if k + 1 < below else k
            n = k + 2 if k + 2 < below else k
            ka, kb, kc, kd = rows[k], is_b * rows[to_b + k], is_c * rows[to_c + k], is_d * rows[to_d + k]
            ma, mb, mc, md = rows[m], is_b * rows[to_b + m], is_c * rows[to_c + m], is_d * rows[to_d + m]
            na, nb, nc, nd = rows[n], is_b * rows[to_b + n], is_c * rows[to_c + n], is_d * rows[to_d + n]
            for i in range(k, below):
                a, b, c, d = rows[i], rows[to_b + i], rows[to_c + i], rows[to_d + i]
                at_k = update[k * below + i] - ((ka * a + kb * b) + (kc * c + kd * d))
                at_m = update[m * below + i] - ((ma * a + mb * b) + (mc * c + md * d))
                update[n * below + i] -= (na * a + nb * b) + (nc * c + nd * d)
                update[m * below + i] = at_m
                update[k * below + i] = at_k


@inner_array_kernel
def _subtract_four(target, rows, size, count, a, b, c, d):  # type: ignore[no-untyped-def]
    """Subtract a, b, c and d times up to four rows with stride `size`.

    Only `count` rows exist.
    """
    second = size if count > 1 else 0
    third = 2 * size if count > 2 else second
    row_b = rows[second:]
    row_c = rows[third:]
    row_d = rows[3 * size if count > 3 else third :]
    for i in range(target.size):
        target[i] -= (a * rows[i] + b * row_b[i]) + (c * row_c[i] + d * row_d[i])


@array_kernel
def solve(fronts, panels, x, local):  # type: ignore[no-untyped-def]
    """Solve L L' x = b in place, in elimination order.

    The array `local` is a work array with the size of the largest front.
    """
    p = fronts.block
    n = fronts.children.size
    for step in range(2 * n):
        s = step if step < n else 2 * n - 1 - step
        low = p * fronts.first[s]
        width = p * fronts.first[s + 1] - low
        panel = panels[fronts.panel_start[s] :]
        rows = fronts.rows[fronts.rows_start[s] : fronts.rows_start[s + 1]]
        entries = local[: width + p * rows.size]
        for q in range(width):
            entries[q] = x[low + q]
        for r in range(rows.size):
            for a in range(p):
                entries[width + p * r + a] = x[p * rows[r] + a]
        if step < n:
            _forward(panel, entries, width)
            for r in range(rows.size):
                for a in range(p):
                    x[p * rows[r] + a] = entries[width + p * r + a]
        else:
            _backward(panel, entries, width)
        for q in range(width):
            x[low + q] = entries[q]


@inner_array_kernel
def _forward(panel, entries, width):  # type: ignore[no-untyped-def]
    """Apply forward substitution to the columns of a front and update its rows."""
    size = entries.size
    for q in range(0, width, 4):
        end = q + 4 if q + 4 < width else width
        for k in range(q, end):
            entries[k] /= panel[k * size + k]
            for i in range(k + 1, end):
                entries[i] -= entries[k] * panel[k * size + i]
        b = entries[q + 1] if q + 1 < end else 0.0
        c = entries[q + 2] if q + 2 < end else 0.0
        d = entries[q + 3] if q + 3 < end else 0.0
        _subtract_four(entries[end:], panel[q * size + end :], size, end - q, entries[q], b, c, d)


@inner_array_kernel
def _backward(panel, entries, width):  # type: ignore[no-untyped-def]
    """Apply back substitution to the columns of a front, given its solved rows."""
    size = entries.size
    for end in range(width, 0, -4):
        q = end - 4 if end > 4 else 0
        rest = entries[end:]
        row_a = panel[q * size + end :]
        row_b = row_a[size if end > q + 1 else 0 :]
        row_c = row_a[2 * size if end > q + 2 else 0 :]
        row_d = row_a[3 * size if end > q + 3 else 0 :]
        a = b = c = d = 0.0
        for i in range(rest.size):
            value = rest[i]
            a += row_a[i] * value
            b += row_b[i] * value
            c += row_c[i] * value
            d += row_d[i] * value
        for k in range(end - 1, q - 1, -1):
            entries[k] -= d if k == q + 3 else c if k == q + 2 else b if k == q + 1 else a
            for i in range(k + 1, end):
                entries[k] -= panel[k * size + i] * entries[i]
            entries[k] /= panel[k * size + k]
