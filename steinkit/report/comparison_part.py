"""What a report says of a comparison of samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from steinkit import plots
from steinkit.comparison import ComparedSample, Comparison
from steinkit.describe.numbers import bracket, count, listed, number, sentence
from steinkit.discrepancy.reference import Reference
from steinkit.measures import Measurement, find_measure
from steinkit.report.coordinate_bars import BRACKETS_CAPTION, bars_pictures
from steinkit.report.parts import Part, Picture, Table
from steinkit.report.pictures import NARROW, WIDE, on_axes
from steinkit.report.reproduction import command_listings
from steinkit.report.sources import Found
from steinkit.report.wording import paragraphs

_MOST_BAR_SAMPLES = 6


def comparison_part(found: Found) -> Part:
    """The verdict, pictures and tables of a comparison; `found` is of kind "comparison"."""
    document = found.document
    comparison = _comparison(document)
    pictures = [_ranks(comparison, document, measure) for measure in comparison.measures if comparison.ranking[measure]]
    return Part(
        source=found.name,
        headline=_headline(comparison),
        answers=tuple(_answers(comparison, document)),
        reservations=tuple(document["warnings"]),
        pictures=(*pictures, *_bars(document)),
        tables=tuple(_table(comparison, document, measure) for measure in comparison.measures),
        facts=(
            ("samples", ", ".join(each["file"] for each in document["samples"])),
            ("steinkit that compared them", document["version"]),
            *((f"SHA-256 of {name}", value) for name, value in (found.hashes or {}).items()),
        ),
        listings=command_listings(found.document),
    )


def _comparison(document: Mapping[str, Any]) -> Comparison:
    """The comparison again, as far as its document holds it."""
    samples = []
    for entry in document["samples"]:
        measurements = {each["measure"]: _measurement(each) for each in entry["results"]}
        samples.append(ComparedSample(entry["file"], None, measurements, {}))
    ranking = {measure: tuple(map(tuple, groups)) for measure, groups in document["ranking"].items()}
    references = {
        measure: tuple(_reference(each) for each in entries) for measure, entries in document["reference"].items()
    }
    return Comparison(tuple(samples), tuple(ranking), ranking, references, tuple(document["warnings"]))


def _measurement(entry: Mapping[str, Any]) -> Measurement:
    value = np.nan if entry["value"] is None else entry["value"]
    lower, upper = entry.get("lower", value), entry.get("upper", value)
    return Measurement(entry["measure"], value, lower, upper, None, dict(entry), ())


def _reference(entry: Mapping[str, Any]) -> Reference:
    values = np.array(entry["values"])  # the middles of the brackets stand for these
    return Reference(values, values, entry["draws"])


def _headline(comparison: Comparison) -> str:
    measure = comparison.measures[0]
    groups, title = comparison.ranking[measure], find_measure(measure).title
    if not groups:
        return f"None of {count(len(comparison.samples), 'sample')} could be ranked by {title}"
    best, others = groups[0], sum(map(len, groups[1:]))
    proof = "proved better than" if find_measure(measure).has_bracket else "better than"
    if len(best) > 1:
        rest = f", and {proof} the other {others}" if others else ""
        return f"{listed(best)} are tied for best by {title}{rest}"
    if not others:
        return f"{best[0]} is the only sample ranked by {title}"
    whom = groups[1][0] if others == 1 else f"the other {others} samples"
    return f"{best[0]} is {proof} {whom} by {title}"


def _answers(comparison: Comparison, document: Mapping[str, Any]) -> list[tuple[str, str]]:
    found = [
        (f"Which sample, by {find_measure(measure).title}?", _which(comparison, measure))
        for measure in comparison.measures
        if comparison.ranking[measure]
    ]
    compared = [_against(comparison, measure) for measure in comparison.measures if comparison.references.get(measure)]
    found.append(
        (
            "Is the best one good?",
            paragraphs(compared)
            or "No independent samples from the target were measured beside them: the order says which is better, not "
            "whether any is good.",
        )
    )
    errors = [f"{each['file']}: {each['error']}" for each in document["samples"] if each["error"]]
    found.append(("Did anything fail?", "\n".join(errors) or "No: every sample was measured."))
    found.append(
        (
            "What does this not prove?",
            "That one sampler is better than another: the order is one of these draws, and how far samplers differ "
            "takes several samples of each to say.\nThat all of the target was visited: a mode that no draw has come "
            "near changes nothing that a Stein discrepancy sees.",
        )
    )
    return found


def _which(comparison: Comparison, measure: str) -> str:
    known, groups = find_measure(measure), comparison.ranking[measure]
    by_name = {each.name: each.measurements for each in comparison.samples}
    parts = []
    for group in groups:
        values = [f"{name} ({number(by_name[name][measure].value)})" for name in group]
        parts.append(listed(values, most=6) + (", tied" if len(group) > 1 else ""))
    order = "smaller is better" if known.smaller_is_better else "larger is better"
    first = f"Best first ({order}): {'; then '.join(parts)}."
    if known.has_bracket:
        return f"{first} Samples of different rank have certified brackets that do not overlap."
    return f"{first} This is an estimate, and blind to bias: an order of mixing, not of quality."


def _against(comparison: Comparison, measure: str) -> str:
    """The best sample beside independent ones of its size."""
    name = comparison.ranking[measure][0][0] if comparison.ranking[measure] else None
    if name is None:
        return ""
    (best,) = [each.measurements[measure] for each in comparison.samples if each.name == name]
    reference = comparison.references[measure][0]
    low, high = float(reference.values.min()), float(reference.values.max())
    place = "above" if best.lower > high else "below" if best.upper < low else "within"
    return (
        f"By {find_measure(measure).title}, {name} has {number(best.value)}, {place} the range {number(low)} to "
        f"{number(high)} of {count(len(reference.values), 'independent sample')} of {reference.n} draws from the "
        f"target, at {best.value / reference.median:.2f} times their median."
    )


def _ranks(comparison: Comparison, document: Mapping[str, Any], measure: str) -> Picture:
    known = find_measure(measure)

    def draw(ax: Any) -> None:
        plots.comparison(comparison, ax, measure=measure)
        ax.tick_params(axis="y", labelsize=8.5)
        if ax.get_legend() is not None:
            ax.get_legend().remove()  # the caption says what the band is

    height = 1.5 + 0.42 * len(document["samples"])
    ranked = [name for group in comparison.ranking[measure] for name in group]
    by_name = {each.name: each.measurements[measure] for each in comparison.samples if measure in each.measurements}
    values = "; ".join(
        f"rank {comparison.rank(name, measure)}, {name}: {number(by_name[name].value)}" for name in ranked
    )
    band = " The grey band holds independent samples from the target." if comparison.references.get(measure) else ""
    bars = " Bars are certified brackets: samples whose bars overlap share a rank (=)." if known.has_bracket else ""
    return Picture(
        title=f"{sentence(known.title)}, best first",
        caption=f"One line a sample, with its rank beside its name.{bars}{band}",
        description=f"{sentence(known.title)}: {values}.",
        wide=on_axes(draw, WIDE, height),
        narrow=on_axes(draw, NARROW, height),
    )


def _bars(document: Mapping[str, Any]) -> list[Picture]:
    """What each coordinate carries of the graph Stein discrepancy of each sample."""
    groups = {
        entry["file"]: each["coordinates"]
        for entry in document["samples"]
        for each in entry["results"]
        if each["measure"] == "graph"
    }
    return bars_pictures(groups, BRACKETS_CAPTION) if len(groups) <= _MOST_BAR_SAMPLES else []


def _table(comparison: Comparison, document: Mapping[str, Any], measure: str) -> Table:
    known = find_measure(measure)
    by_name = {entry["file"]: entry for entry in document["samples"]}
    ranked = [name for group in comparison.ranking[measure] for name in group]
    rows = []
    for name in [*ranked, *(each for each in by_name if each not in ranked)]:
        entry = by_name[name]
        value = next((each for each in entry["results"] if each["measure"] == measure), None)
        proof = bracket(value["lower"], value["upper"]) if value is not None and known.has_bracket else ""
        rows.append(
            (
                name,
                str(comparison.rank(name, measure) or ""),
                "" if entry["draws"] is None else str(entry["draws"]),
                number(None if value is None else value["value"], 6),
                *([proof] if known.has_bracket else []),
            )
        )
    for reference in comparison.references.get(measure, ()):
        values = reference.values
        spread = f"{number(float(values.min()))} to {number(float(values.max()))}"
        rows.append((f"{len(values)} independent samples", "", str(reference.n), number(reference.median), spread))
    columns = ("sample", "rank", "draws", "value", *(["certified between"] if known.has_bracket else []))
    return Table(sentence(known.title), columns, tuple(rows))
