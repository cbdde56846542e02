"""Samples in files: CSV, NPZ, NPY, Stan CSV, NetCDF and Zarr.

The layers, lowest first: `streams` moves bytes in and out; one module a format turns bytes into a `Sample` and back;
`read_sample` and `write_sample` pick the format. Several files are the chains of one sample. What columns mean is said
in `containers`, for a table in memory means the same.
"""

from __future__ import annotations

import glob
import gzip
import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np

from steinkit.containers.columns import make_sample
from steinkit.errors import InputError, OutputError, UsageError, listed
from steinkit.files.streams import Place, is_standard, is_zarr, name_of, opened, unpacked, write_bytes
from steinkit.sample import BESIDE, Integers, Sample


@dataclass(frozen=True)
class _Format:
    """Which module reads and writes samples of a format, loaded when it does, and the endings of its files' names.

    Draws in a text are read from a stream, line by line, so that a large file is never in memory as a whole; those of
    other formats from bytes, or from a folder. Of formats with groups the reader takes the group, too.
    """

    module: str
    endings: tuple[str, ...]
    is_binary: bool = True
    is_folder: bool = False
    has_groups: bool = False
    is_written: bool = True

    def function(self, name: str) -> Callable[..., Any]:
        """``read_`` or ``write_`` of a format; the first lines of its docstring stand in the list of formats."""
        return getattr(import_module(f"steinkit.files.{self.module}"), name)  # type: ignore[no-any-return]


FORMATS = {
    "csv": _Format("csv_format", (".csv",), is_binary=False),
    "npz": _Format("numpy_format", (".npz",)),
    "npy": _Format("numpy_format", (".npy",)),
    "stan": _Format("stan", (), is_binary=False, is_written=False),
    "netcdf": _Format("grouped", (".nc", ".netcdf", ".h5"), has_groups=True),
    "zarr": _Format("grouped", (".zarr",), is_folder=True, has_groups=True, is_written=False),
}
_HEAD = 2**20  # bytes; the comments in front of what Stan wrote fit into it
_LEADING_COMMENTS = re.compile(rb"(?:\xef\xbb\xbf)?(?:\s*#[^\n]*\n)+")


def format_names() -> tuple[str, ...]:
    """The formats, as `read_sample` and the command line name them."""
    return tuple(FORMATS)


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
        The draws in the order of the file. A `ReadingWarning` says which columns of a table were taken for a sampler's
        labels and diagnostics, or for row names.

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
    chosen, name = _format_of(source, format, "input"), name_of(source, "input")
    form = FORMATS[chosen]
    if group is not None and not form.has_groups:
        raise UsageError(f"{name}: {chosen} has no groups; leave out group= (--group), or name a NetCDF or Zarr file")
    options = {"group": group} if form.has_groups else {}
    read = form.function(f"read_{chosen}")
    if form.is_folder:
        if is_standard(source) or not isinstance(source, str | os.PathLike):
            raise UsageError(f"{name}: Zarr is a folder, which no stream carries; name its path")
        return read(Path(source), name, columns, **options)  # type: ignore[no-any-return]
    with opened(source, binary=form.is_binary) as file:
        stream = unpacked(file, name)
        head = stream.read(_HEAD)
        if not head:
            raise InputError(f"{name} is empty; a sample of at least one draw is wanted")
        stream.seek(0)
        if format is None and chosen == "csv" and is_stan(head):
            read, chosen = FORMATS["stan"].function("read_stan"), "stan"
        return read(stream if chosen == "csv" else stream.read(), name, columns, **options)  # type: ignore[no-any-return]


def is_stan(data: bytes) -> bool:
    """Whether the comments before the header say that Stan wrote this file."""
    comments = _LEADING_COMMENTS.match(data)
    return comments is not None and re.search(rb"stan_version_major|Generated by Stan", comments[0]) is not None


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
    if not FORMATS[chosen].is_written:
        writable = [each for each, form in FORMATS.items() if form.is_written]
        raise UsageError(f'{name}: format "{chosen}" is read only; write {", ".join(writable)}')
    try:
        data = FORMATS[chosen].function(f"write_{chosen}")(sample, name)
    except OSError as error:  # NetCDF is made in a temporary file
        if isinstance(error, OutputError):
            raise
        raise OutputError(f"{name} cannot be written: {error}; free space for temporary files") from error
    packed = name.lower().endswith(".gz")
    # without the time, so that the same sample makes the same file
    write_bytes(
        destination,
        gzip.compress(data, mtime=0) if packed else data,
        binary=packed or FORMATS[chosen].is_binary,
    )


