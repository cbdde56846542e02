"""Compiled sums over a posterior's terms, slice by slice; `steinkit.compiled_terms` says what is called."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from steinkit.runtime.compilation import array_kernel
from steinkit.runtime.function_pointers import call_at, number_at
from steinkit.sample import Floats, Integers
from steinkit.samplers.chains.compiled.order_kernels import count_up

# Entries of the addresses.
_TABLE, _RATIOS, _LIKELIHOOD, _GRADIENT, _PRIOR, _PRIOR_GRADIENT = range(6)


@array_kernel
def log_prior(terms: Integers, theta: Floats, bounds: Floats) -> float:
    """Log prior; minus infinity outside the bounds, (d, 2) or (0, 2)."""
    for j in range(len(bounds)):
        if not bounds[j, 0] <= theta[j] <= bounds[j, 1]:
            return -np.inf
    value: float = number_at(terms[_PRIOR], (terms[_TABLE], theta.ctypes.data))
    return value


@array_kernel
def grad_log_prior(terms: Integers, theta: Floats, found: Floats) -> None:
    """Gradient of the log prior, (d,)."""
    call_at(terms[_PRIOR_GRADIENT], (terms[_TABLE], theta.ctypes.data, found.ctypes.data))


@array_kernel
def log_ratios(terms: Integers, theta: Floats, proposed: Floats, rows: Integers, count: int, values: Floats) -> None:
    """l_i = log p(x_i | proposed) - log p(x_i | theta) of the first ``count`` rows; values has room for twice that."""
    call_at(
        terms[_RATIOS],
        (
            terms[_TABLE],
            theta.ctypes.data,
            proposed.ctypes.data,
            rows.ctypes.data,
            np.int64(count),
            values.ctypes.data,
        ),
    )


@array_kernel
def slice_log_likelihood(terms: Integers, theta: Floats, first: int, count: int, values: Floats) -> float:
    """Log likelihood of the data first, ..., first + count - 1."""
    arguments = (terms[_TABLE], theta.ctypes.data, np.int64(first), np.int64(count), values.ctypes.data)
    value: float = number_at(terms[_LIKELIHOOD], arguments)
    return value


@array_kernel
def slice_gradient(
    terms: Integers, theta: Floats, rows: Integers, first: int, count: int, found: Floats, values: Floats
) -> None:
    """Gradient of the log likelihood summed over rows first, ..., first + count - 1, (d,)."""
    call_at(
        terms[_GRADIENT],
        (
            terms[_TABLE],
            theta.ctypes.data,
            rows.ctypes.data + first * rows.itemsize,
            np.int64(count),
            found.ctypes.data,
            values.ctypes.data,
        ),
    )


# The loops below may be long, and end unfinished once ``stop`` holds; slices are the same however fast they come, for
# the sums depend on them in their last digits.


@array_kernel
def batch_gradient(
    terms: Integers,
    theta: Floats,
    rows: Integers,
    count: int,
    longest: int,
    found: Floats,
    values: Floats,
    work: Floats,
    stop: Any,
) -> None:
    """Gradient of the log likelihood summed over the first ``count`` rows, (d,); work is another (d,)."""
    slice_gradient(terms, theta, rows, 0, min(longest, count), found, values)
    for first in range(longest, count, longest):
        if stop[0]:
            return
        slice_gradient(terms, theta, rows, first, min(longest, count - first), work, values)
        for j in range(len(found)):
            found[j] += work[j]


@array_kernel
def total_log_likelihood(terms: Integers, theta: Floats, size: int, longest: int, values: Floats, stop: Any) -> float:
    """Log likelihood of all the data."""
    total = 0.0
    for first in range(0, size, longest):
        if stop[0]:
            return total
        total += slice_log_likelihood(terms, theta, first, min(longest, size - first), values)
    return total


@array_kernel
def total_gradient(
    terms: Integers,
    theta: Floats,
    size: int,
    longest: int,
    found: Floats,
    rows: Integers,
    values: Floats,
    work: Floats,
    stop: Any,
) -> None:
    """Gradient of the log likelihood of all the data, (d,); work is another (d,)."""
    for j in range(len(found)):
        found[j] = 0.0
    for first in range(0, size, longest):
        if stop[0]:
            return
        count = min(longest, size - first)
        count_up(first, count, rows)
        slice_gradient(terms, theta, rows, 0, count, work, values)
        for j in range(len(found)):
            found[j] += work[j]


@array_kernel
def largest_log_ratio(
    terms: Integers, theta: Floats, proposed: Floats, size: int, longest: int, rows: Integers, values: Floats, stop: Any
) -> float:
    """Largest |l_i| of all the data; NaN if one of them is."""
    largest = 0.0
    for first in range(0, size, longest):
        if stop[0]:
            return largest
        count = min(longest, size - first)
        count_up(first, count, rows)
        log_ratios(terms, theta, proposed, rows, count, values)
        for i in range(count):
            size_of_one = abs(values[i])
            if size_of_one > largest or math.isnan(size_of_one):
                largest = size_of_one
    return largest
