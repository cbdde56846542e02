"""Independent component analysis: the unmixing matrix of whitened data.

Data x = A z mix D independent sources z. After whitening, to mean 0 and unit covariance, the matrix W with z = W x
is orthogonal up to the sampling error of the covariance. With its rows w_j,

    p(x | W) = |det W| prod_j [4 cosh^2(w_j'x / 2)]^-1,        |det W| = 1,

and the prior is uniform on the orthogonal matrices, in Haar's measure, and zero elsewhere. The logistic density in the
product suits sources with heavier tails than the normal's. The order and the signs of the rows of W are free, and at
most one source may be normal: of several, only the space that they span is known.
"""

from __future__ import annotations

import math
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike

from steinkit.errors import InputError, UsageError
from steinkit.posterior import Posterior
from steinkit.sample import Floats
from steinkit.targets.parameters import as_finite

# Largest entry of W W' - I in a matrix that counts as orthogonal.
_ORTHOGONAL = 1e-8
# Smallest eigenvalue of the data's covariance, relative to the largest, that whitening can divide by.
_RANK = 1e-12
# Factors, of at most 2 each, multiplied before a logarithm is taken: far from overflow.
_FACTORS = 500


class IndependentComponents(Posterior):
    """Posterior of the orthogonal unmixing matrix W of whitened data; a point is W, row after row.

    Parameters
    ----------
    data : array_like, shape (N, D)
        One row a datum, of mean 0 and unit covariance: `from_mixtures` makes them so.

    Attributes
    ----------
    centre : ndarray, shape (D,)
        Mean of the mixtures; zeros where the data were given as they are.
    whitening : ndarray, shape (D, D)
        The data are whitening @ (mixture - centre), datum by datum; the identity where they were given as they are.

    Raises
    ------
    UsageError
        If the data are not an (N, D) array of finite numbers with D at least 2.

    Notes
    -----
    The distribution lives on a manifold and has no density on R^(D^2): samplers for that space do not suit it, and
    Stein discrepancies do not apply. Its draws come from `orthogonal_mh`.

    References
    ----------
    A. Hyvarinen and E. Oja (2000), "Independent component analysis: algorithms and applications".
    A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
    section 6.2.
    """

    def __init__(self, data: ArrayLike) -> None:
        x = _as_rows(data)
        self.sources = x.shape[1]
        self.centre, self.whitening = np.zeros(self.sources), np.eye(self.sources)
        numbers = range(1, self.sources + 1)
        super().__init__(
            data=(x,),
            log_likelihood=self._log_likelihood,
            grad_log_likelihood=self._grad_log_likelihood,
            log_prior=self._log_prior,
            grad_log_prior=np.zeros_like,
            log_likelihood_many=self._log_likelihood_many,
            dim=self.sources**2,
            names=[f"W{i},{j}" for i in numbers for j in numbers],
            label="independent-components",
        )

    def __repr__(self) -> str:
        return f"IndependentComponents({self.size} data, {self.sources} sources)"

    @classmethod
    def from_mixtures(cls, mixtures: ArrayLike) -> IndependentComponents:
        """Whiten mixtures, with the symmetric root of their covariance, and make the posterior of what results.

        Parameters
        ----------
        mixtures : array_like, shape (N, D)
            One row a datum.

        Returns
        -------
        IndependentComponents
            Of the whitened mixtures, with what whitened them as `centre` and `whitening`.

        Raises
        ------
        InputError
            If their covariance is singular.
        """
        x = _as_rows(mixtures)
        centre = x.mean(axis=0)
        scale = float(np.abs(x - centre).max()) or 1.0  # squares of very large or small numbers are none
        x = (x - centre) / scale
        values, vectors = np.linalg.eigh(x.T @ x / len(x))
        if values[0] <= _RANK * values[-1]:
            raise InputError(
                "the covariance of the mixtures is singular: their standard deviations run from "
                f"{scale * math.sqrt(max(values[0], 0.0)):.3g} in one direction to {scale * math.sqrt(values[-1]):.3g} "
                "in another; drop columns that the others determine"
            )
        whitening = (vectors / np.sqrt(values)) @ vectors.T
        posterior = cls(x @ whitening.T)
        posterior.centre, posterior.whitening = centre, whitening / scale
        return posterior

    def unmixing_matrices(self, points: ArrayLike) -> Floats:
        """Matrices that unmix the mixtures themselves, W @ whitening.

        Parameters
        ----------
        points : array_like, shape (..., D^2)
            Matrices W, row after row, such as the points of `Draws`.

        Returns
        -------
        ndarray, shape (..., D, D)
            Times a mixture, less its mean, each gives D sources of variance 1.

        Raises
        ------
        UsageError
            If the last axis of points has not D^2 entries.
        """
        W = np.asarray(points, dtype=np.float64)
        if W.ndim < 1 or W.shape[-1] != self.sources**2:
            raise UsageError(f"points must have shape (..., {self.sources**2}); received {W.shape}")
        return np.asarray(_as_matrices(W) @ self.whitening, dtype=np.float64)

    @staticmethod
    def _log_prior(thetas: Floats) -> Floats:
        W = _as_matrices(thetas)
        excess = np.abs(W @ W.swapaxes(-1, -2) - np.eye(W.shape[-1])).max(axis=(1, 2))
        return np.where(excess < _ORTHOGONAL, 0.0, -np.inf)

    @staticmethod
    def _log_likelihood(theta: Floats, data: Floats) -> Floats:
        return _log_densities(_as_matrices(theta) @ data.T)

    @staticmethod
    def _log_likelihood_many(thetas: Floats, data: Floats) -> Floats:
        return _log_densities(_as_matrices(thetas) @ data.swapaxes(-1, -2))

    @staticmethod
    def _grad_log_likelihood(theta: Floats, data: Floats) -> Floats:
        """Gradient in R^(D^2); its part along the manifold is what a Langevin step there would need."""
        return np.asarray((-np.tanh(0.5 * (data @ _as_matrices(theta).T)).T @ data).ravel(), dtype=np.float64)

    def _score_over_data(self, points: Floats) -> NoReturn:
        raise UsageError(f"{self.label} has no score in R^{self.dim}: it lives on the orthogonal matrices")


