r"""Where along a line there are too many draws, or too few, by the slope of the target's log density alone.

If the distribution of the other coordinates given u is right, the mean of the score along the line over the draws near
u is the slope of the target's marginal log density there, whatever the draws' own marginal is. Integrated from bin to
bin, and continued beyond the outermost draws with the slope at the ends, it gives the target's mass in every bin; the
draws' mass there is counted. Both distribution functions are compared at the edges of the bins.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steinkit.sample import Floats

_PER_BIN = 50  # draws, at the least
_MOST_BINS = 20
_STEEPEST = 700.0  # rise of a log density beyond the last draw, above which its exponential overflows
_AN_INTERVAL = 1.35  # times what one threshold parts, from which an interval is said


@dataclass(frozen=True)
class MisplacedMass:
    """The interval in which the share of the draws is furthest from the target's.

    Attributes
    ----------
    low, high : float
        Its ends; one of them may be infinite.
    excess : float
        The share of the draws that lie in it, less the target's; negative where there are too few.
    """

    low: float
    high: float
    excess: float


def misplaced_mass(
    along: Floats, pull: Floats, shares: Floats, bounds: tuple[float, float] = (-math.inf, math.inf)
) -> MisplacedMass:
    """Find where draws are too many, or too few.

    Parameters
    ----------
    along : ndarray, shape (n,)
        u of each draw.
    pull : ndarray, shape (n,)
        Score along u.
    shares : ndarray, shape (n,)
        Probabilities of the draws.
    bounds : tuple of two floats
        Of u, where the support is bounded.
    """
    order = np.argsort(along, kind="stable")
    u, slope, mass = along[order], pull[order], shares[order]
    bins = min(max(len(u) // _PER_BIN, 4), _MOST_BINS)
    reached = np.cumsum(mass)
    starts = np.searchsorted(reached, np.arange(bins) / bins * reached[-1])
    starts = np.unique(np.searchsorted(u, u[starts]))  # draws at the same place are in the same bin
    mass_of_bins = np.add.reduceat(mass, starts)
    slopes = np.add.reduceat(mass * slope, starts) / mass_of_bins
    edges = np.append(u[starts], u[-1])
    target = _masses(edges, slopes, bounds)
    difference = np.cumsum(np.concatenate([[0.0], mass_of_bins, [0.0]]) / reached[-1] - target)[:-1]
    return _furthest(edges, difference)


def _masses(edges: Floats, slopes: Floats, bounds: tuple[float, float]) -> Floats:
    """Mass of the log density with these slopes between the edges: below, in each bin, and above; its sum is one."""
    width = np.diff(edges)
    height = np.concatenate([[0.0], np.cumsum(slopes * width)])
    height = np.exp(height - height.max())
    inside = _under_exponential(np.maximum(height[:-1], height[1:]), slopes, width)
    below = _beyond(height[0], -slopes[0], edges[0] - bounds[0])
    above = _beyond(height[-1], slopes[-1], bounds[1] - edges[-1])
    masses = np.concatenate([[below], inside, [above]])
    return np.asarray(masses / masses.sum())


def _under_exponential(top: Floats, slope: Floats, width: Floats) -> Floats:
    """The integral of an exponential between two places, from its larger value there."""
    steep = np.abs(slope)
    return np.where(
        steep * width > 0.0, top * -np.expm1(-steep * width) / np.where(steep > 0.0, steep, 1.0), top * width
    )


def _beyond(height: float, slope: float, width: float) -> float:
    """The integral of an exponential from here on; none where it rises without end."""
    rises = slope >= 0.0
    if math.isinf(width):
        return 0.0 if rises else height / -slope
    top = height * math.exp(min(slope * width, _STEEPEST)) if rises else height
    return float(_under_exponential(np.array(top), np.array(slope), np.array(width)))


def _furthest(edges: Floats, difference: Floats) -> MisplacedMass:
    """One threshold, or an interval where that parts the distributions much better."""
    at = int(np.argmax(np.abs(difference)))
    first, last = sorted((int(difference.argmin()), int(difference.argmax())))
    if abs(difference[last] - difference[first]) > _AN_INTERVAL * abs(difference[at]):
        return MisplacedMass(float(edges[first]), float(edges[last]), float(difference[last] - difference[first]))
    if at < len(edges) // 2:
        return MisplacedMass(-math.inf, float(edges[at]), float(difference[at]))
    return MisplacedMass(float(edges[at]), math.inf, -float(difference[at]))
