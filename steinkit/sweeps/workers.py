"""Work of a sweep given out and answers taken back, whoever does it.

Work is a function of a module, called with one argument that all work shares and with some of its own. Work whose
process ended is tried once more.
"""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from steinkit.errors import UsageError

Work = Callable[..., Any]
Arguments = tuple[Any, ...]

CLUSTERS = ("dask", "ray")
BACKENDS = ("loky", *CLUSTERS)
"""Names of the back ends; the first needs nothing."""


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


class Workers(Protocol):
    """Whoever does the work of a sweep, with one argument that all work shares."""

    @property
    def count(self) -> int:
        """How many work side by side."""

    def as_completed(
        self, work: Work, arguments: Iterable[Arguments], seconds: float | None = None
    ) -> Generator[Any, None, None]:
        """Answers of ``work(shared, *each)`` for each tuple of arguments, in any order, as they are ready.

        A process that ends costs the answer it was at, in whose place comes `Lost`.

        Parameters
        ----------
        work : callable
            A function of a module, which catches what fails in it.
        arguments : iterable of tuple
        seconds : float, optional
            For each of them, where processes can be ended; a little more is granted.

        Raises
        ------
        UsageError
            If the work cannot be sent to another process.
        SteinkitError
            If the workers themselves failed.
        """


class InProcess:
    """Work done by this process itself, one after another."""

    count = 1

    def __init__(self, shared: object) -> None:
        self._shared = shared

    def as_completed(
        self, work: Work, arguments: Iterable[Arguments], seconds: float | None = None
    ) -> Generator[Any, None, None]:
        """See `Workers`; there is nobody who could end the work."""
        for each in arguments:
            yield work(self._shared, *each)


def answers(
    workers: Workers,
    work: Work,
    arguments: Iterable[Arguments],
    *,
    seconds: float | None = None,
    parts: Callable[[Arguments], Sequence[Arguments]] = lambda whole: [whole],
) -> Iterator[Any]:
    """Answers in any order; work whose process ended is tried once more, in parts, and is `Lost` if it ends again."""
    again: list[Arguments] = []
    with contextlib.closing(workers.as_completed(work, arguments, seconds)) as found:
        for answer in found:
            if isinstance(answer, Lost) and not answer.late:
                again += parts(answer.arguments)
            else:
                yield answer
    with contextlib.closing(workers.as_completed(work, again, seconds)) as found:
        yield from found


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
