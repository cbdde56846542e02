"""Compiled terms of a normal mean: see `steinkit.compiled_terms`, and `gaussian_mean` for the formulas.

The table: d, and the addresses of data (N, d) and of the parameters (4, d): variances, constants log(2 pi v)/2, prior
means and prior variances.
"""

from __future__ import annotations

import numpy as np
from numba import carray

from steinkit.compiled_terms import GRAD_LOG_PRIOR, GRADIENT, LOG_LIKELIHOOD, LOG_PRIOR, LOG_RATIOS, CompiledTerms
from steinkit.runtime.function_pointers import pointed_function, pointer
from steinkit.sample import Floats


@pointed_function(LOG_RATIOS)
def log_ratios(table: int, theta: int, proposed: int, rows: int, count: int, values: int) -> None:
    """Sum over j of ((y - theta)^2 - (y - proposed)^2) / (2 v)."""
    place = carray(pointer(table, np.int64), 3)
    dim = place[0]
    row, found = carray(pointer(rows, np.int64), count), carray(pointer(values, np.float64), count)
    variance = carray(pointer(place[2], np.float64), dim)
    old, new = carray(pointer(theta, np.float64), dim), carray(pointer(proposed, np.float64), dim)
    for i in range(count):
        y = carray(pointer(place[1] + 8 * dim * row[i], np.float64), dim)
        total = 0.0
        for j in range(dim):
            total += (new[j] - old[j]) * (y[j] - 0.5 * old[j] - 0.5 * new[j]) / variance[j]
        found[i] = total


@pointed_function(LOG_LIKELIHOOD)
def log_likelihood(table: int, theta: int, first: int, count: int, work: int) -> float:
    """Sum of -(y - theta)^2 / (2 v) - log(2 pi v) / 2."""
    place = carray(pointer(table, np.int64), 3)
    dim = place[0]
    parameters, own = carray(pointer(place[2], np.float64), (4, dim)), carray(pointer(theta, np.float64), dim)
    total = 0.0
    for i in range(count):
        y = carray(pointer(place[1] + 8 * dim * (first + i), np.float64), dim)
        for j in range(dim):
            residual = y[j] - own[j]
            total -= 0.5 * (residual * residual / parameters[0, j]) + parameters[1, j]
    return total


@pointed_function(GRADIENT)
def gradient(table: int, theta: int, rows: int, count: int, total: int, work: int) -> None:
    """Sum of (y - theta) / v."""
    place = carray(pointer(table, np.int64), 3)
    dim = place[0]
    row, sums = carray(pointer(rows, np.int64), count), carray(pointer(total, np.float64), dim)
    variance, own = carray(pointer(place[2], np.float64), dim), carray(pointer(theta, np.float64), dim)
    for j in range(dim):
        sums[j] = 0.0
    for i in range(count):
        y = carray(pointer(place[1] + 8 * dim * row[i], np.float64), dim)
        for j in range(dim):
            sums[j] += y[j] - own[j]
    for j in range(dim):
        sums[j] /= variance[j]


@pointed_function(LOG_PRIOR)
def log_prior(table: int, theta: int) -> float:
    """-(theta - m)^2 / (2 s)."""
    place = carray(pointer(table, np.int64), 3)
    dim = place[0]
    parameters, own = carray(pointer(place[2], np.float64), (4, dim)), carray(pointer(theta, np.float64), dim)
    total = 0.0
    for j in range(dim):
        distance = own[j] - parameters[2, j]
        total += distance * distance / parameters[3, j]
    return -0.5 * total


@pointed_function(GRAD_LOG_PRIOR)
def grad_log_prior(table: int, theta: int, total: int) -> None:
    """-(theta - m) / s."""
    place = carray(pointer(table, np.int64), 3)
    dim = place[0]
    parameters, own = carray(pointer(place[2], np.float64), (4, dim)), carray(pointer(theta, np.float64), dim)
    found = carray(pointer(total, np.float64), dim)
    for j in range(dim):
        found[j] = (parameters[2, j] - own[j]) / parameters[3, j]


def gaussian_mean_terms(data: Floats, parameters: Floats) -> CompiledTerms:
    """Terms of the posterior with these data and parameters, C-contiguous: (N, d), (4, d)."""
    table = [data.shape[1], data.ctypes.data, parameters.ctypes.data]
    functions = (log_ratios, log_likelihood, gradient, log_prior, grad_log_prior)
    return CompiledTerms.of(table, functions, (data, parameters))
