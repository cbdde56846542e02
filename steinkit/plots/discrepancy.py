"""Plots of a graph Stein discrepancy.

The plots show regions with too many or too few draws.

The test function h of a Stein discrepancy has mean 0 under the target, and its mean over the draws is the discrepancy
D. The function h maximizes this mean. Therefore, D is positive even for exact samples, and h is large at some of their
draws. If R is the discrepancy of exact samples of the same size, the excess is D - R. The draws marked as "too many"
are

    the smallest set of draws such that the terms w_i h(x_i) sum to the excess. This set contains the draws where h >= t
    for some threshold t > 0.

Similarly, there are too few draws where h <= -t. All other draws are gray because their values of h are typical of
exact samples. If D <= R, all draws are gray.

If a `Reference` is given, R is the largest discrepancy among its exact samples. If the given `Verdict` finds no bias, R
= D. If the verdict finds bias, R = D sqrt(m / ESS), where m is the verdict's `ksd_equivalent_draws`. This formula holds
because m independent draws have the same kernel discrepancy as the sample, exact draws that mix equally well are
equivalent to ESS independent draws, and discrepancies decrease as n^-1/2. Without a reference or verdict, R is D / 2.
In this case, the smallest set of draws that contributes half of the discrepancy is marked, even in exact samples. The
value R = D / 2 is also used if the verdict rejects a sample although its kernel discrepancy is typical of exact draws.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from steinkit.diagnosis.verdict_result import Verdict
from steinkit.discrepancy.graph.result import GraphSteinDiscrepancy
from steinkit.measurement import Reference
from steinkit.plots.axes import ALPHA, BLUE, DARK, GRAY, HATCH, RED, axes_or_new, in_style, legend_below
from steinkit.sample import Floats
from steinkit.target import Target

Standard: TypeAlias = Reference | Verdict | None

TOO_MANY, TOO_FEW = "too many draws", "too few draws"
_HALF = 0.5  # assumed ratio R / D if no reference or verdict is given


def exact_share(value: float, standard: Standard, coordinate: int | None = None) -> float:
    """Return the ratio R / D, capped at 1.

    Here, R is the discrepancy of exact samples and D is the discrepancy of the sample.

    Parameters
    ----------
    value : float
        The discrepancy D, or the contribution of a coordinate.
    standard : Reference, Verdict or None
    coordinate : int, optional
        Coordinate of the contribution.
    """
    if standard is None:
        return _HALF
    if isinstance(standard, Verdict):
        if not standard.is_biased:
            return 1.0
        mixing = standard.ess if math.isfinite(standard.ess) else float(standard.draws)
        share = math.sqrt(standard.ksd_equivalent_draws / min(mixing, standard.draws))
        return share if share < 1.0 else _HALF
    exact = standard.upper
    if coordinate is not None and standard.coordinates is not None:
        exact = standard.coordinates[:, coordinate]
    return min(float(exact.max()) / value, 1.0) if value > 0.0 else 1.0


def threshold(h: Floats, weights: Floats, share: float) -> float:
    """Return the smallest value of h among the draws that form the excess.

    Return infinity if there is no excess.

    Parameters
    ----------
    h : ndarray, shape (n,)
        Test function at the draws, or its mean over groups of draws.
    weights : ndarray, shape (n,)
        Weights of these values, which sum to 1.
    share : float
        Ratio R / D from `exact_share`.
    """
    excess = (1.0 - share) * float(weights @ h)
    if not excess > 0.0:
        return math.inf
    order = np.argsort(-h, kind="stable")
    carried = np.cumsum((weights * h)[order])
    reached = min(int(np.searchsorted(carried[: int(carried.argmax()) + 1], excess)), len(h) - 1)
    return float(h[order[reached]])


def key() -> list[Any]:
    """Return legend handles for the areas with too many and too few draws."""
    return [
        Patch(facecolor=RED, alpha=ALPHA, label=TOO_MANY),
        Patch(facecolor=BLUE, alpha=ALPHA, hatch=HATCH, label=TOO_FEW),
    ]


@in_style
def stein_function(
    result: GraphSteinDiscrepancy,
    ax: Axes | None = None,
    *,
    reference: Standard = None,
    legend: bool = True,
) -> Axes:
    """Plot the test function h and the Stein function g in one dimension.

    Shaded areas mark regions with too many or too few draws. See `draws`. Ticks along the axis mark the draws.

    Parameters
    ----------
    result : GraphSteinDiscrepancy
        Discrepancy of a sample in one dimension.
    ax : matplotlib Axes, optional
        Axes to draw on. By default, a new pyplot figure is created.
    reference : Reference or Verdict, optional
        Source of the values for exact samples. See `draws`.
    legend : bool
        If True, a legend is added below the axis.

    Returns
    -------
    matplotlib Axes
        The Axes on which the figure is drawn.

    Examples
    --------
    >>> import steinkit as sk
    >>> from matplotlib.figure import Figure
    >>> result = sk.graph_stein_discrepancy([-1.0, 0.5, 3.0], sk.targets.Normal([0.0]))
    >>> sk.plots.stein_function(result, Figure().add_subplot()).get_ylabel()
    'test function h, Stein function g'
    """
    ax = axes_or_new(ax)
    points, weights = result.sample.points[:, 0], result.sample.weights
    order = np.argsort(points)
    x, h = points[order], result.test_function[order]
    t = threshold(h, weights[order], exact_share(result.value, reference))
    ax.axhline(0.0, color="0.6", linewidth=0.8)
    ax.plot(x, h, ".-", color="0.1", markersize=2.0, label="test function h")
    ax.plot(x, result.g[order, 0], ".--", color=DARK, linewidth=1.1, markersize=2.0, label="Stein function g")
    ax.fill_between(x, 0.0, h, where=h >= t, color=RED, alpha=ALPHA, linewidth=0.0)
    ax.fill_between(x, 0.0, h, where=h <= -t, color=BLUE, alpha=ALPHA, linewidth=0.0, hatch=HATCH)
    ax.plot(x, np.full(len(x), 0.02), "|", color="0.5", markersize=7.0, transform=ax.get_xaxis_transform())
    ax.set_xlabel(result.sample.names[0])
    ax.set_ylabel("test function h, Stein function g")
    if legend:
        legend_below(ax, [*ax.get_legend_handles_labels()[0], *key()])
    return ax


@in_style
def draws(
    result: GraphSteinDiscrepancy,
    ax: Axes | None = None,
    *,
    reference: Standard = None,
    legend: bool = True,
) -> Axes:
    """Plot the draws and mark regions with too many or too few draws.

    The axes show the two coordinates that contribute most.

    Only the excess over exact samples is marked. Let D be the discrepancy of the sample, R the discrepancy of an exact
    sample of the same size, and h the test function. Orange triangles mark the draws where h is at least a threshold t.
    These draws are the smallest set such that the terms w_i h(x_i) sum to D - R. Blue triangles mark regions with too
    few draws, where h is at most -t. All other draws are gray. If D is at most R, all draws are gray.

    Parameters
    ----------
    result : GraphSteinDiscrepancy
        Discrepancy of a sample in two or more dimensions.
    ax : matplotlib Axes, optional
        Axes to draw on. By default, a new pyplot figure is created.
    reference : Reference or Verdict, optional
        Source of R. For a `Reference`, R is the largest value among independent samples of the same size
        (`steinkit.reference_discrepancy`). For a verdict, R is D sqrt(`ksd_equivalent_draws` / ESS) if it finds bias,
        and D if it finds none. By default, R is D / 2, and the smallest set of draws that contributes half of the
        discrepancy is marked, even in exact samples.
    legend : bool
        If True, a legend is added below the axis.

    Returns
    -------
    matplotlib Axes
        The Axes on which the figure is drawn.

    Examples
    --------
    >>> import steinkit as sk
    >>> from matplotlib.figure import Figure
    >>> result = sk.graph_stein_discrepancy([[0.0, 1.0], [2.0, 0.5]], sk.targets.Normal([0.0, 0.0]))
    >>> sk.plots.draws(result, Figure().add_subplot()).get_xlabel()
    'x1'
    """
    ax = axes_or_new(ax)
    across, up = sorted(np.argsort(-result.coordinate_values, kind="stable")[:2])
    points, h, weights = result.sample.points, result.test_function, result.sample.weights
    share = exact_share(result.value, reference)
    t = threshold(h, weights, share)
    unmarked = f"as in {reference.source}" if isinstance(reference, Reference) else "within chance"
    if share == _HALF:
        unmarked = "other half of the discrepancy"
    sizes = np.clip(12.0 * weights * len(weights), 4.0, 120.0)  # areas proportional to the weights
    for shown, color, marker, label in (
        (np.abs(h) < t, GRAY, "o", unmarked),
        (h >= t, RED, "^", TOO_MANY),
        (h <= -t, BLUE, "v", TOO_FEW),
    ):
        if shown.any():
            area = sizes[shown] * (1.0 if color == GRAY else 1.6)
            x, y = points[shown][:, [across, up]].T
            ax.scatter(x, y, s=area, c=color, marker=marker, linewidths=0.0, label=label)
    ax.set_xlabel(result.sample.names[across])
    ax.set_ylabel(result.sample.names[up])
    if legend:
        legend_below(ax)
    return ax


_SHARES = (0.99, 0.9, 0.5)  # fractions of the target's mass inside the contours
_GRAYS, _LINES = ("0.95", "0.89", "0.82"), (0.6, 0.8, 1.1)
_POINTS = 120  # number of grid cells per axis for the density
# the contours require densities above exp(-9) times the maximum; a normal distribution has only 1e-4 of its mass below
# that level
_FALL = 9.0


def draws_with_density(
    result: GraphSteinDiscrepancy,
    target: Target,
    ax: Axes | None = None,
    *,
    reference: Standard = None,
    legend: bool = True,
) -> Axes:
    """Plot the draws over contours of the target.

    The contours enclose 50, 90 and 99% of the target's mass. The contours require a two-dimensional target with a log
    density. Otherwise, only the draws are shown, as in `draws`. The density is evaluated only near the draws, so
    distant modes are not shown.

    Parameters
    ----------
    result : GraphSteinDiscrepancy
        Discrepancy of a sample in two or more dimensions.
    target : Target
        Target shown by the contours.
    ax : matplotlib Axes, optional
        Axes to draw on. By default, a new pyplot figure is created.
    reference : Reference or Verdict, optional
        Source of the values for exact samples. See `draws`.
    legend : bool
        If True, a legend is added below the axis.

    Returns
    -------
    matplotlib Axes
        The Axes on which the figure is drawn.

    Examples
    --------
    >>> import steinkit as sk
    >>> from matplotlib.figure import Figure
    >>> target = sk.targets.Normal([0.0, 0.0])
    >>> result = sk.graph_stein_discrepancy([[0.0, 1.0], [2.0, 0.5]], target)
    >>> sk.plots.draws_with_density(result, target, Figure().add_subplot()).get_ylabel()
    'x2'
    """
    ax = draws(result, ax, reference=reference, legend=legend)
    density = _density(target, result.sample.points)
    if density is not None:
        _contours(ax, *density)
    return ax


def _density(target: Target, points: Floats) -> tuple[Floats, Floats, Floats] | None:
    """Return the log density of a two-dimensional target on a grid.

    The result consists of x, y and the log density, which has shape (y, x). The grid covers nearly all of the target's
    mass.

    A box around the draws is doubled in size, at most eight times, until the density on its boundary is negligible.
    """
    if points.shape[1] != 2 or not target.has_log_density:
        return None
    bounds = np.array([[-np.inf, np.inf]] * 2) if target.bounds is None else target.bounds
    low, high = np.quantile(points, [0.005, 0.995], axis=0)
    for _ in range(9):
        margin = 0.5 * (high - low) + 1e-9 * (1.0 + np.abs(high))
        low, high = np.maximum(low - margin, bounds[:, 0]), np.minimum(high + margin, bounds[:, 1])
        *_, values = _grid(target, low, high)
        if not -math.inf < values.max() < math.inf:
            return None  # the density has a pole, or its mass near the draws is negligible
        large = values > values.max() - _FALL
        kept = [np.flatnonzero(large.any(axis=axis)) for axis in (0, 1)]
        at_low, at_high = ([k[end] == edge for k in kept] for end, edge in ((0, 0), (-1, _POINTS - 1)))
        if not ((at_low & (low > bounds[:, 0])) | (at_high & (high < bounds[:, 1]))).any():
            break
    cells = (high - low) / _POINTS
    edges = np.array([(k[0], k[-1] + 1) for k in kept]).T
    return _grid(target, *np.clip(low + edges * cells, low, high))


def _grid(target: Target, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the cell midpoints and the log density at these points.

    No midpoint lies on a bound.
    """
    x, y = (low + (np.arange(_POINTS)[:, None] + 0.5) / _POINTS * (high - low)).T
    points = np.column_stack([part.ravel() for part in np.meshgrid(x, y)])
    values = np.nan_to_num(target.log_density(points), nan=-np.inf, posinf=np.inf, neginf=-np.inf)
    return x, y, values.reshape(_POINTS, _POINTS)


def _contours(ax: Axes, x: Floats, y: Floats, values: Floats) -> None:
    """Draw the smallest regions that contain given fractions of the target's mass."""
    density = np.exp(values - values.max())
    falling = np.sort(density.ravel())[::-1]
    held = np.cumsum(falling) / falling.sum()
    # contour levels must be distinct, and are lowered slightly in case the density is constant
    levels = (1.0 - 1e-9) * np.unique([falling[np.searchsorted(held, share)] for share in _SHARES])
    ax.contourf(x, y, density, levels=[*levels, 1.1], colors=_GRAYS[: len(levels)], zorder=0)
    ax.contour(x, y, density, levels=levels, colors="0.3", linewidths=_LINES[: len(levels)], zorder=1.5)
