"""Numerical gradients of a log density, each entry with an estimate of its own error.

Adaptive central differences are SciPy's (`scipy.differentiate.derivative`). Added here: steps in the unit of
each coordinate that never cross a bound of the support, several starts, and the rounding error of the log
density.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from steinkit.errors import warn_user
from steinkit.sample import Floats

# First steps, in units of a coordinate's length scale: a stencil that leaves the support or spans several
# modes ends SciPy's adaptation at once, so entries that did not converge start again from a smaller step.
_STARTS = tuple(2.0**-k for k in (0, 8, 16, 24, 32))
_CONVERGED = 1e-6
# Noise of the order-8 stencil, in units of (rounding error of the log density) / (largest step): at most 16.
_STENCIL_NOISE = 16.0
_BLOCK_FLOATS = 1 << 22
_ROUGH = 1e-2  # relative error of a score from which on it is said each time


def numerical_gradient(
    log_density: Callable[[Floats], Floats], points: Floats, bounds: Floats | None
) -> tuple[Floats, Floats]:
    """Gradient of a log density by adaptive central differences.

    Parameters
    ----------
    log_density : callable, (m, d) -> (m,)
        May return -inf or NaN off its support; such steps are given up.
    points : ndarray, shape (n, d)
    bounds : ndarray, shape (d, 2), or None
        Never stepped over, nor onto.

    Returns
    -------
    gradient : ndarray, shape (n, d)
        NaN where nothing could be computed.
    uncertainty : ndarray, shape (n, d)
        Estimated absolute error: the change at the last halving of the step, and the rounding error of the
        log density over the step. An estimate, not a bound. Infinite where nothing could be computed, as on a
        bound.
    """
    steps = _largest_steps(points, bounds)
    rounding = _rounding_error(log_density(points))
    gradient = np.full(points.shape, np.nan)
    uncertainty = np.full(points.shape, np.inf)
    unsettled = steps > 0.0
    for start in _STARTS:
        at = np.nonzero(unsettled)
        if not at[0].size:
            break
        slope, error, converged = _differentiate(log_density, points, at, start * steps[at], rounding[at[0]])
        better = error < uncertainty[at]
        gradient[at] = np.where(better, slope, gradient[at])
        uncertainty[at] = np.where(better, error, uncertainty[at])
        unsettled[at] = ~converged
    return gradient, uncertainty


class DifferenceScore:
    """A score made from a log density by central differences, where nobody gave one.

    Said once, as a warning: how many evaluations it takes, and how accurate it is. Said whenever it is so: that some
    entries are not accurate to a hundredth.

    Parameters
    ----------
    log_density : callable, (m, d) -> (m,)
    bounds : ndarray, shape (d, 2), or None
    label : str
        What the warning calls the target.

    Attributes
    ----------
    remark : str
        What was last said; empty before the first call.
    """

    def __init__(self, log_density: Callable[[Floats], Floats], bounds: Floats | None, label: str) -> None:
        self._log_density, self._bounds, self._label = log_density, bounds, label
        self.remark: str = ""

    def __call__(self, points: Floats) -> Floats:
        """The score at points, (n, d) -> (n, d); NaN where nothing could be computed."""
        evaluations = 0

        def counted(places: Floats) -> Floats:
            nonlocal evaluations
            evaluations += len(places)
            return self._log_density(places)

        gradient, uncertainty = numerical_gradient(counted, points, self._bounds)
        if np.isnan(gradient).any():
            return gradient  # which is told of by its draw
        size = np.maximum(np.abs(gradient), np.median(np.abs(gradient), axis=0)) if len(points) else gradient
        with np.errstate(divide="ignore", invalid="ignore"):
            error = np.where(size > 0.0, uncertainty / size, 0.0)
        self._say(evaluations, error)
        return gradient

    def _say(self, evaluations: int, error: Floats) -> None:
        if not error.size:
            return
        first, rough = not self.remark, int((error > _ROUGH).sum())
        poor = f", {rough} of {error.size} entries worse than a hundredth" if rough else ""
        self.remark = (
            f"{self._label} has no score; finite differences of its log density take its place: {evaluations:,} "
            f"evaluations for {len(error):,} draws ({evaluations / error.size:.3g} a draw and coordinate), accurate to "
            f"{np.median(error):.0e} of the score's size (worst {error.max():.0e}{poor}); pass score=, or use "
            "Target.from_jax or from_torch, for an exact one"
        )
        if first or rough:
            warn_user(self.remark)


def length_scales(points: Floats) -> Floats:
    """Spread of the points in each coordinate, (n, d) -> (d,); their size, or 1, where they do not spread."""
    centre = np.median(points, axis=0)
    candidates = (
        np.median(np.abs(points - centre), axis=0),
        np.abs(points - centre).max(axis=0),
        np.abs(points).max(axis=0),
    )
    scales = np.ones(points.shape[1])
    for candidate in reversed(candidates):
        scales = np.where(candidate > 0.0, candidate, scales)
    return scales


def _largest_steps(points: Floats, bounds: Floats | None) -> Floats:
    """First step of every entry, (n, d): a power of two, so that adding it hardly rounds; 0 on a bound."""
    # a point far out, as in a heavy tail, has a larger scale than the bulk
    steps = np.maximum(length_scales(points), np.abs(points - np.median(points, axis=0)))
    if bounds is not None:
        room = np.minimum(points - bounds[:, 0], bounds[:, 1] - points)
        steps = np.minimum(steps, 0.5 * np.maximum(room, 0.0))
    with np.errstate(divide="ignore"):
        return np.asarray(np.exp2(np.floor(np.log2(steps))), dtype=np.float64)


def _rounding_error(heights: Floats) -> Floats:
    """Floating-point error of log densities, (n,): of single precision if that is what they have."""
    with np.errstate(over="ignore"):
        single = heights.astype(np.float32).astype(np.float64)
    precision = np.float32 if np.array_equal(single, heights, equal_nan=True) else np.float64
    return np.abs(heights) * float(np.finfo(precision).eps)


def _differentiate(
    log_density: Callable[[Floats], Floats],
    points: Floats,
    at: tuple[NDArray[np.intp], ...],
    steps: Floats,
    rounding: Floats,
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Slope at each of the entries ``at``, its error, and whether SciPy's adaptation converged."""
    from scipy.differentiate import derivative

    def shifted(offsets: Floats, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Floats:
        offsets, rows, columns = np.broadcast_arrays(offsets, rows, columns)
        values = _shifted_log_density(log_density, points, offsets.ravel(), rows.ravel(), columns.ravel())
        return values.reshape(offsets.shape)

    with np.errstate(all="ignore"):
        found = derivative(shifted, np.zeros(len(steps)), args=at, initial_step=steps, tolerances={"rtol": _CONVERGED})
        last_step = steps * 2.0 ** (1.0 - found.nit)
        error = np.maximum(found.error, _STENCIL_NOISE * rounding / last_step)
    usable = np.isfinite(found.df) & np.isfinite(error)
    return found.df, np.where(usable, error, np.inf), found.success & usable


def _shifted_log_density(
    log_density: Callable[[Floats], Floats],
    points: Floats,
    offsets: Floats,
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
) -> Floats:
    """Log density at points[rows], ``offsets`` added in ``columns``; NaN where rounding loses the offset."""
    values = np.empty(len(offsets))
    block = max(1, _BLOCK_FLOATS // points.shape[1])
    for begin in range(0, len(offsets), block):
        part = slice(begin, begin + block)
        moved = points[rows[part]]
        entry = (np.arange(len(moved)), columns[part])
        origin = moved[entry]
        moved[entry] = origin + offsets[part]
        lost = np.abs((moved[entry] - origin) - offsets[part]) > 1e-7 * np.abs(offsets[part])
        values[part] = np.where(lost, np.nan, log_density(moved))
    return values
