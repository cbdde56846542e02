"""The limit on the size of files, and files that are not read."""

import gzip
import io
import os
import sys
import threading
import time

import numpy as np
import pytest

import steinkit as sk


@pytest.mark.parametrize("form", ["path", "bytes", "text", "gzip"])
def test_the_limit_on_bytes(form, tmp_path, monkeypatch):
    path = tmp_path / "s.csv"
    path.write_text("a\n" + "1\n" * 1000)
    source = {
        "path": path,
        "bytes": io.BytesIO(path.read_bytes()),
        "text": io.StringIO(path.read_text()),
        "gzip": io.BytesIO(gzip.compress(path.read_bytes())),
    }[form]
    monkeypatch.setenv("STEINKIT_MAX_BYTES", "1000")
    with pytest.raises(sk.InputError, match=r"1,000; .*STEINKIT_MAX_BYTES"):
        sk.read_sample(source)
    for limit in ("2002", "inf"):
        monkeypatch.setenv("STEINKIT_MAX_BYTES", limit)
        assert len(sk.read_sample(path)) == 1000


def test_the_arrays_that_are_read_are_limited_together(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "s.npz", points=np.zeros(10_000), scores=np.zeros(10_000))
    monkeypatch.setenv("STEINKIT_MAX_BYTES", "1e5")
    with pytest.raises(sk.InputError, match="STEINKIT_MAX_BYTES"):
        sk.read_sample(tmp_path / "s.npz")
    monkeypatch.setenv("STEINKIT_MAX_BYTES", "2e5")
    assert len(sk.read_sample(tmp_path / "s.npz")) == 10_000


@pytest.mark.parametrize("given", ["", "-1", "0", "nan", "many"])
def test_a_limit_that_is_not_a_number_is_refused(given, monkeypatch):
    monkeypatch.setenv("STEINKIT_MAX_BYTES", given)
    with pytest.raises(sk.UsageError, match="STEINKIT_MAX_BYTES"):
        sk.read_sample(io.StringIO("a\n1\n"))


@pytest.mark.skipif(sys.platform == "win32", reason="needs named pipes of POSIX")
def test_a_pipe_is_read_to_its_end(tmp_path):
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)

    def write():
        with open(path, "w") as pipe:
            for line in ("a,b\n", "1,2\n", "3,4\n"):
                pipe.write(line)
                pipe.flush()
                time.sleep(0.02)

    writer = threading.Thread(target=write)
    writer.start()
    assert sk.read_sample(path).points.tolist() == [[1, 2], [3, 4]]
    writer.join()


@pytest.mark.skipif(sys.platform != "linux", reason="the devices are those of Linux")
@pytest.mark.parametrize("path", ["/dev/zero", "/dev/urandom"])
def test_devices_are_not_read(path):
    with pytest.raises(sk.InputError, match=path):
        sk.read_sample(path, format="csv")


@pytest.mark.skipif(sys.platform != "linux", reason="the files are those of Linux")
def test_files_without_a_size_are_not_read():
    """Other files in /proc, such as kmsg, block."""
    with pytest.raises(sk.InputError, match="empty"):
        sk.read_sample("/proc/self/pagemap", format="csv")
