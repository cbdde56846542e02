"""The process that reads files for another one, which `grouped` starts: requests come in on standard input.

It reads draws in the groups of HDF5 files and Zarr folders, through xarray. What such a file says of other files is not
followed: a link, an external storage or a virtual dataset could make any file of this machine a sample. Nor is anything
decoded before a folder's metadata are looked at: Numcodecs has a codec that unpickles, which runs what the file likes
(versions before 0.16 do so unasked), shapes cost nothing to write down, and a symbolic link makes any file a chunk.
"""

from __future__ import annotations

import importlib
import io
import math
import operator
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeGuard

from steinkit.containers.objects import STATISTICS, STATS, from_dataset, with_statistics
from steinkit.errors import InputError, SteinkitError, did_you_mean, listed
from steinkit.files import streams
from steinkit.files.grouped import receive, send
from steinkit.files.numpy_format import write_npz
from steinkit.sample import Sample

_PACKAGES = {"netcdf": ("h5py", "h5netcdf"), "zarr": ("zarr",)}
_GROUP = "posterior"
_STATISTICS = (*STATISTICS, "chain", "draw")
_ARRAYS = ("zarr.json", ".zarray")
_MEMBERS = (*_ARRAYS, ".zgroup")
_METADATA = (*_MEMBERS, ".zattrs", ".zmetadata")
_ITEM = 8  # bytes, of numbers; a little too many for the shorter ones
_COPIES, _SPARE = 16, 2**28  # of numbers while they become a sample, or of JSON; and bytes for what the libraries need


