"""Worker processes: one that is killed costs nothing, one that is late is ended, and none outlives its sweep."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from support.records import timeless

import steinkit as sk
from steinkit.errors import SteinkitError
from steinkit.sweeps.plan import make_plan
from steinkit.sweeps.run import sweep
from steinkit.sweeps.store import Store
from steinkit.sweeps.units import in_fixed_units
from steinkit.sweeps.workers import Lost, Workers, open_workers

TARGET = sk.targets.Normal([0.0])


def small(sampler, **changes):
    given = {"grid": {"scale": [1.0, 2.0]}, "options": {}, "seeds": 3, "measures": ("ess",), "n_jobs": 2}
    return sweep(TARGET, sampler, **given | changes)


def dying(deaths, how="kill"):
    """A sampler whose process dies, as when the kernel kills one for its memory, at most so often a cell.

    It remembers in folders of the cells.
    """

    def sampler(target, *, seed, scale):
        import os
        import signal

        import numpy as np

        folder, most = deaths.get((scale, seed), (None, 0))
        if most and len(os.listdir(folder)) < most:
            open(f"{folder}/{time.monotonic_ns()}", "w").close()
            os._exit(0) if how == "exit" else os.kill(os.getpid(), signal.SIGKILL)
        return scale * np.random.default_rng(seed).standard_normal(20)

    return sampler


@pytest.mark.parametrize("how", ["kill", "exit"])
def test_a_worker_that_dies_is_started_again_and_only_a_cell_that_costs_two_fails(tmp_path, how):
    for name in ("once", "always"):
        (tmp_path / name).mkdir()
    deaths = {(1.0, 0): (str(tmp_path / "once"), 1), (2.0, 1): (str(tmp_path / "always"), 99)}
    found = small(dying(deaths, how), file=tmp_path / "out", label="same")
    assert len(os.listdir(tmp_path / "once")) == 1
    assert [(r.settings["scale"], r.seed) for r in found.records if r.reason] == [(2.0, 1)]
    assert found.failures[0].reason == ("not run: the process that worked at it was killed, or ended by itself, twice")
    whole = [record for record in found.records if not record.reason]
    straight = small(dying({}), n_jobs=None, label="same").records
    assert timeless(whole) == timeless(straight[:4] + straight[5:])
    assert sk.read_sweep(tmp_path / "out").records == found.records


def work(shared, kind):
    if kind == "die":
        os._exit(3)
    if kind == "interrupt":
        raise KeyboardInterrupt
    return [(shared, kind, os.getpid())]


@pytest.fixture
def by_value():
    import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


@pytest.fixture
def processes():
    """Two worker processes."""
    with open_workers("loky", 2) as workers:
        yield workers


def test_parts_are_tried_once_more_and_no_more(by_value, processes):
    found = list(processes.answers("shared", work, {1: ("die",)}, parts=lambda whole: [("die",), ("quick",)]))
    assert [(key, type(each)) for key, each in found] == [(1, Lost), (1, tuple)]
    assert list(Workers().answers(5, work, {1: ("quick",)})) == [(1, (5, "quick", os.getpid()))]


class _Sour:
    def __reduce__(self):
        return int, ("sour",)


def test_what_a_worker_cannot_load_is_said(by_value, processes):
    with pytest.raises(SteinkitError, match=r"the workers failed .*literal for int.*finished cells are kept"):
        list(processes.answers("shared", work, {1: (_Sour(),)}))


def test_a_users_interrupt_in_a_worker_is_the_sweeps(by_value, processes):
    with pytest.raises(KeyboardInterrupt):
        list(processes.answers("shared", work, {1: ("interrupt",)}))


SLOW = """
import sys, time
import numpy as np
import steinkit as sk
def sampler(target, *, seed, scale):
    open(f"{sys.argv[1]}/{scale}", "w").close()
    time.sleep(600.0)
given = {"grid": {"scale": [1.0, 2.0]}, "seeds": 1, "measures": ("ess",)}
sk.sweep(sk.targets.Normal([0.0]), sampler, **given, n_jobs=2)
"""


def processes_with(mark):
    """Numbers of the processes whose environment bears a mark."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as stream:
                if mark.encode() in stream.read():
                    found.append(int(name))
        except OSError:
            continue
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_worker_outlives_its_sweep_and_an_interrupt_takes_two_seconds(number, tmp_path):
    mark = f"STEINKIT_TEST={tmp_path}"
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, str(tmp_path)],
        env=os.environ | {"STEINKIT_TEST": str(tmp_path)},
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        wait_until(lambda: len(os.listdir(tmp_path)) == 2, 120.0)
        assert len(processes_with(mark)) >= 3  # the control: they are seen while they are there
    finally:
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # as control-C does
        else:
            process.send_signal(number)
    began = time.monotonic()
    process.wait()
    assert time.monotonic() - began < 2.0
    assert process.returncode != 0
    wait_until(lambda: not processes_with(mark), 5.0)


def wait_until(reached, seconds):
    until = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < until, "it did not come about in time"
        time.sleep(0.02)


def mortal(lost):
    """Workers that lose the chains of some settings."""

    class Mortal(Workers):
        def answers(self, shared, work, tasks):
            for key, answer in super().answers(shared, work, tasks):
                yield key, Lost(tasks[key], "dead") if key in lost else answer

    return Mortal()


def test_the_pilot_of_the_units_is_run_by_workers_that_may_die():
    target = sk.Target(score=lambda x: -x, log_density=lambda x: -0.5 * (x**2).sum(axis=1), dim=1)

    def sampler(target, *, seed, scale):
        return scale * np.random.default_rng(seed).standard_normal(20)

    plan = make_plan(target, sampler, grid={"scale": [0.9, 2.0]}, seeds=1, measures=("ksd",))

    def scale(*lost):
        planned, _ = in_fixed_units(plan, Store(None), mortal(lost))
        return planned.measure_settings["units"]["scale"]

    assert scale(0)["x1"] == pytest.approx(2.0 / 0.9 * scale()["x1"], rel=1e-5)
    assert scale(0, 1) == {}
