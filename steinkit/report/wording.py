"""How a report writes settings, numbers and lists."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from steinkit.discrepancy.graph.words import rounded_outwards
from steinkit.report.parts import UNDEFINED

_NAMED = 3  # of a list, in a sentence


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


def number(value: float | None, digits: int = 4) -> str:
    """A number to so many significant digits; whole numbers that need fewer have no decimal point."""
    if value is None or not math.isfinite(value):
        return UNDEFINED
    if value == int(value):
        return f"{value:.{digits}g}"
    return f"{value:#.{digits}g}".rstrip(".")


def bracket(lower: float, upper: float) -> str:
    """A certified bracket, rounded outwards."""
    return " to ".join(rounded_outwards(lower, upper)) if math.isfinite(lower) and math.isfinite(upper) else UNDEFINED


def listed(names: Sequence[str], *, most: int = _NAMED, of: str = "others") -> str:
    """Names in a sentence: "a, b and c", or "a, b, c and 4 others"."""
    if len(names) > most + 1:
        return f"{', '.join(names[:most])} and {len(names) - most} {of}"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def count(n: int, what: str) -> str:
    """A number of things."""
    return f"{n} {what}{'' if n == 1 else 's'}"


def sentence(text: str) -> str:
    """Text that begins with a capital letter."""
    return text[:1].upper() + text[1:]


def seeds_words(seeds: Sequence[int]) -> str:
    """Seeds, as "0 to 49" where they have no gaps."""
    if len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[0] + len(seeds))):
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds))


def paragraphs(sentences: Iterable[str]) -> str:
    """Sentences that are not empty, one after the other."""
    return " ".join(each for each in sentences if each)
