"""The rows of the table of `waits`, how much is measured for them, and how they are printed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from costs import in_a_process_of_its_own


@dataclass(frozen=True)
class Row:
    """A line of the table; times are to be at most, ratios to a loop at least, what is wanted.

    Attributes
    ----------
    now : float, optional
        None if there was no answer in the time allowed, which `remark` says.
    """

    work: str
    unit: str
    start: str
    wanted: float | None
    now: float | None
    remark: str = ""

    @property
    def reached(self) -> str:
        """Yes, NO, or nothing where nothing is wanted."""
        if self.wanted is None:
            return ""
        if self.now is None:
            return "NO"
        faster = self.unit == "times faster"
        return "yes" if (self.now >= self.wanted if faster else self.now <= self.wanted) else "NO"


@dataclass(frozen=True)
class Scope:
    """How much is measured.

    Attributes
    ----------
    factor : int
        By which sizes and numbers of steps are divided; targets hold at 1 only.
    repeats : int
    large : int
        How many of the large samples.
    mnist : str or None
        A file, see `waits`.
    """

    factor: int
    repeats: int
    large: int
    mnist: str | None

    def of(self, size: int) -> int:
        """A size or number of steps to measure, where the table has the given one."""
        return max(size // self.factor, 2)

    def alone(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function returns: in a process of its own, or at small size in this one, which starts sooner."""
        return in_a_process_of_its_own(function, *arguments) if self.factor == 1 else function(*arguments)

    def wanted(self, value: float) -> float | None:
        """What is wanted, if the sizes are those of the table."""
        return value if self.factor == 1 else None


HEAD = "| work | | at the start | wanted | now | reached | machine slower | |\n|" + " --- |" * 8
"""Of a table in Markdown, which lines follow."""


def line(row: Row, slower: float) -> str:
    """A row in Markdown, with how many times slower the machine was than at its best so far."""
    wanted = "" if row.wanted is None else f"{row.wanted:g}"
    now = "-" if row.now is None else f"{row.now:.3g}"
    cells = (row.work, row.unit, row.start, wanted, now, row.reached, f"{slower:.1f}", row.remark)
    return f"| {' | '.join(cells)} |"
