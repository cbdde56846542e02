"""Readers and writers for text, NumPy, NetCDF, HDF5 and Zarr files.

Text tables include Stan CSV files and the chain files of other programs.

The module `streams` reads and writes bytes. Each format has a module that converts bytes to a `Sample` and back. The
functions `read_sample` and `write_sample` select the format. The chains of a sample may be stored in separate files.
Column names have the same meaning in files and data frames. The subpackage `containers` defines this meaning.
"""

from __future__ import annotations

import glob
import gzip
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from steinkit.containers.columns import Selection, first_repeated
from steinkit.containers.reading import with_chains
from steinkit.errors import InputError, UsageError, quoted
from steinkit.files.chain_files import chain_files, coda_index
from steinkit.files.csv_format import read_coda, read_csv, write_csv
from steinkit.files.grouped import read_netcdf, read_zarr, write_netcdf
from steinkit.files.hdf5 import MARK, is_of_sampler, read_hdf5
from steinkit.files.numpy_format import read_npy, read_npz, write_npy, write_npz
from steinkit.files.stan import read_stan
from steinkit.files.streams import Place, is_zarr, name_of, only_member, path_of, read_bytes, unpacked, write_bytes
from steinkit.sample import PER_DRAW, Integers, Sample, numbers_in_chains


@dataclass(frozen=True)
class _Format:
    """Reader, writer and file name suffixes of a file format."""

    read: Callable[..., Sample]
    write: Callable[[Sample, str], bytes] | None
    endings: tuple[str, ...] = ()
    is_binary: bool = True
    has_groups: bool = False


FORMATS = {
    "csv": _Format(read_csv, write_csv, (".csv", ".txt", ".dat", ".tsv"), is_binary=False),
    "npz": _Format(read_npz, write_npz, (".npz",)),
    "npy": _Format(read_npy, write_npy, (".npy",)),
    "stan": _Format(read_stan, None, is_binary=False),
    "netcdf": _Format(read_netcdf, write_netcdf, (".nc", ".netcdf", ".h5"), has_groups=True),
    "hdf5": _Format(read_hdf5, None, (".hdf5",), has_groups=True),
    "zarr": _Format(read_zarr, None, (".zarr",), has_groups=True),
}
_LEADING_COMMENTS = re.compile(rb"(?:\xef\xbb\xbf)?(?:\s*#[^\n]*\n)+")


def read_sample(
    source: Place | Sequence[Place],
    *,
    format: str | None = None,
    columns: Sequence[str] | None = None,
    group: str | None = None,
    weights: str | None = None,
) -> Sample:
    r"""Read a sample from one file or from several files.

    Parameters
    ----------
    source : path, "-" or open file, or a sequence of these
        ``"-"`` denotes standard input. The files in a sequence, and the files that match a pattern such as
        ``"fit-*.csv"``, are read as chains of one sample. A CODA index, or a GetDist root such as ``"chains/run"`` for
        ``chains/run_1.txt``, selects all the chains. The chain labels in the files are kept if they are distinct.
        Otherwise, chains are numbered from 0. Gzip files, and zip files that contain a single table, are decompressed.
    format : {"csv", "npz", "npy", "stan", "netcdf", "hdf5", "zarr"}, optional
        Format of the file. By default, the format is determined by the suffix .npz, .npy, .zarr, .nc or .netcdf, and
        otherwise by the content. Text may be a CSV table, a Stan CSV file, a CODA chain, or a chain file of another
        program.
    columns : sequence of str, optional
        Coordinates to read, in this order. ``"theta"`` selects all entries of theta. By default, all coordinates are
        read.
    group : str, optional
        Group of a NetCDF file or Zarr folder. The default is the posterior.
    weights : str, optional
        Name of the column with the weights of the draws, or "none" if the draws have equal weights. By default, the
        column is ``weight``, or ``weights`` in NPZ files. Log weights, with a name such as ``logw``, are exponentiated.

    Returns
    -------
    Sample
        The draws in the order of the file. If the file has columns that samplers add, a `ReadingWarning` states how
        they were interpreted.

    Raises
    ------
    UsageError
        If the format is unknown, or `group` is given for a format without groups.
    InputError
        If the file cannot be read, does not contain a valid sample, or has a column that may contain weights. The
        message states the file and, if applicable, the line and the column.
    MissingDependencyError
        If the format requires a package that is not installed.

    Examples
    --------
    >>> import io
    >>> import steinkit as sk
    >>> sk.read_sample(io.StringIO("mu,tau\n0.5,1.5\n0.7,1.1\n"))
    <Sample of 2 draws, d = 2: mu, tau>
    """
    sources = _sources(source)
    selection = Selection(columns, weights, is_joined=len(sources) > 1)
    samples = [with_chains(_read_one(each, format, selection, group)) for each in sources]
    return samples[0] if len(samples) == 1 else join_chains(samples, [name_of(each, "input") for each in sources])


