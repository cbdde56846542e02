"""Beta distributions.

p(x) = product_j x_j^(a_j - 1) (1 - x_j)^(b_j - 1) / B(a_j, b_j),   0 < x < 1
score_j = (a_j - 1) / x_j - (b_j - 1) / (1 - x_j)
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from steinkit.sample import Floats
from steinkit.targets.family import Family, log1p_minus, stirling_error
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

    @property
    def cdf_accuracy(self) -> float:
        """Measured; SciPy's incomplete beta function loses digits beyond parameters of 1e6."""
        return max(super().cdf_accuracy, 2e-19 * float(self.a[0] + self.b[0]))

    def _evaluate_cdf(self, values: Floats) -> Floats:
        return self._shares(np.clip(values, 0.0, 1.0))[0]

    def _evaluate_tail_integrals(self, values: Floats) -> Floats:
        """E max(x - X, 0) = (x - m) F(x) + x (1 - x) p(x) / (a + b) for the mean m, and its like above."""
        x = np.clip(values, 0.0, 1.0)
        below, above = self._shares(x)
        beyond_mean = self._beyond_mean(x)
        spread = _spread(x, beyond_mean, float(self.a[0]), float(self.b[0]))
        inside = np.column_stack([beyond_mean * below + spread, spread - beyond_mean * above])
        outside = np.column_stack([np.maximum(values - 1.0, 0.0), np.maximum(-values, 0.0)])
        return np.asarray(np.maximum(inside, 0.0) + outside)

    def _shares(self, x: Floats) -> tuple[Floats, Floats]:
        """F and 1 - F; the smaller of them has the more digits, and the other follows."""
        from scipy.special import betainc, betaincc

        (a,), (b,), low = self.a, self.b, self._beyond_mean(x) < 0.0
        smaller = np.where(low, betainc(a, b, x), betaincc(a, b, x))
        return np.where(low, smaller, 1.0 - smaller), np.where(low, 1.0 - smaller, smaller)

    def _beyond_mean(self, x: Floats) -> Floats:
        """x - a / (a + b), from whichever end is nearer."""
        total = self.a + self.b
        return np.asarray(np.where(x < 0.5, x - self.a / total, self.b / total - (1.0 - x)))

    def _draw(self, n: int, rng: np.random.Generator) -> Floats:
        return rng.beta(self.a, self.b, size=(n, len(self.a)))


def _spread(x: Floats, beyond_mean: Floats, a: float, b: float) -> Floats:
    """x^a (1 - x)^b / B(a, b) / (a + b), by its distance from the mode."""
    n = a + b
    exponent = stirling_error(n) - stirling_error(a) - stirling_error(b)
    inside = (x > 0.0) & (x < 1.0)
    rise, fall = np.where(inside, beyond_mean, 0.0) / (a / n), np.where(inside, -beyond_mean, 0.0) / (b / n)
    exponents = exponent + a * log1p_minus(rise) + b * log1p_minus(fall)
    return np.where(inside, np.sqrt(a / n * (b / n) / (2.0 * math.pi * n)) * np.exp(exponents), 0.0)
