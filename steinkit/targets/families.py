"""Families of distributions: normal, mixtures of normals, Student t, gamma, beta, uniform.

**Normal distributions.**

log p(x) = -1/2 (x - m)' S^-1 (x - m) - 1/2 log det S - d/2 log(2 pi),      score = -S^-1 (x - m)

**Mixtures of normal distributions.**

    p(x) = sum_k w_k N(x; m_k, S_k),      score = -sum_k r_k(x) S_k^-1 (x - m_k)

with the responsibilities r_k(x) = w_k N(x; m_k, S_k) / p(x).

**Student t distributions,** the multivariate one, and products of univariate ones.

With nu degrees of freedom, location m and scale matrix S, in d dimensions:

    log p(x) = -(nu + d)/2 log(1 + q/nu) + constant,      q = (x - m)' S^-1 (x - m)
    score = -(nu + d)/(nu + q) S^-1 (x - m)

**Gamma distributions.**

p(x) = product_j rate_j^shape_j / Gamma(shape_j) x_j^(shape_j - 1) exp(-rate_j x_j),   x > 0
score_j = (shape_j - 1) / x_j - rate_j

**Beta distributions.**

p(x) = product_j x_j^(a_j - 1) (1 - x_j)^(b_j - 1) / B(a_j, b_j),   0 < x < 1
score_j = (a_j - 1) / x_j - (b_j - 1) / (1 - x_j)

**Uniform distributions** on boxes.

p(x) = product_j 1 / (upper_j - lower_j)  for lower <= x <= upper,      score = 0
"""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import ArrayLike

from steinkit.errors import UsageError
from steinkit.sample import Floats
from steinkit.targets.family import (
    Family,
    Scatter,
    as_finite,
    as_positive,
    as_scatter,
    as_vector,
    log1p_minus,
    show,
    stirling_error,
)


def normal_tail_integrals(values: Floats, mean: Floats, deviation: Floats) -> Floats:
    """E max(x - X, 0) and E max(X - x, 0) for X normal, last axis of length 2; arguments broadcast."""
    distance = values - mean
    with np.errstate(over="ignore"):  # of a quotient or its square, where the density is zero
        z = distance / deviation
        spread = np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi) * deviation
    below, above = scipy.special.ndtr(z), scipy.special.ndtr(-z)
    return np.asarray(np.maximum(np.stack([distance * below + spread, spread - distance * above], axis=-1), 0.0))


