"""Worker processes: one that is killed costs nothing, one that is late is ended, and none outlives its sweep."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from support.records import whoever_sampled

import steinkit as sk
from steinkit.errors import SteinkitError
from steinkit.sweeps import processes as processes_module
from steinkit.sweeps.plan import in_fixed_units
from steinkit.sweeps.processes import Lost, Processes, Workers
from steinkit.sweeps.run import make_plan, sweep
from steinkit.sweeps.store import Store

TARGET = sk.targets.Normal([0.0])


def small(sampler, **changes):
    given = {"grid": {"scale": [1.0, 2.0]}, "options": {}, "seeds": 3, "measures": ("ksd",), "n_jobs": 2}
    return sweep(TARGET, sampler, **given | changes)


def dying(deaths):
    """A sampler whose process is killed, as the kernel kills one that takes too much memory, at most so often a cell.

    It remembers in folders of the cells.
    """

    def sampler(target, *, seed, scale):
        import os
        import signal

        import numpy as np

        folder, most = deaths.get((scale, seed), (None, 0))
        if most and len(os.listdir(folder)) < most:
            open(f"{folder}/{time.monotonic_ns()}", "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return scale * np.random.default_rng(seed).standard_normal(20)

    return sampler


def test_a_worker_that_is_killed_is_started_again_and_only_a_cell_that_costs_two_fails(tmp_path):
    for name in ("once", "always", "out"):
        (tmp_path / name).mkdir()
    deaths = {(1.0, 0): (str(tmp_path / "once"), 1), (2.0, 1): (str(tmp_path / "always"), 99)}
    found = small(dying(deaths), directory=tmp_path / "out", units="raw")
    assert [len(os.listdir(tmp_path / name)) for name in ("once", "always")] == [1, 2]
    assert [(r["settings"]["scale"], r["seed"]) for r in found.records if r["status"] == "failed"] == [(2.0, 1)]
    reason = found.failures[0]["reason"]
    assert reason == "the chain was not run: the process that worked at it was killed, or ended by itself, twice"
    whole = [record for record in found.records if record["status"] == "ok"]
    straight = small(dying({}), n_jobs=None, units="raw").records
    assert whoever_sampled(whole) == whoever_sampled(straight[:4] + straight[5:])


def work(shared, kind, file=None):
    if kind == "die":
        os._exit(3)
    if kind == "die beside a child":
        if (child := os.fork()) == 0:
            time.sleep(200.0)
        with open(file, "w") as stream:
            stream.write(str(child))
        os._exit(3)
    if kind == "hold":  # as compiled code does that does not let go of the interpreter
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
        time.sleep(600.0)
    return (shared, kind, os.getpid())


@pytest.fixture
def by_value():
    import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


def test_work_that_takes_too_long_is_ended_with_its_process(by_value, monkeypatch):
    monkeypatch.setattr(processes_module, "_FIRST_GRACE", 0.5)
    with Processes(2, "shared") as workers:
        began = time.monotonic()
        found = dict(workers.answers(work, [(k, (k,)) for k in ("hold", "quick", "other")], seconds=1.0))
        assert time.monotonic() - began < 100.0
        assert found.pop("hold") == Lost(("hold",), "it took more than 2 s and was ended", late=True)
        assert {key: answer[:2] for key, answer in found.items()} == {k: ("shared", k) for k in ("quick", "other")}
        pids = {process.pid for process in workers._processes}
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_parts_are_tried_once_more_and_no_more(by_value):
    with Processes(1, None) as workers:
        found = list(workers.answers(work, [(1, ("die", "ab"))], parts=lambda whole: [("die", c) for c in whole[1]]))
    assert [(key, each.arguments) for key, each in found] == [(1, ("die", "a")), (1, ("die", "b"))]
    assert list(Workers(5).answers(work, [(1, ("quick",))])) == [(1, (5, "quick", os.getpid()))]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_process_that_dies_is_missed_though_a_child_of_it_lives(by_value, tmp_path):
    file = tmp_path / "child"
    began = time.monotonic()
    with Processes(1, None) as workers:
        found = dict(workers.answers(work, [(1, ("die beside a child", str(file))), (2, ("quick",))]))
    os.kill(int(file.read_text()), signal.SIGKILL)  # the control: it lived
    assert {key: isinstance(each, Lost) for key, each in found.items()} == {1: True, 2: False}
    assert time.monotonic() - began < 100.0


def test_processes_that_never_come_up_end_the_sweep(monkeypatch):
    monkeypatch.setattr(processes_module, "_begin", os._exit)
    monkeypatch.setattr(processes_module, "_FALSE_STARTS", 2)
    with Processes(1, None) as workers, pytest.raises(SteinkitError, match="end before they are up"):
        list(workers.answers(work, [(1, ("quick",))]))


class _Sour:
    def __reduce__(self):
        return int, ("sour",)


def test_what_a_worker_cannot_load_is_said(by_value):
    with (
        Processes(1, None) as workers,
        pytest.raises(SteinkitError, match=r"workers of backend loky failed.*literal for int"),
    ):
        list(workers.answers(work, [(1, (_Sour(),))]))


SLOW = """
import sys, time
import numpy as np
import steinkit as sk
def sampler(target, *, seed, scale):
    open(f"{sys.argv[1]}/{seed}", "w").close()
    time.sleep(600.0)
given = {"grid": {"scale": [1.0, 2.0]}, "seeds": 1, "measures": ("ksd",), "units": "raw"}
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
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_worker_outlives_its_sweep(number, tmp_path):
    mark = f"STEINKIT_TEST={tmp_path}"
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, str(tmp_path)],
        env=os.environ | {"STEINKIT_TEST": str(tmp_path)},
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: os.listdir(tmp_path), 120.0)
        assert len(processes_with(mark)) >= 3  # the control: they are seen while they are there
    finally:
        process.send_signal(number)
        process.wait()
    assert process.returncode != 0
    wait_until(lambda: not processes_with(mark), 5.0)


def wait_until(reached, seconds):
    until = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < until, "it did not come about in time"
        time.sleep(0.02)


def test_a_users_interrupt_in_a_worker_is_the_sweeps():
    def sampler(target, *, seed, scale):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        small(sampler)


class _Mortal(Workers):
    """Workers that die at some settings, so often."""

    def __init__(self, shared, deaths):
        super().__init__(shared)
        self.deaths = deaths

    def _once(self, work, tasks, seconds):
        for key, arguments in tasks:
            self.deaths[key] = self.deaths.get(key, 0) - 1
            dead = self.deaths[key] >= 0
            yield (key, Lost(arguments, "dead")) if dead else next(super()._once(work, [(key, arguments)], seconds))


def test_the_pilot_of_the_units_is_run_by_workers_that_may_die():
    target = sk.Target(score=lambda x: -x, log_density=lambda x: -0.5 * (x**2).sum(axis=1), dim=1)

    def sampler(target, *, seed, scale):
        return scale * np.random.default_rng(seed).standard_normal(20)

    plan = make_plan(
        target,
        sampler,
        grid={"scale": [0.9, 2.0]},
        seeds=1,
        measures=("ksd",),
    )

    def scale(deaths):
        planned, _ = in_fixed_units(plan, Store(None), _Mortal(target, deaths))
        return planned.measure_settings["units"]["scale"]

    assert scale({}) == scale({0: 1, 1: 1})
    assert scale({0: 2})["x1"] == pytest.approx(2.0 / 0.9 * scale({})["x1"], rel=1e-5)
    assert scale({0: 2, 1: 2}) == {}
