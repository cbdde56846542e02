"""Where a sweep's work is done: in this process, in others of this machine, or on a Dask or Ray cluster.

Clusters send Python objects by pickling them, and unpickling runs whatever code the sender likes. A cluster must be
trusted, with its network: whoever can speak to its scheduler can run code on its workers and in the sweep's process.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from steinkit.errors import UsageError, did_you_mean
from steinkit.sweeps.workers import InProcess, Workers

Opening = Callable[[int | None, str | None, object], contextlib.AbstractContextManager[Workers]]


@dataclass(frozen=True)
class Backend:
    """A way to spread work.

    Attributes
    ----------
    name : str
    open : callable
        Takes the number of jobs, a scheduler's address and the argument that all work shares; a context manager that
        gives the workers.
    is_cluster : bool
        Whether it takes a scheduler's address.
    """

    name: str
    open: Opening
    is_cluster: bool = True


@contextlib.contextmanager
def open_workers(
    name: str, n_jobs: int | None, scheduler: str | None, shared: object, *, timed: bool = False
) -> Iterator[Workers]:
    """Workers of a backend, for as long as the block lasts.

    Parameters
    ----------
    name : str
        One of `backend_names`. loky: processes of this machine. dask, ray: a cluster, which must be trusted.
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
    if name not in _BACKENDS:
        known = backend_names()
        raise UsageError(f"no backend {name!r}{did_you_mean(name, known)}; the backends are {', '.join(known)}")
    if n_jobs == 0:
        raise UsageError("n_jobs (--jobs) must be a positive number, or -1 for all processors; received 0")
    backend = _BACKENDS[name]
    if scheduler is not None and not backend.is_cluster:
        clusters = " and ".join(each.name for each in _BACKENDS.values() if each.is_cluster)
        raise UsageError(f"a scheduler ({scheduler}) is for backends {clusters}; name one of them")
    jobs = 1 if timed and n_jobs is None and not backend.is_cluster else n_jobs
    with backend.open(jobs, scheduler, shared) as workers:
        yield workers


def backend_names() -> tuple[str, ...]:
    """Names of the backends; the first needs nothing."""
    return tuple(_BACKENDS)


@contextlib.contextmanager
def _processes(n_jobs: int | None, scheduler: str | None, shared: object) -> Iterator[Workers]:
    """Processes that loky starts, or this one."""
    if n_jobs is None:
        yield InProcess(shared)
        return
    import joblib

    from steinkit.sweeps.processes import Processes

    with Processes(int(joblib.effective_n_jobs(n_jobs)), shared) as processes:
        yield processes


def _dask(*how: Any) -> contextlib.AbstractContextManager[Workers]:
    from steinkit.sweeps.clusters import dask_workers

    return dask_workers(*how)


def _ray(*how: Any) -> contextlib.AbstractContextManager[Workers]:
    from steinkit.sweeps.clusters import ray_workers

    return ray_workers(*how)


_BACKENDS = {
    backend.name: backend
    for backend in (
        Backend("loky", _processes, is_cluster=False),
        Backend("dask", _dask),
        Backend("ray", _ray),
    )
}
