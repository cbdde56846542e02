"""Where the machine code of kernels is kept, so that several users and processes may share it.

Numba keeps it in the folder that NUMBA_CACHE_DIR names; else beside the module, in ``__pycache__``, if that can be
written; else in the user's own cache folder. It would not look beside the module where it cannot write there, and code
that an administrator had compiled would serve nobody else. And it numbers files without a lock: two processes that
compile a kernel for different types of arguments at the same time might each take the other's code for its own. And it
looks at the source of a kernel only, not at the sources of those that it calls, whose code its own machine code holds:
here a change of any of them, in the modules that the kernel's module takes kernels from, makes it compile anew.

Nor would one process wait for the code that another is just compiling: all workers of a first sweep would compile the
same. Here they take turns, kernel by kernel. A kernel is compiled within those that call it, never the other way round,
so that processes which wait for each other do not wait in a circle.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

import numba
from filelock import FileLock, Timeout
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.runtime import rtsys

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
