"""Processes that work for a sweep: those of this machine, and those of Dask's and Ray's clusters.

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
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from multiprocessing import active_children
from typing import Any

import cloudpickle
import joblib
from joblib.externals.loky.process_executor import BrokenProcessPool, ProcessPoolExecutor

from steinkit.errors import SteinkitError, UsageError, did_you_mean, imported
from steinkit.sweeps.workers import BACKENDS, CLUSTERS, Arguments, InProcess, Lost, Work, Workers, called, pickled

_LIBRARIES = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMBA", "NUMEXPR")
_ONE_THREAD = {"VECLIB_MAXIMUM_THREADS": "1"} | {f"{name}_NUM_THREADS": "1" for name in _LIBRARIES}
_LOOK = 1.0  # seconds between looks at whether processes are there, and at a cluster that is silent
_FALSE_STARTS = 5  # in a row, before nothing can be started
_GRACE, _FIRST_GRACE = 10.0, 120.0  # seconds beyond the time; with its first work of a kind a process compiles
_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG of linux/prctl.h


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
    if backend not in BACKENDS:
        raise UsageError(
            f"no backend {backend!r}{did_you_mean(backend, BACKENDS)}; the backends are {', '.join(BACKENDS)}"
        )
    if n_jobs == 0:
        raise UsageError("n_jobs (--jobs) must be a positive number, or -1 for all processors; received 0")
    if scheduler is not None and backend not in CLUSTERS:
        raise UsageError(f"a scheduler ({scheduler}) is for backends {' and '.join(CLUSTERS)}; name one of them")
    if backend in CLUSTERS:
        return (dask_workers if backend == "dask" else ray_workers)(n_jobs, scheduler, shared)
    if n_jobs is None and not timed:
        return contextlib.nullcontext(InProcess(shared))
    return Processes(joblib.effective_n_jobs(n_jobs or 1), shared)


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
        self._threads = ThreadPoolExecutor(count)
        self._own = threading.local()  # the process of each thread, which ends with it
        self._processes: list[_Process] = []

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *raised: object) -> None:
        list(self._threads.map(_Process.end, self._processes))
        self._threads.shutdown()

    def as_completed(
        self, work: Work, arguments: Iterable[Arguments], seconds: float | None = None
    ) -> Generator[Any, None, None]:
        """See `Workers`."""
        abandoned, done = threading.Event(), queue.SimpleQueue[Future[Any]]()
        waiting = {self._threads.submit(self._answer, work, each, seconds, abandoned) for each in arguments}
        for each in waiting:  # to `wait` for the first of all would take longer the more there are
            each.add_done_callback(done.put)
        try:
            while waiting:
                with contextlib.suppress(queue.Empty):
                    waiting.remove(first := done.get(timeout=_LOOK))
                    yield first.result()
        finally:
            abandoned.set()
            for each in waiting:
                each.cancel()
            wait(waiting)

    def _answer(self, work: Work, arguments: Arguments, seconds: float | None, abandoned: threading.Event) -> Any:
        """What this thread's process answers, or what is lost with it."""
        process: _Process | None = getattr(self._own, "process", None)
        if process is None or not process.is_there:
            process = self._own.process = self._started()
        return process.answer(work, arguments, seconds, abandoned)

    def _started(self) -> _Process:
        for _ in range(_FALSE_STARTS):
            with contextlib.suppress(BrokenProcessPool):
                self._processes.append(_Process(self._shared))
                return self._processes[-1]
        raise SteinkitError(
            f"worker processes end before they are up, {_FALSE_STARTS} in a row; if memory is short, take fewer jobs; "
            "cells finished before are kept in the sweep's folder, if it has one"
        )


class _Process:
    """A process that is up."""

    def __init__(self, shared: bytes) -> None:
        self._executor = ProcessPoolExecutor(1, initializer=_begin, initargs=(shared, os.getpid()), env=_ONE_THREAD)
        self._known = set[Work]()
        self.pid: int = self._executor.submit(os.getpid).result()

    @property
    def is_there(self) -> bool:
        """Whether it lives; loky may not notice, for a child of one that died may hold its pipes."""
        return self.pid in {process.pid for process in active_children()}

    def answer(self, work: Work, arguments: Arguments, seconds: float | None, abandoned: threading.Event) -> Any:
        """The answer to work; lost if time runs out, nobody waits any more or the process ends, which it does then."""
        payload = pickled((work, arguments))
        allowed = math.inf if seconds is None else seconds + (_GRACE if work in self._known else _FIRST_GRACE)
        until = time.monotonic() + allowed
        self._known.add(work)
        try:
            future = self._executor.submit(_called, payload)
            while not wait([future], min(_LOOK, until - time.monotonic())).done:
                if time.monotonic() > until:
                    self.end(kill=True)
                    return Lost(arguments, f"it took more than {allowed:.0f} s and was ended", late=True)
                if abandoned.is_set() or not self.is_there:
                    raise BrokenProcessPool
            return future.result()
        except BrokenProcessPool:
            self.end(kill=True)
            return Lost(arguments, "the process that worked at it was killed, or ended by itself")
        except Exception as error:  # of sending and receiving: work catches its own
            raise SteinkitError(
                f"a worker process could not take its work, or send its answer: {type(error).__name__}: {error}"
            ) from error

    def end(self, kill: bool = False) -> None:
        """End it, be it at work."""
        self._executor.shutdown(kill_workers=kill)


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


