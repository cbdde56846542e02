"""Gamma distributions.

p(x) = product_j rate_j^shape_j / Gamma(shape_j) x_j^(shape_j - 1) exp(-rate_j x_j),   x > 0
score_j = (shape_j - 1) / x_j - rate_j
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from steinkit.sample import Floats
from steinkit.targets.family import Family
from steinkit.targets.parameters import as_positive, as_vector, common_dim, show


class Gamma(Family):
    """Independent gamma coordinates on (0, inf).

    Parameters
    ----------
    shape, rate : float or array_like, shape (d,)
        Positive. The mean is shape / rate.
    dim : int, optional
        Number of coordinates, where both are scalars; 1 if not given.

    Raises
    ------
    UsageError
        If a parameter is not positive, or they disagree on the dimension.

    Notes
    -----
    At 0 the score is infinite unless shape = 1; a draw that lies there is refused when it is scored.
    """

    def __init__(self, shape: ArrayLike, rate: ArrayLike = 1.0, dim: int | None = None) -> None:
        exponent, decay = as_positive(shape, "shape"), as_positive(rate, "rate")
        d = common_dim(dim, shape=exponent, rate=decay)
        self.shape, self.rate = as_vector(exponent, d, "shape"), as_vector(decay, d, "rate")
        super().__init__("gamma", d, f"shape={show(exponent)}, rate={show(decay)}", np.tile([0.0, np.inf], (d, 1)))

    def _evaluate_score(self, points: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            pull = np.where(self.shape == 1.0, 0.0, (self.shape - 1.0) / points)
        return np.asarray(pull - self.rate, dtype=np.float64)

    def _evaluate_log_density(self, points: Floats) -> Floats:
        from scipy.special import gammaln, xlogy

        inside = (points >= 0.0).all(axis=1)
        constant = (self.shape * np.log(self.rate) - gammaln(self.shape)).sum()
        terms = xlogy(self.shape - 1.0, np.maximum(points, 0.0)) - self.rate * points
        return np.where(inside, terms.sum(axis=1) + constant, -np.inf)

    def _evaluate_cdf(self, values: Floats) -> Floats:
        from scipy.special import gammainc

        return np.asarray(gammainc(self.shape, self.rate * np.maximum(values, 0.0)), dtype=np.float64)

    def _evaluate_tail_integrals(self, values: Floats) -> Floats:
        from scipy.special import gammainc, gammaincc

        x, mean, more = np.maximum(values, 0.0), self.shape / self.rate, self.shape + 1.0
        below = x * gammainc(self.shape, self.rate * x) - mean * gammainc(more, self.rate * x)
        above = mean * gammaincc(more, self.rate * x) - x * gammaincc(self.shape, self.rate * x)
        return np.asarray(np.maximum(np.column_stack([below, above + np.maximum(-values, 0.0)]), 0.0))

    def _draw(self, n: int, rng: np.random.Generator) -> Floats:
        return rng.gamma(self.shape, 1.0 / self.rate, size=(n, len(self.shape)))
