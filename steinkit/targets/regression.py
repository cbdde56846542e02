"""Posteriors of regression coefficients, given linear predictors x_i'theta.

**Bayesian logistic regression**

theta ~ N(0, v I),   P(y_i | x_i, theta) = sigma(y_i x_i'theta),   y_i in {-1, +1}
score = -theta / v + sum_i sigma(-y_i x_i'theta) y_i x_i,   sigma(u) = 1 / (1 + exp(-u))

**Linear regression with L1 regularization** (the Bayesian lasso with a known precision)

p(theta) ∝ exp(-lambda_0 |theta|_1),   y_i ~ N(x_i'theta, 1 / lambda)
score = -lambda_0 sign(theta) + lambda sum_i (y_i - x_i'theta) x_i

In one dimension, let a = lambda (sum of x_i^2) and t = (sum of x_i y_i) / (sum of x_i^2). Completing the square gives a
normal distribution on each side of 0,

    p(theta | data) ∝ exp(-a (theta - m)^2 / 2 + a m^2 / 2),   m = t - lambda_0 / a above 0, t + lambda_0 / a below.

The mass on each side is proportional to exp(a m^2 / 2) Phi(+-sqrt(a) m). Exact draws and the cdf follow from these
formulas.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import generator_from, require_flags, require_unmasked
from steinkit.compiled_terms import CompiledTerms
from steinkit.errors import InputError, UsageError, did_you_mean
from steinkit.posterior import Array
from steinkit.sample import Floats
from steinkit.target import Seed
from steinkit.targets.family import PosteriorFamily, as_count, as_finite, as_number, as_prior_variance, as_vector


class LinearModel(PosteriorFamily):
    """Posterior for regression coefficients.

    The gradient of the log likelihood is lambda sum_i pull_i x_i, where lambda is equal to `precision`.
    """

    precision: float = 1.0

    @classmethod
    def from_csv(cls, path: str | Path, response: str, *, intercept: bool = False, **options: Any) -> Self:
        """Return the posterior for the regression of one CSV column on the others.

        Parameters
        ----------
        path : str or Path
            CSV file of numbers, with a header of column names.
        response : str
            Name of the response column.
        intercept : bool, default False
            If True, a column of ones, named ``intercept``, is inserted as the first feature. Its coefficient has the
            same prior.
        **options
            Options of the class for the prior and the noise.

        Returns
        -------
        LogisticRegression or LassoRegression
            Posterior with one coefficient per feature, named after the columns.

        Raises
        ------
        InputError
            If the file cannot be read, if it contains a cell that is not a number (the message states file, line and
            column), if there is no feature, or if it contains responses that the class does not accept.
        UsageError
            If no column has the name of the response.
        """
        from steinkit.files.csv_format import read_table

        require_flags(intercept=intercept)
        columns, table = read_table(path)
        if response not in columns:
            hint = did_you_mean(response, columns)
            raise UsageError(f"{path} has no column {response!r}{hint}; its columns are {', '.join(columns)}")
        names = [name for name in columns if name != response]
        if not names and not intercept:
            raise InputError(f"{path} has no column except the response {response!r}; add features or intercept=True")
        features = table[:, [columns.index(name) for name in names]]
        if intercept:
            names = ["intercept", *names]
            features = np.column_stack([np.ones(len(table)), features])
        try:
            responses = cls._as_responses(table[:, columns.index(response)], len(table))
        except UsageError as error:
            raise InputError(f"{path}, column {response!r}: {error}") from None
        return cls(features, responses, names=names, **options)  # type: ignore[arg-type]

    @staticmethod
    def _as_responses(responses: ArrayLike, n: int) -> Floats:
        """Convert N responses to an array, or raise UsageError if they are invalid."""
        values = as_finite(responses, "responses")
        if values.shape != (n,):
            raise UsageError(f"`responses` must have shape ({n},), one per row of features; got {values.shape}")
        return values

    @abstractmethod
    def _terms(self, predictors: Floats, responses: Floats) -> Floats:
        """Compute log likelihoods from linear predictors."""

    @abstractmethod
    def _pulls(self, predictors: Floats, responses: Floats) -> Floats:
        """Compute the derivatives of log likelihoods with respect to the predictors.

        The derivatives are divided by lambda.
        """

    def _log_likelihood_many(self, thetas: Floats, features: Floats, responses: Floats) -> Floats:
        return self._terms(_linear_predictors(thetas, features), responses)

    def _grad_log_likelihood_many(self, thetas: Floats, features: Floats, responses: Floats) -> Floats:
        pulls = self._pulls(_linear_predictors(thetas, features), responses)
        return np.asarray(self.precision * _weighted_feature_sums(pulls, features), dtype=np.float64)


def as_features(features: ArrayLike) -> Floats:
    """Convert features to an array of finite numbers with shape (N, d)."""
    x = as_finite(features, "features")
    if x.ndim != 2:
        raise UsageError(f"`features` must have shape (N, d), one row per data point; got {x.shape}")
    return x


def _linear_predictors(thetas: Floats, features: Floats) -> Floats:
    """Compute x'theta for each data point in each batch."""
    if _is_shared(features):
        return np.asarray(thetas @ features[0].T, dtype=np.float64)
    return np.asarray((features @ thetas[:, :, None])[:, :, 0], dtype=np.float64)


