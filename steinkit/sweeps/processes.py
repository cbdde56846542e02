"""Processes that work for a sweep: those of this machine, and those of Dask's and Ray's clusters.

Work is a function of a module, called with one argument that all work shares and with some of its own. Work whose
process ended is tried once more.

On this machine they are loky's executors of one process each, so that a process that ends costs no other.
Each has a thread here that gives it work and waits for the answer. A process that is killed, be it by the kernel for
want of memory, is started again. Work that takes longer than it may is ended with its process. Processes end with the
one that started them, however that ends.

Clusters send Python objects by pickling them, and unpickling runs whatever code the sender likes. A cluster must be
trusted, with its network: whoever can speak to its scheduler can run code on its workers and in the sweep's process.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import functools
import math
import os
import pickle
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing import active_children
from typing import Any

import cloudpickle
import joblib
from joblib.externals.loky.process_executor import BrokenProcessPool, ProcessPoolExecutor

from steinkit.errors import SteinkitError, UsageError, imported, require_known
from steinkit.sweeps import BACKENDS

_LIBRARIES = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMBA", "NUMEXPR")
_ONE_THREAD = {"VECLIB_MAXIMUM_THREADS": "1"} | {f"{name}_NUM_THREADS": "1" for name in _LIBRARIES}
_FALSE_STARTS = 5  # in a row, before nothing can be started
_GRACE, _FIRST_GRACE = 10.0, 120.0  # seconds beyond the time; with its first work of a kind a process compiles
_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG of linux/prctl.h
_PATIENCE = 30.0  # seconds that a scheduler may be away
_LOOK = 1.0  # seconds between looks at whether processes are there, and at a cluster that is silent
_KEPT = "cells finished before are kept in the sweep's folder, if it has one, and the same sweep goes on there"
_CLUSTERS = BACKENDS[1:]

Work = Callable[..., Any]
Arguments = tuple[Any, ...]
Task = tuple[Any, Arguments]
"""What its answer is known by, and the arguments of the work."""


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
                    future = done.get(timeout=_LOOK)
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
            raise SteinkitError(f"the workers of backend {self.backend} failed; {_KEPT} ({what})") from error


def pickled(value: object) -> bytes:
    """A value as bytes, functions of scripts and notebooks included.

    Raises
    ------
    UsageError
        If it cannot be sent to another process.
    """
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


def open_workers(
    backend: str, n_jobs: int | None, scheduler: str | None, shared: object, *, timed: bool = False
) -> contextlib.AbstractContextManager[Workers]:
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
    require_known([backend], BACKENDS, "no backend", "the backends")
    if n_jobs == 0:
        raise UsageError("n_jobs (--jobs) must be a positive number, or -1 for all processors; received 0")
    if scheduler is not None and backend not in _CLUSTERS:
        raise UsageError(f"a scheduler ({scheduler}) is for backends {' and '.join(_CLUSTERS)}; name one of them")
    if backend in _CLUSTERS:
        return (dask_workers if backend == "dask" else ray_workers)(n_jobs, scheduler, shared)
    if n_jobs is None and not timed:
        return contextlib.nullcontext(Workers(shared))
    return Processes(joblib.effective_n_jobs(n_jobs or 1), shared)


class Processes(OtherProcesses):
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

    backend, deaths = "loky", (BrokenProcessPool,)

    def __init__(self, count: int, shared: object) -> None:
        super().__init__(pickled(shared), lambda: count)
        self._threads = ThreadPoolExecutor(count)
        self._own = threading.local()  # the process of each thread
        self._processes: list[_Process] = []
        self._abandoned = threading.Event()

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *raised: object) -> None:
        list(self._threads.map(_Process.shutdown, self._processes))
        self._threads.shutdown()

    def _given(self, work: Work, arguments: Arguments, seconds: float | None) -> Future[Any]:
        return self._threads.submit(self._done, work, arguments, seconds)

    def _withdraw(self, futures: Collection[Future[Any]]) -> None:
        self._abandoned.set()
        for each in futures:
            each.cancel()
        wait(futures)
        self._abandoned.clear()

    def _done(self, work: Work, arguments: Arguments, seconds: float | None) -> Any:
        """What this thread's process answers; it ends if time runs out or nobody waits any more."""
        payload = pickled((work, arguments))
        process: _Process | None = getattr(self._own, "process", None)
        if process is None or not process.is_there:
            process = self._own.process = self._started()
        allowed = math.inf if seconds is None else seconds + (_GRACE if work in process.known else _FIRST_GRACE)
        until = time.monotonic() + allowed
        process.known.add(work)
        try:
            future = process.submit(_called, payload)
            while not wait([future], min(_LOOK, until - time.monotonic())).done:
                if time.monotonic() > until:
                    raise LateError(f"it took more than {allowed:.0f} s and was ended")
                if self._abandoned.is_set() or not process.is_there:
                    raise BrokenProcessPool
            return future.result()
        except (LateError, BrokenProcessPool):
            process.shutdown(kill_workers=True)
            raise

    def _started(self) -> _Process:
        for _ in range(_FALSE_STARTS):
            with contextlib.suppress(BrokenProcessPool):
                self._processes.append(_Process(self._shared))
                return self._processes[-1]
        raise SteinkitError(
            f"worker processes end before they are up, {_FALSE_STARTS} in a row; if memory is short, take fewer jobs; "
            f"{_KEPT}"
        )


