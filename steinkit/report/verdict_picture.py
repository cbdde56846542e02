"""The picture of a verdict on a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steinkit import plots
from steinkit.describe.numbers import sentence
from steinkit.describe.verdict import fault
from steinkit.report.elements import Picture
from steinkit.report.pictures import NARROW, WIDE, on_axes


def verdict_pictures(name: str, document: Mapping[str, Any] | None) -> list[Picture]:
    """What is wrong with a sample, if something is blamed."""
    if not document or not document["blame"]:
        return []

    def draw(ax: Any) -> None:
        plots.verdict(document, ax)
        ax.set_title("")  # the page says it in words, and a narrow picture has no room for it
        ax.set_xlabel("standard errors from the target", fontsize=9)
        ax.tick_params(axis="y", labelsize=8.5)

    faults = "; ".join(f"{fault(each)}, {abs(each['z']):.3g} standard errors" for each in document["blame"])
    height = 1.2 + 0.4 * len(document["blame"])
    return [
        Picture(
            title=f"What is wrong with {name}",
            caption="A line a fault, worst on top: standard errors from what the target asks for, with 95% intervals. "
            "The grey band is what chance makes of what is right.",
            description=f"{sentence(faults)}.",
            wide=on_axes(draw, WIDE, height),
            narrow=on_axes(draw, NARROW, height),
        )
    ]
