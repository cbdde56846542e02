"""What is claimed of a number: the only place that says "proved", "found" or "an estimate"."""

from __future__ import annotations

from typing import Literal, Protocol

from steinkit.describe.numbers import rounded_outwards

Claim = Literal["proved", "found", "estimated"]
"""A bracket with every rounding bounded; one of which a part is extrapolated or assumed; no bracket at all."""


class DescribedMeasure(Protocol):
    """What must be known of a measure to speak of its values."""

    @property
    def name(self) -> str:
        """By which users ask for it."""

    @property
    def title(self) -> str:
        """By which sentences call it."""

    @property
    def claim(self) -> Claim:
        """What its values claim."""

    @property
    def smaller_is_better(self) -> bool:
        """Whether it is a distance from the target."""


def claimed(claim: Claim, lower: float, upper: float) -> str:
    """The claim and the bracket, as in a sentence: "proved to lie between 1.2 and 1.3"."""
    if claim == "estimated":
        return "an estimate"
    return f"{claim} to lie between {' and '.join(rounded_outwards(lower, upper))}"


def bracket_column(claim: Claim) -> str:
    """Heading of a table's column of brackets; empty where there are none."""
    return "" if claim == "estimated" else f"{claim} between"
