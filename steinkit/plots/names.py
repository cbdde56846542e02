"""Names side by side, as short as they can be and still be told apart."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from steinkit.describe.numbers import shortened
from steinkit.printable import printable

_LINES = 3  # of a label
_PARTS = re.compile(r"\d[\d.]*(?:[eE][+-]?\d+)?|[^\W\d_]+|.", re.DOTALL)  # numbers and words are not cut


def told_apart(names: Sequence[str], longest: int) -> list[str]:
    """Names for labels: what all of them begin or end with is left out where they are long, and the rest is wrapped.

    A name's middle is left out only where it takes more than three lines, and it can be told from the others without.

    Parameters
    ----------
    names : sequence of str
    longest : int
        Letters of a line.
    """
    found = [printable(name) for name in names]
    if max(map(len, found), default=0) > longest and len(set(found)) > 1:
        found = _without_common(found)
    cut = [shortened(name, _LINES * longest) for name in found]
    if len(set(cut)) == len(set(found)):
        found = cut
    return ["\n".join(textwrap.wrap(name, longest)) or name for name in found]


def _without_common(names: Sequence[str]) -> list[str]:
    """What is left of names without their common beginning and end, whole words at a time."""
    parts = [_PARTS.findall(name) for name in names]
    first = _shared(parts)
    rest = [each[first:] for each in parts]
    last = _shared([each[::-1] for each in rest])
    middles = ["".join(each[: len(each) - last]).strip() for each in rest]
    if not all(middles):  # one name is a part of the others
        return list(names)
    return [f"{'…' if first else ''}{middle}{'…' if last else ''}" for middle in middles]


def _shared(parts: Sequence[Sequence[str]]) -> int:
    """How many parts all of them begin with."""
    unlike = (k for k, each in enumerate(zip(*parts, strict=False)) if len(set(each)) > 1)
    return next(unlike, min(map(len, parts)))
