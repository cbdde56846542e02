"""Plot style and SVG output.

All plots share one style for colors, fonts, axes, legends and labels.

The colors are based on the palette of Okabe and Ito (2008). Markers, dashes and hatching distinguish curves and areas
in grayscale. Figures are narrow and use large fonts to remain legible on screens that are 390 pixels wide.

References
----------
M. Okabe and K. Ito (2008), "Color universal design".
"""

from __future__ import annotations

import io
import operator
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter
from matplotlib.transforms import ScaledTranslation

from steinkit.errors import UsageError
from steinkit.measurement import Term
from steinkit.text import abbreviated

WIDTH = 5.2  # in inches; text remains legible at a width of 390 pixels
BLUE, RED, GRAY, DARK = "#0072B2", "#D55E00", "0.74", "0.35"
HATCH, ALPHA = "////", 0.6
STYLE: Any = {
    "font.size": 10.0,
    "axes.labelsize": 10.0,
    "axes.titlesize": 10.0,
    "figure.titlesize": 10.5,
    "legend.fontsize": 9.5,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.parse_math": False,  # a name may contain $
}
in_style = matplotlib.rc_context(STYLE)
"""Decorator of drawing functions that use `STYLE`."""
_LONG_LABEL = 26  # maximum number of characters per label in a two-column legend
_LEGEND_DROP = 0.5  # distance below the axis in inches, leaving room for the axis label
_CROWDED = 20.0  # largest ratio of the axis limits with room for ticks at 1, 2 and 5 times powers of ten


def axes_or_new(ax: Axes | None, size: tuple[float, float] | None = None) -> Any:
    """Return the given Axes, or new Axes in a new pyplot figure."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size or (WIDTH, 4.2), layout="constrained")[1]


@in_style
def drawn(draw: Callable[..., Any], height: float) -> Figure:
    """Return a figure drawn by ``draw(ax=...)``, with its height in inches.

    The figure is not registered with pyplot.
    """
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    draw(ax=figure.add_subplot())
    return figure


def legend_below(ax: Axes, handles: Sequence[Any] | None = None) -> None:
    """Add a legend below the x-axis label.

    By default, the legend lists every labeled artist. Repeated labels are listed once.
    """
    if handles is None:
        labeled = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
        handles = [*labeled.values()]
    if handles:
        below = ax.transAxes + ScaledTranslation(0.0, -_LEGEND_DROP, ax.figure.dpi_scale_trans)
        ax.legend(
            handles=handles,
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            bbox_transform=below,
            ncols=1 if max(len(each.get_label()) for each in handles) > _LONG_LABEL else 2,
            frameon=False,
        )


def logarithmic(ax: Any, which: str) -> None:
    """Make the x-axis, the y-axis or both logarithmic, with few tick labels.

    Tick labels are plain numbers. Call this function after drawing.
    """
    for name in which:
        getattr(ax, f"set_{name}scale")("log")
        axis, (low, high) = getattr(ax, f"{name}axis"), getattr(ax, f"get_{name}lim")()
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < _CROWDED * low else (1.0,)))
        axis.set_major_formatter(lambda value, _: f"{value:g}")
        axis.set_minor_formatter(NullFormatter())


COLORS = ("#0072B2", "#E69F00", "#8C3A00", "#C46F9F", "#0A2A5E")
MARKS = "os^Dv<>P"
_DASHES = ("-", "--", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)), (0, (3, 1, 3, 4)))


class Look(NamedTuple):
    """Color, marker and dash pattern of a curve, as matplotlib arguments.

    Parameters
    ----------
    color : str
        Color as "#rrggbb".
    marker : str
        Marker of the points.
    linestyle : str, or tuple of an offset and dashes
        Style of the line.

    Examples
    --------
    >>> from steinkit.plots import Look
    >>> Look("#0072B2", "o", "-")._asdict()
    {'color': '#0072B2', 'marker': 'o', 'linestyle': '-'}
    """

    color: str
    marker: str
    linestyle: str | tuple[int, tuple[int, ...]]


def look(number: int) -> Look:
    """Return the color, marker and dash pattern for curve number `number`.

    The first five colors differ in hue, even for readers with protanopia or deuteranopia. These colors also differ in
    lightness, which makes them distinguishable in grayscale. Colors repeat after five curves, and combinations of
    marker and dash pattern repeat after 56 curves.

    Parameters
    ----------
    number : int
        Number of the curve, counted from 0.

    Returns
    -------
    Look
        Style with the fields `color`, `marker` and `linestyle`, as accepted by ``ax.plot``.

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
        raise UsageError(f"`number` must be 0 or more; got {number}")
    return Look(COLORS[number % len(COLORS)], MARKS[number % len(MARKS)], _DASHES[number % len(_DASHES)])


def wrapped(name: str, longest: int) -> str:
    """Wrap a label into at most three lines of the given width.

    The middle of a longer label is omitted.
    """
    return "\n".join(textwrap.wrap(abbreviated(name, 3 * longest), longest))


def coordinate_bars(terms: Sequence[Term], ax: Axes, *, most: int | None = None, longest_name: int = 24) -> None:
    """Draw one bar per coordinate, with the largest bar at the top.

    Error bars show certified brackets.

    Parameters
    ----------
    terms : sequence of Term
        Contributions of the coordinates.
    ax : matplotlib Axes
    most : int, optional
        Number of bars. By default, a bar is drawn for every coordinate.
    longest_name : int
        Maximum number of letters per line of a name.
    """
    shown = sorted(terms, key=lambda each: -each.value)[:most]
    values, lower, upper = (np.array([getattr(each, name) for each in shown]) for name in ("value", "lower", "upper"))
    rows = range(len(shown))
    bars = ax.barh(rows, values, color="0.55")
    ax.errorbar(values, rows, xerr=[values - lower, upper - values], fmt="none", ecolor="0.1")
    ax.bar_label(bars, [f"{value:.3g}" for value in values], padding=5)
    ax.set_yticks(rows, [wrapped(each.name, longest_name) for each in shown], parse_math=False)
    ax.invert_yaxis()
    ax.set_xlim(0.0, 1.2 * float(upper.max()) or 1.0)
    ax.set_xlabel("contribution to the discrepancy")


_RASTER = 170  # resolution of rasterized scatter plots, in dots per inch
_MANY_MARKS = 300  # scatter plots with more markers are rasterized


def svg(figure: Figure) -> bytes:
    """Return a figure as SVG with a white background.

    Identical figures produce identical bytes.

    Text is stored as outlines, so it looks the same on every machine. Scatter plots with many points are rasterized
    within the SVG.

    Parameters
    ----------
    figure : matplotlib Figure
        Figure to convert.

    Returns
    -------
    bytes
        An SVG document.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from steinkit.plots import svg
    >>> svg(Figure())[:5]
    b'<?xml'
    """
    for ax in figure.axes:
        for marks in ax.collections:
            if np.shape(marks.get_offsets())[0] > _MANY_MARKS:
                marks.set_rasterized(True)
    stream = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "steinkit", "svg.fonttype": "path", "figure.dpi": _RASTER}):
        figure.savefig(stream, format="svg", dpi=_RASTER, metadata={"Date": None, "Creator": None})
    return stream.getvalue()
