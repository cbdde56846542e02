"""Samples as NetCDF and Zarr, what ArviZ and PyMC write InferenceData to; read in a child process.

The draws stand in the group ``posterior``, unless another one is named, or in the root of a file without one. What is
read of a group is what `as_sample` reads of it in memory: every variable with the dimensions ``chain`` and ``draw``,
others left alone; further dimensions are flattened into names by their labels, ``theta[Choate]``, or by position,
``Sigma[0,1]``, where these do not tell entries apart. ``score:NAME`` is the score of NAME; ``weight`` and ``cost`` are
parameters like any other, except in files that steinkit wrote, whose attributes say so. Reading is done by a process
of its own, for a damaged file can hang or crash the C library.

Zarr's folders are read only; their variables come in the order of their names, since a folder keeps none.

A child for each kind of files is started when it is first needed, kept for those that follow, and ends with the process
that started it. It is given bytes or a path and answers with a sample as NPZ or with an error; nothing is pickled. A
child that does not answer in time is killed. The libraries are loaded in the child only, so that the first file costs
little more than if it were read here, and others about a millisecond.
"""

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from steinkit import errors
from steinkit.containers.columns import COLUMNS_BESIDE, columns_of
from steinkit.containers.objects import LABELS, RESERVED
from steinkit.errors import InputError, MissingDependencyError, UsageError
from steinkit.files.numpy_format import read_npz
from steinkit.files.streams import MAX_SECONDS, ZARR_MARKS, is_zarr
from steinkit.sample import Integers, Sample, rectangle

_CHILD = "steinkit.files.reader_child"
_BYTES_A_SECOND = 5e6  # that even a slow machine unpacks
_START = 60.0  # seconds in which any machine starts Python
_BUSY = 6.0  # of a machine that has other work: seconds that pass for one of work


def read_in_child(
    kind: str, source: str, *, data: bytes = b"", size: int = 0, **request: str | Sequence[str] | None
) -> Sample:
    """A sample as the child reads it.

    Parameters
    ----------
    kind : str
        Name of a reader in `reader_child`.
    source : str
        Name of the file, for messages.
    data : bytes
        Of the file.
    size : int
        Bytes of what is read besides.
    **request
        Arguments of the reader.

    Raises
    ------
    SteinkitError
        As the reader does, and InputError if the library crashed, or did not come to an end.
    """
    seconds = MAX_SECONDS.value + (len(data) + size) / _BYTES_A_SECOND
    limits = {name: value for name, value in os.environ.items() if name.startswith("STEINKIT_MAX_")}
    asked = {"kind": kind, "source": source, "limits": limits, "request": request}
    with _LOCK:
        try:
            child = _running(kind)
        except (EOFError, TimeoutError, OSError):
            raise InputError(
                f"{source} is read by a process of its own, which could not be started; see whether "
                f"'python -m {_CHILD} {kind}' says why"
            ) from None
        try:
            send(child.process.stdin, asked, data)
            answer, packed = child.answer(_BUSY * seconds)
        except BaseException as error:
            child.end()
            if isinstance(error, TimeoutError):
                said = f"took the library that reads it more than {seconds:.0f} seconds"
                raise MAX_SECONDS.exceeded(source, said) from None
            if isinstance(error, (EOFError, BrokenPipeError)):
                raise InputError(f"{source} is damaged: the library that reads it crashed; write it again") from None
            raise
    if "error" in answer:
        raise getattr(errors, answer["error"])(answer["message"])
    return read_npz(packed, source)


def require_installed(kind: str, extra: str, *packages: str) -> None:
    """Raise MissingDependencyError unless packages are there for the child to import."""
    for package in packages:
        try:
            there = importlib.util.find_spec(package) is not None
        except ValueError:  # of a module that is marked as not to be had
            there = False
        if not there:
            raise MissingDependencyError(f"{kind} needs the package {package}; pip install 'steinkit[{extra}]'")


def send(stream: IO[bytes], document: Any, data: bytes = b"") -> None:
    """Write a document and bytes, with their number in front."""
    stream.write(f"{len(data)} {json.dumps(document)}\n".encode())
    stream.write(data)
    stream.flush()


def receive(stream: IO[bytes]) -> tuple[Any, bytes]:
    """Read what `send` wrote; EOFError if it ends before."""
    length, _, document = stream.readline().partition(b" ")
    data = stream.read(int(length)) if document.endswith(b"\n") else b""
    if not document.endswith(b"\n") or len(data) < int(length):
        raise EOFError
    return json.loads(document), data


class _Child:
    """A process that reads files."""

    def __init__(self, kind: str) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(_search_path()), "OPENBLAS_NUM_THREADS": "1"}
        self.process: Any = subprocess.Popen(
            [sys.executable, "-P", "-W", "ignore", "-m", _CHILD, kind],  # -P: nothing in the folder at hand is run
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        try:
            self.answer(_START)  # that it is ready
        except BaseException:
            self.end()
            raise

    def answer(self, seconds: float) -> tuple[Any, bytes]:
        """What it says; TimeoutError or EOFError if it does not."""
        end = time.monotonic() + seconds
        timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), self.process.kill)
        timer.daemon = True
        timer.start()
        try:
            return receive(self.process.stdout)
        except EOFError:
            if time.monotonic() >= end:
                raise TimeoutError from None
            raise
        finally:
            timer.cancel()

    def end(self) -> None:
        """End the process at once."""
        self.process.kill()
        self.process.communicate()


