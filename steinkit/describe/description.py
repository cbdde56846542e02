"""What is said of one measure of a sample: its name, statements, and a table of the coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from steinkit.describe.claims import DescribedMeasure, claimed, place
from steinkit.describe.numbers import compact, count
from steinkit.describe.statement import Statement
from steinkit.describe.table import Table

Document = Mapping[str, Any]

_PLACES = {"above": "above all of them", "below": "below all of them", "within": "within their range"}


@dataclass(frozen=True)
class Description:
    """What is said of one measure of a sample.

    Attributes
    ----------
    title : str
        The measure's, with what must be known of the number.
    statements : tuple of Statement
    table : Table, optional
        Coordinate by coordinate.
    """

    title: str
    statements: tuple[Statement, ...]
    table: Table | None = None


class Describe(Protocol):
    """Describes a measure of a sample."""

    def __call__(
        self, measure: DescribedMeasure, entry: Document, reference: Document | None, sample: Document
    ) -> Description:
        """Say what an entry means beside independent samples, where they were measured alike.

        Parameters
        ----------
        measure : DescribedMeasure
        entry, sample : mapping
            The measure's entry in a document of ``steinkit score --json``, and what that says of the sample.
        reference : mapping, optional
            What it says of independent samples.
        """


class ScoredMeasure(DescribedMeasure, Protocol):
    """A measure whose entries have a describer."""

    @property
    def describe(self) -> Describe:
        """Says what an entry means."""


def describe_bracketed(
    measure: DescribedMeasure,
    entry: Document,
    reference: Document | None,
    sample: Document,
    *,
    title: str = "",
    meaning: str = "",
) -> Description:
    """The number, its claim, what independent samples score, and what it means, in one paragraph."""
    title = title or measure.title
    what = f"What is its {title}?"
    claim = claimed(measure.claim, entry["lower"], entry["upper"])
    found = [Statement("number", what, f"The {title} is {compact(entry['value'], 6)}, {claim}.")]
    if reference is not None:
        low, high = spread(reference)
        n = len(reference["samples"])
        compared = (
            f"{count(n, 'independent sample')} of {reference['draws']} draws from the target "
            f"{'has' if n == 1 else 'have'} {low:.4g} to {high:.4g}, median {reference['median']:.4g}."
        )
        if n > 1:
            compared += f" This sample is {standing(entry, reference)}."
        found.append(Statement("comparison", what, compared, continues=True))
    if meaning:
        found.append(Statement("limits", f"What does the {title} say?", meaning, continues=True))
    if spent(entry):
        found.append(Statement("method", "How was it computed?", f"Seconds: {spent(entry)}.", continues=True))
    return Description(title, tuple(found))


def spread(reference: Document) -> tuple[float, float]:
    """The ends of what independent samples score, for certain."""
    samples = reference["samples"]
    return min(each["lower"] for each in samples), max(each["upper"] for each in samples)


def standing(entry: Document, reference: Document, caution: str = "") -> str:
    """Where a sample stands among independent ones and how many times their median it has; a caution if below."""
    where = place(entry["lower"], entry["upper"], *spread(reference))
    median = reference["median"]
    times = f", at {entry['value'] / median:.2f} times their median" if median > 0.0 else ""  # U-statistics need not be
    return f"{_PLACES[where]}{times}{caution if where == 'below' else ''}"


def spent(entry: Document) -> str:
    """The seconds that a measure took, by the work they went to."""
    return ", ".join(f"{name} {value:.2f}" for name, value in entry.get("seconds", {}).items())
