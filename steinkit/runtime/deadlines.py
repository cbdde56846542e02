"""Deadlines, interrupts and threads for long computations.

The function `time_limit` sets a deadline for a call and for all calls inside it. If deadlines are nested, the earliest
applies. The deadline is enforced in three ways:

* Python code calls `require_time` between steps, and this function raises `TimeLimitError`;
* compiled code reads `StopSignal.flag`, an array of one bool, and returns without finishing;
* a solver from another library receives `seconds_left` as its time limit.

Individual calls to user-supplied functions, LAPACK or a compiler cannot be interrupted. The function `interruptible`
waits for such work for one second plus a fifth of the time limit after the deadline, and then abandons it.
"""

from __future__ import annotations

import math
import signal
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar, copy_context
from functools import lru_cache, wraps
from threading import TIMEOUT_MAX, Event, Thread, Timer, current_thread, main_thread
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from steinkit.errors import AbandonedWork, TimeLimitError, UsageError, during

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_LEAST = 1e-9  # smallest positive time limit, in seconds

_moment: ContextVar[float] = ContextVar("moment", default=math.inf)  # measured by `time.monotonic`


@contextmanager
def time_limit(seconds: float | None) -> Iterator[float]:
    """Limit the run time of a block.

    The value None adds no limit.

    Yields
    ------
    float
        Deadline on the `time.monotonic` clock, which is infinite without a limit.

    Raises
    ------
    UsageError
        If the time is not positive.
    """
    moment = _moment.get()
    if seconds is not None:
        if isinstance(seconds, bool) or not isinstance(seconds, int | float | np.number) or not seconds > 0.0:
            raise UsageError(f"max_seconds (--max-seconds) must be positive; got {seconds!r}")
        moment = min(time.monotonic() + float(seconds), moment)
    with during(_moment, moment):
        yield moment


