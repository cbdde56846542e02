"""Beta distributions.

p(x) = product_j x_j^(a_j - 1) (1 - x_j)^(b_j - 1) / B(a_j, b_j),   0 < x < 1
score_j = (a_j - 1) / x_j - (b_j - 1) / (1 - x_j)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from steinkit.sample import Floats
from steinkit.targets.family import Family
from steinkit.targets.parameters import as_positive, as_vector, common_dim, show


class Beta(Family):
    """Independent beta coordinates on (0, 1).

    Parameters
    ----------
    a, b : float or array_like, shape (d,)
        Positive. The mean is a / (a + b).
    dim : int, optional
        Number of coordinates, where both are scalars; 1 if not given.

    Raises
    ------
    UsageError
        If a parameter is not positive, or they disagree on the dimension.

    Notes
    -----
    The score is infinite at 0 unless a = 1, and at 1 unless b = 1; a draw that lies there is refused when
    it is scored.
    """

    def __init__(self, a: ArrayLike, b: ArrayLike, dim: int | None = None) -> None:
        left, right = as_positive(a, "a"), as_positive(b, "b")
        d = common_dim(dim, a=left, b=right)
        self.a, self.b = as_vector(left, d, "a"), as_vector(right, d, "b")
        super().__init__("beta", d, f"a={show(left)}, b={show(right)}", np.tile([0.0, 1.0], (d, 1)))

    def _evaluate_score(self, points: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            left = np.where(self.a == 1.0, 0.0, (self.a - 1.0) / points)
            right = np.where(self.b == 1.0, 0.0, (self.b - 1.0) / (1.0 - points))
        return np.asarray(left - right, dtype=np.float64)

    def _evaluate_log_density(self, points: Floats) -> Floats:
        from scipy.special import betaln, xlog1py, xlogy

        inside = ((points >= 0.0) & (points <= 1.0)).all(axis=1)
        x = np.clip(points, 0.0, 1.0)
        terms = xlogy(self.a - 1.0, x) + xlog1py(self.b - 1.0, -x) - betaln(self.a, self.b)
        return np.where(inside, terms.sum(axis=1), -np.inf)

    def _evaluate_cdf(self, values: Floats) -> Floats:
        from scipy.special import betainc

        return np.asarray(betainc(self.a, self.b, np.clip(values, 0.0, 1.0)), dtype=np.float64)

    def _evaluate_tail_integrals(self, values: Floats) -> Floats:
        from scipy.special import betainc

        x, mean, more = np.clip(values, 0.0, 1.0), self.a / (self.a + self.b), self.a + 1.0
        below = x * betainc(self.a, self.b, x) - mean * betainc(more, self.b, x)
        above = mean * betainc(self.b, more, 1.0 - x) - x * betainc(self.b, self.a, 1.0 - x)
        outside = np.column_stack([np.maximum(values - 1.0, 0.0), np.maximum(-values, 0.0)])
        return np.asarray(np.maximum(np.column_stack([below, above]), 0.0) + outside)

    def _draw(self, n: int, rng: np.random.Generator) -> Floats:
        return rng.beta(self.a, self.b, size=(n, len(self.a)))
