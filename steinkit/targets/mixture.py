"""Mixtures of normal distributions.

    p(x) = sum_k w_k N(x; m_k, S_k),      score = -sum_k r_k(x) S_k^-1 (x - m_k)

with the responsibilities r_k(x) = w_k N(x; m_k, S_k) / p(x).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from steinkit.errors import UsageError
from steinkit.sample import Floats
from steinkit.targets.family import Family
from steinkit.targets.gaussian import normal_tail_integrals
from steinkit.targets.parameters import Scatter, as_finite, as_positive, as_scatter, show


class GaussianMixture(Family):
    """Mixture of k normal distributions on R^d.

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
        dim = centres.shape[1]
        super().__init__(
            "gaussian-mixture", dim, f"means={show(centres)}, covariances={show(spread)}, weights={show(self.weights)}"
        )

    def __repr__(self) -> str:
        return f"GaussianMixture({self._parameters})"

    def _log_terms(self, points: Floats) -> Floats:
        """log(w_k N(x; m_k, S_k)), (n, d) -> (n, k)."""
        terms = np.empty((len(points), len(self.means)))
        constant = 0.5 * points.shape[1] * math.log(2.0 * math.pi)
        for k, scatter in enumerate(self._scatters):
            whitened = scatter.whiten(points - self.means[k])
            terms[:, k] = -0.5 * (whitened**2).sum(axis=1) - scatter.half_log_determinant - constant
        return terms + np.log(self.weights)

    def _evaluate_score(self, points: Floats) -> Floats:
        from scipy.special import softmax

        responsibilities = softmax(self._log_terms(points), axis=1)
        score = np.zeros(points.shape)
        for k, scatter in enumerate(self._scatters):
            score -= responsibilities[:, k, None] * scatter.solve(points - self.means[k])
        return score

    def _evaluate_log_density(self, points: Floats) -> Floats:
        from scipy.special import logsumexp

        return np.asarray(logsumexp(self._log_terms(points), axis=1), dtype=np.float64)

    def _evaluate_cdf(self, values: Floats) -> Floats:
        from scipy.special import ndtr

        deviations = np.array([scatter.factor.ravel()[0] for scatter in self._scatters])
        return np.asarray(ndtr((values[:, None] - self.means.T) / deviations) @ self.weights, dtype=np.float64)

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
