"""What a file may cost before it is refused: bytes, columns, members, the ratio of a packing, seconds.

A file from outside may be damaged, or made to exhaust whoever reads it. Each cap has a value that no ordinary sample
reaches, and a variable of the environment that raises it; the message that refuses a file names both.
"""

from __future__ import annotations

import io
import math
import os
from dataclasses import dataclass
from typing import Any

from steinkit.errors import InputError, UsageError


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
MAX_WAIT = Limit("STEINKIT_MAX_WAIT", 60, "seconds", "waiting for a byte of a named pipe")
MAX_SECONDS = Limit(
    "STEINKIT_MAX_SECONDS", 5, "seconds", "the library that reads NetCDF or Zarr, beyond what the file's size takes"
)

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
