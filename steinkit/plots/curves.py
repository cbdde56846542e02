"""Pictures of curves with their rates, of samples by rank, and of a sweep's settings: what each criterion picks.

No message hangs on a colour alone.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from steinkit.comparison import Comparison
from steinkit.curves import Curve
from steinkit.describe.comparisons import measured, ranks, reference_of, unranked
from steinkit.describe.results import preference
from steinkit.describe.sweep import LEVEL, bracket_of, interval_of, median_of, ranked
from steinkit.describe.writing import compact, setting_key, setting_label
from steinkit.errors import UsageError, did_you_mean, printable
from steinkit.measures import find_measure
from steinkit.measures.options import Measure
from steinkit.plots.axes import axes_or_new, document_of, legend_below, logarithmic, open_frame, strip_below, told_apart
from steinkit.sample import Floats
from steinkit.sweeps.tuning import TuningResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINE, _FIT, _GUIDE = "#0072B2", "#D55E00", "0.45"
_GUIDE_SLOPE = -0.5  # of independent draws
_GUIDED = "slope of independent draws"  # what marks the guide
_VISIBLE = 0.005  # relative width from which a bracket can be seen


def curve(
    result: Curve | Mapping[str, Any],
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
    result : Curve, or its document
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
    document, ax = document_of(result), axes_or_new(ax)
    measure, rate = find_measure(document["measure"]), document["rate"]
    x = _numbers(document["n"] if document["budget"] is None or document["cost"] is None else document["cost"])
    values, lower, upper = (_numbers(document[key]) for key in ("values", "lower", "upper"))
    name = measure.title if label is None else printable(label)
    known = "" if rate is None else f", rate {rate:.2f}"
    ax.plot(x, values, color=color, marker=marker, markersize=4, label=f"{name}{known}")
    if document["interval"] is not None:
        low, high = _numbers(document["interval"]).T
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
    if rate is not None:
        tail = x[document["tail"]]
        centre = np.exp(np.log(values[document["tail"]]).mean() - rate * np.log(tail).mean())
        ax.plot(tail, centre * tail**rate, color=_FIT if label is None else color, linestyle="--", linewidth=1.2)
    logarithmic(ax, y=positive)
    ax.set_xlabel("draws" if document["budget"] is None else "cost of the draws")
    ax.set_ylabel(measure.title)
    ax.legend(fontsize=8, framealpha=0.9)
    return ax


def _numbers(values: Any) -> Floats:
    """Numbers of a document, NaN for those that are not known."""
    return np.array(values, dtype=np.float64)


_RANK_LINE, _UNRANKED, _OTHERS = "#0072B2", "0.5", "0.45"
_BEHIND = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.7}  # of a number
_DECADES = 20.0  # ratio of the ends from which the axis is logarithmic
_NOT_RANKED = "(not ranked)"
_LONGEST_NAME = 24  # letters of a line


def comparison(result: Comparison | Mapping[str, Any], ax: Axes | None = None, *, measure: str | None = None) -> Axes:
    """Plot samples by rank: a mark at the value, the certified bracket, and the range of independent samples as a band.

    Where the samples differ in size, each has the band of independent samples as many as its own draws.

    Samples that the measure does not rank follow as grey rings. The axis is logarithmic where values span decades.

    Parameters
    ----------
    result : Comparison, or its document
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
    document, ax = document_of(result), axes_or_new(ax)
    known = find_measure(next(iter(document["ranking"])) if measure is None else measure)
    places = ranks(document, known.name) | dict.fromkeys(unranked(document, known.name), _NOT_RANKED)
    entries = measured(document, known.name)
    ends = {
        name: (entries[name].get("lower", value), entries[name].get("upper", value))
        for name, value in ((name, entries[name]["value"]) for name in places)
    }
    for place, (name, (lower, upper)) in enumerate(ends.items()):
        value = entries[name]["value"]
        colour = _UNRANKED if places[name] == _NOT_RANKED else _RANK_LINE
        ax.hlines(place, lower, upper, color=colour, linewidth=5, alpha=0.4)
        ranked = places[name] != _NOT_RANKED
        ax.plot(value, place, "o", color=colour, markersize=6, fillstyle="full" if ranked else "none", zorder=3)
        ax.annotate(
            compact(value), (value, place), (0, 7), textcoords="offset points", ha="center", fontsize=8, bbox=_BEHIND
        )
    references = document["reference"].get(known.name, ())
    if len(references) == 1:
        _band(ax, references[0], f"{_samples(references[0])} of {references[0]['draws']}")
    for place, name in enumerate(places if len(references) > 1 else ()):
        if reference := reference_of(document, known.name, name):
            _band(ax, reference, f"{_samples(reference)} of as many effective draws", (place - 0.4, place + 0.4))
    names = told_apart(list(places), _LONGEST_NAME)
    labels = [f"{name}  {rank}" for name, rank in zip(names, places.values(), strict=True)]
    ax.set_yticks(range(len(places)), labels, parse_math=False)
    ax.set_ylim(len(places) - 0.4, -0.8)
    everything = [end for both in ends.values() for end in both]
    everything += [reference[end] for reference in references for end in ("lower", "upper")]
    spread = [value for value in everything if value is not None]
    if spread and min(spread) > 0.0 and max(spread) > _DECADES * min(spread):
        logarithmic(ax, y=False)
    ax.margins(x=0.15)
    left, _ = ax.get_xlim()
    if ax.get_xscale() == "linear" and left < 0.0 <= min((lower for lower, _ in ends.values()), default=left):
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


