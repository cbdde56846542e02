"""Compiled loops over the data for functions of one parameter and one datum: see `steinkit.numba_functions`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import carray

from steinkit.compiled_terms import GRAD_LOG_PRIOR, GRADIENT, LOG_LIKELIHOOD, LOG_PRIOR, LOG_RATIOS
from steinkit.runtime.compilation import array_kernel
from steinkit.runtime.function_pointers import call_at, number_at, pointed_function, pointer, read_only
from steinkit.sample import Floats, Integers

_ENTRIES = 3  # of the table for each array


def make_loops(functions: dict[str, Any], kinds: tuple[tuple[Any, int], ...]) -> dict[str, Callable[[], Any]]:
    """What compiles each loop, by its name.

    Parameters
    ----------
    functions : dict
        Compiled ``log_likelihood``, ``gradient``, ``log_prior``, ``grad_log_prior``; None for what is missing.
    kinds : tuple of (type, int)
        Type of the numbers and number of axes of each array of data.
    """
    rows = _rows_of(kinds)
    likelihood, prior = _at_row(functions["log_likelihood"], rows), functions["log_prior"]
    gradient, prior_gradient = functions["gradient"], functions["grad_log_prior"]
    return {
        "log_likelihood": lambda: _log_likelihood(likelihood),
        "log_ratios": lambda: _log_ratios(likelihood),
        "gradient": lambda: gradient and _gradient(_at_row(gradient, rows)),
        "log_prior": lambda: _log_prior(prior),
        "grad_log_prior": lambda: prior_gradient and _grad_log_prior(prior_gradient),
    }


def _rows_of(kinds: tuple[tuple[Any, int], ...]) -> Any:
    """A compiled function (table, i) -> row i of each array, as a tuple."""
    dtype, axes = kinds[-1]
    at = 1 + _ENTRIES * (len(kinds) - 1)
    shapes = (
        lambda table, i: (i + 1,),
        lambda table, i: (i + 1, table[at + 1]),
        lambda table, i: (i + 1, table[at + 1], table[at + 2]),
    )
    shape = numba.njit(fastmath=False)(shapes[axes - 1])

    @numba.njit(fastmath=False)
    def last(table: Any, i: int) -> Any:
        return (read_only(carray(pointer(table[at], dtype), shape(table, i)))[i],)

    if len(kinds) == 1:
        return last
    before = _rows_of(kinds[:-1])

    @numba.njit(fastmath=False)
    def rows(table: Any, i: int) -> Any:
        return before(table, i) + last(table, i)

    return rows


_user_loop = {"cached": False, "reordered": False}


@array_kernel
def _require(holds: bool) -> None:
    """Raise if it does not hold."""
    if not holds:
        raise ValueError


def _at_row(term: Any, row: Any) -> Any:
    """A compiled function (theta, table, i) -> term of row i: Numba takes no starred arguments where it catches."""

    @numba.njit(fastmath=False)
    def term_at(theta: Any, table: Any, i: int) -> Any:
        return term(theta, *row(table, i))

    return term_at


def _log_likelihood(term_at: Any) -> Any:
    @pointed_function(LOG_LIKELIHOOD, **_user_loop)
    def log_likelihood(table: int, theta: int, first: int, count: int, work: int) -> float:
        place = carray(pointer(table, np.int64), 1 << 10)
        own = read_only(carray(pointer(theta, np.float64), place[0]))
        total = 0.0
        try:
            for i in range(first, first + count):
                total += term_at(own, place, i)
        except Exception:
            total = np.nan
        return total

    return log_likelihood


def _log_ratios(term_at: Any) -> Any:
    @pointed_function(LOG_RATIOS, **_user_loop)
    def log_ratios(table: int, theta: int, proposed: int, rows: int, count: int, values: int) -> None:
        place = carray(pointer(table, np.int64), 1 << 10)
        old = read_only(carray(pointer(theta, np.float64), place[0]))
        new = read_only(carray(pointer(proposed, np.float64), place[0]))
        which, found = carray(pointer(rows, np.int64), count), carray(pointer(values, np.float64), count)
        try:
            for i in range(count):
                found[i] = term_at(new, place, which[i]) - term_at(old, place, which[i])
        except Exception:
            found[0] = np.nan

    return log_ratios


def _gradient(term_at: Any) -> Any:
    @pointed_function(GRADIENT, **_user_loop)
    def gradient(table: int, theta: int, rows: int, count: int, total: int, work: int) -> None:
        place = carray(pointer(table, np.int64), 1 << 10)
        dim = place[0]
        own, sums = read_only(carray(pointer(theta, np.float64), dim)), carray(pointer(total, np.float64), dim)
        which = carray(pointer(rows, np.int64), count)
        for j in range(dim):
            sums[j] = 0.0
        try:
            for i in range(count):
                found = term_at(own, place, which[i])
                _require(len(found) == dim)
                for j in range(dim):
                    sums[j] += found[j]
        except Exception:
            for j in range(dim):
                sums[j] = np.nan

    return gradient


def _log_prior(term: Any) -> Any:
    @pointed_function(LOG_PRIOR, **_user_loop)
    def log_prior(table: int, theta: int) -> float:
        value = np.nan
        try:
            dim = carray(pointer(table, np.int64), 1)[0]
            value = float(term(read_only(carray(pointer(theta, np.float64), dim))))
        except Exception:
            value = np.nan
        return value

    return log_prior


def _grad_log_prior(term: Any) -> Any:
    @pointed_function(GRAD_LOG_PRIOR, **_user_loop)
    def grad_log_prior(table: int, theta: int, total: int) -> None:
        dim = carray(pointer(table, np.int64), 1)[0]
        sums = carray(pointer(total, np.float64), dim)
        try:
            found = term(read_only(carray(pointer(theta, np.float64), dim)))
            _require(len(found) == dim)
            for j in range(dim):
                sums[j] = found[j]
        except Exception:
            for j in range(dim):
                sums[j] = np.nan

    return grad_log_prior


@array_kernel
def each_term(
    function: int, table: Integers, theta: Floats, first: int, last: int, found: Floats, work: Floats
) -> None:
    """Log likelihood of the data first, ..., last - 1 of the table, one by one."""
    for i in range(first, last):
        found[i] = number_at(function, (table.ctypes.data, theta.ctypes.data, i, 1, work.ctypes.data))


@array_kernel
def add_gradients(
    function: int, table: Integers, theta: Floats, rows: Integers, longest: int, found: Floats, work: Floats
) -> None:
    """Add the gradients of these rows, of so many at a time, to what is found, (d,); work has room for (d,)."""
    for first in range(0, len(rows), longest):
        arguments = (
            table.ctypes.data,
            theta.ctypes.data,
            rows.ctypes.data + first * rows.itemsize,
            min(longest, len(rows) - first),
            work.ctypes.data,
            work.ctypes.data,  # the loop itself needs no room
        )
        call_at(function, arguments)
        for j in range(len(found)):
            found[j] += work[j]
