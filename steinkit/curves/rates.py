r"""The rate at which a measure falls with the number of draws, and how well it is known.

The rate r is the slope of the least-squares line :math:`\log m_k \approx a + r \log n_k` through the points of a curve,
for several replicates through their medians. Its interval is

- for one sample that of regression theory. It takes the points for independent, which those of one growing sample are
  not: it describes how straight the line is, not what another run of the sampler would show;
- for several replicates that of a bootstrap over the replicates, each of which keeps all its points together.

References
----------
B. Efron and R. J. Tibshirani (1993), An Introduction to the Bootstrap, chapter 13 (percentile intervals).
"""

from __future__ import annotations

import math
import warnings as python_warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from steinkit.sample import Floats
from steinkit.target import Seed

Flags = NDArray[np.bool_]

FEWEST_POINTS = 3
_BOOTSTRAP = 2000
_BLOCK = 1 << 21  # values held at once


@dataclass(frozen=True, eq=False)
class Rate:
    """A fitted rate.

    Attributes
    ----------
    value : float
        The slope; NaN where fewer than three different points can be fitted.
    interval : tuple of float
    kind : {"regression", "bootstrap"}
        Where the interval comes from.
    fitted : ndarray of bool, shape (k,)
        The points that the line goes through.
    medians : ndarray, shape (k, 2), or None
        Bootstrap interval of the median over replicates at each point; None for one sample.
    """

    value: float
    interval: tuple[float, float]
    kind: Literal["regression", "bootstrap"]
    fitted: Flags
    medians: Floats | None


def fit_rate(replicates: Floats, against: Floats, tail: Flags, *, level: float = 0.95, rng: Seed = 0) -> Rate:
    """Fit the rate of a curve, and an interval around it.

    Parameters
    ----------
    replicates : ndarray, shape (samples, k)
        The measure; a value that is missing is NaN.
    against : ndarray, shape (k,)
        Number of draws, or cost.
    tail : ndarray of bool, shape (k,)
        Points to fit; those without a logarithm are left out.
    level : float
        Of the intervals.
    rng : int, numpy.random.Generator or None
        Seed of the bootstrap.

    Returns
    -------
    Rate
    """
    values = medians(replicates)
    fitted = _with_logarithm(values, against, tail)
    slope = _slope(values, against, fitted)
    nothing = (math.nan, math.nan)
    if len(replicates) == 1:
        interval = _regression_interval(values, against, fitted, slope, level) if math.isfinite(slope) else nothing
        return Rate(slope, interval, "regression", fitted, None)
    resampled = resampled_medians(replicates, rng)
    ends = (0.5 * (1.0 - level), 0.5 * (1.0 + level))
    band = between(resampled, ends).T
    if not math.isfinite(slope):
        return Rate(slope, nothing, "bootstrap", fitted, band)
    slopes = np.array([_slope(row, against, _with_logarithm(row, against, tail)) for row in resampled])
    low, high = between(slopes, ends)
    return Rate(slope, (float(low), float(high)), "bootstrap", fitted, band)


def medians(values: Floats) -> Floats:
    """Medians over replicates, the last axis but one; a value that is missing leaves the others theirs."""
    if not np.isnan(values).any():
        return np.asarray(np.median(values, axis=-2))  # many times faster
    with python_warnings.catch_warnings():
        python_warnings.simplefilter("ignore", RuntimeWarning)  # a point that no replicate has a value for
        return np.asarray(np.nanmedian(values, axis=-2))


def resampled_medians(replicates: Floats, rng: Seed) -> Floats:
    """Medians over replicates drawn anew, each with all its points, shape (repeats, k)."""
    chosen = np.random.default_rng(rng).integers(len(replicates), size=(_BOOTSTRAP, len(replicates)))
    blocks = np.array_split(chosen, 1 + chosen.size * replicates.shape[1] // _BLOCK)
    return np.concatenate([medians(replicates[rows]) for rows in blocks])


def between(values: Floats, quantiles: tuple[float, float]) -> Floats:
    """Two quantiles along the first axis, of the values that are not missing, shape (2, ...)."""
    with python_warnings.catch_warnings():
        python_warnings.simplefilter("ignore", RuntimeWarning)  # a point that no replicate has a value for
        return np.asarray(np.nanquantile(values, quantiles, axis=0))


def _with_logarithm(values: Floats, against: Floats, tail: Flags) -> Flags:
    return np.asarray(tail & (np.nan_to_num(values) > 0.0) & (against > 0.0))


def _slope(values: Floats, against: Floats, fitted: Flags) -> float:
    x, y = np.log(against[fitted]), np.log(values[fitted])
    if len(np.unique(x)) < FEWEST_POINTS:
        return math.nan
    x -= x.mean()
    return float(x @ y / (x @ x))


def _regression_interval(
    values: Floats, against: Floats, fitted: Flags, slope: float, level: float
) -> tuple[float, float]:
    """Student's interval of a slope."""
    from scipy.special import stdtrit

    x, y = np.log(against[fitted]), np.log(values[fitted])
    x -= x.mean()
    residual = y - y.mean() - slope * x
    freedom = len(x) - 2
    reach = float(stdtrit(freedom, 0.5 * (1.0 + level)) * math.sqrt(residual @ residual / freedom / (x @ x)))
    return slope - reach, slope + reach
