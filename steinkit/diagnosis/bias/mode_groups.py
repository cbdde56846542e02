"""Groups of draws that are modes, the regions they stand for, and the mass of these by bridge sampling.

**Bridge sampling** finds the mass of a region under an unnormalised density from draws in it and a proposal's. With a
proposal q, draws x_i of p / Z within the region and y_j of q, l = log p - log q, where p(y) = 0 outside of the region,
and shares s_1 and s_2 of draws and proposals among both, log Z is the root z of

    s_1 mean_i [ s(z - l(x_i) - M) ]  =  s_2 mean_j [ s(l(y_j) - z + M) ],      M = log(s_1 / s_2),

s the logistic function: Bennett's acceptance ratio, the bridge of least variance. Draws count as their number over the
autocorrelation time of the left side. Both sides have bounded terms, so that their relative variances, which add up to
that of Z, can be trusted wherever the two overlap, however poorly. The proposal is Student's t with seven degrees of
freedom and the mean and the covariance of one half of the draws; the other half is bridged; then the halves change
places.

**Groups** are found along valleys of the density, or given. Draws are split along their deepest valley, as scores show
it, or across a gap far wider than those beside it, until no part has one. What is no valley of the density itself,
between the densest draws of two parts, is put together again. A point belongs to the mode of which the t distribution
that is fitted to its draws is the densest there. These regions part the space, so that their masses are well defined
wherever the borders lie.

References
----------
C. H. Bennett (1976), "Efficient estimation of free energy differences from Monte Carlo data", J. Comput. Physics 22.
X.-L. Meng and W. H. Wong (1996), "Simulating ratios of normalizing constants via a simple identity", Stat. Sinica 6.
A. M. Overstall and J. J. Forster (2010), "Default Bayesian model determination methods for generalised linear mixed
models", CSDA 54: draws that fit the proposal must not be bridged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from steinkit.autocorrelation import Chains, long_run_times
from steinkit.diagnosis.bias.quantities import VALLEY_DEPTH, deepest_valley, directions_of, location_and_scale
from steinkit.diagnosis.bias.stein_regression import Frame, Operand
from steinkit.draws import Draws
from steinkit.errors import InputError
from steinkit.runtime.deadlines import require_time
from steinkit.sample import Floats, Integers
from steinkit.text import count
from steinkit.units import Units

_FREEDOM = 7.0
_BEYOND = 60.0  # of log ratios, at which the logistic function has reached its end


@dataclass(frozen=True, eq=False)
class Cluster:
    """Draws of one mode, in units of their own.

    Attributes
    ----------
    rows : ndarray of int
        Which of all draws.
    operand : Operand
        Chains and halves among these.
    units : Units
    points : ndarray, shape (n, d)
        In raw units.
    """

    rows: Integers
    operand: Operand
    units: Units
    points: Floats

    @classmethod
    def of(cls, draws: Draws, rows: Integers, bounds: Floats | None, names: tuple[str, ...]) -> Cluster:
        """Some of the draws; InputError if a coordinate is the same at all of them."""
        alone = draws.only(rows)
        still = np.flatnonzero((alone.points == alone.points[0]).all(axis=0))
        if len(still):
            raise InputError(f"{names[still[0]]} is the same at all {len(rows)} draws of a mode; leave it out")
        units = Units("own", *location_and_scale(alone.points, alone.shares), names)
        return cls(rows, Operand.of(alone, units, bounds), units, alone.points)

    def proposal(self, rows: Integers | slice = slice(None)) -> Proposal:
        """Fitted to some of the draws, the covariance shrunk."""
        frame = Frame.of(self.operand, rows)
        try:
            root = np.linalg.cholesky(frame.covariance)
        except np.linalg.LinAlgError:
            raise InputError(f"the {len(self.rows)} draws of a mode do not span their space; take more draws") from None
        return Proposal(self.units.centre + self.units.scale * frame.centre, self.units.scale[:, None] * root)


@dataclass(frozen=True, eq=False)
class Proposal:
    """A multivariate t distribution.

    Attributes
    ----------
    centre : ndarray, shape (d,)
    root : ndarray, shape (d, d)
        Lower triangle L; the scale matrix is L L'.
    """

    centre: Floats
    root: Floats

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Independent points, shape (n, d)."""
        normal = rng.standard_normal((n, len(self.centre)))
        return np.asarray(self.centre + normal @ self.root.T * np.sqrt(_FREEDOM / rng.chisquare(_FREEDOM, n))[:, None])

    def log_density(self, points: Floats) -> Floats:
        """Normalised, shape (n,)."""
        from scipy.linalg import solve_triangular

        dim = len(self.centre)
        standard = solve_triangular(self.root, (points - self.centre).T, lower=True)
        constant = math.lgamma(0.5 * (_FREEDOM + dim)) - math.lgamma(0.5 * _FREEDOM)
        constant -= 0.5 * dim * math.log(math.pi * _FREEDOM) + float(np.log(np.diag(self.root)).sum())
        with np.errstate(over="ignore"):
            return np.asarray(constant - 0.5 * (_FREEDOM + dim) * np.log1p((standard**2).sum(axis=0) / _FREEDOM))


