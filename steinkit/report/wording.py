"""How a report writes settings, numbers and lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def setting_words(settings: Mapping[str, Any]) -> str:
    """A setting, as "step size 0.005, batch size 5"."""
    return ", ".join(f"{name.replace('_', ' ')} {value_words(value)}" for name, value in settings.items())


def value_words(value: Any) -> str:
    """A value of a setting."""
    if isinstance(value, list | tuple):
        return f"({', '.join(map(value_words, value))})"
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def seeds_words(seeds: Sequence[int]) -> str:
    """Seeds, as "0 to 49" where they have no gaps."""
    if len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[0] + len(seeds))):
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds))


def paragraphs(sentences: Iterable[str]) -> str:
    """Sentences that are not empty, one after the other."""
    return " ".join(each for each in sentences if each)
