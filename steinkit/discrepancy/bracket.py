"""Brackets: numbers that are known to lie between two ends."""

from __future__ import annotations

import math

from steinkit.describe.numbers import rounded_outwards


class Bracketed:
    """A number that is known to lie in [lower, upper]."""

    lower: float
    upper: float

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


def relative_width(lower: float, upper: float) -> float:
    """(upper - lower) / upper; 0 for a bracket of width 0, 1 for one without end."""
    if math.isinf(upper):
        return 1.0
    return 0.0 if upper <= lower else (upper - lower) / upper