def bridge(at_draws: Floats, at_proposals: Floats, chains: Chains) -> tuple[float, float, float, float]:
    """The logarithm of a region's mass and its variance; how far proposals alone differ, and the variance of that.

    Proposals alone do not know the draws: importance sampling differs from the bridge where draws in the region are
    not the target's. Both variances are added as if they were independent.

    Parameters
    ----------
    at_draws : ndarray, shape (n,)
        Log ratios l of the draws in the region.
    at_proposals : ndarray, shape (m,)
        Of those of the proposal; -inf outside of the region.
    chains : sequence of slice
        The draws of each chain, in order.

    Returns
    -------
    float, float, float, float
        The variance is infinite where no proposal lies in the region.
    """
    from scipy.special import expit

    if not np.isfinite(at_proposals).any():
        return -math.inf, math.inf, 0.0, math.inf
    time = 1.0
    for _ in range(2):
        ratio = math.log(len(at_draws) / time / len(at_proposals))
        log_mass = _root(at_draws, at_proposals, ratio)
        left, right = expit(log_mass - at_draws - ratio), expit(at_proposals - log_mass + ratio)
        time = float(long_run_times((left - left.mean())[None], chains)[0])
    variance = time * left.var() / left.mean() ** 2 / len(left) + right.var() / right.mean() ** 2 / len(right)
    with np.errstate(over="ignore", invalid="ignore"):
        alone = np.exp(at_proposals - log_mass)
        of_alone = alone.var() / alone.mean() ** 2 / len(alone)
        return log_mass, float(variance), float(np.log(alone.mean())), float(variance + of_alone)


def _root(at_draws: Floats, at_proposals: Floats, ratio: float) -> float:
    from scipy.optimize import brentq
    from scipy.special import expit

    share = 1.0 / (1.0 + math.exp(-ratio))

    def excess(log_mass: float) -> float:
        left, right = expit(log_mass - at_draws - ratio), expit(at_proposals - log_mass + ratio)
        return float(share * left.mean() - (1.0 - share) * right.mean())

    finite = np.concatenate([at_draws, at_proposals[np.isfinite(at_proposals)]])
    reach = _BEYOND + abs(ratio)
    return float(brentq(excess, finite.min() - reach, finite.max() + reach, xtol=1e-10))


MOST_MODES = 10
FEWEST_DRAWS = 30  # of a mode
_CLEAR = 2.0  # standard errors of a valley's depth: the density decides
_BESIDE = 12  # draws on either side of a gap
_WIDER = 1.0  # as long as both these spans together
_STEPS = np.linspace(0.0, 1.0, 18)[1:-1]  # of the way between two draws
_MOST_ASTRAY = 0.02  # of the draws of a group that was given, which lie in another's region
_MOST_TAKEN = 0.05  # of the draws of a mode's region, which valleys put in another group: the arm of a curved mode
_ROUNDS = 2  # of fitting and assigning

LogDensity = Callable[[Floats], Floats]


def separate_groups(draws: Draws, bounds: Floats | None, names: tuple[str, ...]) -> list[Integers]:
    """Rows of the draws, split along valleys."""
    pending, found = [np.arange(len(draws.points))], list[Integers]()
    while pending:
        require_time("modes were sought")
        rows = pending.pop()
        whole = len(rows) < 2 * FEWEST_DRAWS or len(pending) + len(found) + 2 > MOST_MODES
        beyond = None
        if not whole and np.ptp(draws.points[rows], axis=0).all():
            with np.errstate(over="ignore", invalid="ignore"):  # scores at a bound: what is not finite is no valley
                beyond = _beyond(Cluster.of(draws, rows, bounds, names).operand)
        if beyond is None:
            found.append(rows)
        else:
            pending += [rows[~beyond], rows[beyond]]
    return found


def _beyond(operand: Operand) -> NDArray[np.bool_] | None:
    """Which draws lie beyond the deepest valley or the widest gap."""
    valley = deepest_valley(operand, _CLEAR)
    if valley is not None:
        return np.asarray(operand.points @ valley.direction > valley.at)
    projected = directions_of(operand) @ operand.points.T
    ordered = np.sort(projected, axis=1)
    ends = np.arange(FEWEST_DRAWS, ordered.shape[1] - FEWEST_DRAWS + 1)  # of gaps, the upper
    low, high = ordered[:, ends - 1], ordered[:, ends]
    spans = low - ordered[:, ends - _BESIDE] + ordered[:, ends + _BESIDE - 1] - high
    wider = np.where(high > low + _WIDER * spans, high - low, 0.0)
    k, place = np.unravel_index(int(wider.argmax()), wider.shape)
    return None if wider[k, place] == 0.0 else projected[k] >= high[k, place]


def connections(peaks: Floats, log_density: LogDensity) -> list[tuple[float, int, int]]:
    """The lowest log density on the straight way between each two draws, (k, d), the highest such passes first."""
    pairs = list(combinations(range(len(peaks)), 2))
    first, second = np.array(pairs).T
    passes = _lowest(peaks[first], peaks[second], log_density)
    return sorted(((height, *pair) for height, pair in zip(passes.tolist(), pairs, strict=True)), reverse=True)


