"""Logistic regression with an unknown set of features.

A state is a vector theta in R^D: a feature is in the model if its coefficient is not 0, k features in all, k >= 1.
With s = |theta_1| + ... + |theta_D|, and y_i in {-1, +1},

    P(y_i | x_i, theta) = sigma(y_i x_i'theta)
    theta_j ~ Laplace(0, nu) for the features in the model,      nu ~ InvGamma(a, b)
    P(model) proportional to lambda^k / (binom(D, k) k!)

Integrating nu out leaves, up to a constant and with the 2^-k of Laplace's density taken into lambda,

    prior(theta) = lambda^k (D - k)! Gamma(a + k) (b + s)^-(a + k)

The authors have a = b = 0, the prior 1 / nu, which makes this lambda^k B(k, D - k + 1) s^-k. No posterior has that
prior: s^-k is not integrable about theta = 0 in any of the models, so that a chain that runs for long enough is drawn
into 0, and never leaves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import checked
from steinkit.errors import UsageError
from steinkit.posterior import Posterior
from steinkit.sample import Floats
from steinkit.samplers.arguments import positive
from steinkit.targets.logistic import LogisticRegression


@checked
class SparseLogisticRegression(Posterior):
    """Posterior of the coefficients of a logistic regression of which most may be 0.

    Parameters
    ----------
    features : array_like, shape (N, D)
        One row a datum, features on comparable scales: their coefficients have one prior. An intercept, a column of
        ones, is a feature like the others.
    responses : array_like, shape (N,)
        Two values, 0 and 1 or -1 and +1; both must occur.
    size_rate : float
        lambda, 2^-k included: the smaller, the fewer features.
    scale_prior : (float, float) or None
        a and b of the inverse gamma prior of Laplace's scale nu; None is the improper prior 1 / nu, under which there
        is no posterior distribution, only chains that have not yet found 0.
    names : sequence of str, optional
        Names of the coefficients.

    Raises
    ------
    UsageError
        If shapes disagree or a value is not of its kind.

    Notes
    -----
    The distribution has atoms at 0 and no density on R^D: samplers that move all coordinates do not suit it, and Stein
    discrepancies do not apply. Its draws come from `select_variables`.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
    section 6.3. X. Chen, Z. J. Wang and M. J. McKeown (2011), "A Bayesian lasso via reversible-jump MCMC".
    """

    def __init__(
        self,
        features: ArrayLike,
        responses: ArrayLike,
        *,
        size_rate: float = 1.0,
        scale_prior: tuple[float, float] | None = (1.0, 1.0),
        names: Sequence[str] | None = None,
    ) -> None:
        from scipy.special import gammaln

        self._regression = LogisticRegression(features, responses)
        self.size_rate, self.scale_prior = positive(size_rate, "size_rate"), _as_scale_prior(scale_prior)
        D = self._regression.data[0].shape[1]
        self._a, self._b = self.scale_prior or (0.0, 0.0)
        k = np.arange(1, D + 1)
        log_sizes = k * math.log(self.size_rate) + gammaln(D - k + 1) + gammaln(self._a + k)
        self._log_sizes = np.concatenate(([-np.inf], log_sizes))  # there is no model without features
        super().__init__(
            data=self._regression.data,
            log_likelihood=self._regression.log_likelihood,
            grad_log_likelihood=self._regression.grad_log_likelihood,
            log_prior=self._log_prior,
            grad_log_prior=self._grad_log_prior,
            log_likelihood_many=self._regression.log_likelihood_many,
            grad_log_likelihood_many=self._regression.grad_log_likelihood_many,
            dim=D,
            names=names,
            label="sparse-logistic-posterior",
        )

    def __repr__(self) -> str:
        return (
            f"SparseLogisticRegression({self.size} data, D={self.dim}, size_rate={self.size_rate:g}, "
            f"scale_prior={self.scale_prior})"
        )

    def _log_prior(self, thetas: Floats) -> Floats:
        k, s = np.count_nonzero(thetas, axis=1), np.abs(thetas).sum(axis=1)
        scale = np.where(k > 0, self._b + s, 1.0)
        return np.asarray(self._log_sizes[k] - (self._a + k) * np.log(scale), dtype=np.float64)

    def _grad_log_prior(self, thetas: Floats) -> Floats:
        """Gradient within the model."""
        k, s = np.count_nonzero(thetas, axis=1), np.abs(thetas).sum(axis=1)
        scale = np.where(k > 0, self._b + s, 1.0)
        return np.asarray(-((self._a + k) / scale)[:, None] * np.sign(thetas), dtype=np.float64)

    def _score_over_data(self, points: Floats) -> NoReturn:
        raise UsageError(
            f"{self.label} has no score: a coefficient is 0 with positive probability; to score coefficients, take the "
            "draws of one model and steinkit.targets.LogisticRegression of its features"
        )


def _as_scale_prior(scale_prior: tuple[float, float] | None) -> tuple[float, float] | None:
    if scale_prior is None:
        return None
    if not isinstance(scale_prior, Sequence) or isinstance(scale_prior, str) or len(scale_prior) != 2:
        raise UsageError(f"scale_prior must be two positive numbers (a, b), or None; received {scale_prior!r}")
    return positive(scale_prior[0], "a of scale_prior"), positive(scale_prior[1], "b of scale_prior")
