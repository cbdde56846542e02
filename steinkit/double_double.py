"""Double-double arithmetic with an accuracy of about 2^-104.

A double-double is an unevaluated sum of two doubles, the high part and the low part. Sums and products of doubles are
split into the rounded result and its exact rounding error [1]_. In proofs of brackets, double-doubles represent the
sample weights, which are quotients, and the products of weights and scores. If the weights were rounded to doubles, the
bracket would be valid only for a slightly different sample. Errors are relative to the absolute values of the terms.
The terms must not overflow. Underflow adds an error of less than `UNDERFLOW`.

References
----------
.. [1] T. J. Dekker, "A floating-point technique for extending the available precision", Numer. Math. 18 (1971);
   M. Joldes, J.-M. Muller and V. Popescu, "Tight and rigorous error bounds for basic building blocks of double-word
   arithmetic", ACM Trans. Math. Softw. 44 (2017).
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Pair = tuple[Floats, Floats]
Number = TypeVar("Number", float, Floats)

ROUNDING = 2.0**-96
"""Bound on the relative errors of a few operations and of sums with up to 2^40 terms."""

UNDERFLOW = 2.0**-1000
"""Bound on the error due to underflow in a few operations on numbers with absolute values of at most one."""

_SPLITTER = 134217729.0  # 2^27 + 1


def two_sum(a: Number, b: Number) -> tuple[Number, Number]:
    """Return the rounded sum of two doubles and its rounding error."""
    total = a + b
    shadow = total - a
    return total, (a - (total - shadow)) + (b - shadow)


def two_product(a: Number, b: Number) -> tuple[Number, Number]:
    """Return the rounded product of two doubles below 2^900 and its rounding error."""
    product, a_scaled, b_scaled = a * b, _SPLITTER * a, _SPLITTER * b
    a_high, b_high = a_scaled - (a_scaled - a), b_scaled - (b_scaled - b)  # 26-bit numbers, like the low parts
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def plus(a: tuple[Number, Number], b: tuple[Number, Number]) -> tuple[Number, Number]:
    """Return the sum of two double-doubles.

    The error is less than 2^-104 times the sum of their sizes.
    """
    high, error = two_sum(a[0], b[0])
    return two_sum(high, error + (a[1] + b[1]))


def times(a: tuple[Number, Number], b: tuple[Number, Number]) -> tuple[Number, Number]:
    """Return the product of two double-doubles."""
    high, error = two_product(a[0], b[0])
    return two_sum(high, error + (a[1] * b[0] + a[0] * b[1]))


def ratio(a: Pair, b: Pair) -> Pair:
    """Return the quotient of two double-doubles."""
    high = a[0] / b[0]
    product, error = two_product(high, b[0])
    rest = ((a[0] - product) - error) + (a[1] - high * b[1])
    return two_sum(high, rest / b[0])


def sums_in_groups(terms: Pair, group: Integers, n: int) -> Pair:
    """Return the sum of the double-doubles in each of n groups.

    Neighboring terms of a group are added pairwise until one term remains, so each of n terms is involved in about
    log2(n) additions. The error is relative to the sum of the absolute values of the terms.
    """
    order = np.argsort(group, kind="stable")
    high, low, group = terms[0][order], terms[1][order], group[order]
    while True:
        begins = np.flatnonzero(np.diff(group, prepend=-1))
        if len(begins) == len(group):
            break
        position = np.arange(len(group)) - np.repeat(begins, np.diff(begins, append=len(group)))
        added = np.flatnonzero(position % 2)
        total = plus((high[added - 1], low[added - 1]), (high[added], low[added]))
        high[added - 1], low[added - 1] = total
        kept = position % 2 == 0
        high, low, group = high[kept], low[kept], group[kept]
    sums = np.zeros((2, n))
    sums[:, group] = high, low
    return sums[0], sums[1]


def error_of_high(terms: Pair, sizes: Floats | None = None) -> Floats:
    """Return bounds on the errors caused by omitting the low parts.

    Parameters
    ----------
    terms : pair of ndarray
    sizes : ndarray, optional
        Sums of the sizes of the added terms. By default, the sizes of the high parts are used. If a size is 0, the
        error is 0.
    """
    high, low = terms
    size = np.abs(high) if sizes is None else sizes
    return np.where(size > 0.0, np.abs(low) + ROUNDING * size + UNDERFLOW, 0.0)