def main() -> None:
    """Answer requests until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that asks decides
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # libraries may print what they like
    for package in _PACKAGES[sys.argv[1]]:  # which takes longest, before any file is waited for
        importlib.import_module(package)
    importlib.import_module("xarray").backends.list_engines()
    send(answers, "ready")
    with suppress(EOFError):
        while True:
            send(answers, *_answer(*receive(sys.stdin.buffer)))


def _answer(asked: dict[str, Any], data: bytes) -> tuple[dict[str, str], bytes]:
    for name in [each for each in os.environ if each.startswith("STEINKIT_MAX_")]:
        del os.environ[name]
    os.environ.update(asked["limits"])
    answer: dict[str, str] = {}
    packed = b""
    try:
        packed = write_npz(_READERS[asked["kind"]](data, asked["source"], **asked["request"]), asked["source"])
    except SteinkitError as error:
        answer = {"error": type(error).__name__, "message": str(error.args[0])}
    except MemoryError:
        said = f"{asked['source']} does not fit into memory, or unpacks to more than it says; read less"
        answer = {"error": InputError.__name__, "message": said}
    _end_beyond(math.inf)
    return answer, packed


def _end_beyond(size: float) -> None:
    """Let the system refuse memory beyond so many bytes more than there are: what is packed may say less than it is."""
    try:
        import resource

        used = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    except (ImportError, OSError):  # not on Windows and macOS
        return
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    most = used + int(size) if math.isfinite(size) else hard
    resource.setrlimit(resource.RLIMIT_DATA, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _read_hdf5(data: bytes, source: str, columns: Sequence[str] | None, group: str | None) -> Sample:
    """A sample from the bytes of a NetCDF 4 file."""
    import h5py
    import xarray

    with _damage_reported(source, "NetCDF file"):
        with h5py.File(io.BytesIO(data), "r") as file:
            _refuse_other_files(file, source)
            found = _group_to_read(group, [name for name, each in file.items() if isinstance(each, h5py.Group)], source)
            members = [*(file if found is None else file[found]).values()]
            if has_stats := found == _GROUP and isinstance(file.get(STATS), h5py.Group):
                members += [each for name, each in file[STATS].items() if name in _STATISTICS]
            datasets = [each for each in members if isinstance(each, h5py.Dataset)]
            numbers = [_padded(each.shape or (), each.chunks) for each in datasets]
            sizes = [each.dtype.itemsize for each in datasets]
            _require_size(sum(map(operator.mul, numbers, sizes)), len(data), source)
            _end_beyond(_SPARE + _COPIES * (sum(numbers) * _ITEM + len(data)))
        # decode_times=False: a parameter with the attribute units="seconds" stays a number.
        read = partial(xarray.open_dataset, engine="h5netcdf", decode_times=False, decode_timedelta=False)
        with read(io.BytesIO(data), group=found) as dataset:
            return _sample(dataset, source, columns, read(io.BytesIO(data), group=STATS) if has_stats else None)


def _read_zarr(data: bytes, source: str, columns: Sequence[str] | None, group: str | None, path: str) -> Sample:
    """A sample from a Zarr folder, its variables by name."""
    import xarray

    zarr: Any = importlib.import_module("zarr")  # an extra whose types are not at hand
    with _damage_reported(source, "Zarr folder"):
        arrays, stored = _harmless(Path(path), source)  # before the library opens any file
        groups = [name for name, _ in zarr.open_group(path, mode="r").groups()]
        found = _group_to_read(group, groups, source)
        read = Path(path) if found is None else Path(path, found)
        stats = Path(path, STATS) if found == _GROUP and STATS in groups else None
        unpacked = sum(
            _size(array)
            for place, array in arrays
            if place.parent == read or (place.parent == stats and place.name in _STATISTICS)
        )
        _require_size(unpacked, stored, source)
        _end_beyond(_SPARE + _COPIES * (unpacked + stored))
        opened = partial(
            xarray.open_dataset,
            path,
            engine="zarr",
            chunks=None,
            decode_times=False,
            decode_timedelta=False,
            backend_kwargs={"consolidated": False},
        )
        with opened(group=found) as dataset:
            # A folder keeps no order of its variables: it lists them as its file system does.
            ordered = dataset[sorted(dataset.data_vars, key=str)]
            return _sample(ordered, source, columns, None if stats is None else opened(group=STATS))


def _group_to_read(asked: str | None, groups: Sequence[str], source: str) -> str | None:
    """The group of a file that holds the draws; None for its root, where it has no posterior and none was asked for."""
    if asked is None:
        return _GROUP if _GROUP in groups else None
    if asked.split("/")[0] not in groups:
        hint = did_you_mean(asked, groups) or f"; it has {listed(groups) or 'none'}"
        raise InputError(f'{source} has no group "{asked}"{hint}')
    return asked


@contextmanager
def _damage_reported(source: str, kind: str) -> Iterator[None]:
    """What a library says of a file that it cannot read, as an error of the user's file."""
    try:
        yield
    except (SteinkitError, MemoryError):
        raise
    except Exception as error:  # a damaged file makes libraries raise anything
        reason = str(error) or type(error).__name__
        raise InputError(f"{source} is damaged or no {kind} ({reason}); write it again") from None


def _sample(dataset: Any, source: str, columns: Sequence[str] | None, stats: Any = None) -> Sample:
    """The draws of a dataset, whose labels are not written out where they are beyond number."""
    lead = {"chain", "draw", *(dataset["draw"].dims if "draw" in dataset.coords else ())}
    entries = (
        math.prod(size for dim, size in each.sizes.items() if dim not in lead)
        for each in dataset.data_vars.values()
        if lead.intersection(each.dims)
    )
    streams.MAX_COLUMNS.require(sum(entries), source)
    draws = from_dataset(dataset, source)
    with suppress(InputError):  # of statistics without draws
        draws = draws if stats is None else with_statistics(draws, stats)
    return draws.sample(columns)


def _require_size(unpacked: int, stored: int, source: str) -> None:
    """Hold the arrays of a group to the limits, for nothing need be stored of what was never written."""
    streams.MAX_BYTES.require(unpacked, source, "unpacks to")
    streams.require_ratio(unpacked, stored, source)


