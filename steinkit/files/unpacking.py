"""What gzip packed, unpacked to no more than the limits: a few megabytes can hold gigabytes."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from steinkit.errors import InputError
from steinkit.limits import MAX_BYTES, require_ratio

_MARK = b"\x1f\x8b"
_BLOCK = 2**20


@contextmanager
def unpacked(file: BinaryIO, name: str) -> Iterator[BinaryIO]:
    """A file as it is, or unpacked if gzip packed it; no other format begins as that does.

    Raises
    ------
    InputError
        If the packing is damaged, or the contents exceed the limits.
    """
    mark = file.read(len(_MARK))
    packed = file.seek(0, os.SEEK_END)
    file.seek(0)
    if mark != _MARK:
        if packed and name.lower().endswith(".gz"):
            raise InputError(f"{name} ends in .gz and is not packed by gzip; rename it")
        yield file
        return
    found = io.BytesIO()
    try:
        with gzip.GzipFile(fileobj=file) as stream:
            while block := stream.read(_BLOCK):
                found.write(block)
                MAX_BYTES.require(found.tell(), name, "holds at least")
                require_ratio(found.tell(), packed, name)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{name} is packed by gzip and damaged ({error}); write it again") from None
    found.seek(0)
    yield found