class Normal(Family):
    """Normal distribution on R^d; covariance: a variance, the variances, or a matrix.

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
        centre, matrix = as_finite(mean, "mean"), as_finite(1.0 if covariance is None else covariance, "covariance")
        super().__init__("normal", dim, mean=centre, covariance=matrix)
        self.mean, self._scatter = as_vector(centre, self.dim, "mean"), as_scatter(matrix, self.dim, "covariance")

    def _evaluate_score(self, points: Floats) -> Floats:
        return -self._scatter.solve(points - self.mean)

    def _evaluate_log_density(self, points: Floats) -> Floats:
        whitened = self._scatter.whiten(points - self.mean)
        constant = self._scatter.half_log_determinant + 0.5 * len(self.mean) * math.log(2.0 * math.pi)
        return np.asarray(-0.5 * (whitened**2).sum(axis=1) - constant, dtype=np.float64)

    def _evaluate_cdf(self, values: Floats) -> Floats:
        return np.asarray(scipy.special.ndtr((values - self.mean) / self._scatter.factor.ravel()), dtype=np.float64)

    def _evaluate_tail_integrals(self, values: Floats) -> Floats:
        return normal_tail_integrals(values, self.mean, self._scatter.factor.ravel())

    def _draw(self, n: int, rng: np.random.Generator) -> Floats:
        return self.mean + self._scatter.colour(rng.standard_normal((n, len(self.mean))))


class GaussianMixture(Family):
    """Mixture of k normal distributions on R^d; sd: one standard deviation for all.

    Parameters
    ----------
    means : array_like, shape (k, d), or (k,) in one dimension
        One row a component.
    covariances : float, or array_like of shape (k,), (k, d) or (k, d, d), optional
        A variance common to all, one variance a component, the variances of each component, or whole
        matrices.
    weights : array_like, shape (k,), optional
        Positive; scaled to sum to one. Equal if not given.
    sd : float, optional
        Common standard deviation, in place of ``covariances``; 1 if neither is given.

    Raises
    ------
    UsageError
        If shapes disagree, a covariance is not positive definite, or a weight is not positive.
    """

    def __init__(
        self,
        means: ArrayLike,
        covariances: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        *,
        sd: float | None = None,
    ) -> None:
        centres = as_finite(means, "means")
        if centres.ndim == 1:
            centres = centres[:, None]
        if centres.ndim != 2:
            raise UsageError(f"means must have shape (k, d), one row a component; received {centres.shape}")
        if sd is not None and covariances is not None:
            raise UsageError("pass either sd or covariances; received both")
        spread = _common_variance(sd) if covariances is None else as_finite(covariances, "covariances")
        self.means = centres
        self.weights = _as_weights(weights, len(centres))
        self._scatters = _component_scatters(spread, *centres.shape)
        self._spread = spread
        super().__init__("gaussian-mixture", centres.shape[1])

    def __repr__(self) -> str:
        weights = show(self.weights)
        return f"GaussianMixture(means={show(self.means)}, covariances={show(self._spread)}, weights={weights})"

    def _log_terms(self, points: Floats) -> Floats:
        """log(w_k N(x; m_k, S_k)), (n, d) -> (n, k)."""
        terms = np.empty((len(points), len(self.means)))
        constant = 0.5 * points.shape[1] * math.log(2.0 * math.pi)
        for k, scatter in enumerate(self._scatters):
            whitened = scatter.whiten(points - self.means[k])
            terms[:, k] = -0.5 * (whitened**2).sum(axis=1) - scatter.half_log_determinant - constant
        return terms + np.log(self.weights)

    def _evaluate_score(self, points: Floats) -> Floats:
        responsibilities = scipy.special.softmax(self._log_terms(points), axis=1)
        score = np.zeros(points.shape)
        for k, scatter in enumerate(self._scatters):
            score -= responsibilities[:, k, None] * scatter.solve(points - self.means[k])
        return score

    def _evaluate_log_density(self, points: Floats) -> Floats:
        return np.asarray(scipy.special.logsumexp(self._log_terms(points), axis=1), dtype=np.float64)

    def _evaluate_cdf(self, values: Floats) -> Floats:
        deviations = np.array([scatter.factor.ravel()[0] for scatter in self._scatters])
        return np.asarray(scipy.special.ndtr((values[:, None] - self.means.T) / deviations) @ self.weights)

    def _evaluate_tail_integrals(self, values: Floats) -> Floats:
        deviations = np.array([scatter.factor.ravel()[0] for scatter in self._scatters])
        each = normal_tail_integrals(values[:, None], self.means[:, 0], deviations)
        return np.asarray(np.einsum("nkt,k->nt", each, self.weights))

    def _draw(self, n: int, rng: np.random.Generator) -> Floats:
        component = rng.choice(len(self.means), size=n, p=self.weights)
        points = rng.standard_normal((n, self.means.shape[1]))
        for k, scatter in enumerate(self._scatters):
            points[component == k] = self.means[k] + scatter.colour(points[component == k])
        return points


def _common_variance(sd: float | None) -> Floats:
    deviation = as_positive(1.0 if sd is None else sd, "sd")
    if deviation.ndim:
        raise UsageError(f"sd must be one number; received {show(deviation)}: use covariances")
    return deviation**2


def _as_weights(weights: ArrayLike | None, k: int) -> Floats:
    values = np.ones(k) if weights is None else as_positive(weights, "weights")
    if values.shape != (k,):
        raise UsageError(f"weights must hold one number a component, {k} in all; received {show(values)}")
    return np.asarray(values / values.sum(), dtype=np.float64)


def _component_scatters(spread: Floats, k: int, d: int) -> list[Scatter]:
    if spread.shape not in {(), (k,), (k, d), (k, d, d)}:
        raise UsageError(
            f"covariances must be a scalar or have shape ({k},), ({k}, {d}) or ({k}, {d}, {d}); received {spread.shape}"
        )
    each = np.broadcast_to(spread, (k,)) if spread.ndim == 0 else spread
    return [as_scatter(np.asarray(matrix), d, f"covariance of component {i + 1}") for i, matrix in enumerate(each)]


class StudentT(Family):
    """Multivariate Student t distribution on R^d, whose scale matrix holds squared scales.

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
        super().__init__("student-t", dim, df=freedom, location=centre, scale_matrix=matrix)
        self.df = float(freedom)
        self.location = as_vector(centre, self.dim, "location")
        self._scatter = as_scatter(matrix, self.dim, "scale_matrix")

    def _evaluate_score(self, points: Floats) -> Floats:
        residuals = points - self.location
        q = (self._scatter.whiten(residuals) ** 2).sum(axis=1)
        factor = (self.df + points.shape[1]) / (self.df + q)
        return np.asarray(-factor[:, None] * self._scatter.solve(residuals), dtype=np.float64)

    def _evaluate_log_density(self, points: Floats) -> Floats:
        nu, d = self.df, points.shape[1]
        q = (self._scatter.whiten(points - self.location) ** 2).sum(axis=1)
        constant = scipy.special.gammaln(0.5 * (nu + d)) - scipy.special.gammaln(0.5 * nu)
        constant = constant - 0.5 * d * math.log(nu * math.pi) - self._scatter.half_log_determinant
        return np.asarray(constant - 0.5 * (nu + d) * np.log1p(q / nu), dtype=np.float64)

    def _evaluate_cdf(self, values: Floats) -> Floats:
        scale = self._scatter.factor.ravel()
        return np.asarray(scipy.special.stdtr(self.df, (values - self.location) / scale), dtype=np.float64)

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
        super().__init__("independent-student-t", dim, df=freedom, location=centre, scale=width)
        self.df, self.location = as_vector(freedom, self.dim, "df"), as_vector(centre, self.dim, "location")
        self.scale = as_vector(width, self.dim, "scale")

    def _standardise(self, points: Floats) -> Floats:
        return np.asarray((points - self.location) / self.scale, dtype=np.float64)

    def _evaluate_score(self, points: Floats) -> Floats:
        t = self._standardise(points)
        return np.asarray(-(self.df + 1.0) / (self.df + t**2) * t / self.scale, dtype=np.float64)

    def _evaluate_log_density(self, points: Floats) -> Floats:
        nu = self.df
        constants = scipy.special.gammaln(0.5 * (nu + 1.0)) - scipy.special.gammaln(0.5 * nu)
        constants = constants - 0.5 * np.log(nu * math.pi) - np.log(self.scale)
        terms = constants - 0.5 * (nu + 1.0) * np.log1p(self._standardise(points) ** 2 / nu)
        return np.asarray(terms.sum(axis=1), dtype=np.float64)

    def _evaluate_cdf(self, values: Floats) -> Floats:
        return np.asarray(scipy.special.stdtr(self.df, self._standardise(values)), dtype=np.float64)

    def _evaluate_tail_integrals(self, values: Floats) -> Floats:
        return _tail_integrals(self._standardise(values), float(self.df[0])) * self.scale

    def _draw(self, n: int, rng: np.random.Generator) -> Floats:
        return self.location + self.scale * rng.standard_t(self.df, size=(n, len(self.df)))


