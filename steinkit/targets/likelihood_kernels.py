"""Compiled terms of the logistic regression and mixture posteriors.

The formulas are given in `LogisticRegression` and `MixturePosterior`. The interface is described in
`steinkit.compiled_terms`. Exponentials and logarithms are approximated by polynomials that compile to vector
instructions:

    exp(-a), a >= 0:          -a = k log 2 + r, |r| <= log(2) / 2; 1 + r + r^2 Q(r), times 2^k
    log((1 + e) / (1 + f)):   2 artanh(s) = 2 s (1 + s^2 A(s^2)), s = (e - f) / (2 + e + f); |s| <= 1/3, 0 <= e, f <= 1

Q and A are the minimax polynomials of degree nine for these ranges. The coefficients were computed with the Remez
algorithm in 60-digit arithmetic. The error of Q times r^2 is at most 3.5e-18, and the error of A times s^2 is at most
1.4e-18. The results have errors of one or two units in the last place. The following functions are computed from these
polynomials without overflow:

    log(1 + exp(z)) = max(z, 0) + log(1 + exp(-|z|)),    1 / (1 + exp(-z)).

Differences between large, nearly equal values of the first function are computed without loss of precision. NaN is
preserved. The results do not depend on the array length because the same operations are applied to full vectors and to
the remaining entries.

The table of a posterior with a normal prior begins with d and the address of the prior means and variances, which are
stored in an array of shape (2, d). The remaining addresses are

    logistic regression    features (N, d), signs (N,)
    mixture posterior      data (N,), and two numbers: v and the constant of a log likelihood term
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray
from numpy.typing import ArrayLike

from steinkit.compiled_terms import GRAD_LOG_PRIOR, GRADIENT, LOG_LIKELIHOOD, LOG_PRIOR, LOG_RATIOS, CompiledTerms
from steinkit.runtime.compilation import array_kernel
from steinkit.runtime.function_pointers import multiply_add, pointed_function, pointer, prefetch
from steinkit.sample import Floats

# Adding this number to x rounds x to an integer, which is stored in the lowest bits of the sum.
_ROUNDING = 6755399441055744.0  # 1.5 * 2^52
_LARGEST = 708.0  # exp(-708) is still a normal number
_INVERSE_LOG_2 = 1.4426950408889634
_LOG_2_HIGH, _LOG_2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_EXPONENT_BIAS, _MANTISSA_BITS = 1023, 52

_Q0, _Q1, _Q2, _Q3 = 0.5000000000000012, 0.166666666666667, 0.04166666666651543, 0.008333333333307208
_Q4, _Q5, _Q6 = 0.0013888888947013488, 0.00019841269917380598, 2.480148994446719e-05
_Q7, _Q8, _Q9 = 2.7557216301386246e-06, 2.7631279610537703e-07, 2.511786132529999e-08
_A0, _A1, _A2, _A3 = 0.3333333333333316, 0.20000000000076948, 0.14285714274099107, 0.11111111975770771
_A4, _A5, _A6 = 0.09090872242191546, 0.07693274662593692, 0.06650549501161712
_A7, _A8, _A9 = 0.060525913323007156, 0.041718636232775864, 0.08506181185520968


@array_kernel
def exp_negative(a: float) -> float:
    """Compute exp(-a) for a >= 0.

    The result is at least exp(-708).
    """
    a = _LARGEST if a > _LARGEST else a
    shifted = multiply_add(-a, _INVERSE_LOG_2, _ROUNDING)
    k = shifted - _ROUNDING
    r = multiply_add(-k, _LOG_2_LOW, multiply_add(-k, _LOG_2_HIGH, -a))
    r2 = r * r
    r4 = r2 * r2
    low = multiply_add(r2, multiply_add(r, _Q3, _Q2), multiply_add(r, _Q1, _Q0))
    high = multiply_add(r2, multiply_add(r, _Q7, _Q6), multiply_add(r, _Q5, _Q4))
    high = multiply_add(r4, multiply_add(r, _Q9, _Q8), high)
    fraction = 1.0 + multiply_add(r2, multiply_add(r4, high, low), r)
    bits = (np.float64(shifted).view(np.int64) + _EXPONENT_BIAS) << _MANTISSA_BITS
    return float(fraction * np.int64(bits).view(np.float64))


@array_kernel
def log_ratio(e: float, f: float) -> float:
    """Compute log((1 + e) / (1 + f)) for e and f in [0, 1]."""
    s = (e - f) / (2.0 + (e + f))
    s2 = s * s
    s4 = s2 * s2
    s8 = s4 * s4
    low = multiply_add(s4, multiply_add(s2, _A3, _A2), multiply_add(s2, _A1, _A0))
    high = multiply_add(s4, multiply_add(s2, _A7, _A6), multiply_add(s2, _A5, _A4))
    tail = multiply_add(s8, multiply_add(s8, multiply_add(s2, _A9, _A8), high), low)
    return float(2.0 * multiply_add(s * s2, tail, s))


@array_kernel
def softplus(z: float) -> float:
    """Compute log(1 + exp(z))."""
    return float((z if z > 0.0 else 0.0) + log_ratio(exp_negative(abs(z)), 0.0))


@array_kernel
def softplus_difference(y: float, z: float) -> float:
    """Compute log(1 + exp(y)) - log(1 + exp(z))."""
    straight = (y if y > 0.0 else 0.0) - (z if z > 0.0 else 0.0)
    return float(straight + log_ratio(exp_negative(abs(y)), exp_negative(abs(z))))


@array_kernel
def expit(z: float) -> float:
    """Compute 1 / (1 + exp(-z))."""
    e = exp_negative(abs(z))
    return float((e if z < 0.0 else 1.0) / (1.0 + e))


@pointed_function(LOG_PRIOR)
def log_normal_prior(table: int, theta: int) -> float:
    """Compute -1/2 sum over j of (theta_j - m_j)^2 / v_j."""
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
    """Compute (m - theta) / v."""
    place = carray(pointer(table, np.int64), 2)
    dim = place[0]
    prior, own = carray(pointer(place[1], np.float64), (2, dim)), carray(pointer(theta, np.float64), dim)
    found = carray(pointer(total, np.float64), dim)
    for j in range(dim):
        found[j] = (prior[0, j] - own[j]) / prior[1, j]


def with_normal_prior(
    functions: tuple[Any, ...], dim: int, mean: ArrayLike, variance: ArrayLike, arrays: tuple[Floats, ...]
) -> CompiledTerms:
    """Return compiled terms for a normal prior and given likelihood functions."""
    prior = [np.broadcast_to(np.asarray(part, dtype=np.float64), dim) for part in (mean, variance)]
    kept = (np.stack(prior), *arrays)
    table = [dim, *(array.ctypes.data for array in kept)]
    return CompiledTerms.of(table, (*functions, log_normal_prior, grad_log_normal_prior), kept)


# Number of rows to prefetch, and number of bytes per row. The remaining bytes are prefetched by the processor. Each
# request takes half a nanosecond.
_AHEAD, _ASKED = 8, 128


@pointed_function(LOG_RATIOS)
def logistic_log_ratios(table: int, theta: int, proposed: int, rows: int, count: int, values: int) -> None:
    """Compute log(1 + exp(-y x'theta)) - log(1 + exp(-y x'proposed)).

    Four rows are processed together. Each coefficient is therefore read once for four rows, and the eight sums are
    independent. The last row is repeated to fill an incomplete group.
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
def logistic_log_likelihood(table: int, theta: int, first: int, count: int, work: int) -> float:
    """Compute the sum of -log(1 + exp(-y x'theta))."""
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
def logistic_gradient(table: int, theta: int, rows: int, count: int, total: int, work: int) -> None:
    """Compute the sum of sigma(-y x'theta) y x."""
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


