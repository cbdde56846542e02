"""Whether a chain missed a mode that other chains found.

No Stein discrepancy sees a mode that no draw has come near. Draws of other chains say where else to look: at a draw of
theirs where the target is denser than at a tenth of the chain's own draws, and which is cut off from those of these
that are at least half as dense, or of their denser half. Cut off means that on the straight way to the nearest of them,
in standard units of all draws together, the density falls below half of that at the draw and below three quarters of
that at the other end. Where the log density is concave it never does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steinkit.sample import Floats, Sample
from steinkit.target import Target

_FALL, _FALL_BEYOND = float(np.log(2.0)), float(np.log(4.0 / 3.0))  # of the log density, from either end to the valley
_AS_DENSE = 0.1  # quantile of the log density at the chain's own draws
_STEPS = np.linspace(0.0, 1.0, 18)[1:-1]  # of the way
_LOOKED_AT = 500  # draws of a chain


@dataclass(frozen=True)
class MissedMode:
    """A mode that a chain missed.

    Attributes
    ----------
    chain : int
        The chain that found it, by its number.
    place : dict of str to float
        The draw of that chain where the target is densest.
    draws, of : int
        How many of that chain's draws that were looked at lie in such modes, and how many were looked at.
    """

    chain: int
    place: dict[str, float]
    draws: int
    of: int


def missed_mode(own: Sample, others: Mapping[int, Sample], target: Target) -> MissedMode | None:
    """Look for modes that a chain missed in draws of other chains.

    Parameters
    ----------
    own : Sample
    others : mapping of int to Sample
        Other chains by their numbers.
    target : Target
        With a log density.

    Returns
    -------
    MissedMode or None
        The one with the densest of these draws; None if none is seen.
    """
    if not others:
        return None
    points, looked_at = _some(own), {chain: _some(each) for chain, each in others.items()}
    scale = np.concatenate([points, *looked_at.values()]).std(axis=0)
    scale[scale == 0.0] = 1.0
    at_own = target.log_density(points)
    level = np.quantile(at_own, _AS_DENSE)
    found: list[tuple[float, MissedMode]] = []
    for chain, draws in looked_at.items():
        density = target.log_density(draws)
        cut_off = density >= level
        if cut_off.any():
            cut_off[cut_off] = _cut_off(draws[cut_off], density[cut_off], points, at_own, scale, target)
        if cut_off.any():
            top = int(np.argmax(np.where(cut_off, density, -np.inf)))
            place = dict(zip(own.names, draws[top].tolist(), strict=True))
            found.append((float(density[top]), MissedMode(chain, place, int(cut_off.sum()), len(draws))))
    return max(found, key=lambda each: each[0])[1] if found else None


def _cut_off(
    points: Floats, density: Floats, own: Floats, at_own: Floats, scale: Floats, target: Target
) -> NDArray[np.bool_]:
    """Which points lie beyond a valley of the density, seen from the nearest of the chain's own draws.

    Strays on the way to a mode, where the density is low, are not draws in it; those in a mode that is less dense are.
    """
    from scipy.spatial.distance import cdist

    least = np.minimum(density - _FALL, np.median(at_own))[:, None]
    nearest = np.where(at_own >= least, cdist(points / scale, own / scale), np.inf).argmin(axis=1)
    way = points[:, None] + _STEPS[:, None] * (own[nearest] - points)[:, None]
    lowest = target.log_density(way.reshape(-1, points.shape[1])).reshape(len(points), -1).min(axis=1)
    cut_off: NDArray[np.bool_] = lowest < np.minimum(density - _FALL, at_own[nearest] - _FALL_BEYOND)
    return cut_off


def _some(sample: Sample) -> Floats:
    """Draws that carry weight, evenly spaced where there are many."""
    points = sample.points[sample.probabilities > 0.0]
    places = np.linspace(0, len(points) - 1, min(len(points), _LOOKED_AT)).round().astype(int)
    some: Floats = points[np.unique(places)]
    return some
