"""Normal, Gaussian mixture, Student t, gamma, beta and uniform distributions.

**Normal distribution**

log p(x) = -1/2 (x - m)' S^-1 (x - m) - 1/2 log det S - d/2 log(2 pi),      score = -S^-1 (x - m)

**Gaussian mixture** with the responsibilities r_k(x) = w_k N(x; m_k, S_k) / p(x):

p(x) = sum_k w_k N(x; m_k, S_k),      score = -sum_k r_k(x) S_k^-1 (x - m_k)

**Multivariate Student t distribution** with nu degrees of freedom, location m and scale matrix S:

log p(x) = -(nu + d)/2 log(1 + q/nu) + constant,      q = (x - m)' S^-1 (x - m)
score = -(nu + d)/(nu + q) S^-1 (x - m)

**Gamma distribution**

p(x) = product_j rate_j^shape_j / Gamma(shape_j) x_j^(shape_j - 1) exp(-rate_j x_j),   x > 0
score_j = (shape_j - 1) / x_j - rate_j

**Beta distribution**

p(x) = product_j x_j^(a_j - 1) (1 - x_j)^(b_j - 1) / B(a_j, b_j),   0 < x < 1
score_j = (a_j - 1) / x_j - (b_j - 1) / (1 - x_j)

**Uniform distribution** on a box

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
    as_number,
    as_positive,
    as_rows,
    as_scatter,
    as_vector,
    log1p_minus,
    show,
    stirling_error,
)


def normal_tail_integrals(values: Floats, mean: Floats, deviation: Floats) -> Floats:
    """Compute E max(x - X, 0) and E max(X - x, 0) for normal X.

    The two expectations are stacked along the last axis.
    """
    distance = values - mean
    with np.errstate(over="ignore"):  # the density is then zero
        z = distance / deviation
        spread = np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi) * deviation
    below, above = scipy.special.ndtr(z), scipy.special.ndtr(-z)
    return np.asarray(np.maximum(np.stack([distance * below + spread, spread - distance * above], axis=-1), 0.0))


class Normal(Family):
    """Normal distribution on R^d with given variances or a covariance matrix.

    Parameters
    ----------
    mean : float or array_like, shape (d,), default 0.0
        Mean of all coordinates or of each coordinate.
    covariance : float, or array_like of shape (d,) or (d, d), optional
        Common variance, variances, or covariance matrix. The default is the identity.
    dim : int, optional
        Number of coordinates if mean and covariance are scalars. The default is 1.

    Raises
    ------
    UsageError
        If the dimensions of the parameters differ, or if the covariance is not symmetric and positive definite.

    Examples
    --------
    >>> import steinkit as sk
    >>> sk.targets.Normal(mean=[1.0, 0.0], covariance=2.0).score([[2.0, 4.0]])
    array([[-0.5, -2. ]])
    """

    def __init__(self, mean: ArrayLike = 0.0, covariance: ArrayLike | None = None, dim: int | None = None) -> None:
        center, matrix = as_finite(mean, "mean"), as_finite(1.0 if covariance is None else covariance, "covariance")
        super().__init__("normal", dim, mean=center, covariance=matrix)
        self.mean, self._scatter = as_vector(center, self.dim, "mean"), as_scatter(matrix, self.dim, "covariance")

    @property
    def convexity(self) -> float:
        """Smallest eigenvalue of the inverse covariance."""
        factor = self._scatter.factor
        return float(np.linalg.norm(np.diag(factor) if factor.ndim == 1 else factor, 2) ** -2.0)

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
    """Mixture of k normal distributions on R^d with a common sd or k covariances.

    Parameters
    ----------
    means : array_like, shape (k, d), or (k,) in one dimension
        Mean of each component.
    covariances : float, or array_like of shape (k,), (k, d) or (k, d, d), optional
        Common variance, one variance per component, the variances of each component, or covariance matrices.
    weights : array_like, shape (k,), optional
        Positive weights, which are normalized to sum to one. By default, they are equal.
    sd : float, optional
        Common standard deviation, in place of ``covariances``. The default is 1.

    Raises
    ------
    UsageError
        If the shapes do not match, if a covariance is not positive definite, or if a weight is not positive.

    Examples
    --------
    >>> import steinkit as sk
    >>> sk.targets.GaussianMixture([-2.0, 2.0], sd=0.5).score([[0.0]])
    array([[0.]])
    """

    def __init__(
        self,
        means: ArrayLike,
        covariances: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        *,
        sd: float | None = None,
    ) -> None:
        centers = as_rows(means, "means", "(k, d), one row per component")
        if sd is not None and covariances is not None:
            raise UsageError("expected either `sd` or `covariances`, got both")
        spread = _common_variance(sd) if covariances is None else as_finite(covariances, "covariances")
        self.means = centers
        k, d = centers.shape
        positive = np.ones(k) if weights is None else as_positive(weights, "weights")
        if positive.shape != (k,):
            raise UsageError(f"`weights` must have shape ({k},); got {show(positive)}")
        self.weights = np.asarray(positive / positive.sum(), dtype=np.float64)
        self._scatters = _component_scatters(spread, k, d)
        self._spread = spread
        super().__init__("gaussian-mixture", d)

    def __repr__(self) -> str:
        weights = show(self.weights)
        return f"GaussianMixture(means={show(self.means)}, covariances={show(self._spread)}, weights={weights})"

    def _log_terms(self, points: Floats) -> Floats:
        """Compute log(w_k N(x; m_k, S_k)) for n points and k components."""
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
        return np.asarray(np.logaddexp.reduce(self._log_terms(points), axis=1))

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
        raise UsageError(f"`sd` must be a single number; got {show(deviation)}: use covariances")
    return deviation**2


def _component_scatters(spread: Floats, k: int, d: int) -> list[Scatter]:
    if spread.shape not in {(), (k,), (k, d), (k, d, d)}:
        raise UsageError(
            f"`covariances` must be a scalar or have shape ({k},), ({k}, {d}) or ({k}, {d}, {d}); got {spread.shape}"
        )
    each = np.broadcast_to(spread, (k,)) if spread.ndim == 0 else spread
    return [as_scatter(np.asarray(matrix), d, f"covariance of component {i + 1}") for i, matrix in enumerate(each)]


class StudentT(Family):
    """Multivariate Student t distribution on R^d with a scale matrix.

    Parameters
    ----------
    df : float
        Degrees of freedom, which must be positive.
    location : float or array_like, shape (d,), default 0.0
        Center of all coordinates, or of each coordinate. The center is the mean if df > 1.
    scale_matrix : float, or array_like of shape (d,) or (d, d), optional
        Scale matrix S, given as a multiple of the identity, as a diagonal, or as a matrix. The default is the identity.
        A scalar is a squared scale, like a variance. The covariance is df / (df - 2) S if df > 2.
    dim : int, optional
        Number of coordinates if location and scale matrix are scalars. The default is 1.

    Raises
    ------
    UsageError
        If df is not positive, if the dimensions of the parameters differ, or if S is not positive definite.

    Examples
    --------
    >>> import steinkit as sk
    >>> sk.targets.StudentT(4.0).score([[1.0]])
    array([[-1.]])
    """

    def __init__(
        self,
        df: float,
        location: ArrayLike = 0.0,
        scale_matrix: ArrayLike | None = None,
        dim: int | None = None,
    ) -> None:
        freedom = as_positive(as_number(df, "df"), "df")
        center = as_finite(location, "location")
        matrix = as_finite(1.0 if scale_matrix is None else scale_matrix, "scale_matrix")
        super().__init__("student-t", dim, df=freedom, location=center, scale_matrix=matrix)
        self.df = float(freedom)
        self.location = as_vector(center, self.dim, "location")
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


def _tail_integrals(t: Floats, df: float) -> Floats:
    """Compute E max(t - T, 0) and E max(T - t, 0) for Student t random variables T.

    With z = df / 2, the density at 0 is exp(z log1p_minus(1 / (2 z)) + e(z + 1/2) - e(z)) / sqrt(2 pi), where e is
    `stirling_error`.
    """
    if df <= 1.0:
        return np.full((len(t), 2), np.inf)
    half = 0.5 * df
    exponent = half * float(log1p_minus(np.array(0.5 / half))) + stirling_error(half + 0.5) - stirling_error(half)
    # (df + t^2) / (df - 1) times the density
    spread = df / (df - 1.0) * np.exp(exponent - 0.5 * (df - 1.0) * np.log1p(t**2 / df)) / math.sqrt(2.0 * math.pi)
    below, above = scipy.special.stdtr(df, t), scipy.special.stdtr(df, -t)
    return np.maximum(np.column_stack([t * below + spread, spread - t * above]), 0.0)


_LARGEST_SHAPE = 1e5  # for larger shape parameters, SciPy's incomplete gamma functions lose digits in the tails


class Gamma(Family):
    """Independent gamma distributions on (0, inf) with mean shape / rate.

    Parameters
    ----------
    shape : float or array_like, shape (d,)
        Shape parameters, which must be positive.
    rate : float or array_like, shape (d,), default 1.0
        Rate parameters, which must be positive.
    dim : int, optional
        Number of coordinates if both parameters are scalars. The default is 1.

    Raises
    ------
    UsageError
        If a parameter is not positive, or if the dimensions of the parameters differ.

    Notes
    -----
    The score at 0 is infinite unless shape = 1. Draws at 0 are rejected. A cdf is available for shapes up to 1e5.

    Examples
    --------
    >>> import steinkit as sk
    >>> sk.targets.Gamma(3.0, rate=2.0).score([[1.0]])
    array([[0.]])
    """

    def __init__(self, shape: ArrayLike, rate: ArrayLike = 1.0, dim: int | None = None) -> None:
        exponent, decay = as_positive(shape, "shape"), as_positive(rate, "rate")
        has_cdf = bool(exponent.max() <= _LARGEST_SHAPE)
        super().__init__("gamma", dim, (0.0, np.inf), has_cdf, shape=exponent, rate=decay)
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
        return np.asarray(scipy.special.gammainc(self.shape[0], self._scaled(values)), dtype=np.float64)

    def _evaluate_tail_integrals(self, values: Floats) -> Floats:
        """For rate 1, E max(x - X, 0) = (x - k) F(x) + x^k exp(-x) / Gamma(k)."""
        k, rate, z = float(self.shape[0]), float(self.rate[0]), self._scaled(values)
        beyond_mean = np.maximum(values, 0.0) - k / rate
        exponents = k * log1p_minus(np.where(z > 0.0, (z - k) / k, 0.0)) - stirling_error(k)
        spread = np.where(z > 0.0, math.sqrt(k / (2.0 * math.pi)) / rate * np.exp(exponents), 0.0)
        below, above = scipy.special.gammainc(k, z), scipy.special.gammaincc(k, z)
        both = np.maximum(np.column_stack([beyond_mean * below + spread, spread - beyond_mean * above]), 0.0)
        return np.asarray(both + np.column_stack([np.zeros(len(values)), np.maximum(-values, 0.0)]))

    def _scaled(self, values: Floats) -> Floats:
        """Rescale values to a distribution with rate 1.

        The results are clipped to a range where 1 - F is not zero.
        """
        with np.errstate(over="ignore"):
            return np.asarray(np.minimum(self.rate[0] * np.maximum(values, 0.0), 1e300))

    def _draw(self, n: int, rng: np.random.Generator) -> Floats:
        return rng.gamma(self.shape, 1.0 / self.rate, size=(n, len(self.shape)))


class Beta(Family):
    """Independent beta distributions on (0, 1) with mean a / (a + b).

    Parameters
    ----------
    a, b : float or array_like, shape (d,)
        Shape parameters, which must be positive.
    dim : int, optional
        Number of coordinates if both parameters are scalars. The default is 1.

    Raises
    ------
    UsageError
        If a parameter is not positive, or if the dimensions of the parameters differ.

    Notes
    -----
    The score is infinite at 0 unless a = 1, and at 1 unless b = 1. Draws at these points are rejected.

    Examples
    --------
    >>> import steinkit as sk
    >>> sk.targets.Beta(2.0, 2.0).score([[0.5]])
    array([[0.]])
    """

    def __init__(self, a: ArrayLike, b: ArrayLike, dim: int | None = None) -> None:
        left, right = as_positive(a, "a"), as_positive(b, "b")
        super().__init__("beta", dim, (0.0, 1.0), False, a=left, b=right)
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

    def _draw(self, n: int, rng: np.random.Generator) -> Floats:
        return rng.beta(self.a, self.b, size=(n, len(self.a)))


class Uniform(Family):
    """Uniform distribution on the box [lower, upper].

    Parameters
    ----------
    lower, upper : float or array_like, shape (d,), default 0.0 and 1.0
        Lower and upper bounds of all coordinates or of each coordinate.
    dim : int, optional
        Number of coordinates if both parameters are scalars. The default is 1.

    Raises
    ------
    UsageError
        If lower is not less than upper, or if the dimensions of the parameters differ.

    Examples
    --------
    >>> import steinkit as sk
    >>> sk.targets.Uniform(0.0, [1.0, 2.0]).bounds
    array([[0., 1.],
           [0., 2.]])
    """

    def __init__(self, lower: ArrayLike = 0.0, upper: ArrayLike = 1.0, dim: int | None = None) -> None:
        low, high = as_finite(lower, "lower"), as_finite(upper, "upper")
        super().__init__("uniform", dim, lower=low, upper=high)
        self.lower, self.upper = as_vector(low, self.dim, "lower"), as_vector(high, self.dim, "upper")
        if not (self.lower < self.upper).all():
            raise UsageError(f"`lower` must be less than `upper`; got {show(low)} and {show(high)}")
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
