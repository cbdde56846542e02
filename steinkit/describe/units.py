"""What is said of the units that measures are meant in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steinkit.describe.numbers import compact, listed

_SOURCES = {
    "own": "the draws' own standard deviations",
    "reference": "standard deviations of independent draws from the target",
    "pilot": "standard deviations of one sample, for all alike",
    "given": "the units given",
}
_NAMED = 6  # coordinates


def units_label(units: Mapping[str, Any] | None) -> str:
    """The units, as a table of facts has them; empty where there are none."""
    if units is None:
        return ""
    if units["kind"] == "raw":
        return "raw, as the draws are"
    scale = [f"{name} {compact(value)}" for name, value in units["scale"].items()]
    return f"{_SOURCES[units['kind']]}: {listed(scale, most=_NAMED)}"


def units_sentence(units: Mapping[str, Any] | None) -> str:
    """The units in a sentence; empty where there are none."""
    label = units_label(units)
    if not label:
        return ""
    return "Measured in raw units, as the draws are." if label.startswith("raw") else f"Measured in {label}."
