"""Whoever does the work of a sweep: this process, loky's processes on this machine, or a Dask or Ray cluster.

Joblib hands the work out and gives answers back as they are ready. Joblib's own back end for Dask waits forever for
work that cost its worker, and Ray's gives no answer before all are there; so clusters have a back end here, which
needs of a cluster that it answers in futures.

A process that dies takes joblib's other work with it. Whatever had begun and was not answered is then done once more,
alone: work that then costs two processes is `Lost`, and the rest goes on. A time limit is a timer in the worker
process that ends it (`faulthandler`), whatever compiled code it is in.

Clusters send Python objects by pickling them, and unpickling runs whatever code the sender likes. A cluster must be
trusted, with its network: whoever can speak to its scheduler can run code on its workers and in the sweep's process.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import functools
import os
import pickle
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import active_children
from numbers import Integral
from typing import Any

import cloudpickle
import joblib
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.process_executor import TerminatedWorkerError
from joblib.parallel import ParallelBackendBase

from steinkit.errors import SteinkitError, UsageError, imported, require_known
from steinkit.sweeps import BACKENDS

_KEPT = "finished cells are kept in the sweep's file, if it has one, and the same sweep goes on with it"
_CLUSTERS = BACKENDS[1:]
_TRIES = 2  # of work alone, whose process may have died for something else
_GRACE = 120.0  # seconds beyond a limit: with its first work of a kind a process compiles

Work = Callable[..., Any]
Arguments = tuple[Any, ...]


@dataclass(frozen=True)
class Lost:
    """Work that cost two processes.

    Attributes
    ----------
    arguments : tuple
        Those of the work.
    reason : str
    """

    arguments: Arguments
    reason: str


@dataclass(frozen=True, eq=False)
class Workers:
    """Workers that call functions with one argument that all work shares, and with some of its own.

    Attributes
    ----------
    shared : object
        As bytes for other processes than this one.
    backend : dict, optional
        Options of `joblib.parallel_config`. Without them work is done in this process.
    count : int
        How many work side by side.
    deaths : tuple of exception types
        Raised by joblib where a worker has died.
    ends_processes : bool
        Whether workers are processes that a time limit may end.
    """

    shared: Any
    backend: Mapping[str, Any] | None = None
    count: int = 1
    deaths: tuple[type[Exception], ...] = ()
    ends_processes: bool = False

    def answers(
        self,
        work: Work,
        tasks: Mapping[Any, Arguments],
        *,
        seconds: float | None = None,
        parts: Callable[[Arguments], Sequence[Arguments]] = lambda whole: [whole],
    ) -> Iterator[tuple[Any, Any]]:
        """Yield the keys of tasks with answers of ``work(shared, *arguments)``, in any order, as they are ready.

        Parameters
        ----------
        work : callable
            A function of a module, which catches what fails in it.
        tasks : mapping of key to arguments
        seconds : float, optional
            After which the process that works at one of them is ended, where it can be; a little more is granted.
        parts : callable
            Arguments of the parts in which work is done once more that had begun when a process died.

        Raises
        ------
        UsageError
            If the work cannot be sent to another process.
        SteinkitError
            If the workers themselves failed.
        """
        waiting = dict(tasks)
        while waiting:
            begun: list[Any] = []
            try:
                for key, answer in self._answered(work, waiting, seconds, begun):
                    del waiting[key]
                    yield key, answer
            except self.deaths:
                for key in [each for each in begun if each in waiting]:
                    for part in parts(waiting.pop(key)):
                        yield key, self._alone(work, part, seconds)

    def _alone(self, work: Work, arguments: Arguments, seconds: float | None) -> Any:
        for _ in range(_TRIES if self.ends_processes else 1):  # clusters try by themselves
            with contextlib.suppress(*self.deaths):
                ((_, answer),) = self._answered(work, {None: arguments}, seconds, [])
                return answer
        limit = f", or took more than {seconds + _GRACE:.0f} s" if seconds and self.ends_processes else ""
        return Lost(arguments, f"the process that worked at it was killed, or ended by itself{limit}, twice")

    def _answered(
        self, work: Work, tasks: Mapping[Any, Arguments], seconds: float | None, begun: list[Any]
    ) -> Iterator[tuple[Any, Any]]:
        """Answers until a process dies; notes the tasks that joblib took."""
        if self.backend is None:
            yield from ((key, work(self.shared, *arguments)) for key, arguments in list(tasks.items()))
            return
        limit = seconds + _GRACE if seconds is not None and self.ends_processes else None
        packed = {key: pickled((key, work, arguments)) for key, arguments in tasks.items()}

        def calls() -> Iterator[Any]:
            for key, payload in packed.items():
                begun.append(key)
                yield joblib.delayed(_done)(self.shared, payload, limit)

        with joblib.parallel_config(**self.backend):
            parallel = joblib.Parallel(
                n_jobs=max(2, self.count),  # for one joblib would work in this process
                return_as="generator_unordered",
                pre_dispatch=self.count,
                batch_size=1,
                max_nbytes=None,
            )
        found = parallel(calls())
        try:
            yield from found
        except (Exception, asyncio.CancelledError) as error:  # of sending and receiving: work catches its own
            if isinstance(error, (SteinkitError, *self.deaths)):
                raise
            said = " ".join(f"{type(error).__name__}: {error}".split())
            raise SteinkitError(f"the workers failed ({said}); {_KEPT}") from error
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # joblib's, of work that is given up
                found.close()


def pickled(value: object) -> bytes:
    """Return a value as bytes, functions of scripts and notebooks included.

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


