r"""Whether draws fall into groups between which the density has a valley: the score does not know their shares.

Along a direction v the marginal density p_v of v.x has the slope

    d/dt log p_v(t) = E[ v.s(x) | v.x = t ],      |v| = 1,

which draws show wherever they are, whatever the shares of the groups. Its integral from draw to draw, straight across
the gaps, is the logarithm of the marginal density; a valley is a place from which it rises on both sides. It is looked
for along coordinates, along principal axes, and along the line between the two halves that 2-means find; on a bounded
support along coordinates alone, since mass leaves other directions through the faces.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steinkit.discrepancy.bias.stein_features import Operand
from steinkit.sample import Floats, Integers

VALLEY_DEPTH = math.log(2.0)  # of a valley, below the lower of both modes
_CLEAR = 4.0  # standard errors
_BINS = 200
_FEWEST = 5  # draws in a bin
_GAPS = 5  # the widest, which end a bin
_SHARE = 0.005  # of the draws, on either side
_NEIGHBOURS = 9  # bins over which variances are averaged
_MOST_DIRECTIONS = 120
_MOST_DRAWS = 10_000  # looked at, evenly spread
_ROUNDS = 10  # of 2-means


@dataclass(frozen=True, eq=False)
class Valley:
    """Where draws fall apart.

    Attributes
    ----------
    coordinate : int
        The coordinate that the direction is nearest to.
    share : float
        Of the draws beyond the valley.
    depth : float
        Of the log density.
    direction : ndarray, shape (d,)
        Along which it lies.
    at : float
        Its place there.
    """

    coordinate: int
    share: float
    depth: float
    direction: Floats
    at: float


def deepest_valley(operand: Operand, clear: float = _CLEAR) -> Valley | None:
    """The deepest valley that is clear of noise; None if there is none.

    Parameters
    ----------
    operand : Operand
        Draws in standard units.
    clear : float
        Standard errors of its depth; fewer do where the density is asked afterwards.
    """
    found: Valley | None = None
    n = len(operand.points)
    if n < 2 * _FEWEST:
        return None
    directions = directions_of(operand)
    rows = np.arange(0, n, -(-n // _MOST_DRAWS))
    points, scores, shares = operand.points[rows], operand.draws.scores[rows], operand.draws.shares[rows]
    shares = shares / shares.sum()
    projected = points @ directions.T
    for k in _least_normal(projected, shares):
        valley = _along(projected[:, k], scores @ directions[k], shares, directions[k], clear)
        if valley is not None and (found is None or valley.depth > found.depth):
            found = valley
    return found


def directions_of(operand: Operand) -> Floats:
    """Coordinates, principal axes and the line between halves, shape (k, d)."""
    dim = operand.points.shape[1]
    if dim == 1 or operand.diffusion is not None:
        return np.eye(dim)
    shares = operand.draws.shares
    deviations = operand.points - shares @ operand.points
    axes = np.linalg.eigh((deviations * shares[:, None]).T @ deviations)[1].T
    between = _between_halves(deviations, shares, axes[-1])
    return np.vstack([np.eye(dim), axes, *([] if between is None else [between])])


def _least_normal(projected: Floats, shares: Floats) -> Integers:
    """Directions along which skewness and kurtosis are least those of a normal distribution: groups show in them."""
    z = projected - shares @ projected
    z /= np.maximum(np.sqrt(shares @ z**2), np.finfo(float).tiny)
    square = z * z  # powers would take a hundred times as long
    skewness, kurtosis = shares @ (square * z), shares @ (square * square)
    return np.argsort(-(skewness**2 / 6.0 + (kurtosis - 3.0) ** 2 / 24.0), kind="stable")[:_MOST_DIRECTIONS]


def _between_halves(points: Floats, shares: Floats, axis: Floats) -> Floats | None:
    """The direction from one mean of 2-means to the other, started along an axis."""
    upper = points @ axis > 0.0
    for _ in range(_ROUNDS):
        if not 0.0 < shares[upper].sum() < 1.0 or upper.all():
            return None
        means = [shares[side] @ points[side] / shares[side].sum() for side in (upper, ~upper)]
        step = means[0] - means[1]
        upper = points @ step > 0.5 * float((means[0] + means[1]) @ step)
    length = float(np.linalg.norm(step))
    return step / length if length > 0.0 else None


def _along(where: Floats, slope: Floats, shares: Floats, direction: Floats, clear: float) -> Valley | None:
    order = np.argsort(where, kind="stable")
    n = len(order)
    even = np.linspace(0, n, min(_BINS, n // _FEWEST) + 1).astype(int)
    widest = np.argpartition(-np.diff(where[order]), min(_GAPS, n - 2))[:_GAPS] + 1  # no bin reaches across these
    edges = np.union1d(even, widest)
    counts = np.diff(edges)
    shares = shares[order]
    weight = np.add.reduceat(shares, edges[:-1])
    t = np.add.reduceat(shares * where[order], edges[:-1]) / weight
    mean = np.add.reduceat(shares * slope[order], edges[:-1]) / weight
    change = 0.5 * np.diff(slope[order], prepend=slope[order[0]]) ** 2  # of neighbours, whatever trend they follow
    change[edges[:-1]] = 0.0
    spread = np.add.reduceat(change, edges[:-1]) / np.maximum(counts - 1.0, 1.0)
    window = np.ones(min(_NEIGHBOURS, len(t)))
    spread = np.convolve(spread, window, "same") / np.convolve(np.ones(len(t)), window, "same") / counts
    steps = np.diff(t)
    log_density, noise = _integral(steps / 8.0, mean, 3.0), _integral(steps**2 / 64.0, spread, 9.0)
    last = len(log_density) - 1
    left, right = _running_peaks(log_density), last - _running_peaks(log_density[::-1])[::-1]
    depth = np.minimum(log_density[left], log_density[right]) - log_density
    error = np.sqrt(np.maximum(noise - noise[left], noise[right] - noise))
    beyond = np.repeat(1.0 - np.cumsum(weight), 2)[:-1]
    found = (depth > VALLEY_DEPTH) & (depth > clear * error) & (np.minimum(beyond, 1.0 - beyond) > _SHARE)
    if not found.any():
        return None
    k = int(np.where(found, depth, 0.0).argmax())
    at = float(t[k // 2] + 0.5 * (k % 2) * (t[(k + 1) // 2] - t[k // 2]))
    return Valley(int(np.abs(direction).argmax()), float(beyond[k]), float(depth[k]), direction, at)


def _integral(steps: Floats, slope: Floats, near: float) -> Floats:
    """Up to the ends and the middles of steps, with the slope's two ends in these parts to one in each half step.

    A linear slope g from g_0 to g_1 adds (3 g_0 + g_1) / 8 of a step up to its middle; of their variances it is 9 to 1.
    """
    halves = np.stack([steps * (near * slope[:-1] + slope[1:]), steps * (slope[:-1] + near * slope[1:])])
    return np.concatenate([[0.0], np.cumsum(halves.T.ravel())])


def _running_peaks(values: Floats) -> np.ndarray:
    """For each place the place of the largest value so far."""
    peaks = np.maximum.accumulate(values)
    return np.maximum.accumulate(np.where(values == peaks, np.arange(len(values)), 0))