def amari_distance(first: ArrayLike, second: ArrayLike) -> Floats:
    """Amari distance of unmixing matrices: how far one is from the other up to order, signs and scales of the rows.

    With P = first second^-1,

        1 / (2 D (D - 1)) { sum_i [sum_j |p_ij| / max_j |p_ij| - 1] + sum_j [sum_i |p_ij| / max_i |p_ij| - 1] }

    Parameters
    ----------
    first : array_like, shape (..., D, D)
        Unmixing matrices.
    second : array_like, shape (D, D)
        The matrix to compare them with: the true one, say.

    Returns
    -------
    ndarray, shape (...)
        In [0, 1]: 0 where P is a permutation with scales, 1 where all its entries are equally large. Not a metric.
        Other authors leave out the first factor, or divide by 2 D only.

    Raises
    ------
    UsageError
        If shapes disagree, or D is below 2.
    InputError
        If ``second`` is singular, or a matrix has a row or, times second^-1, a column of zeros.

    References
    ----------
    S. Amari, A. Cichocki and H. H. Yang (1996), "A new learning algorithm for blind signal separation".
    """
    A, B = as_finite(first, "first"), as_finite(second, "second")
    if B.ndim != 2 or B.shape[0] != B.shape[1] or len(B) < 2 or A.shape[-2:] != B.shape:
        raise UsageError(
            f"amari_distance needs square matrices, (..., D, D) and (D, D) with D at least 2; received {A.shape} and "
            f"{B.shape}"
        )
    if np.linalg.matrix_rank(B) < len(B):
        raise InputError("second is singular: it unmixes nothing")
    P = np.abs(A @ np.linalg.inv(B))
    rows, columns = P.max(axis=-1), P.max(axis=-2)
    if not (rows > 0.0).all() or not (columns > 0.0).all():
        raise InputError("first holds a singular matrix: it unmixes nothing")
    D = len(B)
    excess = (P.sum(axis=-1) / rows - 1.0).sum(axis=-1) + (P.sum(axis=-2) / columns - 1.0).sum(axis=-1)
    return np.asarray(excess / (2.0 * D * (D - 1)), dtype=np.float64)


def _log_densities(sources: Floats) -> Floats:
    """Log densities of the data: minus the sum over sources of 2 log(2 cosh(z / 2)), (..., D, b) -> (..., b).

    2 log(2 cosh(z / 2)) = |z| + 2 log(1 + exp(-|z|)); one logarithm serves the product of many such factors.
    """
    sizes = np.abs(sources)
    factors = np.exp(-sizes)
    factors += 1.0
    logs = np.zeros(factors[..., 0, :].shape)
    for first in range(0, factors.shape[-2], _FACTORS):
        product = factors[..., first, :]
        for j in range(first + 1, min(first + _FACTORS, factors.shape[-2])):
            product *= factors[..., j, :]
        logs += np.log(product)
    return np.asarray(-(sizes.sum(axis=-2) + 2.0 * logs), dtype=np.float64)


def _as_matrices(points: Floats) -> Floats:
    """(..., D^2) -> (..., D, D)."""
    D = math.isqrt(points.shape[-1])
    return points.reshape(*points.shape[:-1], D, D)


def _as_rows(data: ArrayLike) -> Floats:
    x = as_finite(data, "data")
    if x.ndim != 2 or x.shape[1] < 2 or not len(x):
        raise UsageError(f"data must have shape (N, D), one row a datum, with D at least 2; received {x.shape}")
    return x
