"""Bars of the graph Stein discrepancy that each coordinate carries, of one sample or several side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from steinkit.describe.numbers import number, sentence
from steinkit.report.parts import Picture
from steinkit.report.pictures import NARROW, WIDE, label, on_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Coordinates = Sequence[Mapping[str, Any]]

BRACKETS_CAPTION = (
    "What each coordinate carries of the graph Stein discrepancy, with its certified bracket as an error bar where "
    "that can be seen: the longest bar is the coordinate to mend first."
)
_COLOURS = ("#56B4E9", "#0072B2", "#D55E00", "#999999", "#009E73", "#CC79A7")
_VISIBLE = 0.01  # width of a bracket, beside the longest bar, from which it can be seen
_MOST_BARS = 8  # coordinates shown, the heaviest first
_LONGEST_NAME = 18  # letters


def bars_pictures(groups: Mapping[str, Coordinates], caption: str) -> list[Picture]:
    """The picture of the bars, if there are several coordinates to show.

    Parameters
    ----------
    groups : mapping of str to sequence of mapping
        Entries "name", "value", and where they are known "lower" and "upper", of the coordinates of each sample.
    caption : str
    """
    if not groups or max(map(len, groups.values())) < 2:
        return []

    def draw(ax: Any) -> None:
        _bars(groups, ax)

    bars = len(_heaviest(groups)) * len(groups)
    height = 1.2 + 0.2 * len(groups) + 0.27 * bars
    return [
        Picture(
            title="Coordinate by coordinate",
            caption=caption,
            description="Discrepancy by coordinate. "
            + " ".join(_in_numbers(name, entries) for name, entries in groups.items()),
            wide=on_axes(draw, WIDE, height),
            narrow=on_axes(draw, NARROW, height),
        )
    ]


def _in_numbers(name: str, entries: Coordinates) -> str:
    return f"{sentence(name)}: " + ", ".join(f"{each['name']} {number(each['value'], 3)}" for each in entries) + "."


def _bars(groups: Mapping[str, Coordinates], ax: Axes) -> None:
    names = _heaviest(groups)
    thick = 0.8 / len(groups)
    highest = 0.0
    for k, (name, entries) in enumerate(groups.items()):
        by_name = {entry["name"]: entry for entry in entries}
        places = [place - 0.4 + thick * (k + 0.5) for place, name in enumerate(names) if name in by_name]
        found = [by_name[name] for name in names if name in by_name]
        values = np.array([entry["value"] for entry in found])
        lower, upper = (np.array([entry.get(end, entry["value"]) for entry in found]) for end in ("lower", "upper"))
        ax.barh(places, values, height=0.9 * thick, color=_COLOURS[k % len(_COLOURS)], label=label(name))
        if (upper - lower > _VISIBLE * upper.max()).any():
            reach = np.vstack([values - lower, upper - values])
            ax.errorbar(values, places, xerr=reach, fmt="none", ecolor="0.1", capsize=2)
        for place, value in zip(places, values, strict=True):
            ax.annotate(f"{value:.3g}", (value, place), (5, 0), textcoords="offset points", va="center", fontsize=8)
        highest = max(highest, float(upper.max()))
    ax.set_yticks(range(len(names)), [_short(name) for name in names], parse_math=False)
    ax.invert_yaxis()
    ax.set_xlim(0.0, 1.18 * highest or 1.0)
    ax.set_xlabel("discrepancy carried")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    if len(groups) > 1:
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=1, fontsize=8.5, frameon=False)


def _heaviest(groups: Mapping[str, Coordinates]) -> list[str]:
    """Names of the coordinates that carry most in any of the samples, heaviest first."""
    most: dict[str, float] = {}
    for entries in groups.values():
        for entry in entries:
            most[entry["name"]] = max(most.get(entry["name"], 0.0), entry["value"])
    return sorted(most, key=lambda name: -most[name])[:_MOST_BARS]


def _short(name: str) -> str:
    """A name with its middle left out where it is too long to stand beside a bar."""
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME // 2]}…{name[-_LONGEST_NAME // 2 + 1 :]}"
