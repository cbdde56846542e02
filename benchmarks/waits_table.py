"""Rows of the table of `waits`, sizes of the measurements, and output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from costs import in_a_process_of_its_own


@dataclass(frozen=True)
class Row:
    """Row of the table. Goals are upper limits for times, and lower limits for ratios to a loop.

    Attributes
    ----------
    now : float, optional
        Measured value. None if there was no result within the time limit, as reported by `remark`.
    """

    work: str
    unit: str
    start: str
    wanted: float | None
    now: float | None
    remark: str = ""

    @property
    def reached(self) -> str:
        """Return "yes" if the goal is met and "NO" otherwise, or an empty string if there is no goal."""
        if self.wanted is None:
            return ""
        if self.now is None:
            return "NO"
        faster = self.unit == "times faster"
        return "yes" if (self.now >= self.wanted if faster else self.now <= self.wanted) else "NO"


@dataclass(frozen=True)
class Scope:
    """Sizes of the measurements.

    Attributes
    ----------
    factor : int
        Divisor of sizes and numbers of steps; goals apply to 1 only.
    repeats : int
        Number of runs.
    large : int
        Number of large samples.
    mnist : str or None
        Data file, see `waits`.
    """

    factor: int
    repeats: int
    large: int
    mnist: str | None

    def of(self, size: int) -> int:
        """Return the size or number of steps to measure, given its value in the table."""
        return max(size // self.factor, 2)

    def alone(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the result of a function in a separate process, or in this one for small sizes."""
        return in_a_process_of_its_own(function, *arguments) if self.factor == 1 else function(*arguments)

    def wanted(self, value: float) -> float | None:
        """Return the goal if the sizes are those of the table, or None."""
        return value if self.factor == 1 else None


HEAD = "| work | | at the start | wanted | now | reached | machine slower | |\n|" + " --- |" * 8
"""Of a table in Markdown, which lines follow."""


def line(row: Row, slower: float) -> str:
    """Format a row in Markdown, with the slowdown of the machine relative to its best so far."""
    wanted = "" if row.wanted is None else f"{row.wanted:g}"
    now = "-" if row.now is None else f"{row.now:.3g}"
    cells = (row.work, row.unit, row.start, wanted, now, row.reached, f"{slower:.1f}", row.remark)
    return f"| {' | '.join(cells)} |"
