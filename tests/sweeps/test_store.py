"""The folder of a sweep: what was finished is never lost, never run twice, and never taken for something else."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pytest
from support.records import timeless

import steinkit as sk
from steinkit.errors import InputError, OutputError, UsageError
from steinkit.files import read_sample
from steinkit.samplers import rwmh
from steinkit.sweeps.configuration import read_configuration
from steinkit.sweeps.result import read_sweep
from steinkit.sweeps.run import Workplace, run_plan, sweep
from steinkit.sweeps.store import RECORDS, Store, draws_file

DATA = np.linspace(-1.0, 1.0, 12)


def small(directory, target=None, sampler="rwmh", **changes):
    given = {"grid": {"proposal_scale": [0.2, 1.0]}, "options": {"draws": 30}, "seeds": 3, "measures": ("graph",)}
    return sweep(target or sk.targets.GaussianMean(DATA), sampler, directory=directory, **given | changes)


def lines(directory):
    return (directory / RECORDS).read_text().splitlines()


def test_a_second_run_computes_nothing(tmp_path):
    first = small(tmp_path)
    before = lines(tmp_path)
    second = small(tmp_path)
    assert (first.reused, second.reused) == (0, 6)
    assert lines(tmp_path) == before
    assert second.records == first.records
    more = small(tmp_path, seeds=4)
    assert more.reused == 6
    assert len(lines(tmp_path)) == 8


def test_failures_are_kept_and_tried_once_more_when_the_sweep_goes_on(tmp_path):
    first, second, third = (small(tmp_path, grid={"proposal_scale": [1.0, -1.0]}) for _ in range(3))
    assert [each.failed for each in (first, second, third)] == [3, 3, 3]
    assert [each.reused for each in (first, second, third)] == [0, 3, 6]
    assert first.failures == second.failures == third.failures
    named = "; ".join(f"proposal_scale -1.0 seed {seed}" for seed in range(3))
    assert f"3 cells that had failed before were run once more, 3 failed again: {named}" in second.warnings
    assert not any("once more" in note for each in (first, third) for note in each.warnings)


def test_a_cell_that_failed_for_a_passing_reason_is_whole_when_the_sweep_goes_on(tmp_path, monkeypatch):
    def sampler(target, *, seed, scale):
        if "FULL_DISK" in os.environ and seed == 1:
            raise OSError("no space left")
        return scale * np.random.default_rng(seed).standard_normal(20)

    given = {"sampler": sampler, "grid": {"scale": [1.0]}, "options": {}, "seeds": 3}
    monkeypatch.setenv("FULL_DISK", "1")
    assert small(tmp_path, **given).failed == 1
    monkeypatch.delenv("FULL_DISK")
    again = small(tmp_path, **given)
    assert (again.failed, again.reused) == (0, 2)
    assert "1 cell that had failed before was run once more, 0 failed again: scale 1.0 seed 1" in again.warnings
    assert [record["attempts"] for record in again.records] == [1, 2, 1]
    assert small(tmp_path, **given).reused == 3


def test_a_cell_that_failed_in_an_early_round_of_a_race_is_not_tried_again_in_a_later_one(tmp_path):
    def sampler(target, *, seed, unused):
        if seed == 1:
            raise OSError("no space left")
        return np.random.default_rng(seed).standard_normal(20)

    given = {"sampler": sampler, "grid": {"unused": [0, 1]}, "options": {}, "seeds": 10}
    raced = small(tmp_path, racing=True, tolerance=1e-2, **given)
    assert [record["attempts"] for record in raced.records] == [1] * 20
    assert len(lines(tmp_path)) == 20
    assert raced.failed == 2


def test_the_first_seeds_draws_are_kept(tmp_path):
    target = sk.targets.GaussianMean(DATA)
    result = small(tmp_path, target)
    for record in result.records:
        file = draws_file(tmp_path, record["cell"])
        assert file.exists() == (record["seed"] == 0)
        if file.exists():
            wanted = rwmh(target, **record["settings"], draws=30, seed=[0]).to_sample()
            kept = read_sample(file)
            np.testing.assert_array_equal(kept.points, wanted.points)
            np.testing.assert_array_equal(kept.cost, wanted.cost)
            assert kept.names == wanted.names


def test_the_result_can_be_read_again(tmp_path):
    result = small(tmp_path, measures=("graph", "ksd"), racing=True)
    again = read_sweep(tmp_path)
    assert again.records == result.records
    assert again.to_dict() == result.to_dict()
    assert again.summary() == result.summary()
    with pytest.raises(InputError, match="no finished sweep"):
        read_sweep(tmp_path / "samples")


def test_a_half_written_line_is_dropped_and_said(tmp_path):
    whole = small(tmp_path)
    content = (tmp_path / RECORDS).read_bytes()
    for cut in (1, 40, len(lines(tmp_path)[-1])):
        (tmp_path / RECORDS).write_bytes(content[:-cut])
        result = small(tmp_path)
        assert result.reused == 5
        assert any(f"line 6 of {tmp_path / RECORDS}: damaged, or cut off" in note for note in result.warnings)
        assert timeless(result.records) == timeless(whole.records)
        assert max(Counter(json.loads(line)["cell"] for line in lines(tmp_path)).values()) == 1


def test_what_the_outcome_depends_on_makes_other_cells(tmp_path):
    small(tmp_path)
    for changes in (
        {"options": {"draws": 31}},
        {"measures": ("graph", "ksd")},
        {"tolerance": 2e-2},
        {"stein_factors": (1, 2, 1)},
        {"label": "other"},
        {"sampler": "mala", "grid": {"step_size": [0.1, 0.2]}},
        {"target": sk.targets.GaussianMean(DATA, variance=2.0)},
        {"target": sk.Target(score=lambda x: -x, log_density=lambda x: -0.5 * (x**2).sum(axis=1), dim=1)},
    ):
        assert small(tmp_path, **changes).reused == 0
    assert small(tmp_path).reused == 6


def test_operators_are_told_apart_by_what_they_do(tmp_path):
    def scaled(by):
        return sk.RiemannianLangevin(
            covariance=lambda x: np.full((len(x), 1, 1), by), divergence=lambda x: np.zeros_like(x)
        )

    assert [small(tmp_path, operator=scaled(by)).reused for by in (1.0, 2.0, 1.0)] == [0, 0, 6]


def test_jobs_and_racing_make_the_same_cells(tmp_path):
    small(tmp_path, seeds=6)
    assert small(tmp_path, seeds=6, n_jobs=2).reused == 12
    raced = small(tmp_path, seeds=6, racing=True)
    assert raced.reused == raced.racing["cells_run"]
    assert len(lines(tmp_path)) == 12


def test_other_data_and_other_versions_are_named_and_not_reused(tmp_path, monkeypatch):
    small(tmp_path)
    moved = DATA.copy()
    moved[3] = np.nextafter(moved[3], 1.0)
    result = small(tmp_path, sk.targets.GaussianMean(moved))
    assert result.reused == 0
    assert any("6 records" in note and "other data" in note for note in result.warnings)
    monkeypatch.setattr("steinkit.sweeps.plan.__version__", "9.9")
    result = small(tmp_path)
    assert result.reused == 0
    assert any(f"by version {sk.__version__}" in note for note in result.warnings)


def test_a_users_function_is_known_by_its_source(tmp_path):
    def one(target, *, seed, scale):
        return scale * np.random.default_rng(seed).standard_normal(20)

    first, other = one, one
    given = {"grid": {"scale": [1.0]}, "options": {}, "seeds": 2}
    assert small(tmp_path, sampler=first, **given).reused == 0
    assert small(tmp_path, sampler=other, **given).reused == 2

    def one(target, *, seed, scale):
        return 2.0 * scale * np.random.default_rng(seed).standard_normal(20)

    result = small(tmp_path, sampler=one, **given)
    assert result.reused == 0
    assert any("other code of the sampler" in note for note in result.warnings)
    namespace = {"np": np}
    exec("def hidden(target, *, seed, scale): return np.random.default_rng(seed).standard_normal(9)", namespace)
    with pytest.raises(UsageError, match="pass label="):
        small(tmp_path, sampler=namespace["hidden"], **given)
    assert small(tmp_path, sampler=namespace["hidden"], label="mine", **given).cells == 2


def test_functions_are_told_apart_by_what_they_hold(tmp_path):
    def holding(inner, shift=0.0):
        def one(target, *, seed, scale, spread=shift):
            return spread + scale * inner(seed)

        return one

    def first(seed):
        return np.random.default_rng(seed).standard_normal(20)

    def second(seed):
        return np.random.default_rng(seed).standard_cauchy(20)

    given = {"grid": {"scale": [1.0]}, "options": {}, "seeds": 2}
    samplers = [holding(first), holding(second), holding(second, 0.5), holding(first)]
    assert [small(tmp_path, sampler=each, **given).reused for each in samplers] == [0, 0, 0, 2]
    with pytest.raises(UsageError, match="cannot be told by its source file and the values"):
        small(tmp_path, sampler=holding(np.random.default_rng(0).standard_normal), **given)
    with pytest.raises(UsageError, match="pass label="):
        small(tmp_path, sampler=_Sampler(1.0).draw, **given)


class _Sampler:
    def __init__(self, factor):
        self.factor = factor

    def draw(self, target, *, seed, scale):
        return self.factor * np.random.default_rng(seed).standard_normal(20)


def test_the_result_of_another_sweep_is_not_taken_for_an_interrupted_ones(tmp_path):
    small(tmp_path)

    def sampler(target, *, seed, proposal_scale, draws):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        small(tmp_path, sampler=sampler)
    with pytest.raises(InputError, match="no finished sweep"):
        read_sweep(tmp_path)


def test_a_full_disk_is_said_and_costs_one_record(tmp_path, monkeypatch):
    whole = small(None)
    room = [2]

    def fsync(descriptor):
        room[0] -= 1
        if room[0] < 0:
            os.ftruncate(descriptor, os.fstat(descriptor).st_size - 40)
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("steinkit.sweeps.store.os", _OsWith(fsync))
    with pytest.raises(OutputError, match="make room and run again"):
        small(tmp_path)
    room[0] = 99
    result = small(tmp_path)
    assert result.reused == 2
    assert timeless(result.records) == timeless(whole.records)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_full_disk_is_said_wherever_the_record_meets_it(tmp_path, monkeypatch):
    with Store(tmp_path) as store:
        monkeypatch.setattr("steinkit.sweeps.store.open_enclosed", lambda *parts, mode: open("/dev/full", mode))  # noqa: SIM115
        with pytest.raises(OutputError, match="make room"):
            store.append({"cell": "a"})


class _OsWith:
    """The module os with an fsync of the test's own."""

    def __init__(self, fsync):
        self.fsync = fsync

    def __getattr__(self, name):
        return getattr(os, name)


