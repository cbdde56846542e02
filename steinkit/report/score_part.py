"""What a report says of the score of one sample."""

from __future__ import annotations

from steinkit.describe.render import answers
from steinkit.describe.score import descriptions, headline, measures_table, page_statements
from steinkit.errors import SteinkitError
from steinkit.measures import find_measure
from steinkit.report.coordinate_bars import bars_pictures, brackets_caption, has_bars
from steinkit.report.elements import Part, Picture
from steinkit.report.facts import units_fact
from steinkit.report.moment_pictures import moments_picture
from steinkit.report.reproduction import command_listings
from steinkit.report.score_draws import draws_pictures
from steinkit.report.sources import Found
from steinkit.report.verdict_picture import verdict_pictures
from steinkit.target import Target


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
            measures_table(document, described, find_measure),
            *(each.table for each in described if each.table is not None),
        ),
        facts=(
            ("draws", f"{sample['draws']}, {sample['distinct']} of them distinct"),
            ("coordinates", ", ".join(sample["names"])),
            *units_fact(document),
            ("steinkit that scored it", document["version"]),
            *found.hash_facts,
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
    judged = verdict_pictures(found.sample, found.document.get("verdict"))
    return [
        *judged,
        *drawn,
        *pictures,
        *(moments_picture(found.sample, each) for each in entries if "features" in each),
    ]
