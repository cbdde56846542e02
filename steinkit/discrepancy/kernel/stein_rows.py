"""`stein_row_kernels` on whole arrays, for small samples before these kernels are compiled.

Every sum is taken in their order, coordinate by coordinate and over points as NumPy's running sums are, from left to
right. So results are the same to the bit, for kernels of roots and quotients, as the verdict's is; powers and
exponentials of an array may differ in the last.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from steinkit.sample import Floats, Integers

Radial = Callable[..., tuple[float, float, float]]
Form = tuple[Floats, Floats, Floats]

BLOCK = 256
"""Points that `add_rows` sums up at a time."""
_AT_ONCE = 16  # rows, of which what is computed stays in the processor's caches


def fill_rows(
    radial: Radial, parameters: tuple[float, ...], form: Form, rows: Integers, start: int, out: Floats
) -> None:
    """Set out[k, j] = k0(x_i, x_j), i = rows[k], for j >= start; shape (rows, n)."""
    for k in range(0, len(rows), _AT_ONCE):
        out[k : k + _AT_ONCE, start:] = _values(radial, parameters, form, rows[k : k + _AT_ONCE], start)


def add_rows(
    radial: Radial,
    parameters: tuple[float, ...],
    form: Form,
    weights: Floats,
    first: int,
    last: int,
    step: int,
    sums: Floats,
) -> None:
    """Add the pairs (i, j), i < j, of the rows i = first, first + step, ... < last to the sums over other points."""
    n = len(weights)
    rows = np.arange(first, last, step)
    for some in np.split(rows, range(_AT_ONCE, len(rows), _AT_ONCE)):
        start = int(some[0]) + 1
        for i, values in zip(some.tolist(), _values(radial, parameters, form, some, start), strict=True):
            own = values[i + 1 - start :]
            ends = [n] if not len(form[2]) else [*range((i + 1) // BLOCK * BLOCK + BLOCK, n, BLOCK), n]
            begin = i + 1
            for end in ends:  # what a block adds up to; for the identity, what a row does
                if begin < end:
                    sums[i] += np.cumsum(weights[begin:end] * own[begin - i - 1 : end - i - 1])[-1]
                begin = end
            sums[i + 1 :] += weights[i] * own


def _values(radial: Radial, parameters: tuple[float, ...], form: Form, rows: Integers, start: int) -> Floats:
    """k0(x_i, x_j) for the rows i and j >= start, shape (rows, n - start)."""
    points, drift, covariance = form
    dim = len(points)
    squared, inner, slope, trace, curvature = np.zeros((5, len(rows), points.shape[1] - start))
    assert len(covariance) in (0, dim), "matrices are for compiled kernels"
    for k in range(dim):
        r = points[k, rows, None] - points[k, start:]
        b, b_k = drift[k, rows, None], drift[k, start:]
        squared += r * r
        inner += b * b_k
        if not len(covariance):
            slope += r * (b_k - b)
            continue
        a, a_k = covariance[k, rows, None], covariance[k, start:]
        here, there = a * r, a_k * r
        slope += here * b_k - there * b
        trace += a * a_k
        curvature += here * there
    if not len(covariance):
        phi, first, bend = radial(squared, 4.0 * squared, *parameters)
        return np.asarray(2.0 * first * (slope - dim) - bend + phi * inner)
    phi, first, second = radial(squared, 1.0, *parameters)
    return np.asarray(2.0 * first * (slope - trace) - 4.0 * curvature * second + phi * inner)
