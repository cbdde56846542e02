"""Pictures of curves, with the line of the rate, and of comparisons: samples by rank, with their brackets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from steinkit.comparison import Comparison
from steinkit.curves import Curve
from steinkit.describe.comparison import measured, ranks, reference_of, unranked
from steinkit.describe.numbers import compact
from steinkit.describe.statements import preference
from steinkit.errors import printable
from steinkit.measures import find_measure
from steinkit.plots.axes import axes_or_new, document_of, logarithmic, open_frame, told_apart
from steinkit.sample import Floats

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
