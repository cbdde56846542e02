"""Whether the best setting's chain missed a mode that chains of other settings found.

No Stein discrepancy sees a mode that no draw has come near, so that a sweep may choose a chain that stays in one. The
draws that were kept of other settings say where else to look: at a draw of theirs where the target is denser than at a
tenth of the best chain's draws, and which is cut off from the denser half of these. Cut off means that on the straight
way to the nearest of them, in standard units of all draws together, the density falls below half of that at the draw
and below three quarters of that at the other end. Where the log density is concave it never does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from steinkit.describe.numbers import compact, count
from steinkit.sample import Floats, Sample
from steinkit.target import Target

Booleans: TypeAlias = NDArray[np.bool_]

_FALL, _FALL_BEYOND = float(np.log(2.0)), float(np.log(4.0 / 3.0))  # of the log density, from either end to the valley
_AS_DENSE = 0.1  # quantile of the log density at the best chain's draws
_STEPS = np.linspace(0.0, 1.0, 18)[1:-1]  # of the way
_LOOKED_AT = 500  # draws of a chain
_SHOWN_NUMBERS = 4  # of a point


@dataclass(frozen=True, eq=False)
class MissedMode:
    """A draw of another chain in a mode that the best chain missed.

    Attributes
    ----------
    chain : int
        Which of the other chains.
    point : array, shape (d,)
        The one where the target is densest.
    names : tuple of str
        Of the coordinates.
    draws, of : int
        How many of this chain's draws that were looked at lie in such modes, and how many were looked at.
    """

    chain: int
    point: Floats
    names: tuple[str, ...]
    draws: int
    of: int

    def described(self, chain: str) -> str:
        """What was found, the other chain called by its setting."""
        place = [f"{name} {compact(value)}" for name, value in zip(self.names, self.point, strict=True)]
        shown = ", ".join([*place[:_SHOWN_NUMBERS], *(["..."] if len(place) > _SHOWN_NUMBERS else [])])
        return (
            f"The chain of the best setting missed a mode that others found: {self.draws} of "
            f"{count(self.of, 'draw')} looked at of {chain} lie where the target is denser than at a tenth of its "
            "own draws, but beyond a valley of less than half their density, seen from the denser half of these; the "
            f"densest at {shown}. A Stein discrepancy does not see what no draw has come near: run longer chains, or "
            "start them in all modes."
        )


def missed_mode(best: Sample, others: Sequence[Sample], target: Target) -> MissedMode | None:
    """The mode with the densest draw of other chains that the best one missed; None if none is seen.

    Parameters
    ----------
    best : Sample
    others : sequence of Sample
    target : Target
        With a log density.
    """
    own, looked_at = _some(best), [_some(each) for each in others]
    scale = np.concatenate([own, *looked_at]).std(axis=0)
    scale[scale == 0.0] = 1.0
    at_own = target.log_density(own)
    level, middle = np.quantile(at_own, [_AS_DENSE, 0.5])
    own, at_own = own[at_own >= middle], at_own[at_own >= middle]
    found: tuple[float, MissedMode] | None = None
    for chain, points in enumerate(looked_at):
        density = target.log_density(points)
        cut_off = np.zeros(len(points), dtype=bool)
        dense = density >= level
        if dense.any():
            cut_off[dense] = _cut_off(points[dense], density[dense], own, at_own, scale, target)
        if cut_off.any():
            top = int(np.argmax(np.where(cut_off, density, -np.inf)))
            if found is None or density[top] > found[0]:
                mode = MissedMode(chain, points[top], best.names, int(cut_off.sum()), len(points))
                found = float(density[top]), mode
    return None if found is None else found[1]


def _cut_off(points: Floats, density: Floats, own: Floats, at_own: Floats, scale: Floats, target: Target) -> Booleans:
    """Which points lie beyond a valley of the density, seen from the nearest of the best chain's draws."""
    from scipy.spatial import cKDTree

    nearest = cKDTree(own / scale).query(points / scale)[1]
    way = points[:, None] + _STEPS[:, None] * (own[nearest] - points)[:, None]
    lowest = target.log_density(way.reshape(-1, points.shape[1])).reshape(len(points), -1).min(axis=1)
    cut_off: Booleans = lowest < np.minimum(density - _FALL, at_own[nearest] - _FALL_BEYOND)
    return cut_off


def _some(sample: Sample) -> Floats:
    """Draws that carry weight, evenly spaced where there are many."""
    points = sample.points[sample.probabilities > 0.0]
    places = np.linspace(0, len(points) - 1, min(len(points), _LOOKED_AT)).round().astype(int)
    some: Floats = points[np.unique(places)]
    return some