def _sources(source: Place | Sequence[Place]) -> list[Place]:
    """Return the given files after expanding file name patterns."""
    given: list[Any] = list(source) if isinstance(source, list | tuple) else [source]
    if not given:
        raise UsageError("expected at least one file, got an empty list")
    found: list[Place] = []
    for each in given:
        path = path_of(each) if isinstance(each, str | os.PathLike) else None
        chains = sorted(chain_files(path), key=_by_number) if path else []
        found += (matching_files(path) if path else []) or chains or [each]
    twice = first_repeated([os.fspath(each) for each in found if isinstance(each, str | os.PathLike)])
    if twice is not None:
        raise UsageError(f"expected each file only once, got {twice} twice")
    return found


def _read_one(source: Place, format: str | None, selection: Selection, group: str | None) -> Sample:
    chosen, name, path = _format_of(source, format, "input"), name_of(source, "input"), path_of(source)
    form = FORMATS[chosen]
    if group is not None and not form.has_groups:
        raise UsageError(f"{name}: format {chosen} has no groups; omit group= (--group)")
    if chosen == "zarr":
        if path is None:
            raise UsageError(f"{name}: expected the path of a Zarr folder, got a stream")
        return read_zarr(path, name, selection, group)
    data = only_member(unpacked(read_bytes(source, binary=form.is_binary), name), name)
    if not data:
        raise InputError(f"{name} is empty; expected a sample of at least one draw")
    if format is None:
        chosen = _by_content(data, chosen)
        form = FORMATS[chosen]
    options: dict[str, Any] = {"group": group} if form.has_groups else {}
    if form.read is read_csv and path is not None and format is None and (index := coda_index(path)):
        return read_coda(data, name, selection, index)
    if form.read in (read_csv, read_hdf5):
        options["path"] = path
    return form.read(data, name, selection, **options)


def _by_content(data: bytes, chosen: str) -> str:
    """Detect the format from the first bytes, or return the chosen format."""
    if data.startswith(MARK) and is_of_sampler(data):
        return "hdf5"
    if chosen != "csv":
        return chosen
    binary = {b"\x93NUMPY": "npy", b"PK\x03\x04": "npz", MARK: "netcdf"}
    return next((form for mark, form in binary.items() if data.startswith(mark)), "stan" if is_stan(data) else "csv")


def is_stan(data: bytes) -> bool:
    """Return True if Stan wrote the comments before the header of a file."""
    comments = _LEADING_COMMENTS.match(data)
    return comments is not None and re.search(rb"stan_version_major|Generated by Stan", comments[0]) is not None


def write_sample(
    sample: Sample,
    destination: str | os.PathLike[str] | IO[str] | IO[bytes],
    *,
    format: str | None = None,
) -> None:
    r"""Write a sample to a file without loss of precision.

    An existing file is replaced only when the new file is complete.

    Parameters
    ----------
    sample : Sample
        Sample to write, including its weights, scores, costs, labels and names.
    destination : path, "-" or open file
        ``"-"`` denotes standard output.
    format : {"csv", "npz", "npy", "netcdf"}, optional
        Format of the file. By default, the format is determined by the suffix, as in `read_sample`. The default for a
        stream without a suffix is CSV. Files are compressed with gzip if their names end in .gz.

    Raises
    ------
    UsageError
        If the format is unknown, or cannot represent all parts of this sample.
    OutputError
        If writing fails.
    MissingDependencyError
        If the format requires a package that is not installed.

    Examples
    --------
    >>> import io
    >>> import steinkit as sk
    >>> stream = io.StringIO()
    >>> sk.write_sample(sk.Sample([[0.5, 1.5]], names=["mu", "tau"]), stream)
    >>> stream.getvalue()
    'mu,tau\n0.5,1.5\n'
    """
    chosen, name = _format_of(destination, format, "output"), name_of(destination, "output")
    write = FORMATS[chosen].write
    if write is None:
        writable = ", ".join(each for each, form in FORMATS.items() if form.write)
        raise UsageError(f"{name}: expected a writable format ({writable}), got {chosen}")
    data, packed = write(sample, name), name.lower().endswith(".gz")
    if packed:
        data = gzip.compress(data, mtime=0)  # without a timestamp, identical samples give identical files
    write_bytes(destination, data, binary=packed or FORMATS[chosen].is_binary)


