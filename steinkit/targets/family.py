"""What the built-in families share: their functions are their methods, of which some are for one dimension only."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from steinkit.sample import Floats
from steinkit.target import Target


class Family(Target):
    """A built-in family of distributions.

    Parameters
    ----------
    label : str
        Its name on the command line.
    dim : int
    parameters : str
        How `repr` writes the parameters.
    bounds : ndarray, shape (d, 2), optional
    """

    def __init__(self, label: str, dim: int, parameters: str, bounds: Floats | None = None) -> None:
        super().__init__(
            score=self._evaluate_score,
            log_density=self._evaluate_log_density,
            bounds=bounds,
            cdf=self._evaluate_cdf if dim == 1 else None,
            tail_integrals=self._evaluate_tail_integrals if dim == 1 else None,
            sampler=self._draw,
            dim=dim,
            label=label,
        )
        self._parameters = parameters

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._parameters}, dim={self.dim})"

    @abstractmethod
    def _evaluate_score(self, points: Floats) -> Floats:
        """Score at points, (n, d) -> (n, d)."""

    @abstractmethod
    def _evaluate_log_density(self, points: Floats) -> Floats:
        """Log density at points, (n, d) -> (n,)."""

    @abstractmethod
    def _evaluate_cdf(self, values: Floats) -> Floats:
        """Distribution function in one dimension, (n,) -> (n,)."""

    @abstractmethod
    def _evaluate_tail_integrals(self, values: Floats) -> Floats:
        """E max(x - X, 0) and E max(X - x, 0) in one dimension, (n,) -> (n, 2)."""

    @abstractmethod
    def _draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Independent draws, (n, d)."""
