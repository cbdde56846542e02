"""Deadlines and threads: long work ends when its time is up or control-C is pressed, compiled code included.

A time limit holds for a call and for all that it calls in turn: `time_limit` sets the moment, the earliest of those set
counts. Three things listen to it, each in the way it can:

* Python calls `require_time` between two steps, which raises `TimeLimitError`;
* compiled code looks at `StopSignal.flag`, an array of one truth value, and returns with its work unfinished;
* a solver of another library is told `seconds_left`.

What cannot be ended is a single call of a user's function, of LAPACK or of a compiler. Work that `interruptible` waits
for is left behind where it goes on for a second and a fifth of the time beyond that, and at once where it has no clock.
"""

from __future__ import annotations

import math
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

_LEAST = 1e-9  # seconds: none to speak of, but a limit

_moment: ContextVar[float] = ContextVar("moment", default=math.inf)  # of `time.monotonic`


@contextmanager
def time_limit(seconds: float | None) -> Iterator[float]:
    """Hold what is done inside to a time; None sets no limit of its own.

    Yields
    ------
    float
        The moment of `time.monotonic` at which to be done: infinite, unless this or an enclosing limit sets one.

    Raises
    ------
    UsageError
        If the time is not positive.
    """
    if seconds is not None:
        if isinstance(seconds, bool) or not isinstance(seconds, int | float | np.number) or not seconds > 0.0:
            raise UsageError(f"max_seconds (--max-seconds) must be positive; received {seconds!r}")
        moment = min(time.monotonic() + float(seconds), _moment.get())
    else:
        moment = _moment.get()
    with during(_moment, moment):
        yield moment


def within_time(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Hold a function, and all that it calls, to its keyword argument `max_seconds`."""

    @wraps(function)
    def held(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        seconds: Any = kwargs.get("max_seconds")
        with time_limit(seconds):
            return function(*args, **kwargs)

    return held


def deadline() -> float:
    """The moment of `time.monotonic` at which to be done; infinite without a limit."""
    return _moment.get()


def seconds_left() -> float:
    """Time until the deadline, never negative."""
    return max(0.0, _moment.get() - time.monotonic())


class Shares:
    """Shares out the time that is left among pieces of work, so that none takes that of the others.

    Parameters
    ----------
    pieces : int
        How many there are; what one leaves over is shared by those after it.
    """

    def __init__(self, pieces: int) -> None:
        self.pieces = pieces

    @contextmanager
    def one(self) -> Iterator[None]:
        """Hold the next piece to its share."""
        share = max(seconds_left() / max(self.pieces, 1), _LEAST) if _moment.get() < math.inf else None
        self.pieces -= 1
        with time_limit(share):
            yield


def require_time(doing: str, seconds: float = 0.0) -> None:
    """Go on only if there is time.

    Parameters
    ----------
    doing : str
        What would be done next, for the message.
    seconds : float
        How long that takes at least.

    Raises
    ------
    TimeLimitError
        If the deadline has passed, or comes before that.
    """
    left = _moment.get() - time.monotonic()
    if left <= seconds:
        raise TimeLimitError(doing, needed=seconds - left if left > 0.0 else 0.0)


def blocks(n: int, width: int, doing: str = "") -> Iterator[slice]:
    """Slices of n things, so many at a time; before each `require_time`, where it is said what would be done."""
    for begin in range(0, n, width):
        if doing:
            require_time(doing)
        yield slice(begin, min(begin + width, n))


class StopSignal(Event):
    """An event that compiled code can see: the deadline has passed, or the user has interrupted.

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
        """Ask all who look to stop."""
        super().set()  # first, so that who has seen the flag finds the event set
        self.flag[0] = True

    def require(self, doing: str) -> None:
        """Go on only if nobody has asked to stop; what compiled code returns after that is unfinished.

        Raises
        ------
        TimeLimitError, KeyboardInterrupt
            As the deadline or the user has asked for it.
        """
        if self.is_set():
            raise TimeLimitError(doing) if self._out_of_time else KeyboardInterrupt

    def _run_out(self) -> None:
        self._out_of_time = True
        self.set()


@contextmanager
def stop_signal() -> Iterator[StopSignal]:
    """A signal that is set when the deadline passes; whoever hears of an interrupt sets it as well."""
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


_PATIENCE = 0.5  # seconds
_GRACE, _SHARE_OF_GRACE = 1.0, 0.2  # seconds past the deadline, and share of the time before it


def thread_count(n_jobs: int) -> int:
    """Threads to start for ``n_jobs`` in joblib's convention (-1: all processors), never more than processors.

    Raises
    ------
    UsageError
        If ``n_jobs`` is 0.
    """
    if not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise UsageError(f"n_jobs (--jobs) must be a positive number, or -1 for all processors; received {n_jobs!r}")
    if n_jobs == 1:
        return 1
    import joblib  # here, where it is needed: its import takes as long as the score of a small sample

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


def interruptible(work: Callable[[], Result], interrupted: Event, doing: str, *, has_clock: bool = True) -> Result:
    """Do work in a thread of its own and wait for it, so that control-C is heard at once, and the deadline in any case.

    Python raises `KeyboardInterrupt` in the main thread, and compiled code that it happens to run there may lose it or
    break off in disorder. Here the main thread only waits. On an interrupt it sets the event, at which the work should
    end soon, and goes on without it. So does a thread whose work has not heard the deadline a while after it: solvers
    of other libraries look at their clocks between two factorisations only, and what they find then is thrown away.

    Parameters
    ----------
    work : callable
        Looks at the event from time to time.
    interrupted : threading.Event
    doing : str
        What that is, should time run out.
    has_clock : bool
        Whether the work looks at the deadline: what does not is not waited for any longer.

    Raises
    ------
    KeyboardInterrupt
        If the user interrupts the wait; `AbandonedWork` if the work has not ended half a second later.
    TimeLimitError
        If it goes on past the deadline.
    BaseException
        Whatever the work raises, or the handler of a signal; a TimeoutError of theirs stays one.
    """
    left = seconds_left()
    if left == math.inf and current_thread() is not main_thread():
        return work()
    thread, outcome = _begun(work)
    try:
        wait([outcome], min(left + (_GRACE + _SHARE_OF_GRACE * left if has_clock else 0.0), TIMEOUT_MAX))
    except BaseException as error:  # of a signal's handler: the user's control-C, or a watchdog
        interrupted.set()
        thread.join(_PATIENCE)
        if isinstance(error, KeyboardInterrupt) and thread.is_alive():
            raise AbandonedWork from None
        raise
    if not outcome.done():
        interrupted.set()
        raise TimeLimitError(doing)
    return outcome.result()


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
