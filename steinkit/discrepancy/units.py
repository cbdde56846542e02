"""Units: the scale in which distances between draws are meant.

A discrepancy in raw units depends on whether a coordinate is given in metres or in miles. In standard units

    x -> (x - m) / sd,      score -> sd score,      bounds -> (bounds - m) / sd,

it does not. The standard deviations may be the sample's own: one that is too wide does not hide behind its own, since
the scores are multiplied by it as well. Several samples are compared in the units of one of them, or of a reference.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from steinkit.errors import InputError, UsageError, did_you_mean
from steinkit.sample import DistinctSample, Floats

Kind = Literal["own", "given", "raw"]


@dataclass(frozen=True, eq=False)
class Units:
    """Centre and scale of every coordinate.

    Attributes
    ----------
    kind : {"own", "given", "raw"}
        Whether the scale is the sample's own standard deviations, was given, or is 1.
    centre, scale : ndarray, shape (d,)
    """

    kind: Kind
    centre: Floats
    scale: Floats

    @classmethod
    def of(cls, units: str | ArrayLike | Units, sample: DistinctSample) -> Units:
        """What a user means by "own", "raw" or a scale for each coordinate, for a sample.

        Raises
        ------
        UsageError
            If it is no such thing.
        InputError
            If a coordinate never changes, which then has no unit of its own.
        """
        if isinstance(units, Units):
            return units
        if isinstance(units, str):
            if units == "raw":
                return cls("raw", np.zeros(sample.dim), np.ones(sample.dim))
            if units != "own":
                hint = did_you_mean(units, ("own", "raw"))
                raise UsageError(f"units must be 'own', 'raw' or a scale for each coordinate; received {units!r}{hint}")
            return cls._own(sample)
        scale = np.asarray(units, dtype=np.float64)
        if scale.shape != (sample.dim,) or not (np.isfinite(scale).all() and (scale > 0.0).all()):
            raise UsageError(f"units must be {sample.dim} positive numbers, one a coordinate; received {units!r}")
        return cls("given", sample.weights @ sample.points, scale)

    @classmethod
    def _own(cls, sample: DistinctSample) -> Units:
        centre = sample.weights @ sample.points
        deviations = sample.points - centre
        deviations[:, (sample.points == sample.points[0]).all(axis=0)] = 0.0  # the mean of a constant is rounded
        largest = np.abs(deviations).max(axis=0)  # squares of the deviations themselves may overflow
        scale = largest * np.sqrt(sample.weights @ (deviations / np.where(largest > 0.0, largest, 1.0)) ** 2)
        still = np.flatnonzero(~(scale > 0.0))
        if len(still):
            raise InputError(
                f"{sample.names[still[0]]} is the same in all draws, so it has no unit of its own: leave it out, give "
                "units, or take raw ones"
            )
        return cls("own", centre, scale)

    def from_bounds(self, bounds: Floats | None) -> Units:
        """These units with the origin of bounded coordinates at a bound, so that distances to it are not rounded."""
        if bounds is None:
            return self
        lower, upper = bounds.T
        centre = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper, self.centre))
        return replace(self, centre=centre)

    def points(self, points: Floats) -> Floats:
        """Points or bounds in these units, coordinates last."""
        return np.asarray((points - self.centre) / self.scale)

    def scores(self, scores: Floats) -> Floats:
        """Scores in these units, (n, d) -> (n, d)."""
        return np.asarray(scores * self.scale)
