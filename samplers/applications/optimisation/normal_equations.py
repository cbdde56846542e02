"""Least squares on a batch that grows block by block, and the covariance of its solution.

For n of N data, drawn without replacement, with rows a_i and working residuals rho_i,

    A_n = sum_i a_i a_i',  g_n = sum_i a_i rho_i,  d_n = A_n^-1 g_n,  zeta_i = rho_i - a_i'd_n,  e_n = sum_i zeta_i^2,

the step d_n is about normal, with mean d_N and covariance

    Sigma = A_n^-1 e_n / (n - D) (1 - (n - 1) / (N - 1))                                          homoscedastic
    Sigma = A_n^-1 (sum_i zeta_i^2 a_i a_i') A_n^-1 n / (n - D) (1 - (n - 1) / (N - 1))           sandwich

The first is equation 7d with the divisor n - D for n: it takes the variance of zeta for the same whatever the row. The
second does not, and needs the rows again at each look.

References
----------
A. Korattikara, Y. Chen and M. Welling (2016), "Sequential tests for large-scale learning", section 2.1, eq. 3 and 7.
H. White (1980), "A heteroskedasticity-consistent covariance matrix estimator and a direct test for
heteroskedasticity".
"""

from __future__ import annotations

import numpy as np

from steinkit.errors import InputError
from steinkit.sample import Floats
from steinkit.samplers.applications.optimisation.losses import WorkingRows

# Least eigenvalue of the Gram matrix of unit columns, in rounding errors and columns: below, they count as dependent.
_ROUNDING_ERRORS = 64.0


class NormalEquations:
    """The normal equations of a batch, which grows by `add`.

    Parameters
    ----------
    size : int
        N, the number of all data.
    dim : int
        D.
    keep_rows : bool
        Keep the rows, for the sandwich.
    """

    def __init__(self, size: int, dim: int, *, keep_rows: bool) -> None:
        self.size = size
        self.seen = 0
        self.separated = True
        self._gram: Floats = np.zeros((dim, dim))
        self._gradient: Floats = np.zeros(dim)
        self._squares = 0.0
        self._blocks: list[WorkingRows] | None = [] if keep_rows else None

    def add(self, block: WorkingRows) -> None:
        """Add the rows of a block of data."""
        self._gram += block.rows.T @ block.rows
        self._gradient += block.rows.T @ block.residuals
        self._squares += float(block.residuals @ block.residuals)
        self.seen += len(block.rows)
        self.separated &= block.separated
        if self._blocks is not None:
            self._blocks.append(block)

    def solve(self) -> tuple[Floats, Floats] | None:
        """Step d_n and A_n^-1; None if the columns of this batch are dependent."""
        scale, values, vectors = self._spectrum()
        if values[0] <= _ROUNDING_ERRORS * len(values) * np.finfo(np.float64).eps:
            return None
        roots = vectors / (np.sqrt(values) * scale[:, None])  # A^-1 = roots roots'
        return roots @ (roots.T @ self._gradient), roots @ roots.T

    def covariance(self, step: Floats, inverse: Floats) -> Floats:
        """Sigma, by the sandwich if the rows were kept."""
        n, N, D = self.seen, self.size, len(step)
        correction = (1.0 - (n - 1.0) / (N - 1.0)) / (n - D)
        if self._blocks is None:
            return np.asarray(inverse * (max(self._squares - float(step @ self._gradient), 0.0) * correction))
        middle = np.zeros_like(inverse)
        for block in self._blocks:
            scaled = block.rows * (block.residuals - block.rows @ step)[:, None]
            middle += scaled.T @ scaled
        return np.asarray(inverse @ middle @ inverse * (n * correction))

    def dependence(self) -> InputError:
        """Error that names the dependent columns, for a batch that `solve` could not solve."""
        part = np.abs(self._spectrum()[2][:, 0])
        columns = ", ".join(str(j) for j in np.flatnonzero(part > 1e-3 * part.max()))
        return InputError(
            f"the columns of X are linearly dependent, or so nearly that the coefficients have no correct digit: "
            f"columns {columns} (from 0) add to zero with some weights; drop one of them"
        )

    def _spectrum(self) -> tuple[Floats, Floats, Floats]:
        """Lengths of the columns, and eigenvalues and eigenvectors of the Gram matrix of columns of length one."""
        lengths = np.sqrt(np.diag(self._gram))
        scale = np.where(lengths > 0.0, lengths, 1.0)
        values, vectors = np.linalg.eigh(self._gram / np.outer(scale, scale))
        return scale, values, vectors
