"""Clusters that work for a sweep: Dask's and Ray's.

Both send Python objects by pickling them, and unpickling runs whatever code the sender likes: the workers run what the
sweep sends, and the sweep what they send back. Use clusters whose every member is trusted.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, wait
from typing import Any

import cloudpickle
import joblib

from steinkit.errors import SteinkitError, UsageError, imported
from steinkit.sweeps.workers import Arguments, Lost, Work, Workers, called, pickled

_LOOK = 1.0  # seconds between looks at a cluster that is silent
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
