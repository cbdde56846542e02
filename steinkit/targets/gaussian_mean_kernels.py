"""Compiled terms of a normal mean: see `steinkit.compiled_terms`, and `gaussian_mean` for the formulas.

The table: d, and the addresses of prior means and variances (2, d), of data (N, d), and of variances and constants
log(2 pi v)/2 (2, d). Every table of a posterior with a normal prior begins with d and the first address.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray
from numpy.typing import ArrayLike

from steinkit.compiled_terms import GRAD_LOG_PRIOR, GRADIENT, LOG_LIKELIHOOD, LOG_PRIOR, LOG_RATIOS, CompiledTerms
from steinkit.runtime.function_pointers import pointed_function, pointer
from steinkit.sample import Floats


@pointed_function(LOG_RATIOS)
def log_ratios(table: int, theta: int, proposed: int, rows: int, count: int, values: int) -> None:
    """Sum over j of ((y - theta)^2 - (y - proposed)^2) / (2 v)."""
    place = carray(pointer(table, np.int64), 4)
    dim = place[0]
    row, found = carray(pointer(rows, np.int64), count), carray(pointer(values, np.float64), count)
    variance = carray(pointer(place[3], np.float64), dim)
    old, new = carray(pointer(theta, np.float64), dim), carray(pointer(proposed, np.float64), dim)
    for i in range(count):
        y = carray(pointer(place[2] + 8 * dim * row[i], np.float64), dim)
        total = 0.0
        for j in range(dim):
            total += (new[j] - old[j]) * (y[j] - 0.5 * old[j] - 0.5 * new[j]) / variance[j]
        found[i] = total


@pointed_function(LOG_LIKELIHOOD)
def log_likelihood(table: int, theta: int, first: int, count: int, work: int) -> float:
    """Sum of -(y - theta)^2 / (2 v) - log(2 pi v) / 2."""
    place = carray(pointer(table, np.int64), 4)
    dim = place[0]
    parameters, own = carray(pointer(place[3], np.float64), (2, dim)), carray(pointer(theta, np.float64), dim)
    total = 0.0
    for i in range(count):
        y = carray(pointer(place[2] + 8 * dim * (first + i), np.float64), dim)
        for j in range(dim):
            residual = y[j] - own[j]
            total -= 0.5 * (residual * residual / parameters[0, j]) + parameters[1, j]
    return total


@pointed_function(GRADIENT)
def gradient(table: int, theta: int, rows: int, count: int, total: int, work: int) -> None:
    """Sum of (y - theta) / v."""
    place = carray(pointer(table, np.int64), 4)
    dim = place[0]
    row, sums = carray(pointer(rows, np.int64), count), carray(pointer(total, np.float64), dim)
    variance, own = carray(pointer(place[3], np.float64), dim), carray(pointer(theta, np.float64), dim)
    for j in range(dim):
        sums[j] = 0.0
    for i in range(count):
        y = carray(pointer(place[2] + 8 * dim * row[i], np.float64), dim)
        for j in range(dim):
            sums[j] += y[j] - own[j]
    for j in range(dim):
        sums[j] /= variance[j]


@pointed_function(LOG_PRIOR)
def log_normal_prior(table: int, theta: int) -> float:
    """-1/2 sum over j of (theta_j - m_j)^2 / v_j."""
    place = carray(pointer(table, np.int64), 2)
    dim = place[0]
    prior, own = carray(pointer(place[1], np.float64), (2, dim)), carray(pointer(theta, np.float64), dim)
    total = 0.0
    for j in range(dim):
        distance = own[j] - prior[0, j]
        total += distance * distance / prior[1, j]
    return -0.5 * total


@pointed_function(GRAD_LOG_PRIOR)
def grad_log_normal_prior(table: int, theta: int, total: int) -> None:
    """(m - theta) / v."""
    place = carray(pointer(table, np.int64), 2)
    dim = place[0]
    prior, own = carray(pointer(place[1], np.float64), (2, dim)), carray(pointer(theta, np.float64), dim)
    found = carray(pointer(total, np.float64), dim)
    for j in range(dim):
        found[j] = (prior[0, j] - own[j]) / prior[1, j]


def gaussian_mean_terms(data: Floats, variance: ArrayLike, constant: ArrayLike, *prior: ArrayLike) -> CompiledTerms:
    """Terms of a posterior with these data (N, d), variances and constants of a term, prior means and variances."""
    likelihood = np.stack([np.broadcast_to(part, data.shape[1]) for part in (variance, constant)])
    return with_normal_prior(data.shape[1], prior, (data, likelihood), (log_ratios, log_likelihood, gradient))


def with_normal_prior(
    dim: int, prior: tuple[ArrayLike, ...], arrays: tuple[Floats, ...], functions: tuple[Any, ...]
) -> CompiledTerms:
    """Terms with prior means and variances, and functions of the likelihood, whose table goes on with these arrays."""
    kept = (np.stack([np.broadcast_to(np.asarray(part, dtype=np.float64), dim) for part in prior]), *arrays)
    table = [dim, *(array.ctypes.data for array in kept)]
    return CompiledTerms.of(table, (*functions, log_normal_prior, grad_log_normal_prior), kept)
