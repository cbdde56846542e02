"""Files of a folder that may come from a stranger, as a sweep's or Zarr's: opened here, and nowhere else.

Such a folder may hold links that lead to any file of this machine, and pipes and devices that never end. No link is
followed below the folder, only regular files are opened, and nothing is read beyond the cap on bytes. The folder itself
is the user's to name: it may be a link.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import IO, Any

from steinkit.errors import InputError
from steinkit.limits import MAX_BYTES, read_within

_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # not on Windows


def enclosed(folder: Path, *parts: str) -> Path:
    """The path of a file or folder within a folder, which need not exist.

    Raises
    ------
    InputError
        If it or a folder on the way to it is a link, or it is neither a regular file nor a folder.
    """
    path = folder
    for part in parts:
        path = path / part
        try:
            kind = path.lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            continue
        if stat.S_ISLNK(kind):
            raise InputError(
                f"{path} is a link, which is not followed, for it could be to any file; copy what it leads to"
            )
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
            raise InputError(f"{path} is a pipe or a device and no file; remove it")
    return path


def open_enclosed(folder: Path, *parts: str, mode: str = "rb") -> IO[Any]:
    """A regular file within a folder, opened as bytes; errors of `enclosed`, and OSError."""
    path = enclosed(folder, *parts)
    file = open(path, mode, opener=lambda name, flags: os.open(name, flags | _FLAGS, 0o666))  # noqa: SIM115 (the caller's)
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):  # it was put there since it was looked at
        file.close()
        raise InputError(f"{path} is no file; remove it")
    return file


def read_enclosed(folder: Path, *parts: str) -> bytes:
    """All that a regular file within a folder holds.

    Raises
    ------
    InputError
        As `enclosed` does, and if the file is larger than the limit.
    OSError
        If there is no such file, or it cannot be read.
    """
    with open_enclosed(folder, *parts) as file:
        name = str(folder.joinpath(*parts))
        MAX_BYTES.require(os.fstat(file.fileno()).st_size, name)
        return read_within(file, name).getvalue()
