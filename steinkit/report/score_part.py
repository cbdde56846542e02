"""What a report says of the score of one sample."""

from __future__ import annotations

from steinkit.describe.render import answers
from steinkit.describe.score import descriptions, headline, measures_table, page_statements
from steinkit.measures import find_measure
from steinkit.report.coordinate_bars import BRACKETS_CAPTION, bars_pictures
from steinkit.report.elements import Part
from steinkit.report.reproduction import command_listings
from steinkit.report.sources import Found


def score_part(found: Found) -> Part:
    """The verdict, pictures and tables of a score; `found` is of kind "score"."""
    document = found.document
    sample, described = document["sample"], descriptions(document, find_measure)
    bars = [each["coordinates"] for each in document["results"] if find_measure(each["measure"]).has_picture]
    return Part(
        source=found.name,
        headline=headline(found.name, document, find_measure),
        answers=answers(page_statements(described)),
        reservations=tuple(document["warnings"]),
        pictures=tuple(bars_pictures({found.name: bars[0]}, BRACKETS_CAPTION)) if bars else (),
        tables=(
            measures_table(document, described, find_measure),
            *(each.table for each in described if each.table is not None),
        ),
        facts=(
            ("draws", f"{sample['draws']}, of which {sample['distinct']} are distinct"),
            ("coordinates", ", ".join(sample["names"])),
            ("steinkit that scored it", document["version"]),
            *found.hash_facts,
        ),
        listings=command_listings(document),
    )
