"""Pictures of curves with their rates, and of samples by rank. No message hangs on a colour alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from steinkit.comparison_result import Comparison
from steinkit.curves import Curve
from steinkit.errors import printable
from steinkit.measurement import Reference
from steinkit.measures import find_measure
from steinkit.plots.axes import axes_or_new, logarithmic, open_frame, told_apart
from steinkit.text import compact

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
    ax.set_xlabel(f"{known.title}\n({known.preference})")
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
