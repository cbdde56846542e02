"""How settings, seeds, units, files and targets are written, everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steinkit.describe.numbers import compact, listed
from steinkit.errors import printable

_SOURCES = {
    "own": "the draws' own standard deviations",
    "reference": "standard deviations of independent draws from the target",
    "pilot": "standard deviations of one sample, for all alike",
    "given": "the units given",
}
_NAMED = 6  # coordinates


def setting_key(settings: Mapping[str, Any]) -> str:
    """A setting as a user writes it, "step_size 0.005, batch_size 5"; the documents of races name it so."""
    return ", ".join(f"{name} {value}" for name, value in settings.items())


def setting_label(settings: Mapping[str, Any]) -> str:
    """A setting as a sentence has it, "step size 0.005, batch size 5"."""
    return ", ".join(f"{name.replace('_', ' ')} {value_label(value)}" for name, value in settings.items())


def value_label(value: Any) -> str:
    """A value of a setting."""
    if isinstance(value, list | tuple):
        return f"({', '.join(map(value_label, value))})"
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else printable(str(value))


def seeds_label(seeds: Sequence[int]) -> str:
    """Seeds, as "0 to 49" where they have no gaps."""
    if len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[0] + len(seeds))):
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds))


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


def files_label(files: Sequence[str]) -> str:
    """What a sample is called after the files that hold it."""
    if len(files) > 1:
        return f"{files[0]} and {len(files) - 1} more as its chains"
    return "standard input" if files[0] == "-" else files[0]


def target_label(target: Mapping[str, Any]) -> str:
    """A target of a document by its name, with the options that it was made with."""
    options = ", ".join(f"{name}={value_label(value)}" for name, value in target["options"].items())
    return f"{target['name']} ({options})" if options else str(target["name"])
