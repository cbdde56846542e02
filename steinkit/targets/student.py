"""Student t distributions: the multivariate one, and products of univariate ones.

With nu degrees of freedom, location m and scale matrix S, in d dimensions:

    log p(x) = -(nu + d)/2 log(1 + q/nu) + constant,      q = (x - m)' S^-1 (x - m)
    score = -(nu + d)/(nu + q) S^-1 (x - m)
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from steinkit.errors import UsageError
from steinkit.sample import Floats
from steinkit.targets.family import Family, log1p_minus, stirling_error
from steinkit.targets.parameters import as_finite, as_positive, as_scatter, as_vector, common_dim, show


class StudentT(Family):
    """Multivariate Student t distribution on R^d.

    Parameters
    ----------
    df : float
        Degrees of freedom, positive.
    location : float or array_like, shape (d,)
        Centre, of all coordinates or of each: the mean where df > 1.
    scale_matrix : float, or array_like of shape (d,) or (d, d), optional
        S: a multiple of the identity, a diagonal, or the whole matrix; the identity if not given. A scalar is
        a squared scale, as a variance is. The covariance is df / (df - 2) S where df > 2.
    dim : int, optional
        Number of coordinates, where location and scale matrix are scalars; 1 if not given.

    Raises
    ------
    UsageError
        If df is not positive, the parameters disagree on the dimension, or S is not positive definite.
    """

    def __init__(
        self,
        df: float,
        location: ArrayLike = 0.0,
        scale_matrix: ArrayLike | None = None,
        dim: int | None = None,
    ) -> None:
        freedom = as_positive(df, "df")
        if freedom.ndim:
            raise UsageError(f"df must be one number; received {show(freedom)}: see IndependentStudentT")
        centre = as_finite(location, "location")
        matrix = as_finite(1.0 if scale_matrix is None else scale_matrix, "scale_matrix")
        d = common_dim(dim, location=centre, scale_matrix=matrix)
        self.df = float(freedom)
        self.location = as_vector(centre, d, "location")
        self._scatter = as_scatter(matrix, d, "scale_matrix")
        super().__init__("student-t", d, f"df={self.df:g}, location={show(centre)}, scale_matrix={show(matrix)}")

    def _evaluate_score(self, points: Floats) -> Floats:
        residuals = points - self.location
        q = (self._scatter.whiten(residuals) ** 2).sum(axis=1)
        factor = (self.df + points.shape[1]) / (self.df + q)
        return np.asarray(-factor[:, None] * self._scatter.solve(residuals), dtype=np.float64)

    def _evaluate_log_density(self, points: Floats) -> Floats:
        from scipy.special import gammaln

        nu, d = self.df, points.shape[1]
        q = (self._scatter.whiten(points - self.location) ** 2).sum(axis=1)
        constant = (
            gammaln(0.5 * (nu + d))
            - gammaln(0.5 * nu)
            - 0.5 * d * math.log(nu * math.pi)
            - self._scatter.half_log_determinant
        )
        return np.asarray(constant - 0.5 * (nu + d) * np.log1p(q / nu), dtype=np.float64)

    def _evaluate_cdf(self, values: Floats) -> Floats:
        from scipy.special import stdtr

        scale = self._scatter.factor.ravel()
        return np.asarray(stdtr(self.df, (values - self.location) / scale), dtype=np.float64)

    def _evaluate_tail_integrals(self, values: Floats) -> Floats:
        scale = self._scatter.factor.ravel()
        return _tail_integrals((values - self.location) / scale, self.df) * scale

    def _draw(self, n: int, rng: np.random.Generator) -> Floats:
        noise = self._scatter.colour(rng.standard_normal((n, len(self.location))))
        return self.location + noise * np.sqrt(self.df / rng.chisquare(self.df, size=(n, 1)))


class IndependentStudentT(Family):
    """Independent Student t coordinates: x_j = location_j + scale_j t_j, with t_j of df_j degrees of freedom.

    Parameters
    ----------
    df : float or array_like, shape (d,)
        Degrees of freedom, positive.
    location : float or array_like, shape (d,)
        Centres, of all coordinates or of each: the means where df > 1.
    scale : float or array_like, shape (d,)
        Positive. The variance is df / (df - 2) scale^2 where df > 2.
    dim : int, optional
        Number of coordinates, where all parameters are scalars; 1 if not given.

    Raises
    ------
    UsageError
        If df or scale is not positive, or the parameters disagree on the dimension.
    """

    def __init__(
        self, df: ArrayLike, location: ArrayLike = 0.0, scale: ArrayLike = 1.0, dim: int | None = None
    ) -> None:
        freedom, centre = as_positive(df, "df"), as_finite(location, "location")
        width = as_positive(scale, "scale")
        d = common_dim(dim, df=freedom, location=centre, scale=width)
        self.df = as_vector(freedom, d, "df")
        self.location = as_vector(centre, d, "location")
        self.scale = as_vector(width, d, "scale")
        super().__init__(
            "independent-student-t", d, f"df={show(freedom)}, location={show(centre)}, scale={show(width)}"
        )

    def _standardise(self, points: Floats) -> Floats:
        return np.asarray((points - self.location) / self.scale, dtype=np.float64)

    def _evaluate_score(self, points: Floats) -> Floats:
        t = self._standardise(points)
        return np.asarray(-(self.df + 1.0) / (self.df + t**2) * t / self.scale, dtype=np.float64)

    def _evaluate_log_density(self, points: Floats) -> Floats:
        from scipy.special import gammaln

        nu = self.df
        constants = gammaln(0.5 * (nu + 1.0)) - gammaln(0.5 * nu) - 0.5 * np.log(nu * math.pi) - np.log(self.scale)
        terms = constants - 0.5 * (nu + 1.0) * np.log1p(self._standardise(points) ** 2 / nu)
        return np.asarray(terms.sum(axis=1), dtype=np.float64)

    def _evaluate_cdf(self, values: Floats) -> Floats:
        from scipy.special import stdtr

        return np.asarray(stdtr(self.df, self._standardise(values)), dtype=np.float64)

    def _evaluate_tail_integrals(self, values: Floats) -> Floats:
        return _tail_integrals(self._standardise(values), float(self.df[0])) * self.scale

    def _draw(self, n: int, rng: np.random.Generator) -> Floats:
        return self.location + self.scale * rng.standard_t(self.df, size=(n, len(self.df)))


def _tail_integrals(t: Floats, df: float) -> Floats:
    """E max(t - T, 0) and E max(T - t, 0) for a standard Student T, (n,) -> (n, 2); infinite without a mean.

    With z = df / 2 the density at 0 is exp(z log1p_minus(1 / (2 z)) + e(z + 1/2) - e(z)) / sqrt(2 pi), for Stirling's
    error e.
    """
    from scipy.special import stdtr

    if df <= 1.0:
        return np.full((len(t), 2), np.inf)
    half = 0.5 * df
    exponent = half * float(log1p_minus(np.array(0.5 / half))) + stirling_error(half + 0.5) - stirling_error(half)
    # (df + t^2) / (df - 1) times the density
    spread = df / (df - 1.0) * np.exp(exponent - (df - 1.0) * _half_log_excess(t, df)) / math.sqrt(2.0 * math.pi)
    return np.maximum(np.column_stack([t * stdtr(df, t) + spread, spread - t * stdtr(df, -t)]), 0.0)


def _half_log_excess(t: Floats, df: float) -> Floats:
    """log(1 + t^2 / df) / 2, where t^2 may overflow or not."""
    ratio = np.abs(t) / math.sqrt(df)
    large = ratio > 1e8
    return np.where(large, np.log(np.where(large, ratio, 1.0)), 0.5 * np.log1p(np.where(large, 0.0, ratio) ** 2))
