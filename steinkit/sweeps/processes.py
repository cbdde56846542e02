"""Worker processes of this machine, each with one piece of work at a time, so that a process that ends costs no other.

A process that is killed, be it by the kernel for want of memory, is started again. Work that takes longer than it may
is ended with its process. Processes end with the one that started them, however that ends.
"""

from __future__ import annotations

import os
import signal
import time
from collections import deque
from collections.abc import Generator, Iterable
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any

import cloudpickle
from joblib.externals.loky.backend import get_context

from steinkit.errors import SteinkitError
from steinkit.sweeps.worker_process import FAILED, INTERRUPTED, UP, serve
from steinkit.sweeps.workers import Arguments, Lost, Work, pickled

_ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMBA_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
    ),
    "1",
)
_LOOK = 1.0  # seconds between looks at whether processes are there
_FALSE_STARTS = 5  # in a row, before nothing can be started
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has the latter alone, which ends a process at once there
_GRACE, _FIRST_GRACE = 10.0, 120.0  # seconds beyond the time; with its first work of a kind a process compiles


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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
                    for answer in self._hear(process):
                        self._give_out(work, waiting, seconds)  # before the answer is kept, which may take its time
                        yield answer
                for process in [each for each in self._busy if each.is_late]:
                    yield process.lost(f"it took more than {process.allowed:.0f} s and was ended", late=True)
                    self._end([process])
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
            self._processes.append(_Process())
        for process in self._processes:
            if waiting and process.is_up and process.arguments is None:
                process.give(work, waiting.popleft(), seconds)

    def _heard(self) -> list[_Process]:
        """Processes that said something or ended, once there are any, or the time of one is over."""
        now = time.monotonic()
        until = min((each.until for each in self._processes if each.until is not None), default=now + _LOOK)
        found = wait([each.connection for each in self._processes], min(_LOOK, max(0.0, until - now)))
        return [each for each in self._processes if each.connection in found or each.is_dead]

    def _hear(self, process: _Process) -> Generator[Any, None, None]:
        """The answer of a process, if that is what it said; or what is lost with it."""
        try:
            if not process.connection.poll():  # a child of its own holds the other end
                raise EOFError
            kind, value = cloudpickle.loads(process.connection.recv_bytes())
            if kind == UP:
                self._false_starts = 0
                process.connection.send_bytes(self._shared)
        except (EOFError, OSError):
            self._false_starts += not process.is_up
            lost = process.arguments and process.lost("the process that worked at it was killed, or ended by itself")
            self._end([process])
            if lost:
                yield lost
            return
        if kind == INTERRUPTED:
            raise KeyboardInterrupt
        if kind == FAILED:
            raise SteinkitError(f"a worker process could not take its work, or send its answer: {value}")
        if kind == UP:
            process.is_up = True
        else:
            process.arguments = process.until = None
            yield value

    def _end(self, processes: list[_Process]) -> None:
        for process in list(processes):
            self._processes.remove(process)
            process.end()


class _Process:
    """A process, and the work it is at."""

    def __init__(self) -> None:
        context = get_context("loky")
        self.connection: Connection
        self.connection, other = context.Pipe()
        self._process = context.Process(target=serve, args=(other, os.getpid()), env=_ONE_THREAD)
        self._process.start()
        other.close()
        self.is_up = False
        self.arguments: Arguments | None = None
        self.until: float | None = None
        self.allowed = 0.0
        self._known = set[Work]()

    @property
    def is_dead(self) -> bool:
        return not self._process.is_alive()

    @property
    def is_late(self) -> bool:
        return self.until is not None and time.monotonic() > self.until

    def give(self, work: Work, arguments: Arguments, seconds: float | None) -> None:
        payload = pickled((work, arguments))
        self.arguments = arguments
        if seconds is not None:
            self.allowed = seconds + (_GRACE if work in self._known else _FIRST_GRACE)
            self.until = time.monotonic() + self.allowed
        self._known.add(work)
        try:
            self.connection.send_bytes(payload)
        except OSError:  # it has ended, which is seen when it is listened to
            self.until = None

    def lost(self, reason: str, late: bool = False) -> Lost:
        assert self.arguments is not None
        lost, self.arguments, self.until = Lost(self.arguments, reason, late), None, None
        return lost

    def end(self) -> None:
        if not self.is_dead:
            os.kill(self._process.pid, _KILL)
        self._process.join()
        self.connection.close()
