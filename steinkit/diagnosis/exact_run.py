"""A short exact run: exact Markov kernels from every draw, which leave the target invariant.

Each draw moves on its own, by the kernels of `steinkit.diagnosis.exact_kernels`, whose settings are learned anew
whenever the run goes on. Exact draws stay exact; biased ones move to where the density sends them. The distance that
their means moved is a lower bound on their bias.
"""

from __future__ import annotations

import numpy as np

from steinkit.diagnosis.exact_kernels import GRADIENTS, Composite, Density, State
from steinkit.sample import Floats
from steinkit.target import Target


class ExactRun:
    """Draws that move by exact Markov kernels.

    Parameters
    ----------
    points : ndarray, shape (n, d)
        Where they start, in raw units.
    shares : ndarray, shape (n,)
        Their weights, of sum one.
    target : Target
        With a log density.
    bounds : ndarray, shape (d, 2), or None
        Bounds of the support; a proposal outside is rejected.
    rng : numpy.random.Generator

    Attributes
    ----------
    climb : float
        Change of the mean log density when the draws last moved, in standard errors.
    gradients : int
        Number of gradients per draw so far, without those that tune the step length.

    Raises
    ------
    InputError
        If the log density is not finite at a draw.
    """

    def __init__(
        self, points: Floats, shares: Floats, target: Target, bounds: Floats | None, rng: np.random.Generator
    ) -> None:
        self._target, self._bounds, self._rng, self._shares = target, bounds, rng, shares
        self._density = Density(target, bounds)
        self._state = State(points, target.log_density_of_draws(points))
        self.climb, self.gradients = 0.0, 0

    @property
    def points(self) -> Floats:
        """Where the draws are now, shape (n, d)."""
        return self._state.points

    def scores(self) -> Floats:
        """Evaluate the score where the draws are now, shape (n, d)."""
        return self._density.score(self.points)

    def move(self, times: int) -> ExactRun:
        """Move every draw this many times."""
        before = self._state.log_density
        kernel = Composite(self._target, self._density, self.points, self._shares, self._bounds, self._rng)
        kernel.tune(self._state)
        for _ in range(times):
            self._state, _ = kernel.move(self._state)
            self.gradients += GRADIENTS
        change = self._state.log_density - before
        mean = float(self._shares @ change)
        self.climb = mean / (float(np.sqrt(self._shares**2 @ (change - mean) ** 2)) or 1.0)
        return self
