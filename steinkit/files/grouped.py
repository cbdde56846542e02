"""Samples as NetCDF and Zarr, the formats of InferenceData in ArviZ and PyMC; xarray reads both.

The draws stand in the group ``posterior``, unless another group is named, or in the root of a file without a posterior.
A group is read as `as_sample` reads a dataset in memory: every variable with the dimensions ``chain`` and ``draw``,
no others; further dimensions are flattened into names by their labels, ``theta[Choate]``, or by position,
``Sigma[0,1]``, where labels do not tell entries apart. ``score:NAME`` is the score of NAME; ``weight`` and ``cost`` are
parameters like any other, except in files that steinkit wrote, whose attributes say so.

Zarr folders are only read; their variables come in the order of their names, because a folder keeps no order.

The metadata are examined before any number is decoded: shapes and chunks are held to the limits on sample files, links
to other files are refused (a link, an external storage or a virtual dataset could make any file a sample), and so is
the codec of Numcodecs that unpickles. The libraries themselves are trusted: a file that was crafted to exploit a
defect of HDF5, or a chunk that holds more than its metadata say, may crash the process or exhaust its memory.
"""

from __future__ import annotations

import io
import math
import os
import re
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from steinkit.containers.columns import COLUMNS_BESIDE, columns_of
from steinkit.containers.objects import LABELS, RESERVED, STATISTICS, STATS, from_dataset, with_statistics
from steinkit.errors import InputError, SteinkitError, UsageError, did_you_mean, imported, listed
from steinkit.files.streams import (
    MAX_BYTES,
    MAX_COLUMNS,
    MAX_MEMBERS,
    ZARR_MARKS,
    is_zarr,
    parse_json,
    read_bytes,
    require_ratio,
)
from steinkit.sample import Integers, Sample, rectangle

_GROUP = "posterior"
# NetCDF forbids control characters, slashes and blanks at the end, HDF5 also "." alone and half characters.
_UNFIT = re.compile(r"[\x00-\x1f\x7f/\ud800-\udfff]|\s\Z|\A\.*\Z")
_HDF5 = b"\x89HDF\r\n\x1a\n"
_ARRAYS = (".zarray", "zarr.json")
_METADATA = (*_ARRAYS, ".zgroup", ".zattrs", ".zmetadata")
_PARSED = 16  # bytes of memory for each byte of JSON


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
        Group that holds the draws; if not given, the posterior, or the root of a file without one.

    Raises
    ------
    InputError
        If the file is not NetCDF 4, holds no variable over chain and draw, or chains of unequal length.
    MissingDependencyError
        If xarray or h5netcdf is not installed (``pip install 'steinkit[netcdf]'``).
    """
    xarray, h5py = _libraries("NetCDF", "netcdf", "xarray", "h5py", "h5netcdf")
    if not data.startswith(_HDF5):
        kind = (
            "a NetCDF 3 file; convert it to NetCDF 4 (nccopy -k nc4)"
            if data.startswith(b"CDF")
            else "no NetCDF 4 (HDF5) file; say with format= (--format) what it is"
        )
        raise InputError(f"{source} is {kind}")
    with _damage_reported(source, "NetCDF file"):
        with h5py.File(io.BytesIO(data), "r") as file:
            _refuse_other_files(file, source)
            found = _group_to_read(group, [name for name, each in file.items() if isinstance(each, h5py.Group)], source)
            stats = STATS if found == _GROUP and isinstance(file.get(STATS), h5py.Group) else None
            members = [*file[found or "/"].values(), *(file[STATS].get(name) for name in STATISTICS if stats)]
            arrays = [each for each in members if isinstance(each, h5py.Dataset)]
            _require_size((_padded(each.shape or (), each.chunks, each.dtype) for each in arrays), len(data), source)
        opened = partial(xarray.open_dataset, io.BytesIO(data), engine="h5netcdf", **_AS_STORED)
        return _read(opened, found, stats, source, columns)


def write_netcdf(sample: Sample, target: str) -> bytes:
    """Write a sample as the group ``posterior`` of a NetCDF 4 file, one variable a column.

    Raises
    ------
    UsageError
        If the chains do not form a rectangle, or a name cannot be one of a variable.
    MissingDependencyError
        If xarray or h5netcdf is not installed.
    """
    xarray, _ = _libraries("NetCDF", "netcdf", "xarray", "h5py", "h5netcdf")
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
        Group that holds the draws; if not given, the posterior, or the root of a folder without one.

    Raises
    ------
    InputError
        If the folder is not a Zarr folder, or holds no draws.
    MissingDependencyError
        If xarray or zarr is not installed (``pip install 'steinkit[zarr]'``).
    """
    xarray, zarr = _libraries("Zarr", "zarr", "xarray", "zarr")
    if not path.exists():
        raise InputError(f"{source} does not exist; check the path")
    if not is_zarr(path):
        raise InputError(f"{source} is not a Zarr folder: none of {', '.join(ZARR_MARKS)} is in it; check the path")
    with _damage_reported(source, "Zarr folder"):
        arrays, stored = _harmless(path, source)
        groups = [each.name for each in path.iterdir() if each.is_dir() and each not in arrays]
        found = _group_to_read(group, groups, source)
        stats = STATS if found == _GROUP and STATS in groups else None
        read = [each for each in arrays if each.parent == path / (found or "")]
        read += [path / STATS / name for name in STATISTICS if stats and path / STATS / name in arrays]
        opened = (zarr.open_array(each, mode="r") for each in read)
        sizes = (_padded(each.shape, getattr(each, "shards", None) or each.chunks, each.dtype) for each in opened)
        _require_size(sizes, stored, source)
        options = _AS_STORED | {"chunks": None, "backend_kwargs": {"consolidated": False}}
        return _read(partial(xarray.open_dataset, path, engine="zarr", **options), found, stats, source, columns)


