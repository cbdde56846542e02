"""Brackets: numbers known to lie between two ends, and how wide these may be."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from steinkit.arguments import number
from steinkit.errors import Caution, CrossedBracketError, SolverError, reservations
from steinkit.measurement import BracketResult
from steinkit.sample import DistinctSample, Floats
from steinkit.text import rounded_outwards, within
from steinkit.units import Units

WIDEST_BRACKET = 0.1  # relative width: a wider one is no answer

Found = TypeVar("Found", bound=Any)


class Bracketed(BracketResult):
    """A number that is known to lie in [lower, upper]."""

    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """List the number, its bracket and the time it took as ``steinkit score --json`` does.

        Returns
        -------
        dict
            Of strings, finite numbers, lists and dicts.
        """
        return {
            "measure": self.measure,
            "value": self.value,
            "lower": self.lower,
            "upper": self.upper,
            **({"coordinates": [each.to_dict() for each in self.terms]} if self.terms else {}),
            **self._details(),
            "seconds": self.seconds,
        }

    def _details(self) -> dict[str, Any]:
        """What else the document of a measure holds."""
        return {}

    @property
    def _extent(self) -> str:
        """What the number is of, as text."""
        return f"{len(self.sample)} points"

    def __repr__(self) -> str:
        value = within(self.value, self.lower, self.upper)
        return f"<{type(self).__name__} {value} in {self.bracket}, {self._extent}{reservations(self.warnings)}>"

    @property
    def value(self) -> float:
        """Midpoint of the bracket."""
        return 0.5 * self.lower + 0.5 * self.upper

    @property
    def gap(self) -> float:
        """Relative width of the bracket, (upper - lower) / upper."""
        return relative_width(self.lower, self.upper)

    @property
    def bracket(self) -> str:
        """The bracket as text, rounded outwards to the digits that matter."""
        return "[{}, {}]".format(*rounded_outwards(self.lower, self.upper))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Measured(Bracketed):
    """A bracketed number of a sample in some units: what results have in common, each of which says what it means."""

    lower: float
    upper: float
    sample: DistinctSample
    units: Units
    tolerance: float
    seconds: dict[str, float]
    warnings: tuple[str, ...]


def relative_width(lower: float, upper: float) -> float:
    """(upper - lower) / upper; 0 for a bracket of width 0, 1 for one without end."""
    if math.isinf(upper):
        return 1.0
    return 0.0 if upper <= lower else (upper - lower) / upper


def require_ordered(lower: float, upper: float, **evidence: Any) -> None:
    """Refuse bounds that contradict each other, or are no numbers.

    Raises
    ------
    CrossedBracketError
    """
    if not lower <= upper:
        raise CrossedBracketError(lower, upper, **evidence)


@contextmanager
def instance_kept(**arrays: Any) -> Iterator[None]:
    """Save the instance with what led to it, should bounds contradict each other inside this block."""
    try:
        yield
    except CrossedBracketError as error:
        error.keep(**arrays)
        raise


def sum_of_brackets(lower: Iterable[float], upper: Iterable[float]) -> tuple[float, float]:
    """Bracket of a sum by those of its terms, rounded outwards where the sums are no doubles.

    Sums may overflow if no term is below zero.
    """
    low, high = list(lower), list(upper)
    below, above = exact_sum(low), exact_sum(high)
    if math.isinf(below) or math.fsum([*low, -below]) < 0.0:
        below = math.nextafter(below, -math.inf)
    if math.isfinite(above) and math.fsum([*high, -above]) > 0.0:
        above = math.nextafter(above, math.inf)
    return below, above


def exact_sum(terms: list[float] | Floats) -> float:
    """Exactly rounded sum; infinite where it overflows, or where infinities of both signs are among the terms."""
    try:
        return math.fsum(np.asarray(terms).tolist())  # sooner than NumPy's numbers
    except (OverflowError, ValueError):
        return math.inf


def outwards(end: float, exponent: int, *, up: bool = False) -> float:
    """An end of a bracket times a power of two; rounded down, or up, where that is no double."""
    with np.errstate(over="ignore", under="ignore"):
        scaled = float(np.ldexp(end, exponent))
        if float(np.ldexp(scaled, -exponent)) == end:
            return scaled
    return math.nextafter(scaled, math.inf if up else -math.inf)


def tolerance_of(given: float | None, usual: float) -> float:
    """The relative width of a bracket that is asked for, or the usual one."""
    return usual if given is None else number(given, "tolerance", lambda t: 0.0 < t < 1.0, "between 0 and 1")


def accepted(result: Found, number: str, cause: str, remedy: str) -> Found:
    """Refuse a result whose bracket is no answer, and add a caution to one wider than the tolerance.

    Parameters
    ----------
    result : dataclass that is `Bracketed`, with `tolerance` and `warnings`
    number : str
        What lies in the bracket.
    cause, remedy : str
        Why the bracket is so wide, in brackets or empty; and what may help, as a sentence without its stop.

    Raises
    ------
    SolverError
        If the bracket is wider than `WIDEST_BRACKET`.
    """
    if result.gap <= result.tolerance:
        return result
    bracket = (
        f"{number} lies in {result.bracket}: the bracket's relative width is {result.gap:.1e}, "
        f"{result.tolerance:g} was asked for{cause}"
    )
    refuse_wide(result, bracket, remedy)
    return replace(result, warnings=(*result.warnings, Caution(bracket)))


def refuse_wide(result: Bracketed, bracket: str, remedy: str) -> None:
    """Refuse a result whose bracket is no answer.

    Parameters
    ----------
    result : Bracketed
    bracket : str
        What lies in which bracket.
    remedy : str
        What may help, as a sentence without its stop.

    Raises
    ------
    SolverError
        If the bracket is wider than `WIDEST_BRACKET`.
    """
    if result.gap > WIDEST_BRACKET:
        raise SolverError(
            f"no certified answer: {bracket}; more than {WIDEST_BRACKET:.0%} is not reported as a value. {remedy}",
            result.lower,
            result.upper,
        )
