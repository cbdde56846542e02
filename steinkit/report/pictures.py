"""Pictures for a page: drawn as SVG at two widths, so that letters are as large on a telephone as on a desk.

Nothing in them depends on the moment: the same results give the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from steinkit.describe.numbers import compact, count, sentence, shortened
from steinkit.report.elements import Drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDE, NARROW = 7.6, 3.8  # inches; one is 96 CSS pixels
_PIXELS = 96
_LONGEST_NAME = 32  # letters, in a legend
_IN_WORDS = 10  # coordinates
_MANY_MARKS = 300  # of a scatter, beyond which it is drawn as an image


def drawing(figure: Figure) -> Drawing:
    """A figure as SVG for light and for dark paper; thousands of marks become an image inside it."""
    from steinkit.plots import themed_svg

    for ax in figure.axes:
        for marks in ax.collections:
            if np.shape(marks.get_offsets())[0] > _MANY_MARKS:
                marks.set_rasterized(True)
    width, height = figure.get_size_inches()
    return Drawing(*themed_svg(figure), round(_PIXELS * width), round(_PIXELS * height))


def label(name: str) -> str:
    """A name as a legend can bear it: its middle left out where it is long, and no formula."""
    return shortened(name, _LONGEST_NAME).replace("$", r"\$")


def draws_in_numbers(name: str, result: Any) -> str:
    """What a picture of a result's draws shows, for those who do not see it."""
    points = result.sample.points
    shown = [
        f"{label} from {compact(low, 3)} to {compact(high, 3)}"
        for label, low, high in zip(result.sample.names, points.min(axis=0), points.max(axis=0), strict=True)
    ]
    ranges = ", ".join([*shown[:_IN_WORDS], *([f"{len(shown) - _IN_WORDS} more"] if len(shown) > _IN_WORDS else [])])
    return f"{sentence(name)}: {count(len(points), 'draw')}, {ranges}, discrepancy {compact(result.value)}."


def on_axes(draw: Callable[[Axes], Any], width: float, height: float) -> Drawing:
    """What a function draws on the Axes of a new figure, sizes in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    draw(figure.add_subplot())
    return drawing(figure)
