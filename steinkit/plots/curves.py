"""Pictures of curves with their rates, of samples by rank, and of a sweep's settings: what each criterion picks.

No message hangs on a colour alone.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from steinkit.comparison_result import Comparison
from steinkit.curves import Curve
from steinkit.errors import UsageError, did_you_mean, printable
from steinkit.measurement import Reference
from steinkit.measures import find_measure
from steinkit.measures.options import Measure
from steinkit.plots.axes import axes_or_new, document_of, legend_below, logarithmic, open_frame, strip_below, told_apart
from steinkit.result import preference
from steinkit.sample import Floats
from steinkit.sweeps.text import LEVEL, Row, ranked, rows_of
from steinkit.sweeps.tuning import TuningResult
from steinkit.text import compact, setting_key, setting_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINE, _FIT, _GUIDE = "#0072B2", "#D55E00", "0.45"
_GUIDE_SLOPE = -0.5  # of independent draws
_GUIDED = "slope of independent draws"  # what marks the guide
_VISIBLE = 0.005  # relative width from which a bracket can be seen


def curve(
    result: Curve,
    ax: Axes | None = None,
    *,
    label: str | None = None,
    color: str = _LINE,
    marker: str = "o",
) -> Axes:
    """Plot the measure against the number of draws (or the cost) on logarithmic axes, with the line of the rate.

    A dotted line through the first value falls as n^-1/2, as a discrepancy of independent draws does. The brackets
    are drawn where they are wide enough to be seen, the bootstrap interval of replicates as a band.

    Parameters
    ----------
    result : Curve
        From `steinkit.curve`.
    ax : matplotlib Axes, optional
        Where to draw, and several curves can share them; Axes of a new figure of pyplot if not given.
    label : str, optional
        Name of the curve in the legend; its rate is added.
    color, marker : str
        Of several curves, those of :func:`steinkit.plots.look`.

    Returns
    -------
    matplotlib Axes
        Those given, or the new ones.
    """
    ax, measure = axes_or_new(ax), find_measure(result.measure)
    x = result.n if result.budget is None or result.cost is None else result.cost
    values, lower, upper, has_rate = result.values, result.lower, result.upper, math.isfinite(result.rate)
    name = measure.title if label is None else printable(label)
    known = f", rate {result.rate:.2f}" if has_rate else ""
    ax.plot(x, values, color=color, marker=marker, markersize=4, label=f"{name}{known}")
    if result.interval is not None:
        low, high = result.interval.T
        ax.fill_between(x, low, high, color=color, alpha=0.2, linewidth=0.0)
    positive = bool((values[np.isfinite(values)] > 0.0).all())
    guided = any(line.get_gid() == _GUIDED for line in ax.lines)  # one is enough where curves share the Axes
    if positive and measure.smaller_is_better and not guided and np.isfinite(values).any():
        first = int(np.isfinite(values).argmax())
        falling = values[first] * (x[first:] / x[first]) ** _GUIDE_SLOPE
        ax.plot(x[first:], falling, color=_GUIDE, linestyle=":", linewidth=1.2, label="slope -1/2", gid=_GUIDED)
    wide = upper - lower > _VISIBLE * np.abs(upper)
    if wide.any():
        ax.vlines(x[wide], lower[wide], upper[wide], color=color, linewidth=2.5, alpha=0.6)
    if has_rate:
        tail = x[result.tail]
        centre = np.exp(np.log(values[result.tail]).mean() - result.rate * np.log(tail).mean())
        ax.plot(tail, centre * tail**result.rate, color=_FIT if label is None else color, linestyle="--", linewidth=1.2)
    logarithmic(ax, "xy" if positive else "x")
    ax.set_xlabel("draws" if result.budget is None else "cost of the draws")
    ax.set_ylabel(measure.title)
    ax.legend(fontsize=8, framealpha=0.9)
    return ax


_RANK_LINE, _UNRANKED, _OTHERS = "#0072B2", "0.5", "0.45"
_BEHIND = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.7}  # of a number
_DECADES = 20.0  # ratio of the ends from which the axis is logarithmic
_NOT_RANKED = "(not ranked)"
_LONGEST_NAME = 24  # letters of a line


def comparison(result: Comparison, ax: Axes | None = None, *, measure: str | None = None) -> Axes:
    """Plot samples by rank: a mark at the value, the certified bracket, and the range of independent samples as a band.

    Where the samples differ in size, each has the band of independent samples as many as its own draws.

    Samples that the measure does not rank follow as grey rings. The axis is logarithmic where values span decades.

    Parameters
    ----------
    result : Comparison
        From `compare`.
    ax : matplotlib Axes, optional
        Where to draw; Axes of a new figure of pyplot if not given.
    measure : str, optional
        One of those compared by; the first if not given.

    Returns
    -------
    matplotlib Axes
        Those given, or the new ones.

    Raises
    ------
    UsageError
        If there is no measure of this name.
    """
    ax, known = axes_or_new(ax), find_measure(result.measures[0] if measure is None else measure)
    samples, references = result.standings(known.name), result.references.get(known.name, ())
    ends = [(each.measurement.lower, each.measurement.upper) for each in samples]
    for place, (each, (lower, upper)) in enumerate(zip(samples, ends, strict=True)):
        value, colour = each.measurement.value, _RANK_LINE if each.rank else _UNRANKED
        ax.hlines(place, lower, upper, color=colour, linewidth=5, alpha=0.4)
        ax.plot(value, place, "o", color=colour, markersize=6, fillstyle="full" if each.rank else "none", zorder=3)
        ax.annotate(
            compact(value), (value, place), (0, 7), textcoords="offset points", ha="center", fontsize=8, bbox=_BEHIND
        )
    if len(references) == 1:
        _band(ax, references[0], f"{_samples(references[0])} of {references[0].n}")
    for place, each in enumerate(samples if len(references) > 1 else ()):
        if each.reference is not None:
            label = f"{_samples(each.reference)} of as many effective draws"
            _band(ax, each.reference, label, (place - 0.4, place + 0.4))
    names = told_apart([each.name for each in samples], _LONGEST_NAME)
    labels = [f"{name}  {each.rank or _NOT_RANKED}" for name, each in zip(names, samples, strict=True)]
    ax.set_yticks(range(len(samples)), labels, parse_math=False)
    ax.set_ylim(len(samples) - 0.4, -0.8)
    everything = [*ends, *(reference.range for reference in references)]
    spread = [end for both in everything for end in both if not math.isnan(end)]
    if spread and min(spread) > 0.0 and max(spread) > _DECADES * min(spread):
        logarithmic(ax, "x")
    ax.margins(x=0.15)
    left, _ = ax.get_xlim()
    if ax.get_xscale() == "linear" and left < 0.0 <= min((lower for lower, _ in ends), default=left):
        ax.set_xlim(left=0.0)
    ax.set_xlabel(f"{known.title}\n({preference(known)})")
    handles, told = ax.get_legend_handles_labels()
    if told:
        once = dict(zip(told, handles, strict=True))
        ax.legend(
            once.values(),
            once,
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            ncols=1 if len(references) > 1 else 2,
            fontsize=8,
            frameon=False,
        )
    open_frame(ax)
    return ax


def _samples(reference: Reference) -> str:
    return f"{len(reference.lower)} {'blocks of the long run' if reference.run else 'independent samples'}"


def _band(ax: Axes, reference: Reference, label: str, rows: tuple[float, float] | None = None) -> None:
    """The range of independent samples and their median: over the rows given, or all along the axis."""
    across, heights = (ax.transData, rows) if rows else (ax.get_xaxis_transform(), (0.0, 1.0))
    ax.fill_between(reference.range, *heights, color=_OTHERS, alpha=0.2, linewidth=0.0, transform=across, label=label)
    median = [reference.median] * 2
    ax.plot(median, heights, color=_OTHERS, linestyle="--", linewidth=1.0, transform=across, label="their median")


_SIZE, _BOTH = (5.2, 4.0), 1.4  # inches: letters stay legible where the picture is shown 400 pixels wide
_FIRST, _SECOND = "#0072B2", "#D55E00"  # the two criteria
_LETTER = 0.08  # inches, its width in the label of a vertical axis
_MARKS = "osD^vP<>"  # of the curves, one a combination of the other parameters


def selection(
    result: Any, parameter: str, ax: Axes | None = None, *, measure: str | None = None, against: str | None = "ess"
) -> Axes:
    """Plot what a discrepancy and effective sample size say of the settings, one above the other, and what each picks.

    Medians over the seeds, with bands of their bootstrap intervals and bars of their certified brackets. A star marks
    what a criterion picks, a ring what it cannot tell from that.

    Parameters
    ----------
    result : SweepResult, or mapping of str to Choice
        A sweep, or its choices by measure; or the documents of these.
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
    found = getattr(result, "criteria", result)
    choices = {name: document_of(choice) for name, choice in found.get("criteria", found).items()}
    if measure is None:
        measure = next((name for name in choices if find_measure(name).smaller_is_better), next(iter(choices), None))
    if measure is None or measure not in choices:
        raise UsageError(f"there is no choice by {measure!r}; there are choices by {', '.join(choices) or 'nothing'}")
    rows = rows_of(choices[measure], find_measure(measure))
    places, names = _along(rows, parameter)
    beside = against if against in choices and against != measure else None
    ax = axes_or_new(ax, (_SIZE[0], _BOTH * _SIZE[1]) if beside else _SIZE)
    lowest = strip_below(ax, (1.0, 1.0)) if beside else ax
    verdicts = [_criterion(ax, choices[measure], find_measure(measure), parameter, (_FIRST, "-"))]
    if beside:
        verdicts.append(_criterion(lowest, choices[beside], find_measure(beside), parameter, (_SECOND, "--")))
    lowest.set_xlabel(printable(parameter.replace("_", " ")), parse_math=False)
    if names:
        lowest.set_xticks(range(len(names)), list(map(printable, names)), parse_math=False)
        lowest.set_xlim(-0.5, len(names) - 0.5)
    elif _spans(places, 10.0):
        logarithmic(lowest, "x")
    ax.set_title("\n".join(verdicts), fontsize=10, parse_math=False)
    _legend(lowest, rows, parameter)
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


