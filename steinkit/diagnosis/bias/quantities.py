"""What biases are estimated of: the coordinates of draws and functions of them, where the draws are or have gone.

**Valleys.** Do draws fall into groups between which the density has a valley? The score does not know their shares.
Along a direction v the marginal density p_v of v.x has the slope

    d/dt log p_v(t) = E[ v.s(x) | v.x = t ],      |v| = 1,

which draws show wherever they are, whatever the shares of the groups. Its integral from draw to draw, straight across
the gaps, is the logarithm of the marginal density; a valley is a place from which it rises on both sides. It is looked
for along coordinates, along principal axes, and along the line between the two halves that 2-means find; on a bounded
support along coordinates alone, since mass leaves other directions through the faces.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from steinkit.diagnosis.bias.stein_regression import (
    Estimates,
    Frame,
    Operand,
    entropy_weights,
    regression_estimates,
    width_of,
)
from steinkit.discrepancy.bounded_features import joint_dependence
from steinkit.draws import Draws
from steinkit.errors import InputError, UsageError
from steinkit.sample import Floats, Integers
from steinkit.scored_sample import ScoredSample
from steinkit.target import Functions, call_checked
from steinkit.text import listed
from steinkit.units import Units, require_variation

VALLEY_DEPTH = math.log(2.0)  # of a valley, below the lower of both modes
_CLEAR_VALLEY = 4.0  # standard errors
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


def deepest_valley(operand: Operand, clear: float = _CLEAR_VALLEY) -> Valley | None:
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
    where, slope, shares = where[order], slope[order], shares[order]
    n = len(order)
    even = np.linspace(0, n, min(_BINS, n // _FEWEST) + 1).astype(int)
    widest = np.argpartition(-np.diff(where), min(_GAPS, n - 2))[:_GAPS] + 1  # no bin reaches across these
    edges = np.union1d(even, widest)
    counts = np.diff(edges)
    weight = np.add.reduceat(shares, edges[:-1])
    t = np.add.reduceat(shares * where, edges[:-1]) / weight
    mean = np.add.reduceat(shares * slope, edges[:-1]) / weight
    change = 0.5 * np.diff(slope, prepend=slope[0]) ** 2  # of neighbours, whatever trend they follow
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


_FEWEST_OF_SLOWEST = 30.0  # draws of what changes slowest: with fewer, regions may have wrong shares
_TURNED = 0.5  # mean of (x_j - m_j) s_j over draws and coordinates: -1 in right samples, 1 for scores of opposite sign
_CLEAR = 4.0  # standard errors; between two modes far apart these values are large, of either sign
_OFF_TOGETHER = 0.01  # p-value of the dependence of all pairs together
_LARGEST = 1e100  # of these values: squares of scores at a bound may be too large for a number
_LARGEST_SCORE = 1e140  # in units of a coordinate: of what is larger the sums of squares may overflow
_WORK = 5e9  # draws times squared features, above which weights are found with fewer features


@dataclass(frozen=True, eq=False)
class Quantities:
    """Draws in raw units with what is asked of them.

    Attributes
    ----------
    draws : Draws
    bounds : ndarray, shape (d, 2), or None
    functions : mapping of str to callable
    names : tuple of str
        Of the d coordinates, then of the functions: m in all.
    centre, scale : ndarray, shape (m,)
        Means and standard deviations over the draws.
    """

    draws: Draws
    bounds: Floats | None
    functions: Functions
    names: tuple[str, ...]
    centre: Floats
    scale: Floats

    @classmethod
    def of(cls, sample: ScoredSample, functions: Functions) -> Quantities:
        """Lay the draws out and evaluate the functions.

        Raises
        ------
        InputError
            If there are too few draws, a quantity never changes, a function fails, or the scores have the opposite
            sign.
        UsageError
            If a function has the name of a coordinate.
        """
        draws = sample.draws
        n, dim = draws.points.shape
        if n < dim:
            raise InputError(f"{n} draws are too few for {dim} coordinates: take as many draws as coordinates, or more")
        double = [name for name in functions if name in sample.points.names]
        if double:
            raise UsageError(f"{double[0]!r} is a coordinate of the draws; give the function another name")
        names = (*sample.points.names, *map(str, functions))
        values = np.hstack([draws.points, function_values(functions, draws.points)])
        centre, scale = location_and_scale(values, draws.shares)
        require_variation(values, names)
        silent = np.flatnonzero((draws.scores == draws.scores[0]).all(axis=0))
        if len(silent):
            said = listed([names[j] for j in silent])
            raise InputError(f"the score of {said} is the same at all draws, so that it tells nothing of a bias")
        found = cls(draws, sample.bounds, functions, names, centre, scale)
        found._require_sign()
        return found

    @property
    def dim(self) -> int:
        """Number of coordinates d."""
        return int(self.draws.points.shape[1])

    @np.errstate(over="ignore", invalid="ignore")
    def _require_sign(self) -> None:
        z = (self.draws.points - self.centre[: self.dim]) / self.scale[: self.dim]
        t = self.draws.scores * self.scale[: self.dim]
        if self.bounds is None and not np.abs(t).max() < _LARGEST_SCORE:
            raise InputError("the squares of scores overflow: rescale the draws, or repair their scores")
        values = np.einsum("nj,nj->n", z, t) / self.dim
        along = float(self.draws.shares @ values)
        if not along > _TURNED:
            return
        values -= along
        size = float(np.abs(values).max()) or 1.0
        values /= size
        time = float(self.draws.autocorrelation_times(values[None])[0])
        noise = size * float(np.sqrt(time) * np.linalg.norm(self.draws.shares * values))
        if size > _LARGEST or along + 1.0 > _CLEAR * noise:
            raise InputError(
                "the scores lead away from the draws' mean, as scores of the opposite sign do: is the score the "
                "gradient of the log density, or that of its negative?"
            )

    def moved(self, points: Floats, scores: Floats) -> Quantities:
        """The same quantities where the draws have gone; centre and scale stay those of the draws."""
        return replace(self, draws=replace(self.draws, points=points, scores=scores))

    def values(self) -> Floats:
        """Coordinates and functions where the draws are, shape (n, m)."""
        return np.hstack([self.draws.points, function_values(self.functions, self.draws.points)])

    def means(self) -> Floats:
        """Of the quantities where the draws are, shape (m,)."""
        return np.asarray(self.draws.shares @ self.values())

    @cached_property
    def operand(self) -> Operand:
        """The draws in units of their own standard deviations, with the Stein operator's coefficients."""
        centre, scale = location_and_scale(self.draws.points, self.draws.shares)
        return Operand.of(self.draws, Units("own", centre, scale, self.names[: self.dim]), self.bounds)

    def by_regression(self) -> Estimates:
        """Estimates in raw units."""
        values = self.values()
        centre, scale = location_and_scale(values, self.draws.shares)
        found = regression_estimates(self.operand, ((values - centre) / scale)[:, self.dim :])
        return replace(found, mean=centre + scale * found.mean, sd=scale * found.sd)

    def by_weights(self, weights: Floats, regression: Estimates) -> Estimates:
        """Means and standard deviations of weighted draws; half of what they differ from a regression's is claimed."""
        mean, sd = location_and_scale(self.values(), weights)
        return replace(regression, mean=mean, sd=sd).beside(regression)

    def entropy_weights(self) -> Floats | None:
        """Weights of largest entropy for the richest features that there are draws for; None if there are none."""
        operand = self.operand
        n, sets = len(operand.points), operand.joint_sets()
        if not sets:
            return None
        kind = sets[-1] if n * width_of(sets[-1], self.dim) ** 2 < _WORK else sets[0]
        everything = np.arange(n)
        return entropy_weights(Frame.of(operand, everything).joint(operand, everything, kind), operand.draws.shares)

    def hidden_dependence(self) -> str:
        """Why features of one coordinate each may be wrong about it; empty if nothing speaks for it."""
        pairs = "pairs" in self.operand.joint_sets()
        p = None if pairs else joint_dependence(self.operand.draws, self.bounds)
        if p is None or p > _OFF_TOGETHER:
            return ""
        return "the dependence of many coordinates is off, and there are too few draws to tell their pairs apart"

    def hidden_shares(self, slowest: float | None = None) -> tuple[str, bool]:
        """Why the shares of regions, which the score does not know, may be wrong; and whether the draws fall apart."""
        valley = deepest_valley(self.operand)
        slowest = self.operand.draws.of_slowest_change if slowest is None else slowest
        why = ""
        if slowest < _FEWEST_OF_SLOWEST:
            why = (
                f"there are {slowest:.0f} effective draws of what changes slowest, where {_FEWEST_OF_SLOWEST:.0f} are "
                "wanted, so that regions may have wrong shares; run longer"
            )
        elif valley is not None:
            why = (
                f"the draws fall into groups along {self.names[valley.coordinate]} ({valley.share:.0%} beyond a valley "
                "of the density), whose shares the score does not know"
            )
        return why, valley is not None


def location_and_scale(values: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """Means and standard deviations, in any units."""
    centre = shares @ values
    deviations = values - centre
    largest = np.maximum(np.abs(deviations).max(axis=0), np.finfo(float).tiny)
    return centre, largest * np.sqrt(shares @ (deviations / largest) ** 2)


def function_values(functions: Functions, points: Floats) -> Floats:
    """Values of the functions at draws, (n, d) -> (n, k)."""
    columns = np.empty((len(points), len(functions)))
    for k, (name, function) in enumerate(functions.items()):
        what = f"function {name!r}"
        values = call_checked(function, points, (len(points),), what)
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values))[0])
            raise InputError(f"{what} is {values[row]} at draw {row + 1}; it must be finite at every draw")
        columns[:, k] = values
    return columns


def varying(functions: Functions, points: Floats) -> tuple[Functions, tuple[str, ...]]:
    """Those that a target brings and that change at draws, (n, d), and what is said of the others."""
    values = function_values(functions, points)
    still = [name for name, column in zip(functions, values.T, strict=True) if (column == column[0]).all()]
    left_out = (f"{listed(still)} never changes in the draws: no bias of it is told",) if still else ()
    return {name: functions[name] for name in functions if name not in still}, left_out
