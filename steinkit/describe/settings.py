"""How settings of a sampler, their values and seeds are written, everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steinkit.printable import printable


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
