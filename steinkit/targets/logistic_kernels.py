"""Compiled terms of logistic regression: see `steinkit.compiled_terms`, and `logistic` for the formulas.

The table: d, and the addresses of prior means and variances (2, d), of features (N, d), and of signs (N,).
"""

from __future__ import annotations

import numpy as np
from numba import carray

from steinkit.compiled_terms import GRADIENT, LOG_LIKELIHOOD, LOG_RATIOS, CompiledTerms
from steinkit.runtime.function_pointers import pointed_function, pointer, prefetch
from steinkit.sample import Floats
from steinkit.targets.elementary_kernels import expit, softplus, softplus_difference
from steinkit.targets.gaussian_mean_kernels import with_normal_prior

# Rows whose first features are asked for before they are needed, and bytes of them: processors foresee the rest, and
# each request costs half a nanosecond.
_AHEAD, _ASKED = 8, 128


@pointed_function(LOG_RATIOS)
def log_ratios(table: int, theta: int, proposed: int, rows: int, count: int, values: int) -> None:
    """-log(1 + exp(-y x'proposed)) + log(1 + exp(-y x'theta)); each row is read once, for both.

    Four rows go together, so that a coefficient is read once for them and eight sums grow side by side; past the last
    row it is taken again.
    """
    place = carray(pointer(table, np.int64), 4)
    dim, data, size, last = place[0], place[2], 8 * place[0], count - 1
    asked = min(size, _ASKED)
    row, found = carray(pointer(rows, np.int64), count), carray(pointer(values, np.float64), 2 * count)
    signs = carray(pointer(place[3], np.float64), np.int64(1) << 31)
    old, new = carray(pointer(theta, np.float64), dim), carray(pointer(proposed, np.float64), dim)
    for i in range(min(_AHEAD, count)):
        prefetch(data + size * row[i], asked)
    for i in range(0, count, 4):
        for k in range(i + _AHEAD, min(i + _AHEAD + 4, count)):
            prefetch(data + size * row[k], asked)
        a, b, c = min(i + 1, last), min(i + 2, last), min(i + 3, last)
        first = carray(pointer(data + size * row[i], np.float64), dim)
        second = carray(pointer(data + size * row[a], np.float64), dim)
        third = carray(pointer(data + size * row[b], np.float64), dim)
        fourth = carray(pointer(data + size * row[c], np.float64), dim)
        old_1 = old_2 = old_3 = old_4 = new_1 = new_2 = new_3 = new_4 = 0.0
        for j in range(dim):
            old_1 += first[j] * old[j]
            old_2 += second[j] * old[j]
            old_3 += third[j] * old[j]
            old_4 += fourth[j] * old[j]
            new_1 += first[j] * new[j]
            new_2 += second[j] * new[j]
            new_3 += third[j] * new[j]
            new_4 += fourth[j] * new[j]
        sign_1, sign_2, sign_3, sign_4 = -signs[row[i]], -signs[row[a]], -signs[row[b]], -signs[row[c]]
        found[i], found[count + i] = sign_1 * new_1, sign_1 * old_1
        found[a], found[count + a] = sign_2 * new_2, sign_2 * old_2
        found[b], found[count + b] = sign_3 * new_3, sign_3 * old_3
        found[c], found[count + c] = sign_4 * new_4, sign_4 * old_4
    for i in range(count):
        found[i] = softplus_difference(found[count + i], found[i])


@pointed_function(LOG_LIKELIHOOD)
def log_likelihood(table: int, theta: int, first: int, count: int, work: int) -> float:
    """Sum of -log(1 + exp(-y x'theta))."""
    place = carray(pointer(table, np.int64), 4)
    dim = place[0]
    signs, found = carray(pointer(place[3] + 8 * first, np.float64), count), carray(pointer(work, np.float64), count)
    own = carray(pointer(theta, np.float64), dim)
    for i in range(count):
        x = carray(pointer(place[2] + 8 * dim * (first + i), np.float64), dim)
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
    signs = carray(pointer(place[3], np.float64), np.int64(1) << 31)
    own, sums = carray(pointer(theta, np.float64), dim), carray(pointer(total, np.float64), dim)
    for i in range(count):
        x = carray(pointer(place[2] + 8 * dim * row[i], np.float64), dim)
        product = 0.0
        for j in range(dim):
            product += x[j] * own[j]
        pulls[i] = -signs[row[i]] * product
    for i in range(count):
        pulls[i] = expit(pulls[i])
    for j in range(dim):
        sums[j] = 0.0
    for i in range(count):
        x = carray(pointer(place[2] + 8 * dim * row[i], np.float64), dim)
        pull = signs[row[i]] * pulls[i]
        for j in range(dim):
            sums[j] += pull * x[j]


def logistic_terms(features: Floats, signs: Floats, prior_variance: Floats) -> CompiledTerms:
    """Terms of a posterior with these features (N, d), signs (N,) and prior variances (d,)."""
    functions = (log_ratios, log_likelihood, gradient)
    return with_normal_prior(features.shape[1], (0.0, prior_variance), (features, signs), functions)
