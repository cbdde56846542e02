"""Gamma distributions.

p(x) = product_j rate_j^shape_j / Gamma(shape_j) x_j^(shape_j - 1) exp(-rate_j x_j),   x > 0
score_j = (shape_j - 1) / x_j - rate_j
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from steinkit.sample import Floats
from steinkit.targets.family import Family, log1p_minus, stirling_error
from steinkit.targets.parameters import as_positive, as_vector, common_dim, show

_LARGE = 1e5  # from which shape on the rest of Temme's expansion is below 1e-14


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
        return _shares(float(self.shape[0]), self._scaled(values))[0]

    def _evaluate_tail_integrals(self, values: Floats) -> Floats:
        """For rate 1, E max(x - X, 0) = (x - k) F(x) + x^k exp(-x) / Gamma(k), and its like above."""
        k, rate, z = float(self.shape[0]), float(self.rate[0]), self._scaled(values)
        beyond_mean = np.maximum(values, 0.0) - k / rate
        exponents = k * log1p_minus(np.where(z > 0.0, (z - k) / k, 0.0)) - stirling_error(k)
        spread = np.where(z > 0.0, math.sqrt(k / (2.0 * math.pi)) / rate * np.exp(exponents), 0.0)
        below, above = _shares(k, z)
        both = np.maximum(np.column_stack([beyond_mean * below + spread, spread - beyond_mean * above]), 0.0)
        return np.asarray(both + np.column_stack([np.zeros(len(values)), np.maximum(-values, 0.0)]))

    def _scaled(self, values: Floats) -> Floats:
        """Values for rate 1, no larger than where 1 - F is zero anyway."""
        with np.errstate(over="ignore"):
            return np.asarray(np.minimum(self.rate[0] * np.maximum(values, 0.0), 1e300))

    def _draw(self, n: int, rng: np.random.Generator) -> Floats:
        return rng.gamma(self.shape, 1.0 / self.rate, size=(n, len(self.shape)))


def _shares(k: float, z: Floats) -> tuple[Floats, Floats]:
    """F and 1 - F for rate 1.

    SciPy's series end too early in the tails of large shapes. There, with mu = z / k - 1 and the eta of its sign for
    which eta^2 / 2 = mu - log(1 + mu), Temme's expansion [1]_ is

        1 - F = erfc(eta sqrt(k / 2)) / 2 + exp(-k eta^2 / 2) / sqrt(2 pi k) (1 / mu - 1 / eta + O(1 / k)).

    References
    ----------
    .. [1] NIST Digital Library of Mathematical Functions, section 8.12.
    """
    from scipy.special import erfc, gammainc, gammaincc

    below, above = (np.asarray(share(k, z), dtype=np.float64) for share in (gammainc, gammaincc))
    mu = z / k - 1.0
    tail = (mu * math.sqrt(k) > 4.0) | ((mu * math.sqrt(k) < -4.0) & (z > 0.0))
    if k > _LARGE and tail.any():
        mu = mu[tail]
        height = -log1p_minus(mu)  # eta^2 / 2
        eta = np.copysign(np.sqrt(2.0 * height), mu)
        rest = np.exp(-k * height) / math.sqrt(2.0 * math.pi * k) * (1.0 / mu - 1.0 / eta)
        below[tail] = 0.5 * erfc(-eta * math.sqrt(0.5 * k)) - rest
        above[tail] = 0.5 * erfc(eta * math.sqrt(0.5 * k)) + rest
    return below, above
