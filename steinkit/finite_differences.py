"""Gradients of a log density by finite differences.

The gradients are computed by adaptive central differences with `scipy.differentiate.derivative`, which also estimates
the error of each entry. The steps are adapted to the scale of each parameter and never cross a bound. Several initial
steps are tried, and the error estimate includes the rounding error of the log density.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from steinkit.errors import warn_user
from steinkit.runtime.deadlines import blocks
from steinkit.sample import Floats
from steinkit.user_functions import call_where_defined

LogDensity = Callable[[Floats], Floats]
Shifted = Callable[[Floats, NDArray[np.intp], NDArray[np.intp]], Floats]
"""Function that maps offsets, rows and columns to the log density at the shifted points."""

# Initial steps in units of the scale of a parameter. SciPy's adaptation fails if a stencil leaves the support or spans
# several modes. Entries that did not converge are computed again with a smaller initial step.
_STARTS = tuple(2.0**-k for k in (0, 8, 16, 24, 32))
_CONVERGED = 1e-6
# The noise of the order-8 stencil is at most 16 times the rounding error of the log density divided by the largest
# step.
_STENCIL_NOISE = 16.0
_LOST = 1e-7  # values are discarded if rounding changes a shift by a larger fraction
_BLOCK_FLOATS = 1 << 22
_ROUGH = 1e-2  # larger relative errors in a score are reported on every call


def numerical_gradient(log_density: LogDensity, points: Floats, bounds: Floats | None) -> tuple[Floats, Floats]:
    """Compute the gradient of a log density by adaptive central differences.

    Parameters
    ----------
    log_density : callable, (m, d) -> (m,)
        Function that may return -inf or NaN, or raise an exception, outside the support.
    points : ndarray, shape (n, d)
    bounds : ndarray, shape (d, 2), or None
        Bounds of the support, which no step reaches.

    Returns
    -------
    gradient : ndarray, shape (n, d)
        NaN where it could not be computed.
    uncertainty : ndarray, shape (n, d)
        Estimate (not a bound) of the absolute error, based on the change at the last halving of the step and on the
        rounding error of the log density. The estimate is infinite if no gradient could be computed, for example on a
        bound.
    """

    def shifted(offsets: Floats, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Floats:
        values = np.empty(len(offsets))
        for part in blocks(len(offsets), max(1, _BLOCK_FLOATS // points.shape[1])):
            moved = points[rows[part]]
            entry = (np.arange(len(moved)), columns[part])
            origin = moved[entry]
            moved[entry] = origin + offsets[part]
            lost = np.abs((moved[entry] - origin) - offsets[part]) > _LOST * np.abs(offsets[part])
            values[part] = np.where(lost, np.nan, call_where_defined(log_density, moved, (), "log_density"))
        return values

    return slopes_of(shifted, _largest_steps(points, bounds), rounding_error(log_density(points)))


def slopes_of(shifted: Shifted, steps: Floats, rounding: Floats) -> tuple[Floats, Floats]:
    """Return derivatives at n points along k directions, and error estimates.

    Parameters
    ----------
    shifted : callable, (offsets, rows, columns) -> values
        Function that is differentiated with respect to the offset. Rows are indices of points, and columns are indices
        of directions.
    steps : ndarray, shape (n, k)
        Largest initial steps. Entries with a step of 0 are not computed.
    rounding : ndarray, shape (n,)
        Rounding errors of the function.
    """
    from scipy.differentiate import derivative

    def flat(offsets: Floats, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Floats:
        offsets, rows, columns = np.broadcast_arrays(offsets, rows, columns)
        return shifted(offsets.ravel(), rows.ravel(), columns.ravel()).reshape(offsets.shape)

    slopes = np.full(steps.shape, np.nan)
    uncertainty = np.full(steps.shape, np.inf)
    unsettled = steps > 0.0
    for start in _STARTS:
        at = np.nonzero(unsettled)
        first = start * steps[at]
        if not first.size:
            break
        with np.errstate(all="ignore"):
            found = derivative(flat, np.zeros(len(first)), args=at, initial_step=first, tolerances={"rtol": _CONVERGED})
            error = np.maximum(found.error, _STENCIL_NOISE * rounding[at[0]] / (first * 2.0 ** (1.0 - found.nit)))
        usable = np.isfinite(found.df) & np.isfinite(error)
        better = usable & (error < uncertainty[at])
        slopes[at] = np.where(better, found.df, slopes[at])
        uncertainty[at] = np.where(better, error, uncertainty[at])
        unsettled[at] = ~(found.success & usable)
    return slopes, uncertainty


class DifferenceScore:
    """Score computed from a log density by central differences.

    The first call issues a warning that states the number of evaluations and the accuracy. On later calls, a
    warning is issued only if the relative error of an entry exceeds 1%.

    Parameters
    ----------
    log_density : callable, (m, d) -> (m,)
    bounds : ndarray, shape (d, 2), or None
    label : str
        Name of the target in the warning.

    Attributes
    ----------
    remark : str
        The last warning, or an empty string before the first call.
    """

    def __init__(self, log_density: LogDensity, bounds: Floats | None, label: str) -> None:
        self._log_density, self._bounds, self._label = log_density, bounds, label
        self.remark: str = ""

    def __call__(self, points: Floats) -> Floats:
        """Return the score at n points, with NaN where it could not be computed."""
        evaluations = 0

        def counted(arguments: Floats) -> Floats:
            nonlocal evaluations
            evaluations += len(arguments)
            return self._log_density(arguments)

        gradient, uncertainty = numerical_gradient(counted, points, self._bounds)
        if np.isnan(gradient).any() or not gradient.size:
            return gradient  # the caller reports the draw that contains NaN
        size = np.maximum(np.abs(gradient), np.median(np.abs(gradient), axis=0))
        with np.errstate(divide="ignore", invalid="ignore"):
            error = np.where(size > 0.0, uncertainty / size, 0.0)
        first, rough = not self.remark, int((error > _ROUGH).sum())
        poor = f", {rough} of {error.size} entries above 1%" if rough else ""
        self.remark = (
            f"{self._label} has no score; it was computed by finite differences of the log density: {evaluations:,} "
            f"evaluations for {len(error):,} draws ({evaluations / error.size:.3g} per draw and parameter), relative "
            f"error {np.median(error):.0e} (largest {error.max():.0e}{poor}); pass score=, or use Target.from_jax or "
            "from_torch, for an exact score"
        )
        if first or rough:
            warn_user(self.remark)
        return gradient

    def without_warning(self, points: Floats) -> Floats:
        """Return the score at the given points without issuing a warning."""
        return numerical_gradient(self._log_density, points, self._bounds)[0]


def length_scales(points: Floats) -> Floats:
    """Return the spread of each coordinate, replacing zeros with positive values."""
    distances = np.abs(points - np.median(points, axis=0))
    scales = np.ones(points.shape[1])
    for candidate in (np.abs(points).max(axis=0), distances.max(axis=0), np.median(distances, axis=0)):
        scales = np.where(candidate > 0.0, candidate, scales)
    return scales


def _largest_steps(points: Floats, bounds: Floats | None) -> Floats:
    """Return the initial steps: powers of two, or 0 for points on a bound."""
    # the scale is larger for a point in a heavy tail
    steps = np.maximum(length_scales(points), np.abs(points - np.median(points, axis=0)))
    if bounds is not None:
        distance = np.minimum(points - bounds[:, 0], bounds[:, 1] - points)
        steps = np.minimum(steps, 0.5 * np.maximum(distance, 0.0))
    with np.errstate(divide="ignore"):
        return np.asarray(np.exp2(np.floor(np.log2(steps))), dtype=np.float64)


def rounding_error(heights: Floats) -> Floats:
    """Estimate the rounding errors of log densities."""
    with np.errstate(over="ignore"):
        single = heights.astype(np.float32).astype(np.float64)
    precision = np.float32 if np.array_equal(single, heights, equal_nan=True) else np.float64
    return np.abs(heights) * float(np.finfo(precision).eps)
