"""Independent component analysis by sampling the unmixing matrix of whitened data.

The data x = A z are mixtures of D independent sources z. After the data have been whitened to mean 0 and unit
covariance, the matrix W with z = W x is orthogonal up to the sampling error of the covariance. In terms of its rows
w_j, the likelihood is

    p(x | W) = |det W| prod_j [4 cosh^2(w_j'x / 2)]^-1,        |det W| = 1.

The prior is uniform on the orthogonal matrices with respect to the Haar measure, and zero elsewhere. The logistic
density in the product is suitable for sources with heavier tails than those of the normal distribution. The data do not
determine the order or the signs of the rows of W. At most one source may be normal. For several normal sources, only
their span is determined.

The chains are random walks on the orthogonal matrices, which are the square case of the Stiefel manifold:

    W' = Q W,        Q = (I - A/2)^-1 (I + A/2),        A = -A',   a_ij = scale xi_ij above the diagonal

The Cayley transform makes Q orthogonal, and maps -A to Q'. Because A and -A have the same distribution, Q and Q^-1 also
have the same distribution. The density of W' given W with respect to the Haar measure is a function f of W' W^-1 with
f(Q) = f(Q^-1). The walk is therefore symmetric,

    q(W' | W) = f(W' W^-1) = f(W W'^-1) = q(W | W'),

and Metropolis-Hastings with this proposal satisfies detailed balance for any density with respect to that measure,
without a proposal ratio. The matrix Q is a rotation by an angle of about `scale` in each plane, so the walk preserves
the sign of det W. If the density does not depend on the signs of the rows of W, as in independent component analysis,
one half of the group suffices.

Rounding errors slowly move products of orthogonal matrices away from the manifold. Each proposal is corrected by one
step of the Newton-Schulz iteration toward the nearest orthogonal matrix, W (3 I - W' W) / 2, where W is the proposal
and W' is its transpose. This step reduces a small distance e to about e^2. The remaining error is the rounding error of
one step, regardless of the length of the chain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NoReturn, Unpack

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import positive
from steinkit.errors import InputError, UsageError
from steinkit.posterior import Posterior
from steinkit.sample import Floats
from steinkit.samplers.acceptance.interface import AcceptanceTest, MetropolisTest
from steinkit.samplers.chains.draws import Draws, RunKeywords, RunOptions, takes_run_options
from steinkit.samplers.chains.gradients import Gradient, Proposal
from steinkit.samplers.chains.run import run_chains
from steinkit.target import require_target
from steinkit.targets.family import as_finite

# Largest entry of W W' - I for a matrix that is considered orthogonal.
_ORTHOGONAL = 1e-8
# Smallest eigenvalue of the covariance matrix of the data, relative to the largest one, for which whitening is
# possible.
_RANK = 1e-12
# Number of factors that are multiplied before a logarithm is taken. Each factor is at most 2, so their product does not
# overflow.
_FACTORS = 500


class IndependentComponents(Posterior):
    """Posterior of the orthogonal unmixing matrix W of whitened data.

    A point contains the entries of W, row by row.

    Parameters
    ----------
    data : array_like, shape (N, D)
        Data with one row per data point, with mean 0 and unit covariance, as computed by `from_mixtures`.

    Attributes
    ----------
    centre : ndarray, shape (D,)
        Mean of the mixtures, or zeros if whitened data were given.
    whitening : ndarray, shape (D, D)
        Matrix that converts mixtures to data points, whitening @ (mixture - centre). It is the identity if whitened
        data were given.

    Raises
    ------
    UsageError
        If the data are not an (N, D) array of finite numbers with D >= 2.

    Notes
    -----
    The support is a manifold, and there is no density on R^(D^2). Therefore, samplers for that space and Stein
    discrepancies are not applicable. The function `orthogonal_mh` draws from this posterior.

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
        """Whiten mixtures, and return the posterior.

        The mixtures are whitened with the inverse of the symmetric square root of their covariance.

        Parameters
        ----------
        mixtures : array_like, shape (N, D)
            Mixtures with one row per data point.

        Returns
        -------
        IndependentComponents
            Posterior for the whitened mixtures, with the attributes `centre` and `whitening`.

        Raises
        ------
        InputError
            If the covariance of the mixtures is singular.
        """
        x = _as_rows(mixtures)
        centre = x.mean(axis=0)
        scale = float(np.abs(x - centre).max()) or 1.0  # avoids overflow and underflow of squares
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
        """Return the unmixing matrices of the original mixtures, W @ whitening.

        Parameters
        ----------
        points : array_like, shape (..., D^2)
            Entries of the matrices W, row by row, such as the points of `Draws`.

        Returns
        -------
        ndarray, shape (..., D, D)
            Unmixing matrices. Each matrix maps a centered mixture to D sources with variance 1.

        Raises
        ------
        UsageError
            If the last axis of `points` does not have D^2 entries.
        """
        W = np.asarray(points, dtype=np.float64)
        if W.ndim < 1 or W.shape[-1] != self.sources**2:
            raise UsageError(f"points must have shape (..., {self.sources**2}); got {W.shape}")
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
        """Compute the gradient in R^(D^2).

        Langevin steps would require its tangential component.
        """
        return np.asarray((-np.tanh(0.5 * (data @ _as_matrices(theta).T)).T @ data).ravel(), dtype=np.float64)

    def _score_over_data(self, points: Floats) -> NoReturn:
        raise UsageError(f"{self.label} has no score in R^{self.dim}: its support is the orthogonal matrices")


