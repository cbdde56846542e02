"""Lines of text and tables of them: how wide they are, and where they are broken.

Text has the same bytes wherever it goes, a file, a pipe, a page, a notebook: paragraphs in lines of 100 letters. A
terminal alone has a width of its own, which the command line finds out and sets with `on_screen`.
"""

from __future__ import annotations

import contextlib
import textwrap
from collections.abc import Collection, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace

from steinkit.errors import during, printable

_WIDTH = 100
_NARROWEST = 40  # a terminal of less reports a wrong size, or shows nothing that could be read
_screen: ContextVar[int | None] = ContextVar("width of the screen", default=None)


def on_screen(columns: int | None) -> contextlib.AbstractContextManager[None]:
    """Let lines fit a terminal while this lasts.

    Parameters
    ----------
    columns : int or None
        Of the terminal. The last one stays free, since some terminals begin a new line there. None leaves the lines as
        they are without a terminal.
    """
    return during(_screen, None if columns is None else min(max(columns - 1, _NARROWEST), _WIDTH))


def screen_width() -> int | None:
    """Letters that fit a line of the terminal; None without one, where a line may be as long as it must."""
    return _screen.get()


def filled(text: str, indent: str = "") -> str:
    """A paragraph in lines; a long word, such as a path, is not broken, nor one with a hyphen, such as an option."""
    return textwrap.fill(
        printable(text),
        _screen.get() or _WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def one_line(text: str, indent: str = "") -> str:
    """A line that programs may look for, and which therefore is broken on a terminal only."""
    return f"{indent}{printable(text)}" if _screen.get() is None else filled(text, indent)


_BETWEEN = "  "


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

    def first(self, most: int | None) -> Table:
        """The same with so many rows at most, and the one that stands out if that is the first."""
        rows = self.rows if most is None else self.rows[: most + (self.marked == 0)]
        return replace(self, rows=rows)

    def lines(self, left: Collection[str] = (), *, names: str | None = None) -> list[str]:
        """The headings and rows; on a terminal that is too narrow for all columns, one part of them below another.

        Parameters
        ----------
        left : collection of str
            The columns that stand on the left; the others stand on the right.
        names : str, optional
            The column whose cells name the rows, which every part repeats. By default the first.
        """
        cells = [self.columns, *self.rows]
        parts = self._parts(0 if names is None else self.columns.index(names))
        shown = [
            aligned([[row[k] for k in part] for row in cells], [self.columns[k] in left for k in part])
            for part in parts
        ]
        return [line for k, part in enumerate(shown) for line in ([""] * (k > 0) + part)]

    def _parts(self, names: int) -> list[list[int]]:
        """The columns that stand side by side: all of them, or on a terminal as many as fit beside the names."""
        most = screen_width()
        if most is None:
            return [[*range(len(self.columns))]]
        widths = [max(len(printable(cell)) for cell in column) for column in zip(self.columns, *self.rows, strict=True)]
        parts: list[list[int]] = [[]]
        for k, width in enumerate(widths):
            part = parts[-1]
            if names in part and len(part) > 1 and sum(widths[j] + len(_BETWEEN) for j in part) + width > most:
                parts.append([names])
            parts[-1].append(k)
        return parts


def aligned(rows: Sequence[Sequence[str]], left: Sequence[bool]) -> list[str]:
    """Rows of cells as lines, each column on the left or on the right; what is in a cell stays in it."""
    rows = [[*map(printable, row)] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        _BETWEEN.join(
            cell.ljust(width) if on_left else cell.rjust(width)
            for cell, width, on_left in zip(row, widths, left, strict=True)
        ).rstrip()
        for row in rows
    ]
