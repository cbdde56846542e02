"""Posteriors from Numba functions of one parameter and one datum: the loops over the data are made here, and compiled.

The loops are those of `steinkit.compiled_terms`; `Posterior`'s own functions call them on batches, too, so that there
is one compilation of each. Their table: d, then for each array of the data its address and the lengths of its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from inspect import isfunction
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steinkit.compiled_terms import CompiledTerms
from steinkit.errors import InputError, UsageError
from steinkit.runtime.deadlines import require_time
from steinkit.sample import Floats

Array = NDArray[Any]

_MOST_AXES = 3  # of an array of data: a row is a number, a vector or a matrix
_NUMBERS = "biufc"
_SLICE_ROWS = 1 << 5  # handed to a loop at once: even of a millisecond each they end soon
_CALL_SECONDS = 0.04  # of a call into compiled loops, after which Python listens


class NumbaFunctions:
    """A posterior's functions of whole batches, made of functions of one parameter and one datum.

    Parameters
    ----------
    log_likelihood : callable, (theta, *row) -> float
    gradient : callable, (theta, *row) -> (d,), or None
    log_prior : callable, (theta) -> float
    grad_log_prior : callable, (theta) -> (d,), or None
    data : sequence of array_like
        Arrays with the same leading length.
    """

    def __init__(
        self,
        log_likelihood: Callable[..., Any],
        gradient: Callable[..., Any] | None,
        log_prior: Callable[..., Any],
        grad_log_prior: Callable[..., Any] | None,
        data: Sequence[ArrayLike],
    ) -> None:
        self.data: tuple[Array, ...] = tuple(as_native(array) for array in data)
        self._given = {
            "log_likelihood": log_likelihood,
            "gradient": gradient,
            "log_prior": log_prior,
            "grad_log_prior": grad_log_prior,
        }
        for name, function in self._given.items():
            if not _is_compilable(function) and not (function is None and name in ("gradient", "grad_log_prior")):
                raise UsageError(
                    f"{name} must be a function that Numba can compile, written with def or lambda or decorated with "
                    f"numba.njit; received {function!r}" + (": wrap it in one of these" if callable(function) else "")
                )
        self._loops: dict[str, Any] = {}
        self._checked: set[str] = set()
        self.missing: frozenset[str] = frozenset(name for name, function in self._given.items() if function is None)

    def __getstate__(self) -> dict[str, Any]:
        """Without what is compiled, which a copy compiles anew."""
        kept = {name: value for name, value in self.__dict__.items() if name not in ("_functions", "_makers")}
        return kept | {"_loops": {}}

    def log_likelihood(self, theta: Floats, *batch: Array) -> Floats:
        """Log likelihood of each datum of a batch at one parameter, (d,) -> (b,)."""
        from steinkit.numba_function_kernels import each_term

        theta, kept, table = self._table(theta, batch)
        found, work, loop = np.empty(len(kept[0])), np.empty(2), self._loop("log_likelihood")
        for first, last in _paced(len(found)):
            each_term(loop.address, table, theta, first, last, found, work)
        return found

    def grad_log_likelihood(self, theta: Floats, *batch: Array) -> Floats:
        """Gradient summed over a batch, (d,) -> (d,)."""
        from steinkit.numba_function_kernels import add_gradients

        loop = self._wanted("gradient")
        theta, kept, table = self._table(theta, batch)
        if "gradient" not in self._checked:
            self._require_length("gradient", theta, *(array[0] for array in kept))
        found, work, rows = np.zeros(len(theta)), np.empty(len(theta)), np.arange(len(kept[0]))
        for first, last in _paced(len(rows)):
            add_gradients(loop.address, table, theta, rows[first:last], _SLICE_ROWS, found, work)
        return found

    def log_prior(self, thetas: Floats) -> Floats:
        """Log prior of each parameter, (K, d) -> (K,)."""
        thetas, prior = np.array(thetas, dtype=np.float64, order="C"), self._loop("log_prior").ctypes
        table = np.array([thetas.shape[1]])
        return np.array([prior(table.ctypes.data, theta.ctypes.data) for theta in thetas], dtype=np.float64)

    def grad_log_prior(self, thetas: Floats) -> Floats:
        """Its gradient, (K, d) -> (K, d)."""
        loop = self._wanted("grad_log_prior")
        thetas = np.array(thetas, dtype=np.float64, order="C")
        if "grad_log_prior" not in self._checked and len(thetas):
            self._require_length("grad_log_prior", thetas[0])
        found, table = np.empty(thetas.shape), np.array([thetas.shape[1]])
        for theta, total in zip(thetas, found, strict=True):
            loop.ctypes(table.ctypes.data, theta.ctypes.data, total.ctypes.data)
        return found

    def compiled_terms(self, data: tuple[Array, ...], dim: int) -> CompiledTerms:
        """Terms of the posterior of all the data, in ``dim`` dimensions."""
        loops = [self._loop(name) for name in ("log_ratios", "log_likelihood", "gradient", *_PRIORS)]
        return CompiledTerms.of(_table_of(dim, data), loops, data, _SLICE_ROWS)

    def _loop(self, name: str) -> Any:
        """A compiled loop; None for a gradient that is not given."""
        if name not in self._loops:
            from steinkit.runtime.compilation import NOT_KEPT, announce, announced_compilation

            with announced_compilation():
                announce(NOT_KEPT)
                self._loops[name] = _compiled_loop(name, self._makers, self.data)
        return self._loops[name]

    @cached_property
    def _functions(self) -> dict[str, Any]:
        """The functions, as Numba compiles them."""
        return {name: None if function is None else _jitted(function) for name, function in self._given.items()}

    @cached_property
    def _makers(self) -> dict[str, Callable[[], Any]]:
        """What compiles each loop."""
        from steinkit.numba_function_kernels import make_loops

        return make_loops(self._functions, tuple((array.dtype.type, array.ndim) for array in self.data))

    def _wanted(self, name: str) -> Any:
        loop = self._loop(name)
        if loop is None:
            raise UsageError(f"this needs a gradient, and from_numba was given no {name}: pass {name}=")
        return loop

    def _table(self, theta: ArrayLike, batch: Sequence[Array]) -> tuple[Floats, tuple[Array, ...], Any]:
        """The parameter, and a batch as loops can read it: of the data's own types, with its table."""
        kept = tuple(np.ascontiguousarray(array, dtype=own.dtype) for array, own in zip(batch, self.data, strict=True))
        own_theta = np.array(theta, dtype=np.float64)
        own_theta.flags.writeable = False
        return own_theta, kept, np.array(_table_of(len(own_theta), kept))

    def _require_length(self, name: str, theta: Floats, *row: Any) -> None:
        """Refuse a gradient that does not return d numbers, before a loop reads them."""
        shape = np.shape(self._functions[name](_read_only(theta), *(_read_only(each) for each in row)))
        if shape != theta.shape:
            raise InputError(
                f"{name} must return the {len(theta)} derivatives, an array or a tuple; its shape is {shape}"
            )
        self._checked.add(name)


