"""Markov kernels that leave a target invariant and move many draws at once.

Each draw is the initial state of its own chain, so the n chains are independent. If a Markov kernel K leaves the target
P invariant, draws from P remain draws from P. The settings of K may depend on the initial positions of the draws but
not on later positions.

**Hamiltonian Monte Carlo** moves x by leapfrog steps in the coordinates u = L^-1 x, where L L' is a covariance matrix
and s is the score of the target,

    p <- p + (e / 2) L' s(x),    x <- x + e L p,    p <- p + (e / 2) L' s(x),        p ~ N(0, I),

and accepts the last position with probability min(1, exp(log p(x') - log p(x) + |p|^2 / 2 - |p'|^2 / 2)). The step size
e is randomized for each draw.

**Random-scale Metropolis moves** propose x + h v xi, where xi ~ N(0, 1), v is a random coordinate axis or principal
axis scaled to the spread of the draws, and h is a log-uniform scale. These moves need only the log density, and their
scales vary by a factor of 100. The moves can therefore cross edges of the support and reach both the narrow and the
wide part of a funnel.

**Group-scale moves** are designed for hierarchical models, where a coordinate t, such as the logarithm of a standard
deviation, determines the scale of a group of coordinates a. These moves change t and the scale of the group together,

    t <- t + e,    a <- m + (a - m) exp(b e),        accepted with the Jacobian exp(b e (number of scaled directions)),

where b is a fixed slope, and m contains the medians of a or the mean of the group. If m is the mean of the group, the
number of scaled directions is reduced by one. If t has one bound, it is replaced by the logarithm of its distance from
the bound. The groups are identified from the correlations between log |a - median| and the ranks of t. The moves leave
the target invariant for every choice of groups.

A proposal is rejected if the log density is -inf or cannot be computed, or if a trajectory diverges.

References
----------
S. Duane, A. D. Kennedy, B. J. Pendleton and D. Roweth (1987), "Hybrid Monte Carlo", Physics Letters B 195.
R. M. Neal (2011), "MCMC using Hamiltonian dynamics", Handbook of Markov Chain Monte Carlo, sections 5.2 and 5.3.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from steinkit.runtime.deadlines import require_time
from steinkit.sample import Floats, Integers
from steinkit.target import Target, full_rows, is_inside

_JITTER = (0.6, 1.4)
_FIRST_STEP = 0.9  # in standard deviations, before division by d^(1/4)
_ACCEPTANCE = (0.6, 0.85)
_PILOT = 200  # number of draws for tuning the step size
_TUNING = 12  # maximum number of moves for tuning
_SCALES = (0.03, 3.0)
# smallest correlation between a group's scale and t, as an absolute value and in standard errors
_GOVERNED, _CLEAR = 0.15, 5.0
_MOST_GROUPS = 8
_SCALE_MOVES = 4  # number of moves per transition, doubled if Hamiltonian Monte Carlo is not used
_GROUP_MOVES = 2  # number of moves per transition
_FULL_METRIC = 100  # maximum number of coordinates for which correlations define the axes and groups
_REACH = 5.0  # draws are clipped at this number of robust scales before their covariance is computed
_LEAPFROGS = 6
_GRADIENTS = _LEAPFROGS + 1  # number of gradients per Hamiltonian move
_RUNAWAY = 1e6  # largest distance from the start of a trajectory, in standard deviations
NODES = 6  # number of Gauss-Legendre nodes for integrating the score along a move
_gauss_legendre = cache(np.polynomial.legendre.leggauss)  # computing the nodes may take longer than the score


class State(NamedTuple):
    """Positions and log densities of n chains.

    If only the score is available, the log density of each chain is known only up to a constant.
    """

    points: Floats
    log_density: Floats


class Density:
    """Log density of a target, or changes in it if only the score is available.

    Parameters
    ----------
    target : Target
    bounds : ndarray, shape (d, 2), or None
        Bounds of the support.

    Attributes
    ----------
    target, bounds
        The arguments of the constructor.
    evaluations : int
        Number of points at which the log density or the score was evaluated.
    """

    def __init__(self, target: Target, bounds: Floats | None) -> None:
        self.target, self.bounds, self.evaluations = target, bounds, 0

    def at(self, state: State, points: Floats, nodes: int = NODES) -> Floats:
        """Return the log density at each proposal, or -inf outside the bounds."""
        if self.target.has_log_density:
            return self.of(points)
        values, step = state.log_density.copy(), points - state.points
        for node, weight in zip(*_gauss_legendre(nodes), strict=True):
            scores = self.score(state.points + 0.5 * (1.0 + node) * step)
            values += 0.5 * weight * np.einsum("nj,nj->n", scores, step)
        return np.where(is_inside(points, self.bounds), values, -np.inf)

    def of(self, points: Floats) -> Floats:
        """Return the log density at arbitrary points, or -inf where it is undefined."""
        self.evaluations += len(points)
        return np.where(is_inside(points, self.bounds), self.target.proposal_log_density(points), -np.inf)

    def at_draws(self, points: Floats, rows: Integers | None = None) -> Floats:
        """Return the log density at each draw, or raise InputError if it is not finite."""
        self.evaluations += len(points)
        return self.target.log_density_of_draws(points, draws=rows)

    def score(self, points: Floats) -> Floats:
        """Return the score at each proposal, or NaN where the score is undefined."""
        self.evaluations += len(points)
        return self.target.proposal_score(points)


class Hamiltonian:
    """Hamiltonian Monte Carlo with a fixed number of steps and a tuned step size.

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
        """Tune the step size to an acceptance rate between 0.6 and 0.85.

        Up to 200 of the chains are copied for tuning.
        """
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
        """Move every chain once, and return the new state and the acceptance rate."""
        points, lost = state.points, np.zeros(len(state.points), dtype=np.bool_)
        momentum = self._rng.standard_normal(points.shape)
        energy = 0.5 * np.einsum("nj,nj->n", momentum, momentum)
        steps = self.step * self._rng.uniform(*_JITTER, (len(points), 1))
        with np.errstate(all="ignore"):
            force = steps * _transformed(self._density.score(points), self._root)
            momentum += 0.5 * force
            for k in range(_LEAPFROGS):
                points = points + steps * _transformed(momentum, self._root.T)
                lost |= ~full_rows(np.abs(points - state.points) < self._reach)  # includes NaN
                points[lost] = state.points[lost]
                force = steps * _transformed(self._density.score(points), self._root)
                momentum += force if k < _LEAPFROGS - 1 else 0.5 * force
            density = self._density.at(state, points)
            gain = density - state.log_density + energy - 0.5 * np.einsum("nj,nj->n", momentum, momentum)
            return _accepted(state, points, density, np.where(lost, -np.inf, gain), self._rng)


