"""Work of a sweep given out and answers taken back, whoever does it.

Work is a function of a module, called with one argument that all work shares and with some of its own. Work whose
process ended is tried once more.
"""

from __future__ import annotations

import contextlib
import pickle
import queue
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from steinkit.errors import SteinkitError, UsageError

Work = Callable[..., Any]
Arguments = tuple[Any, ...]
Task = tuple[Any, Arguments]
"""What its answer is known by, and the arguments of the work."""

CLUSTERS = ("dask", "ray")
BACKENDS = ("loky", *CLUSTERS)
"""Names of the back ends; the first needs nothing."""

LOOK = 1.0  # seconds between looks at whether processes are there, and at a cluster that is silent
KEPT = "cells finished before are kept in the sweep's folder, if it has one, and the same sweep goes on there"


@dataclass(frozen=True)
class Lost:
    """Work whose process ended before it had answered.

    Attributes
    ----------
    arguments : tuple
        Those of the work.
    reason : str
    late : bool
        Whether the process was ended because time had run out.
    """

    arguments: Arguments
    reason: str
    late: bool = False


class LateError(Exception):
    """Why a process was ended whose time had run out."""


class Workers:
    """Whoever does the work of a sweep, with one argument that all work shares: this process, one after another."""

    def __init__(self, shared: object, count: Callable[[], int] = lambda: 1) -> None:
        self._shared, self._count = shared, count

    @property
    def count(self) -> int:
        """How many work side by side; a cluster may grow."""
        return max(1, self._count())

    def answers(
        self,
        work: Work,
        tasks: Iterable[Task],
        *,
        seconds: float | None = None,
        parts: Callable[[Arguments], Sequence[Arguments]] = lambda whole: [whole],
    ) -> Generator[tuple[Any, Any], None, None]:
        """Answers of ``work(shared, *arguments)``, with what they are known by, in any order, as they are ready.

        Parameters
        ----------
        work : callable
            A function of a module, which catches what fails in it.
        tasks : iterable of tuple
        seconds : float, optional
            For each of them, where processes can be ended; a little more is granted.
        parts : callable
            Arguments of the parts in which work is tried once more whose process ended; if that of a part ends, too,
            its answer is `Lost`.

        Raises
        ------
        UsageError
            If the work cannot be sent to another process.
        SteinkitError
            If the workers themselves failed.
        """
        again: list[Task] = []
        with contextlib.closing(self._once(work, tasks, seconds)) as found:
            for key, answer in found:
                if isinstance(answer, Lost) and not answer.late:
                    again += [(key, part) for part in parts(answer.arguments)]
                else:
                    yield key, answer
        with contextlib.closing(self._once(work, again, seconds)) as found:
            yield from found

    def _once(self, work: Work, tasks: Iterable[Task], seconds: float | None) -> Generator[tuple[Any, Any], None, None]:
        for key, arguments in tasks:
            yield key, work(self._shared, *arguments)


class OtherProcesses(Workers):
    """Workers of a back end: what is given to them, they answer in futures."""

    backend: str
    deaths: tuple[type[Exception], ...]  # of the process that worked

    def _given(self, work: Work, arguments: Arguments, seconds: float | None) -> Future[Any]:
        raise NotImplementedError

    def _withdraw(self, futures: Collection[Future[Any]]) -> None:
        """Give up work that nobody waits for any more."""
        for each in futures:
            each.cancel()

    def _require_there(self) -> None:
        """Raise if nobody is there who might answer."""

    def _once(self, work: Work, tasks: Iterable[Task], seconds: float | None) -> Generator[tuple[Any, Any], None, None]:
        waiting: dict[Future[Any], Task] = {}
        done = queue.SimpleQueue[Future[Any]]()  # to `wait` for the first would take longer the more there are
        try:
            for key, arguments in tasks:
                future = self._given(work, arguments, seconds)
                waiting[future] = key, arguments
                future.add_done_callback(done.put)
            while waiting:
                try:
                    future = done.get(timeout=LOOK)
                except queue.Empty:
                    self._require_there()
                    continue
                key, arguments = waiting.pop(future)
                yield key, self._answer(future, arguments)
        finally:
            self._withdraw(waiting)

    def _answer(self, future: Future[Any], arguments: Arguments) -> Any:
        try:
            return future.result()
        except SteinkitError:
            raise
        except LateError as error:
            return Lost(arguments, str(error), late=True)
        except self.deaths:
            return Lost(arguments, "the process that worked at it was killed, or ended by itself")
        except Exception as error:  # of sending and receiving: work catches its own
            what = " ".join(f"{type(error).__name__}: {error}".split())
            raise SteinkitError(f"the workers of backend {self.backend} failed; {KEPT} ({what})") from error


def pickled(value: object) -> bytes:
    """A value as bytes, functions of scripts and notebooks included.

    Raises
    ------
    UsageError
        If it cannot be sent to another process.
    """
    import cloudpickle

    try:
        return bytes(cloudpickle.dumps(value))
    except (pickle.PicklingError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise UsageError(
            "the sampler, the target or a setting cannot be sent to another process, perhaps for a lock, a file "
            "or a generator that it holds; leave out n_jobs (--jobs) and max_seconds, or make them of functions and "
            f"arrays ({error})"
        ) from error


def called(shared: object, payload: bytes) -> Any:
    """The answer to work that was sent as bytes."""
    work, arguments = pickle.loads(payload)
    return work(shared, *arguments)
