"""Compiled rows of the Stein kernel, and their weighted sums.

The operator is T g = <b, g> + <a, grad g>.

For diagonal matrices a and a radial kernel phi(u), with u = |x - y|^2 and r = x - y, the Stein kernel is

    k0(x, y) = phi(u) <b(x), b(y)> + 2 phi'(u) (<a(x) r, b(y)> - <a(y) r, b(x)> - tr a(x) a(y))
               - 4 phi''(u) <a(x) r, a(y) r>,

because grad_x k = 2 phi' r = -grad_y k and grad_x grad_y' k = -2 phi' I - 4 phi'' r r'. For the Langevin operator, with
a = I and b = s, the Stein kernel is phi <s(x), s(y)> + 2 phi' (<r, s(y) - s(x)> - d) - 4 phi'' u.

The points and the drifts b are transposed to shape (d, n) to make the loops over points contiguous in memory. The
diagonal of a has shape (d, n), or (0, n) if a is the identity everywhere. In this module, an operator is represented by
these three arrays. The code is compiled for each family of base kernels on first use, with the family's function
`radial` in the innermost loop.

Until the code is compiled, small samples are processed by equivalent functions that operate on whole arrays. All sums
are computed in the same order. Coordinates and points are added one by one, in order, as in NumPy's cumulative sums.
The results are bit-for-bit identical for base kernels that consist of roots and quotients, such as those in the
verdict. For powers and exponentials, the results may differ in the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from zlib import crc32

import numpy as np

from steinkit.runtime.compilation import array_kernel, inner_kernel, with_twin
from steinkit.sample import Floats, Integers

Radial = Callable[..., tuple[float, float, float]]
Form = tuple[Floats, Floats, Floats]

BLOCK = 256
"""Number of points that `add_rows` sums in one block."""
_AT_ONCE = 16  # number of rows whose intermediate results fit in the processor cache
_BUFFERS = 5


def _fill_on_arrays(
    radial: Radial, parameters: tuple[float, ...], form: Form, rows: Integers, start: int, out: Floats
) -> None:
    """Set out[k, j] = k0(x_i, x_j), where i = rows[k], for all j >= start."""
    for k in range(0, len(rows), _AT_ONCE):
        out[k : k + _AT_ONCE, start:] = _values(radial, parameters, form, rows[k : k + _AT_ONCE], start)


def _add_on_arrays(
    radial: Radial,
    parameters: tuple[float, ...],
    form: Form,
    weights: Floats,
    first: int,
    last: int,
    step: int,
    sums: Floats,
) -> None:
    """Add the term for each pair of points to the sums for both points.

    The pairs are (i, j), i < j, for the rows i = first, first + step, ... < last.
    """
    n = len(weights)
    rows = np.arange(first, last, step)
    for some in np.split(rows, range(_AT_ONCE, len(rows), _AT_ONCE)):
        start = int(some[0]) + 1
        for i, values in zip(some.tolist(), _values(radial, parameters, form, some, start), strict=True):
            own = values[i + 1 - start :]
            ends = [n] if not len(form[2]) else [*range((i + 1) // BLOCK * BLOCK + BLOCK, n, BLOCK), n]
            begin = i + 1
            for end in ends:  # these sums run over blocks, or over rows if a is the identity
                if begin < end:
                    sums[i] += np.cumsum(weights[begin:end] * own[begin - i - 1 : end - i - 1])[-1]
                begin = end
            sums[i + 1 :] += weights[i] * own


def _values(radial: Radial, parameters: tuple[float, ...], form: Form, rows: Integers, start: int) -> Floats:
    """Compute k0(x_i, x_j) for the given rows i and all j >= start."""
    points, drift, covariance = form
    dim = len(points)
    squared, inner, slope, trace, curvature = np.zeros((5, len(rows), points.shape[1] - start))
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
        trace += a * a_k
        slope += here * b_k - there * b
        curvature += here * there
    if not len(covariance):
        phi, first, bend = radial(squared, 4.0 * squared, *parameters)
        return np.asarray(2.0 * first * (slope - dim) - bend + phi * inner)
    phi, first, second = radial(squared, 1.0, *parameters)
    return np.asarray(2.0 * first * (slope - trace) - 4.0 * curvature * second + phi * inner)


@cache
def row_kernels(radial: Radial) -> tuple[Callable[..., None], Callable[..., None]]:
    """Return the functions `fill_rows` and `add_rows` for a family of kernels.

    The family is identified by its `BaseKernel.radial` method.

    In Numba's cache, the returned functions are identified by the name of `radial` and by the checksum `edition` of its
    code.
    """
    fill_on_arrays, add_on_arrays = partial(_fill_on_arrays, radial), partial(_add_on_arrays, radial)
    code = radial.__code__
    edition = crc32(code.co_code + repr(code.co_consts).encode())
    inner_kernel(radial)

    @array_kernel
    def fill_rows(parameters: tuple[float, ...], form: Form, rows: Integers, start: int, out: Floats) -> None:
        """Set out[k, j] = k0(x_i, x_j), where i = rows[k], for all j >= start."""
        assert edition >= 0  # this variable identifies the code of `radial`
        n = form[0].shape[1]
        buffers = np.empty((_BUFFERS, BLOCK))
        for k in range(len(rows)):
            for low in range(start, n, BLOCK):
                high = min(low + BLOCK, n)
                _fill_block(radial, parameters, form, rows[k], low, high, buffers, out[k, low:high])

    @array_kernel
    def add_rows(
        parameters: tuple[float, ...], form: Form, weights: Floats, first: int, last: int, step: int, sums: Floats
    ) -> None:
        """Add the term for each pair of points to the sums for both points.

        The pairs are (i, j), i < j, for the rows i = first, first + step, ... < last.

        Each pair adds w_j k0(x_i, x_j) to sums[i] and w_i k0(x_i, x_j) to sums[j]. Each block of points is processed
        for all rows before the next block and is therefore read from memory only once.
        """
        assert edition >= 0  # this variable identifies the code of `radial`
        n = form[0].shape[1]
        buffers = np.empty((_BUFFERS, BLOCK))
        values = np.empty(BLOCK)
        totals = np.zeros((last - first + step - 1) // step)
        for low in range((first + 1) // BLOCK * BLOCK, n, BLOCK):
            high = min(low + BLOCK, n)
            for i in range(first, min(last, high - 1), step):
                begin = max(low, i + 1)
                _fill_block(radial, parameters, form, i, begin, high, buffers, values)
                total = totals[(i - first) // step]
                for j in range(begin, high):
                    total += weights[j] * values[j - begin]
                weight = weights[i]
                for j in range(begin, high):
                    sums[j] += weight * values[j - begin]
                if len(form[2]):  # these sums run over blocks, or over rows if a is the identity
                    sums[i] += total
                else:
                    totals[(i - first) // step] = total
        for k in range(len(totals)):
            sums[first + k * step] += totals[k]

    return with_twin(fill_on_arrays)(fill_rows), with_twin(add_on_arrays)(add_rows)


@inner_kernel
def _fill_block(
    radial: Radial, parameters: tuple[float, ...], form: Form, i: int, low: int, high: int, buffers: Floats, out: Floats
) -> None:
    """Set out[j - low] = k0(x_i, x_j) for low <= j < high within one block."""
    points, _, covariance = form
    dim, width = len(points), high - low
    squared, inner, slope = buffers[0, :width], buffers[1, :width], buffers[2, :width]
    squared[:], inner[:], slope[:] = 0.0, 0.0, 0.0
    if len(covariance) == 0:
        _identity_sums(form, i, low, squared, inner, slope)
        for j in range(width):
            phi, first, bend = radial(squared[j], 4.0 * squared[j], *parameters)
            out[j] = 2.0 * first * (slope[j] - dim) - bend + phi * inner[j]
        return
    trace, curvature = buffers[3, :width], buffers[4, :width]
    trace[:], curvature[:] = 0.0, 0.0
    _diagonal_sums(form, i, low, squared, inner, slope, trace, curvature)
    for j in range(width):
        phi, first, second = radial(squared[j], 1.0, *parameters)
        out[j] = 2.0 * first * (slope[j] - trace[j]) - 4.0 * curvature[j] * second + phi * inner[j]


@array_kernel
def _identity_sums(form: Form, i: int, low: int, squared: Floats, inner: Floats, slope: Floats) -> None:
    """Add u, <b(x), b(y)> and <r, b(y) - b(x)>."""
    points, drift, _ = form
    width = len(squared)
    for k in range(len(points)):
        x, b = points[k, i], drift[k, i]
        x_k, b_k = points[k, low : low + width], drift[k, low : low + width]
        for j in range(width):
            r = x - x_k[j]
            squared[j] += r * r
            slope[j] += r * (b_k[j] - b)
            inner[j] += b * b_k[j]


@array_kernel
def _diagonal_sums(
    form: Form, i: int, low: int, squared: Floats, inner: Floats, slope: Floats, trace: Floats, curvature: Floats
) -> None:
    """Add five sums over coordinates for a diagonal matrix a.

    The sums are u, <b(x), b(y)>, <a(x) r, b(y)> - <a(y) r, b(x)>, tr a(x) a(y) and <a(x) r, a(y) r>.
    """
    points, drift, covariance = form
    width = len(squared)
    for k in range(len(points)):
        x, b, a = points[k, i], drift[k, i], covariance[k, i]
        x_k, b_k, a_k = points[k, low : low + width], drift[k, low : low + width], covariance[k, low : low + width]
        for j in range(width):
            r = x - x_k[j]
            here, there = a * r, a_k[j] * r
            squared[j] += r * r
            inner[j] += b * b_k[j]
            slope[j] += here * b_k[j] - there * b
            trace[j] += a * a_k[j]
            curvature[j] += here * there
