"""A table: what stands in its cells, and its lines where letters have one width."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from steinkit.printable import printable


@dataclass(frozen=True)
class Table:
    """A table of text.

    Attributes
    ----------
    caption : str
    columns : tuple of str
    rows : tuple of tuple of str
    marked : int, optional
        The row that stands out.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    marked: int | None = None

    def led_by(self, column: str) -> Table:
        """The same with another column in front, whose cells name the rows."""
        at = self.columns.index(column)
        columns, *rows = ((row[at], *row[:at], *row[at + 1 :]) for row in (self.columns, *self.rows))
        return replace(self, columns=columns, rows=tuple(rows))

    def lines(self, left: Collection[str] = ()) -> list[str]:
        """The headings and rows, the columns named on the left and the others on the right."""
        return aligned([self.columns, *self.rows], [column in left for column in self.columns])


def aligned(rows: Sequence[Sequence[str]], left: Sequence[bool]) -> list[str]:
    """Rows of cells as lines, each column on the left or on the right; what is in a cell stays in it."""
    rows = [[*map(printable, row)] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if on_left else cell.rjust(width)
            for cell, width, on_left in zip(row, widths, left, strict=True)
        ).rstrip()
        for row in rows
    ]
