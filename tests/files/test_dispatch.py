"""Formats, paths and streams of `read_sample` and `write_sample`."""

import builtins
import errno
import io
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steinkit.errors import InputError, OutputError, ReadingWarning, UsageError
from steinkit.files import read_sample, write_sample
from steinkit.sample import Sample

SAMPLE = Sample(points=[[1.0, 2.0], [3.0, 4.0]])
TEXT = "x1,x2\n1.0,2.0\n3.0,4.0\n"


@pytest.mark.parametrize("name", ["s.csv", "s.CSV", "s.npz", "s.npy", "s.nc", "s.netcdf", "s.h5"])
@pytest.mark.parametrize("kind", [str, Path])
def test_the_ending_determines_the_format(name: str, kind: Any, tmp_path: Path, assert_same: Any) -> None:
    path = kind(tmp_path / name)
    write_sample(SAMPLE, path)
    assert_same(read_sample(path), SAMPLE)


@pytest.mark.parametrize("form", ["csv", "npz", "npy", "netcdf"])
def test_a_stated_format_takes_precedence(form: str, tmp_path: Path, assert_same: Any) -> None:
    write_sample(SAMPLE, tmp_path / "s.dat", format=form)
    assert_same(read_sample(tmp_path / "s.dat", format=form), SAMPLE)


def test_errors_for_unknown_formats_list_the_known_ones(tmp_path: Path) -> None:
    for ending in (".xyz", ""):
        with pytest.raises(UsageError, match=rf"'{ending}'.*csv .*npz .*npy .*netcdf "):
            write_sample(SAMPLE, tmp_path / f"s{ending}")
    with pytest.raises(UsageError, match=r"csv, npz, npy, stan, netcdf.*'CSV'"):
        write_sample(SAMPLE, tmp_path / "s.csv", format="CSV")


def test_stan_is_recognized_in_a_csv_file_and_a_stream() -> None:
    text = "# stan_version_major = 2\nlp__,mu.1\n-1,2\n"
    assert read_sample(io.StringIO(text)).names == ("mu[1]",)
    assert read_sample(io.StringIO(text), format="stan").names == ("mu[1]",)
    with pytest.warns(ReadingWarning, match='"lp__" ignored'):
        assert read_sample(io.StringIO(text), format="csv").names == ("mu.1",)


def test_stan_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"csv, npz, npy, netcdf.*stan"):
        write_sample(SAMPLE, tmp_path / "s.csv", format="stan")
    assert list(tmp_path.iterdir()) == []


def test_missing_files(tmp_path: Path) -> None:
    (tmp_path / "draws1.csv").write_text(TEXT)
    with pytest.raises(InputError, match=r'draws\.csv does not exist [(]did you mean "draws1\.csv"\?'):
        read_sample(tmp_path / "draws.csv")
    with pytest.raises(InputError, match=r"zzz\.npz does not exist; check the path"):
        read_sample(tmp_path / "zzz.npz")
    with pytest.raises(InputError, match=r"there is no folder .*nowhere"):
        read_sample(tmp_path / "nowhere" / "draws.csv")


def test_folders_are_refused(tmp_path: Path) -> None:
    for name in ("runs", "runs.csv"):
        folder = tmp_path / name
        folder.mkdir()
        with pytest.raises(InputError, match=rf"{name} is a folder; name a file in it$"):
            read_sample(folder)
        (folder / "a.csv").write_text(TEXT)
        with pytest.raises(InputError, match=r'is a folder; name a file in it, such as "a\.csv"'):
            read_sample(folder)
        with pytest.raises(OutputError, match=rf"{name} is a folder; name a file in it"):
            write_sample(SAMPLE, folder)


def test_unreadable_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"cannot be read: .*null (byte|character)"):
        read_sample("a\0b.csv")

    def refuse(path: Path, mode: str) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    (tmp_path / "s.csv").write_text("x\n1\n")
    monkeypatch.setattr(builtins, "open", refuse)
    with pytest.raises(InputError, match=r"s\.csv cannot be read: Permission denied; check its permissions"):
        read_sample(tmp_path / "s.csv")


@pytest.mark.parametrize("name", ["s.csv", "s.npz", "s.npy", "s.nc"])
def test_empty_files(name: str, tmp_path: Path) -> None:
    (tmp_path / name).touch()
    with pytest.raises(InputError, match=rf"{name} is empty"):
        read_sample(tmp_path / name)


def test_sources_and_destinations_of_the_wrong_kind() -> None:
    array: Any = np.ones((3, 2))
    with pytest.raises(UsageError, match="ndarray"):
        read_sample(array)
    with pytest.raises(UsageError, match="NoneType"):
        read_sample(None)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="NoneType"):
        write_sample(SAMPLE, None)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"sample .* got array"):
        write_sample(array, "s.csv")