class _Process(ProcessPoolExecutor):  # type: ignore[misc]  # loky has no types
    """A process that is up."""

    def __init__(self, shared: object) -> None:
        super().__init__(1, initializer=_begin, initargs=(shared, os.getpid()), env=_ONE_THREAD)
        self.known = set[Work]()
        self.pid: int = self.submit(os.getpid).result()

    @property
    def is_there(self) -> bool:
        """Whether it lives; loky may not notice, for a child of one that died may hold its pipes."""
        return self.pid in {process.pid for process in active_children()}


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


@contextlib.contextmanager
def dask_workers(n_jobs: int | None, scheduler: str | None, shared: object) -> Iterator[Workers]:
    """The workers of a Dask cluster: at an address, or of the client in use, or of one started on this machine."""
    dask, distributed = (imported(name, "Dask", "dask") for name in ("dask", "distributed"))
    with contextlib.ExitStack() as stack:
        stack.enter_context(dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}))
        if scheduler is None:
            try:
                client = distributed.get_client()
            except ValueError:
                processes = joblib.effective_n_jobs(n_jobs or -1)
                client = distributed.Client(n_workers=processes, threads_per_worker=1, dashboard_address=None)
                stack.callback(_close, client)
        else:
            try:
                client = distributed.Client(scheduler, set_as_default=False)
            except (OSError, ValueError) as error:
                raise UsageError(f"no Dask scheduler answers at {scheduler}: {error}") from None
            stack.callback(_close, client)
        yield _Dask(client, shared)


def _close(client: Any) -> None:
    with contextlib.suppress(Exception):  # of a scheduler that is gone
        client.close(timeout=_LOOK)


class _Dask(OtherProcesses):
    """Work given to a Dask cluster; the scheduler gives it to another worker, a few times, where one is lost."""

    backend = "dask"

    def __init__(self, client: Any, shared: object) -> None:
        from distributed import KilledWorker

        # what all share is the answer to a task, which the cluster computes anew where its holder is lost
        held = client.submit(cloudpickle.loads, pickled(shared), pure=False)
        super().__init__(held, lambda: sum(client.nthreads().values()))
        self._client, self.deaths = client, (KilledWorker,)

    def _given(self, work: Work, arguments: Arguments, seconds: float | None) -> Future[Any]:
        payload = pickled((work, arguments))
        try:
            task = self._client.submit(called, self._shared, payload, pure=False)
        except Exception as error:
            raise self._gone(error) from error
        return asyncio.run_coroutine_threadsafe(self._answered(task), self._client.loop.asyncio_loop)

    async def _answered(self, task: Any) -> Any:
        """The answer to a task; one that goes with its worker is computed anew, and waited for."""
        try:
            return await task._result()
        except (Exception, asyncio.CancelledError) as error:
            if task.status == "error" or (isinstance(error, asyncio.CancelledError) and task.status == "pending"):
                raise  # of a worker; or given up here
            raise self._gone(error) from error

    def _require_there(self) -> None:
        until = time.monotonic() + _PATIENCE
        while (status := self._client.status) != "running":
            if status == "closed" or time.monotonic() > until:
                raise self._gone(f"it is {status}")
            time.sleep(_LOOK)

    def _gone(self, why: object) -> SteinkitError:
        return SteinkitError(f"the Dask scheduler no longer answers ({' '.join(str(why).split())}); {_KEPT}")


@contextlib.contextmanager
def ray_workers(n_jobs: int | None, scheduler: str | None, shared: object) -> Iterator[Workers]:
    """The workers of a Ray cluster: at an address, or the one in use, or one started on this machine."""
    ray = imported("ray", "Ray", "ray")
    started = not ray.is_initialized()
    if started:
        processes = None if scheduler else joblib.effective_n_jobs(n_jobs or -1)
        try:
            ray.init(address=scheduler, num_cpus=processes, include_dashboard=None if scheduler else False)
        except ConnectionError as error:
            raise UsageError(f"no Ray cluster answers at {scheduler}: {error}") from None
    try:
        yield _Ray(ray, shared)
    finally:
        if started:
            ray.shutdown()


class _Ray(OtherProcesses):
    """Work given to a Ray cluster."""

    backend = "ray"

    def __init__(self, ray: Any, shared: object) -> None:
        from ray import exceptions

        super().__init__(ray.put(pickled(shared)), lambda: int(ray.cluster_resources().get("CPU", 1)))
        self.deaths = (exceptions.WorkerCrashedError, exceptions.NodeDiedError, exceptions.OutOfMemoryError)
        self._call = ray.remote(max_retries=0)(_called_with)
        self._cancel = functools.partial(ray.cancel, force=True)

    def _given(self, work: Work, arguments: Arguments, seconds: float | None) -> Future[Any]:
        found: Future[Any] = self._call.remote(self._shared, pickled((work, arguments))).future()
        return found

    def _withdraw(self, futures: Collection[Future[Any]]) -> None:
        for each in futures:
            with contextlib.suppress(Exception):  # of a cluster that is gone
                self._cancel(each.object_ref)  # type: ignore[attr-defined]  # Ray's own


def _called_with(shared: bytes, payload: bytes) -> Any:
    return called(cloudpickle.loads(shared), payload)
