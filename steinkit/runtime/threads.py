"""Threads: how many a number of jobs means, and work that control-C can end."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import AbstractContextManager
from contextvars import copy_context
from functools import lru_cache
from threading import TIMEOUT_MAX, Event, Thread, current_thread, main_thread
from typing import TYPE_CHECKING, Any, TypeVar

from steinkit.errors import AbandonedWork, TimeLimitError, UsageError

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

Result = TypeVar("Result")

_PATIENCE = 0.5  # seconds
_GRACE, _SHARE_OF_GRACE = 1.0, 0.2  # seconds past the deadline, and share of the time before it


def thread_count(n_jobs: int) -> int:
    """Threads to start for ``n_jobs`` in joblib's convention (-1: all processors), never more than processors.

    Raises
    ------
    UsageError
        If ``n_jobs`` is 0.
    """
    if n_jobs == 0:
        raise UsageError("n_jobs (--jobs) must be a positive number, or -1 for all processors; received 0")
    if n_jobs == 1:
        return 1
    import joblib  # as in `spread`, where it is needed: its import takes as long as the score of a small sample

    processors = int(joblib.cpu_count())
    return min(n_jobs, processors) if n_jobs > 0 else max(1, processors + 1 + n_jobs)


def one_thread_in_libraries(api: str | None = None) -> AbstractContextManager[Any]:
    """A block in which libraries that start threads of their own use one.

    Parameters
    ----------
    api : str, optional
        "blas" or "openmp": these alone.
    """
    limit: AbstractContextManager[Any] = _libraries(len(sys.modules)).limit(limits=1, user_api=api)
    return limit


@lru_cache(maxsize=1)
def _libraries(modules: int) -> ThreadpoolController:
    """Libraries with threads, looked for again when modules have been imported, which bring them.

    To look through all that a process has loaded takes milliseconds, several times in a small sample's score.
    """
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def spread(calls: Iterable[Callable[[], Result]], n_threads: int) -> list[Result]:
    """Results of calls in their order, made by so many threads side by side; one is this thread itself.

    Calls are taken from the iterable when threads are free for them.
    """
    if n_threads == 1:
        return [call() for call in calls]
    import joblib

    team = joblib.Parallel(n_jobs=n_threads, prefer="threads")
    results: list[Result] = team(joblib.delayed(call)() for call in calls)
    return results


def awaited(work: Callable[[], Result], seconds: float) -> Result | None:
    """Do work in a thread of its own and wait for it, but not longer than a time; None if it took longer.

    For solvers of other libraries, which look at their clocks between two factorisations only. One that is late is left
    to end by itself, and what it finds is thrown away.
    """
    if seconds == float("inf"):
        return work()
    _, outcome = _begun(work)
    try:
        return outcome.result(min(seconds, TIMEOUT_MAX))
    except TimeoutError:
        if outcome.done():  # it is the work's own
            raise
        return None


def interruptible(work: Callable[[], Result], interrupted: Event, doing: str) -> Result:
    """Do work in a thread of its own and wait for it, so that control-C is heard at once, and the deadline in any case.

    Python raises `KeyboardInterrupt` in the main thread, and compiled code that it happens to run there may lose it or
    break off in disorder. Here the main thread only waits. On an interrupt it sets the event, at which the work should
    end soon, and goes on without it. So does a thread whose work has not heard the deadline a while after it.

    Parameters
    ----------
    work : callable
        Looks at the event from time to time.
    interrupted : threading.Event
    doing : str
        What that is, should time run out.

    Raises
    ------
    KeyboardInterrupt
        If the user interrupts the wait; `AbandonedWork` if the work has not ended half a second later.
    TimeLimitError
        If it goes on past the deadline. And whatever the work raises.
    """
    from steinkit.runtime.deadlines import seconds_left  # which brings NumPy

    left = seconds_left()
    if left == math.inf and current_thread() is not main_thread():
        return work()
    thread, outcome = _begun(work)
    try:
        return outcome.result(min(left + _GRACE + _SHARE_OF_GRACE * left, TIMEOUT_MAX))
    except TimeoutError:
        if outcome.done():  # it is the work's own
            raise
        interrupted.set()
        raise TimeLimitError(doing) from None
    except KeyboardInterrupt:
        interrupted.set()
        thread.join(_PATIENCE)
        if thread.is_alive():
            raise AbandonedWork from None
        raise


def _begun(work: Callable[[], Result]) -> tuple[Thread, Future[Result]]:
    """A daemon thread that does the work in a copy of this context, and what will come of it."""
    outcome: Future[Result] = Future()
    context = copy_context()

    def run() -> None:
        try:
            outcome.set_result(context.run(work))
        except BaseException as error:
            outcome.set_exception(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    return thread, outcome
