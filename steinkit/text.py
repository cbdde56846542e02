"""Formatting of numbers, names, settings, paragraphs and tables.

In files, pipes, pages and notebooks, lines have at most 100 characters. On a terminal, lines are wrapped to the
terminal width. The command line sets this width with `on_screen`.
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
_NAMED = 3  # maximum number of names listed in a sentence
_MOST_ERRORS = 10_000.0  # larger z-scores are printed as "more than 10000"
_LARGE_RATIO = 10_000.0  # decimals of larger ratios are omitted


def compact(value: float | None, digits: int = 4) -> str:
    """Format a number with at most ``digits`` significant digits."""
    return UNDEFINED if value is None or math.isnan(value) else f"{value:.{digits}g}"


def ratio(value: float) -> str:
    """Format a ratio with two decimals, or with four digits if it is large."""
    return f"{value:.2f}" if value < _LARGE_RATIO else compact(value)


def rounded_outwards(lower: float, upper: float) -> tuple[str, str]:
    """Format the bounds of a bracket, rounded outwards.

    The number of digits exceeds the number of common leading digits by one. The number of digits is at least six and at
    most eight.
    """
    digits = _digits(lower, upper)
    return _rounded(lower, digits, ROUND_FLOOR), _rounded(upper, digits, ROUND_CEILING)


def within(value: float | None, lower: float | None, upper: float | None) -> str:
    """Format a value with the number of digits determined by its bracket."""
    if value is None or lower is None or upper is None or not (math.isfinite(value) and lower < upper):
        return compact(value, 6)
    return _rounded(value, _digits(lower, upper), ROUND_HALF_EVEN)


def bracket(lower: float, upper: float) -> str:
    """Format a bracket, rounded outwards, as "LOWER to UPPER"."""
    return " to ".join(rounded_outwards(lower, upper)) if math.isfinite(lower) and math.isfinite(upper) else UNDEFINED


def probability(p: float) -> str:
    """Format a p-value, as in "p = 0.03"."""
    return f"p = {p:.2g}" if p > 0.0 else "p < 1e-300"


def standard_errors(z: float) -> str:
    """Format the absolute value of a z-score."""
    size = abs(z)
    if size > _MOST_ERRORS:
        return f"more than {_MOST_ERRORS:.0f}"
    return f"{size:.1f}" if size < 10.0 else f"{float(f'{size:.3g}'):.0f}"


def count(n: int, noun: str) -> str:
    """Return a number and a noun, which is plural unless the number is 1."""
    return f"{n} {noun}{'' if n == 1 else 's'}"


def ordinal(n: int) -> str:
    """Return an ordinal number, such as 1st, 2nd or 3rd."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{'th' if n % 100 in (11, 12, 13) else ending}"


def listed(names: Sequence[str], *, most: int = _NAMED, of: str = "others") -> str:
    """Join names for a sentence, as in "a, b and c" or "a, b, c and 4 others"."""
    if len(names) > most + 1:
        return f"{', '.join(names[:most])} and {len(names) - most} {of}"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def alternatives(names: Sequence[str]) -> str:
    """Join names as alternatives, as in "a, b or c"."""
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]


def abbreviated(name: str, most: int) -> str:
    """Return a printable name for a figure, omitting the middle of a long name."""
    name = printable(name)
    return name if len(name) <= most else f"{name[: most // 2]}…{name[1 - most // 2 :]}"


def sentence(text: str) -> str:
    """Capitalize the first letter of a string."""
    return text[:1].upper() + text[1:]


def _digits(lower: float, upper: float) -> int:
    low, high = sorted((abs(lower), abs(upper)))  # a U-statistic can be negative
    if lower < 0.0 < upper or math.isinf(high):
        return 6
    return 6 if low == high else min(max(6, 1 - math.floor(math.log10((high - low) / high))), 8)


def _rounded(value: float, digits: int, direction: str) -> str:
    """Format a number to the given number of significant digits."""
    return f"{Context(prec=digits, rounding=direction).create_decimal_from_float(value):g}"


_SOURCES = {
    "own": "the draws' own standard deviations",
    "reference": "standard deviations of independent draws from the target",
    "pilot": "standard deviations of one sample, used for all samples",
    "given": "the units given",
}
_SCALES = 6  # maximum number of parameters in a units label


def setting_key(settings: Mapping[str, object]) -> str:
    """Format a setting with option names, as in "step_size 0.005, batch_size 5"."""
    return ", ".join(f"{name} {value}" for name, value in settings.items())


