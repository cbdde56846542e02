"""The numerical kernels: compiled once, cached on disk and announced meanwhile, or run as plain Python before that.

**The cache.** Numba keeps machine code in the folder that NUMBA_CACHE_DIR names; else beside the module, in
``__pycache__``, if that can be written; else in the user's own cache folder. It would not look beside the module where
it cannot write there, and code that an administrator had compiled would serve nobody else. It numbers files without a
lock: two processes that compile a kernel for different types of arguments at the same time might each take the other's
code for its own. And it looks at the source of a kernel only, not at the sources of those that it calls, whose code its
own machine code holds: here a change of any of them, in the modules that the kernel's module takes kernels from, makes
it compile anew.

Nor would one process wait for the code that another is just compiling: all workers of a first sweep would compile the
same. Here they take turns, kernel by kernel. A kernel is compiled within those that call it, never the other way round,
so that processes which wait for each other do not wait in a circle.

**Plain Python.** A first verdict on a thousand draws would wait six times as long for the compiler as for all else.
Within a block of `small_work` a kernel whose code is neither loaded nor kept on disk is therefore run by Python: its
own source, number by number, or a twin on whole arrays. Results are the same to the bit, for compiled kernels reorder
and fuse no operation, and Python's numbers are the same doubles. So nothing but the time depends on which of them runs.

A process interprets for `_MOST_SECONDS` in all, by what callers foretell, and compiles from then on: it never waits for
more than that in vain. One that is to do much compiles from its beginning (`compile_from_now_on`), and so does one that
others have gone before: the sixth process on a machine that is to interpret a kernel compiles it for all that follow.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import cache, partial
from types import FunctionType, SimpleNamespace
from typing import Any

import numba
import numpy as np
from filelock import FileLock, Timeout
from numba.core import event
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher
from numba.core.runtime import rtsys

from steinkit.errors import during

PATIENCE = 300.0  # seconds, far more than any kernel takes; then whoever holds the lock is taken for lost
_WRITING = 2.0  # seconds, far more than it takes to keep a kernel's code


class _Index(IndexDataCacheFile):  # type: ignore[misc]
    """An index that is empty, and not an error, where it was kept by code whose types have moved or gone since."""

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except (ImportError, AttributeError):  # Numba reads the types of arguments before the date of the source
            return {}


class KernelCache(FunctionCache):  # type: ignore[misc]
    """The cache of one kernel; RuntimeError if no folder can be written."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        beside = os.path.join(os.path.dirname(function.__code__.co_filename), "__pycache__")
        self.sources = {function.__code__.co_filename: self._impl.locator.get_source_stamp()}
        for called in list(function.__globals__.values()):
            kept = getattr(called, "_cache", None)
            if isinstance(kept, KernelCache):
                self.sources |= kept.sources
        stamp = tuple(sorted(self.sources.items()))
        self._cache_file = _Index(self.cache_path, self._impl.filename_base, stamp)
        self._installed = None
        if not numba.config.CACHE_DIR and beside != self.cache_path:
            self._installed = _Index(beside, self._impl.filename_base, stamp)
        self._locks: dict[int, FileLock] = {}

    @property
    def is_filled(self) -> bool:
        """Whether code of the kernel as it is now is kept, for whatever types of arguments."""
        return any(kept._load_index() for kept in (self._cache_file, self._installed) if kept is not None)

    def done_without(self) -> int:
        """How many processes have done without the kernel's machine code before this one, which is counted from now on.

        The file's length is their number: to append a byte takes no lock.
        """
        try:
            self._impl.locator.ensure_cache_path()
            with open(os.path.join(self.cache_path, f"{self._impl.filename_base}.without"), "ab") as file:
                file.write(b".")
                return file.tell() - 1
        except OSError:
            return 0

    @property
    def _lock(self) -> FileLock:
        """The lock that this very process made: one from before a fork is of no use behind it."""
        path = os.path.join(self.cache_path, f"{self._impl.filename_base}.lock")
        return self._locks.setdefault(os.getpid(), FileLock(path))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load a kernel's machine code, but nothing that only the compiler needs."""
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        found = super()._load_overload(sig, target_context)
        if found is not None or self._installed is None:
            return found
        data = self._installed.load(self._index_key(sig, target_context.codegen()))
        return None if data is None else self._impl.rebuild(target_context, data)

    def _save_overload(self, sig: Any, data: Any) -> None:
        # Again, where it is this process' turn; where the lock's holder was taken for lost, nothing is kept.
        with contextlib.suppress(Timeout), self._lock.acquire(timeout=_WRITING):
            super()._save_overload(sig, data)

    @contextlib.contextmanager
    def turn(self, sig: Any, codegen: Any, waiting: Callable[[], None]) -> Iterator[None]:
        """Let no other process compile the kernel meanwhile, if its code for these types is not there.

        Parameters
        ----------
        sig : tuple of Numba types, or signature
        codegen : numba.core.codegen.Codegen
            Of the target.
        waiting : callable
            Called before it is waited for another process, of which the code can be loaded afterwards.
        """
        key = self._index_key(sig, codegen)
        if any(key in kept._load_index() for kept in (self._cache_file, self._installed) if kept is not None):
            yield
            return
        self._impl.locator.ensure_cache_path()
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(self._lock.acquire(blocking=False))
            except Timeout:
                waiting()
                with contextlib.suppress(Timeout):
                    held.enter_context(self._lock.acquire(timeout=PATIENCE))
            yield


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
    inf=np.inf,
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
