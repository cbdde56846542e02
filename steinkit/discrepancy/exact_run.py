"""A short exact run: Hamiltonian Monte Carlo from every draw, which leaves the target invariant.

Each draw moves on its own, with the draws' covariance as inverse mass. The step length is tuned on a part of the draws
whenever the run goes on. Exact draws stay exact; biased ones move to where the density sends them. The distance that
their means moved is a lower bound on their bias.
"""

from __future__ import annotations

import numpy as np

from steinkit.discrepancy.exact_kernels import GRADIENTS, Density, Hamiltonian, State
from steinkit.sample import Floats
from steinkit.target import Target


class ExactRun:
    """Draws that move by Hamiltonian Monte Carlo.

    Parameters
    ----------
    points : ndarray, shape (n, d)
        Where they start, in raw units.
    covariance : ndarray, shape (d, d)
        Of the draws, positive definite.
    target : Target
        With a log density.
    bounds : ndarray, shape (d, 2), or None
        Bounds of the support; a proposal outside is rejected.
    rng : numpy.random.Generator

    Attributes
    ----------
    accepted : float
        Share of the last moves that were accepted.
    gradients : int
        Number of gradients per draw so far, without those that tune the step length.

    Raises
    ------
    InputError
        If the log density is not finite at a draw.
    """

    def __init__(
        self, points: Floats, covariance: Floats, target: Target, bounds: Floats | None, rng: np.random.Generator
    ) -> None:
        self._density = Density(target, bounds)
        self._state = State(points, target.log_density_of_draws(points))
        self._kernel = Hamiltonian(self._density, np.asarray(np.linalg.cholesky(covariance), dtype=np.float64), rng)
        self.accepted, self.gradients = 1.0, 0

    @property
    def points(self) -> Floats:
        """Where the draws are now, shape (n, d)."""
        return self._state.points

    def scores(self) -> Floats:
        """Evaluate the score where the draws are now, shape (n, d)."""
        return self._density.score(self.points)

    def move(self, times: int) -> ExactRun:
        """Move every draw this many times."""
        self._kernel.tune(self._state)
        for _ in range(times):
            self._state, self.accepted = self._kernel.move(self._state)
            self.gradients += GRADIENTS
        return self
