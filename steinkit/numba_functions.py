"""Posteriors from Numba functions of one parameter and one datum: the loops over the data are made here, and compiled.

The loops are those of `steinkit.compiled_terms`; `Posterior`'s own functions call them on batches, too, so that there
is one compilation of each. Their table: d, then for each array of the data its address and the lengths of its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steinkit.compiled_terms import CompiledTerms
from steinkit.errors import InputError, UsageError
from steinkit.sample import Floats

Array = NDArray[Any]

_MOST_AXES = 3  # of an array of data: a row is a number, a vector or a matrix
_NUMBERS = "biufc"


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
        self.data = tuple(as_native(array) for array in data)
        self._given = {
            "log_likelihood": log_likelihood,
            "gradient": gradient,
            "log_prior": log_prior,
            "grad_log_prior": grad_log_prior,
        }
        for name, function in self._given.items():
            if not callable(function) and not (function is None and name in ("gradient", "grad_log_prior")):
                raise UsageError(f"{name} must be a function that Numba can compile; received {function!r}")

        self._loops: dict[str, Any] = {}
        self._checked: set[str] = set()
        self.missing = frozenset(name for name, function in self._given.items() if function is None)

    def __getstate__(self) -> dict[str, Any]:
        """Without what is compiled, which a copy compiles anew."""
        kept = {name: value for name, value in self.__dict__.items() if name != "_functions"}
        return kept | {"_loops": {}}

    def log_likelihood(self, theta: Floats, *batch: Array) -> Floats:
        """Log likelihood of each datum of a batch at one parameter, (d,) -> (b,)."""
        from steinkit.numba_function_kernels import each_term

        theta, kept, table = self._table(theta, batch)
        found = np.empty(len(kept[0]))
        each_term(self._loop("log_likelihood").address, table, theta, found, np.empty(2))
        return found

    def grad_log_likelihood(self, theta: Floats, *batch: Array) -> Floats:
        """Gradient summed over a batch, (d,) -> (d,)."""
        from steinkit.numba_function_kernels import batch_gradient

        loop = self._wanted("gradient")
        theta, kept, table = self._table(theta, batch)
        if "gradient" not in self._checked:
            self._require_length("gradient", theta, *(array[0] for array in kept))
        found, rows = np.empty(len(theta)), np.arange(len(kept[0]))
        batch_gradient(loop.address, table, theta, rows, found, np.empty(2 * len(rows)))
        return found

    def log_prior(self, thetas: Floats) -> Floats:
        """Log prior of each parameter, (K, d) -> (K,)."""
        from steinkit.numba_function_kernels import each_prior

        thetas = np.array(thetas, dtype=np.float64, order="C")
        found = np.empty(len(thetas))
        each_prior(self._loop("log_prior").address, np.array([thetas.shape[1]]), thetas, found)
        return found

    def grad_log_prior(self, thetas: Floats) -> Floats:
        """Its gradient, (K, d) -> (K, d)."""
        from steinkit.numba_function_kernels import each_prior_gradient

        loop = self._wanted("grad_log_prior")
        thetas = np.array(thetas, dtype=np.float64, order="C")
        if "grad_log_prior" not in self._checked and len(thetas):
            self._require_length("grad_log_prior", thetas[0])
        found = np.empty(thetas.shape)
        each_prior_gradient(loop.address, np.array([thetas.shape[1]]), thetas, found)
        return found

    def compiled_terms(self, data: tuple[Array, ...], dim: int) -> CompiledTerms:
        """Terms of the posterior of all the data, in ``dim`` dimensions."""
        loops = [self._loop(name) for name in ("log_ratios", "log_likelihood", "gradient", *_PRIORS)]
        return CompiledTerms.of(_table_of(dim, data), loops, data)

    def _loop(self, name: str) -> Any:
        """A compiled loop; None for a gradient that is not given."""
        if name not in self._loops:
            from steinkit.runtime.compilation import announced_compilation

            with announced_compilation():
                self._loops[name] = _compiled_loop(name, self._functions, self.data)
        return self._loops[name]

    @cached_property
    def _functions(self) -> dict[str, Any]:
        """The functions, compiled where they are plain Python."""
        import numba

        return {
            name: function
            if function is None or hasattr(function, "py_func")
            else numba.njit(nogil=True, error_model="numpy", fastmath=False)(function)
            for name, function in self._given.items()
        }

    def _wanted(self, name: str) -> Any:
        loop = self._loop(name)
        if loop is None:
            raise UsageError(f"this needs a gradient, and from_numba was given no {name}: pass {name}=")
        return loop

    def _table(self, theta: ArrayLike, batch: Sequence[Array]) -> tuple[Floats, tuple[Array, ...], Any]:
        """The parameter, and a batch as loops can read it: of the data's own types, with its table."""
        kept = tuple(np.ascontiguousarray(array, dtype=own.dtype) for array, own in zip(batch, self.data, strict=True))
        own_theta = np.array(theta, dtype=np.float64)
        return own_theta, kept, np.array(_table_of(len(own_theta), kept))

    def _require_length(self, name: str, theta: Floats, *row: Any) -> None:
        """Refuse a gradient that does not return d numbers, before a loop reads them."""
        shape = np.shape(self._functions[name](theta, *row))
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


def _compiled_loop(name: str, functions: dict[str, Any], data: Sequence[Array]) -> Any:
    """Compile a loop; an error names the function at which Numba fails."""
    from numba.core.errors import NumbaError

    from steinkit.numba_function_kernels import make_loops

    kinds = tuple((array.dtype.type, array.ndim) for array in data)
    try:
        return make_loops(functions, kinds)[name]()
    except NumbaError as error:
        given = "log_likelihood" if name == "log_ratios" else name
        row = ", ".join(f"{array.dtype} {array.shape[1:] or 'number'}" for array in data)
        reason = next((line for line in str(error).splitlines()[1:] if line.strip()), str(error))
        raise UsageError(
            f"Numba cannot compile {given}, called with theta of shape (d,)"
            + (f" and a row ({row})" if given in ("log_likelihood", "gradient") else "")
            + f": {reason.strip()}"
        ) from error
