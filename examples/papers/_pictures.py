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
        From `bands`.
    ax : matplotlib Axes, optional
        Where to draw, and several curves can share them; Axes of a new figure of pyplot if not given.
    label : str
        Name in the legend, which the caller asks for.
    color, linestyle : str
        Of the median, as matplotlib takes them; the band has the colour.
    unit : float
        What one of `against` is in the picture: with seconds a likelihood evaluation, the curve is drawn against time.
    seeds : bool
        Draw every seed's own curve as a thin line besides.

    Returns
    -------
    matplotlib Axes
        Those given, or the new ones.
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
    """Plot a risk with its interval and its floor on logarithmic axes.

    Parameters
    ----------
    result : Risk
        From `risk`.
    ax : matplotlib Axes, optional
        Where to draw, and several risks can share them; Axes of a new figure of pyplot if not given.
    label : str
        Name in the legend, which the caller asks for.
    color, linestyle : str
        Of the risk, as matplotlib takes them; the band of its interval has the colour.
    unit : float
        What one of `against` is in the picture, such as seconds a likelihood evaluation.

    Returns
    -------
    matplotlib Axes
        Those given, or the new ones.
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
