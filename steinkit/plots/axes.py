"""What the pictures share: Axes of their own where none are given, results as documents, logarithmic axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from steinkit.errors import UsageError
from steinkit.printable import printable

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


def panel_grid(
    panels: int, columns: int, size: tuple[float, float], *, sharex: bool, sharey: bool
) -> tuple[Figure, list[Any]]:
    """A figure with rows of panels, each of this size in inches, and their Axes."""
    from matplotlib.figure import Figure

    rows = -(-panels // columns)
    figure = Figure(figsize=(size[0] * columns + 0.7, size[1] * rows + 0.9), layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False, sharex=sharex, sharey=sharey).flat)
    for unused in axes[panels:]:
        unused.set_visible(False)
    return figure, axes[:panels]


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


def document_of(result: Any) -> Mapping[str, Any]:
    """The JSON document of a result, or what is one already."""
    found: Mapping[str, Any] = result if isinstance(result, Mapping) else result.to_dict()
    return found


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


def entitle(ax: Axes, title: str, mark: str | None) -> None:
    """Write a panel's title, and frame the panel where there is a mark to add to it."""
    title = printable(title)
    ax.set_title(f"{title}\n{mark}" if mark else title, fontsize=9, parse_math=False)
    if mark:
        ax.title.set_fontweight("bold")
        for spine in ax.spines.values():
            spine.set_linewidth(2.0)


def logarithmic(ax: Any, y: bool) -> None:
    """Logarithmic axes with labels at powers of ten, and where these are few at twice and five times them."""
    from matplotlib.ticker import FuncFormatter

    def at_powers(value: float, position: int) -> str:
        digits, power = f"{value:.0e}".split("e")
        if _PLAIN[0] <= value < _PLAIN[1]:
            return f"{value:g}"
        times = "" if digits == "1" else rf"{digits}\times"
        return f"${times}10^{{{int(power)}}}$"

    def between(ends: Callable[[], tuple[float, float]]) -> Callable[[float, int], str]:
        def label(value: float, position: int) -> str:
            low, high = ends()
            return at_powers(value, position) if high < _CROWDED * low and f"{value:e}"[0] in "25" else ""

        return label

    ax.set_xscale("log")
    if y:
        ax.set_yscale("log")
    for axis, ends in ((ax.xaxis, ax.get_xlim), *([(ax.yaxis, ax.get_ylim)] if y else [])):
        axis.set_major_formatter(FuncFormatter(at_powers))
        axis.set_minor_formatter(FuncFormatter(between(ends)))


def open_frame(ax: Axes) -> None:
    """Leave out the frame above and on the right."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
