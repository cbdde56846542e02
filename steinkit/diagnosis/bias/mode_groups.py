"""Identification of modes, and estimation of their masses by bridge sampling.

**Bridge sampling** estimates the mass Z of a region under an unnormalized density p from draws in the region and draws
from a proposal q. Let x_i be draws from p / Z within the region and y_j draws from q, and let l = log p - log q, where
p is set to zero outside the region. If a fraction s_1 of all the points are draws and s_2 = 1 - s_1 are proposals, log
Z is the root z of

    s_1 mean_i [ s(z - l(x_i) - M) ]  =  s_2 mean_j [ s(l(y_j) - z + M) ],      M = log(s_1 / s_2),

where s is the logistic function. This is the Bennett acceptance ratio, the bridge estimator with the smallest variance.
To compute s_1, the number of draws is divided by the autocorrelation time of the terms on the left-hand side. The terms
on both sides are bounded, so their relative variances can be estimated reliably even if the overlap of p and q is
small. The sum of the relative variances is the relative variance of Z. The proposal q is a t distribution with seven
degrees of freedom and the mean and covariance of one half of the draws. The estimate uses the other half. The halves
are then exchanged.

**Groups** are separated by valleys in the density. Draws are split repeatedly until no group has a valley indicated by
the scores or a gap much wider than the neighboring gaps. Groups are merged if the log density has no valley on the line
between their densest draws. A t distribution is fitted to each group, and a point belongs to the mode with the largest
fitted density. These regions partition the space, so their masses are well defined.

References
----------
C. H. Bennett (1976), "Efficient estimation of free energy differences from Monte Carlo data", J. Comput. Physics 22.
X.-L. Meng and W. H. Wong (1996), "Simulating ratios of normalizing constants via a simple identity", Stat. Sinica 6.
A. M. Overstall and J. J. Forster (2010), "Default Bayesian model determination methods for generalised linear mixed
models", CSDA 54, on using separate draws to fit the proposal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from steinkit.autocorrelation import Chains, long_run_times
from steinkit.diagnosis.bias.stein_regression import Frame, Operand
from steinkit.diagnosis.bias.valleys import VALLEY_DEPTH, deepest_valley, directions_of
from steinkit.draws import ChainDraws
from steinkit.errors import InputError
from steinkit.runtime.deadlines import require_time
from steinkit.sample import Floats, Integers
from steinkit.text import count

_FREEDOM = 7.0
_BEYOND = 60.0  # the logistic function is numerically 0 or 1 beyond this absolute value

LogDensity = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class Proposal:
    """Multivariate t distribution.

    Attributes
    ----------
    centre : ndarray, shape (d,)
    root : ndarray, shape (d, d)
        Lower triangular factor L of the scale matrix L L'.
    """

    centre: Floats
    root: Floats

    @classmethod
    def fitted(cls, operand: Operand, rows: Integers | slice = slice(None)) -> Proposal:
        """Fit a distribution with a shrunk covariance to some of the draws in a mode."""
        frame, units = Frame.of(operand, rows), operand.units
        try:
            root = np.linalg.cholesky(frame.covariance)
        except np.linalg.LinAlgError:
            n = len(operand.draws.points)
            raise InputError(f"the {n} draws in a mode do not span the space; use more draws") from None
        return cls(units.centre + units.scale * frame.centre, units.scale[:, None] * root)

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw independent points and return an array of shape (n, d)."""
        normal = rng.standard_normal((n, len(self.centre)))
        return np.asarray(self.centre + normal @ self.root.T * np.sqrt(_FREEDOM / rng.chisquare(_FREEDOM, n))[:, None])

    def log_density(self, points: Floats) -> Floats:
        """Return the normalized log density as an array of shape (n,)."""
        from scipy.linalg import solve_triangular

        dim = len(self.centre)
        standard = solve_triangular(self.root, (points - self.centre).T, lower=True)
        constant = math.lgamma(0.5 * (_FREEDOM + dim)) - math.lgamma(0.5 * _FREEDOM)
        constant -= 0.5 * dim * math.log(math.pi * _FREEDOM) + float(np.log(np.diag(self.root)).sum())
        with np.errstate(over="ignore"):
            return np.asarray(constant - 0.5 * (_FREEDOM + dim) * np.log1p((standard**2).sum(axis=0) / _FREEDOM))


