"""What a curve is: the measure at every size with its proof, and the rate with its interval."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from steinkit import __version__
from steinkit.curves.rates import Flags
from steinkit.describe.curve import text
from steinkit.describe.display import Result
from steinkit.errors import reservations
from steinkit.measures import find_measure
from steinkit.sample import Floats

if TYPE_CHECKING:
    from steinkit.discrepancy.units import Units


@dataclass(frozen=True, eq=False)
class Curve(Result):
    """A measure against the number of draws.

    Attributes
    ----------
    measure : str
        Its name.
    n : ndarray, shape (k,)
        Numbers of draws; of several replicates with budgets, their medians.
    cost : ndarray, shape (k,), or None
        What these draws cost, over all chains (median over replicates); None where the samples store no cost.
    budget : ndarray, shape (k,), or None
        The budgets, if the grid is one of budgets.
    values : ndarray, shape (k,)
        The measure; median over the replicates. NaN where it is not defined, or not certified for any replicate.
    lower, upper : ndarray, shape (k,)
        Certified bracket of `values` (medians of the replicates' bounds); the values themselves for ess.
    replicates : ndarray, shape (samples, k)
        The measure of each sample.
    interval : ndarray, shape (k, 2), or None
        Bootstrap interval of the median over replicates; None for one sample.
    rate : float
        Slope of log value on log n (on log cost where the grid is one of budgets); NaN where it cannot be fitted.
    rate_interval : tuple of float
        Interval (lower, upper) of the rate, at `level`.
    interval_kind : {"regression", "bootstrap"}
        Where `rate_interval` comes from: "regression" for one sample, whose points are not independent.
    tail : ndarray of bool, shape (k,)
        The points that the rate is fitted to.
    level : float
        Of the intervals.
    units : Units or None
        The one scale of all points of the curve; None where the measure has no units.
    warnings : tuple of str
        What a reader should know before the rate.
    """

    measure: str
    n: Floats
    cost: Floats | None
    budget: Floats | None
    values: Floats
    lower: Floats
    upper: Floats
    replicates: Floats
    interval: Floats | None
    rate: float
    rate_interval: tuple[float, float]
    interval_kind: Literal["regression", "bootstrap"]
    tail: Flags
    level: float
    units: Units | None
    warnings: tuple[str, ...]

    def summary(self) -> str:
        """Say in a table and a paragraph how the measure falls.

        Returns
        -------
        str
            Of several lines, as ``steinkit curve`` prints it.
        """
        return text(self.to_dict(), find_measure(self.measure))

    def to_dict(self) -> dict[str, Any]:
        """List what ``steinkit curve --json`` prints.

        Returns
        -------
        dict
            Of strings, finite numbers, lists and dicts.
        """
        return {
            "measure": self.measure,
            "n": _numbers(self.n),
            "cost": None if self.cost is None else _numbers(self.cost),
            "budget": None if self.budget is None else _numbers(self.budget),
            "values": _numbers(self.values),
            "lower": _numbers(self.lower),
            "upper": _numbers(self.upper),
            "interval": None if self.interval is None else [_numbers(pair) for pair in self.interval],
            "replicates": [_numbers(row) for row in self.replicates],
            "rate": _numbers([self.rate])[0],
            "rate_against": "n" if self.budget is None else "cost",
            "rate_interval": _numbers(self.rate_interval),
            "interval_kind": self.interval_kind,
            "level": self.level,
            "tail": np.flatnonzero(self.tail).tolist(),
            "units": None if self.units is None else self.units.document,
            "warnings": list(self.warnings),
            "version": __version__,
        }

    def __repr__(self) -> str:
        return (
            f"<Curve of {self.measure} at {len(self.n)} sizes to {self.n[-1]:g} draws, "
            f"rate {self.rate:.3g}{reservations(self.warnings)}>"
        )


def _numbers(values: Iterable[float]) -> list[float | None]:
    """Numbers for JSON, which has no NaN; whole ones without a decimal point."""
    return [_number(float(value)) for value in values]


def _number(value: float) -> float | None:
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() else value
