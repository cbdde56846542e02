"""Read and write samples in any format: pick the format, then the bytes, then the reader or writer."""

from __future__ import annotations

import gzip
import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO

from steinkit.arguments import checked
from steinkit.errors import InputError, OutputError, UsageError
from steinkit.files.chain_files import join_chains, matching_files
from steinkit.files.csv_format import read_csv, write_csv
from steinkit.files.netcdf import read_netcdf, write_netcdf
from steinkit.files.numpy_format import read_npy, read_npz, write_npy, write_npz
from steinkit.files.stan import is_stan, read_stan
from steinkit.files.streams import Place, is_standard, name_of, opened, write_bytes
from steinkit.files.unpacking import unpacked
from steinkit.files.zarr_format import is_zarr, read_zarr
from steinkit.sample import Sample


@dataclass(frozen=True)
class _Format:
    read: Callable[[bytes, str, Sequence[str] | None], Sample] | None
    write: Callable[[Sample, str], bytes] | None
    endings: tuple[str, ...]
    binary: bool = True
    # one that is read line by line, so that a large file is never in memory as a whole
    read_text: Callable[[BinaryIO, str, Sequence[str] | None], Sample] | None = None
    # one that keeps draws in groups: read from bytes, or from a folder
    read_group: Callable[[bytes, str, Sequence[str] | None, str | None], Sample] | None = None
    read_folder: Callable[[Path, str, Sequence[str] | None, str | None], Sample] | None = None


_FORMATS = {
    "csv": _Format(None, write_csv, (".csv",), binary=False, read_text=read_csv),
    "npz": _Format(read_npz, write_npz, (".npz",)),
    "npy": _Format(read_npy, write_npy, (".npy",)),
    "stan": _Format(read_stan, None, (), binary=False),
    "netcdf": _Format(None, write_netcdf, (".nc", ".netcdf", ".h5"), read_group=read_netcdf),
    "zarr": _Format(None, None, (".zarr",), read_folder=read_zarr),
}
_HEAD = 2**20  # bytes; the comments in front of what Stan wrote fit into it


@checked
def read_sample(
    source: Place | Sequence[Place],
    *,
    format: str | None = None,
    columns: Sequence[str] | None = None,
    group: str | None = None,
) -> Sample:
    """Read a sample from a file, or from several that hold its chains.

    Parameters
    ----------
    source : path, "-" or open file, or a sequence of these
        ``"-"`` is standard input. The files of a sequence, or that a pattern such as ``"fit-*.csv"`` matches, are
        chains of one sample, as Stan writes them; they keep their chain labels where no two files share one, and are
        numbered from 0 else. Files that end in .gz are unpacked.
    format : {"csv", "npz", "npy", "stan", "netcdf", "zarr"}, optional
        Found from the file's ending if not given: .csv, .npz, .npy, .zarr, or .nc, .netcdf and .h5. A .csv that says
        in its leading comments that Stan wrote it is read as Stan's. A stream without such an ending is read
        as CSV.
    columns : sequence of str, optional
        Coordinates to keep, in this order; ``"theta"`` stands for all entries of theta. All of them if not given.
    group : str, optional
        Which group of a NetCDF file or Zarr folder; the posterior if not given.

    Returns
    -------
    Sample
        The draws in the order of the file.

    Raises
    ------
    UsageError
        If the format is not one of those above, or not told by the file's ending, or has no groups and one is named.
    InputError
        If the file cannot be read or what it holds is no sample. The message names file, line and column, as
        far as the format has them.
    MissingDependencyError
        If the format needs a package that is not installed.
    """
    sources = _sources(source)
    samples = [_read_one(each, format, columns, group) for each in sources]
    return samples[0] if len(samples) == 1 else join_chains(samples, [name_of(each, "input") for each in sources])


def _sources(source: Place | Sequence[Place]) -> list[Place]:
    """The files that are meant, each once."""
    given: list[Any] = list(source) if isinstance(source, list | tuple) else [source]
    if not given:
        raise UsageError("no file was named; name one, or several that hold the chains of one sample")
    found: list[Place] = []
    for each in given:
        matches = matching_files(each) if isinstance(each, str | os.PathLike) else []
        found += matches or [each]
    counts = Counter(os.fspath(each) for each in found if isinstance(each, str | os.PathLike))
    twice = next((name for name, count in counts.items() if count > 1), None)
    if twice is not None:
        raise UsageError(f"{twice} is named twice; chains are different files")
    return found


def _read_one(source: Place, format: str | None, columns: Sequence[str] | None, group: str | None) -> Sample:
    chosen = _format_of(source, format, "input")
    form, name = _FORMATS[chosen], name_of(source, "input")
    if group is not None and form.read_group is None and form.read_folder is None:
        raise UsageError(f"{name}: {chosen} has no groups; leave out group= (--group), or name a NetCDF or Zarr file")
    if form.read_folder is not None:
        if is_standard(source) or not isinstance(source, str | os.PathLike):
            raise UsageError(f"{name}: Zarr is a folder, which no stream carries; name its path")
        return form.read_folder(Path(source), name, columns, group)
    with opened(source, binary=form.binary) as file, unpacked(file, name) as stream:
        head = stream.read(_HEAD)
        if not head:
            raise InputError(f"{name} is empty; a sample of at least one draw is wanted")
        if format is None and chosen == "csv" and is_stan(head):
            form = _FORMATS["stan"]
        stream.seek(0)
        if form.read_text is not None:
            return form.read_text(stream, name, columns)
        data = stream.read()
    if form.read_group is not None:
        return form.read_group(data, name, columns, group)
    assert form.read is not None
    return form.read(data, name, columns)


@checked
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
        With all that it stores: weights, scores, cost, labels and names.
    destination : path, "-" or open file
        ``"-"`` is standard output.
    format : {"csv", "npz", "npy", "netcdf"}, optional
        Found from the file's ending if not given, as in `read_sample`; CSV for a stream without one. A name that ends
        in .gz has the file packed by gzip.

    Raises
    ------
    UsageError
        If the format is unknown, or cannot hold all of this sample.
    OutputError
        If the file cannot be written; the message gives the reason.
    MissingDependencyError
        If the format needs a package that is not installed.
    """
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
    packed = name.lower().endswith(".gz")
    # without the time, so that the same sample makes the same file
    write_bytes(
        destination,
        gzip.compress(data, mtime=0) if packed else data,
        binary=packed or _FORMATS[chosen].binary,
    )


def _format_of(place: Place, format: str | None, standard: str) -> str:
    if format is not None:
        if format not in _FORMATS:
            raise UsageError(f"format {format!r} is unknown; it must be one of {', '.join(_FORMATS)}")
        return format
    name = name_of(place, standard)
    ending = os.path.splitext(re.sub(r"\.gz\Z", "", name.rstrip("/"), flags=re.IGNORECASE))[1].lower()
    for known, form in _FORMATS.items():
        if ending in form.endings:
            return known
    if is_standard(place) or not isinstance(place, (str, os.PathLike)):
        return "csv"
    if is_zarr(Path(place)):
        return "zarr"
    if Path(place).is_dir():
        raise UsageError(f"{name} is a folder; name a file of draws, such as {os.path.join(name, 'draws.csv')}")
    endings = ", ".join(
        f"{known} ({' '.join(form.endings) or 'a .csv that Stan wrote'})" for known, form in _FORMATS.items()
    )
    raise UsageError(
        f"{name}: the ending {ending!r} is that of no known format; rename the file, or pass format= (--format), "
        f"one of {endings}"
    )
