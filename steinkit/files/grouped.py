"""Samples as NetCDF and Zarr, what ArviZ and PyMC write InferenceData to.

The draws stand in the group ``posterior``, unless another one is named, or in the root of a file without one. What is
read of a group is what `as_sample` reads of it in memory: every variable with the dimensions ``chain`` and ``draw``,
others left alone; further dimensions are flattened into names by their labels, ``theta[Choate]``, or by position,
``Sigma[0,1]``, where these do not tell entries apart. ``score:NAME`` is the score of NAME; ``weight`` and ``cost`` are
parameters like any other, except in files that steinkit wrote, whose attributes say so. Reading is done by a process
of its own, for a damaged file can hang or crash the C library.

Zarr's folders are read only; their variables come in the order of their names, since a folder keeps none.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from steinkit.containers.columns import columns_of
from steinkit.containers.xarray_objects import LABELS, RESERVED
from steinkit.errors import InputError, UsageError
from steinkit.files.reader_process import read_in_child, require_installed
from steinkit.sample import Integers, Sample, rectangle

_GROUP = "posterior"
# NetCDF forbids control characters, slashes and blanks at the end, HDF5 also "." alone and half characters.
_UNFIT = re.compile(r"[\x00-\x1f\x7f/\ud800-\udfff]|\s\Z|\A\.*\Z")
_HDF5 = b"\x89HDF\r\n\x1a\n"
_ZARR = ("zarr.json", ".zgroup", ".zmetadata")  # a folder of version 3 holds, and of version 2


def read_netcdf(data: bytes, source: str, columns: Sequence[str] | None = None, group: str | None = None) -> Sample:
    """Read a sample from the bytes of a NetCDF 4 file.

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
            RESERVED: " ".join(name for name in ("weight", "cost") if name in columns and name not in sample.names),
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


def is_zarr(path: Path) -> bool:
    """Whether a path is a folder in which Zarr keeps groups."""
    return path.is_dir() and any((path / mark).is_file() for mark in _ZARR)


def read_zarr(path: Path, source: str, columns: Sequence[str] | None = None, group: str | None = None) -> Sample:
    """Read a sample from a Zarr folder.

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
        raise InputError(f"{source} is not a Zarr folder: none of {', '.join(_ZARR)} is in it; check the path")
    size = sum(each.stat().st_size for each in path.rglob("*") if each.is_file())
    return read_in_child("zarr", source, size=size, path=str(path.absolute()), columns=columns, group=group)