def _along(rows: Sequence[Row], parameter: str) -> tuple[list[float], list[str]]:
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


def _criterion(ax: Axes, choice: Mapping[str, Any], measure: Measure, parameter: str, look: tuple[str, str]) -> str:
    """Draw the medians of one criterion on its Axes, in a colour and dashes, and say what it picks."""
    rows, (colour, dashes) = rows_of(choice, measure), look
    places, names = _along(rows, parameter)
    ax.margins(y=0.1)  # the star is large
    if _spans((end for row in rows for end in (row.median, *(row.interval or ()))), 3.0):
        logarithmic(ax, "y")
    for number, curve in enumerate(_curves(rows, parameter).values()):
        ordered = sorted(curve, key=places.__getitem__)
        style = {"color": colour, "linestyle": "" if names else dashes, "marker": _MARKS[number % len(_MARKS)]}
        _curve(ax, np.array([places[k] for k in ordered]), [rows[k] for k in ordered], style)
    for place, row in zip(places, rows, strict=True):
        if row.verdict == "best":
            ax.plot(place, row.median, "*", color=colour, markersize=17, markeredgecolor="white", zorder=5)
        elif row.verdict == "not told apart":
            ring: dict[str, Any] = {"markersize": 13, "markeredgecolor": colour, "markeredgewidth": 1.5, "zorder": 4}
            ax.plot(place, row.median, "o", color="none", **ring)
    ax.set_ylabel(_label_along(ax, measure), color=colour)
    ax.tick_params(axis="y", which="both", colors=colour)
    return f"{measure.title} picks {setting_label(choice['best'])}"


