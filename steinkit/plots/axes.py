"""What the pictures share: Axes, colours and names, bars of coordinates, and a figure as SVG.

The colours of curves and bars are of the kind that Okabe and Ito (2008) propose, without green, and moved until any two
differ in lightness, too. Marks and dashes say the same again, for curves that cross and for print. Names are as short
as they can be and still differ.
"""

from __future__ import annotations

import io
import operator
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from steinkit.errors import UsageError, printable
from steinkit.measurement import Term
from steinkit.text import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LEGEND_DROP = 0.5  # inches below the axis, clear of its label
_PLAIN = (1e-3, 1e5)  # numbers between are written out, others as multiples of powers of ten
_CROWDED = 200.0  # ratio of an axis' ends from which powers of ten are labels enough for its width


def axes_or_new(ax: Axes | None, size: tuple[float, float] | None = None) -> Any:
    """The Axes given, or those of a new figure of pyplot, its size in inches."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def drawn(draw: Callable[[Axes], Any], width: float, height: float) -> Figure:
    """A figure that is not registered with pyplot, with what a function draws on its Axes; sizes in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    draw(figure.add_subplot())
    return figure


def head(figure: Figure, title: str, heading: str) -> Figure:
    """Write the heading above all, with the title on a line of its own where there is one; the figure again."""
    figure.suptitle(f"{printable(title)}\n{heading}" if title else heading, fontsize=11, parse_math=False)
    return figure


def strip_below(ax: Any, heights: tuple[float, float]) -> Any:
    """New Axes below the given ones, which leave them a part of their place; with the same horizontal axis.

    Raises
    ------
    UsageError
        If the Axes have no place in a grid.
    """
    place = ax.get_subplotspec()
    if place is None:
        raise UsageError("two panels are drawn, one below the other: give Axes of figure.subplots or add_subplot")
    grid = place.subgridspec(2, 1, height_ratios=heights)
    ax.set_subplotspec(grid[0])
    below = ax.figure.add_subplot(grid[1], sharex=ax)
    ax.tick_params(labelbottom=False)
    return below


def legend_below(ax: Axes, handles: Sequence[Any]) -> None:
    """A legend below the horizontal axis, where it hides nothing."""
    from matplotlib.transforms import ScaledTranslation

    below = ax.transAxes + ScaledTranslation(0.0, -_LEGEND_DROP, ax.figure.dpi_scale_trans)
    ax.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=below,
        ncols=2,
        fontsize=9,
        frameon=False,
    )


def logarithmic(ax: Any, which: str) -> None:
    """Logarithmic axes, "x", "y" or "xy": labels at powers of ten, where these are few at twice and five times them."""
    from matplotlib.ticker import FuncFormatter

    def at_powers(value: float, position: int) -> str:
        digits, power = f"{value:.0e}".split("e")
        if _PLAIN[0] <= value < _PLAIN[1]:
            return f"{value:g}"
        times = "" if digits == "1" else rf"{digits}\times"
        return f"${times}10^{{{int(power)}}}$"

    def between(value: float, position: int, ends: Callable[[], tuple[float, float]]) -> str:
        low, high = ends()
        return at_powers(value, position) if high < _CROWDED * low and f"{value:e}"[0] in "25" else ""

    for name in which:
        getattr(ax, f"set_{name}scale")("log")
        axis = getattr(ax, f"{name}axis")
        axis.set_major_formatter(FuncFormatter(at_powers))
        axis.set_minor_formatter(FuncFormatter(partial(between, ends=getattr(ax, f"get_{name}lim"))))


def open_frame(ax: Axes) -> None:
    """Leave out the frame above and on the right."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


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


_EDGE = "0.3"
_VISIBLE = 0.01  # width of a bracket, beside the longest bar, from which it can be seen


def coordinate_bars(
    groups: Mapping[str, Sequence[Term]],
    ax: Axes,
    *,
    most: int | None = None,
    longest_name: int = 24,
    colours: Sequence[str] = (*COLOURS, LIGHT),
) -> None:
    """Draw a bar a coordinate of each sample, the heaviest on top, with its bracket where that can be seen.

    Parameters
    ----------
    groups : mapping of str to sequence of Term
        What coordinates carry, by the label of the sample, which is drawn if there are several.
    ax : matplotlib Axes
    most : int, optional
        Coordinates shown.
    longest_name : int
        Letters of a line of a coordinate's name.
    colours : sequence of str
        Of the samples, in turn.
    """
    names = heaviest(groups.values(), most)
    thick = 0.8 / len(groups)
    highest = 0.0
    for k, (group, terms) in enumerate(groups.items()):
        by_name = {each.name: each for each in terms}
        places = [place - 0.4 + thick * (k + 0.5) for place, name in enumerate(names) if name in by_name]
        found = [by_name[name] for name in names if name in by_name]
        values, lower, upper = (np.array([getattr(each, of) for each in found]) for of in ("value", "lower", "upper"))
        ax.barh(
            places,
            values,
            height=0.9 * thick,
            color=colours[k % len(colours)],
            edgecolor=_EDGE,
            linewidth=0.4,
            label=group,
        )
        if (upper - lower > _VISIBLE * upper.max()).any():
            reach = np.vstack([values - lower, upper - values])
            ax.errorbar(values, places, xerr=reach, fmt="none", ecolor="0.1", capsize=2)
        for place, value in zip(places, values, strict=True):
            ax.annotate(f"{value:.3g}", (value, place), (5, 0), textcoords="offset points", va="center", fontsize=8)
        highest = max(highest, float(upper.max()))
    ax.set_yticks(range(len(names)), told_apart(names, longest_name), parse_math=False)
    ax.invert_yaxis()
    ax.set_xlim(0.0, 1.2 * highest or 1.0)
    ax.set_xlabel("discrepancy carried")
    open_frame(ax)
    if len(groups) > 1:
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=1, fontsize=8.5, frameon=False)


def heaviest(groups: Iterable[Sequence[Term]], most: int | None = None) -> list[str]:
    """Names of the coordinates that carry most in any of the samples, heaviest first."""
    found: dict[str, float] = {}
    for terms in groups:
        for each in terms:
            found[each.name] = max(found.get(each.name, 0.0), each.value)
    return sorted(found, key=lambda name: -found[name])[:most]


_RASTER = 170  # dots per inch of what is drawn as an image inside the SVG
_MANY_MARKS = 300  # of a scatter, beyond which it is drawn as an image


def svg(figure: Figure) -> bytes:
    """Draw a figure as SVG on white paper; figures made alike give the same bytes.

    Letters are outlines, so that they look the same everywhere. Thousands of marks become an image inside it.

    Parameters
    ----------
    figure : matplotlib Figure
        The figure to draw.

    Returns
    -------
    bytes
        An SVG document.
    """
    import matplotlib

    for ax in figure.axes:
        for marks in ax.collections:
            if np.shape(marks.get_offsets())[0] > _MANY_MARKS:
                marks.set_rasterized(True)
    stream = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "steinkit", "svg.fonttype": "path", "figure.dpi": _RASTER}):
        figure.savefig(stream, format="svg", dpi=_RASTER, metadata={"Date": None, "Creator": None})
    return stream.getvalue()
