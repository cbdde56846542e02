"""A statement: one thing that is said of a result, whoever renders it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from steinkit.errors import Caution

Kind = Literal["number", "comparison", "blame", "draws", "choice", "limits", "method"]


@dataclass(frozen=True)
class Statement:
    """One thing that is said of a result.

    Attributes
    ----------
    kind : str
        "number" with its proof, "comparison" with others, "blame" of coordinates, "draws" that weigh most, "choice"
        among settings, "limits" of what was shown, "method".
    question : str
        What a reader would ask to be told this; the heading of a page's answer.
    text : str
        Whole sentences.
    continues : bool
        Whether it stands in the paragraph, or in the answer to the same question, of the statement before it.
    """

    kind: Kind
    question: str
    text: str
    continues: bool = False


def cautioned(warnings: Iterable[str]) -> tuple[Statement, ...]:
    """What of a result's warnings changes how its number is to be read; nothing if none of them does."""
    found = [f"{each[0].upper()}{each[1:]}." for each in warnings if isinstance(each, Caution)]
    return (Statement("limits", "Under what reservations?", " ".join(["Caution:", *found])),) if found else ()
