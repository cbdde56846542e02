"""Samples as Zarr, the folders that ArviZ writes InferenceData to (``idata.to_zarr``); read only, through xarray.

What is read of a group is what is read of one in NetCDF: see `netcdf`. Its variables come in the order of their names,
since a folder keeps none.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from steinkit.errors import InputError
from steinkit.files.reader_process import read_in_child, require_installed
from steinkit.files.zarr_metadata import MARKS
from steinkit.sample import Sample


def is_zarr(path: Path) -> bool:
    """Whether a path is a folder in which Zarr keeps groups."""
    return path.is_dir() and any((path / mark).is_file() for mark in MARKS)


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
    for name in ("xarray", "zarr"):
        require_installed(name, "Zarr", "zarr")
    if not path.exists():
        raise InputError(f"{source} does not exist; check the path")
    if not is_zarr(path):
        raise InputError(f"{source} is no Zarr folder: none of {', '.join(MARKS)} is in it; check the path")
    size = sum(each.stat().st_size for each in path.rglob("*") if each.is_file())
    return read_in_child("zarr", source, size=size, path=str(path.absolute()), columns=columns, group=group)
