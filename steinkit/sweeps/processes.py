"""Worker processes of this machine: loky's executors of one process each, so that a process that ends costs no other.

A process that is killed, be it by the kernel for want of memory, is started again. Work that takes longer than it may
is ended with its process. Processes end with the one that started them, however that ends.
"""

from __future__ import annotations

import ctypes
import functools
import math
import os
import pickle
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
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
        self._processes: list[_Process] = []
        self._false_starts = 0

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *raised: object) -> None:
        self._end(self._processes)

    def as_completed(
        self, work: Work, arguments: Iterable[Arguments], seconds: float | None = None
    ) -> Generator[Any, None, None]:
        """See `Workers`."""
        waiting = deque(arguments)
        try:
            while waiting or self._busy:
                self._give_out(work, waiting, seconds)
                for process in self._heard():
                    answer = self._answer(process)
                    self._give_out(work, waiting, seconds)  # before the answer is kept, which may take its time
                    yield from answer
        finally:
            self._end(self._busy)  # at work that nobody waits for any more

    @property
    def _busy(self) -> list[_Process]:
        return [process for process in self._processes if process.arguments is not None]

    def _give_out(self, work: Work, waiting: deque[Arguments], seconds: float | None) -> None:
        """Have as many processes as there is work for, and give those that wait some."""
        while len(self._processes) < min(self.count, len(waiting) + len(self._busy)):
            if self._false_starts >= _FALSE_STARTS:
                raise SteinkitError(
                    f"worker processes end before they are up, {_FALSE_STARTS} in a row; if memory is short, take "
                    "fewer jobs; cells finished before are kept in the sweep's folder, if it has one"
                )
            self._processes.append(_Process(self._shared))
        for process in self._processes:
            if waiting and process.future is None:
                process.give(work, waiting.popleft(), seconds)

    def _heard(self) -> list[_Process]:
        """Processes that answered or ended, or whose time is over, once there are any."""
        until = min((process.until for process in self._processes), default=math.inf)
        futures = [process.future for process in self._processes if process.future is not None]
        wait(futures, max(0.0, min(_LOOK, until - time.monotonic())), FIRST_COMPLETED)
        alive = {process.pid for process in active_children()}  # a child of one that died may hold its pipes
        return [each for each in self._processes if each.is_over or each.is_late or not each.pids <= alive]

    def _answer(self, process: _Process) -> list[Any]:
        """What a process answered, or what is lost with it; nothing if it has just come up, or idly ended."""
        starting, arguments = process.is_starting, process.arguments
        try:
            if not process.is_over:
                raise BrokenProcessPool
            value: Any = None if process.future is None else process.future.result()
        except BrokenProcessPool:
            self._false_starts += starting
            self._end([process])
            if arguments is None:
                return []
            if process.is_late:
                return [Lost(arguments, f"it took more than {process.allowed:.0f} s and was ended", late=True)]
            return [Lost(arguments, "the process that worked at it was killed, or ended by itself")]
        except Exception as error:  # of sending and receiving: work catches its own
            raise SteinkitError(
                f"a worker process could not take its work, or send its answer: {type(error).__name__}: {error}"
            ) from error
        process.rest()
        if starting:
            self._false_starts, process.pids = 0, {value}
            return []
        return [value]

    def _end(self, processes: list[_Process]) -> None:
        ended, self._processes = processes, [each for each in self._processes if each not in processes]
        if ended:
            with ThreadPoolExecutor() as threads:
                list(threads.map(_Process.end, ended))


class _Process:
    """A process, and the work it is at."""

    def __init__(self, shared: bytes) -> None:
        self._executor = ProcessPoolExecutor(1, initializer=_begin, initargs=(shared, os.getpid()), env=_ONE_THREAD)
        self._known = set[Work]()
        self.pids = set[int]()
        self.allowed = 0.0
        self.until = math.inf
        self.arguments: Arguments | None = None
        self.future: Future[Any] | None = self._executor.submit(os.getpid)

    @property
    def is_starting(self) -> bool:
        return self.future is not None and self.arguments is None

    @property
    def is_over(self) -> bool:
        return self.future is not None and self.future.done()

    @property
    def is_late(self) -> bool:
        return time.monotonic() > self.until

    def rest(self) -> None:
        self.future, self.arguments, self.until = None, None, math.inf

    def give(self, work: Work, arguments: Arguments, seconds: float | None) -> None:
        payload = pickled((work, arguments))
        if seconds is not None:
            self.allowed = seconds + (_GRACE if work in self._known else _FIRST_GRACE)
            self.until = time.monotonic() + self.allowed
        self._known.add(work)
        self.arguments = arguments
        try:
            self.future = self._executor.submit(_called, payload)
        except BrokenProcessPool as error:  # it ended while it waited
            self.future = Future()
            self.future.set_exception(error)

    def end(self) -> None:
        self._executor.shutdown(kill_workers=self.future is not None)


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
