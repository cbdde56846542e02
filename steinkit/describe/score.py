"""What is said of a sample's score: the measures side by side, then each in turn.

Documents are those that ``steinkit score --json`` prints.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from steinkit.describe.labels import units_sentence
from steinkit.describe.layout import Table, filled, one_line
from steinkit.describe.numbers import count, rounded_outwards, sentence, value_of
from steinkit.describe.statements import (
    CERTIFIED_BETWEEN,
    ESTIMATE,
    Description,
    Document,
    ScoredMeasure,
    Statement,
    rank_among,
    running_text,
    spread,
)
from steinkit.describe.verdict import (
    WORST,
    is_accused,
    unjudged_statement,
    untested_sentence,
    verdict_blocks,
    verdict_headline,
    verdict_statements,
)

FindScored: TypeAlias = Callable[[str], ScoredMeasure]

_ON_THE_LEFT = ("measure", "coordinate", "between", CERTIFIED_BETWEEN, "independent samples")
_BARE = (
    "A bare number does not say: it shrinks as draws are added, at a level set by the target. Score independent draws "
    "beside it (--reference), or other samples of the same size."
)
_CHANCE = (
    "Of draws that are not accused the measures still say where they find most: that may be chance, and proves no "
    "fault."
)


def score_text(heading: str, document: Document, find: FindScored, *, everything: bool = False) -> str:
    """The heading, the verdict, the measures side by side if there are several, and each in turn, for a terminal.

    On a screen what a verdict leaves untested stands for the limits of the measures.

    Parameters
    ----------
    heading : str
    document : mapping
        Its entries may hold "findings": what only the result in memory knows.
    find : callable
        The measure of a name.
    everything : bool
        All coordinates, limits and methods.
    """
    verdict = document.get("verdict")
    blocks = [one_line(heading), *verdict_blocks(verdict, document.get("unjudged"), everything=everything)]
    if verdict and not everything:
        blocks.append(filled(untested_sentence(verdict)))
    elif verdict and not is_accused(verdict):
        blocks.append(filled(_CHANCE))
    blocks += [filled(units)] if (units := units_sentence(document.get("units"))) else []
    described = descriptions(document, find)
    if len(described) > 1:
        blocks.append(_lines(measures_table(document, described, find)))
    left_out = set() if everything else {"draws", "method"} | ({"limits"} if verdict else set())
    for each in described:
        blocks.append(running_text([said for said in each.statements if said.kind not in left_out]))
        blocks += [] if each.table is None else [_lines(each.table, None if everything else WORST)]
    return "\n\n".join(blocks)


def descriptions(document: Document, find: FindScored) -> list[Description]:
    """What is said of each measure."""
    sample, references, verdict = document["sample"], document["references"], document.get("verdict")
    accused = bool(verdict and is_accused(verdict))
    measures = [(find(entry["measure"]), {**entry, "accused": accused}) for entry in document["results"]]
    return [each.describe(each, entry, references.get(each.name), sample) for each, entry in measures]


def page_statements(
    described: list[Description], verdict: Document | None = None, unjudged: str | None = None
) -> list[Statement]:
    """What a page says: the verdict and every measure; with nothing to compare with and no verdict a caution."""
    said = _judged(verdict, unjudged)
    said += [each for description in described for each in description.statements]
    if not verdict and not any(each.kind == "comparison" for each in said):
        said.append(Statement("comparison", "Is that good?", _BARE))
    return said


def _judged(verdict: Document | None, unjudged: str | None) -> list[Statement]:
    """The verdict, and what all that is said after it is worth where draws are not accused; or why there is none."""
    if verdict is None:
        return [unjudged_statement(unjudged)] if unjudged else []
    said = verdict_statements(verdict)
    if is_accused(verdict):
        return said
    return [*said, Statement("limits", "What do the measures say, then?", _CHANCE)]


def headline(document: Document, find: FindScored) -> str:
    """The verdict, or without one what the first measure says, in one sentence."""
    if document.get("verdict"):
        return verdict_headline(document["verdict"])
    entry = document["results"][0]
    head = "No verdict; " if document.get("unjudged") else ""
    head += f"{sentence(find(entry['measure']).title)} {value_of(entry)}"
    reference = document["references"].get(entry["measure"])
    if reference is None:
        return head
    return f"{head}, {rank_among(entry, reference)} of it and {count(len(reference['samples']), 'independent sample')}"


def measures_table(document: Document, described: list[Description], find: FindScored) -> Table:
    """The measures side by side."""
    rows = []
    for entry, description in zip(document["results"], described, strict=True):
        proof = ESTIMATE
        if find(entry["measure"]).claim != "estimated":
            proof = " and ".join(rounded_outwards(entry["lower"], entry["upper"]))
        reference = document["references"].get(entry["measure"])
        others = "" if reference is None else "{:.4g} to {:.4g}".format(*spread(reference))
        rows.append((description.title, value_of(entry), proof, *([others] if document["references"] else [])))
    columns = ("measure", "value", "between", *(["independent samples"] if document["references"] else []))
    return Table("Measures of the sample", columns, tuple(rows))


def _lines(table: Table, most: int | None = None) -> str:
    shown = table.first(most)
    left_out = len(table.rows) - len(shown.rows)
    return "\n".join([*shown.lines(_ON_THE_LEFT), *([f"and {left_out} more"] if left_out else [])])