def _samples(reference: Mapping[str, Any]) -> str:
    what = "blocks of the long run" if reference.get("run") else "independent samples"
    return f"{len(reference['values'])} {what}"


def _band(ax: Axes, reference: Mapping[str, Any], label: str, rows: tuple[float, float] | None = None) -> None:
    """The range of independent samples and their median: over the rows given, or all along the axis."""
    across, heights = (ax.transData, rows) if rows else (ax.get_xaxis_transform(), (0.0, 1.0))
    ends = (reference["lower"], reference["upper"])
    ax.fill_between(ends, *heights, color=_OTHERS, alpha=0.2, linewidth=0.0, transform=across, label=label)
    median = [reference["median"]] * 2
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
    measure = _upper_measure(choices, measure)
    points = _points(choices[measure], find_measure(measure))
    across = _Across.of(points, parameter)
    beside = against if against in choices and against != measure else None
    ax = axes_or_new(ax, (_SIZE[0], _BOTH * _SIZE[1]) if beside else _SIZE)
    lowest = strip_below(ax, (1.0, 1.0)) if beside else ax
    verdicts = [_criterion(ax, choices[measure], find_measure(measure), across, _FIRST, "-")]
    if beside:
        verdicts.append(_criterion(lowest, choices[beside], find_measure(beside), across, _SECOND, "--"))
    across.dress(lowest)
    ax.set_title("\n".join(verdicts), fontsize=10, parse_math=False)
    _legend(lowest, points, parameter)
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


def _upper_measure(choices: Mapping[str, Any], measure: str | None) -> str:
    if measure is None:
        measure = next((name for name in choices if find_measure(name).smaller_is_better), next(iter(choices), None))
    if measure is None or measure not in choices:
        raise UsageError(f"there is no choice by {measure!r}; there are choices by {', '.join(choices) or 'nothing'}")
    return measure


class _Point(NamedTuple):
    """What is drawn of a setting."""

    settings: Mapping[str, Any]
    median: float
    interval: tuple[float, float]
    bracket: tuple[float, float]


def _points(choice: Mapping[str, Any], measure: Measure) -> list[_Point]:
    medians = [median_of(row, measure) for row in choice["table"]]
    return [
        _Point(row["settings"], median, interval_of(row, measure) or (median, median), bracket_of(row, measure))
        for row, median in zip(choice["table"], medians, strict=True)
    ]