def setting_label(settings: Mapping[str, object]) -> str:
    """Format a setting for a sentence, as in "step size 0.005, batch size 5"."""
    return ", ".join(f"{name.replace('_', ' ')} {value_label(value)}" for name, value in settings.items())


def value_label(value: object) -> str:
    """Format the value of an option for a sentence."""
    if isinstance(value, list | tuple):
        return f"({', '.join(map(value_label, value))})"
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else printable(str(value))


def seeds_label(seeds: Sequence[int]) -> str:
    """Format seeds, as in "0 to 49" if they are consecutive."""
    if len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[0] + len(seeds))):
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds))


def units_label(units: Mapping[str, Any]) -> str:
    """Format `Units.document` for a table."""
    if units["kind"] == "raw":
        return "raw units of the draws"
    scale = [f"{name} {compact(value)}" for name, value in units["scale"].items()]
    return f"{_SOURCES[units['kind']]}: {listed(scale, most=_SCALES)}"


def units_sentence(units: Mapping[str, Any]) -> str:
    """Format `Units.document` as a sentence."""
    label = units_label(units)
    return f"Measured in {'the ' * label.startswith('raw')}{label}."


def files_label(files: Sequence[str]) -> str:
    """Return the name of a sample, derived from its file names."""
    if len(files) > 1:
        return f"{files[0]} and {len(files) - 1} more chains"
    return "standard input" if files[0] == "-" else files[0]


_WIDTH = 100
_NARROWEST = 40  # smallest terminal width, in characters
_screen: ContextVar[int | None] = ContextVar("width of the screen", default=None)


def on_screen(columns: int | None) -> contextlib.AbstractContextManager[None]:
    """Return a context manager that formats text for a terminal.

    Parameters
    ----------
    columns : int or None
        Width of the terminal, or None if there is no terminal. The last column remains empty, because some terminals
        begin a new line after it.
    """
    return during(_screen, None if columns is None else min(max(columns - 1, _NARROWEST), _WIDTH))


def screen_width() -> int | None:
    """Return the number of characters per line of the terminal, or None."""
    return _screen.get()


def filled(text: str, indent: str = "") -> str:
    """Wrap a paragraph without breaking long words such as paths or options."""
    return textwrap.fill(
        printable(text),
        _screen.get() or _WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def one_line(text: str, indent: str = "") -> str:
    """Return text as a single line, wrapped only on a terminal."""
    return f"{indent}{printable(text)}" if _screen.get() is None else filled(text, indent)


_BETWEEN = "  "


@dataclass(frozen=True)
class Table:
    """Table of strings.

    Attributes
    ----------
    caption : str
    columns : tuple of str
    rows : tuple of tuple of str
    marked : int, optional
        Index of the highlighted row.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    marked: int | None = None

    def text(self, left: Collection[str] = (), most: int | None = None) -> str:
        """Return the table as text, followed by the number of omitted rows.

        Parameters
        ----------
        left : collection of str
            Left-aligned columns.
        most : int, optional
            Maximum number of rows, not counting a highlighted first row. By default, all rows are included.
        """
        rows = self.rows if most is None else self.rows[: most + (self.marked == 0)]
        more = len(self.rows) - len(rows)
        return "\n".join([*replace(self, rows=rows).lines(left), *([f"and {more} more"] if more else [])])

    def lines(self, left: Collection[str] = (), *, names: str | None = None) -> list[str]:
        """Return the lines of the table, split into parts if the terminal is narrow.

        Parameters
        ----------
        left : collection of str
            Left-aligned columns.
        names : str, optional
            Column that is repeated in every part. The default is the first column.
        """
        cells = [[*map(printable, row)] for row in (self.columns, *self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        found: list[str] = []
        for part in self._parts(widths, 0 if names is None else self.columns.index(names)):
            found += [""] * bool(found)
            for row in cells:
                placed = [f"{row[k]:{'<' if self.columns[k] in left else '>'}{widths[k]}}" for k in part]
                found.append(_BETWEEN.join(placed).rstrip())
        return found

    def _parts(self, widths: Sequence[int], names: int) -> list[list[int]]:
        """Divide the columns into parts that fit the terminal."""
        parts: list[list[int]] = [[]]
        for k, width in enumerate(widths):
            part = parts[-1]
            needed = sum(widths[j] + len(_BETWEEN) for j in part) + width
            if names in part and len(part) > 1 and needed > (screen_width() or math.inf):
                parts.append([names])
            parts[-1].append(k)
        return parts
