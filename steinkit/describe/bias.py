"""What is said of biases: how far means and standard deviations of draws are off, and with what margin.

Documents are those of `BiasEstimate.to_dict`: their "quantities" stand in the order of what is to be said first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from steinkit.describe.numbers import compact, listed
from steinkit.describe.statement import Statement
from steinkit.describe.table import Table

Document = Mapping[str, Any]
Quantity = Mapping[str, Any]

AS_FAR_AS = "as far as functions of the first orders see"
_ASKED = "How wrong are the numbers?"
_SMALLEST = 0.01  # standard deviations, below which a bias is not worth a word
_FINEST = 0.001  # margin that is written
_SAID = 3  # quantities in a sentence
_LEFT = ("quantity", "trusted")
_METHODS = {
    "regression": "regression on Stein features",
    "weights": "weights of largest entropy",
    "run": "a short exact run from every draw",
}


def bias_statements(document: Document) -> list[Statement]:
    """What is off and by how much, what is right, what is not known and why, and how it was estimated."""
    return [
        Statement("number", _ASKED, bias_sentence(document)),
        Statement("method", "How was it estimated?", f"Estimated by {_METHODS[document['method']]}, {AS_FAR_AS}."),
    ]


def repair_statements(document: Document) -> list[Statement]:
    """How draws were repaired, what they are worth, and how far off they were and are."""
    draws, before, after = document["draws"], document["before"], document["after"]
    how = (
        f"Repaired: {draws} weighted draws, worth {document['worth']:.0f}."
        if document["method"] == "weights"
        else f"Repaired: {draws} draws, each moved by a short exact run."
    )
    return [
        Statement("number", "What was mended?", how),
        Statement("comparison", "How wrong were the numbers?", f"Before: {bias_sentence(before)}"),
        Statement("comparison", "How wrong are they now?", f"After: {bias_sentence(after)}"),
    ]


def bias_sentence(document: Document) -> str:
    """The largest biases, how right the others are, and of which nothing is known."""
    trusted = [each for each in document["quantities"] if each["trusted"]]
    off = [each for each in trusted if is_off(each)]
    right = [each for each in trusted if not is_off(each)]
    parts = []
    if off:
        more = f"; {len(off) - _SAID} more are off" if len(off) > _SAID else ""
        said = "; ".join(f"{each['name']}: {bias_clause(each)}" for each in off[:_SAID])
        parts.append(f"{said}{more}.")
    if right:
        who = listed([each["name"] for each in right]) if off else "All" if len(right) > 1 else right[0]["name"]
        every = "" if off or len(trusted) == len(document["quantities"]) else " that are known"
        parts.append(f"{who}{every}: right to {_within(right)}.")
    parts += not_known(document)
    return " ".join(parts)


def not_known(document: Document) -> list[str]:
    """Which quantities have no bias that may be stated, by reason."""
    reasons: dict[str, list[str]] = {}
    for each in document["quantities"]:
        if not each["trusted"]:
            reasons.setdefault(each["why_not"].split(" (+-")[0], []).append(each["name"])
    if len(reasons) == 1 and len(next(iter(reasons.values()))) == len(document["quantities"]):
        return [f"How wrong the numbers are cannot be said: {next(iter(reasons))}."]
    return [f"Of {listed(names)} it cannot be said: {reason}." for reason, names in reasons.items()]


def is_off(quantity: Quantity) -> bool:
    """Whether a mean or a standard deviation is off by more than its margin."""
    return _is_beyond(quantity, "mean") or _is_beyond(quantity, "sd")


def bias_clause(quantity: Quantity) -> str:
    """How far a quantity is off: "mean 0.90 +- 0.10 sd too low, sd 26 % +- 3 % too small"."""
    said = []
    if _is_beyond(quantity, "mean"):
        said.append(f"mean {_mean_off(quantity, sign=False)} sd too {'high' if quantity['mean_off'] > 0.0 else 'low'}")
    if _is_beyond(quantity, "sd"):
        said.append(f"sd {_sd_off(quantity, sign=False)} too {'large' if quantity['sd_off'] > 0.0 else 'small'}")
    return ", ".join(said)


def bias_table(document: Document, most: int | None) -> str:
    """A row a quantity, the worst first."""
    shown: Sequence[Quantity] = document["quantities"][:most]
    rows = tuple(
        (
            each["name"],
            compact(each["draws_mean"]),
            compact(each["mean"]),
            _mean_off(each) if each["mean_margin"] is not None else "?",
            _sd_off(each) if each["sd_margin"] is not None else "?",
            "yes" if each["trusted"] else "no",
        )
        for each in shown
    )
    columns = ("quantity", "mean of the draws", "of the target", "mean off (sd)", "sd off", "trusted")
    lines = Table("Biases", columns, rows).lines(left=_LEFT)
    left_out = len(document["quantities"]) - len(shown)
    return "\n".join([*lines, *([f"and {left_out} more"] if left_out else [])])


def _is_beyond(quantity: Quantity, what: str) -> bool:
    """Whether the bias of the mean or of the sd is beyond its margin, and large enough to be worth a word."""
    off, margin = quantity[f"{what}_off"], quantity[f"{what}_margin"]
    return off is not None and margin is not None and abs(off) > max(margin, _SMALLEST)


def _mean_off(quantity: Quantity, sign: bool = True) -> str:
    off, margin = quantity["mean_off"], max(quantity["mean_margin"], _FINEST)
    places = _places(margin)
    return f"{off if sign else abs(off):{'+' * sign}.{places}f} ± {margin:.{places}f}"


def _sd_off(quantity: Quantity, sign: bool = True) -> str:
    ratio = math.exp(quantity["sd_off"])
    off, margin = 100.0 * (ratio - 1.0), 100.0 * ratio * max(quantity["sd_margin"], _FINEST)
    places = max(0, _places(0.01 * margin) - 2)
    return f"{off if sign else abs(off):{'+' * sign}.{places}f}% ± {margin:.{places}f}%"


def _within(quantities: Sequence[Quantity]) -> str:
    """The largest that a bias may be with its margin."""
    mean = max(abs(each["mean_off"]) + each["mean_margin"] for each in quantities)
    sd = max(abs(each["sd_off"]) + each["sd_margin"] for each in quantities)
    return f"{max(mean, 0.005):.{_places(mean)}f} sd in the mean and {100.0 * math.expm1(sd):.2g}% in the sd"


def _places(margin: float) -> int:
    """Decimal places at which a margin has a digit or two."""
    return 2 if margin >= 0.01 else 3
