r"""A short exact run from every draw: Hamiltonian Monte Carlo that leaves the target as it is.

Each draw moves for itself by leapfrog steps with the draws' covariance as inverse mass, and a step length that is
jittered by draw and adapted, between moves, to acceptance rates from .5 to .9. Right draws stay right; wrong ones move
to where the density sends them. How far their means went is how far they were off, at least.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinkit.errors import InputError
from steinkit.runtime.deadlines import require_time
from steinkit.sample import Floats
from steinkit.target import Target

_LEAPFROGS = 4
_STEP = 1.2  # over d^(1/4), in standard deviations
_JITTER = (0.6, 1.0)
_ACCEPTED = (0.5, 0.9)
_SHORTER, _LONGER = 0.7, 1.1


@dataclass(frozen=True, eq=False)
class Moved:
    """Draws after some moves.

    Attributes
    ----------
    points, scores : ndarray, shape (n, d)
    accepted : float
        Share of the last moves that were.
    gradients : int
        Taken so far, a draw.
    """

    points: Floats
    scores: Floats
    accepted: float
    gradients: int


class ExactRun:
    """Draws that move by Hamiltonian Monte Carlo.

    Parameters
    ----------
    points, scores : ndarray, shape (n, d)
        Where they start, in raw units.
    covariance : ndarray, shape (d, d)
        Of the draws, positive definite.
    target : Target
        With a log density.
    bounds : ndarray, shape (d, 2), or None
        Of the support: what would leave it stays where it is.
    rng : numpy.random.Generator
    """

    def __init__(
        self,
        points: Floats,
        scores: Floats,
        covariance: Floats,
        target: Target,
        bounds: Floats | None,
        rng: np.random.Generator,
    ) -> None:
        self.points, self.scores = points.copy(), scores.copy()
        self._root = np.linalg.cholesky(covariance)
        self._target, self._bounds, self._rng = target, bounds, rng
        self._density = target.log_density(points)
        if not np.isfinite(self._density).all():
            row = int(np.flatnonzero(~np.isfinite(self._density))[0])
            raise InputError(
                f"the log density of draw {row + 1} is {self._density[row]}: no run can start there; drop the draw"
            )
        self._step = _STEP / points.shape[1] ** 0.25
        self._accepted, self._gradients = 1.0, 0

    def move(self, times: int) -> Moved:
        """Move every draw so many times more."""
        for _ in range(times):
            require_time("the draws were moved")
            self._move_once()
        return Moved(self.points, self.scores, self._accepted, self._gradients)

    def _move_once(self) -> None:
        n = len(self.points)
        momentum = self._rng.standard_normal(self.points.shape)
        energy = 0.5 * (momentum**2).sum(axis=1)
        steps = self._step * self._rng.uniform(*_JITTER, (n, 1))
        points, scores, inside = self.points, self.scores, np.ones(n, dtype=bool)
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(_LEAPFROGS):
                momentum = momentum + 0.5 * steps * (scores @ self._root)
                points = points + steps * (momentum @ self._root.T)
                inside &= self._is_inside(points)
                points = np.where(inside[:, None], points, self.points)
                scores = self._target.unchecked_score(points)
                momentum = momentum + 0.5 * steps * (scores @ self._root)
            density = self._target.log_density(points)
            gain = density - self._density + energy - 0.5 * (momentum**2).sum(axis=1)
        kept = inside & np.isfinite(gain) & np.isfinite(scores).all(axis=1) & (np.log(self._rng.random(n)) < gain)
        self.points = np.where(kept[:, None], points, self.points)
        self.scores = np.where(kept[:, None], scores, self.scores)
        self._density = np.where(kept, density, self._density)
        self._accepted, self._gradients = float(kept.mean()), self._gradients + _LEAPFROGS
        if self._accepted < _ACCEPTED[0]:
            self._step *= _SHORTER
        elif self._accepted > _ACCEPTED[1]:
            self._step *= _LONGER

    def _is_inside(self, points: Floats) -> np.ndarray:
        found = np.isfinite(points).all(axis=1)
        if self._bounds is not None:
            found &= ((points > self._bounds[:, 0]) & (points < self._bounds[:, 1])).all(axis=1)
        return np.asarray(found)
