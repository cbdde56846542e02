"""Bars of the graph Stein discrepancy that each coordinate carries, of one sample or several side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from steinkit.plots.axes import COLOURS, LIGHT, open_frame, told_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Coordinates = Sequence[Mapping[str, Any]]

_EDGE = "0.3"
_VISIBLE = 0.01  # width of a bracket, beside the longest bar, from which it can be seen


def coordinate_bars(
    groups: Sequence[tuple[str, Coordinates]],
    ax: Axes,
    *,
    most: int | None = None,
    longest_name: int = 24,
    colours: Sequence[str] = (*COLOURS, LIGHT),
) -> None:
    """Draw a bar a coordinate of each sample, the heaviest on top, with its bracket where that can be seen.

    Parameters
    ----------
    groups : sequence of pairs of str and sequence of mapping
        Of each sample its label, drawn if there are several, and the entries "name", "value", and where they are known
        "lower" and "upper", of its coordinates.
    ax : matplotlib Axes
    most : int, optional
        Coordinates shown.
    longest_name : int
        Letters of a line of a coordinate's name.
    colours : sequence of str
        Of the samples, in turn.
    """
    names = heaviest([entries for _, entries in groups], most)
    thick = 0.8 / len(groups)
    highest = 0.0
    for k, (group, entries) in enumerate(groups):
        by_name = {entry["name"]: entry for entry in entries}
        places = [place - 0.4 + thick * (k + 0.5) for place, name in enumerate(names) if name in by_name]
        found = [by_name[name] for name in names if name in by_name]
        values = np.array([entry["value"] for entry in found])
        lower, upper = (np.array([entry.get(end, entry["value"]) for entry in found]) for end in ("lower", "upper"))
        ax.barh(
            places,
            values,
            height=0.9 * thick,
            color=colours[k % len(colours)],
            edgecolor=_EDGE,
            linewidth=0.4,
            label=group,
        )
        if (upper - lower > _VISIBLE * upper.max()).any():
            reach = np.vstack([values - lower, upper - values])
            ax.errorbar(values, places, xerr=reach, fmt="none", ecolor="0.1", capsize=2)
        for place, value in zip(places, values, strict=True):
            ax.annotate(f"{value:.3g}", (value, place), (5, 0), textcoords="offset points", va="center", fontsize=8)
        highest = max(highest, float(upper.max()))
    ax.set_yticks(range(len(names)), told_apart(names, longest_name), parse_math=False)
    ax.invert_yaxis()
    ax.set_xlim(0.0, 1.2 * highest or 1.0)
    ax.set_xlabel("discrepancy carried")
    open_frame(ax)
    if len(groups) > 1:
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=1, fontsize=8.5, frameon=False)


def heaviest(groups: Iterable[Coordinates], most: int | None = None) -> list[str]:
    """Names of the coordinates that carry most in any of the samples, heaviest first."""
    found: dict[str, float] = {}
    for entries in groups:
        for entry in entries:
            found[entry["name"]] = max(found.get(entry["name"], 0.0), entry["value"])
    return sorted(found, key=lambda name: -found[name])[:most]
