"""Cells of a sweep, each with the measures of one chain."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from steinkit.diagnosis.bias.result import BiasEstimate
from steinkit.errors import InputError
from steinkit.measurement import Measurement
from steinkit.measures import find_measure
from steinkit.result import in_json

Setting = dict[str, Any]
Interval = tuple[float, float]
Place = tuple[int, int]  # index of the setting, and seed


class Record:
    """Base class for dataclasses that can be written as JSON."""

    def to_dict(self) -> Setting:
        """Return the fields as JSON values, with null for infinite and unknown values.

        Returns
        -------
        dict
            The JSON document, which contains strings, finite numbers, lists and dicts.
        """
        return {name: in_json(value) for name, value in vars(self).items()}


@dataclass(frozen=True)
class Measured:
    """Value of one measure for the chain of a cell.

    Attributes
    ----------
    measure : str
        Name of the measure.
    value, lower, upper : float
        The value and its certified bracket. For an estimate, both ends are equal to the value.
    margin : float or None
        Margin of error (95%) of a bias.
    unranked : str
        Reason why settings must not be ordered by this value, or an empty string. Slow mixing is a reason only if the
        draws split into separate modes, because the score does not determine the mode weights.
    unknown : str
        Reason why the setting must not be ranked first by this value, or an empty string. The reason is that the value
        is unranked or that some of the bias estimates are not reliable.

    Examples
    --------
    >>> import steinkit as sk
    >>> sk.Measured("graph", 1.2, 1.1, 1.3).upper
    1.3
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
        """Return the value, the bracket and the reasons not to rank the value.

        Parameters
        ----------
        found : Measurement
            Result of a measure.

        Returns
        -------
        Measured
            The value of the measure.

        Raises
        ------
        InputError
            If the value is not finite.
        """
        ends = (found.lower, found.upper) if find_measure(found.measure).has_bracket else (found.value, found.value)
        if not all(map(math.isfinite, (found.value, *ends))):
            raise InputError("the value is not finite")
        if not isinstance(found, BiasEstimate):
            return cls(found.measure, found.value, *ends, unranked=found.unranked, unknown=found.unranked)
        unknown = next((f"the biases could not be estimated: {reason}" for reason in found.reason if reason), "")
        unranked = "" if found.hidden and not found.is_multimodal else found.unranked
        margin = found.margin if math.isfinite(found.margin) else None
        return cls(found.measure, found.value, *ends, margin, unranked, found.unranked or unknown)


@dataclass(frozen=True)
class Cell:
    """Result of running one setting with one seed.

    Attributes
    ----------
    settings : dict
        Options of the sampler that vary over the sweep.
    seed : int
        Seed for the chain.
    reason : str or None
        Reason for the failure, or None.
    draws : int
        Length of the chain, or 0 if the sampler failed.
    cost_per_draw : float or None
        Mean cost of a draw, or None if the sampler does not report costs.
    sampling, scoring : float
        Computing time in seconds. The time of chains that are run together is divided equally among them.
    measures : dict of str to Measured
        Finite values, keyed by the name of the measure.
    warnings : tuple of str
        Warnings from the measures. Each warning begins with the name of its measure.

    Examples
    --------
    >>> import steinkit as sk
    >>> sk.Cell({"step_size": 0.1}, seed=0, measures={"ess": sk.Measured("ess", 90.0, 90.0, 90.0)}).loss("ess")
    (-90.0, -90.0)
    """

    settings: Setting
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
        """Computation time of the cell, in seconds."""
        return self.sampling + self.scoring

    def loss(self, measure: str, *, is_ranked: bool = False) -> Interval:
        """Return the bracket of the loss, which is infinite if the cell has no value.

        The loss is the measure, or its negative if larger values are better.

        Parameters
        ----------
        measure : str
            Name of the measure.
        is_ranked : bool
            If True, values that must not be used to order settings count as missing.

        Returns
        -------
        tuple of float
            Lower and upper ends of the bracket.
        """
        found = self.measures.get(measure)
        if found is None or (is_ranked and found.unranked):
            return math.inf, math.inf
        return (found.lower, found.upper) if find_measure(measure).smaller_is_better else (-found.upper, -found.lower)
