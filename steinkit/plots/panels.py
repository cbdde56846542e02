"""Pictures of the draws behind a sweep, over the density of the target, settings side by side.

`draws_with_density` draws on the Axes given, or on new ones, and returns the Axes; `settings_panels` returns a figure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from steinkit.discrepancy.graph.result import GraphSteinDiscrepancy
from steinkit.errors import UsageError
from steinkit.plots.axes import entitle, panel_grid
from steinkit.plots.discrepancy import draws as plot_draws
from steinkit.plots.discrepancy import stein_function
from steinkit.plots.excess import WITHIN, Standard, key
from steinkit.sample import Floats
from steinkit.target import Target

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SHARES = (0.99, 0.9, 0.5)  # of the target inside each contour
_SHADES, _LINES = ("0.93", "0.86", "0.78"), (0.6, 0.8, 1.1)
_COARSE, _FINE = 40, 120  # points a side of the grids of the density
_FALL = 9.0  # the log density falls by so much to the edge of what is shown: a share of 1e-4 lies beyond, if normal
_GROWTHS = 8


def draws_with_density(
    result: GraphSteinDiscrepancy,
    target: Target,
    ax: Axes | None = None,
    *,
    reference: Standard = None,
    limit: float | None = None,
    colorbar: bool = True,
) -> Axes:
    """Plot draws coloured by the test function h over contours of the target: the regions that hold 50, 90 and 99 %.

    The contours need two dimensions and a log density; otherwise there are only the draws, in the two coordinates that
    carry most of the discrepancy. The density is looked for around the draws: a mode far from them is not found.

    Parameters
    ----------
    result : GraphSteinDiscrepancy
        Of a sample in two or more dimensions.
    target : Target
        Whose contours are drawn; without a log density there are none.
    ax : matplotlib Axes, optional
        Where to draw; Axes of a new figure of pyplot if not given.
    reference : Reference or Verdict, optional
        What right samples show: draws that do no more than these are grey; see `plots.draws`.
    limit : float, optional
        Value of h at the ends of the colour scale: see `plots.draws`.
    colorbar : bool
        Whether to put the colour scale beside the Axes, where any draw is coloured.

    Returns
    -------
    matplotlib Axes
        Those given, or the new ones.
    """
    ax = plot_draws(result, ax, reference=reference, limit=limit, colorbar=colorbar)
    density = _density(target, result.sample.points)
    if density is not None:
        _contours(ax, *density)
    return ax


def settings_panels(
    results: Mapping[str, GraphSteinDiscrepancy],
    target: Target | None = None,
    *,
    reference: Standard | Mapping[str, Standard] = None,
    marks: Mapping[str, str] | None = None,
    columns: int | None = None,
) -> Figure:
    """Arrange the draws of several settings side by side, in the same colours and on the same axes.

    Parameters
    ----------
    results : mapping of str to GraphSteinDiscrepancy
        By title, such as "step size = 0.005"; all of one dimension.
    target : Target, optional
        Contours of its density are drawn in two dimensions: see `draws_with_density`.
    reference : Reference or Verdict, or mapping of str to these, optional
        What right samples show, for all or by title: draws that do no more are grey; see `plots.draws`.
    marks : mapping of str to str, optional
        What to add to some of the titles, such as "best by graph"; their panels are framed.
    columns : int, optional
        Panels in a row; at most three if not given.

    Returns
    -------
    matplotlib Figure
        Not registered with pyplot; save it with ``figure.savefig``.

    Raises
    ------
    UsageError
        If there are no results, or of different dimensions.
    """
    dims = {found.sample.dim for found in results.values()}
    if len(dims) != 1:
        raise UsageError(f"panels need results of one dimension; received dimensions {sorted(dims)}")
    (dim,) = dims
    columns = columns or (2 if len(results) == 4 else min(3, len(results)))
    figure, axes = panel_grid(len(results), columns, (1.9, 1.9), sharex=dim <= 2, sharey=dim == 2)
    standards = [reference.get(title) if isinstance(reference, Mapping) else reference for title in results]
    if dim == 1:
        _draw_curves(figure, axes, list(results.values()), standards)
    else:
        _draw_panels(figure, axes, list(results.values()), standards, target)
    for number, (ax, title) in enumerate(zip(axes, results, strict=True)):
        lowest, leftmost = number + columns >= len(axes), number % columns == 0
        ax.tick_params(labelsize=8, labelbottom=lowest or dim > 2)
        ax.set_xlabel(ax.get_xlabel() if lowest or dim > 2 else "", fontsize=9, parse_math=False)
        ax.set_ylabel(ax.get_ylabel() if leftmost or dim > 2 else "", fontsize=9, parse_math=False)
        entitle(ax, title, (marks or {}).get(title))
    return figure


def _density(target: Target, points: Floats) -> tuple[Floats, Floats, Floats] | None:
    """Log density of a two-dimensional target on a grid that holds nearly all of it: x, y, values (y, x).

    The box around the draws grows while the density on its sides has not fallen, and shrinks to where it has not.
    """
    if points.shape[1] != 2 or not target.has_log_density:
        return None
    reach = np.array([[-np.inf, np.inf]] * 2) if target.bounds is None else target.bounds
    low, high = np.quantile(points, [0.005, 0.995], axis=0)
    margin = 0.1 * (high - low) + 1e-9 * (1.0 + np.abs(high))
    low, high = low - margin, high + margin
    for _ in range(_GROWTHS):
        low, high = np.maximum(low, reach[:, 0]), np.minimum(high, reach[:, 1])
        x, y, values = _grid(target, low, high, _COARSE)
        if not math.isfinite(values.max()):  # no density around the draws, or a pole of it
            return None
        tall = values > values.max() - _FALL
        open_low = np.array([tall[:, 0].any(), tall[0].any()]) & (low > reach[:, 0])
        open_high = np.array([tall[:, -1].any(), tall[-1].any()]) & (high < reach[:, 1])
        if not (open_low | open_high).any():
            break
        width = high - low
        low, high = low - np.where(open_low, 0.5 * width, 0.0), high + np.where(open_high, 0.5 * width, 0.0)
    kept = [np.flatnonzero(tall.any(axis=axis)) for axis in (0, 1)]
    sides = [(axis[max(k[0] - 1, 0)], axis[min(k[-1] + 1, _COARSE - 1)]) for axis, k in zip((x, y), kept, strict=True)]
    low, high = np.array(sides).T
    return _grid(target, low, high, _FINE)


def _grid(target: Target, low: Floats, high: Floats, points: int) -> tuple[Floats, Floats, Floats]:
    """Cell midpoints, so that none lies on a bound, and the log density there."""
    shares = (np.arange(points) + 0.5) / points
    x, y = (low[j] + shares * (high[j] - low[j]) for j in (0, 1))
    places = np.column_stack([part.ravel() for part in np.meshgrid(x, y)])
    values = np.nan_to_num(target.log_density(places), nan=-np.inf, posinf=np.inf, neginf=-np.inf)
    return x, y, values.reshape(points, points)


def _contours(ax: Axes, x: Floats, y: Floats, values: Floats) -> None:
    """Outlines of the smallest regions that hold given shares of the target."""
    density = np.exp(values - values.max())
    falling = np.sort(density.ravel())[::-1]
    held = np.cumsum(falling) / falling.sum()
    # distinct, and a little low: a flat density lies on its only level
    levels = (1.0 - 1e-9) * np.unique([falling[np.searchsorted(held, share)] for share in _SHARES])
    ax.contourf(x, y, density, levels=[*levels, 1.1], colors=_SHADES[: len(levels)], zorder=0)
    ax.contour(x, y, density, levels=levels, colors="0.3", linewidths=_LINES[: len(levels)], zorder=1.5)


def _draw_curves(
    figure: Figure, axes: Sequence[Any], results: Sequence[GraphSteinDiscrepancy], standards: Sequence[Standard]
) -> None:
    """Stein and test functions of samples in one dimension, on a common axis, with one legend."""
    for ax, found, standard in zip(axes, results, standards, strict=True):
        stein_function(found, ax, reference=standard, histogram=False, legend=False)
    handles = [*axes[0].get_legend_handles_labels()[0], *key(marks=False)]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=8, frameon=False)


def _draw_panels(
    figure: Figure,
    axes: Sequence[Any],
    results: Sequence[GraphSteinDiscrepancy],
    standards: Sequence[Standard],
    target: Target | None,
) -> None:
    """Draws on a common colour scale; in two dimensions on common axes, that reach over target and most draws."""
    from matplotlib.lines import Line2D

    limit = float(np.median([np.quantile(np.abs(found.test_function), 0.98) for found in results])) or 1.0
    points = np.vstack([found.sample.points for found in results])
    density = None if target is None else _density(target, points)
    for ax, found, standard in zip(axes, results, standards, strict=True):
        plot_draws(found, ax, reference=standard, limit=limit, colorbar=False)
        if density is not None:
            _contours(ax, *density)
    if points.shape[1] == 2:
        low, high = np.quantile(points, [0.005, 0.995], axis=0)
        if density is not None:
            low = np.minimum(low, [density[0][0], density[1][0]])
            high = np.maximum(high, [density[0][-1], density[1][-1]])
        axes[0].set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    grey = Line2D([], [], linestyle="", marker="o", color=WITHIN, label=_grey(standards))
    handles = [*key(marks=True), grey]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(len(axes), 3), fontsize=8, frameon=False)


def _grey(standards: Sequence[Standard]) -> str:
    """What grey means in panels."""
    if any(standard is None for standard in standards):
        return "the rest (right samples have colours, too)"
    return "no more than right samples show"
