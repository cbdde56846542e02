"""Exponentials and logarithms in plain arithmetic, which compilers turn into vector instructions.

    exp(-a), a >= 0:          -a = k log 2 + r, |r| <= log(2) / 2; 1 + r + r^2 Q(r), times 2^k
    log((1 + e) / (1 + f)):   2 artanh(s) = 2 s (1 + s^2 A(s^2)), s = (e - f) / (2 + e + f); |s| <= 1/3, 0 <= e, f <= 1

Q and A are the polynomials of degree nine whose largest error, times r^2 or s^2, is least on these ranges (Remez's
exchange, in sixty digits): 3.5e-18 and 1.4e-18. So all are right to one or two units in the last place. From them come,
without overflow,

    log(1 + exp(z)) = max(z, 0) + log(1 + exp(-|z|)),    1 / (1 + exp(-z)),

and differences of the first, which lose no digits where its values are large and near each other. NaN stays NaN.
Loops over arrays give the same bits whatever an array's length: vectors and remainders run the same operations.
"""

from __future__ import annotations

import numpy as np

from steinkit.runtime.compilation import array_kernel
from steinkit.runtime.function_pointers import multiply_add

# Adding it rounds a number to a whole one, which then stands in the lowest bits.
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
    """exp(-a) for a >= 0; at least exp(-708)."""
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
    value: float = fraction * np.int64(bits).view(np.float64)
    return value


@array_kernel
def log_ratio(e: float, f: float) -> float:
    """log((1 + e) / (1 + f)) for e and f from 0 to 1."""
    s = (e - f) / (2.0 + (e + f))
    s2 = s * s
    s4 = s2 * s2
    s8 = s4 * s4
    low = multiply_add(s4, multiply_add(s2, _A3, _A2), multiply_add(s2, _A1, _A0))
    high = multiply_add(s4, multiply_add(s2, _A7, _A6), multiply_add(s2, _A5, _A4))
    tail = multiply_add(s8, multiply_add(s8, multiply_add(s2, _A9, _A8), high), low)
    value: float = 2.0 * multiply_add(s * s2, tail, s)
    return value


@array_kernel
def softplus(z: float) -> float:
    """log(1 + exp(z))."""
    value: float = (z if z > 0.0 else 0.0) + log_ratio(exp_negative(abs(z)), 0.0)
    return value


@array_kernel
def softplus_difference(y: float, z: float) -> float:
    """log(1 + exp(y)) - log(1 + exp(z))."""
    straight = (y if y > 0.0 else 0.0) - (z if z > 0.0 else 0.0)
    value: float = straight + log_ratio(exp_negative(abs(y)), exp_negative(abs(z)))
    return value


@array_kernel
def expit(z: float) -> float:
    """1 / (1 + exp(-z))."""
    e = exp_negative(abs(z))
    value: float = (e if z < 0.0 else 1.0) / (1.0 + e)
    return value
