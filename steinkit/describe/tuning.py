"""What is said of a tuned setting: which, how wrong its draws are, what the choice cost, and how it came about.

Documents are those that ``steinkit tune --json`` prints.
"""

from __future__ import annotations

from steinkit.describe.labels import setting_label
from steinkit.describe.numbers import count, sentence
from steinkit.describe.statements import Document, FindMeasure, Statement
from steinkit.describe.verdict import modes_sentence, unjudged_sentence, untested_sentence, verdict_sentence

_RESOURCES = {"budget": "evaluations of single data", "draws": "draws"}


def tuning_statements(document: Document, find: FindMeasure) -> list[Statement]:
    """The setting, its bias, the verdict on a fresh chain, what it cost, and what each rung went by."""
    rungs, seeds = document["rungs"], len(document["seeds"])
    known = "How far its draws are off is not known."
    if document["bias"] is not None:
        of = f", the median of {seeds} seeds" if seeds > 1 else ""
        known = f"Its bias is {document['bias']:.2g} ± {max(document['margin'], 0.001):.1g} sd{of}."
    tried = count(len(rungs[0]["losses"]), "setting")
    chosen = f"{sentence(setting_label(document['setting']))} is the best of {tried}. {known}"
    judged = unjudged_sentence(document["unjudged"]) if document["unjudged"] else ""
    if document["verdict"]:
        said = (verdict_sentence, modes_sentence, untested_sentence)
        judged = " ".join(filter(None, (say(document["verdict"]) for say in said)))
    unit = _RESOURCES[document["resource"]]
    cost = (
        f"The choice took {document['spent']:,} {unit}, {document['spent'] / document['full']:.1%} of the "
        f"{document['full']:,} of the full grid. Its work took {document['seconds']:.0f} s, scores and any compilation "
        f"included; that of the full grid would take about {document['full_seconds']:.0f} s."
    )
    ladder = "; ".join(
        f"{count(len(rung['losses']), 'setting')} with chains of {rung['length']:,}, by {find(rung['measure']).title}"
        for rung in rungs
    )
    return [
        Statement("choice", "Which setting is best?", chosen),
        Statement("number", "May draws of a fresh chain be used?", judged and f"A fresh chain: {judged}"),
        Statement("comparison", "What did the choice cost?", cost),
        Statement("comparison", "How was it chosen?", f"In turn, chains counted in {unit}: {ladder}."),
    ]
