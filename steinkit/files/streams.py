"""Bytes in and out: files, packed or not, open streams, standard input and output.

And files of a folder that may come from a stranger, as a sweep's or Zarr's: `enclosed` opens them, and nothing else.
Such a folder may hold links that lead to any file of this machine, and pipes and devices that never end. No link is
followed below the folder, only regular files are opened, and nothing is read beyond the cap on bytes. The folder itself
is the user's to name: it may be a link.
"""

from __future__ import annotations

import gzip
import io
import os
import secrets
import select
import shutil
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO

from steinkit.errors import InputError, OutputError, UsageError, did_you_mean, listed
from steinkit.limits import MAX_BYTES, MAX_WAIT, read_within

_BLOCK = 2**20
_GZIP = b"\x1f\x8b"  # no other format begins so

DRAFTS = ".steinkit-*.tmp"  # names of files on their way to their place, which a killed process leaves behind

Place = str | os.PathLike[str] | IO[str] | IO[bytes]


def name_of(place: Place, standard: str) -> str:
    """Return what messages call a file or stream; ``standard`` is "input" or "output"."""
    if is_standard(place):
        return f"standard {standard}"
    if isinstance(place, (str, os.PathLike)):
        return os.fspath(place)
    name = getattr(place, "name", None)
    return name if isinstance(name, str) else "the stream"


def is_standard(place: Place) -> bool:
    """Whether a place is standard input or output."""
    if isinstance(place, str):
        return place == "-"
    return place is not None and (place is sys.stdin or place is sys.stdout)


def read_bytes(source: Place, *, binary: bool) -> bytes:
    """Read all there is.

    Parameters
    ----------
    source : path, "-" or open file
    binary : bool
        Whether the format is one of bytes, which a stream of text cannot carry.

    Raises
    ------
    InputError
        If the file is missing, a folder or a device, cannot be read, or is larger than the limit.
    UsageError
        If ``source`` is something else, or a stream of text where bytes are needed.
    """
    with opened(source, binary=binary) as stream:
        return stream.read()


@contextmanager
def opened(source: Place, *, binary: bool) -> Iterator[BinaryIO]:
    """The bytes of a source as a file that can be read from any place; parameters and errors of `read_bytes`."""
    if isinstance(source, (str, os.PathLike)) and not is_standard(source):
        with _open_path(Path(source)) as file:
            if file.seekable():
                MAX_BYTES.require(file.seek(0, os.SEEK_END), os.fspath(source))
                file.seek(0)
                yield file
            else:
                yield read_within(file, os.fspath(source))
        return
    stream: Any = getattr(sys.stdin, "buffer", sys.stdin) if is_standard(source) else source
    if stream is None and is_standard(source):
        raise InputError("standard input is closed; send the sample to it, or name a file")
    if not hasattr(stream, "read"):
        raise UsageError(f'a path, "-" or an open file is wanted to read from; received {type(source).__name__}')
    name = name_of(source, "input")
    _require_bytes(stream, name, binary, "rb")
    try:
        data = read_within(stream, name)
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{name} cannot be read: {error}; open the file anew for reading") from None
    yield data


def unpacked(file: BinaryIO, name: str) -> BinaryIO:
    """A file as it is, or unpacked if gzip packed it: a few megabytes can hold gigabytes.

    Raises
    ------
    InputError
        If the packing is damaged, or the contents exceed the limits.
    """
    mark = file.read(len(_GZIP))
    packed = file.seek(0, os.SEEK_END)
    file.seek(0)
    if mark != _GZIP:
        if packed and name.lower().endswith(".gz"):
            raise InputError(f"{name} ends in .gz and is not packed by gzip; rename it")
        return file
    try:
        with gzip.GzipFile(fileobj=file) as stream:
            return read_within(stream, name, packed)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{name} is packed by gzip and damaged ({error}); write it again") from None


