"""Pictures of a graph Stein discrepancy: where the sample is wrong.

Each function draws on the Axes given, or on new ones, and returns the Axes; `arranged` puts them on a figure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from steinkit.describe.graph import TITLE
from steinkit.discrepancy.graph.result import GraphSteinDiscrepancy
from steinkit.plots.axes import axes_or_new
from steinkit.plots.coordinate_bars import coordinate_bars
from steinkit.printable import printable
from steinkit.sample import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TOO_MANY, _TOO_FEW = "#b2182b", "#2166ac"  # the ends of the RdBu colour map
_MARKED = 100  # draws up to which each is marked on a curve
_FLOW, _QUIET = "#4d4d4d", "#bdbdbd"


def stein_function(result: GraphSteinDiscrepancy, ax: Axes | None = None) -> Axes:
    """Plot g and the test function h over a one-dimensional sample, above the sample's histogram.

    Parameters
    ----------
    result : GraphSteinDiscrepancy
        Of a sample in one dimension.
    ax : matplotlib Axes, optional
    """
    ax = axes_or_new(ax)
    points, weights = result.sample.points[:, 0], result.sample.weights
    order = np.argsort(points)
    x, h = points[order], result.test_function[order]
    histogram = ax.twinx()
    shares = histogram.hist(points, bins=_bins(len(points)), weights=weights, color=_QUIET, alpha=0.5)[0]
    histogram.set_ylim(0.0, 1.5 * np.max(shares))  # room for the legend
    histogram.set_ylabel("share of the sample", color="0.45")
    histogram.tick_params(colors="0.45")
    ax.set_zorder(histogram.get_zorder() + 1)
    ax.patch.set_visible(False)
    ax.axhline(0.0, color="0.6", linewidth=0.8)
    marker = "." if len(x) <= _MARKED else ""  # a lone draw makes no line
    ax.plot(x, h, color=_TOO_MANY, marker=marker, label="test function h (mean 0 under the target)")
    ax.plot(
        x,
        result.g[order, 0],
        color=_FLOW,
        linestyle="--",
        marker=marker,
        label="Stein function g (moves draws to mend the sample)",
    )
    ax.fill_between(x, 0.0, h, where=h > 0.0, interpolate=True, color=_TOO_MANY, alpha=0.15, linewidth=0.0)
    ax.fill_between(x, 0.0, h, where=h < 0.0, interpolate=True, color=_TOO_FEW, alpha=0.15, linewidth=0.0)
    ax.set_xlabel(result.sample.names[0], parse_math=False)  # a name may hold $
    ax.set_ylabel("g, h")
    ax.set_title("too many draws where h > 0, too few where h < 0", fontsize=10)
    bottom, top = ax.get_ylim()
    ax.set_ylim(bottom, top + 0.2 * (top - bottom))  # for the legend
    ax.legend(loc="upper center", fontsize=8, framealpha=0.9)
    return ax


def draws(
    result: GraphSteinDiscrepancy, ax: Axes | None = None, *, limit: float | None = None, colorbar: bool = True
) -> Axes:
    """Plot the draws in the two coordinates that carry most of the discrepancy, coloured by the test function h.

    Parameters
    ----------
    result : GraphSteinDiscrepancy
        Of a sample in two or more dimensions.
    ax : matplotlib Axes, optional
    limit : float, optional
        Value of h at the ends of the colour scale, the same for panels to compare; by default 98 % of the draws
        lie within.
    colorbar : bool
    """
    ax = axes_or_new(ax)
    across, up = sorted(np.argsort(-result.coordinate_values, kind="stable")[:2])
    points, h = result.sample.points, result.test_function
    if limit is None:
        limit = float(np.quantile(np.abs(h), 0.98)) or float(np.abs(h).max()) or 1.0
    order = np.argsort(result.sample.weights * np.abs(h))  # the telling ones on top
    marks = ax.scatter(
        points[order, across],
        points[order, up],
        c=h[order],
        s=_sizes(result.sample.weights[order]),
        cmap="RdBu_r",
        vmin=-limit,
        vmax=limit,
        edgecolors="0.35",
        linewidths=0.25,
    )
    ax.set_xlabel(result.sample.names[across], parse_math=False)
    ax.set_ylabel(result.sample.names[up], parse_math=False)
    ax.set_title("red: too many draws, blue: too few", fontsize=10)
    if colorbar:
        ax.figure.colorbar(marks, ax=ax, label="test function h", extend="both", shrink=0.9)
    return ax


def coordinates(result: GraphSteinDiscrepancy, ax: Axes | None = None) -> Axes:
    """Plot the share of each coordinate in the discrepancy, with its certified bracket where that can be seen."""
    ax = axes_or_new(ax)
    coordinate_bars([("", result.document["coordinates"])], ax, colours=("0.55",))
    ax.set_title("coordinate by coordinate", fontsize=10)
    return ax


def arranged(result: GraphSteinDiscrepancy, title: str = "") -> Figure:
    """Arrange what shows where a sample is wrong: in one dimension g and h, above it the draws and the coordinates.

    Returns
    -------
    matplotlib Figure
        Not registered with pyplot; save it with ``figure.savefig``.
    """
    from matplotlib.figure import Figure

    heading = f"{TITLE} in {result.bracket}"
    if result.sample.dim == 1:
        figure = Figure(figsize=(8.0, 4.5), layout="constrained")
        stein_function(result, figure.add_subplot())
    else:
        height = max(4.2, 1.5 + 0.3 * result.sample.dim)
        figure = Figure(figsize=(10.0, height), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=[2, 1])
        draws(result, left)
        coordinates(result, right)
    figure.suptitle(f"{printable(title)}\n{heading}" if title else heading, fontsize=11, parse_math=False)
    return figure


def _bins(n: int) -> int:
    return int(np.clip(np.sqrt(n), 10, 60))


def _sizes(weights: Floats) -> Floats:
    """Marker areas: in proportion to the weights, 14 for the average one, within sight."""
    return np.clip(14.0 * weights * len(weights), 4.0, 120.0)
