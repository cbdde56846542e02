"""What is said of a sampler's run, from the document that ``steinkit sample --json`` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steinkit.describe.numbers import count
from steinkit.printable import printable


def text(document: Mapping[str, Any]) -> str:
    """The chains and their length, what was accepted and what it cost, and where they went."""
    counts = document["draws"]
    length = f"{counts[0]}" if len(set(counts)) == 1 else f"{min(counts)} to {max(counts)}"
    facts = [
        _fact("acceptance", document["acceptance"]),
        _fact("mean batch", document["mean_batch_size"]),
        _fact("cost", document["cost"], " evaluations a chain") if any(document["cost"]) else "",
        *(_fact(name.replace("_", " "), values) for name, values in document["diagnostics"].items()),
        f"{document['seconds']:.2f} s",
    ]
    return (
        f"{document['sampler']} on {printable(document['target'])}: {count(len(counts), 'chain')} of {length} draws\n"
        f"{'; '.join(filter(None, facts))}\nwritten to {printable(document['file'] or 'standard output')}"
    )


def _fact(what: str, values: Sequence[float | None] | None, unit: str = "") -> str:
    """A mean over the chains, with the range where it is visible."""
    known = [value for value in values or () if value is not None]
    if not known:
        return ""
    mean, lowest, highest = map(_shown, (sum(known) / len(known), min(known), max(known)))
    return f"{what} {mean}" + (f" ({lowest} to {highest})" if lowest != highest else "") + unit


def _shown(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000.0 else f"{value:.3g}"
