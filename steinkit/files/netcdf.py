"""Samples as NetCDF, the files that ArviZ and PyMC write as InferenceData.

The draws stand in the group ``posterior``, unless another one is named, or in the root of a file without one. What is
read of a group is what `as_sample` reads of it in memory: every variable with the dimensions ``chain`` and ``draw``,
others left alone; further dimensions are flattened into names by their labels, ``theta[Choate]``, or by position,
``Sigma[0,1]``, where these do not tell entries apart. ``score:NAME`` is the score of NAME; ``weight`` and ``cost`` are
parameters like any other, except in files that steinkit wrote, whose attributes say so.
"""

from __future__ import annotations

import importlib
import io
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from steinkit.containers.chain_labels import rectangle
from steinkit.containers.columns import columns_of
from steinkit.containers.messages import listed
from steinkit.containers.xarray_objects import LABELS, RESERVED, from_dataset
from steinkit.errors import InputError, MissingDependencyError, SteinkitError, UsageError, did_you_mean
from steinkit.sample import Integers, Sample

_GROUP = "posterior"
# NetCDF forbids control characters, slashes and blanks at the end, HDF5 also "." alone and half characters.
_UNFIT = re.compile(r"[\x00-\x1f\x7f/\ud800-\udfff]|\s\Z|\A\.*\Z")
_HDF5 = b"\x89HDF\r\n\x1a\n"


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
    with _opened(data, source, group) as dataset, damage_reported(source, "NetCDF file"):
        return from_dataset(dataset, source).sample(columns)


def write_netcdf(sample: Sample, target: str) -> bytes:
    """Write a sample as the group ``posterior`` of a NetCDF 4 file, one variable a column.

    Raises
    ------
    UsageError
        If the chains do not form a rectangle, or a name cannot be one of a variable.
    MissingDependencyError
        If xarray or h5netcdf is not installed.
    """
    xarray, _ = _packages()
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


@contextmanager
def _opened(data: bytes, source: str, group: str | None) -> Iterator[Any]:
    xarray, h5py = _packages()
    if not data.startswith(_HDF5):
        kind = (
            "a NetCDF 3 file; convert it to NetCDF 4 (nccopy -k nc4)"
            if data.startswith(b"CDF")
            else ("no NetCDF 4 (HDF5) file; say with format= (--format) what it is")
        )
        raise InputError(f"{source} is {kind}")
    with damage_reported(source, "NetCDF file"):
        with h5py.File(io.BytesIO(data), "r") as file:
            found = group_to_read(group, [name for name, each in file.items() if isinstance(each, h5py.Group)], source)
        # decode_times=False: a parameter with the attribute units="seconds" stays a number.
        dataset = xarray.open_dataset(
            io.BytesIO(data), group=found, engine="h5netcdf", decode_times=False, decode_timedelta=False
        )
    with dataset:
        yield dataset


def group_to_read(asked: str | None, groups: Sequence[str], source: str) -> str | None:
    """The group of a file that holds the draws; None for its root, where it has no posterior and none was asked for."""
    if asked is None:
        return _GROUP if _GROUP in groups else None
    if asked.split("/")[0] not in groups:
        hint = did_you_mean(asked, groups) or f"; it has {listed(groups) or 'none'}"
        raise InputError(f'{source} has no group "{asked}"{hint}')
    return asked


@contextmanager
def damage_reported(source: str, kind: str) -> Iterator[None]:
    """What a library says of a file that it cannot read, as an error of the user's file."""
    try:
        yield
    except SteinkitError:
        raise
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise InputError(f"{source} is damaged or no {kind} ({error}); write it again") from None


def _packages() -> tuple[Any, Any]:
    try:
        importlib.import_module("h5netcdf")  # the engine that xarray is asked to use
        return importlib.import_module("xarray"), importlib.import_module("h5py")
    except ImportError as error:
        raise MissingDependencyError(
            f"NetCDF needs the packages xarray, h5netcdf and h5py ({error}); pip install 'steinkit[netcdf]'"
        ) from None
