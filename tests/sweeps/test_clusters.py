"""Clusters may lose workers and their scheduler: nothing that was finished is lost, and the rest is done or named."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from unittest.mock import Mock

import pytest
from support.records import whoever_sampled

import steinkit as sk
from steinkit.errors import SteinkitError, UsageError
from steinkit.sweeps import processes
from steinkit.sweeps.processes import Lost
from steinkit.sweeps.run import sweep
from steinkit.sweeps.store import RECORDS

TARGET = sk.targets.Normal([0.0])
CLUSTER = """
import distributed
if __name__ == "__main__":
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster:
        print(cluster.scheduler_address, flush=True)
        input()
"""


def small(sampler, **changes):
    given = {"grid": {"scale": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}, "seeds": 2, "measures": ("ess",), "label": "same"}
    return sweep(TARGET, sampler, **given | changes)


def acting(folder, kill_at=None, wait_at=None):
    """A sampler that kills its process once at a scale, and waits at another while a file is there."""

    def sampler(target, *, seed, scale):
        import os
        import signal
        import time

        import numpy as np

        if scale == kill_at and not os.path.exists(f"{folder}/killed"):
            open(f"{folder}/killed", "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        while scale == wait_at and os.path.exists(f"{folder}/wait"):
            time.sleep(0.05)
        return scale * np.random.default_rng(seed).standard_normal(20)

    return sampler


class Answer:
    """A task of a cluster's whose answer, or what went wrong, comes in its own time."""

    def __init__(self, outcome, status="finished"):
        self.outcome, self.status = outcome, status

    async def _result(self):
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome


@pytest.mark.parametrize(
    ("outcome", "status", "said"),
    [
        (OSError("gone"), "finished", "the Dask scheduler no longer answers"),
        (OSError("gone"), "pending", "the Dask scheduler no longer answers"),
        (asyncio.CancelledError(), "cancelled", "the Dask scheduler no longer answers"),
        (ZeroDivisionError("one"), "error", r"the workers of backend dask failed; .*ZeroDivisionError: one"),
    ],
)
def test_an_answer_that_cannot_be_had_is_told_from_one_that_is_an_error(outcome, status, said):
    distributed = pytest.importorskip("distributed")
    workers = processes._Dask(Mock(), None)

    def answer(*task):
        future = Future()
        try:
            future.set_result(asyncio.run(workers._answered(Answer(*task))))
        except Exception as error:
            future.set_exception(error)
        return workers._answer(future, ())

    assert answer("found") == "found"
    killed = answer(distributed.KilledWorker("task", Mock(), 3), "error")
    assert killed == Lost((), "the process that worked at it was killed, or ended by itself")
    with pytest.raises(SteinkitError, match=said):
        answer(outcome, status)


@pytest.fixture
def cluster():
    """A Dask cluster with one worker, in a process group of its own."""
    pytest.importorskip("distributed")
    process = subprocess.Popen(
        [sys.executable, "-c", CLUSTER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        text=True,
    )
    try:
        process.address = process.stdout.readline().strip()
        yield process
    finally:
        kill_all(process)
        process.communicate()


def kill_all(process):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def finished(folder):
    path = folder / RECORDS
    return path.read_text().count("\n") if path.exists() else 0


@pytest.mark.slow
def test_a_dask_cluster_may_lose_a_worker_and_its_scheduler(cluster, tmp_path, monkeypatch):
    straight = small(acting(tmp_path))
    killed = small(acting(str(tmp_path), kill_at=2.0), backend="dask", scheduler=cluster.address)
    assert (tmp_path / "killed").exists()
    assert whoever_sampled(killed.records) == whoever_sampled(straight.records)

    monkeypatch.setattr(processes, "_PATIENCE", 2.0)
    (tmp_path / "wait").touch()
    out = tmp_path / "out"
    watcher = threading.Thread(target=lambda: (wait_until(lambda: finished(out) >= 8), kill_all(cluster)))
    watcher.start()
    began = time.monotonic()
    with pytest.raises(SteinkitError, match=r"the Dask scheduler no longer answers .* the same sweep goes on there"):
        small(acting(str(tmp_path), wait_at=6.0), directory=out, backend="dask", scheduler=cluster.address)
    assert time.monotonic() - began < 100.0
    watcher.join()
    (tmp_path / "wait").unlink()
    kept = [json.loads(line)["cell"] for line in (out / RECORDS).read_text().splitlines()]
    assert 8 <= len(kept) == len(set(kept)) < 12
    resumed = small(acting(str(tmp_path), wait_at=6.0), directory=out)
    assert resumed.reused == len(kept)
    assert whoever_sampled(resumed.records) == whoever_sampled(straight.records)


def wait_until(reached):
    until = time.monotonic() + 100.0
    while not reached() and time.monotonic() < until:
        time.sleep(0.05)


def test_a_scheduler_that_is_not_there_is_named():
    pytest.importorskip("distributed")
    import dask

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(UsageError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:1"),
    ):
        small(acting("."), backend="dask", scheduler="tcp://127.0.0.1:1")
