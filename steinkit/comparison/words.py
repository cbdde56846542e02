"""A comparison in words and columns: one table a measure, then what the order proves and what it does not."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from steinkit.describe.numbers import rounded_outwards
from steinkit.measures import Measurement, find_measure

if TYPE_CHECKING:
    from steinkit.comparison.result import ComparedSample, Comparison
    from steinkit.discrepancy.reference import Reference

_WIDTH = 100
_MOST_COLUMNS = 6  # coordinates beyond which only the heaviest is shown
_NAMED = 3  # samples of a tie named in a sentence


def describe(comparison: Comparison) -> str:
    """Tables and sentences for a reader at a terminal, measure by measure."""
    return "\n\n".join(
        "\n".join([*_table(comparison, measure), *_sentences(comparison, measure)]) for measure in comparison.measures
    )


def _table(comparison: Comparison, measure: str) -> list[str]:
    known = find_measure(measure)
    order = "smaller is better" if known.smaller_is_better else "larger is better"
    ranked = [name for group in comparison.ranking[measure] for name in group]
    by_name = {each.name: each for each in comparison.samples}
    rest = [each.name for each in comparison.samples if measure in each.measurements and each.name not in ranked]
    rows = [_row(comparison, by_name[name], measure) for name in [*ranked, *rest]]
    rows += [_reference_row(reference) for reference in comparison.references.get(measure, ())]
    if not rows:
        return [f"{known.title}: no sample could be measured"]
    columns = ["rank", "sample", "draws", "value", "proved between" if known.has_bracket else ""]
    coordinates = list(dict.fromkeys(name for row in rows for name in row if name not in columns))
    return [f"{known.title}, {order}", *_aligned([*columns, *coordinates], rows)]


def _row(comparison: Comparison, each: ComparedSample, measure: str) -> dict[str, str]:
    measurement = each.measurements[measure]
    assert each.sample is not None  # it was measured
    rank = comparison.rank(each.name, measure)
    tied = any(each.name in group and len(group) > 1 for group in comparison.ranking[measure])
    row = {
        "rank": "-" if rank is None else f"{rank}{'=' * tied}",
        "sample": each.name,
        "draws": str(len(each.sample)),
        "value": "undefined" if rank is None else f"{measurement.value:.6g}",
    }
    if find_measure(measure).has_bracket:
        row["proved between"] = " and ".join(rounded_outwards(measurement.lower, measurement.upper))
    return row | _coordinates(measurement)


def _coordinates(measurement: Measurement) -> dict[str, str]:
    """Values by coordinate, or the heaviest one's where there are many."""
    found: list[dict[str, Any]] = measurement.document.get("coordinates", [])
    key = "value" if find_measure(measurement.measure).smaller_is_better else "bulk_ess"
    if len(found) < 2:
        return {}
    if len(found) <= _MOST_COLUMNS:
        return {f"[{each['name']}]": "undefined" if each[key] is None else f"{each[key]:.4g}" for each in found}
    if key == "bulk_ess":
        defined = [each for each in found if each[key] is not None]
        worst = min(defined, key=lambda each: each[key], default=None)
    else:
        worst = max(found, key=lambda each: each[key])
    return {} if worst is None else {"worst coordinate": f"{worst['name']} {worst[key]:.4g}"}


def _reference_row(reference: Reference) -> dict[str, str]:
    repeats = len(reference.values)
    return {
        "rank": "",
        "sample": f"({repeats} independent sample{'s' * (repeats > 1)})",
        "draws": str(reference.n),
        "value": f"{reference.median:.4g}",
        "proved between": f"{reference.lower.min():.4g} and {reference.upper.max():.4g}",
    }


def _aligned(columns: list[str], rows: list[dict[str, str]]) -> list[str]:
    cells = [columns, *([row.get(column, "") for column in columns] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    left = {"rank", "sample", "proved between", "worst coordinate"}
    return [
        "  ".join(
            f"{cell:<{width}}" if column in left else f"{cell:>{width}}"
            for column, cell, width in zip(columns, line, widths, strict=True)
            if width
        ).rstrip()
        for line in cells
    ]


def _sentences(comparison: Comparison, measure: str) -> list[str]:
    known = find_measure(measure)
    groups = comparison.ranking[measure]
    sentences = []
    for group in groups:
        if len(group) > 1:
            joined = "their brackets overlap" if known.has_bracket else "they are equal"
            sentences.append(f"{_listed(group)} cannot be told apart: {joined}.")
    if len(groups) > 1 and known.has_bracket:
        sentences.append(
            "Of two samples of different rank the difference is proved, for these draws: how far their samplers differ "
            "takes several samples of each to say."
        )
    if not known.has_bracket:
        sentences.append(
            "Effective sample size is an estimate and blind to bias: it does not know the target, so that its order is "
            "one of mixing, not of quality."
        )
    if comparison.references.get(measure):
        sentences.append(
            "The independent samples come from the target itself: their median, and the range of them all."
        )
    lines = [""] if sentences else []
    lines += textwrap.wrap(" ".join(sentences), _WIDTH, break_long_words=False)
    for each in comparison.samples:
        if measure in each.errors:
            lines += textwrap.wrap(f"{each.name} was not measured: {each.errors[measure]}", _WIDTH)
    return lines


def _listed(names: tuple[str, ...]) -> str:
    if len(names) > _NAMED:
        return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"
    return f"{', '.join(names[:-1])} and {names[-1]}"
