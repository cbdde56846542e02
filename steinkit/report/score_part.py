"""What a report says of the score of one sample."""

from __future__ import annotations

from steinkit.describe.render import answers
from steinkit.describe.score import descriptions, headline, measures_table, page_statements
from steinkit.measures import find_measure
from steinkit.report.coordinate_bars import bars_pictures, brackets_caption, has_bars
from steinkit.report.elements import Part, Picture
from steinkit.report.facts import units_fact
from steinkit.report.moment_pictures import moments_picture
from steinkit.report.reproduction import command_listings
from steinkit.report.sources import Found
from steinkit.report.verdict_picture import verdict_pictures


def score_part(found: Found) -> Part:
    """The verdict, pictures and tables of a score; `found` is of kind "score"."""
    document = found.document
    sample, described = document["sample"], descriptions(document, find_measure)
    return Part(
        source=found.name,
        subject=found.subject,
        headline=headline(document, find_measure),
        answers=answers(page_statements(described, document.get("verdict"))),
        reservations=tuple(document["warnings"]),
        pictures=tuple(_pictures(found)),
        tables=(
            measures_table(document, described, find_measure),
            *(each.table for each in described if each.table is not None),
        ),
        facts=(
            ("draws", f"{sample['draws']}, of which {sample['distinct']} are distinct"),
            ("coordinates", ", ".join(sample["names"])),
            *units_fact(document),
            ("steinkit that scored it", document["version"]),
            *found.hash_facts,
        ),
        listings=command_listings(document),
    )


def _pictures(found: Found) -> list[Picture]:
    """What documents hold enough for: the faults, bars of every sum over coordinates, and the matrix of moments."""
    entries = found.document["results"]
    barred, pictures = [each for each in entries if has_bars(each)], []
    for entry in barred:
        title = find_measure(entry["measure"]).title
        named = title if len(barred) > 1 else ""
        pictures += bars_pictures({found.sample: entry["coordinates"]}, brackets_caption(title), named)
    judged = verdict_pictures(found.sample, found.document.get("verdict"))
    return [*judged, *pictures, *(moments_picture(found.sample, each) for each in entries if "features" in each)]