def _tail_integrals(t: Floats, df: float) -> Floats:
    """E max(t - T, 0) and E max(T - t, 0) for a standard Student T, (n,) -> (n, 2); infinite without a mean.

    With z = df / 2 the density at 0 is exp(z log1p_minus(1 / (2 z)) + e(z + 1/2) - e(z)) / sqrt(2 pi), for Stirling's
    error e.
    """
    if df <= 1.0:
        return np.full((len(t), 2), np.inf)
    half = 0.5 * df
    exponent = half * float(log1p_minus(np.array(0.5 / half))) + stirling_error(half + 0.5) - stirling_error(half)
    # (df + t^2) / (df - 1) times the density
    spread = df / (df - 1.0) * np.exp(exponent - (df - 1.0) * _half_log_excess(t, df)) / math.sqrt(2.0 * math.pi)
    below, above = scipy.special.stdtr(df, t), scipy.special.stdtr(df, -t)
    return np.maximum(np.column_stack([t * below + spread, spread - t * above]), 0.0)


def _half_log_excess(t: Floats, df: float) -> Floats:
    """log(1 + t^2 / df) / 2, where t^2 may overflow or not."""
    ratio = np.abs(t) / math.sqrt(df)
    large = ratio > 1e8
    return np.where(large, np.log(np.where(large, ratio, 1.0)), 0.5 * np.log1p(np.where(large, 0.0, ratio) ** 2))