def write_bytes(destination: Place, data: bytes, *, binary: bool) -> None:
    """Write ``data``; a file is replaced in one step, once all of it is on the disk.

    Raises
    ------
    OutputError
        If it cannot be written; a file that was there before is then unchanged.
    UsageError
        If ``destination`` is neither path nor stream, or a stream of text where bytes are needed.
    """
    if isinstance(destination, (str, os.PathLike)) and not is_standard(destination):
        _write_file(Path(destination), data)
        return
    stream: Any = getattr(sys.stdout, "buffer", sys.stdout) if is_standard(destination) else destination
    if not hasattr(stream, "write"):
        raise UsageError(f'a path, "-" or an open file is wanted to write to; received {type(destination).__name__}')
    name = name_of(destination, "output")
    _require_bytes(stream, name, binary, "wb")
    try:
        if is_standard(destination):
            sys.stdout.flush()
        stream.write(data.decode() if _is_text(stream) else data)
        stream.flush()
    except (OSError, ValueError) as error:
        raise OutputError(f"{name} cannot be written: {error}; open the file anew for writing") from None


def _is_text(stream: Any) -> bool:
    return isinstance(stream, io.TextIOBase) or hasattr(stream, "encoding")


def _require_bytes(stream: Any, name: str, binary: bool, mode: str) -> None:
    if binary and _is_text(stream):
        raise UsageError(f"{name} is a stream of text and the format is one of bytes; open it with mode={mode!r}")


def _open_path(path: Path) -> BinaryIO:
    try:
        kind = path.stat().st_mode
        if stat.S_ISFIFO(kind):
            return _read_pipe(path)
        file = path.open("rb")
    except FileNotFoundError:
        raise InputError(f"{path} does not exist{_near_files(path) or '; check the path'}") from None
    except IsADirectoryError:
        files = sorted(entry.name for entry in path.iterdir() if entry.is_file())
        inside = f", such as {listed(files, most=3)}" if files else ""
        raise InputError(f"{path} is a folder; name a file in it{inside}") from None
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {_reason(error)}; check its permissions and its name") from None
    if stat.S_ISCHR(kind) and not file.isatty():
        file.close()
        raise InputError(f"{path} is a device and no file; name a file, or send the sample to standard input")
    return file


def _read_pipe(path: Path) -> io.BytesIO:
    """What a named pipe carries; a writer who never comes must not keep us forever."""
    found, wait = io.BytesIO(), MAX_WAIT.value
    pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        poll = select.poll()
        poll.register(pipe, select.POLLIN)
        while poll.poll(None if wait == float("inf") else wait * 1e3):
            block = os.read(pipe, _BLOCK)
            if not block:
                found.seek(0)
                return found
            found.write(block)
            MAX_BYTES.require(found.tell(), str(path), "holds at least")
        raise MAX_WAIT.exceeded(str(path), f"is a pipe into which nobody wrote for {wait:g} seconds")
    finally:
        os.close(pipe)


def _near_files(path: Path) -> str:
    if not path.parent.is_dir():
        return f"; there is no folder {path.parent}"
    try:
        return did_you_mean(path.name, [entry.name for entry in path.parent.iterdir()])
    except OSError:
        return ""


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _write_file(path: Path, data: bytes) -> None:
    try:
        final = path.resolve()  # so that a link stays a link
        if final.is_dir():
            raise OutputError(f"{path} is a folder; name a file in it")
        if not final.parent.is_dir():
            raise OutputError(f"{path} cannot be written: there is no folder {final.parent}; create it first")
        if final.exists() and not final.is_file():
            final.write_bytes(data)  # a device or a pipe: nothing to lose, nothing to replace
        else:
            _replace(final, data)
    except OutputError:
        raise
    except (OSError, ValueError) as error:
        raise OutputError(
            f"{path} cannot be written: {_reason(error)}; free space, or choose another folder"
        ) from error


def _replace(path: Path, data: bytes) -> None:
    draft = path.with_name(DRAFTS.replace("*", secrets.token_hex(8)))
    try:
        with open(draft, "xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if path.exists():
            shutil.copymode(path, draft)
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


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
