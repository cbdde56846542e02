"""A finished cell of a sweep, one setting with one seed: what its chain and the measures of it came to."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from steinkit.diagnosis.bias.result import BiasEstimate
from steinkit.measurement import Measurement
from steinkit.measures import find_measure

Setting = Mapping[str, Any]
Interval = tuple[float, float]
Place = tuple[int, int]  # number of the setting, and seed


@dataclass(frozen=True)
class Measured:
    """One measure of a cell.

    Attributes
    ----------
    measure : str
    value, lower, upper : float
        The value and its certified bracket; three times the value for an estimate.
    margin : float or None
        Of the biases.
    unranked : str
        Why settings must not be ordered by this value; empty where they may. A slow chain is no reason as long as its
        draws do not fall into groups: no region's weight, which the score does not know, can be wrong then.
    unknown : str
        Why this value must not put its setting first: because it is unranked, or because some bias is not known.
    """

    measure: str
    value: float
    lower: float
    upper: float
    margin: float | None = None
    unranked: str = ""
    unknown: str = ""

    @classmethod
    def of(cls, found: Measurement) -> Measured:
        """Keep what choices look at.

        Parameters
        ----------
        found : MeasureResult
            Result of a measure.

        Returns
        -------
        Measured
            Its value, bracket and reasons.
        """
        ends = (found.lower, found.upper) if find_measure(found.measure).has_bracket else (found.value, found.value)
        if not isinstance(found, BiasEstimate):
            return cls(found.measure, found.value, *ends, unranked=found.unranked, unknown=found.unranked)
        unknown = next((f"biases are not known: {why}" for why in found.reason if why), "")
        unranked = "" if found.hidden and not found.falls_apart else found.unranked
        margin = found.margin if math.isfinite(found.margin) else None
        return cls(found.measure, found.value, *ends, margin, unranked, found.unranked or unknown)


@dataclass(frozen=True)
class Cell:
    """One setting with one seed.

    Attributes
    ----------
    settings : dict
    seed : int
    reason : str or None
        Why the cell failed; None if it did not.
    draws : int
        Length of the chain; 0 if it could not be run.
    cost_per_draw : float or None
        Where the sampler reports it.
    sampling, scoring : float
        Seconds of work. Chains that ran together share theirs evenly.
    measures : dict of str to Measured
        Those that could be taken, with finite values.
    warnings : tuple of str
        Of the measures, whose names they begin with.
    """

    settings: dict[str, Any]
    seed: int
    reason: str | None = None
    draws: int = 0
    cost_per_draw: float | None = None
    sampling: float = 0.0
    scoring: float = 0.0
    measures: dict[str, Measured] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """The work that it took."""
        return self.sampling + self.scoring

    def loss(self, measure: str, *, is_ranked: bool = False) -> Interval:
        """Bracket the loss by a measure: infinite where there is no value, and turned round where more is better.

        Parameters
        ----------
        measure : str
            Name of the measure.
        is_ranked : bool
            Whether a value by which settings must not be ordered counts as none.

        Returns
        -------
        tuple of float
            Lower and upper end.
        """
        found = self.measures.get(measure)
        if found is None or (is_ranked and found.unranked):
            return math.inf, math.inf
        smaller = find_measure(measure).smaller_is_better
        return (found.lower, found.upper) if smaller else (-found.upper, -found.lower)
