"""Where a sweep's work is done: in this process, in others of this machine, or on a Dask or Ray cluster.

Clusters send Python objects by pickling them, and unpickling runs whatever code the sender likes. A cluster must be
trusted, with its network: whoever can speak to its scheduler can run code on its workers and in the sweep's process.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from steinkit.errors import UsageError, did_you_mean
from steinkit.sweeps.workers import InProcess, Workers

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
            from steinkit.sweeps import clusters

            open_cluster = clusters.dask_workers if backend == "dask" else clusters.ray_workers
            yield stack.enter_context(open_cluster(n_jobs, scheduler, shared))
        elif n_jobs is None and not timed:
            yield InProcess(shared)
        else:
            import joblib

            from steinkit.sweeps.processes import Processes

            yield stack.enter_context(Processes(joblib.effective_n_jobs(n_jobs or 1), shared))