def _lowest(begin: Floats, end: Floats, log_density: LogDensity) -> Floats:
    """The lowest log density on the straight ways between points, (k, d)."""
    way = begin[:, None] + _STEPS[:, None] * (end - begin)[:, None]
    return np.asarray(log_density(way.reshape(-1, begin.shape[1])).reshape(len(begin), -1).min(axis=1))


def joined(
    groups: Sequence[Integers], heights: Floats, passes: Sequence[tuple[float, int, int]]
) -> tuple[list[Integers], tuple[int, int] | None]:
    """Groups of which no pass is as high as half of the lower peak's density, and the first two that had to be joined.

    Parameters
    ----------
    groups : sequence of ndarray of int
    heights : ndarray, shape (k,)
        Log densities of their densest draws.
    passes : sequence of (float, int, int)
        As `connections` has them: stragglers on a saddle join one side, and do not make one mode of both.
    """
    to, top = list(range(len(groups))), heights.tolist()
    first = None
    for height, i, j in passes:
        a, b = sorted((to[i], to[j]), key=lambda k: -top[k])
        if a != b and height >= top[b] - VALLEY_DEPTH:
            first = first or (i, j)
            to = [a if each == b else each for each in to]
    rows = [np.concatenate([groups[k] for k in range(len(groups)) if to[k] == each]) for each in sorted(set(to))]
    return [np.sort(each) for each in rows], first


def without_fragments(groups: list[Integers], points: Floats, log_density: LogDensity) -> list[Integers]:
    """Groups of which those too small for a mode join the nearest, if no valley parts them there: ends of curved modes.

    Parameters
    ----------
    groups : list of ndarray of int
    points : ndarray, shape (n, d)
    log_density : callable
    """
    from scipy.spatial.distance import cdist

    groups = sorted(groups, key=len, reverse=True)
    scale = points.std(axis=0)
    while len(groups) > 1 and len(groups[-1]) < FEWEST_DRAWS:
        small, others = groups[-1], np.concatenate(groups[:-1])
        row, column = divmod(int(cdist(points[small] / scale, points[others] / scale).argmin()), len(others))
        ends = points[[small[row]]], points[[others[column]]]
        if _lowest(*ends, log_density)[0] < min(float(log_density(end)[0]) for end in ends) - VALLEY_DEPTH:
            break
        k = next(k for k, rows in enumerate(groups) if others[column] in rows)
        groups[k] = np.sort(np.concatenate([groups[k], small]))
        groups = sorted(groups[:-1], key=len, reverse=True)
    return groups


def nearest(points: Floats, proposals: Sequence[Proposal]) -> Integers:
    """To which mode's region points belong."""
    return np.asarray(np.stack([each.log_density(points) for each in proposals]).argmax(axis=0))


def regions(
    draws: Draws, groups: list[Integers], bounds: Floats | None, names: tuple[str, ...], called: Sequence[str]
) -> tuple[list[Cluster], list[Proposal]]:
    """The draws by regions, and the proposals that bound these.

    Parameters
    ----------
    draws : Draws
    groups : list of ndarray of int
        Rows of each.
    bounds : ndarray, shape (d, 2), or None
    names : tuple of str
        Of the coordinates.
    called : sequence of str
        The labels of groups that were given; empty where they were found.

    Raises
    ------
    InputError
        If groups that were given overlap, a region that was found cuts through a curved mode, or a mode has too few
        draws.
    """
    found = groups
    for turn in range(_ROUNDS + 1):
        for rows in groups:
            if len(rows) < FEWEST_DRAWS:
                raise InputError(
                    f"one of {len(groups)} modes has {count(len(rows), 'draw')}, where {FEWEST_DRAWS} are wanted; run "
                    "the sampler longer, start chains in every mode, or drop what is an outlier"
                )
        clusters = [Cluster.of(draws, rows, bounds, names) for rows in groups]
        if turn == _ROUNDS:
            break
        proposals = [each.proposal() for each in clusters]
        where = nearest(draws.points, proposals)
        for label, rows, k in zip(called, groups, range(len(groups)), strict=False):
            astray = where[rows][where[rows] != k]
            if len(astray) > _MOST_ASTRAY * len(rows):
                other = called[int(np.bincount(astray).argmax())]
                raise InputError(
                    f"the modes overlap: {len(astray)} of {len(rows)} draws of label {label} lie where those of "
                    f"{other} are denser; give the two the same label"
                )
        groups = [np.flatnonzero(where == k) for k in range(len(groups))]
    for cluster, rows in () if called else zip(clusters, found, strict=True):
        taken = len(np.setdiff1d(cluster.rows, rows))
        if taken > _MOST_TAKEN * len(cluster.rows):
            raise InputError(
                f"a mode is curved too far: {taken} of {len(cluster.rows)} draws nearest to one mode belong to "
                "another; change the parametrisation, or give labels="
            )
    return clusters, proposals
