"""Uniform distributions on boxes.

p(x) = product_j 1 / (upper_j - lower_j)  for lower <= x <= upper,      score = 0
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from steinkit.errors import UsageError
from steinkit.sample import Floats
from steinkit.targets.family import Family
from steinkit.targets.parameters import as_finite, as_vector, common_dim, show


class Uniform(Family):
    """Uniform distribution on the box [lower, upper].

    Parameters
    ----------
    lower, upper : float or array_like, shape (d,)
        Ends of all sides of the box, or of each.
    dim : int, optional
        Number of coordinates, where both are scalars; 1 if not given.

    Raises
    ------
    UsageError
        If lower does not lie below upper, or the parameters disagree on the dimension.
    """

    def __init__(self, lower: ArrayLike = 0.0, upper: ArrayLike = 1.0, dim: int | None = None) -> None:
        low, high = as_finite(lower, "lower"), as_finite(upper, "upper")
        d = common_dim(dim, lower=low, upper=high)
        self.lower, self.upper = as_vector(low, d, "lower"), as_vector(high, d, "upper")
        if not (self.lower < self.upper).all():
            raise UsageError(f"lower must be below upper; received lower={show(low)}, upper={show(high)}")
        super().__init__(
            "uniform", d, f"lower={show(low)}, upper={show(high)}", np.column_stack([self.lower, self.upper])
        )

    def _evaluate_score(self, points: Floats) -> Floats:
        return np.zeros_like(points)

    def _evaluate_log_density(self, points: Floats) -> Floats:
        inside = ((points >= self.lower) & (points <= self.upper)).all(axis=1)
        return np.where(inside, -np.log(self.upper - self.lower).sum(), -np.inf)

    def _evaluate_cdf(self, values: Floats) -> Floats:
        return np.clip((values - self.lower) / (self.upper - self.lower), 0.0, 1.0)

    def _evaluate_tail_integrals(self, values: Floats) -> Floats:
        inside, width = np.clip(values, self.lower, self.upper), self.upper - self.lower
        to_lower, to_upper = inside - self.lower, self.upper - inside
        below = 0.5 * to_lower * (to_lower / width) + np.maximum(values - self.upper, 0.0)
        above = 0.5 * to_upper * (to_upper / width) + np.maximum(self.lower - values, 0.0)
        return np.column_stack([below, above])

    def _draw(self, n: int, rng: np.random.Generator) -> Floats:
        return rng.uniform(self.lower, self.upper, size=(n, len(self.lower)))
