"""What the built-in families share: their functions are their methods, of which some are for one dimension only.

And what is left of logarithms of gamma functions and densities when their large parts have cancelled: with
Gamma(z) = sqrt(2 pi / z) (z / e)^z exp(stirling_error(z)) the densities of gamma, beta and Student t laws near their
modes are products of factors of about one, for any parameters, where differences of log gamma functions of parameters
of 1e6 would leave ten digits [1]_.

References
----------
.. [1] C. Loader, "Fast and accurate computation of binomial probabilities", 2000.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from steinkit.posterior import Array, LikelihoodTerm, MakeTerms, Posterior
from steinkit.sample import Floats
from steinkit.target import Target

_LARGE = 16.0
_SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)  # Bernoulli's, of 1/z^(2 k - 1)
_NEAR = 0.4
_ODD_TERMS = 24


class Family(Target):
    """A built-in family of distributions.

    Parameters
    ----------
    label : str
        Its name on the command line.
    dim : int
    parameters : str
        How `repr` writes the parameters.
    bounds : ndarray, shape (d, 2), optional
    """

    def __init__(self, label: str, dim: int, parameters: str, bounds: Floats | None = None) -> None:
        super().__init__(
            score=self._evaluate_score,
            log_density=self._evaluate_log_density,
            bounds=bounds,
            cdf=self._evaluate_cdf if dim == 1 else None,
            tail_integrals=self._evaluate_tail_integrals if dim == 1 else None,
            sampler=self._draw,
            dim=dim,
            label=label,
        )
        self._parameters = parameters

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._parameters}, dim={self.dim})"

    @abstractmethod
    def _evaluate_score(self, points: Floats) -> Floats:
        """Score at points, (n, d) -> (n, d)."""

    @abstractmethod
    def _evaluate_log_density(self, points: Floats) -> Floats:
        """Log density at points, (n, d) -> (n,)."""

    @abstractmethod
    def _evaluate_cdf(self, values: Floats) -> Floats:
        """Distribution function in one dimension, (n,) -> (n,)."""

    @abstractmethod
    def _evaluate_tail_integrals(self, values: Floats) -> Floats:
        """E max(x - X, 0) and E max(X - x, 0) in one dimension, (n,) -> (n, 2)."""

    @abstractmethod
    def _draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Independent draws, (n, d)."""


class PosteriorFamily(Posterior):
    """A built-in family of posteriors, with terms for one parameter and for many, and compiled ones perhaps.

    Parameters
    ----------
    label : str
        Its name on the command line.
    data : sequence of ndarray
    dim : int
    names : sequence of str, optional
    cdf, sampler : callable, optional
        Where they are known.
    """

    _log_likelihood: LikelihoodTerm
    _grad_log_likelihood: LikelihoodTerm
    _log_likelihood_many: LikelihoodTerm
    _grad_log_likelihood_many: LikelihoodTerm
    _log_prior: Callable[[Floats], Floats]
    _grad_log_prior: Callable[[Floats], Floats]
    _compiled_terms: MakeTerms

    def __init__(
        self,
        label: str,
        data: Sequence[Array],
        dim: int,
        names: Sequence[str] | None = None,
        *,
        cdf: Callable[[Floats], ArrayLike] | None = None,
        sampler: Callable[[int, np.random.Generator], ArrayLike] | None = None,
    ) -> None:
        super().__init__(
            data=data,
            log_likelihood=self._log_likelihood,
            grad_log_likelihood=self._grad_log_likelihood,
            log_prior=self._log_prior,
            grad_log_prior=self._grad_log_prior,
            log_likelihood_many=self._log_likelihood_many,
            grad_log_likelihood_many=self._grad_log_likelihood_many,
            dim=dim,
            names=names,
            cdf=cdf,
            sampler=sampler,
            label=label,
        )
        if "_compiled_terms" in vars(type(self)):  # not inherited: a derived class may have changed any term
            self._bring_terms(self._compiled_terms)


def stirling_error(z: float) -> float:
    """log Gamma(z) - (z - 1/2) log z + z - log(2 pi) / 2, to within some 1e-16."""
    if z < _LARGE:
        return math.lgamma(z) - (z - 0.5) * math.log(z) + z - 0.5 * math.log(2.0 * math.pi)
    square, total = 1.0 / (z * z), 0.0
    for term in reversed(_SERIES):
        total = total * square + term
    return total / z


def log1p_minus(t: Floats) -> Floats:
    """log(1 + t) - t for t > -1, with a small relative error near 0 too.

    With r = t / (2 + t), log(1 + t) = 2 (r + r^3/3 + r^5/5 + ...) and t = 2 r / (1 - r).
    """
    t = np.asarray(t, dtype=np.float64)
    near = np.abs(t) < _NEAR
    r = np.where(near, t, 0.0) / (2.0 + np.where(near, t, 0.0))
    square, total = r * r, np.zeros_like(r)
    for k in range(_ODD_TERMS, 0, -1):
        total = total * square + 1.0 / (2 * k + 1)
    far = np.where(near, 0.0, t)
    return np.where(near, 2.0 * r * square * total - 2.0 * square / (1.0 - r), np.log1p(far) - far)
