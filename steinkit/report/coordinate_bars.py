"""The picture of what each coordinate carries of a discrepancy that is a sum over them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steinkit.describe.numbers import compact, sentence
from steinkit.plots.coordinate_bars import Coordinates, coordinate_bars, heaviest
from steinkit.report.elements import Picture
from steinkit.report.pictures import NARROW, WIDE, label, on_axes

_MOST_BARS = 8  # coordinates shown, the heaviest first
_LONGEST_NAME = 18  # letters


def has_bars(entry: Mapping[str, Any]) -> bool:
    """Whether a measure's entry says what each coordinate carries of it."""
    return all("value" in each for each in entry.get("coordinates", [{}]))


def brackets_caption(title: str) -> str:
    """What is to be seen in bars with their brackets, of a measure of this title."""
    return (
        f"What each coordinate carries of the {title}, with its certified bracket as an error bar where that can be "
        "seen: the longest bar is the coordinate to look at first."
    )


def bars_pictures(groups: Mapping[str, Coordinates], caption: str, title: str = "") -> list[Picture]:
    """The picture of the bars, if there are several coordinates to show.

    Parameters
    ----------
    groups : mapping of str to sequence of mapping
        Entries "name", "value", and where they are known "lower" and "upper", of the coordinates of each sample.
    caption : str
    title : str
        Of the measure, where several of them have bars.
    """
    if not groups or max(map(len, groups.values())) < 2:
        return []

    labelled = [(label(name), entries) for name, entries in groups.items()]

    def draw(ax: Any) -> None:
        coordinate_bars(labelled, ax, most=_MOST_BARS, longest_name=_LONGEST_NAME)

    bars = len(heaviest(groups.values(), _MOST_BARS)) * len(groups)
    height = 1.2 + 0.2 * len(groups) + 0.27 * bars
    return [
        Picture(
            title=f"{sentence(title)}, coordinate by coordinate" if title else "Coordinate by coordinate",
            caption=caption,
            description="Discrepancy by coordinate. "
            + " ".join(_in_numbers(name, entries) for name, entries in groups.items()),
            wide=on_axes(draw, WIDE, height),
            narrow=on_axes(draw, NARROW, height),
        )
    ]


def _in_numbers(name: str, entries: Coordinates) -> str:
    return f"{sentence(name)}: " + ", ".join(f"{each['name']} {compact(each['value'])}" for each in entries) + "."
