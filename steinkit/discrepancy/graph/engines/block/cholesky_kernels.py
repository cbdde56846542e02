"""Kernels of the multifrontal Cholesky factorisation; `cholesky` says what they make up.

Nodes are numbered by their place in the elimination order. A front is a group of consecutive nodes, its columns, and
below them the nodes that their elimination touches, its rows. A panel holds the columns of L that belong to a front,
one after another: `panel[q, i]` is entry i of column q, so that loops over i run through consecutive numbers and the
compiler turns them into vector instructions. The same holds for the fronts' Schur complements, `update[b, a]`, a >= b;
what lies before the diagonal, a < b, holds nothing. Small products are written out; large ones go to BLAS.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from steinkit.runtime.compilation import always_compiled, array_kernel, inner_array_kernel
from steinkit.sample import Floats, Integers

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


def subtract_product(target: Floats, left: Floats, right: Floats, kept: Floats) -> None:
    """Set target = kept[0] target - left'right.

    Parameters
    ----------
    target : ndarray, shape (m, n)
    left, right : ndarray, shapes (k, m) and (k, n)
        All three may be parts of larger matrices; the entries of a row follow one another.
    kept : ndarray, shape (1,)
        One, or zero where the target holds nothing yet, be it infinite.

    Notes
    -----
    Numba offers BLAS through `np.dot`, for contiguous matrices and into a new place only. Parts of a factor are not
    contiguous, and their products are to be taken from another part. So BLAS is called here as Numba calls it itself,
    by the helper that its run time library exports.
    """
    product = left.T @ right
    target[:] = target - product if kept[0] == 1.0 else -product


@overload(subtract_product, jit_options={"nogil": True})
def _compiled(target, left, right, kept):  # type: ignore[no-untyped-def]
    def implementation(target, left, right, kept):  # type: ignore[no-untyped-def]
        # BLAS counts along columns first: to it the matrices are their transposes
        _gemm(
            _KIND, _AS_IT_IS, _TRANSPOSED, target.shape[1], target.shape[0], left.shape[0],
            _MINUS_ONE.ctypes, right.ctypes, right.strides[0] // 8, left.ctypes, left.strides[0] // 8,
            kept.ctypes, target.ctypes, target.strides[0] // 8,
        )  # fmt: skip

    return implementation


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
        Work space, see `cholesky.Factorisation`.
    stop : ndarray of bool, shape (1,)
        Once it is true the factorisation is left unfinished.

    Returns
    -------
    int
        Pivots lost to rounding and replaced.
    """
    p = fronts.block
    held = np.empty(fronts.children.size, np.int64)  # fronts whose Schur complements are on the stack
    top, columns = np.int64(0), np.int64(0)  # literals would be types of their own, and all they go to compiled anew
    n_held, lost = 0, 0
    for s in range(fronts.children.size):
        if stop[0]:
            break
        width = p * (fronts.first[s + 1] - fronts.first[s])
        below = p * (fronts.rows_start[s + 1] - fronts.rows_start[s])
        size = width + below
        start = fronts.panel_start[s]
        panel = panels[start : start + width * size].reshape(width, size)
        update = stack[top : top + below * below].reshape(below, below)
        n_held -= fronts.children[s]
        children = held[n_held : n_held + fronts.children[s]]
        bottom = _gather_children(fronts, children, stack, top, columns, width, panel)
        lost += _eliminate(panel, stop)
        if below:
            _subtract_gram(panel, update, stop)
            _gather_children(fronts, children, stack, top, width, size, update)
            if bottom < top:
                for b in range(below):
                    for i in range(b * below + b, (b + 1) * below):
                        stack[bottom + i] = stack[top + i]
            held[n_held] = s
            n_held += 1
        top = bottom + below * below
    return lost


@inner_array_kernel
def _gather_children(fronts, children, stack, top, low, high, target):  # type: ignore[no-untyped-def]
    """Add to entries low to high of a front, the target's rows, what children pass on; returns where that begins."""
    p = fronts.block
    bottom = top
    for k in range(children.size - 1, -1, -1):
        c = children[k]
        place = fronts.place[fronts.rows_start[c] : fronts.rows_start[c + 1]]
        height = p * place.size
        bottom -= height * height
        _extend_add(stack[bottom : bottom + height * height].reshape(height, height), place, p, low, high, target)
    return bottom


