"""The Stein kernel of an operator at the points of a sample, in whichever compiled form is fastest.

For an operator T g = <b, g> + <a, grad g> and a base kernel k on R^d, the same for each coordinate of g,

    k0(x, y) = <b(x), b(y)> k + <b(x), a(y) grad_y k> + <b(y), a(x) grad_x k> + tr(a(x) (grad_x grad_y' k) a(y)'),

a positive semi-definite kernel whose mean under the target is zero in either argument. Langevin's operator has a = I
and b = s. Finite bounds of the support change b and a, and nothing else (see `boundary`).

Three forms: a = I takes time O(d) a pair, as does a diagonal a with more to add up; any other a takes O(d^2). The form
is chosen by the numbers, so that an operator that happens to be Langevin's gives Langevin's result to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from steinkit.discrepancy.kernel.base_kernels import BaseKernel
from steinkit.discrepancy.kernel.stein_row_kernels import row_kernels
from steinkit.discrepancy.operators import RiemannianLangevin, boundary_factor
from steinkit.errors import UsageError
from steinkit.runtime.compilation import announced_compilation
from steinkit.runtime.deadlines import interruptible, stop_signal
from steinkit.sample import Floats, Integers
from steinkit.scored_sample import ScoredSample
from steinkit.units import Units

_LARGE_EXPONENT = 64  # of a scale whose powers might be no doubles
_STRIPES = 16  # fixed, so that sums are added in the same order whatever the number of threads
_ROWS_A_CALL = 64
_TERMS_A_CALL = 20_000_000  # of coordinates, a tenth of a second's work


@dataclass(frozen=True, eq=False)
class SteinKernel:
    """k0 at n points.

    Attributes
    ----------
    base : BaseKernel
        With its scale filled in.
    points, drift : ndarray, shape (d, n)
        Transposed, as the compiled kernels take them.
    covariance : ndarray, shape (0, n), (d, n) or (d d, n)
        a at each point: nothing for the identity at every point, its diagonal if no point has anything beside it, all
        of it row by row if one has.
    drift_size : ndarray, shape (n,)
        At least |b|: what the rounding error of b is in proportion to.
    exponent : float
        k0 as it was asked for is 2^exponent times the one given here, whose kernel's scale is in a unit in which its
        powers are doubles.
    """

    base: BaseKernel
    points: Floats
    drift: Floats
    covariance: Floats
    drift_size: Floats
    exponent: float = 0.0

    def __len__(self) -> int:
        return int(self.points.shape[1])

    @property
    def form(self) -> tuple[Floats, Floats, Floats]:
        """Points, drift and covariance."""
        return self.points, self.drift, self.covariance

    @property
    def factor(self) -> float:
        """2^exponent; infinite where that is no double."""
        with np.errstate(over="ignore"):
            return float(np.exp2(self.exponent))

    def rows(self, which: Sequence[int] | Integers, start: int = 0, out: Floats | None = None) -> Floats:
        """k0(x_i, x_j) for some rows i and every j >= start, shape (rows, n); what lies left of start is undefined."""
        values = np.empty((len(which), len(self))) if out is None else out
        fill_rows, _ = row_kernels(self.base.radial)
        fill_rows(self.base.parameters(), self.form, np.asarray(which, dtype=np.int64), start, values)
        return values

    def diagonal(self) -> Floats:
        """k0(x_i, x_i) = phi(0) |b|^2 - 2 phi'(0) |a|_F^2 at each point, shape (n,)."""
        with np.errstate(all="ignore"):  # the callers refuse what is not finite
            _, first, _ = self.base.radial(np.zeros(()), 0.0, *self.base.parameters())
            # row by row, as the sum over the d columns of an array in C order is rounded by its layout
            drift = np.ascontiguousarray(self.drift.T)
            return np.asarray(-2.0 * first * self.squared_covariance() + self.base.height() * (drift**2).sum(axis=1))

    def covariance_diagonal(self) -> Floats:
        """a_jj at each point, shape (d, n)."""
        dim = len(self.points)
        if len(self.covariance) in (0, dim):
            return self.covariance if len(self.covariance) else np.ones_like(self.points)
        return self.covariance[:: dim + 1]

    def squared_covariance(self) -> Floats:
        """Squared Frobenius norm of a at each point, shape (n,)."""
        if not len(self.covariance):
            return np.full(len(self), float(len(self.points)))
        return np.asarray((self.covariance**2).sum(axis=0))

    def sums_over_others(self, weights: Floats, threads: int) -> Floats:
        """sum_{j != i} w_j k0(x_i, x_j) at each point i, shape (n,); control-C ends it."""
        n = len(self)
        stripes = min(_STRIPES, n)
        sums = np.zeros((stripes, n))
        _, add_rows = row_kernels(self.base.radial)
        parameters, form = self.base.parameters(), self.form
        rows_a_call = min(_ROWS_A_CALL, max(1, _TERMS_A_CALL // max(1, self.points.size)))
        reach = rows_a_call * stripes

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
    doing: str = "pairs of draws were gone through",
) -> None:
    """Do the steps of the pieces 0, 1, ... of compiled work, in threads; control-C ends it between two steps.

    Raises
    ------
    TimeLimitError
        If the deadline passes before all are done.
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
    """The Stein kernel at a sample's distinct points, in the units it was prepared in; its bounds are respected."""
    raw, points = prepared.raw, prepared.raw.points
    return stein_kernel_at(
        base,
        points.points,
        raw.scores,
        raw.bounds,
        operator,
        units=prepared.units,
        names=points.names,
        first=points.first,
    )


def stein_kernel_at(
    base: BaseKernel,
    points: Floats,
    scores: Floats,
    bounds: Floats | None,
    operator: RiemannianLangevin | None,
    *,
    units: Units | None = None,
    names: tuple[str, ...],
    first: Integers | None = None,
) -> SteinKernel:
    """The Stein kernel at given points.

    Parameters
    ----------
    base : BaseKernel
        With its scale filled in.
    points, scores : ndarray, shape (n, d)
        Points within the bounds, in raw units.
    bounds : ndarray, shape (d, 2), or None
    operator : RiemannianLangevin, optional
        Langevin's if not given.
    units : Units, optional
        In which the kernel is taken; raw ones if not given.
    names : tuple of str
        What error messages call the coordinates.
    first : ndarray of int, shape (n,), optional
        Which draw each point is, for error messages.
    """
    if operator is not None and not isinstance(operator, RiemannianLangevin):
        raise UsageError(f"operator must be a RiemannianLangevin, or None; received {type(operator).__name__}")
    covariance = None
    with np.errstate(over="ignore", invalid="ignore"):  # the callers refuse what is not finite
        coefficients = None
        if operator is not None:
            coefficients = operator.coefficients(points, scores, bounds=bounds, names=names, first=first)
        if units is not None and units.kind != "raw":
            points, scores = units.points(points), units.scores(scores)
            bounds = None if bounds is None else units.limits(bounds)
            coefficients = None if coefficients is None else coefficients.in_units(units)
        drift, size = scores, np.abs(scores)
        if coefficients is not None:
            drift, size, covariance = coefficients.drift, np.abs(coefficients.drift), coefficients.covariance
        if bounds is not None and np.isfinite(bounds).any():
            assert base.scale is not None
            factor, slope, slope_size = boundary_factor(points, bounds, base.scale)
            if covariance is None:
                drift, size, covariance = factor * drift + slope, factor * size + slope_size, factor
            else:
                own = np.diagonal(covariance, axis1=1, axis2=2)
                drift, size = factor * drift + own * slope, factor * size + np.abs(own) * slope_size
                covariance = factor[:, :, None] * covariance
        unit, exponent = _unit_of(base), 0.0
        if unit:  # T g is 2^-unit times that of the scaled points, with b 2^unit and a as they are
            base, exponent = base.in_units(unit)
            exponent -= 2.0 * unit
            points, drift, size = np.ldexp(points, -unit), np.ldexp(drift, unit), np.ldexp(size, unit)
        lengths = _norms(size)
    return SteinKernel(
        base=base,
        points=np.ascontiguousarray(points.T),
        drift=np.ascontiguousarray(drift.T),
        covariance=np.empty((0, len(points))) if covariance is None else _compact(covariance),
        drift_size=lengths,
        exponent=exponent,
    )


def _unit_of(base: BaseKernel) -> int:
    """Exponent of the unit in which the kernel's scale is near one; zero where its powers are doubles as it is."""
    assert base.scale is not None
    exponent = math.frexp(base.scale)[1]
    return exponent if abs(exponent) > _LARGE_EXPONENT else 0


def _norms(rows: Floats) -> Floats:
    """Euclidean norms of rows (n, d), whose squares may be no doubles."""
    largest = np.abs(rows).max(axis=1)
    unit = np.where(largest > 0.0, largest, 1.0)
    return np.asarray(largest * np.linalg.norm(rows / unit[:, None], axis=1))


def _compact(covariance: Floats) -> Floats:
    """The shortest of the forms of `SteinKernel.covariance` for diagonals (n, d) or matrices (n, d, d)."""
    diagonal = covariance
    if covariance.ndim == 3:
        n, dim, _ = covariance.shape
        diagonal = np.diagonal(covariance, axis1=1, axis2=2)
        if np.count_nonzero(covariance) > np.count_nonzero(diagonal):
            return np.array(covariance.reshape(n, dim * dim).T, order="C")
    # a copy, even of one column: for arrays that cannot be written to the kernels would be compiled a second time
    return np.array(diagonal.T[: 0 if (diagonal == 1.0).all() else None], order="C")
