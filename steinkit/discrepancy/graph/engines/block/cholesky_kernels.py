"""Kernels of the multifrontal Cholesky factorisation; `cholesky` says what they make up.

Nodes are numbered by their place in the elimination order. A front is a group of consecutive nodes, its columns, and
below them the nodes that their elimination touches, its rows. A panel holds the columns of L that belong to a front,
one after another: `panel[q, i]` is entry i of column q, so that loops over i run through consecutive numbers and the
compiler turns them into vector instructions. The same holds for the fronts' Schur complements, `update[b, a]`, a >= b.
Small products are written out; large ones go to BLAS through `np.dot`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from steinkit.runtime.compilation import array_kernel
from steinkit.sample import Integers

_SMALLEST_PIVOT = 1e-30  # relative to the diagonal entry before the columns of its front are eliminated
_PARKED_PIVOT = 1e128  # takes the place of a pivot lost to rounding: the variable stands still
PANEL = 32  # columns factorised at a time where products go to BLAS
CHUNK = 64  # rows of a symmetric product computed at a time; what lies above the diagonal is wasted
_BLAS_FLOPS = 60_000  # a product as large is worth a call of BLAS


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


@array_kernel
def factorise(fronts, panels, stack, factor, product, stop):  # type: ignore[no-untyped-def]
    """Turn the matrix in the panels into its Cholesky factor.

    Each front gathers what its children pass on (their Schur complements), eliminates its columns, and passes the
    Schur complement of what remains on to its parent, by way of a stack.

    Parameters
    ----------
    fronts : Fronts
    panels : ndarray
        Lower triangle of the matrix on entry, L on return.
    stack, factor, product : ndarray
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
    n_held, top, lost = 0, 0, 0
    for s in range(fronts.children.size):
        if stop[0]:
            break
        width = p * (fronts.first[s + 1] - fronts.first[s])
        below = p * (fronts.rows_start[s + 1] - fronts.rows_start[s])
        size = width + below
        start = fronts.panel_start[s]
        panel = panels[start : start + width * size].reshape(width, size)
        update = stack[top : top + below * below].reshape(below, below)
        for i in range(below * below):
            stack[top + i] = 0.0
        bottom = top
        for _ in range(fronts.children[s]):
            n_held -= 1
            c = held[n_held]
            height = fronts.rows_start[c + 1] - fronts.rows_start[c]
            bottom -= height * height * p * p
            passed = stack[bottom : bottom + height * height * p * p].reshape(height * p, height * p)
            _extend_add(passed, fronts.place[fronts.rows_start[c] : fronts.rows_start[c + 1]], p, panel, update)
        lost += _eliminate(panel, factor, product, stop)
        if below:
            _subtract_gram(panel, width, below, update, factor, product, stop)
            if bottom < top:
                for i in range(below * below):
                    stack[bottom + i] = stack[top + i]
            held[n_held] = s
            n_held += 1
        top = bottom + below * below
    return lost


@array_kernel
def _extend_add(passed, place, p, panel, update):  # type: ignore[no-untyped-def]
    """Add a child's Schur complement to its parent's panel and Schur complement."""
    width = panel.shape[0]
    for column in range(place.size):
        for b in range(p):
            source = passed[column * p + b]
            target_column = place[column] * p + b
            if target_column < width:
                target, shift = panel[target_column], 0
            else:
                target, shift = update[target_column - width], width
            for k in range(b, p):
                target[place[column] * p + k - shift] += source[column * p + k]
            for row in range(column + 1, place.size):
                to, off = place[row] * p - shift, row * p
                for k in range(p):
                    target[to + k] += source[off + k]


@array_kernel
def _eliminate(panel, factor, product, stop):  # type: ignore[no-untyped-def]
    """Cholesky factorisation of a panel's columns; returns how many pivots were lost to rounding."""
    width, size = panel.shape
    step = PANEL if width * width * size > 4 * _BLAS_FLOPS else width
    lost = 0
    for low in range(0, width, step):
        if stop[0]:
            break
        high = min(low + step, width)
        for j in range(low, high):
            before = panel[j, j]
            _subtract_products(panel[j, j:], panel[low:j], j)
            pivot = panel[j, j]
            if not pivot > _SMALLEST_PIVOT * abs(before):
                pivot = _PARKED_PIVOT
                lost += 1
            root = np.sqrt(pivot)
            panel[j, j] = root
            inverse = 1.0 / root
            rest = panel[j, j + 1 :]
            for i in range(rest.size):
                rest[i] *= inverse
        if high < width:
            _subtract_gram(panel[low:high], high, width - high, panel, factor, product, stop)
    return lost


@array_kernel
def _subtract_gram(columns, first, count, target, factor, product, stop):  # type: ignore[no-untyped-def]
    """Subtract from a symmetric target what columns of L contribute: the products of their entries.

    The last entries of the target's rows belong to the last of the columns' entries. `count` of its rows change, each
    from its diagonal on, beginning with the one that belongs to entry `first`.
    """
    depth, size = columns.shape
    length, corner = size - first, target.shape[1] - size + first
    if depth * length * count < _BLAS_FLOPS:
        for b in range(count):
            _subtract_products(target[corner + b, corner + b :], columns, first + b)
        return
    entries = factor[: length * depth].reshape(length, depth)
    for q in range(depth):
        for i in range(length):
            entries[i, q] = columns[q, first + i]
    for b in range(0, count, CHUNK):
        if stop[0]:
            break
        end = min(b + CHUNK, count)
        part = product[: (end - b) * (length - b)].reshape(end - b, length - b)
        np.dot(entries[b:end], entries[b:].T, part)
        for k in range(end - b):
            row, values = target[corner + b + k, corner + b + k :], part[k, k:]
            for i in range(row.size):
                row[i] -= values[i]


@array_kernel
def _subtract_products(target, columns, first):  # type: ignore[no-untyped-def]
    """Subtract from target[i] the sum over q of columns[q, first] columns[q, first + i]."""
    depth = columns.shape[0]
    for q in range(0, depth, 4):
        a = columns[q, first]
        b = columns[q + 1, first] if q + 1 < depth else 0.0
        c = columns[q + 2, first] if q + 2 < depth else 0.0
        d = columns[q + 3, first] if q + 3 < depth else 0.0
        _subtract_four(target, columns, q, first, a, b, c, d)


@array_kernel
def _subtract_four(target, panel, q, column, a, b, c, d):  # type: ignore[no-untyped-def]
    """Subtract a, b, c and d times rows q to q + 3 of the panel, from a column on; rows beyond the last count as 0."""
    end, last = column + target.size, panel.shape[0] - 1
    row_a, row_b = panel[q, column:end], panel[min(q + 1, last), column:end]
    row_c, row_d = panel[min(q + 2, last), column:end], panel[min(q + 3, last), column:end]
    for i in range(target.size):
        target[i] -= (a * row_a[i] + b * row_b[i]) + (c * row_c[i] + d * row_d[i])


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


@array_kernel
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


@array_kernel
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


@array_kernel
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
