"""Single-thread performance of this machine: BLAS, the STREAM triad, and NumPy random numbers."""

from __future__ import annotations

from functools import cache, partial

import numba
import numpy as np
from costs import median_seconds
from numpy.typing import NDArray
from scipy.linalg import lapack

Floats = NDArray[np.float64]


@cache
def dgemm(n: int) -> float:
    """Return the floating point operations per second of an n x n matrix product.

    The product takes 2 n^3 operations.
    """
    a, b = np.random.default_rng(0).standard_normal((2, n, n))
    out = np.empty((n, n))
    return 2.0 * n**3 / median_seconds(partial(np.dot, a, b, out))


@cache
def dpotrf(n: int) -> float:
    """Return the floating point operations per second of LAPACK's Cholesky factorization.

    The factorization takes n^3/3 operations.
    """
    a = np.random.default_rng(0).standard_normal((n, n))
    matrix = np.asfortranarray(a @ a.T + n * np.eye(n))
    return n**3 / 3.0 / median_seconds(partial(lapack.dpotrf, matrix, lower=1))


@numba.njit(nogil=True, error_model="numpy")
def _triad(a: Floats, b: Floats, c: Floats, times: int) -> None:
    """Compute a = b + 3 c repeatedly.

    The factors vary, which prevents optimizations by the compiler.
    """
    for k in range(times):
        factor = 3.0 + k
        for i in range(len(a)):
            a[i] = b[i] + factor * c[i]


def triad(size: float) -> float:
    """Return the bytes per second of the STREAM triad on three arrays of `size` bytes in total.

    Two arrays are read and one is written. As in STREAM, a line that is read before it is written counts once.
    """
    return _triad_of(2 ** round(np.log2(max(size, 1 << 12))))


@cache
def _triad_of(size: int) -> float:
    length = max(size // 24, 16)
    a, b, c = np.ones((3, length))
    times = max(1, (1 << 26) // (24 * length))
    return 24.0 * length * times / median_seconds(partial(_triad, a, b, c, times))


@cache
def dgemv(rows: int, columns: int) -> float:
    """Return the bytes of a matrix per second that BLAS reads in a matrix-vector product."""
    rng = np.random.default_rng(0)
    matrix, x, out = rng.standard_normal((rows, columns)), rng.standard_normal(columns), np.empty(rows)
    return 8.0 * rows * columns / median_seconds(partial(np.dot, matrix, x, out))


@cache
def normals() -> float:
    """Return the normal numbers per second of NumPy's default generator."""
    return 1e6 / median_seconds(partial(np.random.default_rng(0).standard_normal, 1_000_000))
