"""Detection of modes that one chain missed but other chains visited.

A Stein discrepancy cannot detect a mode if no draw of the chain is near it, but draws from other chains may lie in this
mode. A draw x from another chain is in a missed mode if two conditions hold. First, the density at x is larger than the
density at a tenth of the chain's own draws. Second, a valley in the density separates x from y, the nearest comparable
draw of the chain. A draw is comparable if its density is at least half of the density at x, or at least the median
density over the chain's draws. A valley separates x and y if the density on the straight line from x to y falls below
half of the density at x and below three quarters of the density at y. A log-concave density has no such valley.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steinkit.diagnosis.bias.mode_groups import lowest_between
from steinkit.sample import Floats, Sample
from steinkit.target import Target

_FALL, _FALL_BEYOND = float(np.log(2.0)), float(np.log(4.0 / 3.0))  # valley depth below x and below y, in log density
_AS_DENSE = 0.1  # quantile of the log density at the chain's own draws
_MOST_DRAWS = 500  # maximum number of draws per chain


@dataclass(frozen=True)
class MissedMode:
    """A mode that a chain missed.

    Attributes
    ----------
    chain : int
        Index of the chain that visited the mode.
    place : dict of str to float
        The draw of that chain with the largest density.
    draws, of : int
        Number of draws of that chain that lie in missed modes, and number of its draws that were compared.
    """

    chain: int
    place: dict[str, float]
    draws: int
    of: int


def missed_mode(own: Sample, others: Mapping[int, Sample], target: Target) -> MissedMode | None:
    """Search the draws of other chains for a mode that one chain missed.

    Parameters
    ----------
    own : Sample
        Draws of the chain.
    others : mapping of int to Sample
        Other chains, keyed by number.
    target : Target
        A target with a log density.

    Returns
    -------
    MissedMode or None
        Among the missed modes, the one that contains the draw with the largest density. None if no missed mode was
        found.
    """
    if not others:
        return None
    points, compared = _some(own), {chain: _some(each) for chain, each in others.items()}
    scale = np.concatenate([points, *compared.values()]).std(axis=0)
    scale[scale == 0.0] = 1.0
    at_own = target.log_density(points)
    level = np.quantile(at_own, _AS_DENSE)
    found: list[tuple[float, MissedMode]] = []
    for chain, draws in compared.items():
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
    """Return a mask of the points that a valley separates from the chain's draws.

    The comparable draws exclude low-density draws between modes but include draws in a less dense mode.
    """
    from scipy.spatial.distance import cdist

    least = np.minimum(density - _FALL, np.median(at_own))[:, None]
    nearest = np.where(at_own >= least, cdist(points / scale, own / scale), np.inf).argmin(axis=1)
    lowest = lowest_between(points, own[nearest], target.log_density)
    return np.asarray(lowest < np.minimum(density - _FALL, at_own[nearest] - _FALL_BEYOND))


def _some(sample: Sample) -> Floats:
    """Return the draws with positive weight, thinned evenly to at most 500."""
    points = sample.points[sample.probabilities > 0.0]
    rows = np.linspace(0, len(points) - 1, min(len(points), _MOST_DRAWS)).round().astype(int)
    return np.asarray(points[np.unique(rows)])
