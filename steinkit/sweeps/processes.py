"""Worker processes of this machine: loky's executors of one process each, so that a process that ends costs no other.

Each has a thread here that gives it work and waits for the answer. A process that is killed, be it by the kernel for
want of memory, is started again. Work that takes longer than it may is ended with its process. Processes end with the
one that started them, however that ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import math
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from multiprocessing import active_children
from typing import Any

from joblib.externals.loky.process_executor import BrokenProcessPool, ProcessPoolExecutor

from steinkit.errors import SteinkitError
from steinkit.sweeps.workers import Arguments, Lost, Work, called, pickled

_LIBRARIES = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMBA", "NUMEXPR")
_ONE_THREAD = {"VECLIB_MAXIMUM_THREADS": "1"} | {f"{name}_NUM_THREADS": "1" for name in _LIBRARIES}
_LOOK = 1.0  # seconds between looks at whether processes are there
_FALSE_STARTS = 5  # in a row, before nothing can be started
_GRACE, _FIRST_GRACE = 10.0, 120.0  # seconds beyond the time; with its first work of a kind a process compiles
_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG of linux/prctl.h


class Processes:
    """Processes of this machine that work for a sweep; a context manager, at whose end they end.

    Parameters
    ----------
    count : int
        How many.
    shared : object
        First argument of all work, sent to each of them once.

    Raises
    ------
    UsageError
        If it cannot be sent.
    """

    def __init__(self, count: int, shared: object) -> None:
        self.count = count
        self._shared = pickled(shared)
        self._threads = ThreadPoolExecutor(count)
        self._own = threading.local()  # the process of each thread, which ends with it
        self._processes: list[_Process] = []

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *raised: object) -> None:
        list(self._threads.map(_Process.end, self._processes))
        self._threads.shutdown()

    def as_completed(
        self, work: Work, arguments: Iterable[Arguments], seconds: float | None = None
    ) -> Generator[Any, None, None]:
        """See `Workers`."""
        abandoned = threading.Event()
        waiting = {self._threads.submit(self._answer, work, each, seconds, abandoned) for each in arguments}
        try:
            while waiting:
                done, waiting = wait(waiting, _LOOK, FIRST_COMPLETED)
                for each in done:
                    yield each.result()
        finally:
            abandoned.set()
            for each in waiting:
                each.cancel()
            wait(waiting)

    def _answer(self, work: Work, arguments: Arguments, seconds: float | None, abandoned: threading.Event) -> Any:
        """What this thread's process answers, or what is lost with it."""
        process: _Process | None = getattr(self._own, "process", None)
        if process is None or not process.is_there:
            process = self._own.process = self._started()
        return process.answer(work, arguments, seconds, abandoned)

    def _started(self) -> _Process:
        for _ in range(_FALSE_STARTS):
            with contextlib.suppress(BrokenProcessPool):
                self._processes.append(_Process(self._shared))
                return self._processes[-1]
        raise SteinkitError(
            f"worker processes end before they are up, {_FALSE_STARTS} in a row; if memory is short, take fewer jobs; "
            "cells finished before are kept in the sweep's folder, if it has one"
        )


class _Process:
    """A process that is up."""

    def __init__(self, shared: bytes) -> None:
        self._executor = ProcessPoolExecutor(1, initializer=_begin, initargs=(shared, os.getpid()), env=_ONE_THREAD)
        self._known = set[Work]()
        self.pid: int = self._executor.submit(os.getpid).result()

    @property
    def is_there(self) -> bool:
        """Whether it lives; loky may not notice, for a child of one that died may hold its pipes."""
        return self.pid in {process.pid for process in active_children()}

    def answer(self, work: Work, arguments: Arguments, seconds: float | None, abandoned: threading.Event) -> Any:
        """The answer to work; lost if time runs out, nobody waits any more or the process ends, which it does then."""
        payload = pickled((work, arguments))
        allowed = math.inf if seconds is None else seconds + (_GRACE if work in self._known else _FIRST_GRACE)
        until = time.monotonic() + allowed
        self._known.add(work)
        try:
            future = self._executor.submit(_called, payload)
            while not wait([future], min(_LOOK, until - time.monotonic())).done:
                if time.monotonic() > until:
                    self.end(kill=True)
                    return Lost(arguments, f"it took more than {allowed:.0f} s and was ended", late=True)
                if abandoned.is_set() or not self.is_there:
                    raise BrokenProcessPool
            return future.result()
        except BrokenProcessPool:
            self.end(kill=True)
            return Lost(arguments, "the process that worked at it was killed, or ended by itself")
        except Exception as error:  # of sending and receiving: work catches its own
            raise SteinkitError(
                f"a worker process could not take its work, or send its answer: {type(error).__name__}: {error}"
            ) from error

    def end(self, kill: bool = False) -> None:
        """End it, be it at work."""
        self._executor.shutdown(kill_workers=kill)


_given: bytes  # what all work shares, in a worker process


def _begin(shared: bytes, parent: int) -> None:
    """Prepare a worker process: it leaves control-C to its parent, and ends when that does."""
    global _given
    _given = shared
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # control-C reaches every process of a terminal
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_END_WITH_PARENT, signal.SIGKILL)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os._exit(1)


def _called(payload: bytes) -> Any:
    return called(_loaded(), payload)


@functools.cache
def _loaded() -> Any:
    return pickle.loads(_given)
