"""Phrases that several error messages share."""

from __future__ import annotations

from collections.abc import Sequence


def listed(names: Sequence[str], *, most: int = 12, last: str = ", ") -> str:
    """Quote names and join them, at most ``most`` of them."""
    quoted = [f'"{name}"' for name in names[:most]]
    if len(names) > most:
        return ", ".join(quoted) + f" and {len(names) - most} more"
    return last.join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def shortened(text: str, most: int = 40) -> str:
    """Text in double quotes, cut when long: a stray quote can turn half a file into one cell."""
    return f'"{text}"' if len(text) <= most else f'"{text[:most]}..."'
