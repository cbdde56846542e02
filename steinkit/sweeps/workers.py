"""Who works for a sweep: this process, others of this machine, or a Dask or Ray cluster.

Work is a function of a module, called with one argument that all work shares and with some of its own. Work whose
process ended is tried once more.

Clusters send Python objects by pickling them, and unpickling runs whatever code the sender likes. A cluster must be
trusted, with its network: whoever can speak to its scheduler can run code on its workers and in the sweep's process.
"""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from steinkit.errors import UsageError, did_you_mean

Work = Callable[..., Any]
Arguments = tuple[Any, ...]


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


_CLUSTERS = ("dask", "ray")
BACKENDS = ("loky", *_CLUSTERS)
"""Names of the back ends; the first needs nothing."""


@contextlib.contextmanager
def open_workers(
    backend: str, n_jobs: int | None, scheduler: str | None, shared: object, *, timed: bool = False
) -> Iterator[Workers]:
    """Workers of a back end, for as long as the block lasts.

    Parameters
    ----------
    backend : str
        One of `BACKENDS`. loky: processes of this machine. dask, ray: a cluster, which must be trusted.
    n_jobs : int, optional
        Number of worker processes; by default none with loky, which then works in this process, and all of the
        cluster's with the others.
    scheduler : str, optional
        Address of the cluster; without one the cluster in use, or else one on this machine, of ``n_jobs`` processes.
    shared : object
        First argument of all work, sent once.
    timed : bool
        Whether work must be ended when its time is over: not done in this process, then.

    Raises
    ------
    UsageError
        If there is no such backend, n_jobs is 0, or a backend that is no cluster is given a scheduler.
    MissingDependencyError
        If the backend's package is not installed.
    """
    if backend not in BACKENDS:
        raise UsageError(
            f"no backend {backend!r}{did_you_mean(backend, BACKENDS)}; the backends are {', '.join(BACKENDS)}"
        )
    if n_jobs == 0:
        raise UsageError("n_jobs (--jobs) must be a positive number, or -1 for all processors; received 0")
    if scheduler is not None and backend not in _CLUSTERS:
        raise UsageError(f"a scheduler ({scheduler}) is for backends {' and '.join(_CLUSTERS)}; name one of them")
    with contextlib.ExitStack() as stack:
        if backend in _CLUSTERS:
            from steinkit.sweeps import processes as clusters

            open_cluster = clusters.dask_workers if backend == "dask" else clusters.ray_workers
            yield stack.enter_context(open_cluster(n_jobs, scheduler, shared))
        elif n_jobs is None and not timed:
            yield InProcess(shared)
        else:
            import joblib

            from steinkit.sweeps.processes import Processes

            yield stack.enter_context(Processes(joblib.effective_n_jobs(n_jobs or 1), shared))
