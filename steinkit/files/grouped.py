"""Readers and writers for NetCDF and Zarr, the formats of ArviZ's InferenceData.

Files are read with xarray. The draws are read from the group ``posterior`` or from another group that the user selects.
In a file without a posterior group, the draws may be in the root group. A group is converted like a dataset in memory
(`steinkit.as_sample`). The variable ``score:NAME`` is the score of NAME. The variables ``weight`` and ``cost`` are
treated as parameters, except in files written by steinkit. An attribute of these files lists the variables that are not
parameters.

Zarr folders can be read but not written. Zarr does not preserve the order of the variables, so the variables are sorted
by name.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from steinkit.containers.columns import ALL, LABELS, PER_DRAW_COLUMNS, Selection, columns_of
from steinkit.containers.objects import LABELS_MARK, PER_DRAW_MARK, from_groups
from steinkit.errors import InputError, ReadingWarning, UsageError, import_extra
from steinkit.files.streams import ZARR_MARKS, damage_reported, is_zarr
from steinkit.sample import Integers, Sample, rectangle

# NetCDF forbids control characters, slashes and trailing blanks; HDF5 also forbids "." and lone surrogates
_UNFIT = re.compile(r"[\x00-\x1f\x7f/\ud800-\udfff]|\s\Z|\A\.*\Z")
_AS_STORED = {"decode_times": False, "decode_timedelta": False}  # keep values with units="seconds" as numbers


def read_netcdf(data: bytes, source: str, selection: Selection = ALL, group: str | None = None) -> Sample:
    """Read draws from a NetCDF 4 file, by default from the posterior group.

    Parameters
    ----------
    data : bytes
    source : str
        Name of the file, for messages.
    selection : Selection
        Variables without selected coordinates are not read.
    group : str, optional
        Group that contains the draws. The default is the posterior, or the root group of a file without a posterior.

    Raises
    ------
    InputError
        If the file is not a NetCDF 4 file, has no variable with the dimension ``draw``, or is damaged.
    MissingDependencyError
        If xarray or h5netcdf is not installed (``pip install -e '.[netcdf]'``).
    """
    xarray, _ = _packages("NetCDF", "netcdf", "h5netcdf")
    if data.startswith(b"CDF"):
        raise InputError(f"{source} is a NetCDF 3 file; convert it to NetCDF 4 (nccopy -k nc4)")

    _require_heaps(data, source)

    def open_groups() -> Any:
        return xarray.open_groups(io.BytesIO(data), engine="h5netcdf", **_AS_STORED)

    return _sample(open_groups, "NetCDF 4 file", source, selection, group)


def _require_heaps(data: bytes, source: str) -> None:
    """Reject damaged heaps of variable-length values.

    The HDF5 library would not return from reading a heap that contains a gap of size zero. A heap consists of objects
    with a header of 16 bytes: an index, which is 0 for a gap, and the size in bytes.
    """
    for match in re.finditer(rb"GCOL\x01\0\0\0", data):
        place = match.start() + 16
        end = min(match.start() + int.from_bytes(data[match.start() + 8 : place], "little"), len(data))
        while place + 16 <= end:
            index, size = data[place : place + 2], int.from_bytes(data[place + 8 : place + 16], "little")
            if index != b"\0\0":
                size = 16 + (size + 7) // 8 * 8
            if size == 0:
                raise InputError(f"{source} is not a valid NetCDF 4 file: a heap of variable-length values is damaged")
            place += size


def write_netcdf(sample: Sample, target: str) -> bytes:
    """Write a sample as the group ``posterior`` of a NetCDF 4 file.

    Each column of the sample becomes a variable.

    Raises
    ------
    UsageError
        If the chains have different lengths, or a name is not valid for a variable.
    MissingDependencyError
        If xarray or h5netcdf is not installed.
    """
    _, h5netcdf = _packages("NetCDF", "netcdf", "h5netcdf")
    chains, draws = _axes(sample, target)
    columns = columns_of(sample, reserved=LABELS)
    unfit = [name for name in columns if _UNFIT.search(name)]
    if unfit:
        raise UsageError(f"{target}: {unfit[0]!r} is not a valid NetCDF variable name; rename it or write .npz")
    stream = io.BytesIO()
    with h5netcdf.File(stream, "w") as file:
        posterior = file.create_group("posterior")
        posterior.dimensions = {"chain": len(chains), "draw": len(draws)}
        posterior.attrs[LABELS_MARK] = " ".join(name for name in LABELS if name in columns)
        stored = [name for name in PER_DRAW_COLUMNS if name in columns and name not in sample.names]
        posterior.attrs[PER_DRAW_MARK] = " ".join(stored)
        posterior.create_variable("chain", ("chain",), data=chains)
        posterior.create_variable("draw", ("draw",), data=draws)
        for name, column in columns.items():
            if name not in LABELS:
                posterior.create_variable(name, LABELS, data=column.reshape(len(chains), len(draws)))
    return stream.getvalue()


def _axes(sample: Sample, target: str) -> tuple[Integers, Integers]:
    """Return the labels of the chains and of the draws within a chain.

    By default, there is one chain with label 0, and draws are numbered from 0.
    """
    chain = sample.chain_labels
    draw = np.arange(len(sample)) % np.count_nonzero(chain == chain[0]) if sample.draw is None else sample.draw
    axes = rectangle(chain, draw)
    if axes is None:
        raise UsageError(
            f"{target}: NetCDF requires consecutive chains of equal length with the same draw labels; write .npz or "
            ".csv"
        )
    return axes


def read_zarr(path: Path, source: str, selection: Selection = ALL, group: str | None = None) -> Sample:
    """Read draws from a Zarr folder, by default from the posterior group.

    Parameters
    ----------
    path : Path
    source : str
        Name of the folder, for messages.
    selection : Selection
        Variables without selected coordinates are not read.
    group : str, optional
        Group that contains the draws. The default is the posterior, or the root group of a folder without a posterior.

    Raises
    ------
    InputError
        If the folder is not a Zarr folder, contains no draws, is damaged, or contains pickled Python objects.
    MissingDependencyError
        If xarray or zarr is not installed (``pip install -e '.[zarr]'``).
    """
    xarray, _ = _packages("Zarr", "zarr", "zarr")
    if not is_zarr(path):
        raise InputError(
            f"{source} is not a Zarr folder: expected it to contain one of the files {', '.join(ZARR_MARKS)}; check "
            "the path"
        )

    def open_groups() -> Any:
        metadata = [file for name in (".zarray", "zarr.json") for file in path.rglob(name)]
        if any(b"pickle" in file.read_bytes() for file in metadata):  # numcodecs would execute code in pickled objects
            raise InputError(
                f"{source} contains pickled Python objects, which are never unpickled; store numbers instead"
            )
        options = _AS_STORED | {"chunks": None, "backend_kwargs": {"consolidated": False}}
        found = xarray.open_groups(path, engine="zarr", **options)
        return {name: each[sorted(each.data_vars, key=str)] for name, each in found.items()}

    return _sample(open_groups, "Zarr folder", source, selection, group)


def _packages(kind: str, extra: str, engine: str) -> list[Any]:
    """Import xarray and the package that xarray requires for a format."""
    return [import_extra(name, f"{kind} needs the package {name}, which", extra) for name in ("xarray", engine)]


def _sample(
    open_groups: Callable[[], dict[str, Any]], kind: str, source: str, selection: Selection, group: str | None
) -> Sample:
    """Return the draws in one of the groups returned by ``open_groups``."""
    with damage_reported(f"{source} is not a valid {kind}"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", ReadingWarning)
        groups = {path.strip("/"): each for path, each in open_groups().items()}
        return from_groups(groups, "posterior" if group is None else group, source).sample(selection)
