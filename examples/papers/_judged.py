"""What a paper says beside what is found here, and whether the two agree: decided by code.

The paper's number, with the error that its last digit leaves it, or a larger one with its reason, must meet the
interval found here.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Found:
    """A number found here, with the interval that Monte Carlo error leaves it; none where it has no such error."""

    value: float
    low: float
    high: float

    @classmethod
    def exactly(cls, value: float) -> Found:
        """A number without Monte Carlo error."""
        return cls(float(value), float(value), float(value))

    @classmethod
    def mean(cls, values: Any, errors: float = 2.0) -> Found:
        """Mean of independent values, and so many standard errors on either side."""
        array = np.asarray(values, dtype=np.float64)
        reach = errors * array.std(ddof=1) / np.sqrt(array.size)
        return cls(float(array.mean()), float(array.mean() - reach), float(array.mean() + reach))

    @classmethod
    def range(cls, values: Any, inside: float = 0.95) -> Found:
        """Median of independent values, and the quantiles between which such a share lies: what one run may find."""
        low, middle, high = np.quantile(values, [0.5 * (1.0 - inside), 0.5, 0.5 * (1.0 + inside)])
        return cls(float(middle), float(low), float(high))

    def __str__(self) -> str:
        value, low, high = (f"{each:.3g}" for each in (self.value, self.low, self.high))
        return value if low == high else f"{value} ({low} to {high})"


@dataclass(frozen=True)
class Row:
    """A line of the table: what the paper says, what is found here, and whether they agree (None: not to be judged)."""

    quantity: str
    paper: str
    here: str
    agrees: bool | None
    remark: str = ""

    @property
    def verdict(self) -> str:
        """In a word."""
        return {True: "yes", False: "NO", None: "not judged"}[self.agrees]


def agreement(paper: float | str, found: Found, within: float) -> bool | None:
    """Whether a number as it is printed, with an error beyond its rounding, meets an interval; None for words."""
    try:
        printed = Decimal(str(paper))
    except ArithmeticError:
        return None
    error = 0.5 * 10.0 ** int(printed.as_tuple().exponent) + within
    return bool(found.low <= float(printed) + error and float(printed) - error <= found.high)
