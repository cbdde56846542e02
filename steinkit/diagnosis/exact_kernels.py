"""Markov kernels that leave a target distribution invariant, for many draws at a time.

Each draw is moved on its own: the draws are the states of n independent chains. A kernel K with K P = P keeps draws of
the target P draws of P, whatever its settings are, as long as these do not depend on the draws' later positions.

**Hamiltonian Monte Carlo** moves x by leapfrog steps in the coordinates u = L^-1 x, with L L' a covariance matrix,

    p <- p + (e / 2) L' s(x),    x <- x + e L p,    p <- p + (e / 2) L' s(x),        p ~ N(0, I),

and accepts the last position with probability min(1, exp(log p(x') - log p(x) + |p|^2 / 2 - |p'|^2 / 2)). The step
length e is jittered per draw.

**Random-scale Metropolis moves** propose x + h v xi with xi ~ N(0, 1), v a scaled coordinate axis or principal axis
chosen at random, and a log-uniform scale h. They use the log density alone, so they cross edges of the support and
reach the narrow and the wide parts of a funnel.

**Group scale moves** change a coordinate t together with the scale of a group of coordinates a that it governs, as the
logarithm of a standard deviation does in a hierarchical model,

    t <- t + e,    a <- m + (a - m) exp(b e),        accepted with the Jacobian exp(b e (number of scaled directions)),

where m are the medians of a, or the mean of the group (one direction less). A coordinate with one bound enters by the
logarithm of its distance from the bound. The groups are found from correlations of log |a - median| with the ranks of
t; any choice leaves the target invariant.

A proposal is rejected where the log density is -inf, cannot be computed, or a trajectory leaves the range of numbers.

References
----------
S. Duane, A. D. Kennedy, B. J. Pendleton and D. Roweth (1987), "Hybrid Monte Carlo", Physics Letters B 195.
R. M. Neal (2011), "MCMC using Hamiltonian dynamics", Handbook of Markov Chain Monte Carlo, sections 5.2 and 5.3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from steinkit.runtime.deadlines import require_time
from steinkit.sample import Floats, Integers
from steinkit.target import Target, is_inside

_JITTER = (0.6, 1.4)
_FIRST_STEP = 0.9  # over d^(1/4), in standard deviations
_ACCEPTANCE = (0.6, 0.85)
_PILOT = 200  # draws on which the step length is tuned
_TUNING = 12  # moves of the pilot
_SCALES = (0.03, 3.0)
_GOVERNED, _CLEAR = 0.15, 5.0  # correlation of a governed scale at least, and in standard errors
_MOST_GROUPS = 8
_SCALE_MOVES = 4  # in a transition; twice as many without Hamiltonian Monte Carlo
_GROUP_MOVES = 2  # where a coordinate governs the scale of others
_FULL_METRIC = 100  # coordinates up to which axes and groups take correlations into account
_REACH = 5.0  # robust scales to which draws are clipped for their covariance
_LEAPFROGS = 6
GRADIENTS = _LEAPFROGS + 1  # per Hamiltonian move
_RUNAWAY = 1e6  # standard deviations from where a trajectory began
NODES = 6  # of Gauss-Legendre quadrature of the score along a proposed move


@dataclass(frozen=True, eq=False)
class State:
    """Positions of n chains.

    Attributes
    ----------
    points : ndarray, shape (n, d)
    log_density : ndarray, shape (n,)
        Up to a constant per chain where only the score is known.
    """

    points: Floats
    log_density: Floats


class Kernel(Protocol):
    """A Markov kernel that leaves the target invariant."""

    def move(self, state: State) -> tuple[State, float]:
        """Move every chain once; return the new state and the share of accepted proposals."""


class Density:
    """The log density at proposals, or its change along the way there where only the score is known.

    Parameters
    ----------
    target : Target
    bounds : ndarray, shape (d, 2), or None
        Of the support.

    Attributes
    ----------
    evaluations : int
        Points at which the log density or the score was evaluated.
    """

    def __init__(self, target: Target, bounds: Floats | None) -> None:
        self._target, self._bounds, self.evaluations = target, bounds, 0

    def at(self, state: State, points: Floats, nodes: int = NODES) -> Floats:
        """Return the log density at points that are proposed in a state, shape (n,); -inf outside the support."""
        if self._target.has_log_density:
            return self.of(points)
        values, step = state.log_density.copy(), points - state.points
        for place, weight in zip(*np.polynomial.legendre.leggauss(nodes), strict=True):
            scores = self.score(state.points + 0.5 * (1.0 + place) * step)
            values += 0.5 * weight * np.einsum("nj,nj->n", scores, step)
        return values if self._bounds is None else np.where(self.inside(points), values, -np.inf)

    def of(self, points: Floats) -> Floats:
        """Return the log density at any points, shape (n,); -inf outside the support, and where it is not a number."""
        self.evaluations += len(points)
        values = self._target.proposal_log_density(points)
        return values if self._bounds is None else np.where(self.inside(points), values, -np.inf)

    def at_draws(self, points: Floats, rows: Integers | None = None) -> Floats:
        """Return the log density at draws, shape (n,); InputError names one, of these rows, where it is not finite."""
        self.evaluations += len(points)
        return self._target.log_density_of_draws(points, draws=rows)

    def inside(self, points: Floats) -> NDArray[np.bool_]:
        """Return which points lie strictly within the bounds, shape (n,)."""
        return is_inside(points, self._bounds)

    def score(self, points: Floats) -> Floats:
        """Return the score at proposals, shape (n, d); NaN where it is not defined."""
        self.evaluations += len(points)
        return self._target.proposal_score(points)


class Hamiltonian:
    """Hamiltonian Monte Carlo with a tuned, fixed step length.

    Parameters
    ----------
    density : Density
    root : ndarray, shape (d, d) or (d,)
        Cholesky factor L of the inverse mass matrix, or its diagonal.
    rng : numpy.random.Generator
    """

    def __init__(self, density: Density, root: Floats, rng: np.random.Generator) -> None:
        self._density, self._root, self._rng = density, root, rng
        self._reach = _RUNAWAY * (root if root.ndim == 1 else np.linalg.norm(root, axis=1))
        self.step = _FIRST_STEP / len(root) ** 0.25

    def tune(self, state: State) -> None:
        """Set the step length to an acceptance rate of .6 to .85, on copies of up to 200 of the chains."""
        rows = np.linspace(0, len(state.points) - 1, min(_PILOT, len(state.points))).astype(np.int64)
        pilot = State(state.points[rows], state.log_density[rows])
        factor = 1.4
        for _ in range(_TUNING):
            accepted = self.move(pilot)[1]
            if _ACCEPTANCE[0] <= accepted <= _ACCEPTANCE[1]:
                return
            self.step *= factor if accepted > _ACCEPTANCE[1] else 1.0 / factor
            factor = 1.0 + 0.8 * (factor - 1.0)

    def move(self, state: State) -> tuple[State, float]:
        """Move every chain once; return the new state and the share of accepted proposals."""
        require_time("the draws were moved")
        points, lost = state.points, np.zeros(len(state.points), dtype=np.bool_)
        momentum = self._rng.standard_normal(points.shape)
        energy = _half_squares(momentum)
        steps = self.step * self._rng.uniform(*_JITTER, (len(points), 1))
        with np.errstate(all="ignore"):
            force = steps * self._pulled(self._density.score(points))
            momentum += 0.5 * force
            for k in range(_LEAPFROGS):
                points = points + steps * self._pushed(momentum)
                near = np.abs(points - state.points) < self._reach
                if not near.all():
                    lost |= ~near.all(axis=1)
                    points[lost] = state.points[lost]
                force = steps * self._pulled(self._density.score(points))
                momentum += force if k < _LEAPFROGS - 1 else 0.5 * force
            density = self._density.at(state, points)
            gain = density - state.log_density + energy - _half_squares(momentum)
            kept = ~lost & (np.log(self._rng.random(len(points))) < gain)  # False for NaN
        return _updated(state, kept, points, density)

    def _pushed(self, momentum: Floats) -> Floats:
        return momentum * self._root if self._root.ndim == 1 else momentum @ self._root.T

    def _pulled(self, scores: Floats) -> Floats:
        return scores * self._root if self._root.ndim == 1 else scores @ self._root


class RandomScale:
    """Metropolis moves of random scale along coordinates and principal axes.

    Parameters
    ----------
    density : Density
    directions : ndarray, shape (k, d)
        Axes, each as long as the draws spread along it.
    rng : numpy.random.Generator

    Attributes
    ----------
    outside : float
        Share of the proposals so far, within the bounds and one standard deviation, at which the density is zero.
    """

    def __init__(self, density: Density, directions: Floats, rng: np.random.Generator) -> None:
        self._density, self._directions, self._rng = density, directions, rng
        self._near, self._outside = 0, 0

    @property
    def outside(self) -> float:
        """Share of near proposals at which the density is zero."""
        return self._outside / max(1, self._near)

    def move(self, state: State) -> tuple[State, float]:
        """Move every chain once; return the new state and the share of accepted proposals."""
        require_time("the draws were moved")
        n, rng = len(state.points), self._rng
        length = np.exp(rng.uniform(math.log(_SCALES[0]), math.log(_SCALES[1]), n)) * rng.standard_normal(n)
        points = state.points + length[:, None] * self._directions[rng.integers(len(self._directions), size=n)]
        density = self._density.at(state, points)
        near = (np.abs(length) < 1.0) & self._density.inside(points)
        self._near += int(near.sum())
        self._outside += int((near & (density == -np.inf)).sum())
        with np.errstate(all="ignore"):
            kept = np.log(rng.random(n)) < density - state.log_density
        return _updated(state, kept, points, density)


@dataclass(frozen=True, eq=False)
class Group:
    """A coordinate and those whose scale it governs.

    Attributes
    ----------
    scale : int
        The coordinate t.
    bound : float
        The bound from which t keeps its distance; infinite if it has none.
    members : ndarray of int
        The coordinates a.
    medians : ndarray
        Of the members.
    slope : float
        Change of log |a - m| per change of t, or of the logarithm of its distance from the bound.
    spread : float
        Standard deviation of the latter.
    """

    scale: int
    bound: float
    members: Integers
    medians: Floats
    slope: float
    spread: float


def groups_of(points: Floats, bounds: Floats | None) -> list[Group]:
    """Find up to eight coordinates that govern the scale of others, from draws of shape (n, d)."""
    n, dim = points.shape
    if dim == 1:
        return []
    medians = np.median(points, axis=0)
    ranks = np.argsort(np.argsort(points.T, axis=1), axis=1).astype(np.float64)
    sizes = np.log(np.abs(points - medians) + np.finfo(float).tiny)
    correlations = np.corrcoef(ranks, sizes.T)[:dim, dim:]
    found = []
    for t in range(dim):
        clear = np.abs(correlations[t]) > max(_GOVERNED, _CLEAR / math.sqrt(n))
        clear[t] = False
        same = np.sign(correlations[t]) == np.sign(correlations[t][clear].sum())
        members = np.flatnonzero(clear & same)
        finite = [] if bounds is None else [float(each) for each in bounds[t] if np.isfinite(each)]
        if len(members) and len(finite) < 2:
            bound = finite[0] if finite else math.inf
            place = points[:, t] if not finite else np.log(np.abs(points[:, t] - bound))
            center = points[:, members].mean(axis=1, keepdims=True) if len(members) > 2 else medians[members]
            size = np.log(np.abs(points[:, members] - center) + np.finfo(float).tiny).mean(axis=1)
            slope = float(np.cov(place, size)[0, 1] / place.var())
            group = Group(t, bound, members, medians[members], slope, float(place.std()))
            if abs(slope) * group.spread > _GOVERNED:
                found.append((float(np.abs(correlations[t][members]).sum()), group))
    return [group for _, group in sorted(found, key=lambda each: -each[0])[:_MOST_GROUPS]]


class GroupScale:
    """Metropolis moves of a coordinate and of the scale of the group that it governs.

    Parameters
    ----------
    density : Density
    groups : list of Group
        At least one.
    rng : numpy.random.Generator
    """

    def __init__(self, density: Density, groups: list[Group], rng: np.random.Generator) -> None:
        self._density, self._groups, self._rng = density, groups, rng

    def move(self, state: State) -> tuple[State, float]:
        """Move every chain once, for one of the groups; return the new state and the share of accepted proposals."""
        require_time("the draws were moved")
        n, rng = len(state.points), self._rng
        group = self._groups[rng.integers(len(self._groups))]
        step = group.spread * np.exp(rng.uniform(math.log(0.1), math.log(_SCALES[1]), n)) * rng.standard_normal(n)
        points, members = state.points.copy(), state.points[:, group.members]
        with np.errstate(all="ignore"):
            jacobian = group.slope * step * len(group.members)
            center = group.medians
            if len(group.members) > 1 and rng.random() < 0.5:
                center = members.mean(axis=1, keepdims=True)
                jacobian -= group.slope * step
            points[:, group.members] = center + (members - center) * np.exp(group.slope * step)[:, None]
            if np.isfinite(group.bound):
                points[:, group.scale] = group.bound + (points[:, group.scale] - group.bound) * np.exp(step)
                jacobian += step
            else:
                points[:, group.scale] += step
            density = self._density.at(state, points)
            kept = np.log(rng.random(n)) < density - state.log_density + jacobian
        return _updated(state, kept, points, density)


class Composite:
    """All three kernels in turn, with settings learned from draws.

    A transition is one of Hamiltonian Monte Carlo, where the target has a log density and its own gradient, several
    random-scale moves, and moves of group scales, where there are such groups.

    Parameters
    ----------
    target : Target
    density : Density
    points : ndarray, shape (n, d)
        Draws from which axes, step length and groups are learned.
    shares : ndarray, shape (n,)
        Their weights, of sum one.
    bounds : ndarray, shape (d, 2), or None
        Of the support.
    rng : numpy.random.Generator
    """

    def __init__(
        self,
        target: Target,
        density: Density,
        points: Floats,
        shares: Floats,
        bounds: Floats | None,
        rng: np.random.Generator,
    ) -> None:
        root, self.directions = axes(points, shares)
        self._hamiltonian = Hamiltonian(density, root, rng) if target.can_be_checked else None
        self._scales = RandomScale(density, self.directions, rng)
        self._kernels: list[tuple[Kernel, int]] = [
            (self._scales, _SCALE_MOVES if self._hamiltonian else 2 * _SCALE_MOVES)
        ]
        if self._hamiltonian:
            self._kernels.insert(0, (self._hamiltonian, 1))
        if len(root) <= _FULL_METRIC and (groups := groups_of(points, bounds)):
            self._kernels.append((GroupScale(density, groups, rng), _GROUP_MOVES))

    @property
    def outside(self) -> float:
        """Share of near proposals, within the bounds, at which the density is zero."""
        return self._scales.outside

    def tune(self, state: State) -> None:
        """Set the step length of Hamiltonian Monte Carlo."""
        if self._hamiltonian:
            self._hamiltonian.tune(state)

    def move(self, state: State) -> tuple[State, float]:
        """Move every chain once; return the new state and the share of accepted proposals."""
        rates = []
        for kernel, times in self._kernels:
            for _ in range(times):
                state, rate = kernel.move(state)
                rates.append(rate)
        return state, float(np.mean(rates))


def evaluations_per_transition(target: Target) -> int:
    """Return the evaluations of the density or the score per draw, without moves of group scales."""
    return GRADIENTS + 1 + _SCALE_MOVES if target.can_be_checked else 2 * _SCALE_MOVES


def axes(points: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """Return the root of the inverse mass matrix and the directions of scale moves, from clipped draws."""
    n, dim = points.shape
    centre, scale = robust_units(points, shares)
    z = np.clip(points - centre, -_REACH * scale, _REACH * scale)
    z -= shares @ z
    variances = shares @ z**2
    axes = np.diag(np.sqrt(variances))
    if dim > _FULL_METRIC:
        return np.sqrt(variances), axes
    shrinkage = min(1.0, dim / n)
    covariance = (1.0 - shrinkage) * (z * shares[:, None]).T @ z + shrinkage * np.diag(variances)
    eigenvalues, vectors = np.linalg.eigh(covariance)
    eigenvalues = np.maximum(eigenvalues, 1e-12 * eigenvalues[-1])
    return vectors * np.sqrt(eigenvalues), np.vstack([axes, (vectors * np.sqrt(eigenvalues)).T])


def robust_units(points: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """Return the medians and half the distances of the 16 % and 84 % quantiles, or sds where most draws are equal."""
    low, middle, high = quantiles(points, shares)
    deviation = np.sqrt(shares @ (points - middle) ** 2)
    return middle, np.where(high - low > 1e-3 * deviation, 0.5 * (high - low), deviation)


def quantiles(values: Floats, shares: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the 16, 50 and 84 % quantiles of columns of weighted values, each of shape (d,)."""
    rows = np.ascontiguousarray(values.T)
    order = np.argsort(rows, axis=1, kind="stable")
    reached = np.cumsum(shares[order], axis=1)
    places = (np.argmax(reached >= q * reached[:, -1:], axis=1)[:, None] for q in (0.16, 0.5, 0.84))
    low, middle, high = (np.take_along_axis(rows, np.take_along_axis(order, at, 1), 1)[:, 0] for at in places)
    return low, middle, high


def _half_squares(momentum: Floats) -> Floats:
    return np.asarray(0.5 * np.einsum("nj,nj->n", momentum, momentum))


def _updated(state: State, kept: NDArray[np.bool_], points: Floats, density: Floats) -> tuple[State, float]:
    moved = State(np.where(kept[:, None], points, state.points), np.where(kept, density, state.log_density))
    return moved, float(kept.mean())
