"""Compiled kernels, with a cache and a plain Python fallback.

Numba stores machine code in the folder NUMBA_CACHE_DIR. If this variable is not set, the code is stored in the module's
``__pycache__`` folder if this folder is writable, and otherwise in the user's cache folder. A kernel is recompiled if
its source file has changed. Inner kernels in other files, such as `double_double`, do not count.

**Plain Python.** For a first verdict on a thousand draws, compilation would take several times longer than all other
work, and importing Numba and loading machine code would take as long as that work. Inside a `small_work` block, kernels
without machine code in this process are therefore run as plain Python: the source itself, the source with lists in
place of arrays, or an equivalent array function, called a twin. The results are bit-for-bit identical because compiled
kernels neither reorder nor fuse operations. Once Numba is imported, or after a total of `_LOADING` seconds of plain
Python, as estimated by the callers, the process loads the machine code that is stored on disk. After `_MOST_SECONDS`,
it compiles kernels. The function `compile_from_now_on` ends this mode immediately. Numba is imported when a kernel is
loaded or compiled.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import cache, partial, wraps
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np

from steinkit.errors import during
from steinkit.runtime.deadlines import deferred_interrupts, uninterrupted

_MOST_SECONDS = 4.0  # per process in plain Python; compiling the kernels for a first score takes a similar time
GRAPH_SECONDS = 2e-4
"""Seconds of plain Python per coordinate of a draw for graph discrepancies, excluding the factorization."""
_LOADING = 1.0  # seconds for importing Numba and loading the machine code of a verdict

_is_small: ContextVar[bool | None] = ContextVar("is_small", default=None)
_left = {"seconds": _MOST_SECONDS}


_declarations: list[Callable[[], object]] = []
_declaring = RLock()


def declare(declaration: Callable[[], object] | None = None) -> None:
    """Call a function that registers code with Numba once Numba is imported.

    Without an argument, call all functions that have been added.
    """
    if declaration is not None:
        _declarations.append(declaration)
    if declaration is None or "numba" in sys.modules:
        with _declaring, deferred_interrupts():
            while _declarations:
                _declarations.pop(0)()


def kernel(function: Callable[..., Any], **options: Any) -> Any:
    """Compile a function that releases the GIL, and cache it if possible.

    The kernel can be called from Python and from other kernels.
    """
    options |= {"fastmath": False}  # otherwise, the value set by the first caller applies
    if int(os.environ.get("NUMBA_DISABLE_JIT", 0)):
        return function

    def declared() -> Any:
        import numba

        declare()
        try:
            return numba.njit(cache=True, nogil=True, **options)(function)
        except RuntimeError:  # Numba found no writable cache folder
            return numba.njit(nogil=True, **options)(function)

    @cache
    def compiled() -> Any:
        return uninterrupted(declared)

    def is_loaded() -> bool:
        return bool(compiled.cache_info().currsize and compiled().overloads)

    @wraps(function)
    def run(*args: Any) -> Any:
        if is_loaded():
            return compiled()(*args)
        if _is_small.get() and entry.twin is not None:
            costly = "numba" not in sys.modules and _left["seconds"] >= _MOST_SECONDS - _LOADING
            if costly or not _is_kept(compiled()):
                return entry.twin(*args)
        elif not _is_kept(compiled()):
            _announce()
        return uninterrupted(lambda: compiled()(*args))

    def overloaded() -> None:
        from numba.extending import overload

        overload(run, jit_options=options, strict=False)(lambda *args: function)

    entry: Any = run
    entry.compiled, entry.twin = compiled, None
    declare(overloaded)
    return run


array_kernel = partial(kernel, error_model="numpy")
"""Variant of `kernel` that returns infinity or NaN on division by zero.

Loops can be vectorized because division by zero is not checked.
"""


def inner_kernel(function: Callable[..., Any], **options: Any) -> Any:
    """Mark a function that is compiled into every kernel that calls it."""

    def registered() -> None:
        from numba.extending import register_jitable

        register_jitable(fastmath=False, **options)(function)

    declare(registered)
    return function


inner_array_kernel = partial(inner_kernel, error_model="numpy")
"""Decorator for a function compiled into every array kernel that calls it."""


def with_twin(twin: Callable[..., Any]) -> Callable[[Any], Any]:
    """Set the array function that replaces a kernel in plain Python."""

    def mark(run: Any) -> Any:
        run.twin = twin
        return run

    return mark


def on_lists(changed: int) -> Callable[[Any], Any]:
    """Mark a kernel with source code that Python can run on lists.

    Python reads and writes the numbers in a list several times faster than those in an array. The arguments must be
    numbers, one-dimensional arrays and named tuples of these. The last `changed` arguments are arrays of results.
    """

    def mark(run: Any) -> Any:
        def twin(*args: Any) -> Any:
            lists = [_as_list(each) for each in args]
            try:
                found = run.__wrapped__(*lists)
            except ZeroDivisionError:  # quotients of arrays are infinite or NaN
                return run.__wrapped__(*args)
            for array, values in zip(args[-changed:], lists[-changed:], strict=True):
                array[:] = values
            return found

        return with_twin(twin)(run)

    return mark


def _as_list(value: Any) -> Any:
    """Convert an array to a list, including arrays in a named tuple."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    return type(value)(*map(_as_list, value)) if isinstance(value, tuple) else value


def as_source(run: Any) -> Any:
    """Mark a kernel whose source Python can run directly."""
    return with_twin(getattr(run, "__wrapped__", run))(run)


@cache
def _is_kept(compiled: Any) -> bool:
    """Return True if any machine code is cached for a kernel."""
    code, folder = compiled.py_func.__code__, compiled.stats.cache_path
    return folder is not None and any(Path(folder).glob(f"*{code.co_name}-{code.co_firstlineno}.*.nbi"))


@contextlib.contextmanager
def small_work(seconds: float) -> Iterator[None]:
    """Run the uncompiled kernels in a block as plain Python, within a time budget.

    Inside another block, the estimate for the outer block applies.

    Parameters
    ----------
    seconds : float
        Estimated time of the block in plain Python. If it is infinite, kernels are compiled.
    """
    outer = _is_small.get()
    small = seconds <= _left["seconds"] if outer is None else outer and seconds < math.inf
    if small and outer is None:
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


def announced_compilation() -> contextlib.AbstractContextManager[None]:
    """Return a context manager that reports compilation on standard error."""
    return during(_announcing, True)
