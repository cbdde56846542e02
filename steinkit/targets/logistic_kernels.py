"""Compiled terms of logistic regression: see `steinkit.compiled_terms`, and `logistic` for the formulas.

The table: d, and the addresses of features (N, d), signs (N,) and prior variances (d,).
"""

from __future__ import annotations

import numpy as np
from numba import carray

from steinkit.compiled_terms import GRAD_LOG_PRIOR, GRADIENT, LOG_LIKELIHOOD, LOG_PRIOR, LOG_RATIOS, CompiledTerms
from steinkit.runtime.function_pointers import pointed_function, pointer, prefetch
from steinkit.sample import Floats
from steinkit.targets.elementary_kernels import expit, softplus

# Rows whose features are asked for before they are needed.
_AHEAD = 4


@pointed_function(LOG_RATIOS)
def log_ratios(table: int, theta: int, proposed: int, rows: int, count: int, values: int) -> None:
    """-log(1 + exp(-y x'proposed)) + log(1 + exp(-y x'theta)); each row is read once, for both."""
    place = carray(pointer(table, np.int64), 4)
    dim = place[0]
    row, found = carray(pointer(rows, np.int64), count), carray(pointer(values, np.float64), 2 * count)
    signs = carray(pointer(place[2], np.float64), np.int64(1) << 31)
    first, second = carray(pointer(theta, np.float64), dim), carray(pointer(proposed, np.float64), dim)
    for i in range(min(_AHEAD, count)):
        prefetch(place[1] + 8 * dim * row[i], 8 * dim)
    for i in range(count):
        if i + _AHEAD < count:
            prefetch(place[1] + 8 * dim * row[i + _AHEAD], 8 * dim)
        x = carray(pointer(place[1] + 8 * dim * row[i], np.float64), dim)
        here = there = 0.0
        for j in range(dim):
            here += x[j] * first[j]
            there += x[j] * second[j]
        sign = signs[row[i]]
        found[i], found[count + i] = -sign * there, -sign * here
    for i in range(count):
        found[i] = softplus(found[count + i]) - softplus(found[i])


@pointed_function(LOG_LIKELIHOOD)
def log_likelihood(table: int, theta: int, first: int, count: int, work: int) -> float:
    """Sum of -log(1 + exp(-y x'theta))."""
    place = carray(pointer(table, np.int64), 4)
    dim = place[0]
    signs, found = carray(pointer(place[2] + 8 * first, np.float64), count), carray(pointer(work, np.float64), count)
    own = carray(pointer(theta, np.float64), dim)
    for i in range(count):
        x = carray(pointer(place[1] + 8 * dim * (first + i), np.float64), dim)
        product = 0.0
        for j in range(dim):
            product += x[j] * own[j]
        found[i] = -signs[i] * product
    total = 0.0
    for i in range(count):
        total -= softplus(found[i])
    return total


@pointed_function(GRADIENT)
def gradient(table: int, theta: int, rows: int, count: int, total: int, work: int) -> None:
    """Sum of sigma(-y x'theta) y x."""
    place = carray(pointer(table, np.int64), 4)
    dim = place[0]
    row, pulls = carray(pointer(rows, np.int64), count), carray(pointer(work, np.float64), count)
    signs = carray(pointer(place[2], np.float64), np.int64(1) << 31)
    own, sums = carray(pointer(theta, np.float64), dim), carray(pointer(total, np.float64), dim)
    for i in range(count):
        x = carray(pointer(place[1] + 8 * dim * row[i], np.float64), dim)
        product = 0.0
        for j in range(dim):
            product += x[j] * own[j]
        pulls[i] = -signs[row[i]] * product
    for i in range(count):
        pulls[i] = expit(pulls[i])
    for j in range(dim):
        sums[j] = 0.0
    for i in range(count):
        x = carray(pointer(place[1] + 8 * dim * row[i], np.float64), dim)
        pull = signs[row[i]] * pulls[i]
        for j in range(dim):
            sums[j] += pull * x[j]


@pointed_function(LOG_PRIOR)
def log_prior(table: int, theta: int) -> float:
    """-theta'theta / (2 v)."""
    place = carray(pointer(table, np.int64), 4)
    dim = place[0]
    own, variances = carray(pointer(theta, np.float64), dim), carray(pointer(place[3], np.float64), dim)
    total = 0.0
    for j in range(dim):
        total += own[j] * own[j] / variances[j]
    return -0.5 * total


@pointed_function(GRAD_LOG_PRIOR)
def grad_log_prior(table: int, theta: int, total: int) -> None:
    """-theta / v."""
    place = carray(pointer(table, np.int64), 4)
    dim = place[0]
    own, variances = carray(pointer(theta, np.float64), dim), carray(pointer(place[3], np.float64), dim)
    found = carray(pointer(total, np.float64), dim)
    for j in range(dim):
        found[j] = -own[j] / variances[j]


def logistic_terms(features: Floats, signs: Floats, prior_variance: Floats) -> CompiledTerms:
    """Terms of the posterior with these data, C-contiguous: (N, d), (N,), (d,)."""
    table = [features.shape[1], features.ctypes.data, signs.ctypes.data, prior_variance.ctypes.data]
    functions = (log_ratios, log_likelihood, gradient, log_prior, grad_log_prior)
    return CompiledTerms.of(table, functions, (features, signs, prior_variance))
