"""Read and write samples in any format: pick the format, then the bytes, then the reader or writer."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO

from steinkit.errors import InputError, OutputError, UsageError
from steinkit.files.csv_format import read_csv, write_csv
from steinkit.files.netcdf import read_netcdf, write_netcdf
from steinkit.files.numpy_format import read_npy, read_npz, write_npy, write_npz
from steinkit.files.stan import is_stan, read_stan
from steinkit.files.streams import Place, is_standard, name_of, read_bytes, write_bytes
from steinkit.sample import Sample


@dataclass(frozen=True)
class _Format:
    read: Callable[[bytes, str, Sequence[str] | None], Sample]
    write: Callable[[Sample, str], bytes] | None
    endings: tuple[str, ...]
    binary: bool = True


_FORMATS = {
    "csv": _Format(read_csv, write_csv, (".csv",), binary=False),
    "npz": _Format(read_npz, write_npz, (".npz",)),
    "npy": _Format(read_npy, write_npy, (".npy",)),
    "stan": _Format(read_stan, None, (), binary=False),
    "netcdf": _Format(read_netcdf, write_netcdf, (".nc", ".netcdf", ".h5")),
}


def read_sample(
    source: str | os.PathLike[str] | IO[str] | IO[bytes],
    *,
    format: str | None = None,
    columns: Sequence[str] | None = None,
) -> Sample:
    """Read a sample from a file.

    Parameters
    ----------
    source : path, "-" or open file
        ``"-"`` is standard input.
    format : {"csv", "npz", "npy", "stan", "netcdf"}, optional
        Found from the file's ending if not given: .csv, .npz, .npy, or .nc, .netcdf and .h5. A .csv that says
        in its leading comments that Stan wrote it is read as Stan's. A stream without such an ending is read
        as CSV.
    columns : sequence of str, optional
        Coordinates to keep, in this order; all of them if not given.

    Returns
    -------
    Sample
        The draws in the order of the file.

    Raises
    ------
    UsageError
        If the format is not one of those above, or not told by the file's ending.
    InputError
        If the file cannot be read or what it holds is no sample. The message names file, line and column, as
        far as the format has them.
    MissingDependencyError
        If the format needs a package that is not installed.
    """
    chosen = _format_of(source, format, "input")
    name = name_of(source, "input")
    data = read_bytes(source, binary=_FORMATS[chosen].binary)
    if not data:
        raise InputError(f"{name} is empty; a sample of at least one draw is wanted")
    if format is None and chosen == "csv" and is_stan(data):
        chosen = "stan"
    return _FORMATS[chosen].read(data, name, columns)


def write_sample(
    sample: Sample,
    destination: str | os.PathLike[str] | IO[str] | IO[bytes],
    *,
    format: str | None = None,
) -> None:
    """Write a sample to a file, so that `read_sample` gives it back to the last bit.

    A file is written beside the old one and then takes its place, so that a write that fails loses nothing.

    Parameters
    ----------
    sample : Sample
    destination : path, "-" or open file
        ``"-"`` is standard output.
    format : {"csv", "npz", "npy", "netcdf"}, optional
        Found from the file's ending if not given, as in `read_sample`; CSV for a stream without one.

    Raises
    ------
    UsageError
        If the format is unknown, or cannot hold all of this sample.
    OutputError
        If the file cannot be written; the message gives the reason.
    MissingDependencyError
        If the format needs a package that is not installed.
    """
    if not isinstance(sample, Sample):
        raise UsageError(f"a Sample is wanted; received {type(sample).__name__}: wrap draws as Sample(points=draws)")
    chosen = _format_of(destination, format, "output")
    name = name_of(destination, "output")
    write = _FORMATS[chosen].write
    if write is None:
        writable = [each for each, form in _FORMATS.items() if form.write is not None]
        raise UsageError(f'{name}: format "{chosen}" is read only; write {", ".join(writable)}')
    try:
        data = write(sample, name)
    except OSError as error:  # NetCDF is made in a temporary file
        if isinstance(error, OutputError):
            raise
        raise OutputError(f"{name} cannot be written: {error}; free space for temporary files") from error
    write_bytes(destination, data, binary=_FORMATS[chosen].binary)


def _format_of(place: Place, format: str | None, standard: str) -> str:
    if format is not None:
        if format not in _FORMATS:
            raise UsageError(f"format {format!r} is unknown; it must be one of {', '.join(_FORMATS)}")
        return format
    name = name_of(place, standard)
    ending = os.path.splitext(name)[1].lower()
    for known, form in _FORMATS.items():
        if ending in form.endings:
            return known
    if is_standard(place) or not isinstance(place, (str, os.PathLike)):
        return "csv"
    endings = ", ".join(
        f"{known} ({' '.join(form.endings) or 'a .csv that Stan wrote'})" for known, form in _FORMATS.items()
    )
    raise UsageError(
        f"{name}: the ending {ending!r} is that of no known format; rename the file, or pass format= (--format), "
        f"one of {endings}"
    )
