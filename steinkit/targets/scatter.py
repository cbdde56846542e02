"""Scatter matrices: S = L L', positive definite, as covariances and as scale matrices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinkit.errors import UsageError
from steinkit.sample import Floats
from steinkit.targets.parameters import show


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