def _weighted_feature_sums(weights: Floats, features: Floats) -> Floats:
    """Sum the weighted features over each batch."""
    if _is_shared(features):
        return np.asarray(weights @ features[0], dtype=np.float64)
    return np.asarray((weights[:, None, :] @ features)[:, 0], dtype=np.float64)


def _is_shared(batches: Floats) -> bool:
    """Return True if one batch is broadcast to all parameters."""
    return batches.strides[0] == 0


class LogisticRegression(LinearModel):
    """Posterior for logistic regression coefficients with normal priors.

    Parameters
    ----------
    features : array_like, shape (N, d)
        Features, with one row per data point. For an intercept, include a column of ones.
    responses : array_like, shape (N,)
        Responses with two distinct values, which are 0 and 1, or -1 and +1.
    prior_variance : float or array_like, shape (d,), default 1.0
        Variances of the independent normal priors with mean 0. Infinity gives a flat prior.
    names : sequence of str, optional
        Names of the coefficients.
    label : str, default "logistic-posterior"
        Name of the target in reports.

    Attributes
    ----------
    data : (features, signs)
        Arrays of shapes (N, d) and (N,). The responses are -1 and +1.

    Raises
    ------
    UsageError
        If the shapes do not match, or if a value is invalid.

    Examples
    --------
    >>> import steinkit as sk
    >>> sk.targets.LogisticRegression([[1.0], [-1.0]], [1, 0], prior_variance=4.0).score([[0.0]])
    array([[1.]])
    """

    def __init__(
        self,
        features: ArrayLike,
        responses: ArrayLike,
        prior_variance: ArrayLike = 1.0,
        names: Sequence[str] | None = None,
        *,
        label: str = "logistic-posterior",
    ) -> None:
        x = as_features(features)
        self.prior_variance = as_vector(as_prior_variance(prior_variance), x.shape[1], "prior_variance")
        super().__init__(label, (np.ascontiguousarray(x), self._as_responses(responses, len(x))), x.shape[1], names)

    _shown = ("prior_variance",)

    @classmethod
    def nodal(cls, prior_variance: ArrayLike = 1.0) -> LogisticRegression:
        """Return the posterior for the bundled nodal data set (53 patients, d = 6).

        Parameters
        ----------
        prior_variance : float or array_like, shape (6,), default 1.0
            Variances of the normal priors. Infinity gives a flat prior.

        Returns
        -------
        LogisticRegression
            Posterior with the coefficient names from the data set.

        Raises
        ------
        UsageError
            If a variance is not positive, or if the number of variances is neither 1 nor 6.
        """
        from steinkit.datasets import bundled

        with bundled("nodal.csv") as path:
            return cls.from_csv(path, "r", prior_variance=prior_variance)

    @staticmethod
    def _as_responses(responses: ArrayLike, n: int) -> Floats:
        """Convert responses to -1 and +1, or raise UsageError if they are not binary."""
        require_unmasked(responses, "responses")
        values = np.asarray(responses)
        if values.dtype.kind == "b":
            values = values.astype(np.float64)
        values = LinearModel._as_responses(values, n)
        found = np.unique(values)
        if found.tolist() not in ([0.0, 1.0], [-1.0, 1.0]):
            listed = ", ".join(f"{value:g}" for value in found[:6]) + (", ..." if len(found) > 6 else "")
            raise UsageError(f"`responses` must have the two values 0 and 1, or -1 and +1; got {listed}: recode them")
        return np.where(values > 0.0, 1.0, -1.0)

    def _terms(self, predictors: Floats, responses: Floats) -> Floats:
        from scipy.special import log_expit

        return np.asarray(log_expit(responses * predictors), dtype=np.float64)

    def _pulls(self, predictors: Floats, responses: Floats) -> Floats:
        from scipy.special import expit

        return np.asarray(responses * expit(-responses * predictors), dtype=np.float64)

    def _compiled_terms(self, data: tuple[Array, ...], dim: int) -> CompiledTerms:
        from steinkit.targets.likelihood_kernels import LOGISTIC, with_normal_prior

        return with_normal_prior(LOGISTIC, dim, self.prior_mean, self.prior_variance, data)


