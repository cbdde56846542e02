"""Compiled Stein kernel of an operator T g = <b, g> + <a, grad g>: its rows, and their weighted sums.

For a radial kernel phi(u), u = |x - y|^2, and r = x - y, with any matrices a, symmetric or not,

    k0(x, y) = phi(u) <b(x), b(y)> + 2 phi'(u) (<a(x) r, b(y)> - <a(y) r, b(x)> - tr a(x)' a(y))
               - 4 phi''(u) <a(x) r, a(y) r>,

since grad_x k = 2 phi' r = -grad_y k and grad_x grad_y' k = -2 phi' I - 4 phi'' r r'.

Points and drifts b come transposed, (d, n), so that the loops over the points run along memory. The covariance a comes
as (d, n) where it is diagonal, and otherwise as (d d, n), row by row: a_jk in line d j + k.
"""

from __future__ import annotations

import math

import numpy as np

from steinkit.discrepancy.kernel.langevin_kernels import GAUSSIAN, IMQ_FAMILY
from steinkit.runtime.compilation import array_kernel
from steinkit.sample import Floats

_BLOCK = 256  # points a time: what a block needs stays in the processor's nearer caches
_BUFFERS = 10  # of one block each, and one more a dimension


@array_kernel
def diffusion_row(
    family: int,
    scale: float,
    exponent: float,
    points: Floats,
    drift: Floats,
    covariance: Floats,
    i: int,
    start: int,
    row: Floats,
) -> None:
    """Set row[j] = k0(x_i, x_j) for j >= start.

    Parameters
    ----------
    family : int
    scale, exponent : float
    points, drift : ndarray, shape (d, n)
    covariance : ndarray, shape (d, n) or (d d, n)
    i, start : int
    row : ndarray, shape (n,)
    """
    dim, n = points.shape
    buffers = np.empty((_BUFFERS + dim, _BLOCK))
    for low in range(start, n, _BLOCK):
        high = min(low + _BLOCK, n)
        _stretch(family, scale, exponent, points, drift, covariance, i, low, high, buffers, row[low:high])


@array_kernel
def add_diffusion_rows(
    family: int,
    scale: float,
    exponent: float,
    points: Floats,
    drift: Floats,
    covariance: Floats,
    weights: Floats,
    first: int,
    last: int,
    step: int,
    sums: Floats,
) -> None:
    """Add the pairs (i, j), i < j, of the rows i = first, first + step, ... < last to the sums over other points.

    Afterwards sums[i] holds w_j k0(x_i, x_j) and sums[j] holds w_i k0(x_i, x_j) for each such pair. The rows pass
    over one block of points before the next, so that the covariance of a block is read from memory once.
    """
    dim, n = points.shape
    buffers = np.empty((_BUFFERS + dim, _BLOCK))
    values = np.empty(_BLOCK)
    for low in range((first + 1) // _BLOCK * _BLOCK, n, _BLOCK):
        high = min(low + _BLOCK, n)
        for i in range(first, min(last, high - 1), step):
            begin = max(low, i + 1)
            _stretch(family, scale, exponent, points, drift, covariance, i, begin, high, buffers, values)
            total = 0.0
            weight = weights[i]
            for j in range(begin, high):
                total += weights[j] * values[j - begin]
                sums[j] += weight * values[j - begin]
            sums[i] += total


@array_kernel
def _stretch(
    family: int,
    scale: float,
    exponent: float,
    points: Floats,
    drift: Floats,
    covariance: Floats,
    i: int,
    low: int,
    high: int,
    buffers: Floats,
    out: Floats,
) -> None:
    """Set out[j - low] = k0(x_i, x_j) for low <= j < high, at most a block."""
    width = high - low
    buffers[:5, :width] = 0.0
    squared, inner, slope = buffers[0, :width], buffers[1, :width], buffers[2, :width]
    trace, curvature = buffers[3, :width], buffers[4, :width]
    if len(covariance) == len(points):
        _diagonal_sums(points, drift, covariance, i, low, squared, inner, slope, trace, curvature)
    else:
        _matrix_sums(points, drift, covariance, i, low, buffers[8:], squared, inner, slope, trace, curvature)
    phi, first, second = buffers[5, :width], buffers[6, :width], buffers[7, :width]
    _radial(family, scale, exponent, squared, phi, first, second)
    for j in range(width):
        out[j] = 2.0 * first[j] * (slope[j] - trace[j]) - 4.0 * curvature[j] * second[j] + phi[j] * inner[j]


@array_kernel
def _diagonal_sums(
    points: Floats,
    drift: Floats,
    covariance: Floats,
    i: int,
    low: int,
    squared: Floats,
    inner: Floats,
    slope: Floats,
    trace: Floats,
    curvature: Floats,
) -> None:
    """Add u, <b(x), b(y)>, <a(x) r, b(y)> - <a(y) r, b(x)>, tr a(x)' a(y), <a(x) r, a(y) r> for diagonal a."""
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


@array_kernel
def _matrix_sums(
    points: Floats,
    drift: Floats,
    covariance: Floats,
    i: int,
    low: int,
    buffers: Floats,
    squared: Floats,
    inner: Floats,
    slope: Floats,
    trace: Floats,
    curvature: Floats,
) -> None:
    """`_diagonal_sums` for any a; buffers hold a(x) r and a(y) r of one coordinate, and all of r."""
    dim, width = len(points), len(squared)
    here, there, r = buffers[0], buffers[1], buffers[2:]
    for k in range(dim):
        x, b = points[k, i], drift[k, i]
        x_k, b_k, r_k = points[k, low : low + width], drift[k, low : low + width], r[k]
        for j in range(width):
            r_k[j] = x - x_k[j]
            squared[j] += r_k[j] * r_k[j]
            inner[j] += b * b_k[j]
    for k in range(dim):
        here[:width] = 0.0
        there[:width] = 0.0
        for m in range(dim):
            a = covariance[dim * k + m, i]
            a_km, r_m = covariance[dim * k + m, low : low + width], r[m]
            for j in range(width):
                here[j] += a * r_m[j]
                there[j] += a_km[j] * r_m[j]
                trace[j] += a * a_km[j]
        b = drift[k, i]
        b_k = drift[k, low : low + width]
        for j in range(width):
            slope[j] += here[j] * b_k[j] - there[j] * b
            curvature[j] += here[j] * there[j]


@array_kernel
def _radial(
    family: int, scale: float, exponent: float, squared: Floats, phi: Floats, first: Floats, second: Floats
) -> None:
    """Set phi(u), phi'(u) and phi''(u) for each squared distance u; the formulas are those of `stein_kernels`."""
    if family == IMQ_FAMILY:
        for j in range(len(squared)):
            base = scale * scale + squared[j]
            phi[j] = 1.0 / math.sqrt(base) if exponent == -0.5 else base**exponent
            first[j] = exponent * phi[j] / base
            second[j] = (exponent - 1.0) * first[j] / base
    elif family == GAUSSIAN:
        rate = -0.5 / (scale * scale)
        for j in range(len(squared)):
            phi[j] = math.exp(rate * squared[j])
            first[j] = rate * phi[j]
            second[j] = rate * first[j]
    else:
        rate = 5.0 / (6.0 * scale * scale)
        for j in range(len(squared)):
            t = math.sqrt(6.0 * rate * squared[j])
            decay = math.exp(-t)
            phi[j] = (1.0 + t + t * t / 3.0) * decay
            first[j] = -rate * (1.0 + t) * decay
            second[j] = 3.0 * rate * rate * decay