def test_streams_of_text_and_bytes(assert_same: Any) -> None:
    text, data = io.StringIO(), io.BytesIO()
    write_sample(SAMPLE, text)
    write_sample(SAMPLE, data)
    assert text.getvalue() == data.getvalue().decode() == TEXT
    assert_same(read_sample(io.StringIO(TEXT)), SAMPLE)
    assert_same(read_sample(io.BytesIO(TEXT.encode())), SAMPLE)


def test_the_name_of_a_stream_determines_the_format(tmp_path: Path, assert_same: Any) -> None:
    with open(tmp_path / "s.npz", "wb") as stream:
        write_sample(SAMPLE, stream)
    with np.load(tmp_path / "s.npz") as archive:
        assert archive["points"].tolist() == SAMPLE.points.tolist()
    with open(tmp_path / "s.npz", "rb") as stream:
        assert_same(read_sample(stream), SAMPLE)
    with tempfile.NamedTemporaryFile("w+", suffix=".csv") as wrapped:
        write_sample(SAMPLE, wrapped)
        wrapped.seek(0)
        assert_same(read_sample(wrapped), SAMPLE)


def test_unsuitable_streams_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="mode='rb'"):
        read_sample(io.StringIO(TEXT), format="npz")
    with pytest.raises(UsageError, match="mode='wb'"):
        write_sample(SAMPLE, io.StringIO(), format="npz")
    closed = io.BytesIO()
    closed.close()
    with pytest.raises(InputError, match=r"the stream cannot be read: .*closed"):
        read_sample(closed)
    with pytest.raises(OutputError, match=r"the stream cannot be written: .*closed"):
        write_sample(SAMPLE, closed)
    with open(tmp_path / "s.csv", "w") as write_only, pytest.raises(InputError, match=r"s\.csv cannot be read"):
        read_sample(write_only)
    with pytest.raises(InputError, match="the stream is empty"):
        read_sample(io.StringIO())


def test_standard_input_and_output(monkeypatch: pytest.MonkeyPatch, assert_same: Any) -> None:
    for form in (None, "csv", "npz", "npy"):
        out = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, write_through=True))
        write_sample(SAMPLE, "-", format=form)
        data = out.getvalue()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert_same(read_sample("-", format=form), SAMPLE)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x1\noak\n")))
    with pytest.raises(InputError, match=r"^standard input, line 2"):
        read_sample("-")
    monkeypatch.setattr(sys, "stdin", io.StringIO(TEXT))
    assert_same(read_sample(sys.stdin), SAMPLE)


def test_a_file_is_replaced_atomically(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("old")
    path.chmod(0o640)
    before = path.stat().st_ino
    write_sample(SAMPLE, path)
    assert path.read_text() == TEXT
    assert path.stat().st_ino != before
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["s.csv"]


def test_a_new_file_has_ordinary_permissions(tmp_path: Path) -> None:
    (tmp_path / "ordinary").touch()
    write_sample(SAMPLE, tmp_path / "s.csv")
    assert (tmp_path / "s.csv").stat().st_mode == (tmp_path / "ordinary").stat().st_mode


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    write_sample(SAMPLE, tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == TEXT


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize(
    ("raised", "seen"),
    [(OSError(errno.ENOSPC, "No space left on device"), OutputError), (KeyboardInterrupt(), KeyboardInterrupt)],
    ids=["full", "interrupted"],
)
def test_a_failed_write_keeps_existing_files(
    step: str, raised: BaseException, seen: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.csv"
    path.write_text("old")

    def fail(*_: Any) -> None:
        raise raised

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(seen, match=r"s\.csv cannot be written: No space left" if seen is OutputError else None):
        write_sample(SAMPLE, path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["s.csv"]


def test_a_refused_sample_keeps_existing_files(tmp_path: Path) -> None:
    path = tmp_path / "s.npy"
    path.write_text("old")
    with pytest.raises(UsageError, match="weights"):
        write_sample(Sample(points=[1.0], weights=[1.0]), path)
    assert path.read_text() == "old"


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"s\.csv cannot be written: there is no folder .*nowhere; create it"):
        write_sample(SAMPLE, tmp_path / "nowhere" / "s.csv")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the device that is always full")
def test_devices_are_written_to_not_replaced() -> None:
    with pytest.raises(OutputError, match="/dev/full cannot be written: No space left on device"):
        write_sample(SAMPLE, "/dev/full", format="csv")
    write_sample(SAMPLE, "/dev/null", format="csv")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_optional_packages_are_imported_on_demand() -> None:
    heavy = {"xarray", "h5netcdf", "h5py", "pandas", "numba"}
    code = f"import sys, steinkit.files; print(sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("data", [b"PAR1\x15\x00\xff\xfe", b"X\n\x00\x00", "a,b\n1,2\n".encode("utf-16")])
def test_unknown_binary_formats_are_refused(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "draws.bin").write_bytes(data)
    with pytest.raises(InputError, match=r"draws\.bin is neither UTF-8 text nor .*save the draws as CSV"):
        read_sample(tmp_path / "draws.bin")
