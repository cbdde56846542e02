"""Exponentials and logarithms in plain arithmetic, which compilers turn into vector instructions.

    exp(-a), a >= 0:          -a = k log 2 + r, |r| <= log(2) / 2; a rational approximation of exp(r), times 2^k
    log(1 + e), 0 <= e <= 1:  1 + e, or half of it beyond sqrt(2), as (1 + s) / (1 - s); a polynomial in s^2

Both are right to one or two units in the last place; the coefficients are those of fdlibm (Sun Microsystems, 1993,
files e_exp.c and e_log.c). From them come, without overflow,

    log(1 + exp(z)) = max(z, 0) + log(1 + exp(-|z|)),    1 / (1 + exp(-z)).

NaN stays NaN. Loops over arrays give the same bits whatever an array's length: vectors and remainders run
the same operations.
"""

from __future__ import annotations

import numpy as np

from steinkit.runtime.compilation import array_kernel

# Adding it rounds a number to a whole one, which then stands in the lowest bits.
_ROUNDING = 6755399441055744.0  # 1.5 * 2^52
_LARGEST = 708.0  # exp(-708) is still a normal number
_INVERSE_LOG_2 = 1.4426950408889634
_LOG_2_HIGH, _LOG_2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_LOG_2 = 0.6931471805599453
_SQRT_2_LESS_1 = 0.41421356237309503
_EXPONENT_BIAS, _MANTISSA_BITS = 1023, 52

_P1, _P2, _P3 = 1.66666666666666019037e-01, -2.77777777770155933842e-03, 6.61375632143793436117e-05
_P4, _P5 = -1.65339022054652515390e-06, 4.13813679705723846039e-08
_L1, _L2, _L3, _L4 = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
)
_L5, _L6, _L7 = 1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01


@array_kernel
def exp_negative(a: float) -> float:
    """exp(-a) for a >= 0; at least exp(-708)."""
    a = _LARGEST if a > _LARGEST else a
    shifted = _ROUNDING - a * _INVERSE_LOG_2
    k = shifted - _ROUNDING
    high, low = -a - k * _LOG_2_HIGH, k * _LOG_2_LOW
    r = high - low
    square = r * r
    c = r - square * (_P1 + square * (_P2 + square * (_P3 + square * (_P4 + square * _P5))))
    fraction = 1.0 - ((low - (r * c) / (2.0 - c)) - high)
    bits = (np.float64(shifted).view(np.int64) + _EXPONENT_BIAS) << _MANTISSA_BITS
    return fraction * np.int64(bits).view(np.float64)


@array_kernel
def log_one_plus(e: float) -> float:
    """log(1 + e) for 0 <= e <= 1."""
    halved = e > _SQRT_2_LESS_1
    f = 0.5 * (e - 1.0) if halved else e
    s = f / (2.0 + f)
    z = s * s
    tail = z * (_L1 + z * (_L2 + z * (_L3 + z * (_L4 + z * (_L5 + z * (_L6 + z * _L7))))))
    half_square = 0.5 * f * f
    return (f - (half_square - s * (half_square + tail))) + (_LOG_2 if halved else 0.0)


@array_kernel
def softplus(z: float) -> float:
    """log(1 + exp(z))."""
    a = abs(z)
    value: float = 0.5 * (z + a) + log_one_plus(exp_negative(a))
    return value


@array_kernel
def expit(z: float) -> float:
    """1 / (1 + exp(-z))."""
    e = exp_negative(abs(z))
    value: float = (e if z < 0.0 else 1.0) / (1.0 + e)
    return value
