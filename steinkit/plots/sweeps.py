"""Pictures of a sweep: which setting each criterion picks, and the draws behind it.

Each function draws on the Axes given, or on new ones, and returns the Axes; `settings_panels` returns a figure. Colours
are those of Okabe and Ito, which the colour-blind can tell apart, and no message hangs on a colour alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from steinkit.discrepancy.graph.result import GraphSteinDiscrepancy
from steinkit.errors import UsageError, did_you_mean
from steinkit.measures import find_measure
from steinkit.plots.discrepancy import draws as plot_draws
from steinkit.plots.discrepancy import stein_function
from steinkit.sample import Floats
from steinkit.sweeps.choice import Choice, SettingSummary
from steinkit.target import Target

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE = (5.2, 4.0)  # inches: letters stay legible where the picture is shown 400 pixels wide
_FIRST, _SECOND = "#0072B2", "#D55E00"  # the two criteria
_LEGEND_DROP = 0.5  # inches below the axis, clear of its label
_MARKS = "osD^vP<>"  # of the curves, one a combination of the other parameters
_SHARES = (0.99, 0.9, 0.5)  # of the target inside each contour
_SHADES, _LINES = ("0.93", "0.86", "0.78"), (0.6, 0.8, 1.1)
_COARSE, _FINE = 40, 120  # points a side of the grids of the density
_FALL = 9.0  # the log density falls by so much to the edge of what is shown: a share of 1e-4 lies beyond, if normal
_GROWTHS = 8


def selection(
    result: Any, parameter: str, ax: Axes | None = None, *, measure: str | None = None, against: str | None = "ess"
) -> Axes:
    """Plot what a discrepancy and effective sample size say of the settings, and what each picks.

    Medians over the seeds, with bands of their bootstrap intervals and bars of their certified brackets. A star marks
    what a criterion picks, a ring what it cannot tell from that.

    Parameters
    ----------
    result : SweepResult, or mapping of str to Choice
        A sweep, or its choices by measure.
    parameter : str
        The parameter along the axis; every combination of the others has a curve.
    ax : matplotlib Axes, optional
    measure : str, optional
        The criterion on the left; the first of the choices that is a discrepancy, if not given.
    against : str, optional
        The criterion on the right, if there is a choice by it. None leaves it out.

    Raises
    ------
    UsageError
        If there is no such measure or parameter.
    """
    choices: Mapping[str, Choice] = getattr(result, "criteria", result)
    measure = _left_measure(choices, measure)
    choice = choices[measure]
    across = _Across.of(choice, parameter)
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=_SIZE, layout="constrained")[1]
    verdicts = [_criterion(ax, choice, across, _FIRST, "-")]
    if against is not None and against in choices and against != measure:
        twin = ax.twinx()
        verdicts.append(_criterion(twin, choices[against], across, _SECOND, "--"))
        ax.set_zorder(twin.get_zorder() + 1)
        ax.patch.set_visible(False)
    across.dress(ax)
    ax.set_title("\n".join(verdicts), fontsize=10, parse_math=False)
    _legend(ax, choice, parameter)
    return ax


def draws_with_density(
    result: GraphSteinDiscrepancy,
    target: Target,
    ax: Axes | None = None,
    *,
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
    ax : matplotlib Axes, optional
    limit : float, optional
        Value of h at the ends of the colour scale: see `plots.draws`.
    colorbar : bool
    """
    ax = plot_draws(result, ax, limit=limit, colorbar=colorbar)
    density = _density(target, result.sample.points)
    if density is not None:
        _contours(ax, *density)
    return ax


def settings_panels(
    results: Mapping[str, GraphSteinDiscrepancy],
    target: Target | None = None,
    *,
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
    marks : mapping of str to str, optional
        Words to add to some of the titles, such as "best by graph"; their panels are framed.
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
    from matplotlib.figure import Figure

    dims = {found.sample.dim for found in results.values()}
    if len(dims) != 1:
        raise UsageError(f"panels need results of one dimension; received dimensions {sorted(dims)}")
    (dim,) = dims
    columns = columns or (2 if len(results) == 4 else min(3, len(results)))
    rows = math.ceil(len(results) / columns)
    figure = Figure(figsize=(1.9 * columns + 0.7, 1.9 * rows + 0.9), layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False, sharex=dim <= 2, sharey=dim == 2).flat)
    for unused in axes[len(results) :]:
        unused.set_visible(False)
    axes = axes[: len(results)]
    if dim == 1:
        _draw_curves(figure, axes, list(results.values()))
    else:
        _draw_panels(figure, axes, list(results.values()), target)
    for number, (ax, title) in enumerate(zip(axes, results, strict=True)):
        lowest, leftmost = number + columns >= len(axes), number % columns == 0
        ax.tick_params(labelsize=8, labelbottom=lowest or dim > 2)
        ax.set_xlabel(ax.get_xlabel() if lowest or dim > 2 else "", fontsize=9, parse_math=False)
        ax.set_ylabel(ax.get_ylabel() if leftmost or dim > 2 else "", fontsize=9, parse_math=False)
        _entitle(ax, title, (marks or {}).get(title))
    return figure