_shared = functools.lru_cache(maxsize=1)(pickle.loads)  # each worker keeps what its functions have cached


def _done(shared: bytes, payload: bytes, limit: float | None) -> tuple[Any, Any]:
    """Return a task's key and its answer; end this process if that takes longer than a limit."""
    key, work, arguments = pickle.loads(payload)
    with contextlib.ExitStack() as timer:
        if limit is not None:
            nowhere = timer.enter_context(open(os.devnull, "w"))
            timer.callback(faulthandler.cancel_dump_traceback_later)
            faulthandler.dump_traceback_later(limit, exit=True, file=nowhere)
        return key, work(_shared(shared), *arguments)


@contextlib.contextmanager
def open_workers(
    backend: str, n_jobs: int | None, scheduler: str | None, shared: object, *, timed: bool = False
) -> Iterator[Workers]:
    """Give workers of a back end, for as long as the block lasts.

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
        First argument of all work.
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
    if not isinstance(n_jobs, Integral | None) or n_jobs == 0:
        raise UsageError(f"n_jobs (--jobs) must be a positive number, or -1 for all processors; received {n_jobs!r}")
    if scheduler is not None and backend not in _CLUSTERS:
        raise UsageError(f"a scheduler ({scheduler}) is for backends {' and '.join(_CLUSTERS)}; name one of them")
    if backend in _CLUSTERS:
        with (_dask if backend == "dask" else _ray)(n_jobs, scheduler) as (cluster, death):
            yield Workers(pickled(shared), {"backend": cluster}, cluster.workers(), death)
    elif n_jobs is None and not timed:
        yield Workers(shared)
    else:
        options = {"backend": "loky", "initializer": _begin, "initargs": (os.getpid(),), "inner_max_num_threads": 1}
        count = joblib.effective_n_jobs(n_jobs or 1)
        try:
            yield Workers(pickled(shared), options, count, (TerminatedWorkerError,), ends_processes=True)
        finally:
            get_reusable_executor().shutdown(wait=True)


def _begin(parent: int) -> None:
    """Prepare a worker process: it leaves control-C to its parent, and ends when that does, as do its children.

    A child would hold the pipe by whose end loky knows that the worker has died.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # control-C reaches every process of a terminal
    _end_with(parent)
    own = [os.getpid()]  # os.getppid() of a child may be another process already, if the worker died at once

    def follow() -> None:
        worker, own[0] = own[0], os.getpid()
        _end_with(worker)

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=follow)


