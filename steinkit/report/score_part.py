"""What a report says of the score of one sample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steinkit import plots
from steinkit.describe.moments import direction, named
from steinkit.describe.numbers import listed, sentence
from steinkit.describe.score import descriptions, headline, measures_table, page_statements
from steinkit.describe.statements import answers
from steinkit.describe.verdict import fault, verdict_biases
from steinkit.errors import SteinkitError
from steinkit.measures import find_measure
from steinkit.report.elements import Part, Picture
from steinkit.report.pictures import NARROW, WIDE, bars_pictures, brackets_caption, has_bars, on_axes
from steinkit.report.reproduction import command_listings
from steinkit.report.score_draws import draws_pictures
from steinkit.report.sources import Found
from steinkit.target import Target

_IN_WORDS = 10  # moments


def score_part(found: Found, target: Target | str | None = None) -> Part:
    """The verdict, pictures and tables of a score.

    Parameters
    ----------
    found : Found
        Of kind "score".
    target : Target or str, optional
        What was scored against, or its name, where that is code of the user's own: for the picture of the draws.
    """
    document, reservations = found.document, list(found.document["warnings"])
    drawn: list[Picture] = []
    try:
        drawn = draws_pictures(found, target)
    except SteinkitError as error:
        reservations.append(f"the draws are not shown: {error}")
    sample, described = document["sample"], descriptions(document, find_measure)
    return Part(
        source=found.name,
        subject=found.subject,
        headline=headline(document, find_measure),
        answers=answers(page_statements(described, document.get("verdict"), document.get("unjudged"))),
        reservations=tuple(reservations),
        pictures=tuple(_pictures(found, drawn)),
        tables=(
            *verdict_biases(document.get("verdict")),
            measures_table(document, described, find_measure),
            *(each.table for each in described if each.table is not None),
        ),
        facts=found.facts(
            ("draws", f"{sample['draws']}, {sample['distinct']} of them distinct"),
            ("coordinates", ", ".join(sample["names"])),
            made="scored it",
        ),
        listings=command_listings(document),
    )


def _pictures(found: Found, drawn: list[Picture]) -> list[Picture]:
    """The faults and the draws, and what documents hold enough for: bars of sums over coordinates, moments."""
    entries = found.document["results"]
    barred, pictures = [each for each in entries if has_bars(each)], []
    for entry in barred:
        title = find_measure(entry["measure"]).title
        named = title if len(barred) > 1 else ""
        pictures += bars_pictures({found.sample: entry["coordinates"]}, brackets_caption(title), named)
    judged = _faults(found.sample, found.document.get("verdict"))
    return [
        *judged,
        *drawn,
        *pictures,
        *(_moments(found.sample, each) for each in entries if "features" in each),
    ]


def _faults(name: str, document: Mapping[str, Any] | None) -> list[Picture]:
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


def _moments(name: str, entry: Mapping[str, Any]) -> Picture:
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
