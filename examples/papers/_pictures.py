"""Plots of results from several seeds: median curves with bands, and risks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from _bands import Bands
from _running_means import Risk

from steinkit.errors import printable
from steinkit.plots.axes import axes_or_new, logarithmic

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINE = "#0072B2"


def plot_bands(
    result: Bands,
    ax: Axes | None = None,
    *,
    label: str = "",
    color: str = _LINE,
    linestyle: str = "-",
    unit: float = 1.0,
    seeds: bool = False,
) -> Axes:
    """Plot the median curve and its quantile band on logarithmic axes.

    For a single seed, only the curve is drawn.

    Parameters
    ----------
    result : Bands
        Result of `bands`.
    ax : matplotlib Axes, optional
        Axes for the curve, which several curves can share. By default, they are those of a new pyplot figure.
    label : str
        Name in the legend. The legend must be added by the caller.
    color, linestyle : str
        Matplotlib color and line style of the median. The band has the same color.
    unit : float
        Factor by which the abscissas are multiplied. For example, the number of seconds per likelihood evaluation gives
        a plot against time.
    seeds : bool
        If True, also draw the curve of every seed as a thin line.

    Returns
    -------
    matplotlib Axes
        The axes of the plot.
    """
    ax, x = axes_or_new(ax), unit * result.against
    if seeds:
        ax.plot(x, result.replicates.T, color=color, alpha=0.25, linewidth=0.6)
    ax.plot(x, result.median, color=color, linestyle=linestyle, linewidth=1.8, label=printable(label) or None)
    if len(result.replicates) > 1:
        ax.fill_between(x, result.low, result.high, color=color, alpha=0.18, linewidth=0.0)
    logarithmic(ax, "xy" if _is_positive(result.replicates) else "x")
    return ax


def plot_risk(
    result: Risk,
    ax: Axes | None = None,
    *,
    label: str = "",
    color: str = _LINE,
    linestyle: str = "-",
    unit: float = 1.0,
) -> Axes:
    """Plot a risk with its interval and its lower limit on logarithmic axes.

    Parameters
    ----------
    result : Risk
        Result of `risk`.
    ax : matplotlib Axes, optional
        Axes on which to plot the risk. Several risks can share the same axes. The default is a new pyplot figure.
    label : str
        Name in the legend. The legend must be added by the caller.
    color, linestyle : str
        Matplotlib color and line style of the risk. The band of its interval has the same color.
    unit : float
        Factor by which the abscissas are multiplied, such as the number of seconds per likelihood evaluation.

    Returns
    -------
    matplotlib Axes
        The axes of the plot.
    """
    ax, x = axes_or_new(ax), unit * result.against
    ax.plot(x, result.value, color=color, linestyle=linestyle, linewidth=1.8, label=printable(label) or None)
    ax.fill_between(x, *result.interval.T, color=color, alpha=0.18, linewidth=0.0)
    if result.floor > 0.0:
        ax.axhline(result.floor, color="0.4", linestyle=":", linewidth=1.0)
    logarithmic(ax, "xy" if _is_positive(result.value) else "x")
    return ax


def _is_positive(values: np.ndarray) -> bool:
    known = values[np.isfinite(values)]
    return bool(known.size and (known > 0.0).all())