_PRIORS = ("log_prior", "grad_log_prior")


def as_native(array: ArrayLike) -> Array:
    """An array of data as compiled loops read it: numbers or truth values, contiguous, in the machine's byte order."""
    found = np.asarray(array)
    if found.dtype.kind not in _NUMBERS or found.dtype.itemsize > 16 or found.dtype == np.float16:
        raise UsageError(f"data for Numba functions must be arrays of numbers; received type {found.dtype}")
    if found.ndim > _MOST_AXES:
        raise UsageError(f"an array of data may have at most {_MOST_AXES} axes; received shape {found.shape}")
    return np.ascontiguousarray(found, dtype=found.dtype.newbyteorder("="))


def _table_of(dim: int, arrays: Sequence[Array]) -> list[int]:
    table = [dim]
    for array in arrays:
        lengths = [*array.shape[1:], *([0] * (_MOST_AXES - max(array.ndim, 1)))]
        table += [array.ctypes.data, *lengths]
    return table


def _is_compilable(function: Any) -> bool:
    """Whether it is a function written in Python, or one that Numba has compiled: not a builtin, partial or object."""
    return isfunction(function) or isfunction(getattr(function, "py_func", None))


def _jitted(function: Any) -> Any:
    """Compile the function for read-only arrays, with options of our own.

    One that the user compiled may have fixed the types of its arguments, or want arrays that can be written.
    """
    import numba

    compiled = numba.njit(nogil=True, error_model="numpy", fastmath=False)
    return compiled(getattr(function, "py_func", function))


def _read_only(value: Any) -> Any:
    """A view of an array that cannot be written; numbers as they are."""
    if np.ndim(value) == 0:
        return value
    view = value.view()
    view.flags.writeable = False
    return view


def _paced(size: int) -> Iterator[tuple[int, int]]:
    """Ranges of data that take some hundredths of a second each: between two of them the deadline is heard."""
    first, count = 0, _SLICE_ROWS
    while first < size:
        began = perf_counter()
        yield first, min(first + count, size)
        first += count
        if first < size:
            require_time("the terms of the data")
        taken = perf_counter() - began
        if taken < 0.5 * _CALL_SECONDS:
            count *= 2
        elif taken > _CALL_SECONDS:
            count = max(count // 2, _SLICE_ROWS)


def _compiled_loop(name: str, makers: dict[str, Callable[[], Any]], data: Sequence[Array]) -> Any:
    """Compile a loop; an error names the function at which Numba fails."""
    from numba.core.errors import NumbaError

    try:
        return makers[name]()
    except NumbaError as error:
        given = "log_likelihood" if name == "log_ratios" else name
        row = ", ".join(f"{array.dtype} {array.shape[1:] or 'number'}" for array in data)
        reason = next((line for line in str(error).splitlines()[1:] if line.strip()), str(error))
        raise UsageError(
            f"Numba cannot compile {given}, called with theta of shape (d,)"
            + (f" and a row ({row})" if given in ("log_likelihood", "gradient") else "")
            + f": {reason.strip()}"
            + ("; theta and rows are read-only: change a copy" if "readonly" in str(error) else "")
        ) from error