@inner_array_kernel
def _extend_add(passed, place, p, low, high, target):  # type: ignore[no-untyped-def]
    """Add the columns of a child's Schur complement that belong to entries low to high of its parent."""
    shift = high - target.shape[0] if low else 0  # entry of the front that the target's rows begin with
    for column in range(place.size):
        if not low <= p * place[column] < high:
            continue
        row = column
        while row < place.size:  # rows that follow one another in the parent, too, are added at once
            first = row
            row += 1
            while row < place.size and place[row] == place[first] + row - first:
                row += 1
            for b in range(p):
                source, to = passed[p * column + b], target[p * place[column] + b - shift]
                away = p * (place[first] - first) - shift
                for i in range(max(p * first, p * column + b), p * row):
                    to[away + i] += source[i]


@inner_array_kernel
def _eliminate(panel, stop):  # type: ignore[no-untyped-def]
    """Cholesky factorisation of a panel's columns; returns how many pivots were lost to rounding."""
    width, size = panel.shape
    is_large = width * width * size > 4 * _BLAS_FLOPS
    many, few = (_COLUMNS, _FEW_COLUMNS) if is_large else (width, width)
    lost = 0
    for first in range(0, width, many):
        last = min(first + many, width)
        if first:
            subtract_product(panel[first:last, first:], panel[:first, first:last], panel[:first, first:], _KEPT)
        for low in range(first, last, few):
            if stop[0]:
                return lost
            high = min(low + few, last)
            if low > first:
                before = panel[first:low]
                subtract_product(panel[low:high, low:], before[:, low:high], before[:, low:], _KEPT)
            for j in range(low, high):
                lost += _eliminate_column(panel, low, j)
    return lost


@inner_array_kernel
def _eliminate_column(panel, low, j):  # type: ignore[no-untyped-def]
    """Subtract from a panel's column j what columns low to j - 1 contribute, and scale it; 1 if the pivot was lost."""
    before = panel[j, j]
    _subtract_products(panel[j, j:], panel[low:j], j)
    pivot = panel[j, j]
    is_lost = not pivot > _SMALLEST_PIVOT * abs(before)
    root = np.sqrt(_PARKED_PIVOT if is_lost else pivot)
    panel[j, j] = root
    inverse = 1.0 / root
    rest = panel[j, j + 1 :]
    for i in range(rest.size):
        rest[i] *= inverse
    return int(is_lost)


@inner_array_kernel
def _subtract_gram(panel, update, stop):  # type: ignore[no-untyped-def]
    """Set the Schur complement to less what a front's columns contribute: the products of their entries."""
    width, below = panel.shape[0], update.shape[0]
    if width * below * below < _BLAS_FLOPS:
        for b in range(below):
            target = update[b, b:]
            for i in range(target.size):
                target[i] = 0.0
            _subtract_products(target, panel, width + b)
        return
    for b in range(0, below, _ROWS):
        if stop[0]:
            break
        end = min(b + _ROWS, below)
        subtract_product(update[b:end, b:], panel[:, width + b : width + end], panel[:, width + b :], _FORGOTTEN)


@inner_array_kernel
def _subtract_products(target, columns, first):  # type: ignore[no-untyped-def]
    """Subtract from target[i] the sum over q of columns[q, first] columns[q, first + i]."""
    depth = columns.shape[0]
    for q in range(0, depth, 4):
        a = columns[q, first]
        b = columns[q + 1, first] if q + 1 < depth else 0.0
        c = columns[q + 2, first] if q + 2 < depth else 0.0
        d = columns[q + 3, first] if q + 3 < depth else 0.0
        _subtract_four(target, columns, q, first, a, b, c, d)


