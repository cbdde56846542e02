"""The picture of moments on a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steinkit import plots
from steinkit.describe.moments import direction, named
from steinkit.describe.numbers import listed, sentence
from steinkit.report.elements import Picture
from steinkit.report.pictures import NARROW, WIDE, on_axes

_IN_WORDS = 10  # moments


def moments_picture(name: str, entry: Mapping[str, Any]) -> Picture:
    """The matrix of the standard errors of a sample's moments."""

    def draw(ax: Any) -> None:
        plots.moment_matrix(entry, ax)

    dim = sum(each["kind"] == "location" for each in entry["features"])
    height = 1.9 + 0.32 * max(dim, 2)
    worst = ", ".join(
        f"{each['kind']} of {listed(each['coordinates'])} {abs(each['z']):.2g} standard errors {direction(each)}"
        for each in named(entry)[:_IN_WORDS]
    )
    return Picture(
        title=f"Moments of {name}",
        caption="A row a coordinate: its location, its spread, and its dependence with those before it, in standard "
        "errors from what the target has. Red is too high, too wide, or a correlation above the target's; blue the "
        "contrary; pale is what chance explains.",
        description=f"{sentence(worst)}.",
        wide=on_axes(draw, WIDE, height),
        narrow=on_axes(draw, NARROW, height),
    )
