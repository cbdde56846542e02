"""Draws in the groups of HDF5 files and Zarr folders, through xarray; for the process that reads them for another.

What such a file says of other files is not followed: a link, an external storage or a virtual dataset could make any
file of this machine a sample.
"""

from __future__ import annotations

import importlib
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from steinkit.containers.messages import listed
from steinkit.containers.xarray_objects import from_dataset
from steinkit.errors import InputError, SteinkitError, did_you_mean
from steinkit.files.zarr_metadata import require_harmless
from steinkit.limits import MAX_BYTES, MAX_COLUMNS, MAX_MEMBERS, require_ratio
from steinkit.sample import Sample

_GROUP = "posterior"


def read_hdf5(data: bytes, source: str, columns: Sequence[str] | None, group: str | None) -> Sample:
    """A sample from the bytes of a NetCDF 4 file."""
    import h5py
    import xarray

    with damage_reported(source, "NetCDF file"):
        with h5py.File(io.BytesIO(data), "r") as file:
            _refuse_other_files(file, source)
            found = group_to_read(group, [name for name, each in file.items() if isinstance(each, h5py.Group)], source)
            members = (file if found is None else file[found]).values()
            _require_size([each for each in members if isinstance(each, h5py.Dataset)], data, source)
        # decode_times=False: a parameter with the attribute units="seconds" stays a number.
        dataset = xarray.open_dataset(
            io.BytesIO(data), group=found, engine="h5netcdf", decode_times=False, decode_timedelta=False
        )
        with dataset:
            return _sample(dataset, source, columns)


def read_zarr_folder(path: str, source: str, columns: Sequence[str] | None, group: str | None) -> Sample:
    """A sample from a Zarr folder, its variables by name."""
    import xarray

    zarr: Any = importlib.import_module("zarr")  # an extra whose types are not at hand
    with damage_reported(source, "Zarr folder"):
        groups = [name for name, _ in zarr.open_group(path, mode="r").groups()]
        found = group_to_read(group, groups, source)
        require_harmless(Path(path), found, source)
        dataset = xarray.open_dataset(
            path,
            group=found,
            engine="zarr",
            chunks=None,
            decode_times=False,
            decode_timedelta=False,
            backend_kwargs={"consolidated": False},
        )
        with dataset:
            # A folder keeps no order of its variables: it lists them as its file system does.
            return _sample(dataset[sorted(dataset.data_vars, key=str)], source, columns)


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
    except (SteinkitError, MemoryError):
        raise
    except Exception as error:  # a damaged file makes libraries raise anything
        reason = str(error) or type(error).__name__
        raise InputError(f"{source} is damaged or no {kind} ({reason}); write it again") from None


def _sample(dataset: Any, source: str, columns: Sequence[str] | None) -> Sample:
    """The draws of a dataset, whose labels are not written out where they are beyond number."""
    lead = {"chain", "draw", *(dataset["draw"].dims if "draw" in dataset.coords else ())}
    entries = (
        math.prod(size for dim, size in each.sizes.items() if dim not in lead)
        for each in dataset.data_vars.values()
        if lead.intersection(each.dims)
    )
    MAX_COLUMNS.require(sum(entries), source)
    return from_dataset(dataset, source).sample(columns)


def _require_size(datasets: Iterable[Any], data: bytes, source: str) -> None:
    """Hold the arrays of a group to the limits, for nothing need be stored of what was never written."""
    size = sum(math.prod(each.shape or ()) * each.dtype.itemsize for each in datasets)
    MAX_BYTES.require(size, source, "unpacks to")
    require_ratio(size, len(data), source)


def _refuse_other_files(file: Any, source: str) -> None:
    """Raise InputError if anything in an HDF5 file stands in another one."""
    import h5py

    seen, groups, members = set(), [("", file)], 0
    while groups:
        path, group = groups.pop()
        for name in group:
            members += 1
            MAX_MEMBERS.require(members, source, "holds at least")
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
