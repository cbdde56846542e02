"""Pictures of a graph Stein discrepancy: where the sample is wrong.

Each function draws on the Axes given, or on new ones, and returns the Axes; `arranged` puts them on a figure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from steinkit.describe.graph import TITLE
from steinkit.discrepancy.graph.result import GraphSteinDiscrepancy
from steinkit.plots.axes import axes_or_new, drawn, head, strip_below
from steinkit.plots.coordinate_bars import coordinate_bars
from steinkit.plots.excess import (
    ALPHA,
    HATCH,
    TOO_FEW,
    TOO_MANY,
    WITHIN,
    Standard,
    key,
    right_share,
    said_of,
    shades,
    threshold,
)
from steinkit.sample import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_KEY = "▲ red: too many draws, ▼ blue: too few"
_MARKED = 100  # draws up to which each is marked on a curve
_FLOW = "0.35"
_HEIGHTS = (4.0, 1.0)  # of the functions and of the histogram below them


def stein_function(
    result: GraphSteinDiscrepancy,
    ax: Axes | None = None,
    *,
    reference: Standard = None,
    histogram: bool = True,
    legend: bool = True,
) -> Axes:
    """Plot g and the test function h over a one-dimensional sample, and below them the sample's histogram.

    Red and blue are where h is beyond what right samples show: see `draws`.

    Parameters
    ----------
    result : GraphSteinDiscrepancy
        Of a sample in one dimension.
    ax : matplotlib Axes, optional
        Where to draw; Axes of a new figure of pyplot if not given.
    reference : Reference or Verdict, optional
        What right samples show: see `draws`.
    histogram : bool
        Whether the Axes give a part of their place to the histogram.
    legend : bool
        Whether to say in a legend what lines and areas are.

    Returns
    -------
    matplotlib Axes
        Those of g and h; the histogram's, where there is one, are the last of their figure.

    Raises
    ------
    UsageError
        If a histogram is wanted and the Axes given have no place in a grid to share.
    """
    ax = axes_or_new(ax)
    points, weights = result.sample.points[:, 0], result.sample.weights
    order = np.argsort(points)
    x, h = points[order], result.test_function[order]
    t = threshold(h, weights[order], right_share(result.value, reference))
    ax.axhline(0.0, color="0.6", linewidth=0.8)
    marker = "." if len(x) <= _MARKED else ""  # a lone draw makes no line
    ax.plot(x, h, color="0.1", linewidth=1.3, marker=marker, label="test function h (mean 0 under the target)")
    ax.plot(
        x,
        result.g[order, 0],
        color=_FLOW,
        linestyle="--",
        linewidth=1.1,
        marker=marker,
        label="Stein function g (moves draws to mend the sample)",
    )
    ax.fill_between(x, 0.0, h, where=h >= t, color=TOO_MANY, alpha=ALPHA, linewidth=0.0)
    ax.fill_between(x, 0.0, h, where=h <= -t, color=TOO_FEW, alpha=ALPHA, linewidth=0.0, hatch=HATCH)
    ax.set_ylabel("g, h")
    ax.set_title(said_of(reference, t), fontsize=10)
    if legend:
        bottom, top = ax.get_ylim()
        ax.set_ylim(bottom, top + 0.3 * (top - bottom))  # for the legend
        handles = [*ax.get_legend_handles_labels()[0], *key(marks=False)]
        ax.legend(handles=handles, loc="upper center", fontsize=8, framealpha=0.9, ncols=2)
    lowest = ax
    if histogram:
        lowest = strip_below(ax, _HEIGHTS)
        lowest.hist(points, bins=_bins(len(points)), weights=weights, color=WITHIN)
        lowest.set_ylabel("share of\nthe sample", fontsize=9)
    lowest.set_xlabel(result.sample.names[0], parse_math=False)  # a name may hold $
    return ax


def draws(
    result: GraphSteinDiscrepancy,
    ax: Axes | None = None,
    *,
    reference: Standard = None,
    limit: float | None = None,
    colorbar: bool = True,
) -> Axes:
    """Plot the draws in the two coordinates that carry most of the discrepancy, coloured by the test function h.

    Only draws that carry what right samples do not show are coloured. If the discrepancy is D, and R that of a right
    sample of the same size, these are the fewest draws whose shares w_i h(x_i) of the discrepancy sum to D - R, all
    of them where h is at least some t: red triangles, where there are too many draws. Blue ones, where h is at most
    -t, lie where there are too few. The others are grey, and all of them where D is at most R.

    Parameters
    ----------
    result : GraphSteinDiscrepancy
        Of a sample in two or more dimensions.
    ax : matplotlib Axes, optional
        Where to draw; Axes of a new figure of pyplot if not given.
    reference : Reference or Verdict, optional
        What tells R: the largest value of independent samples of the same size (`steinkit.reference_discrepancy`), or
        D sqrt(`ksd_equivalent_draws` / ESS) of a verdict that finds a bias, and D of one that finds none. Without
        either R is taken for D / 2: coloured are the fewest draws that carry half of the discrepancy, in right
        samples, too, as the title then says.
    limit : float, optional
        Value of h at the ends of the colour scale, the same for panels to compare; by default 98 % of the draws
        lie within.
    colorbar : bool
        Whether to put the colour scale beside the Axes, where any draw is coloured.

    Returns
    -------
    matplotlib Axes
        Those given, or the new ones.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    ax = axes_or_new(ax)
    across, up = sorted(np.argsort(-result.coordinate_values, kind="stable")[:2])
    points, h, weights = result.sample.points, result.test_function, result.sample.weights
    t = threshold(h, weights, right_share(result.value, reference))
    end = _end(h, t, limit)
    scale, colours = Normalize(-end, end), shades(t, end)
    order = np.argsort(weights * np.abs(h))  # the telling ones on top
    sizes = _sizes(weights)
    quiet = order[np.abs(h[order]) < t]
    ax.scatter(points[quiet, across], points[quiet, up], c=WITHIN, s=sizes[quiet], linewidths=0.0)
    for marker, shown in (("^", order[h[order] >= t]), ("v", order[h[order] <= -t])):
        if not len(shown):
            continue
        ax.scatter(
            points[shown, across],
            points[shown, up],
            c=h[shown],
            s=1.6 * sizes[shown],
            marker=marker,
            cmap=colours,
            norm=scale,
            edgecolors="0.25",
            linewidths=0.3,
        )
    ax.set_xlabel(result.sample.names[across], parse_math=False)
    ax.set_ylabel(result.sample.names[up], parse_math=False)
    ax.set_title("\n".join([*([_KEY] if np.isfinite(t) else []), said_of(reference, t)]), fontsize=10)
    if colorbar and np.isfinite(t):
        mapped = ScalarMappable(scale, colours)
        ax.figure.colorbar(mapped, ax=ax, label="test function h", extend="both", shrink=0.9)
    return ax


