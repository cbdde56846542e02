"""Normal distributions.

log p(x) = -1/2 (x - m)' S^-1 (x - m) - 1/2 log det S - d/2 log(2 pi),      score = -S^-1 (x - m)
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from steinkit.sample import Floats
from steinkit.targets.family import Family
from steinkit.targets.parameters import as_finite, as_scatter, as_vector, common_dim, show


def normal_tail_integrals(values: Floats, mean: Floats, deviation: Floats) -> Floats:
    """E max(x - X, 0) and E max(X - x, 0) for X normal, last axis of length 2; arguments broadcast."""
    from scipy.special import ndtr

    distance = values - mean
    with np.errstate(over="ignore"):  # of a quotient or its square, where the density is zero
        z = distance / deviation
        spread = np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi) * deviation
    return np.asarray(np.maximum(np.stack([distance * ndtr(z) + spread, spread - distance * ndtr(-z)], axis=-1), 0.0))


class Normal(Family):
    """Normal distribution N(mean, covariance) on R^d.

    Parameters
    ----------
    mean : float or array_like, shape (d,)
        Of all coordinates, or of each.
    covariance : float, or array_like of shape (d,) or (d, d), optional
        A common variance, the variances, or the whole matrix; the identity if not given.
    dim : int, optional
        Number of coordinates, where mean and covariance are scalars; 1 if not given.

    Raises
    ------
    UsageError
        If the parameters disagree on the dimension, or the covariance is not symmetric and positive definite.

    Examples
    --------
    >>> import steinkit as sk
    >>> sk.targets.Normal(mean=[1.0, 0.0], covariance=2.0).score([[2.0, 4.0]])
    array([[-0.5, -2. ]])
    """

    def __init__(self, mean: ArrayLike = 0.0, covariance: ArrayLike | None = None, dim: int | None = None) -> None:
        centre = as_finite(mean, "mean")
        matrix = as_finite(1.0 if covariance is None else covariance, "covariance")
        d = common_dim(dim, mean=centre, covariance=matrix)
        self.mean = as_vector(centre, d, "mean")
        self._scatter = as_scatter(matrix, d, "covariance")
        super().__init__("normal", d, f"mean={show(centre)}, covariance={show(matrix)}")

    def _evaluate_score(self, points: Floats) -> Floats:
        return -self._scatter.solve(points - self.mean)

    def _evaluate_log_density(self, points: Floats) -> Floats:
        whitened = self._scatter.whiten(points - self.mean)
        constant = self._scatter.half_log_determinant + 0.5 * len(self.mean) * math.log(2.0 * math.pi)
        return np.asarray(-0.5 * (whitened**2).sum(axis=1) - constant, dtype=np.float64)

    def _evaluate_cdf(self, values: Floats) -> Floats:
        from scipy.special import ndtr

        return np.asarray(ndtr((values - self.mean) / self._scatter.factor.ravel()), dtype=np.float64)

    def _evaluate_tail_integrals(self, values: Floats) -> Floats:
        return normal_tail_integrals(values, self.mean, self._scatter.factor.ravel())

    def _draw(self, n: int, rng: np.random.Generator) -> Floats:
        return self.mean + self._scatter.colour(rng.standard_normal((n, len(self.mean))))
