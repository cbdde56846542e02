"""Where a sweep's work is done: in this process, in others, or on a Dask or Ray cluster, by joblib's backends."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from steinkit.errors import MissingDependencyError, SteinkitError, UsageError, did_you_mean

Opening = Callable[[int | None, str | None, object], contextlib.AbstractContextManager[int]]


@dataclass(frozen=True)
class Backend:
    """A way to spread work.

    Attributes
    ----------
    name : str
    open : callable
        Takes the number of jobs, a scheduler's address and the argument that all tasks share; a context manager that
        sets joblib up and gives the number of jobs that joblib is to be told.
    is_cluster : bool
        Whether it takes a scheduler's address.
    streams : bool
        Whether results come back one by one, not only after the last.
    """

    name: str
    open: Opening
    is_cluster: bool = True
    streams: bool = True


@dataclass(frozen=True)
class Workers:
    """Workers at hand, inside `open_workers`."""

    backend: Backend
    n_jobs: int

    @property
    def count(self) -> int:
        """How many work side by side."""
        import joblib

        return int(joblib.effective_n_jobs(self.n_jobs))

    def as_completed(
        self, work: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]
    ) -> Generator[Any, None, None]:
        """Results of ``work`` for each tuple of arguments, in any order, as they are ready.

        Raises
        ------
        UsageError
            If the work cannot be sent to another process.
        SteinkitError
            If the workers themselves failed; ``work`` is to catch what fails in it.
        """
        import joblib

        tasks = [joblib.delayed(work)(*each) for each in arguments]
        width = max(len(tasks), 1) if self.backend.streams else 4 * self.count
        returned = {"return_as": "generator_unordered"} if self.backend.streams else {}
        pool = joblib.Parallel(n_jobs=self.n_jobs, batch_size=1, **returned)
        for begin in range(0, len(tasks), width):
            try:
                yield from pool(tasks[begin : begin + width])
            except (SteinkitError, GeneratorExit):
                raise
            except pickle.PicklingError as error:
                raise UsageError(
                    "the sampler, the target or a setting cannot be sent to another process, be it for a lock, a file "
                    f"or a generator that it holds; use one job, or make them of functions and arrays ({error})"
                ) from error
            except Exception as error:
                what = " ".join(f"{type(error).__name__}: {error}".split())
                raise SteinkitError(
                    f"the workers of backend {self.backend.name} failed; if one was killed for want of memory, take "
                    f"fewer jobs; cells finished before are kept in the sweep's folder, if it has one ({what})"
                ) from error


@contextlib.contextmanager
def open_workers(name: str, n_jobs: int | None, scheduler: str | None, shared: object) -> Iterator[Workers]:
    """Workers of a backend, for as long as the block lasts.

    Parameters
    ----------
    name : str
        One of `backend_names`. loky: processes of this machine. dask, ray: a cluster.
    n_jobs : int, optional
        Number of workers; by default 1 with loky, all of the cluster's with the others.
    scheduler : str, optional
        Address of the cluster; without one the cluster in use, or else one on this machine, of ``n_jobs`` processes.
    shared : object
        Argument of every task, which a cluster is sent once.

    Raises
    ------
    UsageError
        If there is no such backend, n_jobs is 0, or a backend that is no cluster is given a scheduler.
    MissingDependencyError
        If the backend's package is not installed.
    """
    if name not in _BACKENDS:
        known = backend_names()
        raise UsageError(f"no backend {name!r}{did_you_mean(name, known)}; the backends are {', '.join(known)}")
    if n_jobs == 0:
        raise UsageError("n_jobs (--jobs) must be a positive number, or -1 for all processors; received 0")
    backend = _BACKENDS[name]
    if scheduler is not None and not backend.is_cluster:
        clusters = " and ".join(each.name for each in _BACKENDS.values() if each.is_cluster)
        raise UsageError(f"a scheduler ({scheduler}) is for backends {clusters}; name one of them")
    with backend.open(n_jobs, scheduler, shared) as jobs:
        yield Workers(backend, jobs)


def backend_names() -> tuple[str, ...]:
    """Names of the backends; the first needs nothing."""
    return tuple(_BACKENDS)


@contextlib.contextmanager
def _loky(n_jobs: int | None, scheduler: str | None, shared: object) -> Iterator[int]:
    import joblib

    jobs = n_jobs or 1
    with joblib.parallel_config(backend="loky", n_jobs=jobs, inner_max_num_threads=1):
        yield jobs


@contextlib.contextmanager
def _dask(n_jobs: int | None, scheduler: str | None, shared: object) -> Iterator[int]:
    import joblib

    try:
        import distributed
    except ImportError:
        raise MissingDependencyError("Dask is not installed; pip install 'steinkit[dask]'") from None

    with contextlib.ExitStack() as stack:
        if scheduler is None:
            try:
                client = distributed.get_client()
            except ValueError:
                processes = joblib.effective_n_jobs(n_jobs or -1)
                client = distributed.Client(n_workers=processes, threads_per_worker=1, dashboard_address=None)
                stack.enter_context(client)
        else:
            try:
                client = stack.enter_context(distributed.Client(scheduler, set_as_default=False))
            except (OSError, ValueError) as error:
                raise UsageError(f"no Dask scheduler answers at {scheduler}: {error}") from None
        stack.enter_context(joblib.parallel_config(backend="dask", client=client, scatter=[shared], n_jobs=-1))
        yield -1


@contextlib.contextmanager
def _ray(n_jobs: int | None, scheduler: str | None, shared: object) -> Iterator[int]:
    import joblib

    try:
        import ray
        from ray.util.joblib import register_ray
    except ImportError:
        raise MissingDependencyError("Ray is not installed; pip install 'steinkit[ray]'") from None

    started = not ray.is_initialized()
    if started:
        processes = None if scheduler else joblib.effective_n_jobs(n_jobs or -1)
        ray.init(address=scheduler, num_cpus=processes, include_dashboard=None if scheduler else False)
    try:
        register_ray()
        jobs = n_jobs or -1
        with joblib.parallel_config(backend="ray", n_jobs=jobs):
            yield jobs
    finally:
        if started:
            ray.shutdown()


_BACKENDS = {
    backend.name: backend
    for backend in (
        Backend("loky", _loky, is_cluster=False),
        Backend("dask", _dask),
        Backend("ray", _ray, streams=False),
    )
}
