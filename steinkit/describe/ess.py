"""What is said of an effective sample size."""

from __future__ import annotations

from steinkit.describe.claims import DescribedMeasure
from steinkit.describe.description import Description
from steinkit.describe.layout import Table
from steinkit.describe.numbers import compact, sentence
from steinkit.describe.statements import Document, Statement

_COLUMNS = {
    "mean": "mean",
    "sd": "sd",
    "MCSE": "mcse_mean",
    "bulk ESS": "bulk_ess",
    "tail ESS": "tail_ess",
    "R-hat": "r_hat",
}
_LIMITS = (
    "It counts the independent draws that would estimate a mean as well, of the distribution that the chains converge "
    "to: it cannot see whether that is the target."
)


def describe_ess(
    measure: DescribedMeasure, entry: Document, reference: Document | None, sample: Document
) -> Description:
    """The number, what it is blind to, and how the chains went; a table of coordinates, that of least ESS first."""
    what = f"What is its {measure.title}?"
    worst = f"The {measure.title} is {compact(entry['value'])}, that of the worst coordinate."
    said = [Statement("number", what, worst), Statement("limits", what, _LIMITS, continues=True)]
    facts = []
    if entry.get("moved") is not None:
        facts.append(f"{entry['moved']:.0%} of the draws differ from the one before")
    if entry.get("cost_per_draw") is not None:
        facts.append(f"a draw cost {compact(entry['cost_per_draw'])}")
    if facts:
        said.append(Statement("number", what, f"In these chains {', and '.join(facts)}.", continues=True))
    worst_first = sorted(entry["coordinates"], key=lambda each: each["bulk_ess"] or 0.0)
    rows = tuple((each["name"], *(compact(each[key]) for key in _COLUMNS.values())) for each in worst_first)
    table = Table(f"{sentence(measure.title)} by coordinate", ("coordinate", *_COLUMNS), rows)
    return Description(measure.title, tuple(said), table)