@dataclass(frozen=True)
class _Across:
    """The axis of the parameter: numbers, or names side by side."""

    parameter: str
    names: tuple[str, ...]
    logarithmic: bool

    @classmethod
    def of(cls, points: Sequence[_Point], parameter: str) -> _Across:
        values = [point.settings[parameter] for point in points if parameter in point.settings]
        if len(values) < len(points):
            known = {name for point in points for name in point.settings}
            raise UsageError(
                f"no parameter named {parameter!r} in all settings{did_you_mean(parameter, known)}; "
                f"there are {', '.join(sorted(known))}"
            )
        if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
            return cls(parameter, (), _spans(values, 10.0))
        return cls(parameter, tuple(dict.fromkeys(map(str, values))), False)

    def place(self, point: _Point) -> float:
        value = point.settings[self.parameter]
        return float(self.names.index(str(value)) if self.names else value)

    def dress(self, ax: Axes) -> None:
        ax.set_xlabel(printable(self.parameter.replace("_", " ")), parse_math=False)
        if self.logarithmic:
            ax.set_xscale("log")
        if self.names:
            ax.set_xticks(range(len(self.names)), list(map(printable, self.names)), parse_math=False)
            ax.set_xlim(-0.5, len(self.names) - 0.5)


def _spans(values: Iterable[float], ratio: float) -> bool:
    """Whether numbers, the infinite ones apart, are positive and span a ratio: a logarithmic axis then serves them."""
    finite = [value for value in values if math.isfinite(value)]
    return bool(finite) and min(finite) > 0.0 and max(finite) >= ratio * min(finite)


def _criterion(ax: Axes, choice: Mapping[str, Any], measure: Measure, across: _Across, colour: str, dashes: str) -> str:
    """Draw the medians of one criterion on its Axes, and say what it picks."""
    points = _points(choice, measure)
    ax.margins(y=0.1)  # the star is large
    if _spans((end for point in points for end in (point.median, *point.interval)), 3.0):
        ax.set_yscale("log")
    for number, curve in enumerate(_curves(points, across.parameter).values()):
        ordered = sorted(curve, key=across.place)
        _curve(ax, across, ordered, {"color": colour, "linestyle": dashes, "marker": _MARKS[number % len(_MARKS)]})
    for point in points:
        at = (across.place(point), point.median)
        if point.settings == choice["best"]:
            ax.plot(*at, "*", color=colour, markersize=17, markeredgecolor="white", zorder=5)
        elif point.settings in choice["ties"]:
            ax.plot(*at, "o", color="none", markersize=13, markeredgecolor=colour, markeredgewidth=1.5, zorder=4)
    ax.set_ylabel(_label_along(ax, measure), color=colour)
    ax.tick_params(axis="y", which="both", colors=colour)
    _few_ticks(ax)
    return f"{measure.title} picks {setting_label(choice['best'])}"


def _label_along(ax: Axes, measure: Measure) -> str:
    """The name of a measure in lines no longer than its panel is high: longer ones run into those of the other."""
    preferred = f"({preference(measure)})"
    height = ax.get_window_extent().height / ax.figure.dpi
    return f"{textwrap.fill(measure.title, max(len(preferred), int(height / _LETTER)))}\n{preferred}"


def _curve(ax: Axes, across: _Across, points: Sequence[_Point], style: Mapping[str, Any]) -> None:
    """Medians joined by lines, with bars and bands; a cross on the edge where half of the cells failed."""
    x, medians = np.array([(across.place(point), point.median) for point in points]).T
    shown = np.isfinite(medians)
    bars = np.array([(at.median - at.bracket[0], at.bracket[1] - at.median) for at in points]).T[:, shown]
    ends = np.array([point.interval for point in points])[shown]
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


def _few_ticks(ax: Axes) -> None:
    """Ticks at 1, 2 and 5 times the powers of ten, where a logarithmic axis spans few of these."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = ax.get_ylim()
    if ax.get_yscale() == "log" and high < 1e3 * low:
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.yaxis.set_minor_formatter(NullFormatter())


def _curves(points: Sequence[_Point], parameter: str) -> dict[str, list[_Point]]:
    """The settings of each combination of the other parameters; those never scored have no place."""
    curves: dict[str, list[_Point]] = {}
    for point in points:
        others = {name: value for name, value in point.settings.items() if name != parameter}
        if not math.isnan(point.median):
            curves.setdefault(setting_label(others), []).append(point)
    return curves


def _legend(ax: Axes, points: Sequence[_Point], parameter: str) -> None:
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
    if any(math.isinf(point.median) for point in points):
        entries.append(entry("x", "half or more failed", 7))
    curves = _curves(points, parameter)
    if len(curves) > 1:
        names = [name.replace("$", r"\$") for name in curves]  # a name is no formula
        entries += [entry(_MARKS[number % len(_MARKS)], name, 5) for number, name in enumerate(names)]
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
