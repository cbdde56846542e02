"""Reading and writing of bytes, JSON and TOML.

Sources are regular files, pipes and open streams, with or without gzip compression. Reading stops with an error at a
limit of 4e9 bytes. The environment variable STEINKIT_MAX_BYTES changes the limit.
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
import zlib
from pathlib import Path
from typing import IO, Any, NoReturn

from steinkit.errors import InputError, OutputError, SteinkitError, UsageError, did_you_mean, listed

_MAX_BYTES, _USUAL = "STEINKIT_MAX_BYTES", 4e9
_GZIP = b"\x1f\x8b"
_BLOCK = 2**24  # bytes

Place = str | os.PathLike[str] | IO[str] | IO[bytes]
ZARR_MARKS = ("zarr.json", ".zgroup", ".zmetadata")  # files in a folder of version 3 (the first) or 2


def _limit() -> float:
    given = os.environ.get(_MAX_BYTES, _USUAL)
    try:
        limit = float(given)
    except ValueError:
        limit = 0.0
    if not limit > 0.0:
        raise UsageError(f"{_MAX_BYTES} must be a positive number of bytes, such as {_USUAL:g}, or inf; got {given!r}")
    return limit


def require_size(size: float, source: str) -> None:
    """Raise InputError if a source holds more bytes than the limit."""
    limit = _limit()
    if size > limit:
        raise InputError(
            f"{source} holds {size:,.0f} bytes or more, above the limit of {limit:,.0f}; to read it, increase the "
            f"limit with the environment variable {_MAX_BYTES}"
        )


def _content(stream: Any, source: str) -> bytes:
    """Return the bytes or the UTF-8 text of a stream, within the limit."""
    content = io.BytesIO()
    while block := stream.read(_BLOCK):
        content.write(block.encode("utf-8", errors="surrogatepass") if isinstance(block, str) else block)
        require_size(content.tell(), source)
    return content.getvalue()


def name_of(place: Place, standard: str) -> str:
    """Return the name of a file or stream for messages.

    ``standard`` is "input" or "output".
    """
    if is_standard(place):
        return f"standard {standard}"
    if isinstance(place, (str, os.PathLike)):
        return os.fspath(place)
    name = getattr(place, "name", None)
    return name if isinstance(name, str) else "the stream"


def is_standard(place: Place) -> bool:
    """Return whether a place is standard input or output."""
    if isinstance(place, str):
        return place == "-"
    return place is not None and (place is sys.stdin or place is sys.stdout)


def read_bytes(source: Place, *, binary: bool) -> bytes:
    """Read a whole file or stream.

    Parameters
    ----------
    source : path, "-" or open file
    binary : bool
        True if the format is binary. Text streams are then refused.

    Raises
    ------
    InputError
        If the file does not exist, is a folder or a device, cannot be read, or exceeds the limit.
    UsageError
        If ``source`` has another type, or is a text stream and ``binary`` is true.
    """
    name = name_of(source, "input")
    if isinstance(source, (str, os.PathLike)) and not is_standard(source):
        return _read_path(Path(source))
    stream: Any = getattr(sys.stdin, "buffer", sys.stdin) if is_standard(source) else source
    if stream is None and is_standard(source):
        raise InputError("standard input is closed; send the sample to it, or name a file")
    if not hasattr(stream, "read"):
        raise UsageError(f'expected a path, "-" or an open file to read from, got {type(source).__name__}')
    _require_bytes(stream, name, binary, "rb")
    try:
        return _content(stream, name)
    except SteinkitError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(f"{name} cannot be read: {error}; open the file for reading") from None


def unpacked(data: bytes, name: str) -> bytes:
    """Return data, decompressed if they were compressed by gzip.

    Raises
    ------
    InputError
        If the compressed data are damaged, or the content exceeds the limit.
    """
    if not data.startswith(_GZIP):
        if name.lower().endswith(".gz") and data:
            raise InputError(f"{name} ends in .gz but is not compressed by gzip; rename it")
        return data
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            return _content(stream, name)
    except (OSError, EOFError, zlib.error) as error:
        if isinstance(error, SteinkitError):
            raise
        raise InputError(f"{name} is a damaged gzip file ({error}); write it again") from None


def write_bytes(destination: Place, data: bytes, *, binary: bool) -> None:
    """Write bytes to a file or stream.

    An existing file is replaced atomically once all bytes are on disk.

    Parameters
    ----------
    destination : path, "-" or open file
    data : bytes
    binary : bool
        True if the format is binary. Text streams are then refused.

    Raises
    ------
    OutputError
        If writing fails. An existing file is then unchanged.
    UsageError
        If ``destination`` has another type, or is a text stream and ``binary`` is true.
    """
    if isinstance(destination, (str, os.PathLike)) and not is_standard(destination):
        _write_file(Path(destination), data)
        return
    stream: Any = getattr(sys.stdout, "buffer", sys.stdout) if is_standard(destination) else destination
    if not hasattr(stream, "write"):
        raise UsageError(f'expected a path, "-" or an open file to write to, got {type(destination).__name__}')
    name = name_of(destination, "output")
    _require_bytes(stream, name, binary, "wb")
    try:
        if is_standard(destination):
            sys.stdout.flush()
        stream.write(data.decode() if _is_text(stream) else data)
        stream.flush()
    except (OSError, ValueError) as error:
        raise OutputError(f"{name} cannot be written: {error}; open the file for writing") from None


def _is_text(stream: Any) -> bool:
    return isinstance(stream, io.TextIOBase) or hasattr(stream, "encoding")


def _require_bytes(stream: Any, name: str, binary: bool, mode: str) -> None:
    if binary and _is_text(stream):
        raise UsageError(f"{name} is a text stream and the format is binary; open it with mode={mode!r}")


def _read_path(path: Path) -> bytes:
    """Read a regular file or a pipe; files of other kinds may never end."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            files = sorted(entry.name for entry in path.iterdir() if entry.is_file())
            inside = f", such as {listed(files, most=3)}" if files else ""
            raise InputError(f"{path} is a folder; name a file in it{inside}")
        if not stat.S_ISREG(mode) and not stat.S_ISFIFO(mode):
            raise InputError(f"expected a regular file or a pipe, got the device or special file {path}")
        with open(path, "rb") as file:
            return _content(file, str(path))
    except FileNotFoundError:
        raise InputError(f"{path} does not exist{_near_files(path) or '; check the path'}") from None
    except SteinkitError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {_reason(error)}; check its permissions and its name") from None


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
        final = path.resolve()  # keeps a symbolic link
        if final.is_dir():
            raise OutputError(f"{path} is a folder; name a file in it")
        if not final.parent.is_dir():
            raise OutputError(f"{path} cannot be written: there is no folder {final.parent}; create it first")
        if final.exists() and not final.is_file():
            final.write_bytes(data)  # a device or a pipe cannot be replaced
        else:
            _replace(final, data)
    except OutputError:
        raise
    except (OSError, ValueError) as error:
        raise OutputError(f"{path} cannot be written: {_reason(error)}; free space or choose another folder") from error


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
        If it is not JSON, or contains NaN or an infinity.
    """
    try:
        return json.loads(data, parse_constant=_constant)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source} is not valid JSON: {error}") from None


def _constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON number")


# Parsing takes memory proportional to the square of the number of parts of a key.
_TOML_DEPTH = 16
_TOML_TEXT = re.compile(  # strings and comments, possibly without their ends
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
        If it is not TOML, or has a key of more than 16 parts.
    """
    if _TOML_DEEP.search(_TOML_TEXT.sub("", data.decode("utf-8", "replace"))):
        raise InputError(f"{source} has a key of more than {_TOML_DEPTH} parts")
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except (ValueError, OverflowError, RecursionError) as error:  # OverflowError: a date beyond the calendar
        raise InputError(f"{source} is not valid TOML: {error}") from None


def as_json(document: dict[str, Any]) -> str:
    """Return a document as JSON in printable ASCII; numbers keep every bit."""
    return json.dumps(document, indent=2, allow_nan=False).replace("\x7f", r"\u007f")


def is_zarr(path: Path) -> bool:
    """Return whether a path is a folder that holds Zarr groups."""
    return path.is_dir() and any((path / mark).is_file() for mark in ZARR_MARKS)