def _format_of(place: Place, format: str | None, standard: str) -> str:
    if format is not None:
        if not isinstance(format, str) or format not in FORMATS:
            raise UsageError(f"format {format!r} is unknown; it must be one of {', '.join(FORMATS)}")
        return format
    name = name_of(place, standard)
    ending = os.path.splitext(re.sub(r"\.gz\Z", "", name.rstrip("/"), flags=re.IGNORECASE))[1].lower()
    for known, form in FORMATS.items():
        if ending in form.endings:
            return known
    if is_standard(place) or not isinstance(place, (str, os.PathLike)):
        return "csv"
    if is_zarr(Path(place)):
        return "zarr"
    if Path(place).is_dir():
        raise UsageError(f"{name} is a folder; name a file of draws, such as {os.path.join(name, 'draws.csv')}")
    endings = ", ".join(
        f"{known} ({' '.join(form.endings) or 'a .csv that Stan wrote'})" for known, form in FORMATS.items()
    )
    raise UsageError(
        f"{name}: the ending {ending!r} is that of no known format; rename the file, or pass format= (--format), "
        f"one of {endings}"
    )


def matching_files(path: str | os.PathLike[str]) -> list[str]:
    """The files that a pattern such as ``fit-*.csv`` matches, in the order of the numbers in their names.

    A path without ``*`` or ``?``, or of a file that is there, is no pattern, and matches nothing.
    """
    text = os.fspath(path)
    if not ("*" in text or "?" in text) or Path(text).exists():
        return []
    return sorted(glob.glob(text), key=_by_number)


def join_chains(samples: Sequence[Sample], sources: Sequence[str]) -> Sample:
    """Samples one after the other, each with chains of its own.

    Chains keep their labels where no two files share one; else they are numbered from 0, in the order of the files.

    Parameters
    ----------
    samples : sequence of Sample
        With the same coordinates, in any order: that of the first is taken.
    sources : sequence of str
        Names of the files, for messages.

    Raises
    ------
    InputError
        If the coordinates' names differ, or some have weights, scores or costs and others none.
    """
    first = samples[0]
    for sample, source in zip(samples, sources, strict=True):
        if stray := [name for name in (*first.names, *sample.names) if (name in first.names) != (name in sample.names)]:
            raise InputError(
                f"{sources[0]} and {source} do not have the same coordinates: only one of them has "
                f"{listed(stray, most=3)}; chains of one sample have, choose with columns= (--columns)"
            )
    ordered = [each if each.names == first.names else each.select(first.names) for each in samples]
    fields: dict[str, Any] = {"points": np.concatenate([each.points for each in ordered])}
    for name in (*BESIDE, "scores"):
        found = [getattr(each, name) for each in ordered]
        without = [source for values, source in zip(found, sources, strict=True) if values is None]
        if not without:
            fields[name] = np.concatenate(found)
        elif len(without) < len(sources):
            with_one = next(source for source in sources if source not in without)
            raise InputError(
                f"{with_one} holds {name} and {without[0]} none; chains of one sample must all have them, or none"
            )
    chains = _chains(ordered)
    draws = [_draws(each, chain) for each, chain in zip(ordered, chains, strict=True)]
    return make_sample(
        f"{sources[0]} to {sources[-1]}",
        **fields,
        chain=np.concatenate(chains),
        draw=np.concatenate(draws),
        names=first.names,
    )


def _by_number(name: str) -> list[tuple[int, str]]:
    """``fit-2`` before ``fit-10``."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def _chains(samples: Sequence[Sample]) -> list[Integers]:
    """Labels of the chains of each sample, different from those of every other."""
    labels = [np.zeros(len(each), dtype=np.int64) if each.chain is None else each.chain for each in samples]
    distinct = [np.unique(each) for each in labels]
    if all(each.chain is not None for each in samples) and len(np.unique(np.concatenate(distinct))) == sum(
        map(len, distinct)
    ):
        return labels
    begins = np.cumsum([0, *map(len, distinct[:-1])])
    return [begin + np.searchsorted(known, each) for begin, known, each in zip(begins, distinct, labels, strict=True)]


def _draws(sample: Sample, chain: Integers) -> Integers:
    """Numbers of the draws within each chain, counted in their order where nobody numbered them."""
    if sample.draw is not None:
        return sample.draw
    numbers = np.empty(len(sample), dtype=np.int64)
    for label in np.unique(chain):
        rows = np.flatnonzero(chain == label)
        numbers[rows] = np.arange(len(rows))
    return numbers
