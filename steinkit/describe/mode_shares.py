"""What is said of the shares of modes: those of the draws, those by the density, and whether chance explains it.

Documents are those of `ModeShares.to_dict`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steinkit.describe.numbers import compact, probability
from steinkit.describe.statements import Statement

Document = Mapping[str, Any]

_SHOWN = 3  # coordinates of a centre
_FINEST = 0.0001  # margin that is written
_SELDOM = "The draws cross too seldom for a test of theirs; `steinkit repair` weighs the modes by the right ones."


def shares_statements(document: Document) -> list[Statement]:
    """Both shares, where the modes are, what was not looked at, and how it was done."""
    centres = [centre_clause(mode["centre"]) for mode in document["modes"]]
    places = "; ".join(f"mode {k} about {each}" for k, each in enumerate(centres, 1))
    taken = f"by bridge sampling, with the log density at {document['evaluations']} points"
    return [
        Statement("number", "Which shares have the modes?", shares_sentence(document)),
        Statement("draws", "Where are they?", f"{places[0].upper()}{places[1:]}."),
        Statement(
            "limits",
            "What was not tested?",
            "Draws are taken to be right within each mode. Modes that no draw has visited are not seen.",
        ),
        Statement("method", "How were they found?", f"Shares {taken}."),
    ]


def shares_sentence(document: Document) -> str:
    """Both shares and the probability of a difference so large."""
    clause = f"M{shares_clause(document)[1:]}"
    return f"{clause}. {_SELDOM}" if document["p"] is None else f"{clause} ({probability(document['p'])})."


def shares_clause(document: Document) -> str:
    """Both shares, as fine as the margin: "modes 71.8:28.2, right 50.1:49.9 +- 0.7 points"."""
    modes: Sequence[Mapping[str, Any]] = document["modes"]
    margin = 100.0 * max(_FINEST, *(each["margin"] for each in modes))
    places = 0 if margin >= 2.0 else 1 if margin >= 0.2 else 2
    had, right = (":".join(f"{100.0 * each[key]:.{places}f}" for each in modes) for key in ("draws_share", "share"))
    return f"modes {had}, right {right} ± {margin:.{places}f} points"


def centre_clause(centre: Mapping[str, float]) -> str:
    """Where a mode is, in its first coordinates."""
    shown = [f"{name} = {compact(value, 3)}" for name, value in centre.items()]
    return ", ".join([*shown[:_SHOWN], *(["..."] if len(shown) > _SHOWN else [])])