@pointed_function(LOG_RATIOS)
def mixture_log_ratios(table: int, theta: int, proposed: int, rows: int, count: int, values: int) -> None:
    """Compute differences of log(1 + exp(z)) - (y - theta_1)^2 / (2 v)."""
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
def mixture_log_likelihood(table: int, theta: int, first: int, count: int, work: int) -> float:
    """Compute the sum of log(1 + exp(z)) - (y - theta_1)^2 / (2 v) - constant."""
    place = carray(pointer(table, np.int64), 4)
    numbers, y = carray(pointer(place[3], np.float64), 2), carray(pointer(place[2] + 8 * first, np.float64), count)
    own = carray(pointer(theta, np.float64), 2)
    variance, one, two = numbers[0], own[0], own[1]
    total: float = 0.0
    for i in range(count):
        residual = y[i] - one
        z = (two * residual - 0.5 * two * two) / variance
        total += softplus(z) - residual * residual / (2.0 * variance)
    return float(total - count * numbers[1])


@pointed_function(GRADIENT)
def mixture_gradient(table: int, theta: int, rows: int, count: int, total: int, work: int) -> None:
    """Compute the sums of the two gradient components.

    The components are (y - theta_1 - r theta_2) / v and r (y - theta_1 - theta_2) / v.
    """
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


LOGISTIC = logistic_log_ratios, logistic_log_likelihood, logistic_gradient
MIXTURE = mixture_log_ratios, mixture_log_likelihood, mixture_gradient
