"""Plots of several seeds: median curves with bands, and risks."""

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
    """Plot the median curve and its quantile band on logarithmic axes; a single seed has a line only.

    Parameters
    ----------
    result : Bands
        Result of `bands`.
    ax : matplotlib Axes, optional
        Axes for the curve, which several curves can share; those of a new pyplot figure by default.
    label : str
        Name in the legend, which the caller adds.
    color, linestyle : str
        Matplotlib style of the median; the band has the same color.
    unit : float
        Factor of the abscissas: with seconds per likelihood evaluation, the curve is drawn against time.
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
        Axes for the risk, which several risks can share; those of a new pyplot figure by default.
    label : str
        Name in the legend, which the caller adds.
    color, linestyle : str
        Matplotlib style of the risk; the band of its interval has the same color.
    unit : float
        Factor of the abscissas, such as seconds per likelihood evaluation.

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
