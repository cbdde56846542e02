"""Pictures of a sweep's settings, what each criterion picks, and of tuning. No message hangs on a colour alone."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from steinkit.errors import UsageError, did_you_mean, printable
from steinkit.measures import find_measure
from steinkit.plots.axes import WIDTH, axes_or_new, drawn, legend_below, logarithmic, strip_below
from steinkit.result import Picture
from steinkit.sample import Floats
from steinkit.sweeps.choice import BEST, TIED, Choice, SettingSummary
from steinkit.sweeps.result import SweepResult, TuningResult
from steinkit.target import Target
from steinkit.text import compact, sentence, setting_key, setting_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE, _BOTH = (5.2, 4.0), 1.4  # inches: letters stay legible where the picture is shown 400 pixels wide
_FIRST, _SECOND = "#0072B2", "#D55E00"  # the two criteria
_LETTER = 0.08  # inches, its width in the label of a vertical axis
_MARKS = "osD^vP<>"  # of the curves, one a combination of the other parameters


def selection(
    result: SweepResult | Mapping[str, Choice],
    parameter: str,
    ax: Axes | None = None,
    *,
    measure: str | None = None,
    against: str | None = "ess",
) -> Axes:
    """Plot what a discrepancy and effective sample size say of the settings, one above the other, and what each picks.

    Medians over the seeds, with bands of their bootstrap intervals and bars of their certified brackets. A star marks
    what a criterion picks, a ring what it cannot tell from that.

    Parameters
    ----------
    result : SweepResult, or mapping of str to Choice
        A sweep, or its choices by measure.
    parameter : str
        The parameter along the axis; every combination of the others has a curve.
    ax : matplotlib Axes, optional
        Where to draw; Axes of a new figure of pyplot if not given.
    measure : str, optional
        The criterion on top; the first of the choices that is a discrepancy, if not given.
    against : str, optional
        The criterion below, on Axes that share the place of those given, if there is a choice by it. None leaves it
        out.

    Returns
    -------
    matplotlib Axes
        Those of the criterion on top.

    Raises
    ------
    UsageError
        If there is no such measure or parameter, or the Axes have no place in a grid to share.
    """
    choices = result.criteria if isinstance(result, SweepResult) else result
    if measure is None:
        measure = next((name for name in choices if find_measure(name).smaller_is_better), next(iter(choices), None))
    if measure is None or measure not in choices:
        raise UsageError(f"there is no choice by {measure!r}; there are choices by {', '.join(choices) or 'nothing'}")
    rows = choices[measure].rows
    places, names = _along(rows, parameter)
    beside = against if against in choices and against != measure else None
    ax = axes_or_new(ax, (_SIZE[0], _BOTH * _SIZE[1]) if beside else _SIZE)
    lowest = strip_below(ax, (1.0, 1.0)) if beside else ax
    picks = [_criterion(ax, choices[measure], parameter, (_FIRST, "-"))]
    if beside:
        picks.append(_criterion(lowest, choices[beside], parameter, (_SECOND, "--")))
    lowest.set_xlabel(printable(parameter.replace("_", " ")), parse_math=False)
    if names:
        lowest.set_xticks(range(len(names)), list(map(printable, names)), parse_math=False)
        lowest.set_xlim(-0.5, len(names) - 0.5)
    elif _spans(places, 10.0):
        logarithmic(lowest, "x")
    ax.set_title("\n".join(picks), fontsize=10, parse_math=False)
    _legend(lowest, choices[measure], parameter)
    return ax


def most_varied(settings: Iterable[Mapping[str, Any]]) -> list[str]:
    """Parameters with several values, the one with most first; lists make no axis."""
    values: dict[str, list[Any]] = {}
    for setting in settings:
        for name, value in setting.items():
            if value not in values.setdefault(name, []):
                values[name].append(value)
    varied = [name for name, found in values.items() if len(found) > 1]
    return sorted(varied, key=lambda name: -len(values[name]))


def _along(rows: Sequence[SettingSummary], parameter: str) -> tuple[list[float], list[str]]:
    """Where settings stand on the axis of a parameter: its values, or the places of names side by side, and these."""
    if not all(parameter in row.settings for row in rows):
        known = {name for row in rows for name in row.settings}
        raise UsageError(
            f"no parameter named {parameter!r} in all settings{did_you_mean(parameter, known)}; "
            f"there are {', '.join(sorted(known))}"
        )
    values = [row.settings[parameter] for row in rows]
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return [float(value) for value in values], []
    names = list(dict.fromkeys(map(str, values)))
    return [float(names.index(str(value))) for value in values], names


def _spans(values: Iterable[float], ratio: float) -> bool:
    """Whether numbers, the infinite ones apart, are positive and span a ratio: a logarithmic axis then serves them."""
    finite = [value for value in values if math.isfinite(value)]
    return bool(finite) and min(finite) > 0.0 and max(finite) >= ratio * min(finite)


def _criterion(ax: Axes, choice: Choice, parameter: str, look: tuple[str, str]) -> str:
    """Draw the medians of one criterion on its Axes, in a colour and dashes, and say what it picks."""
    rows, (colour, dashes) = choice.rows, look
    places, names = _along(rows, parameter)
    ax.margins(y=0.1)  # the star is large
    if _spans((end for row in rows for end in (row.median, *(row.interval or ()))), 3.0):
        logarithmic(ax, "y")
    for number, curve in enumerate(_curves(rows, parameter).values()):
        ordered = sorted(curve, key=places.__getitem__)
        style = {"color": colour, "linestyle": "" if names else dashes, "marker": _MARKS[number % len(_MARKS)]}
        _curve(ax, np.array([places[k] for k in ordered]), [rows[k] for k in ordered], style)
    for place, row in zip(places, rows, strict=True):
        if row.standing == BEST:
            ax.plot(place, row.median, "*", color=colour, markersize=17, markeredgecolor="white", zorder=5)
        elif row.standing == TIED:
            ring: dict[str, Any] = {"markersize": 13, "markeredgecolor": colour, "markeredgewidth": 1.5, "zorder": 4}
            ax.plot(place, row.median, "o", color="none", **ring)
    ax.set_ylabel(_label_along(ax, choice.measure), color=colour)
    ax.tick_params(axis="y", which="both", colors=colour)
    return f"{find_measure(choice.measure).title} picks {setting_label(choice.best)}"


def _label_along(ax: Axes, name: str) -> str:
    """The name of a measure in lines no longer than its panel is high: longer ones run into those of the other."""
    measure = find_measure(name)
    preferred = f"({measure.preference})"
    height = ax.get_window_extent().height / ax.figure.dpi
    return f"{textwrap.fill(measure.title, max(len(preferred), int(height / _LETTER)))}\n{preferred}"


def _curve(ax: Axes, x: Floats, rows: Sequence[SettingSummary], style: Mapping[str, Any]) -> None:
    """Medians joined by lines, with bars and bands; a cross on the edge where half of the cells failed."""
    medians, colour = np.array([row.median for row in rows]), style["color"]
    shown = np.isfinite(medians)
    bars = np.array([(row.median - row.lower, row.upper - row.median) for row in rows]).T[:, shown]
    ends = np.array([row.interval or (row.median, row.median) for row in rows])[shown]
    ax.plot(x[shown], medians[shown], **style)
    if shown.any():
        ax.errorbar(x[shown], medians[shown], bars, fmt="none", ecolor=colour, capsize=4, linewidth=1.2)
    ax.update_datalim(np.column_stack([np.repeat(x[shown], 2), ends.ravel()])[np.isfinite(ends.ravel())])
    ax.autoscale_view()
    low, high = np.clip(ends, *ax.get_ylim()).T  # a band that failures make endless ends at the edge
    if style["linestyle"]:
        ax.fill_between(x[shown], low, high, color=colour, alpha=0.2, linewidth=0.0)
    else:
        ax.vlines(x[shown], low, high, color=colour, alpha=0.2, linewidth=14.0)
    for place, worst in zip(x[np.isinf(medians)], medians[np.isinf(medians)], strict=True):
        height = 0.97 if worst > 0.0 else 0.03
        ax.plot(place, height, "x", color=colour, transform=ax.get_xaxis_transform(), markersize=8)


def _curves(rows: Sequence[SettingSummary], parameter: str) -> dict[str, list[int]]:
    """The settings of each combination of the other parameters; those never scored have no place."""
    curves: dict[str, list[int]] = {}
    for k, row in enumerate(rows):
        if not math.isnan(row.median):
            others = {name: value for name, value in row.settings.items() if name != parameter}
            curves.setdefault(setting_label(others), []).append(k)
    return curves


def _legend(ax: Axes, choice: Choice, parameter: str) -> None:
    """What star, ring, cross and the marks of several curves mean, below the axis."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    def entry(marker: str, label: str, size: float, **style: Any) -> Line2D:
        return Line2D([], [], color="0.35", linestyle="", marker=marker, markersize=size, label=label, **style)

    entries = [
        entry("*", "best", 11),
        entry("o", "not told from the best", 9, fillstyle="none"),
        entry("o", "median over seeds", 5),
        Patch(color="0.35", alpha=0.25, linewidth=0.0, label=f"its {choice.level:.0%} interval"),
    ]
    if any(math.isinf(row.median) for row in choice.rows):
        entries.append(entry("x", "half or more failed", 7))
    curves = list(_curves(choice.rows, parameter))
    for number, name in enumerate(curves if len(curves) > 1 else ()):
        entries.append(entry(_MARKS[number % len(_MARKS)], name.replace("$", r"\$"), 5))  # a name is no formula
    legend_below(ax, entries)


