"""The process that reads files for another one, which `reader_process` starts: requests come in on standard input."""

from __future__ import annotations

import importlib
import json
import math
import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import IO, Any

from steinkit.errors import InputError, SteinkitError
from steinkit.files.grouped import read_hdf5, read_zarr_folder
from steinkit.files.numpy_format import write_npz
from steinkit.files.reader_process import read_frame, write_frame
from steinkit.sample import Sample

_READERS: Mapping[str, Callable[..., Sample]] = {
    "netcdf": read_hdf5,
    "zarr": lambda data, source, **request: read_zarr_folder(source=source, **request),
}
_PACKAGES = {"netcdf": ("h5py", "h5netcdf"), "zarr": ("zarr",)}


def main() -> None:
    """Answer requests until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that asks decides
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # libraries may print what they like
    for package in _PACKAGES[sys.argv[1]]:  # which takes longest, before any file is waited for
        importlib.import_module(package)
    importlib.import_module("xarray").backends.list_engines()
    write_frame(answers, b"ready")
    while True:
        try:
            asked = json.loads(read_frame(sys.stdin.buffer))
            data = read_frame(sys.stdin.buffer)
        except EOFError:
            return
        _answer(answers, asked, data)


def _answer(answers: IO[bytes], asked: dict[str, Any], data: bytes) -> None:
    for name in [each for each in os.environ if each.startswith("STEINKIT_MAX_")]:
        del os.environ[name]
    os.environ.update(asked["limits"])
    _end_after(asked["seconds"])
    answer: dict[str, str] = {}
    packed = b""
    try:
        packed = write_npz(_READERS[asked["kind"]](data, asked["source"], **asked["request"]), asked["source"])
    except SteinkitError as error:
        answer = {"error": type(error).__name__, "message": str(error.args[0])}
    except MemoryError:
        answer = {"error": InputError.__name__, "message": f"{asked['source']} does not fit into memory; read less"}
    write_frame(answers, json.dumps(answer).encode())
    write_frame(answers, packed)


def _end_after(seconds: float) -> None:
    """Let the system end this process once it has worked for so long: time that others take does not count."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    soft = math.ceil(min(used.ru_utime + used.ru_stime + seconds, 2.0**30))
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


if __name__ == "__main__":
    main()
