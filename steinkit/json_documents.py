"""JSON as RFC 8259 has it, and no more: every key once, every number finite, nothing nested beyond reason."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NoReturn

from steinkit.errors import InputError


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
            data, object_pairs_hook=_object, parse_constant=_constant, parse_float=_finite, parse_int=_whole
        )
    except RecursionError:
        raise InputError(f"{source} is JSON nested too deep to be read") from None
    except ValueError as error:
        raise InputError(f"{source} is not valid JSON: {error}") from None


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


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {_short(text)} is too large")
    return value


def _whole(text: str) -> int:
    if len(text) > 300:  # no double has more digits before the point than 309
        raise ValueError(f"the number {_short(text)} is too large")
    return int(text)


def _short(text: str) -> str:
    return text if len(text) <= 30 else f"{text[:30]}..."
