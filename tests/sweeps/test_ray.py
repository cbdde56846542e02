"""A Ray cluster gives the same result, also where it loses a worker. In a file of its own: Ray is not always installed.

python3 -m venv ray && ray/bin/pip install '.[ray]' pytest && ray/bin/python -m pytest tests/sweeps/test_ray.py
"""

import numpy as np
import pytest
from support.records import timeless

import steinkit as sk
from steinkit.sweeps.run import sweep

ray = pytest.importorskip("ray")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of Ray's own, which are many


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def small(sampler, **changes):
    given = {"grid": {"scale": [1.0, 2.0]}, "seeds": 2, "measures": ("ksd",), "label": "same"}
    return sweep(sk.targets.Normal([0.0]), sampler, **given | changes)


def dying(folder, scale_of_death, deaths):
    """A sampler whose process is killed at a scale, so often."""

    def sampler(target, *, seed, scale):
        import os
        import signal
        import time

        if scale == scale_of_death and len(os.listdir(folder)) < deaths:
            open(f"{folder}/{time.monotonic_ns()}", "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return scale * np.random.default_rng(seed).standard_normal(20)

    return sampler


def test_the_result_is_the_same_where_a_worker_is_lost(tmp_path):
    straight = small(dying(None, None, 0))
    folder = tmp_path / "deaths"
    folder.mkdir()
    found = small(dying(str(folder), 2.0, 1), backend="ray", file=tmp_path / "out")
    assert len(list(folder.iterdir())) == 1
    assert timeless(found.records) == timeless(straight.records)
    assert small(dying(str(folder), 2.0, 1), file=tmp_path / "out").reused == 4


def test_cells_that_cost_two_workers_fail_and_the_sweep_goes_on(tmp_path):
    found = small(dying(str(tmp_path), 2.0, 99), backend="ray")
    assert [bool(record.reason) for record in found.records] == [False, False, True, True]
    assert all("twice" in entry.reason for entry in found.failures)