_CHOSEN, _OTHER = "#D55E00", "0.7"


def tuning(result: TuningResult, ax: Axes) -> None:
    """Draw a line a setting, from rung to rung, the best on top; the chosen one stands out and is named."""
    places: dict[str, list[tuple[int, int]]] = {}
    for rung in result.rungs:
        for place, name in enumerate(rung.ranked, start=1):
            places.setdefault(name, []).append((rung.length, place))
    best = setting_key(result.setting)
    for name, path in places.items():
        lengths, at = zip(*path, strict=True)
        is_best = name == best
        ax.plot(lengths, at, "o-", color=_CHOSEN if is_best else _OTHER, lw=2 if is_best else 1, zorder=2 + is_best)
    ax.set_xscale("log")
    ax.set_yticks(range(1, len(places) + 1, max(1, len(places) // 9)))
    ax.invert_yaxis()
    unit = "evaluations" if result.resource == "budget" else "draws"
    ax.set_xlabel(f"length of the chains, in {unit}")
    ax.set_ylabel("rank of the setting")
    ax.set_title(f"Chosen: {printable(setting_label(result.setting))}", color=_CHOSEN)


def sweep_figures(found: SweepResult, target: Target | None = None) -> tuple[Picture, ...]:
    """Return a picture of the choice along each parameter that was varied."""
    name = found.leading
    if name is None:
        return ()
    measure, against = find_measure(name), found.blind if found.blind != name else None
    caption = (
        f"The solid line is the median {measure.title} over the seeds, {measure.preference}, in the band of its "
        "bootstrap interval. The star marks the best setting, rings those that cannot be told from it."
    )
    if against is not None:
        caption += (
            f" Below, broken: {find_measure(against).title}, larger is better, which rises as long as the chain moves "
            "more freely, biased or not. It has a star of its own."
        )
    shown = [found.criteria[each] for each in (name, against) if each is not None]
    alt = f"Medians by setting. {' '.join(map(_in_numbers, shown))}"
    return tuple(
        Picture(
            f"Which {parameter.replace('_', ' ')}?",
            caption,
            alt,
            partial(_untitled, partial(selection, found, parameter, measure=name, against=against), 5.6),
        )
        for parameter in most_varied(found.settings)
    )


def tuning_figures(found: TuningResult, target: Target | None = None) -> tuple[Picture, ...]:
    """Return the picture of the ranks, rung by rung."""
    caption = "A line a setting: its rank among those that were left. The chosen one stands out."
    alt = f"{found.tables()[0].caption}. {found.headline()}."
    return (Picture("From short chains to long ones", caption, alt, partial(_untitled, partial(tuning, found), 4.3)),)


def _untitled(draw: Any, height: float) -> Figure:
    def onto(ax: Axes) -> None:
        draw(ax=ax)
        ax.set_title("")

    return drawn(onto, WIDTH, height)


def _in_numbers(choice: Choice) -> str:
    medians = "; ".join(f"{compact(row.median)} at {setting_label(row.settings)}" for row in choice.rows)
    return f"{sentence(find_measure(choice.measure).title)}: {medians}. Best: {setting_label(choice.best)}."