_TOY_SLOPE, _TOY_PRECISION, _TOY_PRIOR_RATE = 0.5, 3.0, 4950.0


class LassoRegression(LinearModel):
    """Posterior for linear regression coefficients with Laplace priors.

    Parameters
    ----------
    features : array_like, shape (N, d)
        Features, with one row per data point. For an intercept, include a column of ones.
    responses : array_like, shape (N,)
        Responses, with one number per data point.
    precision : float, default 1.0
        Precision lambda, which is the inverse of the variance of the noise.
    prior_rate : float, default 1.0
        Rate lambda_0, which is the inverse of the scale of the independent Laplace priors with mean 0. The value 0
        gives a flat prior.
    names : sequence of str, optional
        Names of the coefficients.

    Raises
    ------
    UsageError
        If the shapes do not match, or if a value is invalid.

    Notes
    -----
    In one dimension, exact independent draws and a cdf are available. The score is discontinuous at coefficients of 0.

    Examples
    --------
    >>> import steinkit as sk
    >>> sk.targets.LassoRegression([[1.0], [2.0]], [1.0, 2.0], prior_rate=0.5).score([[0.5]])
    array([[2.]])
    """

    def __init__(
        self,
        features: ArrayLike,
        responses: ArrayLike,
        precision: float = 1.0,
        prior_rate: float = 1.0,
        names: Sequence[str] | None = None,
    ) -> None:
        x = as_features(features)
        y = self._as_responses(responses, len(x))
        self.precision, self.prior_rate = as_number(precision, "precision"), as_number(prior_rate, "prior_rate")
        if self.precision <= 0.0 or self.prior_rate < 0.0:
            raise UsageError(
                f"`precision` must be positive and `prior_rate` non-negative; got {precision!r} and {prior_rate!r}"
            )
        one_sided = x.shape[1] == 1 and bool((x != 0.0).any())  # a normal distribution on each side of 0
        exact = {"cdf": self._evaluate_cdf, "sampler": self._draw} if one_sided else {}
        super().__init__("lasso-posterior", (x, y), x.shape[1], names, **exact)

    _shown = ("precision", "prior_rate")

    @classmethod
    def toy(
        cls,
        size: int = 10_000,
        precision: float = _TOY_PRECISION,
        prior_rate: float = _TOY_PRIOR_RATE,
        *,
        rng: Seed = 0,
    ) -> LassoRegression:
        """Simulate a one-coefficient data set where SGLD without a test fails.

        The model is y_i = x_i / 2 + noise with variance 1/3. The x_i are uniform on (-1, 1) and scaled such that the
        sum of x_i^2 is N / 3. The noise is orthogonal to x, so the posterior does not depend on the seed. For N =
        10,000, the posterior has mode 0.005, mean 0.01004 and standard deviation 0.00699. The mode is close to the
        discontinuity in the score of the prior.

        Parameters
        ----------
        size : int, default 10000
            Number of data points N.
        precision : float, default 3.0
            Precision of the noise. See `LassoRegression`.
        prior_rate : float, default 4950.0
            Rate of the prior. See `LassoRegression`.
        rng : int, numpy.random.Generator or None, default 0
            Seed for the data. None gives different data each time.

        Returns
        -------
        LassoRegression
            Posterior of one coefficient.

        References
        ----------
        A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings
        budget", ICML, section 6.4.
        """
        count = as_count(size, "size", least=2)
        generator = generator_from(rng)
        x = generator.uniform(-1.0, 1.0, count)
        x *= math.sqrt(count / 3.0 / (x @ x))
        noise = math.sqrt(1.0 / 3.0) * generator.standard_normal(count)
        noise -= x * ((x @ noise) / (x @ x))
        return cls(x[:, None], _TOY_SLOPE * x + noise, precision, prior_rate, ["theta"])

    def _log_prior(self, thetas: Floats) -> Floats:
        return np.asarray(-self.prior_rate * np.abs(thetas).sum(axis=1), dtype=np.float64)

    def _grad_log_prior(self, thetas: Floats) -> Floats:
        return np.asarray(-self.prior_rate * np.sign(thetas), dtype=np.float64)

    def _terms(self, predictors: Floats, responses: Floats) -> Floats:
        """Compute the log likelihood of each data point from its residual y - x'theta."""
        constant = 0.5 * math.log(self.precision / (2.0 * math.pi))
        return np.asarray(constant - 0.5 * self.precision * self._pulls(predictors, responses) ** 2)

    def _pulls(self, predictors: Floats, responses: Floats) -> Floats:
        return np.asarray(responses - predictors, dtype=np.float64)

    def _sides(self) -> tuple[float, Floats, Floats, Floats]:
        """Return sqrt(a), the means of both normal parts and the logs of their masses.

        Entry 0 refers to theta < 0, and entry 1 to theta > 0. The dimension must be one.
        """
        from scipy.special import log_ndtr, logsumexp

        x, y = self.data[0][:, 0], self.data[1]
        a = self.precision * float(x @ x)
        means = (float(x @ y) * self.precision + np.array([self.prior_rate, -self.prior_rate])) / a
        log_within = log_ndtr(np.array([-1.0, 1.0]) * math.sqrt(a) * means)
        log_shares = 0.5 * a * means**2 + log_within
        return math.sqrt(a), means, log_within, np.asarray(log_shares - logsumexp(log_shares))

    def _evaluate_cdf(self, values: Floats) -> Floats:
        from scipy.special import log_ndtr

        root, means, log_within, log_shares = self._sides()
        below = np.exp(log_shares[0] - log_within[0] + log_ndtr(root * (np.minimum(values, 0.0) - means[0])))
        above = np.exp(log_shares[1] - log_within[1] + log_ndtr(-root * (np.maximum(values, 0.0) - means[1])))
        return np.asarray(np.where(values < 0.0, below, 1.0 - above), dtype=np.float64)

    def _draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw the sign, and then sample a truncated normal distribution by inversion."""
        from scipy.special import ndtri_exp

        root, means, log_within, log_shares = self._sides()
        side = (np.log1p(-rng.random(n)) >= log_shares[0]).astype(np.int64)
        tail = ndtri_exp(np.log1p(-rng.random(n)) + log_within[side])
        away = np.where(side == 1, -1.0, 1.0)
        return np.asarray(means[side] + away * tail / root, dtype=np.float64)[:, None]
