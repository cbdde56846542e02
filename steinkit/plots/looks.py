"""How curves or bars that share a panel look: apart in colour, in grey and to the colour-blind.

The colours are of the kind that Okabe and Ito (2008) propose, without green, and moved until any two differ in
lightness, too. Marks and dashes say the same again, for curves that cross and for print.
"""

from __future__ import annotations

import operator
from typing import NamedTuple

from steinkit.errors import UsageError

COLOURS = ("#0072B2", "#E69F00", "#8C3A00", "#C46F9F", "#0A2A5E")
LIGHT = "#C9E6F7"  # a sixth, for areas: a line of it would be lost on white paper
MARKS = "os^Dv<>P"
_DASHES = ("-", "--", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)), (0, (3, 1, 3, 4)))


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