def _left_measure(choices: Mapping[str, Choice], measure: str | None) -> str:
    if measure is None:
        measure = next((name for name in choices if find_measure(name).smaller_is_better), next(iter(choices), None))
    if measure is None or measure not in choices:
        raise UsageError(f"there is no choice by {measure!r}; there are choices by {', '.join(choices) or 'nothing'}")
    return measure


@dataclass(frozen=True)
class _Across:
    """The axis of the parameter: numbers, or names side by side."""

    parameter: str
    names: tuple[str, ...]
    logarithmic: bool

    @classmethod
    def of(cls, choice: Choice, parameter: str) -> _Across:
        values = [row.settings[parameter] for row in choice.rows if parameter in row.settings]
        if len(values) < len(choice.rows):
            known = {name for row in choice.rows for name in row.settings}
            raise UsageError(
                f"no parameter named {parameter!r} in all settings{did_you_mean(parameter, known)}; "
                f"there are {', '.join(sorted(known))}"
            )
        if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
            return cls(parameter, (), _spans(values, 10.0))
        return cls(parameter, tuple(dict.fromkeys(map(str, values))), False)

    def place(self, row: SettingSummary) -> float:
        value = row.settings[self.parameter]
        return float(self.names.index(str(value)) if self.names else value)

    def dress(self, ax: Axes) -> None:
        ax.set_xlabel(self.parameter.replace("_", " "), parse_math=False)
        if self.logarithmic:
            ax.set_xscale("log")
        if self.names:
            ax.set_xticks(range(len(self.names)), list(self.names), parse_math=False)
            ax.set_xlim(-0.5, len(self.names) - 0.5)


def _spans(values: Iterable[float], ratio: float) -> bool:
    """Whether numbers, the infinite ones apart, are positive and span a ratio: a logarithmic axis then serves them."""
    finite = [value for value in values if math.isfinite(value)]
    return bool(finite) and min(finite) > 0.0 and max(finite) >= ratio * min(finite)


def _criterion(ax: Axes, choice: Choice, across: _Across, colour: str, dashes: str) -> str:
    """Draw the medians of one criterion on its Axes, and say what it picks."""
    measure = find_measure(choice.measure)
    if _spans((end for row in choice.rows for end in (row.median, *(row.interval or ()))), 3.0):
        ax.set_yscale("log")
    for number, rows in enumerate(_curves(choice.rows, across.parameter).values()):
        ordered = sorted(rows, key=across.place)
        _curve(ax, across, ordered, {"color": colour, "linestyle": dashes, "marker": _MARKS[number % len(_MARKS)]})
    for row in choice.rows:
        at = (across.place(row), row.median)
        if row.settings == choice.best:
            ax.plot(*at, "*", color=colour, markersize=17, markeredgecolor="white", zorder=5)
        elif row.settings in choice.ties:
            ax.plot(*at, "o", color="none", markersize=13, markeredgecolor=colour, markeredgewidth=1.5, zorder=4)
    better = "smaller" if measure.smaller_is_better else "larger"
    ax.set_ylabel(f"{measure.title}\n({better} is better)", color=colour)
    ax.tick_params(axis="y", which="both", colors=colour)
    _plain_ticks(ax)
    return f"{measure.title} picks {_values(choice.best)}"


def _curve(ax: Axes, across: _Across, rows: Sequence[SettingSummary], style: Mapping[str, Any]) -> None:
    """Medians joined by lines, with bars and bands; a cross on the edge where half of the cells failed."""
    x, medians = np.array([(across.place(row), row.median) for row in rows]).T
    shown = np.isfinite(medians)
    bars = np.array([(row.median - row.lower, row.upper - row.median) for row in rows]).T[:, shown]
    ends = np.array([row.interval or (row.median, row.median) for row in rows])[shown]
    colour = style["color"]
    ax.plot(x[shown], medians[shown], **{**style, "linestyle": "" if across.names else style["linestyle"]})
    if shown.any():
        ax.errorbar(x[shown], medians[shown], bars, fmt="none", ecolor=colour, capsize=4, linewidth=1.2)
    ax.update_datalim(np.column_stack([np.repeat(x[shown], 2), ends.ravel()])[np.isfinite(ends.ravel())])
    ax.autoscale_view()
    low, high = np.clip(ends, *ax.get_ylim()).T  # a band that failures make endless ends at the edge
    if across.names:
        ax.vlines(x[shown], low, high, color=colour, alpha=0.2, linewidth=14.0)
    else:
        ax.fill_between(x[shown], low, high, color=colour, alpha=0.2, linewidth=0.0)
    for place, worst in zip(x[np.isinf(medians)], medians[np.isinf(medians)], strict=True):
        height = 0.97 if worst > 0.0 else 0.03
        ax.plot(place, height, "x", color=colour, transform=ax.get_xaxis_transform(), markersize=8)


