"""Base classes of the built-in targets and validation of target parameters.

The densities use Gamma(z) = sqrt(2 pi / z) (z / e)^z exp(stirling_error(z)). As a result, the density of a gamma, beta
or Student t distribution near its mode is a product of factors of order one for any parameters. In contrast,
differences of log gamma functions lose ten digits of precision if the parameters are about 1e6 [1]_.

References
----------
.. [1] C. Loader, "Fast and accurate computation of binomial probabilities", 2000.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from steinkit.arguments import require_unmasked, whole
from steinkit.errors import UsageError
from steinkit.posterior import Array, LikelihoodTerm, MakeTerms, Posterior, for_one
from steinkit.sample import Floats
from steinkit.target import Target

_LARGE = 16.0
# coefficients of 1/z^(2 k - 1), computed from Bernoulli numbers
_SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_NEAR = 0.4
_ODD_TERMS = 24


class Family(Target):
    """Built-in family of distributions.

    Parameters
    ----------
    label : str
        Name on the command line.
    dim : int or None
        Dimension, if the user specified it. Otherwise, the parameters determine it.
    side : tuple of float, optional
        Lower and upper bounds of every coordinate.
    has_cdf : bool, default True
        True if the distribution has an accurate cdf in one dimension.
    **parameters : ndarray
        Parameters for `repr`, which are scalars or have one entry per coordinate.
    """

    dim: int
    score_is_checked = True
    _evaluate_score: Callable[[Floats], Floats]
    _evaluate_log_density: Callable[[Floats], Floats]
    _evaluate_cdf: Callable[[Floats], Floats]
    _evaluate_tail_integrals: Callable[[Floats], Floats]
    _draw: Callable[[int, np.random.Generator], Floats]

    def __init__(
        self,
        label: str,
        dim: int | None,
        side: tuple[float, float] | None = None,
        has_cdf: bool = True,
        **parameters: Floats,
    ) -> None:
        d = common_dim(dim, **parameters)
        super().__init__(
            score=self._evaluate_score,
            log_density=self._evaluate_log_density,
            bounds=None if side is None else np.tile(side, (d, 1)),
            cdf=self._evaluate_cdf if d == 1 and has_cdf else None,
            tail_integrals=self._evaluate_tail_integrals if d == 1 and has_cdf else None,
            sampler=self._draw,
            dim=d,
            label=label,
        )
        self._parameters = ", ".join(f"{name}={show(value)}" for name, value in parameters.items())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._parameters}, dim={self.dim})"


class PosteriorFamily(Posterior):
    """Built-in family of posteriors with vectorized and compiled likelihood terms.

    The compiled terms are optional.

    The default priors are independent normal distributions.

    Parameters
    ----------
    label : str
        Name on the command line.
    data : sequence of ndarray
        The data arrays.
    dim : int
        Number of parameters.
    names : sequence of str, optional
        Names of the parameters.
    **known
        ``cdf`` and ``sampler`` of `Posterior`, or None.
    """

    score_is_checked = True
    prior_mean: Floats | float = 0.0
    prior_variance: Floats
    _shown: tuple[str, ...]  # names of the attributes shown in `repr`
    _log_likelihood_many: LikelihoodTerm
    _grad_log_likelihood_many: LikelihoodTerm
    _compiled_terms: MakeTerms

    def __init__(
        self, label: str, data: Sequence[Array], dim: int, names: Sequence[str] | None = None, **known: Any
    ) -> None:
        super().__init__(
            data=data,
            log_likelihood=for_one(self._log_likelihood_many),
            grad_log_likelihood=for_one(self._grad_log_likelihood_many),
            log_prior=self._log_prior,
            grad_log_prior=self._grad_log_prior,
            log_likelihood_many=self._log_likelihood_many,
            grad_log_likelihood_many=self._grad_log_likelihood_many,
            dim=dim,
            names=names,
            label=label,
            **known,
        )
        if "_compiled_terms" in vars(type(self)):  # not inherited because a derived class may override any term
            self._bring_terms(self._compiled_terms)

    def __repr__(self) -> str:
        values = {name: getattr(self, name) for name in self._shown}
        shown = (f"{name}={f'{x:g}' if isinstance(x, float) else show(x)}" for name, x in values.items())
        return f"{type(self).__name__}({self.size} data, d={self.dim}, {', '.join(shown)})"

    def _log_prior(self, thetas: Floats) -> Floats:
        return np.asarray(-0.5 * ((thetas - self.prior_mean) ** 2 / self.prior_variance).sum(axis=1))

    def _grad_log_prior(self, thetas: Floats) -> Floats:
        return np.asarray((self.prior_mean - thetas) / self.prior_variance)


def stirling_error(z: float) -> float:
    """Compute log Gamma(z) - (z - 1/2) log z + z - log(2 pi) / 2."""
    if z < _LARGE:
        return math.lgamma(z) - (z - 0.5) * math.log(z) + z - 0.5 * math.log(2.0 * math.pi)
    square, total = 1.0 / (z * z), 0.0
    for term in reversed(_SERIES):
        total = total * square + term
    return total / z


def log1p_minus(t: Floats) -> Floats:
    """Compute log(1 + t) - t for t > -1 with a small relative error.

    The relative error is also small near 0.

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


