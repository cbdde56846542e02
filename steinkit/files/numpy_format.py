"""Samples as NumPy files: NPZ with everything a sample holds, NPY with its points alone.

An NPZ file holds ``points`` of shape (n,), (n, d) or (chains, draws, d) and may hold ``weights``, ``scores``,
``cost``, ``names``, ``chain`` and ``draw``. What there is one of a draw has shape (n,) or, beside points of
three dimensions, (chains, draws). Files are never unpickled.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.containers.chain_labels import array_layout
from steinkit.containers.columns import choose, make_sample
from steinkit.containers.messages import listed
from steinkit.errors import InputError, UsageError, did_you_mean
from steinkit.sample import Sample, default_names

_ENTRIES = ("points", "weights", "scores", "cost", "names", "chain", "draw")
# All of these come out of np.load for a damaged file, depending on the byte that is wrong.
_DAMAGE = (
    ValueError,
    OSError,
    EOFError,
    KeyError,
    SyntaxError,
    MemoryError,
    NotImplementedError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)


def read_npz(data: bytes, source: str, columns: Sequence[str] | None = None) -> Sample:
    """Read a sample from the bytes of an NPZ file.

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
    entries = _unpack(data, source)
    points = entries["points"]
    _require_shapes(entries, source)
    names = entries.get("names")
    dim = points.shape[-1] if points.ndim > 1 else 1
    entries["names"] = default_names(dim) if names is None else _names(names, dim, source)
    if columns is not None:
        _select(entries, columns, source)
    return make_sample(source, **entries)


def write_npz(sample: Sample, target: str) -> bytes:
    """Write all of a sample as NPZ; chains of equal length make points of shape (chains, draws, d).

    Raises
    ------
    UsageError
        If a name ends in a null character, which NumPy would drop.
    """
    lead = array_layout(sample) or (len(sample),)
    arrays: dict[str, Any] = {"points": sample.points.reshape(*lead, sample.dim)}
    if sample.scores is not None:
        arrays["scores"] = sample.scores.reshape(*lead, sample.dim)
    arrays |= {
        entry: getattr(sample, entry).reshape(lead)
        for entry in ("weights", "cost")
        if getattr(sample, entry) is not None
    }
    if len(lead) == 1:
        arrays |= {entry: getattr(sample, entry) for entry in ("chain", "draw") if getattr(sample, entry) is not None}
    if not sample.has_default_names:
        arrays["names"] = np.array(sample.names)
        if tuple(arrays["names"].tolist()) != sample.names:
            raise UsageError(f"{target}: NPZ loses the end of a name among {list(sample.names)}; rename it")
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def read_npy(data: bytes, source: str, columns: Sequence[str] | None = None) -> Sample:
    """Read points of shape (n,), (n, d) or (chains, draws, d) from the bytes of an NPY file."""
    points = _load(data, source)
    if not isinstance(points, np.ndarray):
        raise InputError(f'{source} is an NPZ archive, not an NPY array; read it with format="npz" (--format npz)')
    entries: dict[str, Any] = {"points": points}
    if columns is not None:
        entries["names"] = default_names(points.shape[-1] if points.ndim > 1 else 1)
        _select(entries, columns, source)
    return make_sample(source, **entries)


def write_npy(sample: Sample, target: str) -> bytes:
    """Write the points of a sample that holds nothing else as NPY.

    Raises
    ------
    UsageError
        If the sample holds anything that an array of points cannot: weights, scores, cost, names, odd labels.
    """
    lead = array_layout(sample) or (len(sample),)
    entries = ("weights", "scores", "cost") + (("chain", "draw") if len(lead) == 1 else ())
    lost = [entry for entry in entries if getattr(sample, entry) is not None]
    if not sample.has_default_names:
        lost.append("names")
    if lost:
        raise UsageError(f"{target}: NPY holds points only and would lose {', '.join(lost)}; write .npz instead")
    stream = io.BytesIO()
    np.save(stream, sample.points.reshape(*lead, sample.dim), allow_pickle=False)
    return stream.getvalue()


def _load(data: bytes, source: str) -> Any:
    try:
        return np.load(io.BytesIO(data), allow_pickle=False)
    except _DAMAGE as error:
        raise _damaged(source, error) from None


def _unpack(data: bytes, source: str) -> dict[str, Any]:
    archive = _load(data, source)
    if isinstance(archive, np.ndarray):
        raise InputError(f'{source} is an NPY array, not an NPZ archive; read it with format="npy" (--format npy)')
    if "points" not in archive.files:
        raise InputError(
            f'{source} holds no array "points"; it holds {listed(archive.files) or "nothing"}: store the '
            'draws as "points", of shape (n, d) or (chains, draws, d)'
        )
    for name in archive.files:
        # An array of another name is left alone, unless it looks like a slip: "weight" for "weights".
        hint = "" if name in _ENTRIES else did_you_mean(name, set(_ENTRIES) - set(archive.files), cutoff=0.8)
        if hint:
            raise InputError(f'{source} holds an array "{name}" that nothing reads: rename or drop it{hint}')
    try:
        return {entry: archive[entry] for entry in _ENTRIES if entry in archive.files}
    except _DAMAGE as error:
        raise _damaged(source, error) from None


def _damaged(source: str, error: BaseException) -> InputError:
    if "allow_pickle" in str(error) or "pickled" in str(error):
        return InputError(
            f"{source} is no NumPy file of numbers: it is damaged, or holds Python objects, which are never "
            "unpickled; store arrays of numbers with numpy.savez or numpy.save"
        )
    return InputError(f"{source} is damaged or no NumPy file ({error}); write it again")


def _require_shapes(entries: dict[str, NDArray[Any]], source: str) -> None:
    points = entries["points"]
    lead = points.shape[:-1] if points.ndim > 1 else points.shape
    n = int(np.prod(lead))
    wanted = {entry: {lead, (n,)} for entry in ("weights", "cost", "chain", "draw")}
    wanted["scores"] = {points.shape, (n, points.shape[-1] if points.ndim > 1 else 1)}
    for entry, shapes in wanted.items():
        if entry in entries and entries[entry].shape not in shapes:
            raise InputError(
                f'{source}: "{entry}" has shape {entries[entry].shape} beside points of shape {points.shape}; '
                f"wanted: {' or '.join(map(str, sorted(shapes, key=len)))}"
            )


def _names(names: NDArray[Any], dim: int, source: str) -> tuple[str, ...]:
    if names.dtype.kind != "U" or names.shape != (dim,):
        raise InputError(
            f'{source}: "names" must be {dim} strings, one a coordinate; it has type {names.dtype} and shape '
            f"{names.shape}"
        )
    return tuple(names.tolist())


def _select(entries: dict[str, Any], columns: Sequence[str], source: str) -> None:
    chosen = choose(entries["names"], columns, source)
    for entry in ("points", "scores"):
        if entry in entries and entries[entry].ndim > 1:
            entries[entry] = entries[entry][..., chosen]
    entries["names"] = tuple(entries["names"][k] for k in chosen)