def bridge(at_draws: Floats, at_proposals: Floats, chains: Chains) -> tuple[float, float, float, float]:
    """Estimate the mass of a region by bridge sampling and by importance sampling.

    Parameters
    ----------
    at_draws : ndarray, shape (n,)
        Log ratios l at the draws in the region.
    at_proposals : ndarray, shape (m,)
        Log ratios l at the proposals, equal to -inf outside the region.
    chains : sequence of slice
        Rows of each chain.

    Returns
    -------
    log_mass, variance : float
        Logarithm of the mass by bridge sampling, and its variance. The variance is infinite if no proposal lies in the
        region.
    difference, variance_of_difference : float
        Logarithm of the mass by importance sampling minus `log_mass`, and the variance of this difference if both
        estimates were independent. Importance sampling uses only the proposals, so the two estimates differ if the
        draws do not come from the target.
    """
    from scipy.optimize import brentq
    from scipy.special import expit

    if not np.isfinite(at_proposals).any():
        return -math.inf, math.inf, 0.0, math.inf
    finite = np.concatenate([at_draws, at_proposals[np.isfinite(at_proposals)]])
    time = 1.0
    for _ in range(2):
        ratio = math.log(len(at_draws) / time / len(at_proposals))

        def sides(log_mass: float, ratio: float = ratio) -> tuple[Floats, Floats]:
            return expit(log_mass - at_draws - ratio), expit(at_proposals - log_mass + ratio)

        def excess(log_mass: float, ratio: float = ratio) -> float:
            share, (left, right) = 1.0 / (1.0 + math.exp(-ratio)), sides(log_mass, ratio)
            return float(share * left.mean() - (1.0 - share) * right.mean())

        reach = _BEYOND + abs(ratio)
        log_mass = float(brentq(excess, finite.min() - reach, finite.max() + reach, xtol=1e-10))
        left, right = sides(log_mass)
        time = float(long_run_times((left - left.mean())[None], chains)[0])
    variance = time * left.var() / left.mean() ** 2 / len(left) + right.var() / right.mean() ** 2 / len(right)
    with np.errstate(over="ignore", invalid="ignore"):
        alone = np.exp(at_proposals - log_mass)
        of_alone = alone.var() / alone.mean() ** 2 / len(alone)
        return log_mass, float(variance), float(np.log(alone.mean())), float(variance + of_alone)


_MOST_MODES = 10
_FEWEST_DRAWS = 30  # minimum number of draws in a mode
_CLEAR = 2.0  # smallest depth of a valley, in standard errors; the log density is checked afterwards
_NEIGHBORS = 12  # number of draws on each side of a gap that define its neighborhood
_WIDER = 1.0  # smallest width of a gap, relative to the combined span of its neighbors on both sides
_STEPS = np.linspace(0.0, 1.0, 18)[1:-1]  # positions along the line between two draws
_MOST_TAKEN = 0.05  # largest fraction of draws in a region that may belong to another mode
_ROUNDS = 2  # number of rounds of fitting and assignment


def separate_groups(draws: ChainDraws, bounds: Floats | None) -> list[Integers]:
    """Split draws at valleys and gaps, and return the row indices of each group."""
    pending, found = [np.arange(len(draws.points))], list[Integers]()
    while pending:
        require_time("identifying modes")
        rows = pending.pop()
        may_split = len(rows) >= 2 * _FEWEST_DRAWS and len(pending) + len(found) + 2 <= _MOST_MODES
        varies = np.ptp(draws.points[rows], axis=0).all()
        beyond = _beyond(draws.only(rows), bounds) if may_split and varies else None
        if beyond is None:
            found.append(rows)
        else:
            pending += [rows[~beyond], rows[beyond]]
    return found


@np.errstate(over="ignore", invalid="ignore")  # scores near a bound may overflow
def _beyond(draws: ChainDraws, bounds: Floats | None) -> NDArray[np.bool_] | None:
    """Return a mask of the draws beyond the deepest valley or the widest gap.

    Return None if there is neither a valley nor a gap.
    """
    operand = Operand.of(draws, bounds)
    valley = deepest_valley(operand, _CLEAR)
    if valley is not None:
        return np.asarray(operand.draws.points @ valley.direction > valley.position)
    projected = directions_of(operand) @ operand.draws.points.T
    ordered = np.sort(projected, axis=1)
    ends = np.arange(_FEWEST_DRAWS, ordered.shape[1] - _FEWEST_DRAWS + 1)  # upper ends of gaps
    low, high = ordered[:, ends - 1], ordered[:, ends]
    spans = low - ordered[:, ends - _NEIGHBORS] + ordered[:, ends + _NEIGHBORS - 1] - high
    wider = np.where(high > low + _WIDER * spans, high - low, 0.0)
    k, place = np.unravel_index(int(wider.argmax()), wider.shape)
    return None if wider[k, place] == 0.0 else projected[k] >= high[k, place]


