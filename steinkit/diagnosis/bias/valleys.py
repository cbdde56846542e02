"""Detection of valleys in the target's density between groups of draws.

If a valley of the density separates groups of draws, the score does not determine the weights of the groups. For a
direction v with |v| = 1, the marginal density p_v of v.x satisfies

    d/dt log p_v(t) = E[ v.s(x) | v.x = t ],

where s is the score. This slope can be estimated from the draws regardless of the proportions of the groups. The slope
is interpolated linearly between the draws and integrated to obtain the marginal log density. A valley is a point with
higher marginal density on both sides. The search covers the coordinates, the principal axes, and the line between the
two cluster means found by 2-means clustering. On a bounded support, the search covers only the coordinates because the
formula for the slope does not hold for other directions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steinkit.diagnosis.bias.stein_regression import Operand
from steinkit.sample import Floats, Integers

VALLEY_DEPTH = math.log(2.0)  # smallest depth in log density, below the lower of the two modes
_CLEAR = 4.0  # smallest depth in standard errors
_BINS = 200
_FEWEST = 5  # draws in a bin
_GAPS = 5  # number of widest gaps between draws that are used as bin edges
_SHARE = 0.005  # smallest fraction of the draws on either side of a valley
_NEIGHBORS = 9  # number of bins over which variances are averaged
_MOST_DIRECTIONS = 120
_MOST_DRAWS = 10_000
_ROUNDS = 10  # number of iterations of 2-means clustering


@dataclass(frozen=True, eq=False)
class Valley:
    """A valley of the density along a direction.

    Attributes
    ----------
    coordinate : int
        Coordinate with the largest component of the direction.
    share : float
        Fraction of the draws beyond the valley.
    depth : float
        Difference between the log densities at the lower of the two modes and in the valley.
    direction : ndarray, shape (d,)
    position : float
        Position along the direction.
    """

    coordinate: int
    share: float
    depth: float
    direction: Floats
    position: float


def deepest_valley(operand: Operand, clear: float = _CLEAR) -> Valley | None:
    """Return the deepest significant valley of the density, or None.

    Parameters
    ----------
    operand : Operand
    clear : float
        Smallest depth that is considered significant, in standard errors.
    """
    n = len(operand.draws.points)
    if n < 2 * _FEWEST:
        return None
    directions = directions_of(operand)
    draws = operand.draws.only(slice(None, None, -(-n // _MOST_DRAWS)))
    projected = draws.points @ directions.T
    found = (
        _valley_along(projected[:, k], draws.scores @ directions[k], draws.shares, directions[k], clear)
        for k in _least_normal(projected, draws.shares)
    )
    return max((each for each in found if each is not None), key=lambda each: each.depth, default=None)


def directions_of(operand: Operand) -> Floats:
    """Return coordinate axes, principal axes and the line between two clusters."""
    dim = operand.draws.points.shape[1]
    if dim == 1 or operand.diffusion is not None:
        return np.eye(dim)
    shares = operand.draws.shares
    deviations = operand.draws.points - shares @ operand.draws.points
    axes = np.linalg.eigh((deviations * shares[:, None]).T @ deviations)[1].T
    return np.vstack([np.eye(dim), axes, _between_clusters(deviations, shares, axes[-1])])


def _least_normal(projected: Floats, shares: Floats) -> Integers:
    """Return the indices of the directions with the least normal projections.

    The criterion compares skewness and kurtosis with those of a normal distribution.
    """
    z = projected - shares @ projected
    z /= np.maximum(np.sqrt(shares @ z**2), np.finfo(float).tiny)
    square = z * z  # computing third and fourth powers with `**` is a hundred times slower
    skewness, kurtosis = shares @ (square * z), shares @ (square * square)
    return np.argsort(-(skewness**2 / 6.0 + (kurtosis - 3.0) ** 2 / 24.0), kind="stable")[:_MOST_DIRECTIONS]


def _between_clusters(points: Floats, shares: Floats, axis: Floats) -> Floats:
    """Return the unit vector between the means of two clusters.

    The 2-means algorithm starts from the signs of the projections on an axis along which the centered points vary. No
    cluster becomes empty, because the outermost points along the line between the means stay in their clusters.
    """
    upper = points @ axis > 0.0
    for _ in range(_ROUNDS):
        means = [shares[side] @ points[side] / shares[side].sum() for side in (upper, ~upper)]
        step = means[0] - means[1]
        upper = points @ step > 0.5 * float((means[0] + means[1]) @ step)
    return np.asarray(step / np.linalg.norm(step))


def _valley_along(where: Floats, slope: Floats, shares: Floats, direction: Floats, clear: float) -> Valley | None:
    """Return the deepest significant valley along one direction.

    `where`, `slope` and `shares` are the positions, slopes and weights of the draws along the direction.
    """
    order = np.argsort(where, kind="stable")
    where, slope, shares = where[order], slope[order], shares[order]
    n = len(order)
    even = np.linspace(0, n, min(_BINS, n // _FEWEST) + 1).astype(int)
    widest = np.argpartition(-np.diff(where), min(_GAPS, n - 2))[:_GAPS] + 1
    edges = np.union1d(even, widest)
    weight = np.add.reduceat(shares, edges[:-1])
    t = np.add.reduceat(shares * where, edges[:-1]) / weight
    mean = np.add.reduceat(shares * slope, edges[:-1]) / weight
    steps = np.diff(t)
    log_density = _integral(steps / 8.0, mean, 3.0)
    last = len(log_density) - 1
    left, right = _running_peaks(log_density), last - _running_peaks(log_density[::-1])[::-1]
    depth = np.minimum(log_density[left], log_density[right]) - log_density
    if not (depth > VALLEY_DEPTH).any():
        return None
    change = 0.5 * np.diff(slope, prepend=slope[0]) ** 2  # differences between neighbors are not affected by a trend
    change[edges[:-1]] = 0.0
    counts = np.diff(edges)
    spread = np.add.reduceat(change, edges[:-1]) / np.maximum(counts - 1.0, 1.0)
    window = np.ones(min(_NEIGHBORS, len(t)))
    spread = np.convolve(spread, window, "same") / np.convolve(np.ones(len(t)), window, "same") / counts
    noise = _integral(steps**2 / 64.0, spread, 9.0)
    error = np.sqrt(np.maximum(noise - noise[left], noise[right] - noise))
    beyond = np.repeat(1.0 - np.cumsum(weight), 2)[:-1]
    found = (depth > VALLEY_DEPTH) & (depth > clear * error) & (np.minimum(beyond, 1.0 - beyond) > _SHARE)
    if not found.any():
        return None
    k = int(np.where(found, depth, 0.0).argmax())
    position = float(t[k // 2] + 0.5 * (k % 2) * (t[(k + 1) // 2] - t[k // 2]))
    return Valley(int(np.abs(direction).argmax()), float(beyond[k]), float(depth[k]), direction, position)


def _integral(steps: Floats, slope: Floats, near: float) -> Floats:
    """Integrate a slope up to the end and the midpoint of each step.

    Up to the midpoint, a linear slope from g_0 to g_1 contributes (3 g_0 + g_1) / 8 times the step length. The nearer
    end therefore has weight `near` = 3, and the other end has weight 1. For variances, the weights are 9 and 1.
    """
    halves = np.stack([steps * (near * slope[:-1] + slope[1:]), steps * (slope[:-1] + near * slope[1:])])
    return np.concatenate([[0.0], np.cumsum(halves.T.ravel())])


def _running_peaks(values: Floats) -> Integers:
    """Return, for each position, the index of the largest value up to it."""
    peaks = np.maximum.accumulate(values)
    return np.maximum.accumulate(np.where(values == peaks, np.arange(len(values)), 0))
