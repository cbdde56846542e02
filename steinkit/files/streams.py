"""Functions that read and write bytes, JSON and TOML.

Sources are regular files, pipes and open streams, with or without gzip compression. If a source is larger than 4e9
bytes, reading stops with an error. To change this limit, set the environment variable STEINKIT_MAX_BYTES.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import secrets
import shutil
import stat
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NoReturn

from steinkit.errors import InputError, OutputError, SteinkitError, UsageError, did_you_mean, quoted

_MAX_BYTES, _USUAL = "STEINKIT_MAX_BYTES", "4e9"
_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
_BLOCK = 2**24  # bytes

Place = str | os.PathLike[str] | IO[str] | IO[bytes]
ZARR_MARKS = ("zarr.json", ".zgroup", ".zmetadata")  # the first name marks Zarr 3 folders, the others Zarr 2


@contextmanager
def damage_reported(message: str, remedy: str = "", error: type[SteinkitError] = InputError) -> Iterator[None]:
    """Convert any error from a library to a steinkit error.

    For damaged files, libraries raise many different exceptions.

    Parameters
    ----------
    message : str
        Beginning of the message, before the reason.
    remedy : str, optional
    error : type, default InputError
        Class of the new error.
    """
    try:
        yield
    except SteinkitError:
        raise
    except Exception as reason:
        text = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
        raise error(f"{message}: {text}{remedy and f'; {remedy}'}") from None


def _limit() -> float:
    given = os.environ.get(_MAX_BYTES, _USUAL)
    with suppress(ValueError):
        if float(given) > 0.0:
            return float(given)
    raise UsageError(f"{_MAX_BYTES} must be a positive number of bytes, such as {_USUAL}, or inf; got {given!r}")


def require_size(size: float, source: str) -> None:
    """Raise InputError if the size of a source exceeds the limit."""
    limit = _limit()
    if size > limit:
        raise InputError(
            f"{source} has at least {size:,.0f} bytes, more than the limit of {limit:,.0f}; to read it, set the "
            f"environment variable {_MAX_BYTES} to a larger value"
        )


def _content(stream: Any, source: str) -> bytes:
    """Read a stream as bytes, up to the limit, encoding text as UTF-8."""
    content = io.BytesIO()
    while block := stream.read(_BLOCK):
        content.write(block.encode("utf-8", errors="surrogatepass") if isinstance(block, str) else block)
        require_size(content.tell(), source)
    return content.getvalue()


def name_of(place: Place, standard: str) -> str:
    """Return the name of a file or stream for use in messages.

    The argument ``standard`` is "input" or "output".
    """
    if isinstance(place, str | os.PathLike) and place != "-":
        return os.fspath(place)
    if is_standard(place):
        return f"standard {standard}"
    name = getattr(place, "name", None)
    return name if isinstance(name, str) else "the stream"


def is_standard(place: Place) -> bool:
    """Return True if a file argument denotes standard input or output."""
    if isinstance(place, str):
        return place == "-"
    return place is not None and (place is sys.stdin or place is sys.stdout)


def path_of(place: Place) -> Path | None:
    """Return the path of a file, or None for a stream."""
    return Path(place) if isinstance(place, str | os.PathLike) and place != "-" else None


def read_bytes(source: Place, *, binary: bool) -> bytes:
    """Read a whole file or stream.

    Parameters
    ----------
    source : path, "-" or open file
    binary : bool
        True if the format is binary. Text streams are then rejected.

    Raises
    ------
    InputError
        If the file does not exist, is a folder or a device, cannot be read, or exceeds the limit.
    UsageError
        If ``source`` has a different type, or is a text stream and ``binary`` is true.
    """
    name, path = name_of(source, "input"), path_of(source)
    if path is not None:
        return _read_path(path)
    stream = _stream_of(source, name, binary, "rb")
    with damage_reported(f"{name} cannot be read", "open the file for reading"):
        return _content(stream, name)


def unpacked(data: bytes, name: str) -> bytes:
    """Decompress gzip data, or return other data unchanged.

    Raises
    ------
    InputError
        If the compressed data are damaged, or the content exceeds the limit.
    """
    if not data.startswith(_GZIP):
        return data
    with damage_reported(f"{name} is a damaged gzip file", "write it again"):
        return _content(gzip.GzipFile(fileobj=io.BytesIO(data)), name)


def only_member(data: bytes, name: str) -> bytes:
    """Return the only file in a zip archive.

    Other data and NPZ archives are returned unchanged.

    Raises
    ------
    InputError
        If the archive is damaged, or contains several files.
    """
    if not data.startswith(_ZIP):
        return data
    with damage_reported(f"{name} is a damaged zip file", "write it again"):
        archive = zipfile.ZipFile(io.BytesIO(data))
        members = [each for each in archive.infolist() if not each.is_dir()]
        if all(each.filename.endswith(".npy") for each in members):
            return data
        if len(members) > 1:
            raise InputError(
                f"{name} contains {quoted([each.filename for each in members], most=3)}; expected one table"
            )
        require_size(members[0].file_size, name)
        return archive.read(members[0])


def write_bytes(destination: Place, data: bytes, *, binary: bool) -> None:
    """Write bytes to a file or stream.

    An existing file is replaced atomically once all bytes are on disk.

    Parameters
    ----------
    destination : path, "-" or open file
    data : bytes
    binary : bool
        True if the format is binary. Text streams are then rejected.

    Raises
    ------
    OutputError
        If writing fails. In this case, an existing file remains unchanged.
    UsageError
        If ``destination`` has a different type, or is a text stream and ``binary`` is true.
    """
    path = path_of(destination)
    if path is not None:
        _write_file(path, data)
        return
    name = name_of(destination, "output")
    stream = _stream_of(destination, name, binary, "wb")
    with damage_reported(f"{name} cannot be written", "open the file for writing", OutputError):
        if is_standard(destination):
            sys.stdout.flush()
        stream.write(data.decode() if _is_text(stream) else data)
        stream.flush()


def _stream_of(place: Any, name: str, binary: bool, mode: str) -> Any:
    """Return an open stream, or the byte stream of standard input or output."""
    stream = place
    if is_standard(place):
        standard = sys.stdin if mode == "rb" else sys.stdout
        stream = getattr(standard, "buffer", standard)
        if stream is None:
            raise InputError(f"{name} is closed; pass the name of a file")
    if not hasattr(stream, "read" if mode == "rb" else "write"):
        raise UsageError(f'expected a path, "-" or an open file, got {type(place).__name__}')
    if binary and _is_text(stream):
        raise UsageError(f"{name} is a text stream but the format is binary; open it with {mode=}")
    return stream


def _is_text(stream: Any) -> bool:
    return isinstance(stream, io.TextIOBase) or hasattr(stream, "encoding")


def _read_path(path: Path) -> bytes:
    """Read a regular file or pipe, but reject devices, which may never end."""
    with damage_reported(f"{path} cannot be read", "check its permissions and its name"):
        if not path.parent.is_dir():
            raise InputError(f"{path} does not exist; there is no folder {path.parent}")
        if path.is_dir():
            files = sorted(entry.name for entry in path.iterdir() if entry.is_file())
            inside = f", such as {quoted(files, most=3)}" if files else ""
            raise InputError(f"{path} is a folder; name a file in it{inside}")
        try:
            status = path.stat()
        except FileNotFoundError:
            near = did_you_mean(path.name, [entry.name for entry in path.parent.iterdir()])
            raise InputError(f"{path} does not exist{near or '; check the path'}") from None
        if not stat.S_ISREG(status.st_mode) and not stat.S_ISFIFO(status.st_mode):
            raise InputError(f"expected a regular file or a pipe, got the device or special file {path}")
        if stat.S_ISREG(status.st_mode) and not status.st_size:
            return b""  # files in /proc have size 0 and may block forever
        with open(path, "rb") as file:
            return _content(file, str(path))


def _write_file(path: Path, data: bytes) -> None:
    with damage_reported(f"{path} cannot be written", "free disk space or choose another folder", OutputError):
        final = path.resolve()  # keeps a symbolic link
        if final.is_dir():
            raise OutputError(f"{path} is a folder; name a file in it")
        if not final.parent.is_dir():
            raise OutputError(f"{path} cannot be written: there is no folder {final.parent}; create it first")
        if final.exists() and not final.is_file():
            final.write_bytes(data)  # a device or a pipe cannot be replaced by a file
        else:
            _replace(final, data)


def _replace(path: Path, data: bytes) -> None:
    draft = path.with_name(f".steinkit-{secrets.token_hex(8)}.tmp")
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


def parse_json(data: bytes | str, source: str) -> Any:
    """Parse a JSON document.

    Parameters
    ----------
    data : bytes or str
    source : str
        Name of the document, for messages.

    Raises
    ------
    InputError
        If the document is not valid JSON, or contains NaN or infinity.
    """
    with damage_reported(f"{source} is not valid JSON"):
        return json.loads(data, parse_constant=_constant)


def _constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON number")


_TOML_DEPTH = 16
_TOML_TEXT = re.compile(  # strings and comments, possibly unterminated
    r""""{3}(?s:\\.|[^\\])*?(?:"{3,5}|\Z)|'{3}(?s:.)*?(?:'{3,5}|\Z)|"(?:\\.|[^"\\\n])*"?|'[^'\n]*'?|#[^\n]*"""
)
_TOML_DEEP = re.compile(rf"(?:\.[^.,=\[\]{{}}\n]*){{{_TOML_DEPTH}}}")


def parse_toml(data: bytes, source: str) -> dict[str, Any]:
    """Parse a TOML document.

    Parameters
    ----------
    data : bytes
    source : str
        Name of the document, for messages.

    Raises
    ------
    InputError
        If the document is not valid TOML, or has a key with more than 16 parts.
    """
    if _TOML_DEEP.search(_TOML_TEXT.sub("", data.decode("utf-8", "replace"))):
        raise InputError(f"{source} has a key with more than {_TOML_DEPTH} parts")
    with damage_reported(f"{source} is not valid TOML"):
        return tomllib.loads(data.decode("utf-8-sig"))


def as_json(document: dict[str, Any]) -> str:
    """Return a document as JSON in printable ASCII, with numbers at full precision."""
    return json.dumps(document, indent=2, allow_nan=False).replace("\x7f", r"\u007f")


def is_zarr(path: Path) -> bool:
    """Return True if a path is a folder that contains Zarr groups."""
    return path.is_dir() and any((path / mark).is_file() for mark in ZARR_MARKS)
