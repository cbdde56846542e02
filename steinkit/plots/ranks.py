"""Pictures of comparisons: samples by rank, with their brackets and the range of independent samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steinkit.comparison import Comparison
from steinkit.describe.comparison import measured, ranks, reference_of, unranked
from steinkit.describe.numbers import compact
from steinkit.describe.statements import preference
from steinkit.measures import find_measure
from steinkit.plots.axes import axes_or_new, document_of, logarithmic, open_frame, told_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINE, _UNRANKED, _OTHERS = "#0072B2", "0.5", "0.45"
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
        colour = _UNRANKED if places[name] == _NOT_RANKED else _LINE
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
