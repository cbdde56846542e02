"""Compiled sums over a posterior's terms, slice by slice; `steinkit.compiled_terms` says what is called."""

from __future__ import annotations

import math

import numpy as np

from steinkit.runtime.compilation import array_kernel
from steinkit.runtime.function_pointers import call_at, number_at
from steinkit.sample import Floats
from steinkit.samplers.chains.compiled.records import Terms

# Entries of the addresses.
_TABLE, _RATIOS, _LIKELIHOOD, _GRADIENT, _PRIOR, _PRIOR_GRADIENT = range(6)


@array_kernel
def log_prior(terms: Terms, theta: Floats) -> float:
    """Log prior; minus infinity outside the bounds."""
    bounds = terms.bounds
    for j in range(len(bounds)):
        if not bounds[j, 0] <= theta[j] <= bounds[j, 1]:
            return -np.inf
    value: float = number_at(terms.addresses[_PRIOR], (terms.addresses[_TABLE], theta.ctypes.data))
    return value


@array_kernel
def grad_log_prior(terms: Terms, theta: Floats, found: Floats) -> None:
    """Gradient of the log prior, (d,)."""
    call_at(terms.addresses[_PRIOR_GRADIENT], (terms.addresses[_TABLE], theta.ctypes.data, found.ctypes.data))


@array_kernel
def log_ratios(terms: Terms, theta: Floats, proposed: Floats, count: int) -> None:
    """l_i = log p(x_i | proposed) - log p(x_i | theta) of the first ``count`` rows, into the first values."""
    states = (terms.addresses[_TABLE], theta.ctypes.data, proposed.ctypes.data)
    call_at(terms.addresses[_RATIOS], (*states, terms.rows.ctypes.data, np.int64(count), terms.values.ctypes.data))


@array_kernel
def slice_log_likelihood(terms: Terms, theta: Floats, first: int, count: int) -> float:
    """Log likelihood of the data first, ..., first + count - 1."""
    part = (np.int64(first), np.int64(count), terms.values.ctypes.data)
    value: float = number_at(terms.addresses[_LIKELIHOOD], (terms.addresses[_TABLE], theta.ctypes.data, *part))
    return value


@array_kernel
def slice_gradient(terms: Terms, theta: Floats, first: int, count: int, found: Floats) -> None:
    """Gradient of the log likelihood summed over rows first, ..., first + count - 1, (d,)."""
    rows = terms.rows.ctypes.data + first * terms.rows.itemsize
    part = (rows, np.int64(count), found.ctypes.data, terms.values.ctypes.data)
    call_at(terms.addresses[_GRADIENT], (terms.addresses[_TABLE], theta.ctypes.data, *part))


# The loops below may be long, and end unfinished once ``stop`` holds; slices are the same however fast they come, for
# the sums depend on them in their last digits.


@array_kernel
def batch_gradient(terms: Terms, theta: Floats, count: int, found: Floats) -> None:
    """Gradient of the log likelihood summed over the first ``count`` rows, (d,)."""
    slice_gradient(terms, theta, 0, min(terms.longest, count), found)
    for first in range(terms.longest, count, terms.longest):
        if terms.stop[0]:
            return
        slice_gradient(terms, theta, first, min(terms.longest, count - first), terms.work)
        for j in range(len(found)):
            found[j] += terms.work[j]


@array_kernel
def total_log_likelihood(terms: Terms, theta: Floats) -> float:
    """Log likelihood of all the data."""
    total = 0.0
    for first in range(0, terms.size, terms.longest):
        if terms.stop[0]:
            return total
        total += slice_log_likelihood(terms, theta, first, min(terms.longest, terms.size - first))
    return total


@array_kernel
def count_up(terms: Terms, first: int) -> int:
    """Make the rows those of the data from ``first`` on, as many as a slice has; return their number."""
    count = min(terms.longest, terms.size - first)
    for i in range(count):
        terms.rows[i] = first + i
    return count


@array_kernel
def total_gradient(terms: Terms, theta: Floats, found: Floats) -> None:
    """Gradient of the log likelihood of all the data, (d,)."""
    for j in range(len(found)):
        found[j] = 0.0
    for first in range(0, terms.size, terms.longest):
        if terms.stop[0]:
            return
        slice_gradient(terms, theta, 0, count_up(terms, first), terms.work)
        for j in range(len(found)):
            found[j] += terms.work[j]


@array_kernel
def largest_log_ratio(terms: Terms, theta: Floats, proposed: Floats) -> float:
    """Largest |l_i| of all the data; NaN if one of them is."""
    largest = 0.0
    for first in range(0, terms.size, terms.longest):
        if terms.stop[0]:
            return largest
        count = count_up(terms, first)
        log_ratios(terms, theta, proposed, count)
        for i in range(count):
            size_of_one = abs(terms.values[i])
            if size_of_one > largest or math.isnan(size_of_one):
                largest = size_of_one
    return largest
