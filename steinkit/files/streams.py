"""Bytes in and out: files, packed or not, open streams, standard input and output, JSON; and what they may cost.

A file from outside may be damaged, or made to exhaust whoever reads it. Each cap has a value that no ordinary sample
reaches, and a variable of the environment that raises it; the message that refuses a file names both.

JSON is as RFC 8259 has it, and no more: every key once, every number finite, nothing nested beyond reason.
"""

from __future__ import annotations

import gzip
import io
import json
import math
import os
import re
import secrets
import shutil
import stat
import sys
import tomllib
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, NoReturn

from steinkit.errors import InputError, OutputError, SteinkitError, UsageError, did_you_mean, listed


@dataclass(frozen=True)
class Limit:
    """A cap.

    Attributes
    ----------
    variable : str
        Of the environment, which changes it.
    usual : float
        Its value where nobody changed it.
    what : str
        The unit, in messages.
    of : str
        What is counted or measured.
    """

    variable: str
    usual: float
    what: str
    of: str

    @property
    def value(self) -> float:
        """The cap in force.

        Raises
        ------
        UsageError
            If the variable holds no positive number.
        """
        given = os.environ.get(self.variable)
        if given is None:
            return self.usual
        try:
            value = float(given)
        except ValueError:
            value = math.nan
        if not value > 0.0:
            raise UsageError(
                f"{self.variable} must be a positive number of {self.what}, such as {self.usual:g}, or inf; received "
                f"{given!r}"
            )
        return value

    def require(self, found: float, source: str, holds: str = "holds") -> None:
        """Raise InputError if what a file holds exceeds the cap."""
        if found > self.value:
            raise self.exceeded(source, f"{holds} {found:,.10g} {self.what}")

    def exceeded(self, source: str, said: str) -> InputError:
        """The refusal of a file, of which something is said that exceeds the cap."""
        return InputError(
            f"{source} {said}, beyond the limit of {self.value:,.10g}; if that is right, raise it by the environment "
            f"variable {self.variable}"
        )


MAX_BYTES = Limit("STEINKIT_MAX_BYTES", 4e9, "bytes", "a file, and what it unpacks to")
MAX_COLUMNS = Limit("STEINKIT_MAX_COLUMNS", 50_000, "columns", "a sample; every entry of an array is one")
MAX_MEMBERS = Limit(
    "STEINKIT_MAX_MEMBERS", 10_000, "members", "an archive: arrays of NPZ; groups and variables of NetCDF and Zarr"
)
MAX_RATIO = Limit("STEINKIT_MAX_RATIO", 200, "bytes for each byte packed", "a file of more than 64 MiB unpacked")

_BLOCK = 2**20  # bytes read at a time
_SMALL = 2**26  # bytes; what unpacks to less is harmless, however well it was packed


def require_ratio(unpacked: float, packed: int, source: str) -> None:
    """Raise InputError for what was packed so well that it can only have been made to fill the memory."""
    if unpacked > _SMALL and unpacked > MAX_RATIO.value * packed:
        raise MAX_RATIO.exceeded(
            source, f"unpacks to {unpacked / max(packed, 1):,.0f} bytes or more for each of its own"
        )


def read_within(stream: Any, source: str, packed: int | None = None) -> io.BytesIO:
    """All that a stream holds, in memory, as long as it keeps to the limits.

    Parameters
    ----------
    stream : file
        Of bytes or of text.
    source : str
        Name of the file, for messages.
    packed : int, optional
        Bytes of which the stream's are unpacked: then their ratio is limited, too, whatever a header says of it.

    Raises
    ------
    InputError
        If there is more.
    """
    found = io.BytesIO()
    while block := stream.read(_BLOCK):
        found.write(block.encode("utf-8", errors="surrogatepass") if isinstance(block, str) else block)
        MAX_BYTES.require(found.tell(), source, "holds at least")
        if packed is not None:
            require_ratio(found.tell(), packed, source)
    found.seek(0)
    return found


_GZIP = b"\x1f\x8b"  # no other format begins so