def _plain_ticks(ax: Axes) -> None:
    """Ticks at 1, 2 and 5 times the powers of ten, where a logarithmic axis spans few of these."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = ax.get_ylim()
    if ax.get_yscale() == "log" and high < 1e3 * low:
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.yaxis.set_minor_formatter(NullFormatter())


def _curves(rows: Sequence[SettingSummary], parameter: str) -> dict[str, list[SettingSummary]]:
    """The settings of each combination of the other parameters; those never scored have no place."""
    curves: dict[str, list[SettingSummary]] = {}
    for row in rows:
        others = {name: value for name, value in row.settings.items() if name != parameter}
        if not math.isnan(row.median):
            curves.setdefault(_values(others), []).append(row)
    return curves


def _values(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {_show(value)}" for name, value in settings.items())


def _show(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _legend(ax: Axes, choice: Choice, parameter: str) -> None:
    """What star, ring, cross and the marks of several curves mean, below the axis."""
    from matplotlib.lines import Line2D
    from matplotlib.transforms import ScaledTranslation

    def entry(marker: str, label: str, size: float, **style: Any) -> Line2D:
        return Line2D([], [], color="0.35", linestyle="", marker=marker, markersize=size, label=label, **style)

    entries = [entry("*", "best", 11), entry("o", "not told from the best", 9, fillstyle="none")]
    if any(math.isinf(row.median) for row in choice.rows):
        entries.append(entry("x", "half or more failed", 7))
    curves = _curves(choice.rows, parameter)
    if len(curves) > 1:
        names = [name.replace("$", r"\$") for name in curves]  # a name is no formula
        entries += [entry(_MARKS[number % len(_MARKS)], name, 5) for number, name in enumerate(names)]
    below = ax.transAxes + ScaledTranslation(0.0, -_LEGEND_DROP, ax.figure.dpi_scale_trans)
    ax.legend(
        handles=entries,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=below,
        ncols=2,
        fontsize=9,
        frameon=False,
    )


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
    ax.contour(x, y, density, levels=levels, colors="0.3", linewidths=_LINES[: len(levels)], zorder=0.5)


def _draw_curves(figure: Figure, axes: Sequence[Any], results: Sequence[GraphSteinDiscrepancy]) -> None:
    """Stein and test functions of samples in one dimension, on a common axis, with one legend."""
    for ax, found in zip(axes, results, strict=True):
        legend = stein_function(found, ax).get_legend()
        if legend is not None:
            legend.remove()
    for histogram in set(figure.axes) - set(axes):  # its unit is of no interest here
        histogram.set_yticks([])
        histogram.set_ylabel("")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", fontsize=8, frameon=False)


def _draw_panels(
    figure: Figure, axes: Sequence[Any], results: Sequence[GraphSteinDiscrepancy], target: Target | None
) -> None:
    """Draws on a common colour scale; in two dimensions on common axes, that reach over target and most draws."""
    limit = float(np.median([np.quantile(np.abs(found.test_function), 0.98) for found in results])) or 1.0
    points = np.vstack([found.sample.points for found in results])
    density = None if target is None else _density(target, points)
    for ax, found in zip(axes, results, strict=True):
        plot_draws(found, ax, limit=limit, colorbar=False)
        if density is not None:
            _contours(ax, *density)
    if points.shape[1] == 2:
        low, high = np.quantile(points, [0.005, 0.995], axis=0)
        if density is not None:
            low = np.minimum(low, [density[0][0], density[1][0]])
            high = np.maximum(high, [density[0][-1], density[1][-1]])
        axes[0].set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    bar = figure.colorbar(
        axes[0].collections[0], ax=list(axes), location="bottom", extend="both", shrink=0.8, aspect=40, pad=0.02
    )
    bar.set_label("test function h (red: too many draws, blue: too few)", fontsize=9)
    bar.ax.tick_params(labelsize=8)


def _entitle(ax: Axes, title: str, mark: str | None) -> None:
    ax.set_title(f"{title}\n{mark}" if mark else title, fontsize=9, parse_math=False)
    if mark:
        ax.title.set_fontweight("bold")
        for spine in ax.spines.values():
            spine.set_linewidth(2.0)