def as_numbers(value: ArrayLike, what: str) -> Floats:
    """Convert an argument to a float64 array without NaN, or raise UsageError.

    The result is a copy. However, double-precision values in a memory-mapped file are not copied because they may not
    fit in memory.
    """
    require_unmasked(value, what)
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiu":
            raise ValueError
        array = array.astype(np.float64, copy=not isinstance(value, np.memmap))
    except ValueError:
        raise UsageError(f"`{what}` must be a number or an array of numbers; got {value!r}") from None
    if not array.size or np.isnan(array.min()):
        raise UsageError(f"`{what}` must be {'without NaN' if array.size else 'non-empty'}; got {show(array)}")
    return array


def as_finite(value: ArrayLike, what: str) -> Floats:
    """Convert an argument to an array of finite numbers, or raise UsageError."""
    array = as_numbers(value, what)
    if not np.isfinite([array.min(), array.max()]).all():
        raise UsageError(f"`{what}` must be finite; got {show(array)}")
    return array


def as_positive(value: ArrayLike, what: str) -> Floats:
    """Convert an argument to a positive finite array, or raise UsageError."""
    return _require_positive(as_finite(value, what), what)


def as_prior_variance(value: ArrayLike) -> Floats:
    """Convert a prior variance to an array of positive numbers, or raise UsageError.

    Infinite values are allowed.
    """
    return _require_positive(as_numbers(value, "prior_variance"), "prior_variance")


def _require_positive(array: Floats, what: str) -> Floats:
    if not (array > 0.0).all():
        raise UsageError(f"`{what}` must be positive; got {show(array)}")
    return array


def as_rows(value: ArrayLike, what: str, shape: str) -> Floats:
    """Convert an argument to a finite matrix, or raise UsageError.

    A vector is converted to a matrix with one column.
    """
    array = as_finite(value, what)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise UsageError(f"`{what}` must have shape {shape}; got {array.shape}")
    return array


def as_number(value: ArrayLike, what: str) -> float:
    """Convert an argument to a finite number, or raise UsageError."""
    array = as_finite(value, what)
    if array.ndim:
        raise UsageError(f"`{what}` must be a single number; got {show(array)}")
    return float(array)


def as_count(value: ArrayLike, what: str, least: int = 1) -> int:
    """Convert an argument to an integer that is at least ``least``.

    A float with an integer value, such as 1e6, is also accepted.
    """
    number = as_number(value, what)
    if not number.is_integer() or number < least:
        raise UsageError(f"`{what}` must be an integer of at least {least}; got {value!r}")
    return int(number)


