"""Least squares on a batch that grows block by block, the covariance of its solution, and the 90-degree test of it.

For n of N data, drawn without replacement, with rows a_i and working residuals rho_i,

    A_n = sum_i a_i a_i',  g_n = sum_i a_i rho_i,  d_n = A_n^-1 g_n,  zeta_i = rho_i - a_i'd_n,  e_n = sum_i zeta_i^2,

the step d_n is about normal, with mean d_N and covariance

    Sigma = A_n^-1 e_n / (n - D) (1 - (n - 1) / (N - 1))                                          homoscedastic
    Sigma = A_n^-1 (sum_i zeta_i^2 a_i a_i') A_n^-1 n / (n - D) (1 - (n - 1) / (N - 1))           sandwich

The first is equation 7d with the divisor n - D for n: it takes the variance of zeta for the same whatever the row. The
second does not, and needs the rows again at each look.

The 90-degree test: does the step point the wrong way? It points more than 90 degrees away from d_N with probability

    delta = P(<d_n, d_N> < 0) = Phi(-mu / sigma),    mu = |d_N|,    sigma^2 = d_N' Sigma d_N / |d_N|^2.

(The paper's equation 4 integrates over >= 0; its equation 6 is this.) Both are estimated by putting d_n for d_N. But
E |d_n|^2 = |d_N|^2 + tr Sigma: the noise itself is taken for a long step, in many dimensions nearly always. Hence

    mu^2 = |d_n|^2                           the paper's form,
    mu^2 = max(|d_n|^2 - tr Sigma, 0)        debiased.

References
----------
A. Korattikara, Y. Chen and M. Welling (2016), "Sequential tests for large-scale learning", section 2.1, eq. 3 and 7.
H. White (1980), "A heteroskedasticity-consistent covariance matrix estimator and a direct test for
heteroskedasticity".
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import checked
from steinkit.errors import InputError
from steinkit.sample import Floats
from steinkit.samplers.applications.losses import WorkingRows, as_reals

# Least eigenvalue of the Gram matrix of unit columns, in rounding errors and columns: below, they count as dependent.
_ROUNDING_ERRORS = 64.0
# Share of the largest covariance below which a negative variance is rounding.
_ROUNDING = 1e-12


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


@checked
def wrong_direction_probability(step: ArrayLike, covariance: ArrayLike, *, debias: bool = True) -> float:
    """Estimate the probability that a batch's step is more than 90 degrees off the step of all the data.

    Parameters
    ----------
    step : array_like, shape (D,)
        Step d_n that the batch proposes.
    covariance : array_like, shape (D, D)
        Sigma, of d_n about d_N.
    debias : bool
        Take tr Sigma off |d_n|^2, as far as that leaves something.

    Returns
    -------
    float
        delta, in [0, 1/2]; 1/2 if nothing of the step is left. It is an estimate: where the true step is short, noise
        makes it small by chance. Of steps that are nothing but isotropic noise, delta < 0.01 lets pass 86 % in ten
        dimensions in the paper's form, 12 % debiased; in fifty dimensions practically all, and 28 %.

    Raises
    ------
    InputError
        If shapes disagree, a value is not finite, or the covariance gives the step a negative variance.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2016), "Sequential tests for large-scale learning", section 2.1, eq. 4-6.
    """
    from scipy.special import ndtr

    d, Sigma = as_reals(step, "step"), as_reals(covariance, "covariance")
    if d.ndim != 1 or Sigma.shape != (len(d), len(d)):
        raise InputError(f"step and covariance must have shapes (D,) and (D, D); received {d.shape} and {Sigma.shape}")
    if not (np.isfinite(d).all() and np.isfinite(Sigma).all()):
        raise InputError("step and covariance must be finite; received NaN or infinity")
    scale = float(np.abs(d).max(initial=0.0))
    if scale == 0.0:
        return 0.5
    length = scale * float(np.linalg.norm(d / scale))  # so that no square overflows
    direction = d / length
    sigma_squared = float(direction @ Sigma @ direction)
    if sigma_squared < -_ROUNDING * float(np.abs(Sigma).max()):
        raise InputError(f"covariance must be that of a step; along this one the variance is {sigma_squared:.3g}")
    left = 1.0 - float(np.trace(Sigma)) / length / length if debias else 1.0
    if left <= 0.0:
        return 0.5
    return float(ndtr(-length * math.sqrt(left / sigma_squared))) if sigma_squared > 0.0 else 0.0
