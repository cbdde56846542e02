"""Samples as NumPy files: NPZ with everything a sample holds, NPY with its points alone.

An NPZ file holds ``points`` of shape (n,), (n, d) or (chains, draws, d) and may hold ``weights``, ``scores``,
``cost``, ``names``, ``chain``, ``draw``, ``divergent`` and ``energy``. What there is one of a draw has shape (n,) or,
beside points of three dimensions, (chains, draws). Files are never unpickled.
"""

from __future__ import annotations

import io
import sys
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.containers.columns import choose, make_sample
from steinkit.errors import InputError, SteinkitError, UsageError, did_you_mean, listed
from steinkit.files.streams import MAX_BYTES, MAX_COLUMNS, MAX_MEMBERS, read_within
from steinkit.sample import Sample, default_names, rectangle

_ENTRIES = ("points", "scores", "weights", "cost", "chain", "draw", "names", "divergent", "energy")
_ZIP, _NPY = (b"PK\x03\x04", b"PK\x05\x06"), b"\x93NUMPY"
_MEMBER = b"PK\x01\x02"  # each in an archive's directory begins so


def read_npz(data: bytes, source: str, columns: Sequence[str] | None = None) -> Sample:
    """Read NPZ: points (n, d) or (chains, draws, d), and optional weights, scores, cost, names, chain and draw.

    Parameters
    ----------
    data : bytes
    source : str
        Name of the file, for messages.
    columns : sequence of str, optional
        Coordinates to keep.

    Raises
    ------
    InputError
        If the archive is damaged, lacks ``points``, or holds arrays that do not fit together.
    """
    archive = Archive(data, source)
    _require_points(archive)
    return _sample({name: archive[name] for name in _ENTRIES if name in archive.names}, source, columns)


def write_npz(sample: Sample, target: str) -> bytes:
    """Write all of a sample as NPZ; chains of equal length make points of shape (chains, draws, d)."""
    stream = io.BytesIO()
    np.savez(stream, **_arrays(sample))
    return stream.getvalue()


def _arrays(sample: Sample) -> dict[str, Any]:
    """All that a sample holds beside default names, and labels that an array (chains, draws, d) stands for."""
    found = {entry: getattr(sample, entry) for entry in _ENTRIES if getattr(sample, entry) is not None}
    if sample.has_default_names:
        del found["names"]
    labels = None if sample.chain is None or sample.draw is None else rectangle(sample.chain, sample.draw)
    if labels is None or any((axis != np.arange(len(axis))).any() for axis in labels):
        return found
    del found["chain"], found["draw"]
    lead = tuple(map(len, labels))
    return {name: each if name == "names" else each.reshape(*lead, *each.shape[1:]) for name, each in found.items()}


def read_npy(data: bytes, source: str, columns: Sequence[str] | None = None) -> Sample:
    """Read NPY: points (n,), (n, d) or (chains, draws, d), and nothing else."""
    if data.startswith(_ZIP):
        raise InputError(f'{source} is an NPZ archive, not an NPY array; read it with format="npz" (--format npz)')
    return _sample({"points": _array(data, source)}, source, columns)


def write_npy(sample: Sample, target: str) -> bytes:
    """Write the points of a sample that holds nothing else as NPY.

    Raises
    ------
    UsageError
        If the sample holds anything that an array of points cannot: weights, scores, cost, names, odd labels.
    """
    lost = _arrays(sample)
    points = lost.pop("points")
    if lost:
        raise UsageError(f"{target}: NPY holds points only and would lose {', '.join(lost)}; write .npz instead")
    stream = io.BytesIO()
    np.save(stream, points, allow_pickle=False)
    return stream.getvalue()


