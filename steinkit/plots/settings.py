"""Plots of sweeps and tuning. Color is never the only cue."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from steinkit.errors import UsageError, did_you_mean, printable
from steinkit.measures import find_measure
from steinkit.plots.axes import DARK, GRAY, Look, axes_or_new, drawn, in_style, legend_below, logarithmic, look
from steinkit.result import ReportFigure
from steinkit.sweeps.cells import Setting
from steinkit.sweeps.choice import BEST, TIED, Choice, SettingSummary
from steinkit.sweeps.result import SweepResult, TuningResult
from steinkit.target import Target
from steinkit.text import compact, sentence, setting_key, setting_label

_SIZE, _BOTH = (5.2, 4.0), 1.4  # in inches; text remains legible at a width of 400 pixels
_FIRST, _SECOND = ("#0072B2", "-"), ("#D55E00", "--")  # colors and line styles for the two measures
_CHOSEN, _OTHER = "#D55E00", "0.7"
_LINE = 34  # maximum number of characters per line in a y-axis label
_MARKED = "star marks the best setting, and rings mark settings that cannot be distinguished from the best."
_FEW = 6  # maximum number of budgets with tick labels, and of settings that are all named
_MARKS = "osD^vP<>"  # one marker for each combination of the other parameters


def selection(
    result: SweepResult | Mapping[str, Choice],
    parameter: str,
    ax: Axes | None = None,
    *,
    measure: str | None = None,
    against: str | None = "ess",
) -> Axes:
    """Plot two measures for the settings of a sweep, and mark the best settings.

    The measures are a discrepancy and the effective sample size.

    Lines show medians over the seeds, bands show bootstrap intervals of the medians, and bars show certified brackets.
    A star marks the best setting, and rings mark settings that are tied with the best.

    Parameters
    ----------
    result : SweepResult, or mapping of str to Choice
        A sweep, or its choices, keyed by measure.
    parameter : str
        Parameter shown on the horizontal axis. Each combination of the other parameters has a separate line.
    ax : matplotlib Axes, optional
        Axes on which the figure is drawn. By default, a new pyplot figure is created.
    measure : str, optional
        Measure shown in the upper panel. The default is the first discrepancy.
    against : str, optional
        Measure shown in the lower panel, if the result includes a choice based on this measure. If None, the panel is
        omitted.

    Returns
    -------
    matplotlib Axes
        The upper panel.

    Raises
    ------
    UsageError
        If the measure or the parameter does not exist, or if the Axes cannot be divided.

    Examples
    --------
    >>> import steinkit as sk
    >>> found = sk.sweep("normal", "iid", grid={"draws": [10, 100]}, seeds=5, measures=["ksd", "ess"])
    >>> ax = sk.plots.selection(found, "draws")
    >>> print(ax.get_title())
    kernel Stein discrepancy picks draws 100
    effective sample size picks draws 100
    """
    choices = result.criteria if isinstance(result, SweepResult) else result
    if measure is None:
        measure = next((name for name in choices if find_measure(name).smaller_is_better), next(iter(choices), None))
    if measure is None or measure not in choices:
        raise UsageError(f"expected a measure with a choice ({', '.join(choices) or 'none'}), got {measure!r}")
    values, names = _positions(choices[measure].rows, parameter)
    other = against if against in choices and against != measure else None
    ax = axes_or_new(ax, (_SIZE[0], _BOTH * _SIZE[1]) if other else _SIZE)
    lowest = _strip_below(ax) if other else ax
    picks = [_criterion(ax, choices[measure], parameter, *_FIRST)]
    if other:
        picks.append(_criterion(lowest, choices[other], parameter, *_SECOND))
    lowest.set_xlabel(printable(parameter.replace("_", " ")), parse_math=False)
    if names:
        lowest.set_xticks(range(len(names)), list(map(printable, names)), parse_math=False)
        lowest.set_xlim(-0.5, len(names) - 0.5)
    elif _spans(values, 10.0):
        logarithmic(lowest, "x")
    ax.set_title("\n".join(picks), fontsize=10, parse_math=False)
    _legend(lowest, choices[measure], parameter)
    return ax


@in_style
def budgets(result: SweepResult, ax: Axes | None = None, *, measure: str | None = None) -> Axes:
    """Plot a measure against the budget for each setting of a sweep.

    Lines show medians over the seeds, bands show bootstrap intervals of the medians, and bars show certified brackets.
    At each budget, a star marks the best setting, and rings mark settings that are tied with the best. With more
    than six settings, those without a mark are gray.

    Parameters
    ----------
    result : SweepResult
        A sweep with budgets.
    ax : matplotlib Axes, optional
        Axes on which the figure is drawn. By default, a new pyplot figure is created.
    measure : str, optional
        The measure. The default is the first discrepancy.

    Returns
    -------
    matplotlib Axes
        The Axes on which the curves are drawn.

    Raises
    ------
    UsageError
        If the measure does not select a setting at any budget of the sweep.

    Examples
    --------
    >>> import steinkit as sk
    >>> from matplotlib.figure import Figure
    >>> target = sk.targets.LogisticRegression.nodal()
    >>> given = {"grid": {"step_size": [0.01, 0.1]}, "options": {"batch_size": 5}, "seeds": 2, "measures": ["ksd"]}
    >>> found = sk.sweep(target, "sgld", budgets=[500, 2000], **given)
    >>> sk.plots.budgets(found, Figure().add_subplot()).get_xlabel()
    'likelihood evaluations'
    """
    name = measure or result.leading
    if name is None or not (choices := result.choices_at(name)):
        raise UsageError(f"expected a sweep with budgets and choices by measure {name}")
    ax, known, x = axes_or_new(ax), find_measure(name), np.array([*choices], dtype=np.float64)
    ax.margins(y=0.1)
    logarithmic(ax, "y")
    for number, setting in enumerate(result.settings):
        rows, style = [choice.of(setting) for choice in choices.values()], look(number)
        is_named = len(result.settings) <= _FEW or any(row.standing in (BEST, TIED) for row in rows)
        style = style if is_named else Look(GRAY, "", "-")
        ax.plot([], [], **style._asdict(), label=setting_label(setting) if is_named else "other settings")
        _curve(ax, x, rows, style._asdict() | {"markersize": 4})
        for budget, row in zip(x, rows, strict=True):
            _mark(ax, budget, row, style.color)
    logarithmic(ax, "xy")
    if len(choices) <= _FEW:
        ax.set_xticks(x, [f"{budget:,}" for budget in choices])
        ax.set_xticks([], minor=True)
    ax.plot([], [], "*", color=DARK, markersize=11, label="best")
    ax.plot([], [], "o", color=DARK, markersize=9, fillstyle="none", label="tied with the best")
    ax.set_xlabel("likelihood evaluations")
    ax.set_ylabel(f"{textwrap.fill(known.title, _LINE)}\n({known.preference})")
    legend_below(ax)
    return ax


def most_varied(settings: Sequence[Setting]) -> list[str]:
    """Return the parameters with several values, those with the most values first."""
    counts = {name: len({repr(each[name]) for each in settings}) for name in settings[0]}
    return sorted((name for name in counts if counts[name] > 1), key=lambda name: -counts[name])


def _strip_below(ax: Any) -> Any:
    """Split Axes into two rows and return the lower Axes.

    The rows share the horizontal axis.

    Raises
    ------
    UsageError
        If the Axes are not part of a grid.
    """
    place = ax.get_subplotspec()
    if place is None:
        raise UsageError("`ax` must be created by figure.subplots or add_subplot, because it is split into two panels")
    upper, lower = place.subgridspec(2, 1)
    ax.set_subplotspec(upper)
    ax.tick_params(labelbottom=False)
    return ax.figure.add_subplot(lower, sharex=ax)


def _positions(rows: Sequence[SettingSummary], parameter: str) -> tuple[list[float], list[str]]:
    """Return the positions of the settings on the axis of a parameter.

    For non-numeric values, the tick labels are also returned.
    """
    if not all(parameter in row.settings for row in rows):
        known = {name for row in rows for name in row.settings}
        hint = did_you_mean(parameter, known)
        raise UsageError(f"parameter must be one of {', '.join(sorted(known))}; got {parameter!r}{hint}")
    values = [row.settings[parameter] for row in rows]
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return [float(value) for value in values], []
    names = list(dict.fromkeys(map(str, values)))
    return [float(names.index(str(value))) for value in values], names


def _spans(values: Iterable[float], ratio: float) -> bool:
    """Return True if a logarithmic axis is suitable.

    The finite values must be positive, and the ratio of the largest to the smallest must reach the given limit.
    """
    finite = [value for value in values if math.isfinite(value)]
    return bool(finite) and min(finite) > 0.0 and max(finite) >= ratio * min(finite)


def _criterion(ax: Axes, choice: Choice, parameter: str, color: str, line: str) -> str:
    """Draw the medians of one measure, and name its best setting in a sentence."""
    rows, measure = choice.rows, find_measure(choice.measure)
    values, names = _positions(rows, parameter)
    ax.margins(y=0.1)  # space for the star
    if _spans((end for row in rows for end in (row.median, *(row.interval or ()))), 3.0):
        logarithmic(ax, "y")
    for number, curve in enumerate(_curves(rows, parameter).values()):
        ordered = sorted(curve, key=values.__getitem__)
        style: dict[str, Any] = {
            "color": color,
            "linestyle": "" if names else line,
            "marker": _MARKS[number % len(_MARKS)],
        }
        _curve(ax, np.array([values[k] for k in ordered]), [rows[k] for k in ordered], style)
    for value, row in zip(values, rows, strict=True):
        _mark(ax, value, row, color)
    ax.set_ylabel(f"{textwrap.fill(measure.title, _LINE)}\n({measure.preference})", color=color)
    ax.tick_params(axis="y", which="both", colors=color)
    return f"{measure.title} picks {setting_label(choice.best)}"


def _mark(ax: Axes, x: float, row: SettingSummary, color: str) -> None:
    """Draw a star at the best setting, and a ring at a tied setting."""
    if row.standing == BEST:
        ax.plot(x, row.median, "*", color=color, markersize=17, markeredgecolor="white", zorder=5)
    elif row.standing == TIED:
        ax.plot(x, row.median, "o", color="none", ms=13, markeredgecolor=color, mew=1.5, zorder=4)


def _curve(ax: Axes, x: np.ndarray, rows: Sequence[SettingSummary], style: dict[str, Any]) -> None:
    """Draw medians with brackets as bars and intervals as bands.

    Crosses at the edge of the plot mark infinite medians, which are due to failed cells.
    """
    medians, color = np.array([row.median for row in rows]), style["color"]
    finite = np.isfinite(medians)
    bars = np.array([(row.median - row.lower, row.upper - row.median) for row in rows]).T[:, finite]
    ends = np.array([row.interval or (row.median, row.median) for row in rows])[finite]
    ax.plot(x[finite], medians[finite], **style)
    if finite.any():
        ax.errorbar(x[finite], medians[finite], bars, fmt="none", ecolor=color, capsize=4, linewidth=1.2)
    ax.update_datalim(np.column_stack([np.repeat(x[finite], 2), ends.ravel()])[np.isfinite(ends.ravel())])
    ax.autoscale_view()
    low, high = np.clip(ends, *ax.get_ylim()).T  # clip infinite bands at the edge
    if style["linestyle"]:
        ax.fill_between(x[finite], low, high, color=color, alpha=0.2, linewidth=0.0)
    else:
        ax.vlines(x[finite], low, high, color=color, alpha=0.2, linewidth=14.0)
    for value, worst in zip(x[~finite], medians[~finite], strict=True):
        ax.plot(value, 0.97 if worst > 0 else 0.03, "x", color=color, transform=ax.get_xaxis_transform(), ms=8)


def _curves(rows: Sequence[SettingSummary], parameter: str) -> dict[str, list[int]]:
    """Return the indices of the settings that have cells.

    The indices are grouped by the combination of the other parameters.
    """
    curves: dict[str, list[int]] = {}
    for k, row in enumerate(rows):
        if not math.isnan(row.median):
            others = {name: value for name, value in row.settings.items() if name != parameter}
            curves.setdefault(setting_label(others), []).append(k)
    return curves


def _legend(ax: Axes, choice: Choice, parameter: str) -> None:
    """Add a legend for the markers below the axis."""
    marks: list[tuple[str, str, int, Any]] = [
        ("*", "best", 11, "full"),
        ("o", "tied with the best", 9, "none"),
        ("o", "median over seeds", 5, "full"),
    ]
    if any(math.isinf(row.median) for row in choice.rows):
        marks.append(("x", "half or more failed", 7, "full"))
    curves = list(_curves(choice.rows, parameter))
    for number, name in enumerate(curves if len(curves) > 1 else ()):
        marks.append((_MARKS[number % len(_MARKS)], name.replace("$", r"\$"), 5, "full"))
    style: dict[str, Any] = {"color": "0.35", "linestyle": ""}
    entries = [
        Line2D([], [], marker=m, label=label, ms=size, fillstyle=fill, **style) for m, label, size, fill in marks
    ]
    band = Patch(color="0.35", alpha=0.25, linewidth=0.0, label=f"its {choice.level:.0%} interval")
    legend_below(ax, [*entries[:3], band, *entries[3:]])


def tuning(result: TuningResult, ax: Axes) -> None:
    """Plot the rank of each setting on each rung, with the best setting at the top.

    The chosen setting is highlighted.
    """
    ranks: dict[str, list[tuple[int, int]]] = {}
    for rung in result.rungs:
        for rank, name in enumerate(rung.ranked, start=1):
            ranks.setdefault(name, []).append((rung.length, rank))
    for name, path in ranks.items():
        is_best = name == setting_key(result.setting)
        color = _CHOSEN if is_best else _OTHER
        ax.plot(*zip(*path, strict=True), "o-", color=color, lw=1 + is_best, zorder=2 + is_best)
    ax.set_xscale("log")
    ax.set_yticks(range(1, len(ranks) + 1, max(1, len(ranks) // 9)))
    ax.invert_yaxis()
    ax.set_xlabel(f"length of the chains, in {'evaluations' if result.resource == 'budget' else 'draws'}")
    ax.set_ylabel("rank of the setting")
    ax.set_title(f"Chosen: {printable(setting_label(result.setting))}", color=_CHOSEN)


def sweep_figures(found: SweepResult, target: Target | None = None) -> tuple[ReportFigure, ...]:
    """Return one figure for each parameter with several values."""
    name = found.leading
    if name is None:
        return ()
    measure, against = find_measure(name), found.blind if found.blind != name else None
    caption = (
        f"The solid line shows the median {measure.title} over the seeds ({measure.preference}), with a bootstrap "
        f"interval. The {_MARKED}"
    )
    if against is not None:
        caption += (
            f" The dashed line shows the {find_measure(against).title} (larger is better), which does not detect "
            "bias. The star on this line marks the setting that it favors."
        )
    alt = f"Medians by setting. {' '.join(_medians(found.criteria[each]) for each in (name, against) if each)}"
    figures = []
    if at_budgets := found.choices_at(name):
        best = "; ".join(f"{setting_label(each.best)} at {budget:,}" for budget, each in at_budgets.items())
        lines = "Each line shows a setting, with medians over the seeds and bootstrap intervals. At each budget, the "
        lines += _MARKED
        draw = partial(_untitled, partial(budgets, found, measure=name), 5.2)
        figures.append(ReportFigure("Which setting at which budget?", lines, f"Best setting: {best}.", draw))
    for parameter in most_varied(found.settings):
        draw = partial(_untitled, partial(selection, found, parameter, measure=name, against=against), 5.6)
        figures.append(ReportFigure(f"Which {parameter.replace('_', ' ')}?", caption, alt, draw))
    return tuple(figures)


def tuning_figures(found: TuningResult, target: Target | None = None) -> tuple[ReportFigure, ...]:
    """Return the plot of the ranks on each rung."""
    caption = "Each line shows the rank of a setting on each rung. The chosen setting is highlighted."
    alt = f"{found.tables()[0].caption}. {found.headline()}."
    draw = partial(_untitled, partial(tuning, found), 4.3)
    return (ReportFigure("From short chains to long ones", caption, alt, draw),)


def _untitled(draw: Callable[..., object], height: float) -> Figure:
    def onto(ax: Axes) -> None:
        draw(ax=ax)
        ax.set_title("")

    return drawn(onto, height)


def _medians(choice: Choice) -> str:
    medians = "; ".join(f"{compact(row.median)} at {setting_label(row.settings)}" for row in choice.rows)
    return f"{sentence(find_measure(choice.measure).title)}: {medians}. Best: {setting_label(choice.best)}."
