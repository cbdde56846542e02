"""Whoever does the work of a sweep: this process, loky's processes on this machine, or a Dask or Ray cluster.

All three take calls and answer in futures. A loky process that dies takes the other calls in progress with it. Whatever
was in progress is then done once more, alone: work that then costs two processes is `Lost`, and the rest goes on.

Clusters send Python objects by pickling them, and unpickling runs whatever code the sender likes. A cluster must be
trusted, with its network: whoever can speak to its scheduler can run code on its workers and in the sweep's process.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import pickle
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from numbers import Integral
from queue import SimpleQueue
from typing import Any

import cloudpickle
import joblib
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.process_executor import TerminatedWorkerError

from steinkit.errors import SteinkitError, UsageError, imported, require_known
from steinkit.sweeps import BACKENDS

_CLUSTERS = BACKENDS[1:]
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")

Work = Callable[..., Iterable[Any]]
Arguments = tuple[Any, ...]


@dataclass(frozen=True)
class Lost:
    """Work that cost two processes, by its arguments."""

    arguments: Arguments
    reason: str = "the process that worked at it was killed, or ended by itself, twice"


@dataclass(frozen=True, eq=False)
class Workers:
    """Workers that call functions, whose answers are iterables.

    Attributes
    ----------
    count : int
        How many work side by side.
    submit : callable, optional
        Begins a call without arguments, and returns its future. Without it work is done in this process.
    deaths : tuple of exception types
        Raised by futures where a worker has died.
    """

    count: int = 1
    submit: Callable[[Callable[[], Any]], Any] | None = None
    deaths: tuple[type[Exception], ...] = ()

    def answers(
        self,
        shared: object,
        work: Work,
        tasks: Mapping[Any, Arguments],
        parts: Callable[[Arguments], Sequence[Arguments]] = lambda whole: [whole],
    ) -> Iterator[tuple[Any, Any]]:
        """Yield the keys of tasks with each answer of ``work(shared, *arguments)``, in any order, as they are ready.

        Parameters
        ----------
        shared : object
            First argument of all work.
        work : callable
            A function of a module, which catches what fails in it.
        tasks : mapping of key to arguments
        parts : callable
            Arguments of the parts in which work is done once more that was in progress when a process died.

        Raises
        ------
        UsageError
            If the work cannot be sent to another process.
        SteinkitError
            If the workers themselves failed.
        """
        if self.submit is None:
            yield from ((key, each) for key, arguments in tasks.items() for each in work(shared, *arguments))
            return
        sent = _pickled(shared)
        fresh, again, running = deque(tasks.items()), deque[tuple[Any, Arguments]](), 0
        ended: SimpleQueue[tuple[Any, Arguments, bool, Any]] = SimpleQueue()
        while fresh or again or running:
            while (again and not running) or (fresh and not again and running < self.count):
                is_alone, (key, arguments) = bool(again), (again or fresh).popleft()
                call = functools.partial(_done, sent, _pickled((work, arguments)))
                running += 1 if not is_alone else self.count  # nothing else is begun beside it
                try:
                    future = self.submit(call)
                except self.deaths as death:
                    future = Future[Any]()
                    future.set_exception(death)
                future.add_done_callback(functools.partial(_told, ended, key, arguments, is_alone))
            key, arguments, was_alone, future = ended.get()
            running -= self.count if was_alone else 1
            try:
                found = future.result()
            except self.deaths:
                again += () if was_alone else ((key, part) for part in parts(arguments))
                found = [Lost(arguments)] if was_alone else []
            except (Exception, asyncio.CancelledError) as error:  # of sending and receiving: work catches its own
                said = " ".join(f"{type(error).__name__}: {error}".split())
                kept = "finished cells are kept in the sweep's file, if it has one, and the same sweep goes on with it"
                raise SteinkitError(f"the workers failed ({said}); {kept}") from error
            yield from ((key, each) for each in found)


def _told(ended: SimpleQueue[Any], *known: Any) -> None:
    ended.put(known)


def _pickled(value: object) -> bytes:
    """Return a value as bytes, functions of scripts and notebooks included."""
    try:
        return bytes(cloudpickle.dumps(value))
    except (pickle.PicklingError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise UsageError(
            "the sampler, the target or a setting cannot be sent to another process, perhaps for a lock, a file "
            f"or a generator that it holds; leave out n_jobs (--jobs), or make them of functions and arrays ({error})"
        ) from error


_shared = functools.lru_cache(maxsize=1)(pickle.loads)  # each worker keeps what its functions have cached


def _done(shared: bytes, payload: bytes) -> list[Any]:
    work, arguments = pickle.loads(payload)
    return list(work(_shared(shared), *arguments))


@contextlib.contextmanager
def open_workers(backend: str, n_jobs: int | None, scheduler: str | None = None) -> Iterator[Workers]:
    """Give workers of a back end, for as long as the block lasts.

    Parameters
    ----------
    backend : str
        One of `BACKENDS`. loky: processes of this machine. dask, ray: a cluster, which must be trusted.
    n_jobs : int, optional
        Number of worker processes of loky; by default none, so that work is done in this process.
    scheduler : str, optional
        Address of the cluster; without one the cluster in use.

    Raises
    ------
    UsageError
        If there is no such backend, n_jobs is 0, or a backend that is no cluster is given a scheduler.
    MissingDependencyError
        If the backend's package is not installed.
    """
    require_known([backend], BACKENDS, "no backend", "the backends")
    if not isinstance(n_jobs, Integral | None) or n_jobs == 0:
        raise UsageError(f"n_jobs (--jobs) must be a positive number, or -1 for all processors; received {n_jobs!r}")
    if scheduler is not None and backend not in _CLUSTERS:
        raise UsageError(f"a scheduler ({scheduler}) is for backends {' and '.join(_CLUSTERS)}; name one of them")
    if backend in _CLUSTERS:
        with (_dask if backend == "dask" else _ray)(scheduler) as workers:
            yield workers
    elif n_jobs is None:
        yield Workers()
    else:
        count = joblib.effective_n_jobs(n_jobs)

        options = {"initializer": _begin, "initargs": (os.getpid(),), "env": _ONE_THREAD, "timeout": None}
        executor = functools.partial(get_reusable_executor, count, **options)  # a new one where processes died
        try:
            yield Workers(count, lambda call: executor().submit(call), (TerminatedWorkerError,))
        finally:
            executor().shutdown(wait=True, kill_workers=True)


def _begin(parent: int) -> None:
    """Prepare a worker process: it leaves control-C to its parent, and ends when that does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # control-C reaches every process of a terminal

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def _dask(scheduler: str | None) -> Iterator[Workers]:
    """A Dask cluster: at an address, or that of the client in use."""
    distributed = imported("distributed", "Dask", "dask")
    with contextlib.ExitStack() as stack:
        try:
            client = (
                distributed.get_client() if scheduler is None else distributed.Client(scheduler, set_as_default=False)
            )
        except (OSError, ValueError) as error:
            raise UsageError(f"no Dask scheduler answers at {scheduler or 'no address'}: {error}") from None
        if scheduler is not None:
            stack.callback(client.close, timeout=1.0)
        count = max(1, sum(client.nthreads().values()))
        yield Workers(count, functools.partial(client.submit, pure=False), (distributed.KilledWorker,))


@contextlib.contextmanager
def _ray(scheduler: str | None) -> Iterator[Workers]:
    """A Ray cluster: at an address, or the one in use."""
    ray, exceptions = (imported(name, "Ray", "ray") for name in ("ray", "ray.exceptions"))
    with contextlib.ExitStack() as stack:
        if not ray.is_initialized():
            try:
                stack.enter_context(ray.init(address=scheduler or "auto"))
            except ConnectionError as error:
                raise UsageError(f"no Ray cluster answers at {scheduler or 'no address'}: {error}") from None
        call = ray.remote(max_retries=0)(lambda function: function())
        deaths = (exceptions.WorkerCrashedError, exceptions.NodeDiedError, exceptions.OutOfMemoryError)
        count = int(ray.cluster_resources().get("CPU", 1))
        yield Workers(count, lambda function: call.remote(function).future(), deaths)
