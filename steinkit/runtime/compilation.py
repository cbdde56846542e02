"""Compilation of the numerical kernels: once, cached on disk, and announced while it is under way."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import cache, partial
from typing import Any

import numba
from numba.core import event
from numba.core.compiler_lock import global_compiler_lock

from steinkit.errors import during
from steinkit.runtime.interpretation import interpreted
from steinkit.runtime.kernel_cache import KernelCache

_KEPT = "steinkit: compiling numerical kernels (once on this machine; takes up to a minute, then they are cached)"
_NOT_KEPT = "steinkit: compiling functions for this process alone (takes some seconds; their code is not cached)"

_FROM_PYTHON = {"no_cfunc_wrapper": True}  # kernels are called, and never handed to C as pointers
_FROM_KERNELS = _FROM_PYTHON | {"no_cpython_wrapper": True}
_WAITING = "steinkit: another process is compiling numerical kernels; waiting for it, to use them, too"

_announcing: ContextVar[bool] = ContextVar("announcing", default=False)
_said: set[str] = set()


def kernel(function: Callable[..., Any]) -> Any:
    """Compile ``function`` without the GIL, keeping the machine code on disk where a place can be written.

    A machine on which neither the package's folder nor the user's cache folder can be written still works: the
    kernel is then compiled anew in every process.
    """
    return _compiled(function, **_FROM_PYTHON)


def array_kernel(function: Callable[..., Any]) -> Any:
    """`kernel` in which a division by zero gives infinity or NaN, as in NumPy, and not an exception.

    Loops without that check can be compiled to vector instructions. Results stay exact to the bit: no operation is
    reordered or fused.
    """
    return _compiled(function, error_model="numpy", **_FROM_PYTHON)


def inner_kernel(function: Callable[..., Any]) -> Any:
    """`kernel` that other kernels call, and Python never.

    It has no entry from Python, which is a large part of a short function's machine code and of the time to compile it.
    A call from Python would therefore end the process: whatever a test is to call has to be a `kernel`.
    """
    return _compiled(function, **_FROM_KERNELS)


def inner_array_kernel(function: Callable[..., Any]) -> Any:
    """`array_kernel` that other kernels call, and Python never; see `inner_kernel`."""
    return _compiled(function, error_model="numpy", **_FROM_KERNELS)


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    options |= {"nogil": True, "fastmath": False}  # which would else be that of the first caller
    compiled = numba.njit(**options)(function)
    if compiled is function:  # NUMBA_DISABLE_JIT
        return function
    with contextlib.suppress(RuntimeError):  # numba found no folder to cache in
        compiled._cache = KernelCache(function)  # as `enable_caching` sets its own
        compiled.compile = partial(_compile_in_turn, compiled, compiled.compile)
    # of calls from Python only: what a kernel calls is compiled with it
    compiled._compile_for_args = partial(interpreted, compiled, compiled._compile_for_args)
    return compiled


def _compile_in_turn(compiled: Any, compile_now: Callable[[Any], Any], sig: Any) -> Any:
    """Compile a kernel for these types, or load it: after another process that is compiling it just now."""
    with global_compiler_lock, compiled._cache.turn(sig, compiled.targetctx.codegen(), _announce_wait):
        return compile_now(sig)


@cache
def _announce_wait() -> None:
    print(_WAITING, file=sys.stderr, flush=True)


class _Announcer(event.Listener):  # type: ignore[misc]
    """Says once in a process that kernels are compiled, and once that code is which is not kept; loading is silent.

    What is compiled because another function calls it goes without saying. Numba compiles one function at a time, and
    tells every thread's announcer, from when it was installed on.
    """

    def __init__(self) -> None:
        self.depth = 0

    def on_start(self, started: event.Event) -> None:
        self.depth += 1
        dispatcher = started.data["dispatcher"]
        if self.depth > 1 or not dispatcher.py_func.__module__.startswith("steinkit."):
            return
        message = _KEPT if isinstance(dispatcher._cache, KernelCache) else _NOT_KEPT
        if message not in _said:
            _said.add(message)
            print(message, file=sys.stderr, flush=True)

    def on_end(self, ended: event.Event) -> None:
        self.depth = max(0, self.depth - 1)


@contextlib.contextmanager
def announced_compilation() -> Iterator[None]:
    """Tell the user on standard error if a kernel has to be compiled inside this block; blocks may be nested."""
    if _announcing.get():
        yield
        return
    with during(_announcing, True), event.install_listener("numba:compile", _Announcer()):
        yield