class Archive:
    """The arrays of an NPZ archive by their names, each of them read and held to the limits when it is asked for.

    Parameters
    ----------
    data : bytes
    source : str
        Name of the file, for messages.

    Raises
    ------
    InputError
        If it is no archive of arrays, is damaged, or exceeds the limits.
    """

    def __init__(self, data: bytes, source: str) -> None:
        if data.startswith(_NPY):
            raise InputError(f'{source} is an NPY array, not an NPZ archive; read it with format="npy" (--format npy)')
        if not data.startswith(_ZIP):
            raise _no_numbers(source)
        # before the archive is opened, which takes time and memory in proportion
        MAX_MEMBERS.require(data.count(_MEMBER), source)
        self.source = source
        self._unpacked = 0
        with _damage_reported(source):
            self._archive = zipfile.ZipFile(io.BytesIO(data))
        listing = Counter(each.filename for each in self._archive.infolist())
        twice = next((name for name, count in listing.items() if count > 1), None)
        if twice is not None:
            raise InputError(f'{source} holds "{twice.removesuffix(".npy")}" more than once; keep one')
        self.names = {name.removesuffix(".npy") for name in listing if name.endswith(".npy")}
        self.others = listing.keys() - {f"{name}.npy" for name in self.names}

    def __getitem__(self, name: str) -> NDArray[Any]:
        """One array; KeyError if there is none of this name."""
        if name not in self.names:
            raise KeyError(name)
        with _damage_reported(self.source):
            packed = self._archive.getinfo(f"{name}.npy").compress_size
            with self._archive.open(f"{name}.npy") as stream:  # whose header may be wrong about its size
                content = read_within(stream, self.source, packed).getvalue()
        self._unpacked += len(content)
        MAX_BYTES.require(self._unpacked, self.source, "unpacks to at least")
        return _array(content, f'{self.source}, array "{name}",')


@contextmanager
def _damage_reported(source: str) -> Iterator[None]:
    try:
        yield
    except SteinkitError:
        raise
    except Exception as error:  # of a damaged archive zipfile says it with almost any
        raise _damaged(source, str(error) or type(error).__name__) from None


def _require_points(archive: Archive) -> None:
    """Raise InputError unless an archive holds points, and no array of a sample under a name that is not read."""
    source, names = archive.source, archive.names
    stray = next((name for name in _ENTRIES if name in archive.others), None)
    if stray is not None:
        raise InputError(f'{source} holds a member "{stray}", not an array; numpy.savez names them "{stray}.npy"')
    if "points" not in names:
        raise InputError(
            f'{source} holds no array "points"; it holds {listed(sorted(names)) or "nothing"}: store the '
            'draws as "points", of shape (n, d) or (chains, draws, d)'
        )
    for name in sorted(names.difference(_ENTRIES)):
        # An array of another name is left alone, unless it looks like a slip: "weight" for "weights".
        if hint := did_you_mean(name, set(_ENTRIES) - names, cutoff=0.8):
            raise InputError(f'{source} holds an array "{name}" that nothing reads{hint}: rename or drop it')


def _array(data: bytes, source: str) -> NDArray[Any]:
    """The one array that the bytes of an NPY file hold."""
    if not data.startswith(_NPY):
        raise _no_numbers(source)
    stream = io.BytesIO(data)
    with _damage_reported(source), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of how the header is written
        array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
    if stream.tell() < len(data):
        raise _damaged(source, "another array may follow the first")
    return array


def _no_numbers(source: str) -> InputError:
    return InputError(
        f"{source} is not a NumPy file of numbers: it is damaged, or holds Python objects, which are never "
        "unpickled; store arrays of numbers with numpy.savez or numpy.save"
    )


def _damaged(source: str, reason: str) -> InputError:
    return InputError(f"{source} is damaged or no NumPy file ({reason}); write it again")


def _sample(entries: dict[str, Any], source: str, columns: Sequence[str] | None) -> Sample:
    points, names = entries["points"], entries.get("names")
    dim = points.shape[-1] if points.ndim > 1 else 1
    MAX_COLUMNS.require(dim, source, "has")  # each costs a name, however little its numbers were packed to
    entries["names"] = default_names(dim) if names is None else _names(names, dim, source)
    if columns is not None:
        _select(entries, columns, source)
    return make_sample(source, **entries)


def _names(names: NDArray[Any], dim: int, source: str) -> tuple[str, ...]:
    if names.dtype.kind != "U" or names.shape != (dim,):
        raise InputError(
            f'{source}: "names" must be {dim} strings, one a coordinate; it has type {names.dtype} and shape '
            f"{names.shape}"
        )
    codes = names.astype(names.dtype.newbyteorder("="), order="C").view(np.uint32)
    if codes.size and codes.max() > sys.maxunicode:  # NumPy makes strings of them that cannot be printed
        raise _damaged(source, '"names" has code points that no character has')
    return tuple(names.tolist())


def _select(entries: dict[str, Any], columns: Sequence[str], source: str) -> None:
    chosen = choose(entries["names"], columns, source)
    for entry in ("points", "scores"):
        if entry in entries and entries[entry].ndim > 1:
            entries[entry] = entries[entry][..., chosen]
    entries["names"] = tuple(entries["names"][k] for k in chosen)
