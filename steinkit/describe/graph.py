"""What is said of a graph Stein discrepancy: the number, its proof, where the sample is off, and what is not proved.

An entry is that of ``steinkit score --json``; what only the optimal g shows, the directions and the draws that weigh
most, is said where the entry has "findings", those of `GraphSteinDiscrepancy.findings`.
"""

from __future__ import annotations

from steinkit.describe.numbers import count, ratio, rounded_outwards, value_of
from steinkit.describe.statements import (
    DescribedMeasure,
    Description,
    Document,
    Statement,
    caution_for_noise,
    claimed,
    coordinates_table,
    heaviest_first,
    right_samples,
    spent,
    spread,
    standing,
    times_expected,
)

TITLE = "graph Stein discrepancy"
_WHAT, _GOOD, _WHERE = f"What is its {TITLE}?", "Is that good?", "Where is it off?"
_NAMED_COORDINATES = 5
_DESCRIBED_COORDINATES = 3
_SHOWN_NUMBERS = 4  # of a point

_DIRECTIONS = {
    "high": "the draws sit too high: the flow that would mend the sample moves them down",
    "low": "the draws sit too low: the flow that would mend the sample moves them up",
    "wide": "the draws are spread too widely for this target: the flow that would mend the sample pulls them together",
    "narrow": "the draws are too concentrated for this target: the flow that would mend the sample pushes them apart",
    "strays": "the draws stray too far from the modes: the flow that would mend the sample moves them uphill",
    "crowds": "the draws crowd the modes too closely: the flow that would mend the sample moves them apart",
}
_UNCLEAR = "It is no plain shift or stretch of a single coordinate; the picture shows where it is off."
_NO_SHARES = "in a right sample some carry more than others"
_NO_PRAISE = "; one that is too concentrated can be, and right chains that mix slowly are, so this alone is no praise"
_LIMITS = (
    "What this does not prove: a region of the target that no draw has visited, such as a second mode far from the "
    "draws, changes the score nowhere near them and is not seen. A low discrepancy speaks for the regions visited; "
    "whether all were visited must be known from elsewhere."
)


def describe_graph(
    measure: DescribedMeasure, entry: Document, reference: Document | None, sample: Document
) -> Description:
    """Everything from the number to the method, and a table of brackets beside what independent samples have."""
    said = (*graph_statements(entry, reference, sample), _method(entry, sample))
    return Description(measure.title, said, coordinates_table(TITLE, entry, reference, is_wide=_is_wide(entry)))


def graph_statements(entry: Document, reference: Document | None, sample: Document) -> tuple[Statement, ...]:
    """The number, the comparison, the coordinates, the draws, and the limits."""
    findings = entry.get("findings", {})
    return (
        Statement("number", _WHAT, _number(entry, findings, sample)),
        Statement("comparison", _GOOD, _comparison(entry, reference, sample)),
        Statement("blame", _WHERE, _coordinates(entry, findings, reference)),
        *([Statement("draws", "Which draws weigh most?", _draws(entry, findings, sample))] if findings else []),
        Statement("limits", "What does this not prove?", _LIMITS),
    )


def _number(entry: Document, findings: Document, sample: Document) -> str:
    lower, upper = entry["lower"], entry["upper"]
    distinct = ""
    if sample["distinct"] != sample["draws"]:
        distinct = f", {count(sample['distinct'], 'distinct point')}"
    what = f"({count(sample['draws'], 'draw')}{distinct}, {count(sample['dim'], 'coordinate')})"
    if _is_wide(entry):
        return (
            f"The {TITLE} lies between {' and '.join(rounded_outwards(lower, upper))} {what}. The bracket's relative "
            f"width is {findings['gap']:.1e} where {findings['tolerance']:g} was asked for: quote both ends."
        )
    return f"The {TITLE} is {value_of(entry)}, {claimed('proved', lower, upper)} {what}."


