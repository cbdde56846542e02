"""Caps on what a file may cost: each refuses, names itself, and can be raised."""

import errno
import gzip
import io
import os
import sys
import threading
import time
import tracemalloc

import numpy as np
import pytest

import steinkit as sk
from steinkit.containers.columns import lay_out
from steinkit.files import streams


def test_a_cap_is_read_from_the_environment(monkeypatch):
    monkeypatch.setenv("STEINKIT_MAX_COLUMNS", "3")
    assert streams.MAX_COLUMNS.value == 3
    streams.MAX_COLUMNS.require(3, "s.csv")
    with pytest.raises(sk.InputError, match=r"s\.csv holds 4 columns, beyond the limit of 3; .*STEINKIT_MAX_COLUMNS"):
        streams.MAX_COLUMNS.require(4, "s.csv")
    monkeypatch.setenv("STEINKIT_MAX_COLUMNS", "inf")
    streams.MAX_COLUMNS.require(10**12, "s.csv")


@pytest.mark.parametrize("given", ["", "-1", "0", "nan", "many"])
def test_a_cap_that_is_no_number_is_refused(given, monkeypatch):
    monkeypatch.setenv("STEINKIT_MAX_COLUMNS", given)
    with pytest.raises(sk.UsageError, match=r"STEINKIT_MAX_COLUMNS must be a positive number of columns"):
        sk.read_sample(io.StringIO("a\n1\n"))


@pytest.mark.parametrize("form", ["path", "bytes", "text"])
def test_bytes(form, tmp_path, monkeypatch):
    path = tmp_path / "s.csv"
    path.write_text("a\n" + "1\n" * 1000)
    source = {"path": path, "bytes": io.BytesIO(path.read_bytes()), "text": io.StringIO(path.read_text())}[form]
    monkeypatch.setenv("STEINKIT_MAX_BYTES", "1000")
    with pytest.raises(sk.InputError, match=r"2,002 bytes, beyond the limit of 1,000; .*STEINKIT_MAX_BYTES"):
        sk.read_sample(source)
    monkeypatch.setenv("STEINKIT_MAX_BYTES", "2002")
    assert len(sk.read_sample(path)) == 1000


def test_a_bomb_is_refused_before_it_has_filled_the_memory(tmp_path, monkeypatch):
    path = tmp_path / "bomb.csv.gz"
    with gzip.open(path, "wb") as stream:
        stream.write(b"a\n")
        for _ in range(70):
            stream.write(b"0\n" * 2**20)
    tracemalloc.start()
    with pytest.raises(sk.InputError, match=r"bomb\.csv\.gz unpacks to .*limit of 200; .*STEINKIT_MAX_RATIO"):
        sk.read_sample(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.4e8  # of 147 MB that it holds
    monkeypatch.setenv("STEINKIT_MAX_BYTES", "1e6")
    with pytest.raises(sk.InputError, match="STEINKIT_MAX_BYTES"):
        sk.read_sample(path)


def test_small_files_may_be_packed_as_well_as_they_can(tmp_path):
    path = tmp_path / "still.csv.gz"
    sk.write_sample(sk.Sample(np.ones(100_000)), path)
    assert len(sk.read_sample(path)) == 100_000


@pytest.mark.parametrize("name", ["wide.npy", "wide.npz", "wide.csv"])
def test_columns_are_counted_in_every_format(tmp_path, monkeypatch, name):
    path = tmp_path / name
    sk.write_sample(sk.Sample(np.ones((2, 4))), path)
    monkeypatch.setenv("STEINKIT_MAX_COLUMNS", "3")
    with pytest.raises(sk.InputError, match=rf"{name} has 4 columns, beyond the limit of 3; .*STEINKIT_MAX_COLUMNS"):
        sk.read_sample(path)
    monkeypatch.setenv("STEINKIT_MAX_COLUMNS", "4")
    assert sk.read_sample(path).dim == 4


def test_a_pipe_that_is_written_to_slowly(tmp_path):
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)

    def write():
        time.sleep(0.05)
        with open(path, "w") as pipe:
            for line in ("a,b\n", "1,2\n", "3,4\n"):
                pipe.write(line)
                pipe.flush()
                time.sleep(0.02)

    writer = threading.Thread(target=write)
    writer.start()
    assert sk.read_sample(path).points.tolist() == [[1, 2], [3, 4]]
    writer.join()


