"""Statements as running text for a terminal, and as the questions and answers of a page."""

from __future__ import annotations

from collections.abc import Sequence

from steinkit.describe.lines import filled, one_line
from steinkit.describe.statement import Statement


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