def test_two_sweeps_in_one_folder_are_refused_and_a_dead_ones_lock_is_not(tmp_path):
    with Store(tmp_path), pytest.raises(UsageError, match="another sweep is at work in"):
        small(tmp_path)
    script = (
        "from pathlib import Path; from steinkit.sweeps.store import Store; "
        f"store = Store(Path({str(tmp_path)!r})); print('held', flush=True); input()"
    )
    holder = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(UsageError, match="another sweep is at work in"):
            small(tmp_path)
    finally:
        holder.kill()
        holder.communicate()
    assert small(tmp_path).cells == 6


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="choose another folder"):
        small(tmp_path / "file")


def test_an_interrupt_keeps_what_is_finished_and_says_how_to_go_on(tmp_path, monkeypatch):
    def sampler(target, *, seed, scale):
        if scale == 1.0 and str(seed) == os.environ["INTERRUPTED_AT"]:
            raise KeyboardInterrupt
        return scale * np.random.default_rng(seed).standard_normal(20)

    monkeypatch.setenv("INTERRUPTED_AT", "6")
    given = {"sampler": sampler, "grid": {"scale": [1.0, 2.0, 3.0]}, "options": {}, "seeds": 8}
    with pytest.raises(KeyboardInterrupt) as interrupt:
        small(None, **given)
    assert "without a directory" in interrupt.value.__notes__[0]
    with pytest.raises(KeyboardInterrupt) as interrupt:
        small(tmp_path, racing=True, **given)
    assert "run the same sweep" in interrupt.value.__notes__[0]
    monkeypatch.setenv("INTERRUPTED_AT", "nowhere")
    resumed = small(tmp_path, **given)
    assert resumed.reused == 15
    assert timeless(resumed.records) == timeless(small(None, **given).records)


