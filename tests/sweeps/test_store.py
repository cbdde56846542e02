"""The file of a sweep: finished cells are not lost, not run twice, and not mistaken for others."""

import itertools
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from support.records import timeless

import steinkit as sk
from steinkit.errors import InputError, OutputError, UsageError
from steinkit.samplers import rwmh
from steinkit.sweeps.plan import read_plan
from steinkit.sweeps.result import read_sweep
from steinkit.sweeps.run import execution, run_plan, sweep
from steinkit.sweeps.store import Store, sweep_file

DATA = np.linspace(-1.0, 1.0, 12)


def small(file, target=None, sampler="rwmh", **changes):
    given = {"grid": {"proposal_scale": [0.2, 1.0]}, "options": {"draws": 30}, "seeds": 3, "measures": ("graph",)}
    return sweep(target or sk.targets.GaussianMean(DATA), sampler, file=file, **given | changes)


def rows(file, query="SELECT cell FROM cells"):
    """Return rows as any SQLite tool reads them."""
    with closing(sqlite3.connect(file)) as database:
        return database.execute(query).fetchall()


@pytest.fixture
def file(tmp_path):
    return tmp_path / "out.sqlite"


def test_a_second_run_computes_no_cells(file):
    first = small(file)
    before = rows(file)
    second = small(file)
    assert (first.reused, second.reused) == (0, 6)
    assert rows(file) == before
    assert second.records == first.records
    assert small(file, seeds=4).reused == 6
    assert len(rows(file)) == 8


def test_any_sqlite_tool_reads_settings_cells_and_measurements(file):
    result = small(file, measures=("ksd", "ess"))
    query = (
        "SELECT json_extract(settings, '$.proposal_scale'), seed, measure, value FROM cells "
        "JOIN measurements USING (cell)"
    )
    found = {tuple(row[:3]): row[3] for row in rows(file, query)}
    assert found == {
        (record.settings["proposal_scale"], record.seed, measured.measure): measured.value
        for record in result.records
        for measured in record.measures.values()
    }
    assert os.listdir(file.parent) == ["out.sqlite"]


@pytest.mark.parametrize(
    ("given", "file"),
    [("out", "out.sqlite"), ("v1.2", "v1.2.sqlite"), ("a/b.db", "a/b.db"), ("c.sqlite", "c.sqlite")],
)
def test_suffix_is_appended_to_a_name_without_one(given, file, tmp_path):
    assert sweep_file(tmp_path / given) == tmp_path / file


def test_a_folder_is_refused(tmp_path):
    for act in (small, read_sweep):
        with pytest.raises(UsageError, match=re.escape(str(tmp_path))):
            act(tmp_path)


def test_a_failed_cell_is_run_again_when_the_sweep_resumes(file, monkeypatch):
    def sampler(target, *, seed, scale):
        if "FULL_DISK" in os.environ and seed == 1:
            raise OSError("no space left")
        return scale * np.random.default_rng(seed).standard_normal(20)

    given = {"sampler": sampler, "grid": {"scale": [1.0]}, "options": {}, "seeds": 3}
    monkeypatch.setenv("FULL_DISK", "1")
    assert small(file, **given).failed == 1
    monkeypatch.delenv("FULL_DISK")
    again = small(file, **given)
    assert (again.failed, again.reused) == (0, 2)
    assert small(file, **given).reused == 3


def test_racing_does_not_run_a_failed_cell_again_on_a_later_rung(file):
    def sampler(target, *, seed, unused):
        runs.append((unused, seed))
        if seed == 1:
            raise OSError("no space left")
        return np.random.default_rng(seed).standard_normal(20)

    runs = []
    given = {"sampler": sampler, "grid": {"unused": [0, 1]}, "options": {}, "seeds": 10, "label": "same"}
    raced = small(file, racing=True, **given)
    assert runs.count((0, 1)) == 1
    assert len(rows(file)) == 20
    assert raced.failed == 2


def test_the_first_seeds_draws_are_kept(file):
    target = sk.targets.GaussianMean(DATA)
    result = small(file, target)
    with Store(file, writing=False) as store:
        names = {(cell.settings["proposal_scale"], cell.seed): name for name, cell in store.cells.items()}
        for record in result.records[::3]:
            wanted = rwmh(target, **record.settings, draws=30, seed=[0]).to_sample()
            kept = store.draws(names[record.settings["proposal_scale"], 0])
            np.testing.assert_array_equal(kept.points, wanted.points)
            np.testing.assert_array_equal(kept.cost, wanted.cost)
            assert kept.names == wanted.names
        assert store.draws(names[0.2, 1]) is None


def test_the_result_can_be_read_again(file, tmp_path):
    result = small(file, measures=("graph", "ksd"), racing=True)
    again = read_sweep(file)
    assert again.records == result.records
    assert again.to_dict() == result.to_dict()
    assert again.summary() == result.summary()
    with pytest.raises(InputError, match=r"none\.sqlite"):
        read_sweep(tmp_path / "none")