def common_dim(dim: int | None, **parameters: Floats) -> int:
    """Return the common dimension of all parameters, or 1 if all of them are scalars.

    Raises
    ------
    UsageError
        If the dimensions differ.
    """
    lengths = {name: len(value) for name, value in parameters.items() if value.ndim > 0}
    if dim is not None:
        lengths["dim"] = whole(dim, "dim", 1)
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name}: {length}" for name, length in lengths.items())
        raise UsageError(f"expected scalars or parameters of equal length, got {listed}")
    return next(iter(lengths.values()), 1)


def as_vector(array: Floats, dim: int, what: str) -> Floats:
    """Broadcast a scalar or copy a vector to shape (dim,)."""
    if array.shape not in {(), (dim,)}:
        raise UsageError(f"`{what}` must be a number or have shape ({dim},); got {show(array)}")
    return np.array(np.broadcast_to(array, (dim,)))


def show(value: Any) -> str:
    """Format a parameter for messages and representations."""
    array = np.asarray(value)
    return f"array of shape {array.shape}" if array.size > 12 else repr(array.tolist())


@dataclass(frozen=True, eq=False)
class Scatter:
    """Positive definite matrix S = L L' represented by its Cholesky factor.

    Attributes
    ----------
    factor : ndarray, shape (d,) or (d, d)
        Lower triangular matrix L, or only its diagonal if S is diagonal.
    """

    factor: Floats

    @property
    def half_log_determinant(self) -> float:
        """Logarithm of det L, which is half the logarithm of det S."""
        diagonal = self.factor if self.factor.ndim == 1 else np.diagonal(self.factor)
        return float(np.log(diagonal).sum())

    def whiten(self, residuals: Floats) -> Floats:
        """Compute L^-1 r for each row r of an array of shape (n, d)."""
        if self.factor.ndim == 1:
            return np.asarray(residuals / self.factor, dtype=np.float64)
        return np.asarray(scipy.linalg.lapack.dtrtrs(self.factor, residuals.T, lower=True)[0].T, dtype=np.float64)

    def solve(self, residuals: Floats) -> Floats:
        """Compute S^-1 r for each row r of an array of shape (n, d)."""
        if self.factor.ndim == 1:
            return np.asarray(residuals / self.factor / self.factor, dtype=np.float64)
        return np.asarray(scipy.linalg.lapack.dpotrs(self.factor, residuals.T, lower=True)[0].T, dtype=np.float64)

    def colour(self, noise: Floats) -> Floats:
        """Compute L z for each row z of an array of shape (n, d)."""
        if self.factor.ndim == 1:
            return np.asarray(noise * self.factor, dtype=np.float64)
        return np.asarray(noise @ self.factor.T, dtype=np.float64)


def as_scatter(matrix: Floats, dim: int, what: str) -> Scatter:
    """Factorize a matrix given as a scalar, a diagonal or a full matrix.

    Raises
    ------
    UsageError
        If the shape is invalid, or if the matrix is not symmetric and positive definite.
    """
    if matrix.ndim < 2:
        return Scatter(np.array(np.broadcast_to(np.sqrt(_require_positive(matrix, what)), (dim,))))
    if matrix.shape != (dim, dim):
        raise UsageError(
            f"`{what}` must be a scalar, a vector of {dim} variances or a {dim} x {dim} matrix; "
            f"got shape {matrix.shape}"
        )
    if not np.allclose(matrix, matrix.T, rtol=1e-9, atol=1e-12 * np.abs(matrix).max()):
        raise UsageError(f"`{what}` must be symmetric; got {show(matrix)}")
    try:
        return Scatter(np.asarray(np.linalg.cholesky(matrix), dtype=np.float64))
    except np.linalg.LinAlgError:
        smallest = float(np.linalg.eigvalsh(matrix)[0])
        raise UsageError(
            f"`{what}` must be positive definite; got {show(matrix)}, with smallest eigenvalue {smallest:.3g}"
        ) from None
