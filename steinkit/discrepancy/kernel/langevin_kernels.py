"""Compiled Stein kernel: its rows, and their weighted sums.

For a radial kernel phi(u), u = |x - y|^2, and r = x - y,

    k0(x, y) = -2 d phi'(u) - 4 u phi''(u) + 2 phi'(u) <r, s(y) - s(x)> + phi(u) <s(x), s(y)>.

Points and scores come transposed, (d, n), so that the loops over the points run along memory.
"""

from __future__ import annotations

import math

import numpy as np

from steinkit.runtime.compilation import array_kernel
from steinkit.sample import Floats

IMQ_FAMILY, GAUSSIAN, MATERN = 0, 1, 2

_BLOCK = 256  # points a time: what a block needs stays in the processor's nearest caches


@array_kernel
def stein_row(
    family: int, scale: float, exponent: float, points: Floats, scores: Floats, i: int, start: int, row: Floats
) -> None:
    """Set row[j] = k0(x_i, x_j) for j >= start.

    Parameters
    ----------
    family : int
    scale, exponent : float
    points, scores : ndarray, shape (d, n)
    i, start : int
    row : ndarray, shape (n,)
    """
    dim, n = points.shape
    squared = np.empty(_BLOCK)
    slope = np.empty(_BLOCK)
    inner = np.empty(_BLOCK)
    for low in range(start, n, _BLOCK):
        high = min(low + _BLOCK, n)
        width = high - low
        squared[:] = 0.0
        slope[:] = 0.0
        inner[:] = 0.0
        for k in range(dim):
            x, s = points[k, i], scores[k, i]
            x_k, s_k = points[k, low:high], scores[k, low:high]
            for j in range(width):
                difference = x - x_k[j]
                squared[j] += difference * difference
                slope[j] += difference * (s_k[j] - s)
                inner[j] += s * s_k[j]
        out = row[low:high]
        if family == IMQ_FAMILY:
            _imq(scale, exponent, dim, squared, slope, inner, out)
        elif family == GAUSSIAN:
            _gaussian(scale, dim, squared, slope, inner, out)
        else:
            _matern(scale, dim, squared, slope, inner, out)


@array_kernel
def add_rows(
    family: int,
    scale: float,
    exponent: float,
    points: Floats,
    scores: Floats,
    weights: Floats,
    first: int,
    last: int,
    step: int,
    sums: Floats,
) -> None:
    """Add the pairs (i, j), i < j, of the rows i = first, first + step, ... < last to the sums over other points.

    Afterwards sums[i] holds w_j k0(x_i, x_j) and sums[j] holds w_i k0(x_i, x_j) for each such pair.
    """
    n = len(weights)
    row = np.empty(n)
    for i in range(first, last, step):
        stein_row(family, scale, exponent, points, scores, i, i + 1, row)
        total = 0.0
        for j in range(i + 1, n):
            total += weights[j] * row[j]
        sums[i] += total
        weight = weights[i]
        for j in range(i + 1, n):
            sums[j] += weight * row[j]


@array_kernel
def _imq(scale: float, exponent: float, dim: int, squared: Floats, slope: Floats, inner: Floats, out: Floats) -> None:
    """k0 from u, <r, s(y) - s(x)> and <s(x), s(y)>, with b = c^2 + u, phi = b^beta."""
    if exponent == -0.5:  # a root is much cheaper than a power
        for j in range(len(out)):
            base = scale * scale + squared[j]
            phi = 1.0 / math.sqrt(base)
            first = -0.5 * phi / base
            second = -1.5 * first / base
            out[j] = 2.0 * first * (slope[j] - dim) - 4.0 * squared[j] * second + phi * inner[j]
    else:
        for j in range(len(out)):
            base = scale * scale + squared[j]
            phi = base**exponent
            first = exponent * phi / base
            second = (exponent - 1.0) * first / base
            out[j] = 2.0 * first * (slope[j] - dim) - 4.0 * squared[j] * second + phi * inner[j]


@array_kernel
def _gaussian(scale: float, dim: int, squared: Floats, slope: Floats, inner: Floats, out: Floats) -> None:
    """k0 from u, <r, s(y) - s(x)> and <s(x), s(y)>, with phi' = -phi / (2 l^2)."""
    rate = -0.5 / (scale * scale)
    for j in range(len(out)):
        phi = math.exp(rate * squared[j])
        first = rate * phi
        out[j] = 2.0 * first * (slope[j] - dim) - 4.0 * squared[j] * rate * first + phi * inner[j]


@array_kernel
def _matern(scale: float, dim: int, squared: Floats, slope: Floats, inner: Floats, out: Floats) -> None:
    """k0 from u, <r, s(y) - s(x)> and <s(x), s(y)>.

    With a = 5 / (6 l^2): phi' = -a (1 + t) exp(-t) and phi'' = 3 a^2 exp(-t).
    """
    rate = 5.0 / (6.0 * scale * scale)
    for j in range(len(out)):
        t = math.sqrt(6.0 * rate * squared[j])
        decay = math.exp(-t)
        phi = (1.0 + t + t * t / 3.0) * decay
        first = -rate * (1.0 + t) * decay
        second = 3.0 * rate * rate * decay
        out[j] = 2.0 * first * (slope[j] - dim) - 4.0 * squared[j] * second + phi * inner[j]
