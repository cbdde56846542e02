"""What is said of a curve: the measure at each size, the rate, and what the rate does not prove.

Documents are those that ``steinkit curve --json`` prints.
"""

from __future__ import annotations

import math

from steinkit.describe.labels import units_sentence
from steinkit.describe.layout import Table, filled
from steinkit.describe.numbers import compact, rounded_outwards, sentence, within
from steinkit.describe.statements import UNVISITED, DescribedMeasure, Document, Statement, bracket_column

_INDEPENDENT = -0.5  # rate of independent draws
_FLAT = -0.25  # a rate above it is nearer to none


def text(document: Document, measure: DescribedMeasure) -> str:
    """A table and a paragraph for a reader at a terminal."""
    found = table(document, measure)
    paragraph = " ".join(each.text for each in statements(document, measure))
    units = units_sentence(document.get("units"))
    return "\n".join([found.caption, *found.lines(), "", filled(paragraph), *(["", filled(units)] if units else [])])


def table(document: Document, measure: DescribedMeasure) -> Table:
    """The measure at each size, with its proof and the interval over replicates."""
    cost, interval = document["cost"], document["interval"]
    columns = {"draws": [f"{each:g}" for each in document["n"]]}
    if cost is not None:
        columns["cost"] = [f"{each:g}" for each in cost]
    columns["value"] = [compact(each) for each in document["values"]]
    if proof := bracket_column(measure.claim):
        columns["value"] = [*map(within, document["values"], document["lower"], document["upper"])]
        ends = zip(document["lower"], document["upper"], strict=True)
        columns[proof] = [" and ".join(rounded_outwards(low or 0.0, _finite(high))) for low, high in ends]
    if interval is not None:
        columns[f"{document['level']:.0%} interval of the median"] = [
            " to ".join(map(compact, each)) for each in interval
        ]
    what = f" (median of {len(document['replicates'])} samples)" if interval is not None else ""
    rows = tuple(zip(*columns.values(), strict=True))
    return Table(f"{measure.title} of the first draws{what}", tuple(columns), rows)


def statements(document: Document, measure: DescribedMeasure) -> list[Statement]:
    """The rate, how well it is known, and what it does not prove."""
    if measure.smaller_is_better:
        limits = (
            "Independent draws have a power near -0.5. A curve that levels out shows the bias that more draws do not "
            "mend; one that still falls does not show that there is none."
        )
    else:
        limits = "An effective size that grows like the draws (power 1) speaks for mixing, not for the right target."
    return [
        Statement("number", "How does it go?", _rate(document)),
        Statement("limits", "What does this not prove?", limits),
    ]


def grounds(document: Document, measure: DescribedMeasure) -> list[Statement]:
    """All that a page has room for: both ends of the curve, and its rate beside that of independent draws, as well."""
    rate, limits = statements(document, measure)
    ends = Statement("number", rate.question, f"From {end(document, 0)} to {end(document, -1)}.", True)
    if not measure.smaller_is_better:
        return [rate, ends, limits]
    said = _beside_independent(document)
    beside = [Statement("comparison", "What does the rate say?", said)] if said else []
    return [rate, ends, *beside, limits, Statement("limits", limits.question, UNVISITED)]


def headline(document: Document, measure: DescribedMeasure) -> str:
    """The verdict in one sentence."""
    rate = document["rate"]
    if rate is None:
        return f"{sentence(measure.title)}: no rate could be fitted"
    low, high = document["rate_interval"]
    return (
        f"{sentence(measure.title)} {'falls' if rate < 0.0 else 'grows'} like the {against(document)} to "
        f"the power {rate:.2f} ({low:.2f} to {high:.2f})"
    )


def against(document: Document) -> str:
    """What the measure is held against."""
    return "draws" if document["budget"] is None else "cost"


def end(document: Document, k: int) -> str:
    """The curve at one of its ends."""
    cost = "" if document["cost"] is None else f" (cost {compact(document['cost'][k])})"
    return f"{compact(document['values'][k])} at {document['n'][k]:g} draws{cost}"


def _rate(document: Document) -> str:
    if document["rate"] is None:
        return "No rate could be fitted."
    low, high = document["rate_interval"]
    source = (
        f"a {document['level']:.0%} bootstrap interval over the samples"
        if document["interval_kind"] == "bootstrap"
        else f"a {document['level']:.0%} regression interval, which says how straight the line is: the points share "
        "draws, and another run may differ by more"
    )
    return (
        f"Over the last {len(document['tail'])} points the measure goes like the {against(document)} to the power "
        f"{document['rate']:.2f} ({low:.2f} to {high:.2f}: {source})."
    )


def _beside_independent(document: Document) -> str:
    """The rate beside that of independent draws."""
    if document["rate"] is None:
        return ""
    low, high = document["rate_interval"]
    if low > _FLAT:
        return "This curve is flatter than with independent draws: it levels out, as it does at a bias."
    if low <= _INDEPENDENT <= high:
        both = ", and with that of a bias as well" if high > _FLAT else ""
        return f"It agrees with that of independent draws{both}."
    if high < _INDEPENDENT:
        return "This curve falls faster than with independent draws."
    return (
        "This curve falls more slowly than with independent draws: a longer one would show whether it levels out at a "
        "bias."
    )


def _finite(value: float | None) -> float:
    return math.inf if value is None else value