def test_a_change_of_any_argument_that_affects_cells_makes_new_cells(file):
    small(file)
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
        assert small(file, **changes).reused == 0
    assert small(file).reused == 6


def test_cells_of_other_data_and_other_versions_are_counted_and_not_reused(file, monkeypatch):
    assert not any("cannot be reused" in note for note in small(file).warnings)
    moved = DATA.copy()
    moved[3] = np.nextafter(moved[3], 1.0)
    result = small(file, sk.targets.GaussianMean(moved))
    assert result.reused == 0
    assert any(note.startswith(f"6 cells in {file}") for note in result.warnings)
    monkeypatch.setattr("steinkit.sweeps.plan.__version__", "9.9")
    result = small(file)
    assert result.reused == 0
    assert any(note.startswith(f"12 cells in {file}") for note in result.warnings)


def test_an_interrupted_sweep_deletes_the_result_of_the_last_one(file):
    small(file)

    def sampler(target, *, seed, proposal_scale, draws):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        small(file, sampler=sampler)
    with pytest.raises(InputError, match=re.escape(str(file))):
        read_sweep(file)


@pytest.mark.parametrize(
    ("pragma", "reason"), [("max_page_count = 1", "disk is full"), ("query_only = ON", "readonly")]
)
def test_a_full_or_readonly_disk_loses_no_finished_cell(file, monkeypatch, pragma, reason):
    whole, calls, append = small(None), itertools.count(), Store.append

    def failing(store, name, run, cell, draws=None):
        if next(calls) == 2:
            store._database.execute(f"PRAGMA {pragma}")
            cell = replace(cell, reason="x" * 100_000)
        append(store, name, run, cell, draws)

    monkeypatch.setattr(Store, "append", failing)
    with pytest.raises(OutputError, match=reason):
        small(file)
    monkeypatch.undo()
    assert len(rows(file)) == 2
    result = small(file)
    assert result.reused == 2
    assert timeless(result.records) == timeless(whole.records)


def test_a_path_below_a_file_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="out"):
        small(tmp_path / "file" / "out")


