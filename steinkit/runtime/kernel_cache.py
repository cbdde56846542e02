"""Where the machine code of kernels is kept, so that several users and processes may share it.

Numba keeps it in the folder that NUMBA_CACHE_DIR names; else beside the module, in ``__pycache__``, if that can be
written; else in the user's own cache folder. It would not look beside the module where it cannot write there, and code
that an administrator had compiled would serve nobody else. And it numbers files without a lock: two processes that
compile a kernel for different types of arguments at the same time might each take the other's code for its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numba
from filelock import FileLock
from numba.core.caching import FunctionCache, IndexDataCacheFile


class KernelCache(FunctionCache):  # type: ignore[misc]
    """The cache of one kernel; RuntimeError if no folder can be written."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        beside = os.path.join(os.path.dirname(function.__code__.co_filename), "__pycache__")
        self._installed = None
        if not numba.config.CACHE_DIR and beside != self.cache_path:
            stamp = self._impl.locator.get_source_stamp()
            self._installed = IndexDataCacheFile(beside, self._impl.filename_base, stamp)

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        found = super()._load_overload(sig, target_context)
        if found is not None or self._installed is None:
            return found
        data = self._installed.load(self._index_key(sig, target_context.codegen()))
        return None if data is None else self._impl.rebuild(target_context, data)

    def _save_overload(self, sig: Any, data: Any) -> None:
        with FileLock(os.path.join(self.cache_path, f"{self._impl.filename_base}.lock")):
            super()._save_overload(sig, data)
