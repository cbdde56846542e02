"""Text shown on a terminal for one or more verdicts."""

from __future__ import annotations

import math
from collections.abc import Mapping

from steinkit.diagnosis.verdict_result import NO_SINGLE_FINDING, Verdict
from steinkit.result import running_text
from steinkit.text import Table, filled

WORST = 10
"""Default number of table rows on a terminal."""


def verdict_blocks(
    found: Verdict | None,
    unjudged: str | None,
    *,
    everything: bool = False,
    table: bool = True,
    diagnostics: bool = False,
) -> list[str]:
    """Return the paragraphs of a verdict for a terminal.

    Parameters
    ----------
    found : Verdict or None
    unjudged : str or None
        Reason why there is no verdict.
    everything : bool
        Include all findings, limits, tests and biases.
    table : bool
        Include a table of the estimated biases.
    diagnostics : bool
        Include the table of moments, diagnostics and biases (`Verdict.table`) instead of the table of biases.
    """
    if found is None:
        return [filled(unjudged_sentence(unjudged))] if unjudged else []
    bias = found.known_bias if table else None
    lines = map(filled, found.sentences(with_sizes=bias is None))
    text = running_text(found.statements()) if everything else "\n".join(lines)
    most = None if everything else WORST
    if diagnostics:
        return [text, found.table(most)]
    return [text] if bias is None else [text, bias.table(most)]


def verdicts_table(verdicts: Mapping[str, Verdict | None], last: str = "main finding") -> Table:
    """Tabulate the verdicts on several samples.

    Parameters
    ----------
    verdicts : mapping of str to Verdict or None
        Verdicts, keyed by the name of the sample, with None for a sample without a verdict.
    last : {"main finding", "largest bias"}
        Content of the last column.
    """
    asked = any(each is not None and each.p_matters is not None for each in verdicts.values())
    rows = []
    for name, found in verdicts.items():
        if found is None:
            rows.append((name, "none", *["-"] * (2 + asked), "" if last == "main finding" else "not known"))
            continue
        matters = ["-" if found.p_matters is None else f"{found.p_matters:.2g}"] if asked else []
        ess = "-" if math.isnan(found.ess) else f"{found.ess:.0f}"
        text = _worst_finding(found) if last == "main finding" else _largest_bias(found)
        rows.append((name, found.label, f"{found.p:.2g}", *matters, ess, text))
    columns = ("sample", "verdict", "p", *(["p matters"] if asked else []), "ESS", last)
    return Table("Can the samples be used?", columns, tuple(rows))


def _worst_finding(found: Verdict) -> str:
    if found.findings:
        return str(found.findings[0])
    return NO_SINGLE_FINDING if found.is_biased else ""


def _largest_bias(found: Verdict) -> str:
    worst = None if found.bias is None else found.bias.quantities[0]
    return f"{worst.name}: {str(worst) or 'none'}" if worst is not None and worst.reliable else "not known"


def unjudged_sentence(reason: str) -> str:
    """Return a sentence that explains why there is no verdict."""
    return f"There is no verdict: {reason}."