def test_a_second_process_is_rejected_until_the_first_one_ends(file):
    script = (
        "import sys; from pathlib import Path; from steinkit.sweeps.store import Store; "
        "store = Store(Path(sys.argv[1])); print('held', flush=True); input()"
    )
    holder = subprocess.Popen([sys.executable, "-c", script, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert holder.stdout.readline() == b"held\n"
        for act in (small, read_sweep):
            with pytest.raises(UsageError, match="another process is using"):
                act(file)
    finally:
        holder.kill()
        holder.communicate()
    assert small(file).cells == 6


@pytest.mark.parametrize("content", [b"not a database\n" * 100, None])
def test_other_files_are_rejected_and_not_changed(file, content):
    if content is None:
        with closing(sqlite3.connect(file)) as database:
            database.execute("CREATE TABLE mine (a)")
        content = file.read_bytes()
    file.write_bytes(content)
    for act in (small, read_sweep):
        with pytest.raises(InputError, match=r"out\.sqlite"):
            act(file)
    assert file.read_bytes() == content


def test_an_empty_file_is_initialized(file):
    """A process that is killed before it creates the tables leaves an empty file."""
    file.touch()
    with pytest.raises(InputError, match=re.escape(str(file))):
        read_sweep(file)
    assert small(file).cells == 6


def test_an_overwritten_page_is_detected_unless_it_is_unused(file, tmp_path):
    """SQLite detects damage to the structure of a file, but not a changed number."""
    result = small(file)
    data, page, named = file.read_bytes(), 4096, []
    for k in range(len(data) // page):
        copy = tmp_path / f"{k}.sqlite"
        copy.write_bytes(data[: k * page] + b"\xa5" * page + data[(k + 1) * page :])
        try:
            assert timeless(read_sweep(copy).records) == timeless(result.records)
        except InputError:
            named.append(copy)
    assert len(named) > 3
    with pytest.raises(InputError, match=named[-1].name):
        small(named[-1])
    for size in (10, page, len(data) // 2):
        (tmp_path / "cut.sqlite").write_bytes(data[:size])
        with pytest.raises(InputError, match=r"cut\.sqlite"):
            read_sweep(tmp_path / "cut")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE cells SET settings = '{' WHERE rowid = 1",
        "UPDATE cells SET settings = '[1]' WHERE rowid = 1",
        "UPDATE cells SET warnings = NULL WHERE rowid = 1",
        "UPDATE measurements SET cell = 'nobody' WHERE rowid = 1",
        "UPDATE result SET document = '{}'",
        "UPDATE result SET npz = 'x'",
        "CREATE VIEW more AS WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n) SELECT k FROM n",
        "CREATE TRIGGER act AFTER INSERT ON cells BEGIN DELETE FROM runs; END",
    ],
)
def test_invalid_rows_of_an_untrusted_file_are_rejected(file, change):
    small(file)
    with closing(sqlite3.connect(file)) as database, database:
        database.execute(change)
    with pytest.raises(InputError, match=r"out\.sqlite"):
        read_sweep(file)


def test_an_interrupted_sweep_keeps_finished_cells_and_resumes(file, monkeypatch):
    def sampler(target, *, seed, scale):
        if scale == 1.0 and str(seed) == os.environ["INTERRUPTED_AT"]:
            raise KeyboardInterrupt
        return scale * np.random.default_rng(seed).standard_normal(20)

    monkeypatch.setenv("INTERRUPTED_AT", "6")
    given = {"sampler": sampler, "grid": {"scale": [1.0, 2.0, 3.0]}, "options": {}, "seeds": 8}
    with pytest.raises(KeyboardInterrupt) as interrupt:
        small(None, **given)
    assert interrupt.value.__notes__
    with pytest.raises(KeyboardInterrupt) as interrupt:
        small(file, racing=True, **given)
    assert "16 finished cells kept" in interrupt.value.__notes__[0]
    monkeypatch.setenv("INTERRUPTED_AT", "nowhere")
    resumed = small(file, **given)
    assert resumed.reused == 16
    assert timeless(resumed.records) == timeless(small(None, **given).records)


@pytest.mark.parametrize("at", ["BEGIN", "INSERT INTO measurements", "INSERT OR REPLACE INTO draws"])
def test_a_process_that_is_killed_within_a_transaction_loses_only_that_cell(file, at):
    """The process ends between two statements of the third cell, which is not in the log."""
    script = (
        "import os, sys, steinkit as sk; from pathlib import Path; from steinkit.sweeps.store import Store\n"
        "store = Store(Path(sys.argv[1]))\n"
        "cell = sk.Cell({'s': 1}, 0, measures={'ksd': sk.Measured('ksd', 1.0, 1.0, 1.0)})\n"
        "for name in 'ab': store.append(name, 'run', cell, sk.Sample([[1.0], [2.0]]))\n"
        "store._database.set_trace_callback(lambda statement: statement.startswith(sys.argv[2]) and os._exit(9))\n"
        "store.append('c', 'run', cell, sk.Sample([[1.0], [2.0]]))\n"
    )
    assert subprocess.run([sys.executable, "-c", script, file, at], check=False).returncode == 9
    with Store(file, writing=False) as store:
        assert set(store.cells) == {"a", "b"}
        assert None not in map(store.draws, "ab")
        assert all(set(cell.measures) == {"ksd"} for cell in store.cells.values())
    with Store(file) as store:
        store.append("c", "run", sk.Cell({"s": 1}, 0))
    assert len(rows(file)) == 3


def test_commits_survive_a_power_failure(file):
    with Store(file) as store:
        names = ("synchronous", "journal_mode", "locking_mode")
        found = [store._database.execute(f"PRAGMA {name}").fetchone()[0] for name in names]
    assert found == [2, "wal", "exclusive"]  # 2 is FULL


def test_an_interrupted_sweep_that_may_not_be_written_is_recognized(file, monkeypatch):
    """SQLite moves the log to the database before it reads, which requires permission to write."""

    def refuse(*args, **kwargs):
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR
        raise error

    monkeypatch.setattr(sqlite3, "connect", refuse)
    file.with_name(f"{file.name}-wal").touch()
    with pytest.raises(InputError, match="was interrupted"):
        Store(file, writing=False)


MODEL = """
import os
import time
import numpy as np
import steinkit as sk

def score(points):
    if len(points) > 5:
        with open("MARKS", "a") as stream:
            stream.write(".")
        time.sleep(float(os.environ.get("PAUSE", "0")))
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
def test_a_killed_sweep_resumes_without_losing_a_finished_cell(file, tmp_path):
    marks = tmp_path / "marks"  # one byte per scored chain
    (tmp_path / "model.py").write_text(MODEL.replace("MARKS", str(marks)))
    (tmp_path / "sweep.toml").write_text(CONFIGURATION)
    seen = set()
    for wanted in (1, 7):
        command = [sys.executable, "-c", START, str(tmp_path / "sweep.toml"), "-o", str(file)]
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**os.environ, "PAUSE": "0.1"}
        )
        until = time.monotonic() + 100.0
        while time.monotonic() < until and process.poll() is None:
            if marks.exists() and marks.stat().st_size > wanted:
                break
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        _, errors = process.communicate()
        assert process.returncode == -signal.SIGKILL, errors
        with Store(file, writing=False) as store:
            assert seen <= set(store.cells)
            seen = set(store.cells)
    assert 0 < len(seen) < 12, "the sweep ended before it was killed"
    plan = read_plan(tmp_path / "sweep.toml")
    resumed = run_plan(plan, execution(plan, file))
    straight = run_plan(plan, execution(plan))
    assert resumed.reused == len(seen)
    assert timeless(resumed.records) == timeless(straight.records)
    assert resumed.criteria["ksd"].to_dict() == straight.criteria["ksd"].to_dict()
    assert set(Counter(rows(file)).values()) == {1}
