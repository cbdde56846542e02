"""Brackets, that is, pairs of proved lower and upper bounds on a number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from steinkit.arguments import number
from steinkit.errors import Caution, CrossedBracketError, SolverError, UsageError, reservations
from steinkit.measurement import BracketResult
from steinkit.sample import DistinctSample, Floats
from steinkit.text import rounded_outwards, within
from steinkit.units import Units

WIDEST_BRACKET = 0.1
"""Relative width above which a bracket is rejected."""

Found = TypeVar("Found", bound=Any)


class Documented(BracketResult):
    """Measurement result with a value, a bracket and a JSON document."""

    def to_dict(self) -> dict[str, Any]:
        """Return the value, its bracket and the wall time for JSON.

        The result has the same format as the output of ``steinkit score --json``.

        Returns
        -------
        dict
            The JSON document, which contains strings, finite numbers, lists and dicts.
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
        """Return additional JSON entries for the measure."""
        return {}


class Bracketed(Documented):
    """Measurement result with the midpoint of its bracket as the value."""

    warnings: tuple[str, ...]

    @property
    def _extent(self) -> str:
        """Description of the sample size for `repr`."""
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
        """Bracket as text, with both ends rounded outward to their significant digits."""
        return "[{}, {}]".format(*rounded_outwards(self.lower, self.upper))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Certified(Bracketed):
    """Fields shared by all results with a bracket."""

    lower: float
    upper: float
    sample: DistinctSample
    units: Units
    tolerance: float
    seconds: dict[str, float]
    warnings: tuple[str, ...]


def relative_width(lower: float, upper: float) -> float:
    """Return the relative width of a bracket, (upper - lower) / upper.

    The width is 0 if the bounds are equal, and 1 if the upper bound is infinite.
    """
    if math.isinf(upper):
        return 1.0
    return 0.0 if upper <= lower else (upper - lower) / upper


def require_ordered(lower: float, upper: float, **evidence: Any) -> None:
    """Raise CrossedBracketError if the bounds contradict each other.

    The bounds contradict each other if the lower bound exceeds the upper bound or if a bound is NaN.
    """
    if not lower <= upper:
        raise CrossedBracketError(lower, upper, **evidence)


@contextmanager
def instance_kept(**arrays: Any) -> Iterator[None]:
    """Attach these arrays to any CrossedBracketError raised in the block."""
    try:
        yield
    except CrossedBracketError as error:
        error.keep(**arrays)
        raise


def sum_of_brackets(lower: Iterable[float], upper: Iterable[float]) -> tuple[float, float]:
    """Compute an outward-rounded bracket for a sum from brackets for its terms.

    If the terms are non-negative, the sum is allowed to overflow.
    """
    low, high = list(lower), list(upper)
    below, above = exact_sum(low), exact_sum(high)
    if math.isinf(below) or math.fsum([*low, -below]) < 0.0:
        below = math.nextafter(below, -math.inf)
    if math.isfinite(above) and math.fsum([*high, -above]) > 0.0:
        above = math.nextafter(above, math.inf)
    return below, above


def exact_sum(terms: list[float] | Floats) -> float:
    """Return the correctly rounded sum.

    The sum is infinite if it overflows or contains infinities of both signs.
    """
    try:
        return math.fsum(np.asarray(terms).tolist())  # this is faster than iterating over NumPy scalars
    except (OverflowError, ValueError):
        return math.inf


def tolerance_of(given: float | None, usual: float) -> float:
    """Return the requested relative width of a bracket, or the default."""
    return usual if given is None else number(given, "tolerance", lambda t: 0.0 < t < 1.0, "between 0 and 1")


def require_one_coordinate(dim: int, name: str, other: str) -> None:
    """Raise UsageError if the draws have several coordinates.

    The message recommends another measure.
    """
    if dim != 1:
        raise UsageError(f"{name} requires draws with one coordinate; got {dim}: use {other}")


def accepted(result: Found, name: str, cause: str, remedy: str) -> Found:
    """Return a result, and warn if its bracket is wider than its tolerance.

    Parameters
    ----------
    result : Bracketed
        Result of a measure, which is a dataclass with the fields `tolerance` and `warnings`.
    name : str
        Name of the bracketed number, for messages.
    cause : str
        Cause of the width, in parentheses, or an empty string.
    remedy : str
        Advice in one sentence, without the final period.

    Raises
    ------
    SolverError
        If the relative width exceeds `WIDEST_BRACKET`.
    """
    if result.gap <= result.tolerance:
        return result
    message = (
        f"{name} lies in {result.bracket}: the relative width of this bracket is {result.gap:.1e}, "
        f"but the requested width is {result.tolerance:g}{cause}"
    )
    refuse_wide(result, message, remedy)
    return replace(result, warnings=(*result.warnings, Caution(message)))


def refuse_wide(result: Bracketed, message: str, remedy: str) -> None:
    """Raise SolverError if the bracket is wider than `WIDEST_BRACKET`."""
    if result.gap > WIDEST_BRACKET:
        raise SolverError(
            f"no certified result: {message}; brackets wider than {WIDEST_BRACKET:.0%} are not accepted. {remedy}",
            result.lower,
            result.upper,
        )
