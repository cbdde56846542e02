"""NetCDF and Zarr, the formats of ArviZ's InferenceData, read by xarray.

The draws are in the group ``posterior``, in another group that the user names, or in the root of a file without a
posterior. A group is read like a dataset in memory (`steinkit.as_sample`). ``score:NAME`` is the score of NAME.
``weight`` and ``cost`` are parameters, except in files that steinkit wrote, which mark them by an attribute.

Zarr is read only. A folder does not keep the order of variables; they are sorted by name.
"""

from __future__ import annotations

import io
import re
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from steinkit.containers.columns import ALL, EXTRA_COLUMNS, Selection, columns_of
from steinkit.containers.objects import LABELS, RESERVED, STATS, from_dataset, with_statistics
from steinkit.errors import InputError, ReadingWarning, SteinkitError, UsageError, did_you_mean, imported, listed
from steinkit.files.streams import ZARR_MARKS, is_zarr
from steinkit.sample import Integers, Sample, rectangle

_GROUP = "posterior"
# NetCDF forbids control characters, slashes and trailing blanks, HDF5 also "." and lone surrogates
_UNFIT = re.compile(r"[\x00-\x1f\x7f/\ud800-\udfff]|\s\Z|\A\.*\Z")
_AS_STORED = {"decode_times": False, "decode_timedelta": False}  # units="seconds" stays a number


def read_netcdf(data: bytes, source: str, selection: Selection = ALL, group: str | None = None) -> Sample:
    """Read the draws of a NetCDF 4 file.

    By default these are the posterior of an InferenceData. Labels are kept.

    Parameters
    ----------
    data : bytes
    source : str
        Name of the file, for messages.
    selection : Selection
        Variables without selected coordinates are not read.
    group : str, optional
        Group that holds the draws. By default the posterior, or the root of a file without one.

    Raises
    ------
    InputError
        If the file is not NetCDF 4, has no variable with the dimension draw, or is damaged.
    MissingDependencyError
        If xarray or h5netcdf is not installed (``pip install 'steinkit[netcdf]'``).
    """
    xarray = _xarray("NetCDF", "netcdf", "h5netcdf")
    if data.startswith(b"CDF"):
        raise InputError(f"{source} is a NetCDF 3 file; convert it to NetCDF 4 (nccopy -k nc4)")

    def read() -> Sample:
        found = xarray.open_groups(io.BytesIO(data), engine="h5netcdf", **_AS_STORED)
        return _sample(found, source, selection, group)

    return _damage_reported(read, source, "NetCDF 4 file")


def write_netcdf(sample: Sample, target: str) -> bytes:
    """Write a sample as the group ``posterior`` of a NetCDF 4 file.

    Each column is a variable.

    Raises
    ------
    UsageError
        If the chains have different lengths, or a name is not valid for a variable.
    MissingDependencyError
        If xarray or h5netcdf is not installed.
    """
    xarray = _xarray("NetCDF", "netcdf", "h5netcdf")
    chains, draws = _axes(sample, target)
    columns = columns_of(sample, reserved=("chain", "draw"))
    unfit = [name for name in columns if _UNFIT.search(name)]
    if unfit:
        raise UsageError(f"{target}: {unfit[0]!r} is not a valid name of a NetCDF variable; rename it or write .npz")
    dataset = xarray.Dataset(
        {
            name: (("chain", "draw"), column.reshape(len(chains), len(draws)))
            for name, column in columns.items()
            if name not in ("chain", "draw")
        },
        coords={"chain": chains, "draw": draws},
        attrs={
            LABELS: " ".join(name for name in ("chain", "draw") if name in columns),
            RESERVED: " ".join(name for name in EXTRA_COLUMNS if name in columns and name not in sample.names),
        },
    )
    with tempfile.TemporaryDirectory(prefix="steinkit-") as folder:
        path = Path(folder, "sample.nc")
        dataset.to_netcdf(path, group=_GROUP, engine="h5netcdf")
        return path.read_bytes()


def _axes(sample: Sample, target: str) -> tuple[Integers, Integers]:
    """Return the labels of the chains and of the draws within a chain.

    The default is 0 for the chain, and counts from 0 for the draws.
    """
    n = len(sample)
    chain = np.zeros(n, dtype=np.int64) if sample.chain is None else sample.chain
    draw = np.arange(n) % np.count_nonzero(chain == chain[0]) if sample.draw is None else sample.draw
    axes = rectangle(chain, draw)
    if axes is None:
        raise UsageError(
            f"{target}: NetCDF needs consecutive chains of equal length with the same draw labels; write .npz or .csv"
        )
    return axes


def read_zarr(path: Path, source: str, selection: Selection = ALL, group: str | None = None) -> Sample:
    """Read the draws of a Zarr folder.

    By default these are the posterior of an InferenceData. Labels are kept.

    Parameters
    ----------
    path : Path
    source : str
        Name of the folder, for messages.
    selection : Selection
        Variables without selected coordinates are not read.
    group : str, optional
        Group that holds the draws. By default the posterior, or the root of a folder without one.

    Raises
    ------
    InputError
        If the folder is not a Zarr folder, holds no draws, is damaged, or holds pickled Python objects.
    MissingDependencyError
        If xarray or zarr is not installed (``pip install 'steinkit[zarr]'``).
    """
    xarray = _xarray("Zarr", "zarr", "zarr")
    if not path.exists():
        raise InputError(f"{source} does not exist; check the path")
    if not is_zarr(path):
        raise InputError(f"{source} is not a Zarr folder: it holds none of {', '.join(ZARR_MARKS)}; check the path")

    def read() -> Sample:
        metadata = [file for name in (".zarray", "zarr.json") for file in path.rglob(name)]
        if any(b"pickle" in file.read_bytes() for file in metadata):  # numcodecs would run code of the file
            raise InputError(f"{source} holds pickled Python objects, which are never unpickled; store numbers")
        options = _AS_STORED | {"chunks": None, "backend_kwargs": {"consolidated": False}}
        found = xarray.open_groups(path, engine="zarr", **options)
        found = {name: each[sorted(each.data_vars, key=str)] for name, each in found.items()}
        return _sample(found, source, selection, group)

    return _damage_reported(read, source, "Zarr folder")


def _xarray(kind: str, extra: str, engine: str) -> Any:
    """Import xarray and the package that it needs for a format."""
    imported(engine, f"{kind} needs the package {engine}, which", extra)
    return imported("xarray", f"{kind} needs the package xarray, which", extra)


def _damage_reported(read: Callable[[], Sample], source: str, kind: str) -> Sample:
    """Read a file, and convert errors of libraries to InputError.

    Libraries raise various errors for damaged files.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("default", ReadingWarning)
            return read()
    except SteinkitError:
        raise
    except Exception as error:
        raise InputError(f"{source} is not a valid {kind} ({str(error) or type(error).__name__})") from None


def _sample(groups: dict[str, Any], source: str, selection: Selection, group: str | None) -> Sample:
    """Return the draws in a group, given the datasets of all groups by their paths."""
    names = [path.strip("/") for path in groups if path != "/"]
    if group is None:
        group = _GROUP if _GROUP in names else ""
    elif group not in names:
        hint = did_you_mean(group, names) or f"; it has {listed(sorted(names)) or 'no groups'}"
        raise InputError(f'{source} has no group "{group}"{hint}')
    draws = from_dataset(groups[f"/{group}"], source)
    if group == _GROUP and STATS in names:
        with suppress(InputError):  # a group without statistics per draw
            draws = with_statistics(draws, groups[f"/{STATS}"])
    return draws.sample(selection)
