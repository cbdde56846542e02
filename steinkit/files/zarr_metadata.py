"""What the metadata of a Zarr folder ask for, looked at before anything is decoded.

Numcodecs has a codec that unpickles, which runs what the file likes; versions before 0.16 do so unasked. Shapes cost
nothing to write down, and a symbolic link makes any file of the machine a chunk.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from steinkit.errors import InputError
from steinkit.json_documents import parse_json
from steinkit.limits import MAX_BYTES, MAX_MEMBERS, require_ratio

MARKS = ("zarr.json", ".zgroup", ".zmetadata")  # of version 3, and of version 2
_ARRAYS = ("zarr.json", ".zarray")
_ITEM = 8  # bytes, of numbers; a little too many for the shorter ones


def require_harmless(folder: Path, group: str | None, source: str) -> None:
    """Raise InputError if a folder unpickles, leads to other files, or holds more than the limits.

    Parameters
    ----------
    folder : Path
    group : str, optional
        The group that will be read; None for the root.
    source : str
        Name of the folder, for messages.
    """
    stored, members, unpacked = 0, 0, 0
    read = folder if group is None else folder / group
    for place, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            path = Path(place, name)
            if path.is_symlink():
                raise InputError(
                    f'{source}: "{path.relative_to(folder)}" is a link to another file, which could be any; copy it'
                )
        stored += sum(Path(place, name).stat().st_size for name in files)
        for name in files:
            if name not in _ARRAYS:
                continue
            members += 1
            MAX_MEMBERS.require(members, source, "holds at least")
            found = parse_json(Path(place, name).read_bytes(), f"{source}, {Path(place, name).relative_to(folder)}")
            if not isinstance(found, dict):
                raise InputError(f"{source}, {Path(place, name).relative_to(folder)} is no JSON object; write it again")
            if any(_unpickles(codec) for codec in _codecs(found)):
                raise InputError(
                    f'{source}: "{Path(place).relative_to(folder)}" holds pickled Python objects, which are never '
                    "unpickled; store arrays of numbers"
                )
            if Path(place).parent == read:
                unpacked += _size(found.get("shape"))
    MAX_BYTES.require(unpacked, source, "unpacks to")
    require_ratio(unpacked, stored, source)


def _codecs(found: Any) -> Iterator[Any]:
    """Everything in an array's metadata that may name a codec, however deep in others; attributes name none."""
    for key in ("filters", "compressor", "codecs", "index_codecs", "configuration"):
        inner = found.get(key)
        for each in inner if isinstance(inner, list) else [inner]:
            if isinstance(each, dict):
                yield each
                yield from _codecs(each)


def _unpickles(codec: dict[str, Any]) -> bool:
    return any("pickle" in str(codec.get(key)) for key in ("id", "name"))


def _size(shape: Any) -> int:
    if not isinstance(shape, list) or not all(type(length) is int and length >= 0 for length in shape):
        return 0  # of a group, or of something that zarr itself will refuse
    return math.prod(shape) * _ITEM