def _search_path() -> list[str]:
    """Where the child looks for modules: where we do, but for the folder at hand, which ``python -m`` puts in front.

    Downloads lie there, and one of them may be called h5py.py. Only steinkit itself may come from there.
    """
    own, here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), os.path.realpath("")
    elsewhere = [each for each in sys.path if each and os.path.realpath(each) != here]
    return elsewhere if own in elsewhere else [own, *elsewhere]


_LOCK = threading.Lock()
_children: dict[tuple[int, str], _Child] = {}  # by the process that started them: one it was forked from is another


def _running(kind: str) -> _Child:
    key = os.getpid(), kind
    if key in _children and _children[key].process.poll() is not None:
        _children.pop(key).end()
    if key not in _children:
        _children[key] = _Child(kind)
    return _children[key]


@atexit.register
def _end_children() -> None:
    for (owner, _), child in _children.items():
        if owner == os.getpid():
            child.end()


_GROUP = "posterior"
# NetCDF forbids control characters, slashes and blanks at the end, HDF5 also "." alone and half characters.
_UNFIT = re.compile(r"[\x00-\x1f\x7f/\ud800-\udfff]|\s\Z|\A\.*\Z")
_HDF5 = b"\x89HDF\r\n\x1a\n"


def read_netcdf(data: bytes, source: str, columns: Sequence[str] | None = None, group: str | None = None) -> Sample:
    """Read NetCDF 4: the posterior of ArviZ's InferenceData, or another group; labels are kept.

    Parameters
    ----------
    data : bytes
    source : str
        Name of the file, for messages.
    columns : sequence of str, optional
        Coordinates to keep; variables without any of them are not read.
    group : str, optional
        Where the draws stand; the posterior, or the root of a file without one, if not given.

    Raises
    ------
    InputError
        If the file is no NetCDF 4, holds no variable over chain and draw, or chains of unequal length.
    MissingDependencyError
        If xarray or h5netcdf is not installed (``pip install 'steinkit[netcdf]'``).
    """
    require_installed("NetCDF", "netcdf", "xarray", "h5netcdf", "h5py")
    if not data.startswith(_HDF5):
        kind = (
            "a NetCDF 3 file; convert it to NetCDF 4 (nccopy -k nc4)"
            if data.startswith(b"CDF")
            else ("no NetCDF 4 (HDF5) file; say with format= (--format) what it is")
        )
        raise InputError(f"{source} is {kind}")
    return read_in_child("netcdf", source, data=data, columns=columns, group=group)


def write_netcdf(sample: Sample, target: str) -> bytes:
    """Write a sample as the group ``posterior`` of a NetCDF 4 file, one variable a column.

    Raises
    ------
    UsageError
        If the chains do not form a rectangle, or a name cannot be one of a variable.
    MissingDependencyError
        If xarray or h5netcdf is not installed.
    """
    require_installed("NetCDF", "netcdf", "xarray", "h5netcdf", "h5py")
    import xarray

    chains, draws = _axes(sample, target)
    columns = columns_of(sample, reserved=("chain", "draw"))
    unfit = [name for name in columns if _UNFIT.search(name)]
    if unfit:
        raise UsageError(f"{target}: {unfit[0]!r} cannot name a NetCDF variable; rename it, or write .npz")
    dataset = xarray.Dataset(
        {
            name: (("chain", "draw"), column.reshape(len(chains), len(draws)))
            for name, column in columns.items()
            if name not in ("chain", "draw")
        },
        coords={"chain": chains, "draw": draws},
        attrs={
            LABELS: " ".join(name for name in ("chain", "draw") if name in columns),
            RESERVED: " ".join(name for name in COLUMNS_BESIDE if name in columns and name not in sample.names),
        },
    )
    with tempfile.TemporaryDirectory(prefix="steinkit-") as folder:
        path = Path(folder, "sample.nc")
        dataset.to_netcdf(path, group=_GROUP, engine="h5netcdf")
        return path.read_bytes()


def _axes(sample: Sample, target: str) -> tuple[Integers, Integers]:
    """Labels of the chains and of the draws in each; zeros and counts stand in for labels not there."""
    n = len(sample)
    chain = np.zeros(n, dtype=np.int64) if sample.chain is None else sample.chain
    draw = np.arange(n) % np.count_nonzero(chain == chain[0]) if sample.draw is None else sample.draw
    axes = rectangle(chain, draw)
    if axes is None:
        raise UsageError(
            f"{target}: NetCDF needs chains of equal length, one after the other, with the same draw labels; "
            "this sample's are not: write .npz or .csv"
        )
    return axes


def read_zarr(path: Path, source: str, columns: Sequence[str] | None = None, group: str | None = None) -> Sample:
    """Read Zarr: a folder with the posterior of ArviZ's InferenceData, or another group; labels are kept.

    Parameters
    ----------
    path : Path
    source : str
        Name of the folder, for messages.
    columns : sequence of str, optional
        Coordinates to keep; variables without any of them are not read.
    group : str, optional
        Where the draws stand; the posterior, or the root of a folder without one, if not given.

    Raises
    ------
    InputError
        If the folder is not Zarr's, or holds no draws.
    MissingDependencyError
        If xarray or zarr is not installed (``pip install 'steinkit[zarr]'``).
    """
    require_installed("Zarr", "zarr", "xarray", "zarr")
    if not path.exists():
        raise InputError(f"{source} does not exist; check the path")
    if not is_zarr(path):
        raise InputError(f"{source} is not a Zarr folder: none of {', '.join(ZARR_MARKS)} is in it; check the path")
    size = sum(each.stat().st_size for each in path.rglob("*") if each.is_file())
    return read_in_child("zarr", source, size=size, path=str(path.absolute()), columns=columns, group=group)
