"""How numbers, names, settings, paragraphs and tables are written, everywhere.

Text has the same bytes wherever it goes, a file, a pipe, a page, a notebook: paragraphs in lines of 100 letters. A
terminal alone has a width of its own, which the command line finds out and sets with `on_screen`.
"""

from __future__ import annotations

import contextlib
import math
import textwrap
from collections.abc import Collection, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context
from typing import Any

from steinkit.errors import during, printable

UNDEFINED = "undefined"
_NAMED = 3  # of a list, in a sentence
_BEYOND = 10_000.0  # standard errors, from which more say nothing more
_LONG = 10_000.0  # a ratio from which two places are too many


def compact(value: float | None, digits: int = 4) -> str:
    """A number to at most so many significant digits, for tables and the middle of a line."""
    return UNDEFINED if value is None or math.isnan(value) else f"{value:.{digits}g}"


def ratio(value: float) -> str:
    """How many times as large, to two places; a huge one to four digits."""
    return f"{value:.2f}" if value < _LONG else compact(value)


def rounded_outwards(lower: float, upper: float) -> tuple[str, str]:
    """Both ends of a bracket to the digits that matter: one more than they share, within six and eight."""
    digits = _digits(lower, upper)
    return _rounded(lower, digits, ROUND_FLOOR), _rounded(upper, digits, ROUND_CEILING)


def within(value: float | None, lower: float | None, upper: float | None) -> str:
    """A value to the digits of its bracket's ends, so that it does not look to lie outside."""
    if value is None or lower is None or upper is None or not (math.isfinite(value) and lower < upper):
        return compact(value, 6)
    return _rounded(value, _digits(lower, upper), ROUND_HALF_EVEN)


def bracket(lower: float, upper: float) -> str:
    """A certified bracket, rounded outwards, as "LOWER to UPPER"."""
    return " to ".join(rounded_outwards(lower, upper)) if math.isfinite(lower) and math.isfinite(upper) else UNDEFINED


def probability(p: float) -> str:
    """A p-value, as "p = 0.03"."""
    return f"p = {p:.2g}" if p > 0.0 else "p < 1e-300"


def standard_errors(z: float) -> str:
    """How many standard errors, without their sign."""
    size = abs(z)
    if size > _BEYOND:
        return f"more than {_BEYOND:.0f}"
    return f"{size:.1f}" if size < 10.0 else f"{float(f'{size:.3g}'):.0f}"


def count(n: int, what: str) -> str:
    """A number of things."""
    return f"{n} {what}{'' if n == 1 else 's'}"


def ordinal(n: int) -> str:
    """1st, 2nd, 3rd, 4th, ..."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{'th' if n % 100 in (11, 12, 13) else ending}"


def listed(names: Sequence[str], *, most: int = _NAMED, of: str = "others") -> str:
    """Names in a sentence: "a, b and c", or "a, b, c and 4 others"."""
    if len(names) > most + 1:
        return f"{', '.join(names[:most])} and {len(names) - most} {of}"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def alternatives(names: Sequence[str]) -> str:
    """Names of which one is to be chosen: "a, b or c"."""
    return f"{', '.join(names[:-1])} or {names[-1]}"


def shortened(name: str, most: int) -> str:
    """A name as a picture can bear it: control characters escaped, and its middle left out where it is long."""
    name = printable(name)
    return name if len(name) <= most else f"{name[: most // 2]}…{name[1 - most // 2 :]}"


def sentence(text: str) -> str:
    """Text that begins with a capital letter."""
    return text[:1].upper() + text[1:]


def _digits(lower: float, upper: float) -> int:
    low, high = sorted((abs(lower), abs(upper)))  # a U-statistic can be negative
    if lower < 0.0 < upper or math.isinf(high):
        return 6
    return 6 if low == high else min(max(6, 1 - math.floor(math.log10((high - low) / high))), 8)


def _rounded(value: float, digits: int, direction: str) -> str:
    """A number to so many significant digits, rounded down or up."""
    return f"{Context(prec=digits, rounding=direction).create_decimal_from_float(value):g}"


_SOURCES = {
    "own": "the draws' own standard deviations",
    "reference": "standard deviations of independent draws from the target",
    "pilot": "standard deviations of one sample, for all alike",
    "given": "the units given",
}
_SCALES = 6  # coordinates


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
    return f"{_SOURCES[units['kind']]}: {listed(scale, most=_SCALES)}"


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

    def text(self, left: Collection[str] = (), most: int | None = None) -> str:
        """The lines of so many rows at most, and the one that stands out if that is the first, and how many more."""
        rows = self.rows if most is None else self.rows[: most + (self.marked == 0)]
        more = len(self.rows) - len(rows)
        return "\n".join([*replace(self, rows=rows).lines(left), *([f"and {more} more"] if more else [])])

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
