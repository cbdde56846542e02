"""Reports that show verdicts on a terminal: one, or several side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping

from steinkit.diagnosis.verdict_result import NOTHING_STANDS_OUT, Verdict
from steinkit.result import Statement, running_text
from steinkit.text import Table, filled

WORST = 10
"""Rows of a table that a screen holds: the worst parameters or coordinates."""


def verdict_blocks(
    found: Verdict | None, unjudged: str | None, *, everything: bool = False, table: bool = True
) -> list[str]:
    """Return paragraphs for a screen: the sentence of a verdict, then the worst biases; or why there is no verdict.

    Parameters
    ----------
    found : Verdict or None
    unjudged : str or None
    everything : bool
        All findings, limits and tests, and the biases of all parameters.
    table : bool
        Whether the biases are listed.
    """
    if found is None:
        return [filled(unjudged_sentence(unjudged))] if unjudged else []
    listed = table and found.known_bias is not None
    said = (
        running_text(found.statements())
        if everything
        else "\n".join(map(filled, found.sentences(with_sizes=not listed)))
    )
    if not listed or found.known_bias is None:
        return [said]
    return [said, found.known_bias.table(None if everything else WORST)]


def verdicts_table(verdicts: Mapping[str, Verdict | None], last: str = "what is wrong") -> Table:
    """Tabulate the verdicts on several samples.

    Parameters
    ----------
    verdicts : mapping of str to Verdict or None
        By sample; None where there is no verdict.
    last : {"what is wrong", "largest bias"}
        The last column.
    """
    asked = any(each is not None and each.p_matters is not None for each in verdicts.values())
    rows = []
    for name, found in verdicts.items():
        if found is None:
            rows.append((name, "none", *["-"] * (2 + asked), "" if last == "what is wrong" else "not known"))
            continue
        matters = ["-" if found.p_matters is None else f"{found.p_matters:.2g}"] if asked else []
        ess = "-" if math.isnan(found.ess) else f"{found.ess:.0f}"
        said = _worst_finding(found) if last == "what is wrong" else _largest_bias(found)
        rows.append((name, found.label, f"{found.p:.2g}", *matters, ess, said))
    columns = ("sample", "verdict", "p", *(["p matters"] if asked else []), "ESS", last)
    return Table("Can they be used?", columns, tuple(rows))


def _worst_finding(found: Verdict) -> str:
    if found.findings:
        return str(found.findings[0])
    return NOTHING_STANDS_OUT if found.is_biased else ""


def _largest_bias(found: Verdict) -> str:
    worst = None if found.bias is None else found.bias.quantities[0]
    return f"{worst.name}: {str(worst) or 'none'}" if worst is not None and worst.reliable else "not known"


def unjudged_sentence(why: str) -> str:
    """Return the reason why there is no verdict, as a sentence."""
    return f"There is no verdict: {why}."


def chosen_statements(found: Verdict, seed: int) -> list[Statement]:
    """State the verdict on one seed's draws of the setting that a sweep chose: the best of those tried may be wrong."""
    asked = "Can draws of the best setting be used?"
    said = " ".join(filter(None, (f"Seed {seed}: {found.sentence}", found.modes_sentence)))
    return [Statement("number", asked, said), Statement("limits", asked, found.untested_sentence, continues=True)]