def _format_of(place: Place, format: str | None, standard: str) -> str:
    if format is not None:
        if not isinstance(format, str) or format not in FORMATS:
            raise UsageError(f"format must be one of {', '.join(FORMATS)}; got {format!r}")
        return format
    name = name_of(place, standard)
    ending = os.path.splitext(re.sub(r"\.gz\Z", "", name.rstrip("/"), flags=re.IGNORECASE))[1].lower()
    for known, form in FORMATS.items():
        if ending in form.endings:
            return known
    path = path_of(place)
    if path is None or path.is_dir() or standard == "input":
        return "zarr" if path and is_zarr(path) else "csv"
    endings = ", ".join(f"{known} ({' '.join(form.endings)})" for known, form in FORMATS.items() if form.endings)
    raise UsageError(
        f"{name}: unknown suffix {ending!r}; rename the file, or select a format with format= (--format): {endings}"
    )


def matching_files(path: str | os.PathLike[str]) -> list[str]:
    """Return the files that match a pattern such as ``fit-*.csv``.

    The files are sorted by the numbers in their names. The list is empty if the path does not contain ``*`` or ``?``,
    or if it is the path of an existing file.
    """
    text = os.fspath(path)
    if not ("*" in text or "?" in text) or Path(text).exists():
        return []
    return sorted(glob.glob(text), key=_by_number)


def _by_number(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts ``fit-2`` before ``fit-10``."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def join_chains(samples: Sequence[Sample], sources: Sequence[str]) -> Sample:
    """Concatenate samples as separate chains.

    The chain labels are kept if they differ between samples. Otherwise, chains are numbered from 0.

    Parameters
    ----------
    samples : sequence of Sample
        Samples with the same coordinates, in any order. The result has the same order as the first sample.
    sources : sequence of str
        Names of the files, for messages.

    Raises
    ------
    InputError
        If the names of the coordinates differ, or only some samples have weights, scores or costs.
    """
    first = samples[0]
    for sample, source in zip(samples, sources, strict=True):
        if stray := sorted({*first.names} ^ {*sample.names}):
            raise InputError(
                f"{sources[0]} and {source} have different coordinates: only one of the two files contains "
                f"{quoted(stray, most=3)}; select common coordinates with columns= (--columns)"
            )
    ordered = [each.select(first.names) for each in samples]
    fields: dict[str, Any] = {"points": np.concatenate([each.points for each in ordered])}
    for name in (*PER_DRAW, "scores"):
        found = [getattr(each, name) for each in ordered]
        without = [source for values, source in zip(found, sources, strict=True) if values is None]
        if not without:
            fields[name] = np.concatenate(found)
        elif len(without) < len(sources):
            raise InputError(f"expected {name} in either all or none of the files; {without[0]} has no {name}")
    chains = _chain_labels(ordered)
    pairs = zip(ordered, chains, strict=True)
    draws = [numbers_in_chains(chain) if each.draw is None else each.draw for each, chain in pairs]
    return Sample(**fields, chain=np.concatenate(chains), draw=np.concatenate(draws), names=first.names)


def _chain_labels(samples: Sequence[Sample]) -> list[Integers]:
    """Return chain labels that differ between samples."""
    labels = [each.chain_labels for each in samples]
    distinct = [np.unique(each) for each in labels]
    begins = np.cumsum([0, *map(len, distinct)])
    if all(each.chain is not None for each in samples) and len(np.unique(np.concatenate(distinct))) == begins[-1]:
        return labels
    return [begin + np.searchsorted(known, each) for begin, known, each in zip(begins, distinct, labels, strict=False)]