def _label_along(ax: Axes, measure: Measure) -> str:
    """The name of a measure in lines no longer than its panel is high: longer ones run into those of the other."""
    preferred = f"({preference(measure)})"
    height = ax.get_window_extent().height / ax.figure.dpi
    return f"{textwrap.fill(measure.title, max(len(preferred), int(height / _LETTER)))}\n{preferred}"


def _curve(ax: Axes, x: Floats, rows: Sequence[Row], style: Mapping[str, Any]) -> None:
    """Medians joined by lines, with bars and bands; a cross on the edge where half of the cells failed."""
    medians, colour = np.array([row.median for row in rows]), style["color"]
    shown = np.isfinite(medians)
    bars = np.array([(row.median - row.bracket[0], row.bracket[1] - row.median) for row in rows]).T[:, shown]
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


def _curves(rows: Sequence[Row], parameter: str) -> dict[str, list[int]]:
    """The settings of each combination of the other parameters; those never scored have no place."""
    curves: dict[str, list[int]] = {}
    for k, row in enumerate(rows):
        if not math.isnan(row.median):
            others = {name: value for name, value in row.settings.items() if name != parameter}
            curves.setdefault(setting_label(others), []).append(k)
    return curves


def _legend(ax: Axes, rows: Sequence[Row], parameter: str) -> None:
    """What star, ring, cross and the marks of several curves mean, below the axis."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    def entry(marker: str, label: str, size: float, **style: Any) -> Line2D:
        return Line2D([], [], color="0.35", linestyle="", marker=marker, markersize=size, label=label, **style)

    entries = [
        entry("*", "best", 11),
        entry("o", "not told from the best", 9, fillstyle="none"),
        entry("o", "median over seeds", 5),
        Patch(color="0.35", alpha=0.25, linewidth=0.0, label=f"its {LEVEL:.0%} interval"),
    ]
    if any(math.isinf(row.median) for row in rows):
        entries.append(entry("x", "half or more failed", 7))
    curves = list(_curves(rows, parameter))
    for number, name in enumerate(curves if len(curves) > 1 else ()):
        entries.append(entry(_MARKS[number % len(_MARKS)], name.replace("$", r"\$"), 5))  # a name is no formula
    legend_below(ax, entries)


_CHOSEN, _OTHER = "#D55E00", "0.7"


def tuning(result: TuningResult | Mapping[str, Any], ax: Axes) -> None:
    """Draw a line a setting, from rung to rung, the best on top; the chosen one stands out and is named."""
    document = document_of(result)
    places: dict[str, list[tuple[int, int]]] = {}
    for rung in document["rungs"]:
        for place, name in enumerate(ranked(rung), start=1):
            places.setdefault(name, []).append((rung["length"], place))
    best = setting_key(document["setting"])
    for name, path in places.items():
        lengths, at = zip(*path, strict=True)
        is_best = name == best
        ax.plot(lengths, at, "o-", color=_CHOSEN if is_best else _OTHER, lw=2 if is_best else 1, zorder=2 + is_best)
    ax.set_xscale("log")
    ax.set_yticks(range(1, len(places) + 1, max(1, len(places) // 9)))
    ax.invert_yaxis()
    unit = "evaluations" if document["resource"] == "budget" else "draws"
    ax.set_xlabel(f"length of the chains, in {unit}")
    ax.set_ylabel("rank of the setting")
    ax.set_title(f"Chosen: {printable(setting_label(document['setting']))}", color=_CHOSEN)