def _padded(shape: Sequence[int], chunks: Sequence[int] | None) -> int:
    """Numbers of an array in whole chunks, as they are unpacked."""
    if not chunks or len(chunks) != len(shape):
        return math.prod(shape)
    return math.prod(-(-length // each) * each for length, each in zip(shape, chunks, strict=True))


def _refuse_other_files(file: Any, source: str) -> None:
    """Raise InputError if anything in an HDF5 file stands in another one."""
    import h5py

    seen, groups, members = set(), [("", file)], 0
    while groups:
        path, group = groups.pop()
        for name in group:
            members += 1
            streams.MAX_MEMBERS.require(members, source, "holds at least")
            where, link = f"{path}/{name}", group.get(name, getlink=True)
            if isinstance(link, h5py.ExternalLink):
                raise _elsewhere(source, where, f"a link into the file {link.filename}")
            if isinstance(link, h5py.SoftLink):
                continue  # to something that is met in its own place
            each = group[name]
            if isinstance(each, h5py.Group):
                address = h5py.h5o.get_info(each.id).addr
                if address not in seen:
                    seen.add(address)
                    groups.append((where, each))
            elif isinstance(each, h5py.Dataset):
                if each.is_virtual:
                    files = listed(sorted({part.file_name for part in each.virtual_sources()}), most=3)
                    raise _elsewhere(source, where, f"a virtual dataset, made of {files}")
                if each.external:
                    raise _elsewhere(source, where, f"stored outside, in {listed([each.external[0][0]])}")


def _elsewhere(source: str, where: str, what: str) -> InputError:
    return InputError(
        f'{source}: "{where.removeprefix("/")}" is {what}; other files are not read, for they could be any: copy the '
        "values into this one (h5repack, or load and save them)"
    )


def _harmless(folder: Path, source: str) -> tuple[list[tuple[Path, dict[str, Any]]], int]:
    """Raise InputError if a folder unpickles, leads to other files, or stores more than the limits.

    Returns
    -------
    list of (Path, dict)
        Where arrays and groups stand, and their metadata.
    int
        Bytes of all files.
    """
    stored = described = members = 0
    found = list[tuple[Path, dict[str, Any]]]()
    for place, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            streams.enclosed(Path(place), name)
        sizes = {name: Path(place, name).lstat().st_size for name in files}
        stored += sum(sizes.values())
        described += sum(size for name, size in sizes.items() if name in _METADATA)
        members += not sizes.keys().isdisjoint(_MEMBERS)
        streams.MAX_BYTES.require(stored, source)
        streams.MAX_BYTES.require(_COPIES * described, source, "has metadata that take")
        streams.MAX_MEMBERS.require(members, source, "holds at least")
        for name in files:
            if name not in _ARRAYS:
                continue
            where = Path(place, name).relative_to(folder)
            metadata = streams.parse_json(streams.read_enclosed(Path(place), name), f"{source}, {where}")
            if not isinstance(metadata, dict):
                raise InputError(f"{source}, {where} is not a JSON object; write it again")
            if any("pickle" in str(codec.get(key)) for codec in _codecs(metadata) for key in ("id", "name")):
                raise InputError(
                    f'{source}: "{where.parent}" holds pickled Python objects, which are never unpickled; store arrays '
                    "of numbers"
                )
            found.append((Path(place), metadata))
    return found, stored


def _codecs(found: Any) -> Iterator[Any]:
    """Everything in an array's metadata that may name a codec, however deep in others; attributes name none."""
    for key in ("filters", "compressor", "codecs", "index_codecs", "configuration"):
        inner = found.get(key)
        for each in inner if isinstance(inner, list) else [inner]:
            if isinstance(each, dict):
                yield each
                yield from _codecs(each)


def _size(array: dict[str, Any]) -> int:
    """Bytes that the numbers of an array take; none of a group, or of something that zarr itself will refuse."""
    shape = array.get("shape")
    if not _are_lengths(shape, 0):
        return 0
    grid = array.get("chunk_grid")
    inner = grid.get("configuration") if isinstance(grid, dict) else None
    chunks = inner.get("chunk_shape") if isinstance(inner, dict) else array.get("chunks")
    return _padded(shape, chunks if _are_lengths(chunks, 1) else None) * _ITEM


def _are_lengths(found: Any, least: int) -> TypeGuard[list[int]]:
    return isinstance(found, list) and all(type(each) is int and each >= least for each in found)


_READERS: Mapping[str, Callable[..., Sample]] = {"netcdf": _read_hdf5, "zarr": _read_zarr}

if __name__ == "__main__":
    main()