# A parameter with the attribute units="seconds" stays a number.
_AS_STORED = {"decode_times": False, "decode_timedelta": False}


def _libraries(kind: str, extra: str, *packages: str) -> Any:
    """The first two of the packages that a format needs, all of them imported."""
    return [imported(each, f"{kind} needs the package {each}, which", extra) for each in packages][:2]


def _group_to_read(asked: str | None, groups: Sequence[str], source: str) -> str | None:
    """The group that holds the draws; None for the root of a file without a posterior, unless a group is named."""
    if asked is None:
        return _GROUP if _GROUP in groups else None
    if asked.split("/")[0] not in groups:
        hint = did_you_mean(asked, groups) or f"; it has {listed(sorted(groups)) or 'none'}"
        raise InputError(f'{source} has no group "{asked}"{hint}')
    return asked


@contextmanager
def _damage_reported(source: str, kind: str) -> Iterator[None]:
    """Raise whatever a library says of a file that it cannot read as InputError, and leave its warnings out."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except SteinkitError:
        raise
    except Exception as error:  # a damaged file makes libraries raise anything
        reason = str(error) or type(error).__name__
        raise InputError(f"{source} is damaged or no {kind} ({reason}); write it again") from None


def _read(
    opened: partial[Any], group: str | None, stats: str | None, source: str, columns: Sequence[str] | None
) -> Sample:
    """The draws of a group; their columns are counted before the labels are written out."""
    with opened(group=group) as dataset:
        if opened.keywords["engine"] == "zarr":  # whose variables come as the file system lists them
            dataset = dataset[sorted(dataset.data_vars, key=str)]
        lead = {"chain", "draw", *(dataset["draw"].dims if "draw" in dataset.coords else ())}
        entries = (
            math.prod(size for dim, size in each.sizes.items() if dim not in lead)
            for each in dataset.data_vars.values()
            if lead.intersection(each.dims)
        )
        MAX_COLUMNS.require(sum(entries), source)
        draws = from_dataset(dataset, source)
        if stats is not None:
            with suppress(InputError), opened(group=stats) as statistics:  # of a group without statistics of draws
                draws = with_statistics(draws, statistics)
        return draws.sample(columns)


def _padded(shape: Sequence[int], chunks: Sequence[int] | None, dtype: Any) -> int:
    """Bytes of an array in whole chunks, which are unpacked whole."""
    whole = (-(-length // each) * each for length, each in zip(shape, chunks or shape, strict=True) if each)
    return math.prod(whole) * int(dtype.itemsize)


def _require_size(sizes: Iterable[int], stored: int, source: str) -> None:
    """Hold the arrays of a group to the limits: values that were never written take no room in a file."""
    unpacked = sum(sizes)
    MAX_BYTES.require(unpacked, source, "unpacks to")
    require_ratio(unpacked, stored, source)


def _refuse_other_files(file: Any, source: str) -> None:
    """Raise InputError if anything in an HDF5 file stands in another one."""
    import h5py

    most, links = MAX_MEMBERS.value, list[tuple[str, Any]]()

    def look(name: str, link: Any) -> bool | None:
        links.append((name, link))
        return len(links) > most or None  # None goes on

    file.visititems_links(look)
    MAX_MEMBERS.require(len(links), source, "holds at least")
    for name, link in links:
        if isinstance(link, h5py.ExternalLink):
            raise _elsewhere(source, name, f"a link into the file {link.filename}")
        each = file[name] if isinstance(link, h5py.HardLink) else None  # a soft link leads to a member of its own
        if isinstance(each, h5py.Dataset) and each.is_virtual:
            files = listed(sorted({part.file_name for part in each.virtual_sources()}), most=3)
            raise _elsewhere(source, name, f"a virtual dataset, made of {files}")
        if isinstance(each, h5py.Dataset) and each.external:
            raise _elsewhere(source, name, f"stored outside, in {listed([each.external[0][0]])}")


def _elsewhere(source: str, where: str, what: str) -> InputError:
    return InputError(
        f'{source}: "{where}" is {what}; other files are not read, for they could be any: copy the '
        "values into this one (h5repack, or load and save them)"
    )


def _harmless(folder: Path, source: str) -> tuple[list[Path], int]:
    """Raise InputError if a folder unpickles, leads to other files, or stores more than the limits.

    Returns
    -------
    list of Path
        The folder of each array.
    int
        Bytes of all files.
    """
    stored = described = members = 0
    arrays = list[Path]()
    for place, folders, files in os.walk(folder):
        for path in (Path(place, name) for name in [*folders, *files]):
            if path.is_symlink() or not (path.is_file() or path.is_dir()):
                raise InputError(f"{path} is a link, a pipe or a device, and is not read; copy what it leads to")
        sizes = {name: Path(place, name).lstat().st_size for name in files}
        stored += sum(sizes.values())
        described += sum(size for name, size in sizes.items() if name in _METADATA)
        members += not sizes.keys().isdisjoint(_METADATA)
        MAX_BYTES.require(stored, source)
        MAX_BYTES.require(_PARSED * described, source, "has metadata that take")
        MAX_MEMBERS.require(members, source, "holds at least")
        where = Path(place).relative_to(folder)
        if sizes.keys() >= set(_ARRAYS):
            raise InputError(f'{source}: "{where}" has metadata of two versions of Zarr; delete those of one')
        for name in sizes.keys() & set(_ARRAYS):
            metadata = parse_json(read_bytes(Path(place, name), binary=True), f"{source}, {where / name}")
            if not isinstance(metadata, dict):
                raise InputError(f"{source}, {where / name} is not a JSON object; write it again")
            if any("pickle" in str(metadata.get(key)) for key in ("filters", "compressor", "codecs")):
                raise InputError(
                    f'{source}: "{where}" holds pickled Python objects, which are never unpickled; store arrays of '
                    "numbers"
                )
            if metadata.get("node_type") != "group":
                arrays.append(Path(place))
    return arrays, stored
