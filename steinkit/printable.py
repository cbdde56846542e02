"""Text from outside that is shown: names must not move a cursor, colour a terminal or begin a line of their own."""

from __future__ import annotations

import re
from typing import Any

_LINES = "\n"
# C0 and C1 controls and DEL; marks that turn the direction of text round; separators of lines; halves of characters
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str, *, lines: bool = False) -> str:
    r"""Text whose control characters are written as escapes, such as ``\x1b``.

    Parameters
    ----------
    text : str
    lines : bool
        Whether line breaks are the text's own and stay; else they are escaped, too.

    Examples
    --------
    >>> from steinkit.printable import printable
    >>> print(printable("theta\x1b[31m\n"))
    theta\x1b[31m\n
    """
    if text.isprintable():
        return text
    if lines:
        return _LINES.join(map(printable, text.split(_LINES)))
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def printable_document(part: Any) -> Any:
    """A JSON document, or a part of one, with all its texts and names printable, lines kept."""
    if isinstance(part, str):
        return printable(part, lines=True)
    if isinstance(part, dict):
        return {printable_document(key): printable_document(value) for key, value in part.items()}
    return list(map(printable_document, part)) if isinstance(part, list | tuple) else part