Place = str | os.PathLike[str] | IO[str] | IO[bytes]
ZARR_MARKS = ("zarr.json", ".zgroup", ".zmetadata")  # a folder of version 3 holds, and of version 2


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
    name = name_of(source, "input")
    if isinstance(source, (str, os.PathLike)) and not is_standard(source):
        with _open_path(Path(source)) as file:
            try:
                yield file
            except SteinkitError:
                raise
            except OSError as error:
                raise InputError(f"{name} cannot be read: {_reason(error)}; check the file system") from None
        return
    stream: Any = getattr(sys.stdin, "buffer", sys.stdin) if is_standard(source) else source
    if stream is None and is_standard(source):
        raise InputError("standard input is closed; send the sample to it, or name a file")
    if not hasattr(stream, "read"):
        raise UsageError(f'a path, "-" or an open file is wanted to read from; received {type(source).__name__}')
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
    """A regular file within the limit, or the contents of a named pipe; no other kind of file ends for certain."""
    try:
        status = path.stat()
        kind = status.st_mode
        if stat.S_ISFIFO(kind):
            with open(path, "rb") as pipe:
                return read_within(pipe, str(path))
        if stat.S_ISDIR(kind):
            files = sorted(entry.name for entry in path.iterdir() if entry.is_file())
            inside = f", such as {listed(files, most=3)}" if files else ""
            raise InputError(f"{path} is a folder; name a file in it{inside}")
        MAX_BYTES.require(status.st_size, str(path))
        if stat.S_ISREG(kind) and (status.st_size or not _is_made_up(path)):
            return open(path, "rb", opener=_at_once)
        raise InputError(
            f"{path} is a device or another special file; expected a regular file or a pipe: name one, or send the "
            "sample to standard input"
        )
    except FileNotFoundError:
        raise InputError(f"{path} does not exist{_near_files(path) or '; check the path'}") from None
    except SteinkitError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {_reason(error)}; check its permissions and its name") from None


def _is_made_up(path: Path) -> bool:
    """Whether a file of no size has contents: those below /proc are made up as they are read, and may never end."""
    with open(path, "rb", opener=_at_once) as file:
        return bool(file.read(1))


def _at_once(name: str, flags: int) -> int:
    return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))  # which Windows does not have


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
    """What a JSON document holds.

    Parameters
    ----------
    data : bytes or str
    source : str
        Name of the document, for messages.

    Raises
    ------
    InputError
        If it is no JSON, names a key twice, or holds a number that is none or has no finite double.
    """
    try:
        return json.loads(
            data, object_pairs_hook=_object, parse_constant=_constant, parse_float=_number, parse_int=_number
        )
    except RecursionError:
        raise InputError(f"{source} is JSON nested too deep to be read") from None
    except ValueError as error:
        raise InputError(f"{source} is not valid JSON: {error}") from None


_TOML_BYTES, _TOML_DEPTH = 2**20, 16
_TOML_TEXT = re.compile(  # strings and comments, closed or not
    r""""{3}(?s:\\.|[^\\])*?(?:"{3,5}|\Z)|'{3}(?s:.)*?(?:'{3,5}|\Z)|"(?:\\.|[^"\\\n])*"?|'[^'\n]*'?|#[^\n]*"""
)
_TOML_DEEP = re.compile(rf"(?:\.[^.,=\[\]{{}}\n]*){{{_TOML_DEPTH}}}")


def parse_toml(data: bytes, source: str) -> dict[str, Any]:
    """What a TOML document holds; its size and the depth of its keys are limited, because parsing multiplies them.

    Parameters
    ----------
    data : bytes
    source : str
        Name of the document, for messages.

    Raises
    ------
    InputError
        If it is not TOML, takes more than a megabyte, or has a key of more than 16 parts.
    """
    if len(data) > _TOML_BYTES:
        raise InputError(f"{source} holds {len(data):,} bytes of TOML; expected at most {_TOML_BYTES:,}")
    try:
        text = data.decode("utf-8-sig")
        if _TOML_DEEP.search(_TOML_TEXT.sub("", text)):
            raise InputError(f"{source} has a key of more than {_TOML_DEPTH} parts; expected fewer dots in a key")
        return tomllib.loads(text)
    except InputError:
        raise
    except (ValueError, OverflowError, RecursionError) as error:  # of bytes, of TOML, of dates beyond the calendar
        raise InputError(f"{source} is not valid TOML: {error}") from None


def as_json(document: dict[str, Any]) -> str:
    """JSON text, in printable ASCII so that it passes through any encoding and screen; numbers lose no bit."""
    return json.dumps(document, indent=2, allow_nan=False).replace("\x7f", r"\u007f")


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        raise ValueError(f'the key "{next(name for name, count in counts.items() if count > 1)}" stands twice')
    return found


def _constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON number")


def _number(text: str) -> int | float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text if len(text) <= 30 else f'{text[:30]}...'} is too large")
    return int(text) if text.lstrip("-").isdigit() else value


def is_zarr(path: Path) -> bool:
    """Whether a path is a folder in which Zarr keeps groups."""
    return path.is_dir() and any((path / mark).is_file() for mark in ZARR_MARKS)
