"""Statements: what is said of a result, as the running text of a terminal or as the questions and answers of a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from steinkit.describe.layout import filled, one_line
from steinkit.errors import Caution

Document: TypeAlias = Mapping[str, Any]
"""A result as JSON holds it, or a part of it."""

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


def running_text(statements: Sequence[Statement]) -> str:
    """Paragraphs with a blank line between them; how a number was computed is a line of its own."""
    paragraphs: list[list[Statement]] = []
    for each in statements:
        if each.continues and paragraphs:
            paragraphs[-1].append(each)
        elif each.text:
            paragraphs.append([each])
    return "\n\n".join(
        one_line(paragraph[0].text)
        if paragraph[0].kind == "method"
        else filled(" ".join(each.text for each in paragraph))
        for paragraph in paragraphs
    )


def answers(statements: Sequence[Statement]) -> tuple[tuple[str, str], ...]:
    """Questions with their answers; statements that follow each other on one question are points of its answer.

    One that continues the statement before it joins its point.
    """
    found: list[tuple[str, str]] = []
    for each in statements:
        if each.text and found and found[-1][0] == each.question:
            found[-1] = each.question, f"{found[-1][1]}{' ' if each.continues else chr(10)}{each.text}"
        elif each.text:
            found.append((each.question, each.text))
    return tuple(found)
