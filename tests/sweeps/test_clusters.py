"""Clusters may lose workers and their scheduler: nothing that was finished is lost, and the rest is done or named."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from support.records import timeless

import steinkit as sk
from steinkit.errors import SteinkitError, UsageError
from steinkit.sweeps.run import sweep
from steinkit.sweeps.store import Store

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


def acting(folder, kill_at=None, wait_at=None, always=False):
    """A sampler that kills its process at a scale, once or always, and waits at another while a file is there."""

    def sampler(target, *, seed, scale):
        import os
        import signal
        import time

        import numpy as np

        if scale == kill_at and (always or not os.path.exists(f"{folder}/killed")):
            open(f"{folder}/killed", "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        while scale == wait_at and os.path.exists(f"{folder}/wait"):
            open(f"{folder}/waiting", "w").close()
            time.sleep(0.05)
        return scale * np.random.default_rng(seed).standard_normal(20)

    return sampler


@pytest.fixture
def cluster():
    """A Dask cluster with one worker, in a process group of its own."""
    pytest.importorskip("distributed")
    process = subprocess.Popen(
        [sys.executable, "-c", CLUSTER],
        env=os.environ | {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"},  # the first death is told
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


def finished(file):
    with Store(file, writing=False) as store:
        return list(store.cells)


@pytest.mark.slow
def test_a_dask_cluster_may_lose_a_worker_and_its_scheduler(cluster, tmp_path):
    straight = small(acting(tmp_path))
    killed = small(acting(str(tmp_path), kill_at=2.0), backend="dask", scheduler=cluster.address)
    assert (tmp_path / "killed").exists()
    assert timeless(killed.records) == timeless(straight.records)

    (tmp_path / "wait").touch()
    out = tmp_path / "out.sqlite"
    watcher = threading.Thread(target=lambda: (wait_until((tmp_path / "waiting").exists), kill_all(cluster)))
    watcher.start()
    began = time.monotonic()
    with pytest.raises(SteinkitError, match=r"the workers failed .* the same sweep goes on with it"):
        small(acting(str(tmp_path), wait_at=6.0), file=out, backend="dask", scheduler=cluster.address)
    assert time.monotonic() - began < 100.0
    watcher.join()
    (tmp_path / "wait").unlink()
    kept = finished(out)
    assert 0 < len(kept) < 12
    resumed = small(acting(str(tmp_path), wait_at=6.0), file=out)
    assert resumed.reused == len(kept)
    assert timeless(resumed.records) == timeless(straight.records)


@pytest.mark.slow
def test_a_cell_that_costs_worker_after_worker_fails_alone(cluster, tmp_path):
    """Joblib's own back end for Dask would wait for it forever."""
    found = small(acting(str(tmp_path), kill_at=2.0, always=True), seeds=1, backend="dask", scheduler=cluster.address)
    assert {record.settings["scale"] for record in found.records if record.reason} == {2.0}
    assert all("twice" in entry.reason for entry in found.failures)


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