def coordinates(result: GraphSteinDiscrepancy, ax: Axes | None = None) -> Axes:
    """Plot the share of each coordinate in the discrepancy, with its certified bracket where that can be seen.

    Parameters
    ----------
    result : GraphSteinDiscrepancy
        Of a sample in any dimension.
    ax : matplotlib Axes, optional
        Where to draw; Axes of a new figure of pyplot if not given.

    Returns
    -------
    matplotlib Axes
        Those given, or the new ones.
    """
    ax = axes_or_new(ax)
    coordinate_bars([("", result.to_dict()["coordinates"])], ax, colours=("0.55",))
    ax.set_title("coordinate by coordinate", fontsize=10)
    return ax


def arranged(result: GraphSteinDiscrepancy, title: str = "", reference: Standard = None) -> Figure:
    """Arrange what shows where a sample is wrong: in one dimension g and h, above it the draws and the coordinates.

    Returns
    -------
    matplotlib Figure
        Not registered with pyplot; save it with ``figure.savefig``.
    """
    from matplotlib.figure import Figure

    heading = f"{TITLE} in {result.bracket}"
    if result.sample.dim == 1:
        figure = drawn(lambda ax: stein_function(result, ax, reference=reference), 8.0, 5.0)
    else:
        height = max(4.4, 1.7 + 0.3 * result.sample.dim)
        figure = Figure(figsize=(10.0, height), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=[2, 1])
        draws(result, left, reference=reference)
        coordinates(result, right)
    return head(figure, title, heading)


def _end(h: Floats, t: float, limit: float | None) -> float:
    """The end of the colour scale: as asked for or by the draws, and beyond t."""
    if limit is None:
        limit = float(np.quantile(np.abs(h), 0.98)) or float(np.abs(h).max()) or 1.0
        if limit <= t:
            limit = float(np.abs(h).max())
    return max(limit, 1.001 * t) if np.isfinite(t) else limit


def _bins(n: int) -> int:
    return int(np.clip(np.sqrt(n), 10, 60))


def _sizes(weights: Floats) -> Floats:
    """Marker areas: in proportion to the weights, 12 for the average one, within sight."""
    return np.clip(12.0 * weights * len(weights), 4.0, 120.0)