@inner_array_kernel
def _subtract_four(target, panel, q, column, a, b, c, d):  # type: ignore[no-untyped-def]
    """Subtract a, b, c and d times rows q to q + 3 of the panel, from a column on; rows beyond the last count as 0."""
    end, last = column + target.size, panel.shape[0] - 1
    row_a, row_b = panel[q, column:end], panel[min(q + 1, last), column:end]
    row_c, row_d = panel[min(q + 2, last), column:end], panel[min(q + 3, last), column:end]
    for i in range(target.size):
        target[i] -= (a * row_a[i] + b * row_b[i]) + (c * row_c[i] + d * row_d[i])


@always_compiled
@array_kernel
def solve(fronts, panels, x, local):  # type: ignore[no-untyped-def]
    """Solve L L' x = b in place; x is ordered by elimination, `local` is as long as the largest front."""
    for s in range(fronts.children.size):
        panel, entries = _gather(fronts, s, panels, x, local)
        _forward(panel, entries)
        low, width = fronts.block * fronts.first[s], panel.shape[0]
        for q in range(width):
            x[low + q] = entries[q]
        k = width
        for r in range(fronts.rows_start[s], fronts.rows_start[s + 1]):
            for a in range(fronts.block):
                x[fronts.rows[r] * fronts.block + a] = entries[k]
                k += 1
    for s in range(fronts.children.size - 1, -1, -1):
        panel, entries = _gather(fronts, s, panels, x, local)
        _backward(panel, entries)
        low = fronts.block * fronts.first[s]
        for q in range(panel.shape[0]):
            x[low + q] = entries[q]


@inner_array_kernel
def _gather(fronts, s, panels, x, local):  # type: ignore[no-untyped-def]
    """A front's panel, and a copy of the entries of x at its columns and rows."""
    p = fronts.block
    low, width = p * fronts.first[s], p * (fronts.first[s + 1] - fronts.first[s])
    size = width + p * (fronts.rows_start[s + 1] - fronts.rows_start[s])
    entries = local[:size]
    for q in range(width):
        entries[q] = x[low + q]
    k = width
    for r in range(fronts.rows_start[s], fronts.rows_start[s + 1]):
        for a in range(p):
            entries[k] = x[fronts.rows[r] * p + a]
            k += 1
    start = fronts.panel_start[s]
    return panels[start : start + width * size].reshape(width, size), entries


@inner_array_kernel
def _forward(panel, entries):  # type: ignore[no-untyped-def]
    """Solve for a front's columns with L, and take their share from its rows."""
    width = panel.shape[0]
    for q in range(0, width, 4):
        end = min(q + 4, width)
        for k in range(q, end):
            entries[k] /= panel[k, k]
            for i in range(k + 1, end):
                entries[i] -= entries[k] * panel[k, i]
        a = entries[q]
        b = entries[q + 1] if q + 1 < end else 0.0
        c = entries[q + 2] if q + 2 < end else 0.0
        d = entries[q + 3] if q + 3 < end else 0.0
        _subtract_four(entries[end:], panel, q, end, a, b, c, d)


@inner_array_kernel
def _backward(panel, entries):  # type: ignore[no-untyped-def]
    """Solve for a front's columns with L', its rows being known."""
    width, size = panel.shape
    for end in range(width, 0, -4):
        q = max(end - 4, 0)
        k_b, k_c, k_d = min(q + 1, end - 1), min(q + 2, end - 1), min(q + 3, end - 1)
        rest = entries[end:]
        row_a, row_b, row_c, row_d = panel[q, end:], panel[k_b, end:], panel[k_c, end:], panel[k_d, end:]
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for i in range(size - end):
            value = rest[i]
            a += row_a[i] * value
            b += row_b[i] * value
            c += row_c[i] * value
            d += row_d[i] * value
        entries[k_d] -= d
        if k_c < k_d:
            entries[k_c] -= c
        if k_b < k_c:
            entries[k_b] -= b
        if q < k_b:
            entries[q] -= a
        for k in range(end - 1, q - 1, -1):
            for i in range(k + 1, end):
                entries[k] -= panel[k, i] * entries[i]
            entries[k] /= panel[k, k]
