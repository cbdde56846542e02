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

A proposal is rejected where the log density is -inf, cannot be computed, or a trajectory leaves the range of numbers.

References
----------
S. Duane, A. D. Kennedy, B. J. Pendleton and D. Roweth (1987), "Hybrid Monte Carlo", Physics Letters B 195.
R. M. Neal (2011), "MCMC using Hamiltonian dynamics", Handbook of Markov Chain Monte Carlo, sections 5.2 and 5.3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steinkit.runtime.deadlines import require_time
from steinkit.sample import Floats
from steinkit.target import Target

_JITTER = (0.6, 1.4)
_FIRST_STEP = 0.9  # over d^(1/4), in standard deviations
_ACCEPTANCE = (0.6, 0.85)
_PILOT = 200  # draws on which the step length is tuned
_TUNING = 12  # moves of the pilot
_SCALES = (0.03, 3.0)
_LEAPFROGS = 6
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
            self.evaluations += len(points)
            values = self._target.proposal_log_density(points)
        else:
            values = state.log_density.copy()
            step = points - state.points
            for place, weight in zip(*np.polynomial.legendre.leggauss(nodes), strict=True):
                scores = self.score(state.points + 0.5 * (1.0 + place) * step)
                values += 0.5 * weight * np.einsum("nj,nj->n", scores, step)
        return np.where(self.inside(points), values, -np.inf)

    def inside(self, points: Floats) -> NDArray[np.bool_]:
        """Return which points lie strictly within the bounds, shape (n,)."""
        if self._bounds is None:
            return np.ones(len(points), dtype=np.bool_)
        return np.asarray(((points > self._bounds[:, 0]) & (points < self._bounds[:, 1])).all(axis=1))

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
                lost |= ~(np.abs(points - state.points) < self._reach).all(axis=1)
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


def _half_squares(momentum: Floats) -> Floats:
    return np.asarray(0.5 * np.einsum("nj,nj->n", momentum, momentum))


def _updated(state: State, kept: NDArray[np.bool_], points: Floats, density: Floats) -> tuple[State, float]:
    moved = State(np.where(kept[:, None], points, state.points), np.where(kept, density, state.log_density))
    return moved, float(kept.mean())
