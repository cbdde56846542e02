"""What a report says of the score of one sample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steinkit.describe.numbers import bracket, count, number, rounded_outwards, sentence
from steinkit.measures import find_measure
from steinkit.report.coordinate_bars import BRACKETS_CAPTION, bars_pictures
from steinkit.report.parts import Part, Table
from steinkit.report.reproduction import command_listings
from steinkit.report.sources import Found

_CHAIN_COLUMNS = ("mean", "sd", "mcse_mean", "bulk_ess", "tail_ess", "r_hat")


def score_part(found: Found) -> Part:
    """The verdict, pictures and tables of a score; `found` is of kind "score"."""
    document = found.document
    first, sample = document["results"][0], document["sample"]
    graph = [each for each in document["results"] if each["measure"] == "graph"]
    return Part(
        source=found.name,
        headline=_headline(found.name, first, document),
        answers=tuple(_answers(document)),
        reservations=tuple(document["warnings"]),
        pictures=tuple(bars_pictures({found.name: graph[0]["coordinates"]}, BRACKETS_CAPTION)) if graph else (),
        tables=(_measures(document), *_coordinates(document)),
        facts=(
            ("draws", f"{sample['draws']}, of which {sample['distinct']} are distinct"),
            ("coordinates", ", ".join(sample["names"])),
            *_method(document),
            ("steinkit that scored it", document["version"]),
            *((f"SHA-256 of {name}", value) for name, value in (found.hashes or {}).items()),
        ),
        listings=command_listings(found.document),
    )


def _headline(name: str, entry: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    title = find_measure(entry["measure"]).title
    head = f"{sentence(title)} {number(entry['value'])} for {name}"
    reference = document["references"].get(entry["measure"])
    if reference is None:
        return head
    return (
        f"{head}: {_place(entry, reference)} {count(len(reference['samples']), 'independent sample')} from the target"
    )


def _place(entry: Mapping[str, Any], reference: Mapping[str, Any]) -> str:
    if entry["lower"] > max(each["upper"] for each in reference["samples"]):
        return "above all"
    if entry["upper"] < min(each["lower"] for each in reference["samples"]):
        return "below all"
    return "within the range of"


def _answers(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    found = []
    for entry in document["results"]:
        known = find_measure(entry["measure"])
        if not known.has_bracket:
            words = f"{number(entry['value'])}, that of the worst coordinate. It is an estimate, and blind to bias."
        else:
            ends = " and ".join(rounded_outwards(entry["lower"], entry["upper"]))
            words = f"{number(entry['value'], 6)}, proved to lie between {ends}."
            reference = document["references"].get(entry["measure"])
            words += f" {_compared(entry, reference)}" if reference is not None else ""
        found.append((f"What is its {known.title}?", words))
    if not document["references"]:
        found.append(
            (
                "Is that good?",
                "A bare number does not say: it shrinks as draws are added, at a level set by the target. Score "
                "independent draws beside it (--reference), or other samples of the same size.",
            )
        )
    limits = "That all of the target was visited: a mode that no draw has come near need not change the number."
    found.append(("What does this not prove?", limits))
    return found


def _compared(entry: Mapping[str, Any], reference: Mapping[str, Any]) -> str:
    values = [each["value"] for each in reference["samples"]]
    ratio = f", at {entry['value'] / reference['median']:.2f} times their median" if reference["median"] else ""
    return (
        f"{count(len(values), 'independent sample')} of {reference['draws']} draws from the target have "
        f"{number(min(values))} to {number(max(values))}: this one is {_place(entry, reference)} these{ratio}."
    )


def _measures(document: Mapping[str, Any]) -> Table:
    rows = []
    for entry in document["results"]:
        proves = find_measure(entry["measure"]).has_bracket
        reference = document["references"].get(entry["measure"])
        rows.append(
            (
                find_measure(entry["measure"]).title,
                number(entry["value"], 6),
                bracket(entry["lower"], entry["upper"]) if proves else "an estimate",
                number(reference["median"]) if reference is not None else "",
            )
        )
    columns = ("measure", "value", "certified between", "median of independent samples")
    return Table("Measures of the sample", columns, tuple(rows))


def _coordinates(document: Mapping[str, Any]) -> list[Table]:
    """Each measure's own table of coordinates."""
    tables = []
    for entry in document["results"]:
        title = sentence(find_measure(entry["measure"]).title)
        rows = entry.get("coordinates", ())
        header: tuple[str, ...] = ("coordinate", "value", "certified between")
        if entry["measure"] == "ess":
            header = ("coordinate", "mean", "sd", "MCSE", "bulk ESS", "tail ESS", "R-hat")
        cells = tuple((row["name"], *_coordinate_cells(entry["measure"], row)) for row in rows)
        if cells:
            tables.append(Table(f"{title} by coordinate", header, cells))
    return tables


def _coordinate_cells(measure: str, row: Mapping[str, Any]) -> list[str]:
    if measure == "ess":
        return [number(row[key]) for key in _CHAIN_COLUMNS]
    return [number(row["value"], 6), bracket(row["lower"], row["upper"])]


def _method(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    facts = []
    for entry in document["results"]:
        title = find_measure(entry["measure"]).title
        for key in ("engine", "edges", "dilation", "statistic", "p_value"):
            if key in entry:
                facts.append((f"{title}: {key.replace('_', ' ')}", str(entry[key])))
    return facts
