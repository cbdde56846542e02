"""What a report says of a comparison of samples."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from steinkit import plots
from steinkit.describe.comparison import (
    grounds,
    headline,
    measured,
    ranks,
    sizes_table,
    table,
    unranked,
    verdicts_table,
)
from steinkit.describe.layout import Table
from steinkit.describe.numbers import sentence, value_of
from steinkit.describe.statements import Document, answers
from steinkit.measures import Measure, find_measure
from steinkit.report.elements import NARROW, WIDE, Part, Picture, bars_pictures, brackets_caption, has_bars, on_axes
from steinkit.report.reproduction import command_listings
from steinkit.report.sources import Found

_MOST_BAR_SAMPLES = 6


def comparison_part(found: Found) -> Part:
    """The verdict, pictures and tables of a comparison; `found` is of kind "comparison"."""
    document = found.document
    measures = [find_measure(name) for name in document["ranking"]]
    pictures = [_ranks(document, measure) for measure in measures if _shown(document, measure.name)]
    judged = [each for each in (verdicts_table(document), sizes_table(document)) if each is not None]
    return Part(
        source=found.name,
        subject=found.subject,
        headline=headline(document, measures[0]),
        answers=answers(grounds(document, find_measure)),
        reservations=tuple(document["warnings"]),
        pictures=(*pictures, *_bars(document, measures)),
        tables=(*judged, *(_table(document, measure) for measure in measures)),
        facts=found.facts(("samples", ", ".join(each["file"] for each in document["samples"])), made="compared them"),
        listings=command_listings(document),
    )


def _shown(document: Document, measure: str) -> bool:
    """Whether there is a sample to draw."""
    return bool(document["ranking"][measure] or unranked(document, measure))


def _table(document: Document, measure: Measure) -> Table:
    """The table of a terminal, each row named by its sample."""
    found = table(document, measure).led_by("sample")
    return replace(found, caption=sentence(found.caption))


def _ranks(document: Document, measure: Measure) -> Picture:
    def draw(ax: Any) -> None:
        plots.comparison(document, ax, measure=measure.name)
        ax.tick_params(axis="y", labelsize=8.5)
        if ax.get_legend() is not None:
            ax.get_legend().remove()  # the caption says what the band is

    height = 1.5 + 0.42 * len(document["samples"])
    places, entries = ranks(document, measure.name), measured(document, measure.name)
    values = "; ".join(
        [
            *(f"rank {rank.rstrip('=')}, {name}: {value_of(entries[name])}" for name, rank in places.items()),
            *(f"not ranked, {name}: {value_of(entries[name])}" for name in unranked(document, measure.name)),
        ]
    )
    bands = len(document["reference"].get(measure.name, ()))
    band = " The grey band holds independent samples from the target." if bands else ""
    if bands > 1:
        band = " Each sample's grey band holds independent samples from the target of as many effective draws."
    bars = " Bars are the brackets: samples whose bars overlap share a rank (=)." if measure.has_bracket else ""
    grey = " Samples in grey cannot be ranked by it." if unranked(document, measure.name) else ""
    return Picture(
        title=f"{sentence(measure.title)}, best first",
        caption=f"One line a sample, with its rank beside its name.{bars}{band}{grey}",
        description=f"{sentence(measure.title)}: {values}.",
        wide=on_axes(draw, WIDE, height),
        narrow=on_axes(draw, NARROW, height),
    )


def _bars(document: Document, measures: list[Measure]) -> list[Picture]:
    """What each coordinate carries of the discrepancy of each sample, best first, by the first measure that is one."""
    for measure in measures:
        entries = measured(document, measure.name)
        order = dict.fromkeys([*ranks(document, measure.name), *entries])
        groups = {name: entries[name]["coordinates"] for name in order if has_bars(entries[name])}
        if groups and len(groups) <= _MOST_BAR_SAMPLES:
            return bars_pictures(groups, brackets_caption(measure.title))
    return []
