"""Pictures of a graph Stein discrepancy: where the sample is wrong, over the density of its target, and side by side.

Which draws are coloured: those that carry what right samples do not show. The test function h of a Stein discrepancy
has mean 0 under the target and the discrepancy D as its mean over the draws. It is the worst function for the sample at
hand, so that a right sample, too, has draws where h is large: its D is that of independent draws, not 0. If right
samples of this size have the discrepancy R, the excess is D - R, and

    coloured are the fewest draws whose shares w_i h(x_i) sum to the excess: those where h is at least some t > 0;
    and, as places with too few draws by the same measure, those where h is at most -t.

All others are grey: they do no more than draws of a right sample do. Where D is at most R, every draw is grey.

R is the largest value of the independent samples given as a `Reference`. Of a `Verdict` it is D itself where the tests
find no bias; where they do, R is D sqrt(m / ESS), a discrepancy's fall being n^-1/2: right draws that mix as well are
worth ESS independent ones, and m, the verdict's `ksd_equivalent_draws`, have the kernel discrepancy of these. With
neither, and where other tests reject and the kernel sees no more than in right draws, R is taken for half of D, which
marks the fewest draws that carry half of the discrepancy: of right samples, too.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from steinkit.diagnosis.verdict_result import Verdict
from steinkit.discrepancy.graph.result import GraphSteinDiscrepancy
from steinkit.measurement import Reference
from steinkit.plots.axes import axes_or_new, coordinate_bars, drawn, head, strip_below
from steinkit.sample import Floats
from steinkit.target import Target

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure

Standard: TypeAlias = Reference | Verdict | None

TOO_MANY, TOO_FEW, WITHIN = "#b2182b", "#2166ac", "0.74"
HATCH, ALPHA = "////", 0.6  # of areas with too few draws; of areas
_REDS, _BLUES = ("#ef8a62", "#67001f"), ("#67a9cf", "#053061")  # of the map RdBu: from just beyond to the worst
_SHADES = 513
_UNJUDGED = 0.5  # of the discrepancy, taken for a right sample's where nothing is known of these


def right_share(value: float, standard: Standard, coordinate: int | None = None) -> float:
    """What a right sample shows of a discrepancy, as a share of it in [0, 1].

    Parameters
    ----------
    value : float
        The discrepancy, or what a coordinate carries of it.
    standard : Reference, Verdict or None
    coordinate : int, optional
        The coordinate that `value` is of.
    """
    if standard is None:
        return _UNJUDGED
    if isinstance(standard, Verdict):
        return _share_by_kernel(standard) if standard.is_biased else 1.0
    if coordinate is not None and standard.coordinates is not None:
        right = float(standard.coordinates[:, coordinate].max())
    else:
        right = float(standard.upper.max())
    return min(right / value, 1.0) if value > 0.0 else 1.0


def _share_by_kernel(verdict: Verdict) -> float:
    """What the kernel discrepancy says of a rejected sample's; half where that is no larger than of right samples."""
    mixing = verdict.ess if math.isfinite(verdict.ess) else float(verdict.draws)
    share = math.sqrt(verdict.ksd_equivalent_draws / min(mixing, verdict.draws))
    return share if share < 1.0 else _UNJUDGED


def threshold(h: Floats, weights: Floats, share: float) -> float:
    """The t from which values of h carry what is beyond a right sample's share of their mean; infinite if none do.

    Parameters
    ----------
    h : ndarray, shape (n,)
        Test function at the draws, or its mean over groups of draws.
    weights : ndarray, shape (n,)
        Of these, with sum 1.
    share : float
        From `right_share`.
    """
    excess = (1.0 - share) * float(weights @ h)
    if not excess > 0.0:
        return math.inf
    order = np.argsort(-h, kind="stable")
    carried = np.cumsum((weights * h)[order])
    reached = min(int(np.searchsorted(carried[: int(carried.argmax()) + 1], excess)), len(h) - 1)
    return float(h[order[reached]])


def said_of(standard: Standard, t: float) -> str:
    """What grey means, in a line."""
    if standard is None:
        return "not held against right samples: these draws carry half of the discrepancy"
    if isinstance(standard, Verdict):
        if not standard.is_biased:
            return "no draw stands out from what chance makes"
        if _share_by_kernel(standard) == _UNJUDGED:
            return "coloured: half of the discrepancy, where it weighs most"
        return "grey: no more than chance makes"
    what = f"{len(standard.values)} {'blocks of the long run' if standard.run else 'independent samples'}"
    return f"grey: no more than {what} show" if math.isfinite(t) else f"all grey: no more than {what} show"


def shades(t: float, limit: float) -> ListedColormap:
    """Colours of h from -limit to limit: grey within t, beyond it blue below and red above, darker to the ends."""
    from matplotlib.colors import LinearSegmentedColormap, ListedColormap, to_rgba

    size = np.abs(np.linspace(-limit, limit, _SHADES))
    beyond = np.clip((size - t) / (limit - t), 0.0, 1.0) if limit > t else np.zeros(_SHADES)
    reds, blues = (LinearSegmentedColormap.from_list("", ends)(beyond) for ends in (_REDS, _BLUES))
    colours = np.where((np.arange(_SHADES) > _SHADES // 2)[:, None], reds, blues)
    colours[size + limit / _SHADES < t] = to_rgba(WITHIN)  # shades that begin beyond t are coloured
    return ListedColormap(colours)


def key(*, marks: bool) -> list[Any]:
    """Handles of a legend for too many draws and too few: marks, or areas."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    both = (("too many draws", TOO_MANY, "^", None), ("too few draws", TOO_FEW, "v", HATCH))
    if not marks:
        return [Patch(facecolor=colour, alpha=ALPHA, hatch=hatch, label=name) for name, colour, _, hatch in both]
    return [Line2D([], [], linestyle="", marker=mark, color=colour, label=name) for name, colour, mark, _ in both]


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
        label="Stein function g (direction of correction)",
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
    coordinate_bars({"": result.terms}, ax, colours=("0.55",))
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

    heading = f"{result.title} in {result.bracket}"
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


_SHARES = (0.99, 0.9, 0.5)  # of the target inside each contour
_GREYS, _LINES = ("0.93", "0.86", "0.78"), (0.6, 0.8, 1.1)
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
    ax = draws(result, ax, reference=reference, limit=limit, colorbar=colorbar)
    density = _density(target, result.sample.points)
    if density is not None:
        _contours(ax, *density)
    return ax


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
    ax.contourf(x, y, density, levels=[*levels, 1.1], colors=_GREYS[: len(levels)], zorder=0)
    ax.contour(x, y, density, levels=levels, colors="0.3", linewidths=_LINES[: len(levels)], zorder=1.5)
