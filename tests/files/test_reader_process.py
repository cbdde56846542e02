"""What becomes of us when the library that reads a file hangs or crashes, and of the process that it does so in."""

import io
import os
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import steinkit as sk
from steinkit.files import grouped

pytest.importorskip("h5netcdf")

KEY = (os.getpid(), "netcdf")


@pytest.fixture
def file(tmp_path):
    sk.write_sample(sk.Sample([[1.0, 2.0], [3.0, 4.0]]), tmp_path / "s.nc")
    return tmp_path / "s.nc"


@pytest.fixture
def failing(monkeypatch):
    """Let files be read by a process that fails in some way."""

    def start(how):
        monkeypatch.setenv("FAILING_READER", how)
        monkeypatch.setattr(grouped, "_CHILD", "support.failing_reader")
        monkeypatch.setattr(grouped, "_children", {})

    return start


@pytest.mark.parametrize("how", ["sleeps", "works on"])
def test_a_library_that_hangs_is_ended(how, file, failing, monkeypatch):
    failing(how)
    monkeypatch.setenv("STEINKIT_MAX_SECONDS", "0.2")
    begin = time.perf_counter()
    with pytest.raises(sk.InputError, match=r"s\.nc took the library .*STEINKIT_MAX_SECONDS"):
        sk.read_sample(file)
    assert time.perf_counter() - begin < 30.0  # of the 60 that it sleeps
    (child,) = grouped._children.values()
    assert child.process.returncode is not None  # nobody is left


def test_a_library_that_crashes_takes_nobody_with_it(file, failing, monkeypatch):
    failing("crashes")
    with pytest.raises(sk.InputError, match=r"s\.nc is damaged: the library that reads it crashed"):
        sk.read_sample(file)
    monkeypatch.undo()
    assert sk.read_sample(file).points.tolist() == [[1, 2], [3, 4]]  # by another process


def test_a_process_that_does_not_start(file, monkeypatch):
    monkeypatch.setattr(grouped, "_CHILD", "support.no_such_module")
    monkeypatch.setattr(grouped, "_children", {})
    with pytest.raises(sk.InputError, match=r"s\.nc is read by a process of its own, which could not be started"):
        sk.read_sample(file)


def test_no_module_of_the_folder_at_hand_is_run(file, tmp_path, monkeypatch):
    for name in ("json", "h5py", "xarray"):
        (tmp_path / f"{name}.py").write_text("open('was_run', 'w')\nraise SystemExit\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(grouped, "_children", {})
    assert sk.read_sample(file).dim == 2
    assert not (tmp_path / "was_run").exists()
    grouped._children[KEY].end()


def test_one_process_reads_all_files_until_it_is_gone(file):
    found = []
    for _ in range(2):
        sk.read_sample(file)
        found.append(grouped._children[KEY].process.pid)
    assert found[0] == found[1] != os.getpid()
    grouped._children[KEY].process.kill()
    grouped._children[KEY].process.wait()
    sk.read_sample(file)
    assert grouped._children[KEY].process.pid != found[0]


def test_the_process_of_another_one_is_not_asked(file, monkeypatch):
    sk.read_sample(file)
    child = grouped._children[KEY]
    monkeypatch.setattr(grouped, "_children", {(os.getpid() + 1, "netcdf"): child})  # as after a fork
    sk.read_sample(file)
    other = grouped._children[KEY]
    other.end()
    assert other is not child
    assert child.process.poll() is None


def test_what_is_read_is_the_same_to_the_last_bit(tmp_path, assert_same):
    rng = np.random.default_rng(0)
    sample = sk.Sample(
        points=rng.normal(size=(2, 300, 40)) * 10.0 ** rng.integers(-300, 300, size=40),
        scores=-0.0 * rng.normal(size=(600, 40)),
        weights=rng.random(600),
        names=[f"θ[{k}]" for k in range(40)],
    )
    sk.write_sample(sample, tmp_path / "s.nc")
    assert_same(sk.read_sample(tmp_path / "s.nc"), sample)


def test_messages_keep_their_bytes():
    messages = [({"a": "\n\u03b8 1"}, b""), ("ready", b"a\n"), (None, bytes(range(256)) * 1000)]
    stream = io.BytesIO()
    for each in messages:
        grouped.send(stream, *each)
    whole = stream.getvalue()
    stream.seek(0)
    assert [grouped.receive(stream) for _ in messages] == messages
    with pytest.raises(EOFError):
        grouped.receive(stream)
    for end in (0, 1, 5, 20, len(whole) - 1):
        cut = io.BytesIO(whole[:end])
        with pytest.raises(EOFError):
            [grouped.receive(cut) for _ in messages]


def test_a_module_in_the_folder_at_hand_is_not_run(file, folder, monkeypatch):
    """What was downloaded may bear any name; ``python -m`` puts the folder at hand first on the path."""
    (folder / "h5py.py").write_text(f"open({str(folder / 'ran')!r}, 'w')\nraise ImportError\n")
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    monkeypatch.setattr(grouped, "_children", {})  # those that run were started before
    assert len(sk.read_sample(file)) > 0
    grouped._children[KEY].end()
    assert not (folder / "ran").exists()


def test_steinkit_is_the_one_that_asks(tmp_path, monkeypatch):
    own = Path(sk.__file__).parents[1]
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), str(own), "/elsewhere"])
    monkeypatch.chdir(tmp_path)
    assert grouped._search_path() == [str(own), "/elsewhere"]
    monkeypatch.chdir(own)
    assert grouped._search_path() == [str(own), str(tmp_path), "/elsewhere"]