class RandomScale:
    """Random-scale Metropolis moves along coordinates and principal axes.

    Parameters
    ----------
    density : Density
    directions : ndarray, shape (k, d)
        Axes of the moves. The length of an axis is the spread of the draws along it.
    rng : numpy.random.Generator
    """

    def __init__(self, density: Density, directions: Floats, rng: np.random.Generator) -> None:
        self._density, self.directions, self._rng = density, directions, rng
        self._near, self._outside = 0, 0

    @property
    def outside(self) -> float:
        """Fraction of small in-bounds moves that end at a point of zero density."""
        return self._outside / max(1, self._near)

    def move(self, state: State) -> tuple[State, float]:
        """Move every chain once, and return the new state and the acceptance rate."""
        n, rng = len(state.points), self._rng
        length = np.exp(rng.uniform(math.log(_SCALES[0]), math.log(_SCALES[1]), n)) * rng.standard_normal(n)
        points = state.points + length[:, None] * self.directions[rng.integers(len(self.directions), size=n)]
        density = self._density.at(state, points)
        near = (np.abs(length) < 1.0) & is_inside(points, self._density.bounds)
        self._near += int(near.sum())
        self._outside += int((near & (density == -np.inf)).sum())
        with np.errstate(all="ignore"):
            return _accepted(state, points, density, density - state.log_density, rng)


class Group(NamedTuple):
    """Coordinate that determines the scale of a group of other coordinates.

    Attributes
    ----------
    scale : int
        Index of the coordinate t.
    bound : float
        Bound on t, which is infinite if t is unbounded.
    members : ndarray of int
        Indices of the coordinates a.
    medians : ndarray
        Medians of the members.
    slope : float
        Slope of log |a - m| as a function of t, or as a function of log |t - bound| if t has a bound.
    spread : float
        Standard deviation of t, or of log |t - bound|.
    """

    scale: int
    bound: float
    members: Integers
    medians: Floats
    slope: float
    spread: float


@np.errstate(invalid="ignore")  # a coordinate with two values has no correlation with its distance from the median
def groups_of(points: Floats, bounds: Floats | None) -> list[Group]:
    """Find up to eight coordinates that determine the scale of other coordinates.

    `points` has shape (n, d).
    """
    n, dim = points.shape
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
            governing = points[:, t] if not finite else np.log(np.abs(points[:, t] - bound))
            center = points[:, members].mean(axis=1, keepdims=True) if len(members) > 2 else medians[members]
            size = np.log(np.abs(points[:, members] - center) + np.finfo(float).tiny).mean(axis=1)
            slope = float(np.cov(governing, size)[0, 1] / governing.var())
            group = Group(t, bound, members, medians[members], slope, float(governing.std()))
            if abs(slope) * group.spread > _GOVERNED:
                found.append((float(np.abs(correlations[t][members]).sum()), group))
    return [group for _, group in sorted(found, key=lambda each: -each[0])[:_MOST_GROUPS]]


class GroupScale:
    """Metropolis moves that change a coordinate and the scale of its group.

    Parameters
    ----------
    density : Density
    groups : list of Group
        One or more groups.
    rng : numpy.random.Generator
    """

    def __init__(self, density: Density, groups: list[Group], rng: np.random.Generator) -> None:
        self._density, self._groups, self._rng = density, groups, rng

    def move(self, state: State) -> tuple[State, float]:
        """Move every chain once, and return the new state and the acceptance rate."""
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
            return _accepted(state, points, density, density - state.log_density + jacobian, rng)


