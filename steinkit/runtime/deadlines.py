"""Deadlines: long work ends when its time is up, wherever it has got to, compiled code included.

A time limit holds for a call and for all that it calls in turn: `time_limit` sets the moment, the earliest of those set
counts. Three things listen to it, each in the way it can:

* Python calls `require_time` between two steps, which raises `TimeLimitError`;
* compiled code looks at `StopSignal.flag`, an array of one truth value, and returns with its work unfinished;
* a solver of another library is told `seconds_left`.

What cannot be ended is a single call of a user's function, of LAPACK or of a compiler. Work that
`threads.interruptible` waits for is left behind where it goes on for a second and a fifth of the time beyond that.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from threading import TIMEOUT_MAX, Event, Timer
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from steinkit.errors import TimeLimitError, UsageError, during

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
