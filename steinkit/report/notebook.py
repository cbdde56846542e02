"""What a notebook shows of a sample or a result: the words of the terminal, and one small picture beside them."""

from __future__ import annotations

from typing import Any

from steinkit import plots
from steinkit.comparison import Comparison
from steinkit.curves import Curve
from steinkit.describe.numbers import number
from steinkit.describe.verdict import verdict_table
from steinkit.discrepancy.bias.estimate import BiasEstimate
from steinkit.discrepancy.bias.mode_shares import ModeShares
from steinkit.discrepancy.bias.repair import Repaired
from steinkit.discrepancy.graph.result import GraphSteinDiscrepancy
from steinkit.discrepancy.moments import MomentSteinDiscrepancy
from steinkit.discrepancy.verdict import Verdict
from steinkit.errors import UsageError
from steinkit.report.elements import Drawing, drawing, template
from steinkit.sample import Sample
from steinkit.samplers.chains.draws import Draws
from steinkit.sweeps.result import SweepResult

_MOST_ROWS = 12  # coordinates in the table of a sample
_MOST_MOMENTS = 12  # coordinates of a matrix of moments that can still be read


def as_html(shown: Any) -> str:
    """HTML for a notebook.

    Parameters
    ----------
    shown : Sample, Draws or result
    """
    sample = shown.to_sample() if isinstance(shown, Draws) else shown if isinstance(shown, Sample) else None
    rows = [] if sample is None else _rows(sample)
    return template("notebook.html").render(
        paragraphs=_words(shown).split("\n\n"),
        listing=_listing(shown),
        picture=_picture(shown),
        rows=rows,
        left_out=0 if sample is None else sample.dim - len(rows),
    )


def _words(shown: Any) -> str:
    """What the terminal says."""
    if isinstance(shown, Verdict):
        return shown.summary().removesuffix(_listing(shown)).rstrip()
    if isinstance(shown, GraphSteinDiscrepancy | Curve | BiasEstimate | ModeShares | Repaired):
        return shown.summary()
    return repr(shown).strip("<>")


def _listing(shown: Any) -> str:
    """Tables of the terminal, whose columns must stay below each other."""
    if isinstance(shown, Comparison):
        return shown.table()
    if isinstance(shown, Verdict):
        return verdict_table(shown.to_dict())
    if isinstance(shown, BiasEstimate):
        return shown.table()
    return shown.summary() if isinstance(shown, SweepResult) else ""


def _picture(shown: Any) -> Drawing | None:
    """What `Result.plot` draws, if it draws something that can be read."""
    if isinstance(shown, MomentSteinDiscrepancy) and len(shown.names) > _MOST_MOMENTS:
        return None
    try:
        return drawing(plots.picture(shown))
    except UsageError:
        return None


def _rows(sample: Sample) -> list[tuple[str, str, str]]:
    """Name, weighted mean and standard deviation of the first coordinates."""
    p = sample.probabilities
    points = sample.points[:, :_MOST_ROWS]
    mean = p @ points
    spread = (p @ (points - mean) ** 2) ** 0.5
    return [(name, number(a), number(b)) for name, a, b in zip(sample.names, mean, spread, strict=False)]
