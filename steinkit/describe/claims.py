"""What is claimed of a number: the only place that says "proved", "found" or "an estimate"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol, TypeAlias

from steinkit.describe.numbers import rounded_outwards

CERTIFIED_BETWEEN = "certified between"
"""Heading of the graph's brackets, which a certificate proves whatever solver found them."""

UNVISITED = (
    "That all of the target was visited: a mode that no draw has come near changes nothing that a Stein discrepancy "
    "sees."
)
"""What no Stein discrepancy proves."""

ACCUSED = "These draws are not from the target"
UNSUSPECTED = "No bias found"
UNDECIDED = "There are too few effective draws to judge"
"""What a verdict says, by its p-value and the effective draws."""

Claim = Literal["proved", "found", "estimated"]
"""A bracket with every rounding bounded; one of which a part is extrapolated or assumed; no bracket at all."""

ESTIMATE = "an estimate"
"""Said in place of a bracket where there is none."""

Place = Literal["above", "below", "within"]


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

    @property
    def needs(self) -> Literal["draws", "scores", "target"]:
        """What it looks at: one that looks at the draws alone is blind to bias."""


FindMeasure: TypeAlias = Callable[[str], DescribedMeasure]
"""The measure of a name that documents mention."""


def claimed(claim: Claim, lower: float, upper: float) -> str:
    """The claim and the bracket, as in a sentence: "proved to lie between 1.2 and 1.3"."""
    if claim == "estimated":
        return ESTIMATE
    return f"{claim} to lie between {' and '.join(rounded_outwards(lower, upper))}"


def bracket_column(claim: Claim) -> str:
    """Heading of a table's column of brackets; empty where there are none."""
    return "" if claim == "estimated" else f"{claim} between"


def place(lower: float, upper: float, lowest: float, highest: float) -> Place:
    """Where a bracket lies by the range of others: above or below all of them for certain, or not."""
    if lower > highest:
        return "above"
    return "below" if upper < lowest else "within"


def better(claim: Claim) -> str:
    """The claim of one value against another whose bracket lies apart: "proved better"."""
    return "better" if claim == "estimated" else f"{claim} better"


def preference(measure: DescribedMeasure) -> str:
    """Which values of a measure are wanted."""
    return f"{'smaller' if measure.smaller_is_better else 'larger'} is better"
