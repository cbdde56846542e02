"""Parameters of targets: numbers in, arrays of one dimension out, or an error that says what is wanted.

Scatter matrices S = L L' among them: positive definite, as covariances and as scale matrices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import require_unmasked
from steinkit.errors import UsageError
from steinkit.sample import Floats


def as_numbers(value: ArrayLike, what: str) -> Floats:
    """``value`` as a float64 array of any shape; UsageError for text, truth values, NaN and ragged lists.

    A copy, but for doubles in a memory-mapped file, which may be larger than the memory.
    """
    require_unmasked(value, what)
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiu":
            raise ValueError
        array = array.astype(np.float64, copy=not isinstance(value, np.memmap))
    except ValueError:
        raise UsageError(f"{what} must be a number or an array of numbers; received {value!r}") from None
    if not array.size or np.isnan(array.min()):  # which is NaN where one entry is
        raise UsageError(f"{what} must be numbers; received {show(array)}")
    return array


def as_finite(value: ArrayLike, what: str) -> Floats:
    """`as_numbers`, none of them infinite."""
    array = as_numbers(value, what)
    if not np.isfinite([array.min(), array.max()]).all():
        raise UsageError(f"{what} must be finite; received {show(array)}")
    return array


def as_positive(value: ArrayLike, what: str) -> Floats:
    """`as_finite`, all of them above zero."""
    array = as_finite(value, what)
    if not (array > 0.0).all():
        raise UsageError(f"{what} must be positive; received {show(array)}")
    return array


def as_number(value: ArrayLike, what: str) -> float:
    """One finite number."""
    array = as_finite(value, what)
    if array.ndim:
        raise UsageError(f"{what} must be one number; received {show(array)}")
    return float(array)


def as_count(value: ArrayLike, what: str, least: int = 1) -> int:
    """A whole number of at least ``least``; 1e6 is one."""
    number = as_number(value, what)
    if not number.is_integer() or number < least:
        raise UsageError(f"{what} must be a whole number of at least {least}; received {value!r}")
    return int(number)


def common_dim(dim: int | None, **parameters: Floats) -> int:
    """Find the dimension that ``dim`` and the lengths of all parameters agree on; 1 if all are scalars.

    Raises
    ------
    UsageError
        If they contradict each other.
    """
    lengths = {name: len(value) for name, value in parameters.items() if value.ndim > 0}
    if dim is not None:
        if isinstance(dim, bool) or not isinstance(dim, int | np.integer) or dim < 1:
            raise UsageError(f"dim must be a positive whole number; received {dim!r}")
        lengths["dim"] = int(dim)
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name}: {length}" for name, length in lengths.items())
        raise UsageError(f"the parameters disagree on the dimension ({listed}); give scalars or equal lengths")
    return next(iter(lengths.values()), 1)


def as_vector(array: Floats, dim: int, what: str) -> Floats:
    """Repeat a scalar, or copy a vector: shape (dim,)."""
    if array.shape not in {(), (dim,)}:
        raise UsageError(f"{what} must be one number or one for each of {dim} coordinates; received {show(array)}")
    return np.array(np.broadcast_to(array, (dim,)))


def show(value: Any) -> str:
    """Write a parameter in few words, for messages and representations."""
    array = np.asarray(value)
    if array.size > 12:
        return f"array of shape {array.shape}"
    return repr(array.tolist())


@dataclass(frozen=True, eq=False)
class Scatter:
    """A positive definite matrix S = L L' through its Cholesky factor.

    Attributes
    ----------
    factor : ndarray, shape (d,) or (d, d)
        L, lower triangular; only its diagonal where S is diagonal.
    """

    factor: Floats

    @property
    def half_log_determinant(self) -> float:
        """Half of log det S, which is log det L."""
        diagonal = self.factor if self.factor.ndim == 1 else np.diagonal(self.factor)
        return float(np.log(diagonal).sum())

    def whiten(self, residuals: Floats) -> Floats:
        """L^-1 r for each row r, (n, d) -> (n, d)."""
        if self.factor.ndim == 1:
            return np.asarray(residuals / self.factor, dtype=np.float64)
        from scipy.linalg import solve_triangular

        return np.asarray(solve_triangular(self.factor, residuals.T, lower=True).T, dtype=np.float64)

    def solve(self, residuals: Floats) -> Floats:
        """S^-1 r for each row r, (n, d) -> (n, d)."""
        if self.factor.ndim == 1:
            return np.asarray(residuals / self.factor / self.factor, dtype=np.float64)
        from scipy.linalg import cho_solve

        return np.asarray(cho_solve((self.factor, True), residuals.T).T, dtype=np.float64)

    def colour(self, noise: Floats) -> Floats:
        """L z for each row z, (n, d) -> (n, d)."""
        if self.factor.ndim == 1:
            return np.asarray(noise * self.factor, dtype=np.float64)
        return np.asarray(noise @ self.factor.T, dtype=np.float64)


def as_scatter(matrix: Floats, dim: int, what: str) -> Scatter:
    """Factorise a matrix given as a scalar (times identity), a diagonal (d,), or in full (d, d).

    Raises
    ------
    UsageError
        If the shape is another, or the matrix is not symmetric or not positive definite.
    """
    if not np.isfinite(matrix).all():
        raise UsageError(f"{what} must be finite; received {show(matrix)}")
    if matrix.ndim < 2:
        if not (matrix > 0.0).all():
            raise UsageError(f"{what} must be positive; received {show(matrix)}")
        return Scatter(np.array(np.broadcast_to(np.sqrt(matrix), (dim,))))
    if matrix.shape != (dim, dim):
        raise UsageError(
            f"{what} must be a scalar, a vector of {dim} variances or a {dim} x {dim} matrix; "
            f"received shape {matrix.shape}"
        )
    if not np.allclose(matrix, matrix.T, rtol=1e-9, atol=1e-12 * np.abs(matrix).max()):
        raise UsageError(f"{what} must be symmetric; received {show(matrix)}")
    try:
        return Scatter(np.asarray(np.linalg.cholesky(matrix), dtype=np.float64))
    except np.linalg.LinAlgError:
        smallest = float(np.linalg.eigvalsh(matrix)[0])
        raise UsageError(
            f"{what} must be positive definite; its smallest eigenvalue is {smallest:.3g}: received {show(matrix)}"
        ) from None