_PATIENCE = 30.0  # seconds that a scheduler may be away
_KEPT = "cells finished before are kept in the sweep's folder, if it has one, and the same sweep goes on there"


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


class _Dask:
    """Work given to a Dask cluster; the scheduler gives it to another worker, a few times, where one is lost."""

    def __init__(self, client: Any, shared: object) -> None:
        self._client, self._shared = client, pickled(shared)

    @property
    def count(self) -> int:
        """How many work side by side."""
        return max(1, int(sum(self._client.nthreads().values())))

    def as_completed(
        self, work: Work, arguments: Iterable[Arguments], seconds: float | None = None
    ) -> Generator[Any, None, None]:
        """See `Workers`; the cluster is not asked to end work that takes too long."""
        payloads = [(each, pickled((work, each))) for each in arguments]
        if not payloads:
            return
        loop = self._client.loop.asyncio_loop
        try:  # what all share is the answer to a task, which the cluster computes anew where its holder is lost
            shared = self._client.submit(cloudpickle.loads, self._shared, pure=False)
            tasks = {self._client.submit(called, shared, sent, pure=False): each for each, sent in payloads}
        except Exception as error:
            raise self._gone(error) from error
        given = {asyncio.run_coroutine_threadsafe(self._answer(*task), loop): task[0] for task in tasks.items()}
        heard = time.monotonic()
        try:
            while given:
                done, _ = wait(given, _LOOK, FIRST_COMPLETED)
                for future in done:
                    del given[future]
                    yield future.result()
                if done or self._client.status == "running":
                    heard = time.monotonic()
                elif self._client.status == "closed" or time.monotonic() - heard > _PATIENCE:
                    raise self._gone(f"it is {self._client.status}")
        finally:
            with contextlib.suppress(Exception):  # of a scheduler that is gone
                self._client.cancel(list(given.values()))

    async def _answer(self, task: Any, arguments: Arguments) -> Any:
        """The answer to a task; one that goes with its worker is computed anew, and waited for."""
        from distributed import KilledWorker

        try:
            return await task._result()
        except KilledWorker:
            return Lost(arguments, "the workers that worked at it were killed, or ended by themselves")
        except (Exception, asyncio.CancelledError) as error:
            if task.status != "error":
                raise self._gone(error) from error
            what = f"{type(error).__name__}: {error}"
            raise SteinkitError(f"the workers of backend dask failed; {_KEPT} ({what})") from error

    def _gone(self, why: object) -> SteinkitError:
        return SteinkitError(f"the Dask scheduler no longer answers ({' '.join(str(why).split())}); {_KEPT}")


def _close(client: Any) -> None:
    with contextlib.suppress(Exception):  # of a scheduler that is gone
        client.close(timeout=_LOOK)


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
        yield _Ray(shared)
    finally:
        if started:
            ray.shutdown()


class _Ray:
    """Work given to a Ray cluster."""

    def __init__(self, shared: object) -> None:
        import ray

        self._call = ray.remote(max_retries=0)(_called_with)
        self._shared = ray.put(pickled(shared))

    @property
    def count(self) -> int:
        """How many work side by side."""
        import ray

        return max(1, int(ray.cluster_resources().get("CPU", 1)))

    def as_completed(
        self, work: Work, arguments: Iterable[Arguments], seconds: float | None = None
    ) -> Generator[Any, None, None]:
        """See `Workers`; the cluster is not asked to end work that takes too long."""
        import ray

        given = {self._call.remote(self._shared, pickled((work, each))): each for each in arguments}
        try:
            while given:
                done, _ = ray.wait(list(given), num_returns=1)
                yield self._answer(done[0], given.pop(done[0]))
        finally:
            for reference in given:
                with contextlib.suppress(Exception):  # of a cluster that is gone
                    ray.cancel(reference, force=True)

    def _answer(self, reference: Any, arguments: Arguments) -> Any:
        import ray
        from ray import exceptions

        try:
            return ray.get(reference)
        except (exceptions.WorkerCrashedError, exceptions.NodeDiedError, exceptions.OutOfMemoryError) as error:
            return Lost(arguments, f"the worker that worked at it was lost: {' '.join(str(error).split())}")
        except exceptions.RayError as error:
            what = " ".join(f"{type(error).__name__}: {error}".split())
            raise SteinkitError(f"the workers of backend ray failed; {_KEPT} ({what})") from error


def _called_with(shared: bytes, payload: bytes) -> Any:
    return called(cloudpickle.loads(shared), payload)
