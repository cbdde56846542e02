"""Kernels as plain Python, where compiling them would take longer than their work.

A first verdict on a thousand draws would wait six times as long for the compiler as for all else. Within a block of
`small_work` a kernel whose code is neither loaded nor kept on disk is therefore run by Python: its own source, number
by number, or a twin on whole arrays. Results are the same to the bit, for compiled kernels reorder and fuse no
operation, and Python's numbers are the same doubles. So nothing but the time depends on which of them runs.

A process interprets for `_MOST_SECONDS` in all, by what callers foretell, and compiles from then on: it never waits for
more than that in vain. One that is to do much compiles from its beginning (`compile_from_now_on`), and so does one that
others have gone before: the sixth process on a machine that is to interpret a kernel compiles it for all that follow.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import cache, partial
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from steinkit.errors import during
from steinkit.runtime.kernel_cache import KernelCache

_MOST_SECONDS = 4.0  # of interpretation in a process; what a first score need not compile would take five times as long

_MOST_PROCESSES = 5  # that do without a kernel's machine code; together they take as long as its compilation

_is_small: ContextVar[bool] = ContextVar("is_small", default=False)
_left = {"seconds": _MOST_SECONDS}
_twins: dict[Dispatcher, Callable[..., Any]] = {}
_always: set[Dispatcher] = set()


@contextlib.contextmanager
def small_work(seconds: float) -> Iterator[None]:
    """Interpret kernels that are not compiled yet inside this block, if that is foretold to take little time.

    Parameters
    ----------
    seconds : float
        Of interpretation, were none of the kernels compiled.
    """
    small = seconds <= _left["seconds"]
    if small:
        _left["seconds"] -= seconds
    with during(_is_small, small):
        yield


def compile_from_now_on() -> None:
    """Interpret nothing more in this process."""
    _left["seconds"] = 0.0


def with_twin(twin: Callable[..., Any]) -> Callable[[Any], Any]:
    """Mark a kernel to be run as this function on whole arrays where it is not compiled; both give the same bits."""

    def mark(compiled: Any) -> Any:
        if isinstance(compiled, Dispatcher):
            _twins[compiled] = twin
        return compiled

    return mark


def _as_view(make: Callable[..., Any], *args: Any) -> Any:
    return make(*args).data


def always_compiled(compiled: Any) -> Any:
    """Mark a kernel that Python would take far longer to run than to compile."""
    if isinstance(compiled, Dispatcher):
        _always.add(compiled)
    return compiled


def interpreted(compiled: Any, compile_now: Callable[..., Any], *args: Any) -> Callable[..., Any]:
    """What a call of the kernel, of which this process has no code for such arguments, is to run."""
    if not _is_small.get() or compiled in _always or _is_kept(compiled):
        entry: Callable[..., Any] = compile_now(*args)
        return entry
    return _twins.get(compiled) or _interpreter(compiled)


@cache
def _is_kept(compiled: Any) -> bool:
    """Whether machine code of the kernel was on disk when it was first called, or many processes have wanted it."""
    kept = compiled._cache
    return isinstance(kept, KernelCache) and (kept.is_filled or kept.done_without() >= _MOST_PROCESSES)


@cache
def _interpreter(compiled: Dispatcher) -> Callable[..., Any]:
    """The kernel as a function of the same arguments, run by Python."""
    function = _plain(compiled)

    def run(*args: Any) -> Any:
        arrays = list(_arrays(args))
        before = [array.copy() for array in arrays]
        try:
            return _as_arrays(function(*map(_viewed, args)))
        except (ZeroDivisionError, OverflowError):  # machine code goes on, with infinity or NaN
            for array, values in zip(arrays, before, strict=True):
                if array.flags.writeable:
                    array[...] = values
        with during(_is_small, False):
            return compiled(*args)

    return run


_NUMPY = SimpleNamespace(
    int64=np.int64,
    **{name: partial(_as_view, getattr(np, name)) for name in ("empty", "zeros", "full")},
)
"""What kernels take from NumPy."""


@cache
def _plain(compiled: Dispatcher) -> Callable[..., Any]:
    """The Python function of a kernel, which calls those of other kernels."""
    function = compiled.py_func
    names = {**function.__globals__, "np": _NUMPY}
    for name in function.__code__.co_names:
        if isinstance(names.get(name), Dispatcher):
            names[name] = _plain(names[name])
    return FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)


def _as_arrays(values: Any) -> Any:
    """A kernel's result, with arrays for memory views."""
    if isinstance(values, tuple):
        return _rebuilt(values, _as_arrays)
    return np.asarray(values) if isinstance(values, memoryview) else values


def _rebuilt(values: tuple[Any, ...], made: Callable[[Any], Any]) -> Any:
    """A tuple of what is made of the values, with the same names."""
    parts = map(made, values)
    return type(values)(*parts) if hasattr(values, "_fields") else tuple(parts)


def _arrays(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, tuple):
            yield from _arrays(value)


def _viewed(value: Any) -> Any:
    """An argument with memory views for arrays: they give and take Python's numbers, several times as fast as NumPy."""
    if isinstance(value, np.ndarray):
        return value.data
    if isinstance(value, tuple):
        return _rebuilt(value, _viewed)
    return value.item() if isinstance(value, np.generic) else value
