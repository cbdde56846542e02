"""How curves, bars and names that share a panel are told apart.

The colours are of the kind that Okabe and Ito (2008) propose, without green, and moved until any two differ in
lightness, too. Marks and dashes say the same again, for curves that cross and for print. Names are as short as they can
be and still differ.
"""

from __future__ import annotations

import operator
import re
import textwrap
from collections.abc import Sequence
from typing import NamedTuple

from steinkit.describe.numbers import shortened
from steinkit.errors import UsageError
from steinkit.printable import printable

COLOURS = ("#0072B2", "#E69F00", "#8C3A00", "#C46F9F", "#0A2A5E")
LIGHT = "#C9E6F7"  # a sixth, for areas: a line of it would be lost on white paper
MARKS = "os^Dv<>P"
_DASHES = ("-", "--", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)), (0, (3, 1, 3, 4)))
_LINES = 3  # of a label
_PARTS = re.compile(r"\d[\d.]*(?:[eE][+-]?\d+)?|[^\W\d_]+|.", re.DOTALL)  # numbers and words are not cut


class Look(NamedTuple):
    """Colour, mark and dashes of a curve, by matplotlib's names: ``ax.plot(x, y, **look(0)._asdict())``.

    Parameters
    ----------
    color : str
        As "#rrggbb".
    marker : str
        Of the points.
    linestyle : str, or tuple of an offset and dashes
        Of the line.
    """

    color: str
    marker: str
    linestyle: str | tuple[int, tuple[int, ...]]


def look(number: int) -> Look:
    """Colour, mark and dashes of one of several curves in a panel.

    Any two of the first five differ in colour, also to those who see no red or no green, and in lightness, so that
    grey print tells them apart. Marks and dashes begin again later.

    Parameters
    ----------
    number : int
        Of the curve, from 0.

    Returns
    -------
    Look
        With fields `color`, `marker` and `linestyle`, as matplotlib's ``plot`` takes them.

    Raises
    ------
    UsageError
        If the number is negative.

    Examples
    --------
    >>> from steinkit.plots import look
    >>> look(0)
    Look(color='#0072B2', marker='o', linestyle='-')
    """
    number = operator.index(number)
    if number < 0:
        raise UsageError(f"the number of a curve must be 0 or more; received {number}")
    return Look(COLOURS[number % len(COLOURS)], MARKS[number % len(MARKS)], _DASHES[number % len(_DASHES)])


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