MODEL = """
import time
import numpy as np
import steinkit as sk

def score(points):
    time.sleep(0.1)
    return -points

target = sk.Target(score=score, log_density=lambda x: -0.5 * (x**2).sum(axis=1), dim=1)
"""
CONFIGURATION = """
target = "model.py:target"
[sampler]
name = "rwmh"
draws = 200
[grid]
proposal_scale = [0.3, 1.0, 3.0]
[run]
seeds = 4
measures = ["ksd"]
"""
START = "from steinkit.cli.sweep_commands import sweep; sweep(standalone_mode=False)"


@pytest.mark.slow
def test_a_killed_sweep_goes_on_where_it_was(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "sweep.toml").write_text(CONFIGURATION)
    folder = tmp_path / "out"
    seen = 0
    for wanted in (1, 7):
        command = [sys.executable, "-c", START, str(tmp_path / "sweep.toml"), "-o", str(folder)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        until = time.monotonic() + 100.0
        while time.monotonic() < until and process.poll() is None:
            if (folder / RECORDS).exists() and len(lines(folder)) >= wanted:
                break
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        _, errors = process.communicate()
        assert process.returncode == -signal.SIGKILL, errors
        assert len(lines(folder)) >= max(wanted, seen)
        seen = len(lines(folder))
    assert seen < 12, "the sweep was done before it was killed"
    plan, _ = read_configuration(tmp_path / "sweep.toml")
    resumed = run_plan(plan, Workplace(folder, n_jobs=1))
    straight = run_plan(plan, Workplace())
    assert timeless(resumed.records) == timeless(straight.records)
    assert resumed.criteria["ksd"].to_dict() == straight.criteria["ksd"].to_dict()
    counts = Counter(json.loads(line)["cell"] for line in lines(folder))
    assert len(counts) == 12
    assert set(counts.values()) == {1}
