"""Posteriors for the means of a normal distribution and a mixture.

**Mean of a normal distribution** with known variances and a normal prior. The posterior is known exactly.

theta_j ~ N(m_j, s_j),   y_ij ~ N(theta_j, v_j)        (second arguments are variances)
theta_j | data ~ N(mean_j, variance_j),   1 / variance_j = 1 / s_j + N / v_j,
mean_j = variance_j (m_j / s_j + sum_i y_ij / v_j)

**Two-component mixture** of Welling and Teh, with v = 2:

    theta_1 ~ N(0, 10),   theta_2 ~ N(0, 1),   y_i ~ 1/2 N(theta_1, v) + 1/2 N(theta_1 + theta_2, v)

Let z = (theta_2 (y - theta_1) - theta_2^2 / 2) / v be the log odds of the second component, and let r = 1 / (1 +
exp(-z)). Then

    log p(y | theta) = -(y - theta_1)^2 / (2 v) + log(1 + exp(z)) + constant
    gradient = ((y - theta_1 - r theta_2) / v,  r (y - theta_1 - theta_2) / v)

References
----------
M. Welling and Y. W. Teh (2011), "Bayesian learning via stochastic gradient Langevin dynamics", section 5.1.
J. Gorham and L. Mackey (2015), "Measuring sample quality with Stein's method", section 5.3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import generator_from
from steinkit.compiled_terms import CompiledTerms
from steinkit.errors import InputError, UsageError
from steinkit.posterior import Array
from steinkit.sample import Floats
from steinkit.target import Seed
from steinkit.targets.family import (
    PosteriorFamily,
    as_count,
    as_finite,
    as_number,
    as_positive,
    as_prior_variance,
    as_rows,
    as_vector,
    show,
)


class GaussianMean(PosteriorFamily):
    """Posterior for the mean of normal data, known in closed form.

    Parameters
    ----------
    data : array_like, shape (N,) or (N, d)
        Data, with one row per data point.
    variance : float or array_like, shape (d,), default 1.0
        Variances v of the data.
    prior_mean : float or array_like, shape (d,), default 0.0
        Means of the normal priors.
    prior_variance : float or array_like, shape (d,), default 1.0
        Variances of the normal priors. Infinity gives a flat prior.
    names : sequence of str, optional
        Names of the coordinates.

    Attributes
    ----------
    posterior_mean, posterior_variance : ndarray, shape (d,)
        Exact moments. The coordinates are independent.

    Raises
    ------
    UsageError
        If the shapes do not match, or if a value is invalid.

    Examples
    --------
    >>> import steinkit as sk
    >>> posterior = sk.targets.GaussianMean([1.0, 2.0, 3.0], variance=3.0, prior_variance=1.0)
    >>> posterior.posterior_mean, posterior.posterior_variance
    (array([1.]), array([0.5]))
    """

    def __init__(
        self,
        data: ArrayLike,
        variance: ArrayLike = 1.0,
        prior_mean: ArrayLike = 0.0,
        prior_variance: ArrayLike = 1.0,
        names: Sequence[str] | None = None,
    ) -> None:
        y = as_rows(data, "data", "(N,) or (N, d), one row per data point")
        dim = y.shape[1]
        self.variance = as_vector(as_positive(variance, "variance"), dim, "variance")
        self.prior_mean = as_vector(as_finite(prior_mean, "prior_mean"), dim, "prior_mean")
        self.prior_variance = as_vector(as_prior_variance(prior_variance), dim, "prior_variance")
        precision = 1.0 / self.prior_variance + len(y) / self.variance
        self.posterior_variance = np.asarray(1.0 / precision, dtype=np.float64)
        pull = self.prior_mean / self.prior_variance + y.sum(axis=0) / self.variance
        self.posterior_mean = np.asarray(pull / precision, dtype=np.float64)
        cdf = self._evaluate_cdf if dim == 1 else None
        super().__init__("gaussian-mean", (np.ascontiguousarray(y),), dim, names, cdf=cdf, sampler=self._draw)

    _shown = ("variance", "prior_mean", "prior_variance")

    @classmethod
    def simulate(
        cls,
        size: int,
        theta: ArrayLike = 0.0,
        variance: ArrayLike = 1.0,
        prior_mean: ArrayLike = 0.0,
        prior_variance: ArrayLike = 1.0,
        *,
        rng: Seed = 0,
    ) -> GaussianMean:
        """Simulate data and return the posterior for these data.

        Parameters
        ----------
        size : int
            Number of data points N.
        theta : float or array_like, shape (d,), default 0.0
            Mean of the data.
        variance : float or array_like, shape (d,), default 1.0
            Variances of the data.
        prior_mean : float or array_like, shape (d,), default 0.0
            Means of the normal priors.
        prior_variance : float or array_like, shape (d,), default 1.0
            Variances of the normal priors. Infinity gives a flat prior.
        rng : int, numpy.random.Generator or None, default 0
            Seed for the data. None gives different data each time.

        Returns
        -------
        GaussianMean
            Posterior for the simulated data, with the dimension of theta.
        """
        count = as_count(size, "size")
        center = np.atleast_1d(as_finite(theta, "theta"))
        sd = np.sqrt(as_vector(as_positive(variance, "variance"), len(center), "variance"))
        data = center + sd * generator_from(rng).standard_normal((count, len(center)))
        return cls(data, variance, prior_mean, prior_variance)

    def _log_likelihood_many(self, thetas: Floats, y: Floats) -> Floats:
        constant = 0.5 * np.log(2.0 * math.pi * self.variance).sum()
        return np.asarray(-0.5 * ((y - thetas[:, None, :]) ** 2 / self.variance).sum(axis=-1) - constant)

    def _grad_log_likelihood_many(self, thetas: Floats, y: Floats) -> Floats:
        return np.asarray((y - thetas[:, None, :]).sum(axis=1) / self.variance, dtype=np.float64)

    def _evaluate_cdf(self, values: Floats) -> Floats:
        from scipy.special import ndtr

        return np.asarray(ndtr((values - self.posterior_mean) / np.sqrt(self.posterior_variance)), dtype=np.float64)

    def _draw(self, n: int, rng: np.random.Generator) -> Floats:
        noise = rng.standard_normal((n, len(self.posterior_mean)))
        return np.asarray(self.posterior_mean + np.sqrt(self.posterior_variance) * noise, dtype=np.float64)


_PROPOSALS = 1 << 14
# Rejection sampling stops when (accepted + 10) / proposed is below this value.
_LEAST_ACCEPTANCE = 1e-5
# Rejection sampling requires about 10^4 proposals per draw for this number of data points.
_MOST_DATA_TO_DRAW = 10_000
# Relative slack in the bound on the likelihood. It is much larger than rounding errors.
_SLACK = 1e-6


class MixturePosterior(PosteriorFamily):
    """Posterior for theta in 1/2 N(theta_1, v) + 1/2 N(theta_1 + theta_2, v).

    Parameters
    ----------
    data : array_like, shape (N,), optional
        Data y. The default is the 100 bundled numbers, which were simulated with theta = (0, 1).
    variance : float, default 2.0
        Variance v of both components.
    prior_variances : array_like, shape (2,), default (10.0, 1.0)
        Variances of the normal priors of theta_1 and theta_2, with mean 0.

    Raises
    ------
    UsageError
        If the data are not finite numbers, or if a variance is not positive.

    Notes
    -----
    The method `sample` generates independent draws by rejection sampling from the prior, with the maximum of the
    likelihood as the bound. The maximum is found numerically from many starting points. A proposal with a larger
    likelihood raises an error, so the draws are never biased. The acceptance rate is about 1.5% for the bundled data,
    and it decreases as 1/N. For more than 10,000 data points, there is no sampler, and `can_sample` is False.

    Examples
    --------
    >>> import steinkit as sk
    >>> posterior = sk.targets.MixturePosterior()
    >>> posterior.sample(3, 1).shape
    (3, 2)
    """

    def __init__(
        self,
        data: ArrayLike | None = None,
        variance: float = 2.0,
        prior_variances: ArrayLike = (10.0, 1.0),
    ) -> None:
        if data is None:
            from steinkit.datasets import bundled
            from steinkit.files.csv_format import read_table

            with bundled("gmm100.csv") as path:
                data = read_table(path)[1][:, 0]
        y = np.atleast_1d(as_finite(data, "data"))
        if y.ndim != 1:
            raise UsageError(f"`data` must have shape (N,), one number per data point; got {y.shape}")
        self.variance = float(as_positive(as_number(variance, "variance"), "variance"))
        self.prior_variances = as_vector(as_positive(prior_variances, "prior_variances"), 2, "prior_variances")
        drawn = self._draw if len(y) <= _MOST_DATA_TO_DRAW else None
        data = (np.ascontiguousarray(y),)
        super().__init__("mixture-posterior", data, 2, ("theta1", "theta2"), sampler=drawn)

    @classmethod
    def simulate(
        cls,
        size: int,
        theta: ArrayLike = (0.0, 1.0),
        variance: float = 2.0,
        prior_variances: ArrayLike = (10.0, 1.0),
        *,
        rng: Seed = 0,
    ) -> MixturePosterior:
        """Simulate data and return the posterior for these data.

        Parameters
        ----------
        size : int
            Number of data points N.
        theta : array_like, shape (2,), default (0.0, 1.0)
            Parameters of the mixture.
        variance : float, default 2.0
            Variance v of both components.
        prior_variances : array_like, shape (2,), default (10.0, 1.0)
            Variances of the normal priors of theta_1 and theta_2, with mean 0.
        rng : int, numpy.random.Generator or None, default 0
            Seed for the data. None gives different data each time.

        Returns
        -------
        MixturePosterior
            Posterior for the simulated data.

        References
        ----------
        D. Seita, X. Pan, H. Chen and J. Canny (2017), "An efficient minibatch acceptance test for
        Metropolis-Hastings", UAI, section 6.1: one million data points at a temperature of 10^4 (`tempered`).
        """
        count = as_count(size, "size")
        parameters = as_finite(theta, "theta")
        if parameters.shape != (2,):
            raise UsageError(f"`theta` must have shape (2,); got {show(parameters)}")
        sd = math.sqrt(as_positive(as_number(variance, "variance"), "variance"))
        generator = generator_from(rng)
        second = generator.random(count) < 0.5
        noise = generator.standard_normal(count)
        data = parameters[0] + np.where(second, parameters[1], 0.0) + sd * noise
        return cls(data, variance, prior_variances)

    _shown = ("variance", "prior_variances")

    @property
    def prior_variance(self) -> Floats:  # type: ignore[override]
        """Alias for `prior_variances` that matches the name in other posteriors."""
        return self.prior_variances

    def _compiled_terms(self, data: tuple[Array, ...], dim: int) -> CompiledTerms:
        from steinkit.targets.likelihood_kernels import MIXTURE, with_normal_prior

        numbers = np.array([self.variance, self._constant])
        return with_normal_prior(MIXTURE, dim, self.prior_mean, self.prior_variances, (*data, numbers))

    @property
    def _constant(self) -> float:
        """Negative logarithm of a component's weight times its normalizing factor."""
        return 0.5 * math.log(2.0 * math.pi * self.variance) + math.log(2.0)

    def _log_likelihood_many(self, thetas: Floats, y: Floats) -> Floats:
        first, second = thetas[:, :1], thetas[:, 1:]
        residual = y - first
        log_odds = (second * residual - 0.5 * second**2) / self.variance
        # log(1 + exp(z)), twice as fast as logaddexp
        softplus = np.maximum(log_odds, 0.0) + np.log1p(np.exp(-np.abs(log_odds)))
        return np.asarray(softplus - residual**2 / (2.0 * self.variance) - self._constant, dtype=np.float64)

    def _grad_log_likelihood_many(self, thetas: Floats, y: Floats) -> Floats:
        from scipy.special import expit

        first, second = thetas[:, :1], thetas[:, 1:]
        residual = y - first
        odds = expit((second * residual - 0.5 * second**2) / self.variance)
        by_first = (residual - odds * second).sum(axis=-1) / self.variance
        by_second = (odds * (residual - second)).sum(axis=-1) / self.variance
        return np.stack([by_first, by_second], axis=1)

    @cached_property
    def _largest_log_likelihood(self) -> float:
        """Maximum over theta of the log likelihood of all the data, plus a small slack."""
        from scipy.optimize import minimize

        (y,) = self.data

        def objective(theta: Floats) -> tuple[float, Floats]:
            thetas, batches = theta[None], y[None]
            height = float(self._log_likelihood_many(thetas, batches).sum())
            return -height, -self._grad_log_likelihood_many(thetas, batches)[0]

        # the likelihoods at theta and at (theta_1 + theta_2, -theta_2) are equal, so theta_2 >= 0 is sufficient
        levels = np.quantile(y, [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0])
        starts = [(low, high - low) for i, low in enumerate(levels) for high in levels[i:]]
        best = max(-float(minimize(objective, start, jac=True, method="BFGS").fun) for start in starts)
        return best + _SLACK * max(1.0, abs(best))

    def _log_likelihood_ceiling(self, thetas: Floats) -> Floats:
        """Compute an upper bound on the log likelihood of all the data at K states.

        Let m = theta_1 + theta_2 / 2 be the midpoint, and let e = theta_2 / 2. Since log cosh(a) <= a^2 / 2,

            log p(y | theta) = -((y - m)^2 + e^2) / (2 v) + log cosh((y - m) e / v) - log(2 pi v) / 2
                            <= -((y - m)^2 (1 - e^2 / v) + e^2) / (2 v) - log(2 pi v) / 2.
        """
        (y,) = self.data
        v, n = self.variance, len(y)
        e = 0.5 * thetas[:, 1]
        squares = n * (np.var(y) + (np.mean(y) - thetas[:, 0] - e) ** 2)
        exponent = (squares * (1.0 - e**2 / v) + n * e**2) / (2.0 * v)
        return np.asarray(-exponent - 0.5 * n * math.log(2.0 * math.pi * v), dtype=np.float64)

    def _draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw from the prior and accept each draw with probability L / max L."""
        bound = self._largest_log_likelihood
        kept: list[Floats] = []
        accepted = proposed = 0
        while accepted < n:
            thetas = rng.standard_normal((_PROPOSALS, 2)) * np.sqrt(self.prior_variances)
            threshold = bound + np.log1p(-rng.random(_PROPOSALS))
            # if the upper bound rejects a proposal, the likelihood also rejects it
            candidates = np.flatnonzero(self._log_likelihood_ceiling(thetas) > threshold)
            heights = np.zeros(len(candidates))
            self._add_log_likelihoods(heights, thetas[candidates])
            if heights.max(initial=-np.inf) > bound:
                raise InputError(
                    f"the log likelihood {heights.max():.9g} at theta = {show(thetas[candidates[heights.argmax()]])} "
                    f"exceeds the maximum found, {bound:.9g}; draw with a Markov chain instead"
                )
            kept.append(thetas[candidates[heights > threshold[candidates]]])
            accepted, proposed = accepted + len(kept[-1]), proposed + _PROPOSALS
            if accepted < _LEAST_ACCEPTANCE * proposed - 10.0:
                raise InputError(
                    f"only {accepted} of {proposed} proposals from the prior were accepted for {self.size} data "
                    "points; draw with a Markov chain instead"
                )
        return np.concatenate(kept)[:n] if kept else np.empty((0, 2))
