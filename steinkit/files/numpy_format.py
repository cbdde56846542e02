"""Readers and writers for NumPy files.

An NPZ file contains either one array per parameter, or the array ``points`` of shape (n,), (n, d) or (chains, draws, d)
with the optional arrays ``weights``, ``scores``, ``cost``, ``names``, ``chain``, ``draw``, ``log_q``, ``divergent``,
``energy`` and ``tree_depth``. Arrays with one number per draw have shape (n,), or (chains, draws) if ``points`` has
three dimensions. An NPY file contains only the points. Python objects are never unpickled.
"""

from __future__ import annotations

import io
import zipfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.containers.columns import ALL, Selection, choose, weight_column, weights_from
from steinkit.containers.reading import from_mapping, require_chains_lead
from steinkit.errors import InputError, UsageError, did_you_mean
from steinkit.files.streams import damage_reported, require_size
from steinkit.sample import PER_DRAW, Sample, default_names, rectangle

_DAMAGED, _REMEDY = "is not a valid NumPy file", "write arrays of numbers with numpy.savez or numpy.save"
_ENTRIES = ("points", "scores", "chain", "draw", "names", *PER_DRAW)


def read_npz(data: bytes, source: str, selection: Selection = ALL) -> Sample:
    """Read a sample from an NPZ file.

    The points have shape (n,), (n, d) or (chains, draws, d). All other arrays are optional. If no array is named
    ``points``, a single array with several axes is read as the points. Otherwise, each array is read as a parameter.

    Parameters
    ----------
    data : bytes
    source : str
        Name of the file, for messages.
    selection : Selection

    Raises
    ------
    InputError
        If the archive is damaged or empty, contains an array that may be weights, or contains inconsistent arrays.
    """
    archive = Archive(data, source)
    if "points" not in archive.names:
        arrays = {name: archive[name] for name in sorted(archive.names)}
        is_plain = archive.names.isdisjoint((*PER_DRAW, "scores"))
        if is_plain and len(arrays) == 1 and next(iter(arrays.values())).ndim > 1:
            weight_column((), source, selection)
            return _unnamed_sample(next(iter(arrays.values())), source, selection)
        return from_mapping(arrays, None, None, selection, source).sample(selection)
    others = sorted(archive.names.difference(_ENTRIES))
    weights = weight_column([*others, *archive.names.intersection(["weights"])], source, selection, ("weights",))
    for name in others:
        hint = did_you_mean(name, set(_ENTRIES) - archive.names, cutoff=0.8)
        if hint and name != weights and selection.weights is None:
            raise InputError(f'{source} contains an unknown array "{name}"{hint}; rename or remove it')
    entries = {name: archive[name] for name in _ENTRIES if name in archive.names and name != "weights"}
    if weights is not None:
        entries["weights"] = weights_from(archive[weights], weights, source)
    return _sample(entries, source, selection)


def write_npz(sample: Sample, target: str) -> bytes:
    """Write a sample in NPZ format.

    Chains of equal length are stored as points of shape (chains, draws, d).
    """
    stream = io.BytesIO()
    np.savez(stream, **_arrays(sample))
    return stream.getvalue()


def _arrays(sample: Sample) -> dict[str, Any]:
    """Return the arrays that represent a sample in an NPZ file.

    Default names are omitted. Labels are omitted if the shape of the points determines them.
    """
    found = {entry: getattr(sample, entry) for entry in _ENTRIES if getattr(sample, entry) is not None}
    if sample.has_default_names:
        del found["names"]
    labels = None if sample.chain is None or sample.draw is None else rectangle(sample.chain, sample.draw)
    if labels is None or any((axis != np.arange(len(axis))).any() for axis in labels):
        return found
    del found["chain"], found["draw"]
    lead = tuple(map(len, labels))
    return {name: each if name == "names" else each.reshape(*lead, *each.shape[1:]) for name, each in found.items()}


def read_npy(data: bytes, source: str, selection: Selection = ALL) -> Sample:
    """Read points of shape (n,), (n, d) or (chains, draws, d) from an NPY file."""
    weight_column((), source, selection)
    with damage_reported(f"{source} {_DAMAGED}", _REMEDY):
        points = _array(data)
    return _unnamed_sample(points, source, selection)


def write_npy(sample: Sample, target: str) -> bytes:
    """Write the points of a sample in NPY format.

    Raises
    ------
    UsageError
        If the sample has other parts, such as weights or scores, which would be lost.
    """
    lost = _arrays(sample)
    points = lost.pop("points")
    if lost:
        raise UsageError(f"{target}: NPY stores only the points and would lose {', '.join(lost)}; write .npz instead")
    stream = io.BytesIO()
    np.save(stream, points, allow_pickle=False)
    return stream.getvalue()


class Archive:
    """Arrays in an NPZ archive, each read on first access.

    The file size limit applies to the total size of the arrays that are read.

    Parameters
    ----------
    data : bytes
    source : str
        Name of the file, for messages.

    Attributes
    ----------
    names : set of str

    Raises
    ------
    InputError
        If the file is not an archive or is damaged.
    """

    def __init__(self, data: bytes, source: str) -> None:
        self.source = source
        with damage_reported(f"{source} {_DAMAGED}", _REMEDY):
            self._archive = zipfile.ZipFile(io.BytesIO(data))
        listing = self._archive.namelist()
        self.names = {name.removesuffix(".npy") for name in listing}
        if len(self.names) < len(listing):
            raise InputError(f"{source} contains two arrays with the same name; remove one")
        self._arrays: dict[str, NDArray[Any]] = {}
        self._size = 0

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return an array. Every access returns the same object."""
        if name not in self._arrays:
            with damage_reported(f'{self.source}, array "{name}", {_DAMAGED}', _REMEDY):
                member = self._archive.getinfo(f"{name}.npy")
                self._size += member.file_size
                require_size(self._size, self.source)
                self._arrays[name] = _array(self._archive.read(member))
        return self._arrays[name]


def _array(data: bytes) -> NDArray[Any]:
    """Return the array stored in the bytes of an NPY file."""
    stream = io.BytesIO(data)
    array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
    if stream.tell() < len(data):
        raise ValueError("unexpected data after the array")
    return array


def _unnamed_sample(points: NDArray[Any], source: str, selection: Selection) -> Sample:
    """Return the draws in an array that another program may have written."""
    if points.ndim == 3 and points.size and points.dtype.kind in "fiu":
        require_chains_lead(points, f"an array of shape {points.shape} in {source}")
    return _sample({"points": points}, source, selection)


def _sample(entries: dict[str, Any], source: str, selection: Selection) -> Sample:
    points, names = entries["points"], entries.get("names")
    dim = points.shape[-1] if points.ndim > 1 else 1
    if names is not None and (names.dtype.kind != "U" or names.shape != (dim,)):
        raise InputError(f'{source}: expected {dim} strings in "names", got {names.dtype} of shape {names.shape}')
    entries["names"] = default_names(dim) if names is None else tuple(names.tolist())
    if selection.columns is not None:
        chosen = choose(entries["names"], selection.columns, source)
        entries["names"] = tuple(entries["names"][k] for k in chosen)
        for entry in ("points", "scores"):
            if entry in entries and entries[entry].ndim > 1:
                entries[entry] = entries[entry][..., chosen]
    try:
        return Sample(**entries)
    except InputError as error:
        raise InputError(f"{source}: {error}") from None
