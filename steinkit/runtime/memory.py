"""Memory in bytes: as users write it, and as much as the machine has."""

from __future__ import annotations

import math
import os
import re

from steinkit.errors import UsageError

_UNITS = {"": 1.0, "b": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12}
_UNITS |= {"kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30, "tib": 2.0**40}


def as_bytes(given: float | str) -> float:
    """A number of bytes from one, or from words such as "2 GB" or "512MiB".

    Raises
    ------
    UsageError
        If it is no positive number of bytes.
    """
    number, unit = given, ""
    if isinstance(given, str):
        parts = re.fullmatch(r"\s*([0-9.eE+]+)\s*([a-zA-Z]*)\s*", given)
        number, unit = parts.groups() if parts else ("nan", "")
    try:
        found = float(number) * _UNITS[unit.lower()]
    except (KeyError, ValueError, TypeError):
        found = math.nan
    if isinstance(given, bool) or not found > 0.0:
        raise UsageError(
            f"max_memory (--max-memory) must be a positive number of bytes, or words such as '2 GB'; received {given!r}"
        )
    return found


def machine_memory() -> float:
    """Bytes of memory that the machine has; infinite where the system does not tell."""
    try:
        found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return math.inf
    return float(found) if found > 0 else math.inf


def in_words(size: float) -> str:
    """1.2 GB, 350 MB, to two digits."""
    unit, name = next((each for each in ((1e9, "GB"), (1e6, "MB")) if size >= 0.995 * each[0]), (1e3, "kB"))
    return f"{float(f'{size / unit:.2g}'):,g} {name}"