@pytest.mark.skipif(sys.platform != "linux", reason="the files are Linux's")
@pytest.mark.parametrize("path", ["/dev/zero", "/dev/urandom", "/dev/tty", "/proc/self/status", "/proc/self/stat"])
def test_only_regular_files_and_pipes_are_read(path):
    with pytest.raises(sk.InputError, match=rf"{path} is a device or another special file; expected a regular file"):
        sk.read_sample(path, format="csv")


@pytest.mark.skipif(sys.platform != "linux", reason="the files are Linux's")
@pytest.mark.parametrize("path", ["/proc/self/mem", "/proc/kmsg"])
def test_a_file_that_cannot_be_read_or_never_ends_is_refused_at_once(path):
    with pytest.raises(sk.InputError, match=rf"{path} (cannot be read|is empty|is a device or another special file)"):
        sk.read_sample(path, format="csv")


def test_an_error_while_a_file_is_read_is_one_of_the_input(tmp_path):
    (tmp_path / "s.csv").write_text("a\n1\n")
    path, said = tmp_path / "s.csv", r"s\.csv cannot be read: Input/output error"
    with pytest.raises(sk.InputError, match=said), streams.opened(path, binary=False):
        raise OSError(errno.EIO, "Input/output error")


def test_columns(monkeypatch):
    names = [f"x{k}" for k in range(60_000)]
    text = ",".join([*names, *(f"score:{name}" for name in names)]) + "\n" + ",".join(["1"] * 120_000) + "\n"
    with pytest.raises(sk.InputError, match=r"has 120,000 columns, beyond the limit of 50,000"):
        sk.read_sample(io.StringIO(text))
    monkeypatch.setenv("STEINKIT_MAX_COLUMNS", "120000")
    assert sk.read_sample(io.StringIO(text)).dim == 60_000
    assert sk.read_sample(io.StringIO(text), columns=names[:30_000]).dim == 30_000


class _Counted(str):
    """A name that counts how often it is looked up or compared."""

    __slots__ = ()
    times = 0

    def __hash__(self):
        _Counted.times += 1
        return super().__hash__()

    def __eq__(self, other):
        _Counted.times += 1
        return super().__eq__(other)


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_the_work_grows_with_the_number_of_columns_and_not_with_its_square(share):
    counts = []
    for n in (200, 400):
        names = [_Counted(f"x{k}") for k in range(n)]
        header = [*names, *(_Counted(f"score:{name}") for name in names)]
        _Counted.times = 0
        lay_out(header, "wide.csv", None if share == 1.0 else names[: int(share * n)])
        counts.append(_Counted.times)
    assert counts[0] > 200
    assert counts[1] < 2.5 * counts[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (".".join(["a"] * 20_000) + " = 1", "a key of more than 16 parts"),
        ("[" + ".".join(["a"] * 17) + "]", "a key of more than 16 parts"),
        ('"a" . ' * 17 + "a = 1", "a key of more than 16 parts"),
        ('x = {p = """a"""", ' + "a." * 17 + 'a = 1, q = """b""""}', "a key of more than 16 parts"),
        ("x = 1\n#" + "x" * 2**20, "bytes of TOML; expected at most 1,048,576"),
        ("x = " + "[" * 20_000, "is not valid TOML"),
        ('"\\' * 100_000, "is not valid TOML"),
    ],
)
def test_toml_that_would_grow_is_refused_before_it_is_parsed(text, said):
    tracemalloc.start()
    with pytest.raises(sk.InputError, match=rf"s\.toml .*{said}"):
        streams.parse_toml(text.encode(), "s.toml")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3e7  # of the 1.6e9 that parsing took


def test_toml_with_many_dots_that_are_no_keys():
    dots = "." * 40
    text = f'[a.b.c]\nx = [{"1.5, " * 40}]  # {dots}\ny = "{dots}"\nz = """{dots}\\\n{dots}"""\nw = \'{dots}\'\n'
    found = streams.parse_toml(text.encode(), "s.toml")["a"]["b"]["c"]
    assert found == {"x": [1.5] * 40, "y": dots, "z": 2 * dots, "w": dots}
    assert streams.parse_toml(("a." * 15 + "a = 1").encode(), "s.toml")