def _is_wide(entry: Document) -> bool:
    """Whether the bracket is known to be wider than what was asked for."""
    findings = entry.get("findings")
    return findings is not None and bool(findings["gap"] > findings["tolerance"])


def _comparison(entry: Document, reference: Document | None, sample: Document) -> str:
    if reference is None:
        return (
            "Compared with what? The number shrinks as draws are added, at a level set by the target. Without "
            "independent draws from the target (a reference) it only compares samples with one another."
        )
    lowest, highest = spread(reference)
    whom = "a long run" if reference.get("run") else "independent draws"
    beside, median = right_samples(reference, sample), reference["median"]
    if len(reference["samples"]) == 1:
        return (
            f"Compared with {whom}: {beside} has discrepancy {median:.4g}. Such samples differ among themselves; "
            "score five or more for their range."
        )
    return (
        f"Compared with {whom}: {beside} have discrepancies {lowest:.4g} to {highest:.4g}, median {median:.4g}. "
        f"This sample is {standing(entry, reference, _NO_PRAISE)}."
    )


def _coordinates(entry: Document, findings: Document, reference: Document | None) -> str:
    """What each coordinate carries beside independent draws, and which way those are off whose moments say the same."""
    rows, times = entry["coordinates"], times_expected(entry, reference)
    excess = [row["value"] for row in rows] if times is None else times
    order = heaviest_first(entry, reference)
    said = []
    if len(rows) > 1:
        each = [f"{rows[j]['name']} {rows[j]['value']:.4g}" for j in order]
        if times is not None:
            each = [f"{name} ({ratio(excess[j])} times)" for name, j in zip(each, order, strict=True)]
        more = len(rows) - _NAMED_COORDINATES
        named = ", ".join([*each[:_NAMED_COORDINATES], *([f"{more} more"] if more > 0 else [])])
        beside = _NO_SHARES if times is None else "times the median of right samples"
        said.append(f"Coordinate by coordinate ({beside}): {named}.")
    if findings:
        clear = [j for j in order[:_DESCRIBED_COORDINATES] if findings["directions"][j] in _DIRECTIONS]
        said += [f"In {rows[j]['name']}, {_DIRECTIONS[findings['directions'][j]]}." for j in clear]
        said += [] if clear else [_UNCLEAR]
    if said and (caution := _caution(entry, findings, reference)):
        said.insert(0, caution)
    return " ".join(said)


def _caution(entry: Document, findings: Document, reference: Document | None) -> str:
    """That all of it may be noise, unless independent samples score less for certain, or moments confirm a part."""
    if any(each in _DIRECTIONS for each in findings.get("directions", ())):
        return ""
    return caution_for_noise(entry, reference)


def _draws(entry: Document, findings: Document, sample: Document) -> str:
    return (
        f"The draws with the most influence on the worst test function h (mean {entry['lower']:.4g} over the sample, "
        "0 under the target; large where there tend to be too many draws): "
        f"{'; '.join(map(_draw, findings['draws']))}. Half of the influence lies on {findings['half']} of "
        f"{sample['distinct']} points."
    )


def _draw(found: Document) -> str:
    point = found["point"]
    shown = ", ".join([f"{value:.4g}" for value in point[:_SHOWN_NUMBERS]] + ["..."] * (len(point) > _SHOWN_NUMBERS))
    repeats = f" ({found['count']} times)" if found["count"] > 1 else ""
    return f"draw {found['draw']}{repeats} at ({shown}), h = {found['h']:+.3g}"


def _method(entry: Document, sample: Document) -> Statement:
    kind = "complete graph" if entry["dilation"] == 1.0 else f"{entry['dilation']:g}-spanner"
    if sample["dim"] == 1:
        kind = "sorted sample"
    seconds = f"; seconds: {spent(entry)}" if spent(entry) else ""
    text = f"Computed on the {kind} ({entry['edges']} edges) by engine {entry['engine']}{seconds}."
    return Statement("method", "How was it computed?", text)