class Composite:
    """Composition of the three Markov kernels, with settings estimated from draws.

    A transition begins with one Hamiltonian Monte Carlo move if the target has a log density and a gradient. Several
    random-scale moves follow. If there are groups, group-scale moves complete the transition.

    Parameters
    ----------
    density : Density
    start : State
        Draws used to estimate axes, groups and the step size.
    shares : ndarray, shape (n,)
        Weights of the draws, which sum to one.
    rng : numpy.random.Generator

    Attributes
    ----------
    scales : RandomScale
        The random-scale moves.
    """

    def __init__(self, density: Density, start: State, shares: Floats, rng: np.random.Generator) -> None:
        root, directions = axes(start.points, shares)
        self.scales = RandomScale(density, directions, rng)
        self._kernels: list[Hamiltonian | RandomScale | GroupScale] = [self.scales] * (2 * _SCALE_MOVES)
        if density.target.can_be_checked:
            hamiltonian = Hamiltonian(density, root, rng)
            hamiltonian.tune(start)
            self._kernels = [hamiltonian, *[self.scales] * _SCALE_MOVES]
        if len(root) <= _FULL_METRIC and (groups := groups_of(start.points, density.bounds)):
            self._kernels += [GroupScale(density, groups, rng)] * _GROUP_MOVES

    def move(self, state: State) -> tuple[State, float]:
        """Move every chain once, and return the new state and mean acceptance rate."""
        rates = []
        for kernel in self._kernels:
            require_time("moving the draws")
            state, rate = kernel.move(state)
            rates.append(rate)
        return state, float(np.mean(rates))


class ExactRun:
    """Short MCMC run with one chain started at each draw.

    Exact draws remain exact, and the distribution of biased draws approaches the target. If a mean approaches its
    target value monotonically, the change in the mean is a lower bound on the bias.

    Parameters
    ----------
    points : ndarray, shape (n, d)
        Initial positions in raw units.
    shares : ndarray, shape (n,)
        Weights, which sum to one.
    density : Density
        Density of the target. The target must have a log density.
    rng : numpy.random.Generator

    Attributes
    ----------
    climb : float
        Change in the mean log density during the last call of `move`, in standard errors.
    gradients : int
        Number of gradients per draw so far, excluding those used to tune the step size.

    Raises
    ------
    InputError
        If the log density is not finite at a draw.
    """

    def __init__(self, points: Floats, shares: Floats, density: Density, rng: np.random.Generator) -> None:
        self._density, self._rng, self._shares = density, rng, shares
        self._state = State(points, density.at_draws(points))
        self.climb, self.gradients = 0.0, 0

    @property
    def points(self) -> Floats:
        """Current positions, an array of shape (n, d)."""
        return self._state.points

    def scores(self) -> Floats:
        """Evaluate the score at each of the current positions."""
        return self._density.score(self.points)

    def move(self, times: int) -> ExactRun:
        """Make the given number of transitions from every draw."""
        before = self._state.log_density
        kernel = Composite(self._density, self._state, self._shares, self._rng)
        for _ in range(times):
            self._state, _ = kernel.move(self._state)
        self.gradients += times * _GRADIENTS
        change = self._state.log_density - before
        mean = float(self._shares @ change)
        self.climb = mean / (float(np.sqrt(self._shares**2 @ (change - mean) ** 2)) or 1.0)
        return self


def evaluations_per_transition(target: Target) -> int:
    """Return the number of evaluations per transition, excluding group-scale moves."""
    return _GRADIENTS + 1 + _SCALE_MOVES if target.can_be_checked else 2 * _SCALE_MOVES


def axes(points: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """Return a square root of the inverse mass matrix, and the directions of moves.

    Both arrays are estimated from clipped draws.
    """
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
    """Return medians, and half the distances between the 16% and 84% quantiles.

    If most values of a coordinate are equal, the standard deviation is used instead of half the distance.
    """
    low, middle, high = quantiles(points, shares)
    deviation = np.sqrt(shares @ (points - middle) ** 2)
    return middle, np.where(high - low > 1e-3 * deviation, 0.5 * (high - low), deviation)


def quantiles(values: Floats, shares: Floats) -> Floats:
    """Return a (3, d) array of the 16, 50 and 84% quantiles of weighted columns."""
    found = np.quantile(values, (0.16, 0.5, 0.84), axis=0, weights=shares, method="inverted_cdf")
    return np.asarray(found, dtype=np.float64)


def _transformed(vectors: Floats, matrix: Floats) -> Floats:
    """Multiply vectors of shape (n, d) by a matrix or by the diagonal of a matrix."""
    return vectors * matrix if matrix.ndim == 1 else vectors @ matrix


def _accepted(
    state: State, points: Floats, density: Floats, gain: Floats, rng: np.random.Generator
) -> tuple[State, float]:
    """Accept proposals with probability min(1, exp(gain)).

    A proposal is rejected if its gain is NaN.
    """
    kept = np.log(rng.random(len(points))) < gain
    moved = State(np.where(kept[:, None], points, state.points), np.where(kept, density, state.log_density))
    return moved, float(kept.mean())