_LARGE_SHAPE = 1e5  # from which shape on the rest of Temme's expansion is below 1e-14


class Gamma(Family):
    """Independent gamma coordinates on (0, inf), with mean shape / rate.

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
        super().__init__("gamma", dim, (0.0, np.inf), shape=exponent, rate=decay)
        self.shape, self.rate = as_vector(exponent, self.dim, "shape"), as_vector(decay, self.dim, "rate")

    def _evaluate_score(self, points: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            pull = np.where(self.shape == 1.0, 0.0, (self.shape - 1.0) / points)
        return np.asarray(pull - self.rate, dtype=np.float64)

    def _evaluate_log_density(self, points: Floats) -> Floats:
        inside = (points >= 0.0).all(axis=1)
        constant = (self.shape * np.log(self.rate) - scipy.special.gammaln(self.shape)).sum()
        terms = scipy.special.xlogy(self.shape - 1.0, np.maximum(points, 0.0)) - self.rate * points
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
    below: Floats = np.asarray(scipy.special.gammainc(k, z), dtype=np.float64)
    above: Floats = np.asarray(scipy.special.gammaincc(k, z), dtype=np.float64)
    mu = z / k - 1.0
    tail = (mu * math.sqrt(k) > 4.0) | ((mu * math.sqrt(k) < -4.0) & (z > 0.0))
    if k > _LARGE_SHAPE and tail.any():
        mu = mu[tail]
        height = -log1p_minus(mu)  # eta^2 / 2
        eta = np.copysign(np.sqrt(2.0 * height), mu)
        rest = np.exp(-k * height) / math.sqrt(2.0 * math.pi * k) * (1.0 / mu - 1.0 / eta)
        below[tail] = 0.5 * scipy.special.erfc(-eta * math.sqrt(0.5 * k)) - rest
        above[tail] = 0.5 * scipy.special.erfc(eta * math.sqrt(0.5 * k)) + rest
    return below, above


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
        super().__init__("beta", dim, (0.0, 1.0), a=left, b=right)
        self.a, self.b = as_vector(left, self.dim, "a"), as_vector(right, self.dim, "b")

    def _evaluate_score(self, points: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            left = np.where(self.a == 1.0, 0.0, (self.a - 1.0) / points)
            right = np.where(self.b == 1.0, 0.0, (self.b - 1.0) / (1.0 - points))
        return np.asarray(left - right, dtype=np.float64)

    def _evaluate_log_density(self, points: Floats) -> Floats:
        inside = ((points >= 0.0) & (points <= 1.0)).all(axis=1)
        x = np.clip(points, 0.0, 1.0)
        terms = scipy.special.xlogy(self.a - 1.0, x) + scipy.special.xlog1py(self.b - 1.0, -x)
        terms -= scipy.special.betaln(self.a, self.b)
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
        (a,), (b,), low = self.a, self.b, self._beyond_mean(x) < 0.0
        smaller = np.where(low, scipy.special.betainc(a, b, x), scipy.special.betaincc(a, b, x))
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
        super().__init__("uniform", dim, lower=low, upper=high)
        self.lower, self.upper = as_vector(low, self.dim, "lower"), as_vector(high, self.dim, "upper")
        if not (self.lower < self.upper).all():
            raise UsageError(f"lower must be below upper; received lower={show(low)}, upper={show(high)}")
        self.bounds = np.column_stack([self.lower, self.upper])

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
