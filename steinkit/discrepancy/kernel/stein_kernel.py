"""Stein kernel of an operator at the points of a sample.

Consider an operator T g = <b, g> + <a, grad g>, with a diagonal matrix a, and a base kernel k on R^d, which is the same
for each coordinate of g. The Stein kernel is

    k0(x, y) = <b(x), b(y)> k + <b(x), a(y) grad_y k> + <b(y), a(x) grad_x k> + tr(a(x) (grad_x grad_y' k) a(y)).

The Stein kernel is positive semi-definite and has mean zero under the target in either argument. The Langevin operator
has a = I and b = s. Finite bounds on the support multiply a and b by boundary factors. See
`steinkit.discrepancy.operators`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from steinkit.discrepancy.kernel.base import BaseKernel
from steinkit.discrepancy.kernel.stein_row_kernels import row_kernels
from steinkit.discrepancy.operators import RiemannianLangevin, boundary_factor
from steinkit.errors import UsageError
from steinkit.runtime.compilation import announced_compilation
from steinkit.runtime.deadlines import interruptible, stop_signal
from steinkit.sample import Floats, Integers
from steinkit.scored_sample import ScoredSample

_STRIPES = 16  # this number is fixed because the order of summation must not depend on the number of threads
_ROWS_PER_CALL = 64
_MANY_COORDINATES = 32  # minimum dimension for matrix products
_LARGEST_SQUARE = 1e5  # largest |x|^2 for matrix products, in squared units of the kernel's scale
_TERMS_PER_CALL = 20_000_000  # number of pair coordinates per step; a step takes about 0.1 s


@dataclass(frozen=True, eq=False)
class SteinKernel:
    """Stein kernel k0 at n points.

    Attributes
    ----------
    base : BaseKernel
        Base kernel with its scale.
    points, drift : ndarray, shape (d, n)
        Points and drift, transposed for the compiled kernels.
    covariance : ndarray, shape (0, n) or (d, n)
        Diagonal of a at each point. The array is empty if a is the identity at all points.
    drift_size : ndarray, shape (n,)
        Upper bound on |b| and on the sum of the absolute values of its terms.
    """

    base: BaseKernel
    points: Floats
    drift: Floats
    covariance: Floats
    drift_size: Floats

    def __len__(self) -> int:
        return int(self.points.shape[1])

    @property
    def form(self) -> tuple[Floats, Floats, Floats]:
        """Tuple of points, drift and covariance."""
        return self.points, self.drift, self.covariance

    def rows(self, which: Sequence[int] | Integers, start: int = 0, out: Floats | None = None) -> Floats:
        """Compute k0(x_i, x_j) for given rows i and all j >= start.

        The result has shape (rows, n). The other entries of the result are undefined.
        """
        values = np.empty((len(which), len(self))) if out is None else out
        fill_rows, _ = row_kernels(self.base.radial)
        fill_rows(self.base.parameters(), self.form, np.asarray(which, dtype=np.int64), start, values)
        return values

    def rough_rows(self, which: Integers, start: int = 0) -> Floats:
        """Compute rows, using matrix products in high dimensions.

        The products are several times faster than `rows`, but their rounding errors are relative to |x|^2 + |y|^2
        instead of |x - y|^2. They are therefore used only if no point is far from the mean.
        """
        assert self.base.scale is not None
        x, b = self.points - self.points.mean(axis=1, keepdims=True), self.drift
        squares, own = np.einsum("kn,kn->n", x, x), np.einsum("kn,kn->n", x, b)
        is_far = not squares.max() <= _LARGEST_SQUARE * self.base.scale**2
        if is_far or len(self.covariance) or len(self.points) < _MANY_COORDINATES:
            return self.rows(which, start)
        rows = np.vstack([x[:, which].T, b[:, which].T])
        (xx, bx), (xb, bb) = (np.split(rows @ each[:, start:], 2) for each in (x, b))
        squared = np.maximum(squares[which, None] + squares[start:] - 2.0 * xx, 0.0)
        slope = xb + bx - own[which, None] - own[start:]
        phi, first, bend = self.base.radial(squared, 4.0 * squared, *self.base.parameters())
        values = np.empty((len(which), len(self)))
        values[:, start:] = 2.0 * first * (slope - len(x)) - bend + phi * bb
        return values

    def diagonal(self) -> Floats:
        """Compute k0(x_i, x_i) at each point as an array of shape (n,).

        The value equals phi(0) |b|^2 - 2 phi'(0) |a|_F^2.
        """
        with np.errstate(all="ignore"):  # the callers check that the value is finite
            _, first, _ = self.base.radial(np.zeros(()), 0.0, *self.base.parameters())
            # The rows must be contiguous because the rounding of a sum over columns depends on the memory layout.
            drift = np.ascontiguousarray(self.drift.T)
            return np.asarray(-2.0 * first * self.squared_covariance() + self.base.height() * (drift**2).sum(axis=1))

    def covariance_diagonal(self) -> Floats:
        """Return a_jj at each point as an array of shape (d, n)."""
        return self.covariance if len(self.covariance) else np.ones_like(self.points)

    def squared_covariance(self) -> Floats:
        """Compute the squared Frobenius norm of a at each point."""
        if not len(self.covariance):
            return np.full(len(self), float(len(self.points)))
        return np.asarray((self.covariance**2).sum(axis=0))

    def sums_over_others(self, weights: Floats, threads: int) -> Floats:
        """Compute sum_{j != i} w_j k0(x_i, x_j) at each point i.

        Ctrl-C interrupts the computation.
        """
        n = len(self)
        stripes = min(_STRIPES, n)
        sums = np.zeros((stripes, n))
        _, add_rows = row_kernels(self.base.radial)
        parameters, form = self.base.parameters(), self.form
        rows_per_call = min(_ROWS_PER_CALL, max(1, _TERMS_PER_CALL // max(1, self.points.size)))
        reach = rows_per_call * stripes

        def fill(stripe: int) -> Iterator[None]:
            for first in range(stripe, n, reach):
                add_rows(parameters, form, weights, first, min(first + reach, n), stripes, sums[stripe])
                yield

        run_pieces(fill, stripes, threads)
        return np.asarray(sums.sum(axis=0))


def run_pieces(
    steps: Callable[[int], Iterator[None]],
    pieces: int = 1,
    threads: int = 1,
    *,
    doing: str = "evaluating pairs of draws",
) -> None:
    """Run pieces of compiled work in threads.

    The pieces are numbered 0, 1, ... Ctrl-C interrupts the work between successive steps of a piece.

    Raises
    ------
    TimeLimitError
        If the deadline passes before the work is complete.
    """

    def run(piece: int) -> bool:
        progress = steps(piece)
        while not stop.is_set():
            if next(progress, True) is not None:
                return True
        return False

    def work() -> bool:
        if threads == 1:
            return all(run(piece) for piece in range(pieces))
        with ThreadPoolExecutor(threads) as pool:
            return all(list(pool.map(run, range(pieces))))

    with announced_compilation(), stop_signal() as stop:
        if not interruptible(work, stop, doing):
            stop.require(doing)


def stein_kernel_for(
    base: BaseKernel, prepared: ScoredSample, operator: RiemannianLangevin | None = None
) -> SteinKernel:
    """Return the Stein kernel at the distinct points of a sample, in its units.

    Parameters
    ----------
    base : BaseKernel
        Base kernel with its scale.
    prepared : ScoredSample
    operator : RiemannianLangevin, optional
        Operator that replaces the Langevin operator, with a diagonal covariance.
    """
    points, drift, bounds = prepared.points.points, prepared.scores, prepared.bounds
    diagonal = np.ones_like(points)
    if operator is not None:
        raw = prepared.raw
        found = operator.coefficients(raw.points.points, raw.scores, bounds=raw.bounds, names=raw.points.names)
        drift, covariance = vars(found.in_units(prepared.units)).values()
        diagonal = np.einsum("ijj->ij", covariance)
        if np.count_nonzero(covariance) > np.count_nonzero(diagonal):
            raise UsageError("the covariance of `operator` must be diagonal for a kernel Stein discrepancy")
    size = np.abs(drift)
    with np.errstate(over="ignore", invalid="ignore"):  # the callers check that the results are finite
        if bounds is not None and np.isfinite(bounds).any():
            assert base.scale is not None
            factor, slope, slope_size = boundary_factor(points, bounds, base.scale)
            drift, size = factor * drift + diagonal * slope, factor * size + diagonal * slope_size
            diagonal = factor * diagonal
        return SteinKernel(
            base=base,
            points=np.ascontiguousarray(points.T),
            drift=np.ascontiguousarray(drift.T),
            # this is a copy because the compiled kernels would be recompiled for read-only arrays
            covariance=np.array(diagonal.T[: 0 if (diagonal == 1.0).all() else None], order="C"),
            drift_size=np.asarray(np.linalg.norm(size, axis=1)),
        )