def _end_with(parent: int) -> None:
    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class _Cluster(ParallelBackendBase):  # type: ignore[misc]  # joblib has no types
    """Joblib's back end for a cluster that answers in futures.

    Parameters
    ----------
    submit : callable
        Begins a call, and returns its future.
    cancel : callable
        Gives up the call of a future.
    count : callable
        How many the cluster works at side by side, which may grow.
    """

    supports_retrieve_callback = True

    def __init__(self, submit: Callable[[Any], Any], cancel: Callable[[Any], Any], count: Callable[[], int]) -> None:
        super().__init__()
        self.workers: Callable[[], int] = lambda: max(1, count())
        self._submit, self._cancel = submit, cancel
        self._futures: list[Any] = []

    def effective_n_jobs(self, n_jobs: int) -> int:
        """Return joblib's number of workers: not one, for which it would work in this process."""
        return max(2, self.workers())

    def submit(self, func: Callable[[], Any], callback: Callable[[Any], Any]) -> Any:
        """Begin a call."""
        future = self._submit(func)
        self._futures = [each for each in self._futures if not each.done()] + [future]
        future.add_done_callback(callback)
        return future

    def retrieve_result_callback(self, out: Any) -> Any:
        """Return the value of a call, or raise its exception."""
        return out.result()

    def abort_everything(self, ensure_ready: bool = True) -> None:
        """Give up the calls that are not answered yet."""
        for each in self._futures:
            with contextlib.suppress(Exception):  # of a cluster that is gone
                self._cancel(each)
        self._futures.clear()


Deaths = tuple[type[Exception], ...]


@contextlib.contextmanager
def _dask(n_jobs: int | None, scheduler: str | None) -> Iterator[tuple[_Cluster, Deaths]]:
    """A Dask cluster: at an address, or of the client in use, or one started on this machine."""
    dask, distributed = (imported(name, "Dask", "dask") for name in ("dask", "distributed"))
    with contextlib.ExitStack() as stack:
        stack.enter_context(dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}))
        client = None
        if scheduler is None:
            with contextlib.suppress(ValueError):
                client = distributed.get_client()
        if client is None:
            others, count = set(active_children()), joblib.effective_n_jobs(n_jobs or -1)
            here = {"n_workers": count, "threads_per_worker": 1, "dashboard_address": None}
            try:
                client = distributed.Client(scheduler, set_as_default=False, **({} if scheduler else here))
            except (OSError, ValueError) as error:
                raise UsageError(f"no Dask scheduler answers at {scheduler}: {error}") from None
            stack.callback(_close, client, others)
        submit = functools.partial(client.submit, pure=False)
        cluster = _Cluster(submit, lambda future: future.cancel(), lambda: sum(client.nthreads().values()))
        yield cluster, (distributed.KilledWorker,)


def _close(client: Any, others: set[Any]) -> None:
    """Close a client, and a cluster of its own at once: Dask would wait for busy workers. Other children stay."""
    with contextlib.suppress(Exception):  # of a scheduler that is gone
        client.close(timeout=1.0)
    if client.cluster is not None and client.cluster.status.name != "closed":
        client.cluster.shutdown_on_close = False
        for worker in set(active_children()) - others:
            worker.kill()


@contextlib.contextmanager
def _ray(n_jobs: int | None, scheduler: str | None) -> Iterator[tuple[_Cluster, Deaths]]:
    """A Ray cluster: at an address, or the one in use, or one started on this machine."""
    ray = imported("ray", "Ray", "ray")
    from ray import exceptions

    with contextlib.ExitStack() as stack:
        if not ray.is_initialized():
            processes = None if scheduler else joblib.effective_n_jobs(n_jobs or -1)
            try:
                ray.init(address=scheduler, num_cpus=processes, include_dashboard=None if scheduler else False)
            except ConnectionError as error:
                raise UsageError(f"no Ray cluster answers at {scheduler}: {error}") from None
            stack.callback(ray.shutdown)
        call = ray.remote(max_retries=0)(lambda function: function())
        cluster = _Cluster(
            lambda function: call.remote(function).future(),
            lambda future: ray.cancel(future.object_ref, force=True),
            lambda: int(ray.cluster_resources().get("CPU", 1)),
        )
        yield cluster, (exceptions.WorkerCrashedError, exceptions.NodeDiedError, exceptions.OutOfMemoryError)