def lowest_between(begin: Floats, end: Floats, log_density: LogDensity) -> Floats:
    """Return the minimum log density along each line segment between two points."""
    line = begin[:, None] + _STEPS[:, None] * (end - begin)[:, None]
    return np.asarray(log_density(line.reshape(-1, begin.shape[1])).reshape(len(begin), -1).min(axis=1))


def joined(groups: Sequence[Integers], peaks: Floats, heights: Floats, log_density: LogDensity) -> list[Integers]:
    """Merge groups if the density has no valley between their densest draws.

    Pairs are considered in descending order of the minimum density on the line between them. An isolated draw on a
    saddle is therefore merged with one mode and does not connect two modes.

    Parameters
    ----------
    groups : sequence of ndarray of int
        Rows of each group.
    peaks : ndarray, shape (k, d)
        The draw with the largest density in each group.
    heights : ndarray, shape (k,)
        Log density of these draws.
    log_density : callable
    """
    pairs = list(combinations(range(len(groups)), 2))
    first, second = np.array(pairs).T
    passes = lowest_between(peaks[first], peaks[second], log_density).tolist()
    to, top = list(range(len(groups))), heights.tolist()
    for height, (i, j) in sorted(zip(passes, pairs, strict=True), reverse=True):
        a, b = sorted((to[i], to[j]), key=lambda k: -top[k])
        if a != b and height >= top[b] - VALLEY_DEPTH:
            to = [a if each == b else each for each in to]
    rows = [np.concatenate([groups[k] for k in range(len(groups)) if to[k] == each]) for each in sorted(set(to))]
    return [np.sort(each) for each in rows]


def without_fragments(groups: list[Integers], points: Floats, log_density: LogDensity) -> list[Integers]:
    """Merge each group that is too small with its nearest neighbor.

    Small groups are often the ends of curved modes. A small group remains separate if a valley of the density separates
    it from its nearest neighbor.
    """
    from scipy.spatial.distance import cdist

    groups = sorted(groups, key=len, reverse=True)
    scale = points.std(axis=0)
    while len(groups) > 1 and len(groups[-1]) < _FEWEST_DRAWS:
        small, others = groups[-1], np.concatenate(groups[:-1])
        row, column = divmod(int(cdist(points[small] / scale, points[others] / scale).argmin()), len(others))
        ends = points[[small[row]]], points[[others[column]]]
        if lowest_between(*ends, log_density)[0] < min(float(log_density(end)[0]) for end in ends) - VALLEY_DEPTH:
            break
        k = next(k for k, rows in enumerate(groups) if others[column] in rows)
        groups[k] = np.sort(np.concatenate([groups[k], small]))
        groups = sorted(groups[:-1], key=len, reverse=True)
    return groups


def nearest(points: Floats, proposals: Sequence[Proposal]) -> Integers:
    """Return the index of the proposal with the largest density at each point."""
    return np.asarray(np.stack([each.log_density(points) for each in proposals]).argmax(axis=0))


def regions(
    draws: ChainDraws, groups: list[Integers], bounds: Floats | None
) -> tuple[list[tuple[Integers, Operand]], list[Proposal]]:
    """Assign draws to regions, and return the proposals and each region's draws.

    Raises
    ------
    InputError
        If a region contains many draws of another group, or a group has too few draws or does not span its space.
    """
    found = groups
    for _ in range(_ROUNDS):
        proposals = [Proposal.fitted(_operand(draws, rows, bounds, len(groups))) for rows in groups]
        where = nearest(draws.points, proposals)
        groups = [np.flatnonzero(where == k) for k in range(len(groups))]
    modes = [(rows, _operand(draws, rows, bounds, len(groups))) for rows in groups]
    for rows, before in zip(groups, found, strict=True):
        taken = len(np.setdiff1d(rows, before))
        if taken > _MOST_TAKEN * len(rows):
            raise InputError(
                f"a mode is too curved: {taken} of the {len(rows)} draws nearest to it belong to another mode; "
                "reparametrize the model"
            )
    return modes, proposals


def _operand(draws: ChainDraws, rows: Integers, bounds: Floats | None, modes: int) -> Operand:
    """Return the draws in one mode in units of their standard deviations.

    Raise InputError if there are too few draws or a coordinate is constant.
    """
    if len(rows) < _FEWEST_DRAWS:
        raise InputError(
            f"one of {modes} modes has {count(len(rows), 'draw')}, fewer than {_FEWEST_DRAWS}; run the sampler longer, "
            "start chains in every mode, or remove outliers"
        )
    alone = draws.only(rows)
    constant = np.flatnonzero((alone.points == alone.points[0]).all(axis=0))
    if len(constant):
        raise InputError(
            f"{draws.names[constant[0]]} is constant over the {len(rows)} draws that belong to a mode; omit it"
        )
    return Operand.of(alone, bounds)
