"""How numbers, brackets, counts and lists are written, everywhere."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context
from typing import Any

from steinkit.errors import printable

UNDEFINED = "undefined"
_NAMED = 3  # of a list, in a sentence
_BEYOND = 10_000.0  # standard errors, from which more say nothing more
_LONG = 10_000.0  # a ratio from which two places are too many


def number(value: float | None, digits: int = 4) -> str:
    """A number to so many significant digits; whole numbers that need fewer have no decimal point."""
    if value is None or not math.isfinite(value):
        return UNDEFINED
    if value == int(value):
        return f"{value:.{digits}g}"
    return f"{value:#.{digits}g}".rstrip(".")


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


def value_of(entry: Mapping[str, Any]) -> str:
    """The value of a measure's entry, or of a coordinate's, as `within` its bracket where it has one."""
    return within(entry["value"], entry.get("lower"), entry.get("upper"))


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