def amari_distance(first: ArrayLike, second: ArrayLike) -> Floats:
    """Compute the Amari distance between unmixing matrices and a given matrix.

    The distance does not depend on the order, signs, or scales of the rows. With P = first second^-1, it is

        1 / (2 D (D - 1)) { sum_i [sum_j |p_ij| / max_j |p_ij| - 1] + sum_j [sum_i |p_ij| / max_i |p_ij| - 1] }.

    Parameters
    ----------
    first : array_like, shape (..., D, D)
        Unmixing matrices.
    second : array_like, shape (D, D)
        Matrix for comparison, such as the true one.

    Returns
    -------
    ndarray, shape (...)
        Distances in [0, 1]. The distance is 0 if P is a scaled permutation, and 1 if all the entries of P have equal
        magnitude. It is not a metric. Other authors omit the first factor, or divide only by 2 D.

    Raises
    ------
    UsageError
        If the shapes disagree, or if D is less than 2.
    InputError
        If ``second`` is singular, or if a row or a column of P consists of zeros for one of the matrices.

    References
    ----------
    S. Amari, A. Cichocki and H. H. Yang (1996), "A new learning algorithm for blind signal separation".
    """
    A, B = as_finite(first, "first"), as_finite(second, "second")
    if B.ndim != 2 or B.shape[0] != B.shape[1] or len(B) < 2 or A.shape[-2:] != B.shape:
        raise UsageError(
            f"amari_distance requires square matrices, (..., D, D) and (D, D) with D >= 2; got {A.shape} and {B.shape}"
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
    """Compute minus the sum of 2 log(2 cosh(z / 2)) over the sources, (..., D, b) -> (..., b).

    By the identity 2 log(2 cosh(z / 2)) = |z| + 2 log(1 + exp(-|z|)), a single logarithm can be computed for the
    product of many factors 1 + exp(-|z|).
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
    """Reshape points (..., D^2) to matrices (..., D, D)."""
    D = math.isqrt(points.shape[-1])
    return points.reshape(*points.shape[:-1], D, D)


def _as_rows(data: ArrayLike) -> Floats:
    x = as_finite(data, "data")
    if x.ndim != 2 or x.shape[1] < 2 or not len(x):
        raise UsageError(f"data must have shape (N, D), one row per data point, with D >= 2; got {x.shape}")
    return x


@takes_run_options
def orthogonal_mh(
    posterior: Posterior,
    *,
    proposal_scale: float,
    test: AcceptanceTest | None = None,
    temperature: float = 1.0,
    **run: Unpack[RunKeywords],
) -> Draws:
    """Sample orthogonal matrices by Metropolis-Hastings with any acceptance test.

    Parameters
    ----------
    posterior : Posterior
        Posterior of an orthogonal matrix W, whose entries are stored row by row. The prior is a density with respect to
        the Haar measure, as in `IndependentComponents`.
    proposal_scale : float
        Standard deviation, in radians, of the rotation in each plane.
    test : AcceptanceTest, optional
        Acceptance test. The default, `MetropolisTest()`, is exact and reads all the data. `AusterityTest` reads part of
        the data.
    temperature : float
        Temperature T, by which the log likelihood is divided.
    chains : int
        Number of chains.
    draws, budget : int, optional
        Number of draws per chain, and number of likelihood evaluations per chain, including burn-in. At least one of
        them is required. If both are given, a chain ends when it reaches either limit.
    burn_in, thin : int
        Number of steps to discard at the beginning, and number of steps per kept draw.
    seed : int, or sequence of int
        Seed for the run, or one seed for each chain (see `RunOptions`).
    start : array_like, shape (D^2,) or (chains, D^2), optional
        Initial orthogonal matrix of all chains, or one matrix for each chain. The default is the identity. A chain
        preserves the sign of the determinant.
    progress : bool
        If True, show a progress bar on standard error for runs of more than a second.

    Returns
    -------
    Draws
        Points with D^2 coordinates, which are orthogonal matrices up to rounding errors.

    Raises
    ------
    UsageError
        If an option is out of range, if the dimension is not a square, or if the budget is too small for one step.
    InputError
        If `start` is not orthogonal, or if a function of the posterior returns NaN or an array of the wrong shape.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
    section 6.2.
    """
    walk = StiefelWalk(proposal_scale)
    require_target(posterior)
    if run.get("start") is None and posterior.dim is not None:
        run["start"] = np.eye(_side(posterior.dim)).ravel()
    options = RunOptions(**run)
    judge = MetropolisTest() if test is None else test
    return run_chains("orthogonal_mh", posterior, walk, judge, options, temperature)


@dataclass(frozen=True)
class StiefelWalk(Proposal):
    """Symmetric random walk on the orthogonal matrices.

    A state contains the entries of W, row by row.

    Parameters
    ----------
    proposal_scale : float
        Standard deviation, in radians, of the rotation in each plane.

    Raises
    ------
    UsageError
        If the scale is not positive.
    """

    proposal_scale: float

    def __post_init__(self) -> None:
        positive(self.proposal_scale, "proposal_scale")

    def noise_width(self, dim: int) -> int:
        """Return the number of random numbers per move, which is one per plane.

        Parameters
        ----------
        dim : int
            Number of coordinates D^2.

        Returns
        -------
        int
            Number of planes, D (D - 1) / 2.

        Raises
        ------
        UsageError
            If `dim` is not the square of an integer D >= 2.
        """
        D = _side(dim)
        return D * (D - 1) // 2

    def propose(self, states: Floats, noise: Floats, gradient: Gradient | None) -> tuple[Floats, Floats]:
        """Propose the matrix Q W, which lies on the manifold.

        Parameters
        ----------
        states : ndarray, shape (n, D^2)
            Orthogonal matrices W, stored row by row.
        noise : ndarray, shape (n, D (D - 1) / 2)
            Standard normal numbers. Multiplied by the scale, they are the entries of A above its diagonal.
        gradient : None
            Unused argument of the interface.

        Returns
        -------
        proposals : ndarray, shape (n, D^2)
            Matrices Q W, which are orthogonal up to rounding errors.
        log_ratio : ndarray, shape (n,)
            Log ratios of the proposal densities, which are zero because the walk is symmetric with respect to the Haar
            measure.
        """
        D = _side(states.shape[1])
        W = states.reshape(-1, D, D)
        above, across = np.triu_indices(D, 1)
        half = np.zeros(W.shape)
        half[:, above, across] = 0.5 * self.proposal_scale * noise
        half -= half.swapaxes(1, 2)
        identity = np.eye(D)
        moved = np.linalg.solve(identity - half, (identity + half) @ W)
        nearest = moved @ (1.5 * identity - 0.5 * moved.swapaxes(1, 2) @ moved)
        return nearest.reshape(states.shape), np.zeros(len(states))


def _side(dim: int) -> int:
    """Return D for matrices with D^2 entries."""
    D = math.isqrt(dim)
    if dim != D * D or D < 2:
        raise UsageError(f"a walk on orthogonal matrices requires D^2 coordinates, D >= 2; got {dim}")
    return D
