"""Kernels of the multifrontal Cholesky factorisation; `newton_system` says what they make up.

Nodes are numbered by their place in the elimination order. A front is a group of consecutive nodes, its columns, and
below them the nodes that their elimination touches, its rows. A panel holds the columns of L that belong to a front,
one after another: entry i of column q is `panel[q * size + i]`, so that loops over i run through consecutive numbers
and the compiler turns them into vector instructions. The same holds for the fronts' Schur complements, column b of
which begins at `update[b * below]`; what lies before the diagonal holds nothing. Small products are written out; large
ones go to BLAS.

These two kernels are compiled before the first small sample is scored. What takes Numba long is left out therefore:
matrices instead of their entries one after another, `min` and `max`, tuples, and literals as arguments, each of which
is a type of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numba import types

from steinkit.runtime.compilation import always_compiled, array_kernel, inner_array_kernel
from steinkit.sample import Integers

_SMALLEST_PIVOT = 1e-30  # relative to the diagonal entry before the columns of its front are eliminated
_PARKED_PIVOT = 1e128  # takes the place of a pivot lost to rounding: the variable stands still
_COLUMNS, _FEW_COLUMNS = 96, 16  # factorised at a time, and of those at a time, where products go to BLAS
_ROWS = 128  # of a symmetric product computed at a time; what lies before the diagonal is wasted
_BLAS_FLOPS = 60_000  # a product as large is worth a call of BLAS
_KEPT, _FORGOTTEN = np.ones(1), np.zeros(1)

_DOUBLES = types.CPointer(types.float64)
_gemm = types.ExternalFunction(
    "numba_xxgemm",
    types.intc(
        types.char, types.char, types.char,  # kind of numbers, and whether to transpose either matrix
        types.intp, types.intp, types.intp,
        _DOUBLES, _DOUBLES, types.intp, _DOUBLES, types.intp, _DOUBLES, _DOUBLES, types.intp,
    ),
)  # fmt: skip
_KIND, _AS_IT_IS, _TRANSPOSED = ord("d"), ord("N"), ord("T")
_MINUS_ONE = np.array([-1.0])


class Fronts(NamedTuple):
    """Fronts of a factorisation, in elimination order (children before parents).

    Front s owns the nodes first[s] to first[s + 1] - 1 and touches the later nodes rows[rows_start[s]:rows_start[s +
    1]]; `place` says where in the front of its parent each of those is, counted in nodes. Its panel starts at
    panel_start[s]. A node stands for `block` columns of the matrix.
    """

    block: int
    first: Integers
    rows_start: Integers
    rows: Integers
    place: Integers
    children: Integers
    panel_start: Integers


def _by_numpy(target, step, rows, size, depth, m, n, kept):  # type: ignore[no-untyped-def]
    """`subtract_products` where nothing is compiled."""
    right = np.lib.stride_tricks.as_strided(rows, (depth, n), (8 * size, 8))
    to = np.lib.stride_tricks.as_strided(target, (m, n), (8 * step, 8))
    to[:] = (to if kept[0] == 1.0 else 0.0) - right[:, :m].T @ right


@inner_array_kernel
def _by_blas(target, step, rows, size, depth, m, n, kept):  # type: ignore[no-untyped-def]
    """Subtract from entry k < n of row i < m of the target the products of entries i and k of ``depth`` rows, summed.

    Parameters
    ----------
    target, rows : ndarray
        Row i begins at target[i * step], at rows[i * size].
    kept : ndarray, shape (1,)
        One, or zero where the target holds nothing yet, be it infinite.

    Notes
    -----
    Numba offers BLAS through `np.dot`, for contiguous matrices and into a new place only. Parts of a factor are not
    contiguous, and their products are to be taken from another part. So BLAS is called here as Numba calls it itself,
    by the helper that its run time library exports. It counts along columns first: to it the matrices are their
    transposes.
    """
    _gemm(
        _KIND, _AS_IT_IS, _TRANSPOSED, n, m, depth,
        _MINUS_ONE.ctypes, rows.ctypes, size, rows.ctypes, size, kept.ctypes, target.ctypes, step,
    )  # fmt: skip


subtract_products = _by_numpy if numba.config.DISABLE_JIT else _by_blas


@always_compiled
@array_kernel
def factorise(fronts, panels, stack, stop):  # type: ignore[no-untyped-def]
    """Turn the matrix in the panels into its Cholesky factor.

    Each front gathers what its children pass on (their Schur complements), eliminates its columns, and passes the
    Schur complement of what remains on to its parent, by way of a stack.

    Parameters
    ----------
    fronts : Fronts
    panels : ndarray
        Lower triangle of the matrix on entry, L on return.
    stack : ndarray
        Work space, see `newton_system.Factorisation`.
    stop : ndarray of bool, shape (1,)
        Once it is true the factorisation is left unfinished.

    Returns
    -------
    int
        Pivots lost to rounding and replaced.
    """
    p = fronts.block
    held = np.empty(fronts.children.size, np.int64)  # fronts whose Schur complements are on the stack
    places = np.empty(p * fronts.first[fronts.children.size], np.int64)
    nothing = np.int64(0)
    top = n_held = nothing
    lost = 0
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
        lost += _eliminate(panel, update, width, below, stop)
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
    return lost


@inner_array_kernel
def _extend_add(fronts, child, stack, top, low, high, target, size, places):  # type: ignore[no-untyped-def]
    """Add to entries low to high of a front, the target's rows, what a child passes on; returns where that begins.

    `places` is work space.
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
    """Cholesky factorisation of a panel's columns, and less what they contribute to the rest; returns pivots lost."""
    size = width + below
    many = few = width
    if width * width * size > 4 * _BLAS_FLOPS:
        many = _COLUMNS
        few = _FEW_COLUMNS
    lost = low = 0
    for j in range(width):
        target = panel[j * size + j : (j + 1) * size]
        if few < width and j % few == 0:
            if stop[0]:
                return lost
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
            lost += 1
            pivot = _PARKED_PIVOT
        target[0] = np.sqrt(pivot)
        inverse = 1.0 / target[0]
        for i in range(1, target.size):
            target[i] *= inverse
    if width * below * below < _BLAS_FLOPS:
        _subtract_outer(panel, update, width, below)
        return lost
    for b in range(0, below, _ROWS):
        if stop[0]:
            break
        rows = _ROWS if b + _ROWS < below else below - b
        subtract_products(update[b * below + b :], below, panel[width + b :], size, width, rows, below - b, _FORGOTTEN)
    return lost


@inner_array_kernel
def _subtract_outer(panel, update, width, below):  # type: ignore[no-untyped-def]
    """Set a front's Schur complement to less the products of its rows, by three columns of it and four of the panel.

    Loops are too short for vector instructions to pay. Columns of the complement that are not there stand for the first
    of the three; those of the panel count nothing.
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
    """Subtract a, b, c and d times four rows, each ``size`` behind the last; those beyond the count are not there."""
    second = size if count > 1 else 0
    third = 2 * size if count > 2 else second
    row_b = rows[second:]
    row_c = rows[third:]
    row_d = rows[3 * size if count > 3 else third :]
    for i in range(target.size):
        target[i] -= (a * rows[i] + b * row_b[i]) + (c * row_c[i] + d * row_d[i])


@always_compiled
@array_kernel
def solve(fronts, panels, x, local):  # type: ignore[no-untyped-def]
    """Solve L L' x = b in place; x is ordered by elimination, `local` is as long as the largest front."""
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
    """Solve for a front's columns with L, and take their share from its rows."""
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
    """Solve for a front's columns with L', its rows being known."""
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
