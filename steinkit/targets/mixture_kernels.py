"""Compiled terms of the mixture posterior: see `steinkit.compiled_terms`, and `mixture_posterior` for the formulas.

The table: 2, and the addresses of prior means and variances (2, 2), of the data (N,), and of two numbers: v and the
constant of a log likelihood term.
"""

from __future__ import annotations

import numpy as np
from numba import carray

from steinkit.compiled_terms import GRADIENT, LOG_LIKELIHOOD, LOG_RATIOS, CompiledTerms
from steinkit.runtime.function_pointers import pointed_function, pointer
from steinkit.sample import Floats
from steinkit.targets.elementary_kernels import expit, softplus, softplus_difference
from steinkit.targets.gaussian_mean_kernels import with_normal_prior


@pointed_function(LOG_RATIOS)
def log_ratios(table: int, theta: int, proposed: int, rows: int, count: int, values: int) -> None:
    """Differences of log(1 + exp(z)) - (y - theta_1)^2 / (2 v); the constant cancels."""
    place = carray(pointer(table, np.int64), 4)
    numbers, y = carray(pointer(place[3], np.float64), 2), carray(pointer(place[2], np.float64), np.int64(1) << 31)
    row, found = carray(pointer(rows, np.int64), count), carray(pointer(values, np.float64), 2 * count)
    old, new = carray(pointer(theta, np.float64), 2), carray(pointer(proposed, np.float64), 2)
    precision, old_first, new_first = 1.0 / numbers[0], old[0], new[0]
    old_slope, new_slope = precision * old[1], precision * new[1]
    old_shift, new_shift = 0.5 * old_slope * old[1], 0.5 * new_slope * new[1]
    by_first = 0.5 * precision * (new_first - old_first)
    for i in range(count):
        found[i] = y[row[i]]
    for i in range(count):
        here, there = found[i] - old_first, found[i] - new_first
        change = softplus_difference(new_slope * there - new_shift, old_slope * here - old_shift)
        found[i] = change + by_first * (there + here)


@pointed_function(LOG_LIKELIHOOD)
def log_likelihood(table: int, theta: int, first: int, count: int, work: int) -> float:
    """Sum of log(1 + exp(z)) - (y - theta_1)^2 / (2 v) - constant."""
    place = carray(pointer(table, np.int64), 4)
    numbers, y = carray(pointer(place[3], np.float64), 2), carray(pointer(place[2] + 8 * first, np.float64), count)
    own = carray(pointer(theta, np.float64), 2)
    variance, one, two = numbers[0], own[0], own[1]
    total: float = 0.0
    for i in range(count):
        residual = y[i] - one
        z = (two * residual - 0.5 * two * two) / variance
        total += softplus(z) - residual * residual / (2.0 * variance)
    value: float = total - count * numbers[1]
    return value


@pointed_function(GRADIENT)
def gradient(table: int, theta: int, rows: int, count: int, total: int, work: int) -> None:
    """Sums of (y - theta_1 - r theta_2) / v and of r (y - theta_1 - theta_2) / v."""
    place = carray(pointer(table, np.int64), 4)
    numbers, y = carray(pointer(place[3], np.float64), 2), carray(pointer(place[2], np.float64), np.int64(1) << 31)
    row, own = carray(pointer(rows, np.int64), count), carray(pointer(theta, np.float64), 2)
    sums, found = carray(pointer(total, np.float64), 2), carray(pointer(work, np.float64), count)
    variance, one, two = numbers[0], own[0], own[1]
    for i in range(count):
        found[i] = y[row[i]]
    by_first = by_second = 0.0
    for i in range(count):
        residual = found[i] - one
        share = expit((two * residual - 0.5 * two * two) / variance)
        by_first += residual - share * two
        by_second += share * (residual - two)
    sums[0], sums[1] = by_first / variance, by_second / variance


def mixture_terms(y: Floats, variance: float, constant: float, prior_variances: Floats) -> CompiledTerms:
    """Terms of a posterior with these data (N,), variance, constant of a term, and two prior variances."""
    numbers = np.array([variance, constant])
    return with_normal_prior(2, (0.0, prior_variances), (y, numbers), (log_ratios, log_likelihood, gradient))
