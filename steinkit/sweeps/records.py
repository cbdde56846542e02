"""What a sweep keeps in its folder, sealed: damage to a record, a document or kept draws is seen when they are read.

Records and documents are JSON objects whose last entry is a checksum of the others. What is read counts as whole only
if writing it again gives the same bytes, checksum included; so a bit that flipped is seen wherever it is, be it in the
checksum. A record bears the digest of what its cell computes besides, and that of the draws that are kept beside it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from steinkit.sweeps.identity import digest

Record = dict[str, Any]

_CHECKSUM = "checksum"
_OUTCOME = {
    *("cell", "status", "reason", "attempts", "results", "draws", "draws_hash"),
    *("cost_per_draw", "acceptance", "seconds", "warnings"),
}


def sealed(document: Mapping[str, Any], indent: int | None = None) -> bytes:
    """A document as JSON, with a checksum of the rest at its end; `unsealed` gives it back.

    Parameters
    ----------
    document : mapping
        What JSON can hold, without an entry ``checksum``.
    indent : int, optional
        Spaces of a document over several lines; by default it is one line.
    """
    body = json.dumps(document, indent=indent, allow_nan=False)
    checksum = hashlib.sha256(body.encode()).hexdigest()
    return json.dumps({**document, _CHECKSUM: checksum}, indent=indent, allow_nan=False).encode() + b"\n"


def unsealed(data: bytes, indent: int | None = None) -> dict[str, Any]:
    """The document that `sealed` wrote.

    Raises
    ------
    ValueError
        If a byte of it is another.
    """
    try:
        found = json.loads(data)
    except RecursionError:  # thousands of brackets, which none of ours has
        raise ValueError("nested too deeply") from None
    if not isinstance(found, dict) or _CHECKSUM not in found:
        raise ValueError("there is no checksum")
    document = {name: value for name, value in found.items() if name != _CHECKSUM}
    if sealed(document, indent) != data:
        raise ValueError("the checksum does not match")
    return document


def first_few(told: Sequence[str], most: int, separator: str = "; ") -> str:
    """The first of several, and how many more there are."""
    return separator.join(told[:most]) + (f" and {len(told) - most} more" if len(told) > most else "")


def cell_of(record: Mapping[str, Any]) -> str:
    """Fingerprint of the cell that a record describes, which it should bear."""
    return digest({name: value for name, value in record.items() if name not in _OUTCOME})


def parse_records(data: bytes) -> tuple[dict[str, Record], dict[int, bytes]]:
    """Records by the fingerprints of their cells, later ones in the place of earlier ones; and lines that are none.

    Parameters
    ----------
    data : bytes
        Whole lines.

    Returns
    -------
    dict of str to dict
    dict of int to bytes
        Damaged lines, by their numbers from 1.
    """
    records: dict[str, Record] = {}
    damaged: dict[int, bytes] = {}
    for number, line in enumerate(data.split(b"\n")[:-1], start=1):
        try:
            record = unsealed(line + b"\n")
            if record["cell"] != cell_of(record):
                raise ValueError("it describes another cell")
        except (ValueError, KeyError):
            damaged[number] = line
        else:
            records[record["cell"]] = record
    return records, damaged