def within_time(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorate a function to use its keyword argument `max_seconds` as a time limit."""

    @wraps(function)
    def limited(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        seconds: Any = kwargs.get("max_seconds")
        with time_limit(seconds):
            return function(*args, **kwargs)

    return limited


def deadline() -> float:
    """Return the deadline on the `time.monotonic` clock, or infinity without one."""
    return _moment.get()


def seconds_left() -> float:
    """Return the non-negative number of seconds left before the deadline."""
    return max(0.0, _moment.get() - time.monotonic())


class Shares:
    """Allocation of the remaining time to several tasks.

    Parameters
    ----------
    pieces : int
        Number of tasks. If a task does not use all of its time, the rest is divided among the later tasks.
    """

    def __init__(self, pieces: int) -> None:
        self.pieces = pieces

    def one(self) -> AbstractContextManager[float]:
        """Return a context manager that limits the next task to its share of the time."""
        share = max(seconds_left() / max(self.pieces, 1), _LEAST) if _moment.get() < math.inf else None
        self.pieces -= 1
        return time_limit(share)


def require_time(doing: str) -> None:
    """Raise TimeLimitError if the deadline has passed.

    Parameters
    ----------
    doing : str
        Description of the next task for the message, such as "solving the programs".

    Raises
    ------
    TimeLimitError
    """
    if _moment.get() <= time.monotonic():
        raise TimeLimitError(doing)


def blocks(n: int, width: int, doing: str = "") -> Iterator[slice]:
    """Yield slices of ``range(n)`` and check the deadline before each slice."""
    for begin in range(0, n, width):
        if doing:
            require_time(doing)
        yield slice(begin, min(begin + width, n))


class StopSignal(Event):
    """Stop signal that compiled code can read, set by a deadline or an interrupt.

    Attributes
    ----------
    flag : ndarray of bool, shape (1,)
        True once the event is set.
    """

    def __init__(self) -> None:
        super().__init__()
        self.flag: NDArray[np.bool_] = np.zeros(1, dtype=np.bool_)
        self._out_of_time = False

    def set(self) -> None:
        """Request termination of the work."""
        super().set()  # set before the flag, because code that has read the flag expects the event to be set
        self.flag[0] = True

    def require(self, doing: str) -> None:
        """Raise an error if the work was stopped before completion.

        Raises
        ------
        TimeLimitError
            If the deadline passed.
        KeyboardInterrupt
            If the user interrupted the work.
        """
        if self.is_set():
            raise TimeLimitError(doing) if self._out_of_time else KeyboardInterrupt

    def _run_out(self) -> None:
        self._out_of_time = True
        self.set()


@contextmanager
def stop_signal() -> Iterator[StopSignal]:
    """Create a signal that is set at the deadline or by an interrupt."""
    signal = StopSignal()
    timer = None
    if _moment.get() < math.inf:
        timer = Timer(min(seconds_left(), TIMEOUT_MAX), signal._run_out)
        timer.daemon = True
        timer.start()
    try:
        yield signal
    finally:
        if timer is not None:
            timer.cancel()


_PATIENCE = 0.5  # seconds to wait for work to end after an interrupt
_GRACE, _SHARE_OF_GRACE = 1.0, 0.2  # waiting time after the deadline: seconds plus a fraction of the time limit


def thread_count(n_jobs: int) -> int:
    """Return the number of threads specified by ``n_jobs``.

    The value -1 selects all processors.

    Raises
    ------
    UsageError
        If ``n_jobs`` is 0 or not an integer.
    """
    if not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise UsageError(f"n_jobs (--jobs) must be a positive number, or -1 for all processors; got {n_jobs!r}")
    if n_jobs == 1:
        return 1
    import joblib  # imported here because importing it takes as long as scoring a small sample

    processors = int(joblib.cpu_count())
    return min(n_jobs, processors) if n_jobs > 0 else max(1, processors + 1 + n_jobs)


def one_thread_in_libraries(api: str | None = None) -> AbstractContextManager[Any]:
    """Limit BLAS and OpenMP to one thread inside a block.

    Parameters
    ----------
    api : str, optional
        The values "blas" and "openmp" limit only these libraries.
    """
    limit: AbstractContextManager[Any] = _libraries(len(sys.modules)).limit(limits=1, user_api=api)
    return limit


@lru_cache(maxsize=1)
def _libraries(modules: int) -> ThreadpoolController:
    """Return a controller for the loaded libraries that use threads.

    The controller is cached until another module is imported.

    Without the cache, scoring a small sample would repeat this search several times, at a cost of milliseconds each.
    """
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def interruptible(work: Callable[[], Result], interrupted: Event, doing: str) -> Result:
    """Run a function in another thread that can be interrupted or abandoned.

    Python raises `KeyboardInterrupt` in the main thread, where compiled code may lose it or end in an undefined state.
    Here, the main thread only waits. When interrupted, the main thread sets the event, which should end the work, and
    does not wait for the result. Work that continues for too long after the deadline is also abandoned, because
    external solvers check their time limits only between factorizations.

    Parameters
    ----------
    work : callable
        Function that checks the event from time to time.
    interrupted : threading.Event
    doing : str
        Description of the work for the message of a `TimeLimitError`, such as "solving the programs".

    Raises
    ------
    KeyboardInterrupt
        If the user interrupts. The exception is `AbandonedWork` if the work has not ended half a second later.
    TimeLimitError
        If the work does not end after the deadline.
    BaseException
        Any error raised by the work or by a signal handler.
    """
    left = seconds_left()
    if left == math.inf and current_thread() is not main_thread():
        return work()
    outcome = _awaited(work, interrupted, left + _GRACE + _SHARE_OF_GRACE * left)
    if not outcome.done():
        interrupted.set()
        raise TimeLimitError(doing)
    return outcome.result()


def uninterrupted(work: Callable[[], Result]) -> Result:
    """Run a function in a thread that no signal handler interrupts.

    If Numba is interrupted while it releases memory, it releases the memory again, which aborts the process. The main
    thread therefore waits while another thread does the work, which has no deadline.

    Raises
    ------
    AbandonedWork
        If the user interrupts and the work has not ended half a second later.
    BaseException
        Any error raised by the work.
    """
    return work() if current_thread() is not main_thread() else _awaited(work, Event(), math.inf).result()


@contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Defer Ctrl-C to the end of a short block.

    During the import of a module, this block replaces `uninterrupted`, because the other thread could wait for the
    import.
    """
    if current_thread() is not main_thread() or signal.getsignal(signal.SIGINT) is None:
        yield
        return
    received: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: received.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if received:
            signal.raise_signal(signal.SIGINT)


def _awaited(work: Callable[[], Result], interrupted: Event, seconds: float) -> Future[Result]:
    """Run a function in a daemon thread, and wait for its Future."""
    outcome: Future[Result] = Future()
    context = copy_context()

    def run() -> None:
        try:
            outcome.set_result(context.run(work))
        except BaseException as error:
            outcome.set_exception(error)

    try:
        Thread(target=run, daemon=True).start()
        wait([outcome], min(seconds, TIMEOUT_MAX))
    except BaseException as error:  # raised in a signal handler by Ctrl-C or by a user's own timeout
        interrupted.set()
        wait([outcome], _PATIENCE)
        if isinstance(error, KeyboardInterrupt) and not outcome.done():
            raise AbandonedWork from None
        raise
    return outcome
