"""Text from outside that is shown: names must not move a cursor, colour a terminal or begin a line of their own.

Nor may two names look alike: characters composed and decomposed, Latin letters and the Cyrillic and Greek ones of the
same shape, and characters of no width make two of what every reader takes for one name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

_LINES = "\n"
# C0 and C1 controls and DEL; marks that turn the direction of text round; separators of lines; halves of characters
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


# Letters whose shapes are those of Latin ones; alpha, nu and others that statisticians tell apart are not among them.
_SAME_SHAPES = str.maketrans(
    "\u0430\u0441\u0435\u043e\u0440\u0443\u0445\u0456\u0458\u0455\u0501\u04bb\u051b\u051d"
    "\u0410\u0412\u0421\u0415\u041d\u0406\u0408\u041a\u041c\u041e\u0420\u0405\u0422\u0425"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf\u00b5\u00a0",
    "aceopyxijsdhqwABCEHIJKMOPSTXABEZHIKMNOPTYXo\u03bc ",
)


def look_alikes(names: Iterable[str]) -> str:
    r"""The first two names that look alike, with what tells them apart; empty if no two do.

    Examples
    --------
    >>> from steinkit.printable import look_alikes
    >>> look_alikes(["tau", "t\u0430u"])
    '"tau" and "tau" (the second as t\\u0430u)'
    """
    names = list(names)
    if "".join(names).isascii():
        return ""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name if name.isascii() else _shape(name), name)
        if other != name:
            which, told = ("second", name) if other.isascii() else ("first", other)
            spelled = told.encode("unicode_escape").decode("ascii")
            return f'"{_shape(other)}" and "{_shape(name)}" (the {which} as {spelled})'
    return ""


def _shape(name: str) -> str:
    composed = unicodedata.normalize("NFC", name).translate(_SAME_SHAPES)
    return "".join(each for each in composed if unicodedata.category(each) != "Cf")


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
