"""Compiled kernels, with a cache and a plain Python fallback.

Numba stores machine code in the folder NUMBA_CACHE_DIR. If this variable is not set, the code is stored in the module's
``__pycache__`` folder if this folder is writable, and otherwise in the user's cache folder. A kernel is recompiled if
its source file has changed.

**Plain Python.** For a first verdict on a thousand draws, compilation would take several times longer than all other
work. Inside a `small_work` block, kernels without machine code in this process or on disk are therefore run as plain
Python: either the source itself or an equivalent array function, called a twin. The results are bit-for-bit identical
because compiled kernels neither reorder nor fuse operations. After a total of `_MOST_SECONDS` of plain Python, as
estimated by the callers, the process compiles kernels. The function `compile_from_now_on` ends this mode immediately.
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

_MOST_SECONDS = 4.0  # per process in plain Python; compiling the kernels for a first score takes a similar time

_is_small: ContextVar[bool] = ContextVar("is_small", default=False)
_left = {"seconds": _MOST_SECONDS}


def kernel(function: Callable[..., Any], **options: Any) -> Any:
    """Compile a function that releases the GIL, and cache it if possible.

    The kernel can be called from Python and from other kernels.
    """
    options |= {"fastmath": False}  # otherwise, the value set by the first caller applies
    try:
        compiled = numba.njit(cache=True, nogil=True, **options)(function)
    except RuntimeError:  # Numba found no writable cache folder
        compiled = numba.njit(nogil=True, **options)(function)
    if compiled is function:  # set by NUMBA_DISABLE_JIT
        return function

    @wraps(function)
    def run(*args: Any) -> Any:
        if not compiled.overloads and not _is_kept(compiled):
            if _is_small.get() and entry.twin is not None:
                return entry.twin(*args)
            _announce()
        return compiled(*args)

    entry: Any = run
    entry.compiled, entry.twin = compiled, function
    overload(run, jit_options=options, strict=False)(lambda *args: function)
    return run


array_kernel = partial(kernel, error_model="numpy")
"""Variant of `kernel` that returns infinity or NaN on division by zero.

Loops can be vectorized because division by zero is not checked.
"""

inner_kernel = register_jitable(fastmath=False)
"""Decorator for a function that is compiled into every kernel that calls it."""

inner_array_kernel = register_jitable(fastmath=False, error_model="numpy")
"""Decorator for a function compiled into every array kernel that calls it."""


def with_twin(twin: Callable[..., Any]) -> Callable[[Any], Any]:
    """Set the array function that replaces a kernel in plain Python."""

    def mark(run: Any) -> Any:
        run.twin = twin
        return run

    return mark


def always_compiled(run: Any) -> Any:
    """Mark a kernel to be compiled even where plain Python would be used."""
    run.twin = None
    return run


@cache
def _is_kept(compiled: Any) -> bool:
    """Return True if any machine code is cached for a kernel."""
    code, folder = compiled.py_func.__code__, compiled.stats.cache_path
    return folder is not None and any(Path(folder).glob(f"*{code.co_name}-{code.co_firstlineno}.*.nbi"))


@contextlib.contextmanager
def small_work(seconds: float) -> Iterator[None]:
    """Run the uncompiled kernels in a block as plain Python, within a time budget.

    Parameters
    ----------
    seconds : float
        Estimated time of the block in plain Python.
    """
    small = seconds <= _left["seconds"]
    if small:
        _left["seconds"] -= seconds
    with during(_is_small, small), np.errstate(all="ignore") if small else contextlib.nullcontext():
        yield


def compile_from_now_on() -> None:
    """Compile all kernels in this process from now on."""
    _left["seconds"] = 0.0


_MESSAGE = "steinkit: compiling numerical kernels (up to a minute); they are cached for later runs on this machine"

_announcing: ContextVar[bool] = ContextVar("announcing", default=False)
_announced: list[bool] = []


def _announce() -> None:
    """Print a message once per process if inside `announced_compilation`."""
    if _announcing.get() and not _announced:
        _announced.append(True)
        print(_MESSAGE, file=sys.stderr, flush=True)


@contextlib.contextmanager
def announced_compilation() -> Iterator[None]:
    """Print a message to standard error if code is compiled inside a block."""
    with during(_announcing, True):
        yield
