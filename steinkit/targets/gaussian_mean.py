"""The mean of a normal distribution with known variances, under a normal prior: a posterior known exactly.

theta_j ~ N(m_j, s_j),   y_ij ~ N(theta_j, v_j)        (second arguments are variances)
theta_j | data ~ N(mean_j, variance_j),   1 / variance_j = 1 / s_j + N / v_j,
mean_j = variance_j (m_j / s_j + sum_i y_ij / v_j)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import checked
from steinkit.compiled_terms import CompiledTerms
from steinkit.errors import UsageError
from steinkit.posterior import Array
from steinkit.sample import Floats
from steinkit.target import Seed
from steinkit.targets.family import PosteriorFamily
from steinkit.targets.parameters import as_count, as_finite, as_numbers, as_positive, as_vector, show


@checked
class GaussianMean(PosteriorFamily):
    """Posterior of the mean of normal data: for trying out samplers whose answer is known.

    Parameters
    ----------
    data : array_like, shape (N,) or (N, d)
        One row a datum.
    variance : float or array_like, shape (d,)
        Variances v of the data.
    prior_mean : float or array_like, shape (d,)
        Means of the coordinates' normal priors.
    prior_variance : float or array_like, shape (d,)
        Their variances; infinity is a flat prior.
    names : sequence of str, optional
        Names of the coordinates.

    Attributes
    ----------
    posterior_mean, posterior_variance : ndarray, shape (d,)
        The exact moments; coordinates are independent.

    Raises
    ------
    UsageError
        If the shapes disagree or a value is not of its kind.

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
        y = as_finite(data, "data")
        if y.ndim == 1:
            y = y[:, None]
        if y.ndim != 2:
            raise UsageError(f"data must have shape (N,) or (N, d), one row a datum; received {y.shape}")
        dim = y.shape[1]
        self.variance = as_vector(as_positive(variance, "variance"), dim, "variance")
        self.prior_mean = as_vector(as_finite(prior_mean, "prior_mean"), dim, "prior_mean")
        self.prior_variance = as_vector(as_numbers(prior_variance, "prior_variance"), dim, "prior_variance")
        if not (self.prior_variance > 0.0).all():
            raise UsageError(f"prior_variance must be positive; received {show(prior_variance)}")
        precision = 1.0 / self.prior_variance + len(y) / self.variance
        self.posterior_variance = np.asarray(1.0 / precision, dtype=np.float64)
        pull = self.prior_mean / self.prior_variance + y.sum(axis=0) / self.variance
        self.posterior_mean = np.asarray(pull / precision, dtype=np.float64)
        super().__init__(
            "gaussian-mean",
            (np.ascontiguousarray(y),),
            dim,
            names,
            cdf=self._evaluate_cdf if dim == 1 else None,
            sampler=self._draw,
        )

    def __repr__(self) -> str:
        return (
            f"GaussianMean({self.size} data, d={self.dim}, variance={show(self.variance)}, "
            f"prior_mean={show(self.prior_mean)}, prior_variance={show(self.prior_variance)})"
        )

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
        """Make the posterior of simulated data.

        Parameters
        ----------
        size : int
            Number of data N.
        theta : float or array_like, shape (d,)
            The mean the data are drawn about.
        variance : float or array_like, shape (d,)
            Variances of the data.
        prior_mean : float or array_like, shape (d,)
            Means of the coordinates' normal priors.
        prior_variance : float or array_like, shape (d,)
            Their variances; infinity is a flat prior.
        rng : int, numpy.random.Generator or None
            Seed of the data; None for others each time.

        Returns
        -------
        GaussianMean
            In as many dimensions as theta.
        """
        count = as_count(size, "size")
        centre = np.atleast_1d(as_finite(theta, "theta"))
        sd = np.sqrt(as_vector(as_positive(variance, "variance"), len(centre), "variance"))
        data = centre + sd * np.random.default_rng(rng).standard_normal((count, len(centre)))
        return cls(data, variance, prior_mean, prior_variance)

    def _log_prior(self, thetas: Floats) -> Floats:
        return np.asarray(-0.5 * ((thetas - self.prior_mean) ** 2 / self.prior_variance).sum(axis=1))

    def _grad_log_prior(self, thetas: Floats) -> Floats:
        return np.asarray((self.prior_mean - thetas) / self.prior_variance, dtype=np.float64)

    def _log_likelihood(self, theta: Floats, y: Floats) -> Floats:
        return self._terms(y - theta)

    def _log_likelihood_many(self, thetas: Floats, y: Floats) -> Floats:
        return self._terms(y - thetas[:, None, :])

    def _grad_log_likelihood(self, theta: Floats, y: Floats) -> Floats:
        return np.asarray((y - theta).sum(axis=0) / self.variance, dtype=np.float64)

    def _grad_log_likelihood_many(self, thetas: Floats, y: Floats) -> Floats:
        return np.asarray((y - thetas[:, None, :]).sum(axis=1) / self.variance, dtype=np.float64)

    def _terms(self, residuals: Floats) -> Floats:
        """Log likelihood of each datum from its residual y - theta, (..., d) -> (...)."""
        constant = 0.5 * np.log(2.0 * math.pi * self.variance).sum()
        return np.asarray(-0.5 * (residuals**2 / self.variance).sum(axis=-1) - constant, dtype=np.float64)

    def _compiled_terms(self, data: tuple[Array, ...], _: int) -> CompiledTerms:
        from steinkit.targets.gaussian_mean_kernels import gaussian_mean_terms

        constant = 0.5 * np.log(2.0 * math.pi * self.variance)
        return gaussian_mean_terms(data[0], self.variance, constant, self.prior_mean, self.prior_variance)

    def _evaluate_cdf(self, values: Floats) -> Floats:
        from scipy.special import ndtr

        return np.asarray(ndtr((values - self.posterior_mean) / np.sqrt(self.posterior_variance)), dtype=np.float64)

    def _draw(self, n: int, rng: np.random.Generator) -> Floats:
        noise = rng.standard_normal((n, len(self.posterior_mean)))
        return np.asarray(self.posterior_mean + np.sqrt(self.posterior_variance) * noise, dtype=np.float64)
