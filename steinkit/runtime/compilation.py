"""Compiled kernels: cached on disk by Numba, announced while they are compiled, or run as plain Python before that.

Numba keeps machine code in the folder that NUMBA_CACHE_DIR names; else beside the module, in ``__pycache__``, if that
can be written; else in the user's own cache folder. It compiles a kernel anew when the kernel's own file has changed.

**Plain Python.** A first verdict on a thousand draws would wait several times as long for the compiler as for all else.
Within a block of `small_work` a kernel without machine code, in this process or on disk, is therefore run by Python:
its own source, number by number, or a twin on whole arrays. Results are bit-for-bit identical, for compiled kernels
reorder and fuse no operation. A process runs plain Python for `_MOST_SECONDS` in all, by what callers foretell, and
compiles from then on. One that is to do much compiles from its beginning (`compile_from_now_on`).
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import cache, partial, wraps
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.extending import overload, register_jitable

from steinkit.errors import during

_MOST_SECONDS = 4.0  # of plain Python in a process; what a first score need not compile would take as long

_is_small: ContextVar[bool] = ContextVar("is_small", default=False)
_left = {"seconds": _MOST_SECONDS}


def kernel(function: Callable[..., Any], **options: Any) -> Any:
    """Compile a function without the GIL, keeping the machine code on disk where a folder can be written.

    The kernel can be called from Python and from other kernels.
    """
    options |= {"fastmath": False}  # which would else be that of the first caller
    try:
        compiled = numba.njit(cache=True, nogil=True, **options)(function)
    except RuntimeError:  # Numba found no folder to cache in
        compiled = numba.njit(nogil=True, **options)(function)
    if compiled is function:  # NUMBA_DISABLE_JIT
        return function

    @wraps(function)
    def run(*args: Any) -> Any:
        if not compiled.signatures and not _is_kept(compiled):
            if _is_small.get() and entry.twin is not None:
                return entry.twin(*args)
            announce(KEPT)
        return compiled(*args)

    entry: Any = run
    entry.compiled, entry.twin = compiled, function
    overload(run, jit_options=options, strict=False)(lambda *args: function)
    return run


array_kernel = partial(kernel, error_model="numpy")
"""`kernel` in which a division by zero gives infinity or NaN, as in NumPy, and not an exception.

Loops without that check can be compiled to vector instructions.
"""

inner_kernel = register_jitable(fastmath=False)
"""A function that kernels call, compiled with each of them."""

inner_array_kernel = register_jitable(fastmath=False, error_model="numpy")
"""A function that array kernels call, compiled with each of them."""


def with_twin(twin: Callable[..., Any]) -> Callable[[Any], Any]:
    """Mark a kernel to be run as this function on whole arrays where it is not compiled; both give the same bits."""

    def mark(run: Any) -> Any:
        run.twin = twin
        return run

    return mark


def always_compiled(run: Any) -> Any:
    """Mark a kernel that Python would take far longer to run than to compile."""
    run.twin = None
    return run


@cache
def _is_kept(compiled: Any) -> bool:
    """Return True if machine code of a kernel stands on disk, for whatever types of arguments."""
    code, folder = compiled.py_func.__code__, compiled.stats.cache_path
    return folder is not None and any(Path(folder).glob(f"*{code.co_name}-{code.co_firstlineno}.*.nbi"))


@contextlib.contextmanager
def small_work(seconds: float) -> Iterator[None]:
    """Run kernels that are not compiled yet by Python inside this block, if that is foretold to take little time.

    Parameters
    ----------
    seconds : float
        Time that plain Python would take, were none of the kernels compiled.
    """
    small = seconds <= _left["seconds"]
    if small:
        _left["seconds"] -= seconds
    with during(_is_small, small), np.errstate(all="ignore") if small else contextlib.nullcontext():
        yield


def compile_from_now_on() -> None:
    """Run no kernel as plain Python any more in this process."""
    _left["seconds"] = 0.0


KEPT = "steinkit: compiling numerical kernels (once on this machine; takes up to a minute, then they are cached)"
NOT_KEPT = "steinkit: compiling functions for this process alone (takes some seconds; their code is not cached)"

_announcing: ContextVar[bool] = ContextVar("announcing", default=False)
_said: set[str] = set()


def announce(message: str) -> None:
    """Print a message once in a process, on standard error, inside a block of `announced_compilation`."""
    if _announcing.get() and message not in _said:
        _said.add(message)
        print(message, file=sys.stderr, flush=True)


@contextlib.contextmanager
def announced_compilation() -> Iterator[None]:
    """Tell the user on standard error if a kernel has to be compiled inside this block; blocks may be nested."""
    with during(_announcing, True):
        yield
