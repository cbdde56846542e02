"""Samples as Zarr, the folders that ArviZ writes InferenceData to (``idata.to_zarr``); read only, through xarray.

What is read of a group is what is read of one in NetCDF: see `netcdf`.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from steinkit.containers.xarray_objects import from_dataset
from steinkit.errors import InputError, MissingDependencyError
from steinkit.files.netcdf import damage_reported, group_to_read
from steinkit.sample import Sample

_MARKS = ("zarr.json", ".zgroup", ".zmetadata")  # of version 3, and of version 2


def is_zarr(path: Path) -> bool:
    """Whether a path is a folder in which Zarr keeps groups."""
    return path.is_dir() and any((path / mark).is_file() for mark in _MARKS)


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
    xarray, zarr = _packages()
    if not path.exists():
        raise InputError(f"{source} does not exist; check the path")
    if not is_zarr(path):
        raise InputError(f"{source} is no Zarr folder: none of {', '.join(_MARKS)} is in it; check the path")
    with damage_reported(source, "Zarr folder"):
        groups = [name for name, _ in zarr.open_group(str(path), mode="r").groups()]
        found = group_to_read(group, groups, source)
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
            return from_dataset(dataset, source).sample(columns)


def _packages() -> tuple[Any, Any]:
    try:
        return importlib.import_module("xarray"), importlib.import_module("zarr")
    except ImportError as error:
        raise MissingDependencyError(
            f"Zarr needs the packages xarray and zarr ({error}); pip install 'steinkit[zarr]'"
        ) from None
