r"""Median and quantile bands of the curves for several seeds.

A quantile band shows the range of the curves for individual seeds. The interval of the median, which is much narrower
if there are many seeds, measures the accuracy of the typical curve. Use the band to decide whether a run of a sampler
reaches a value, and use the interval to decide whether one sampler is better than another.

References
----------
B. Efron and R. J. Tibshirani (1993), An Introduction to the Bootstrap, chapter 13 (percentile intervals).
J. Gorham and L. Mackey (2015), "Measuring sample quality with Stein's method", figure 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from steinkit.curves import Rate, between, fit_rate, medians, resampled_medians
from steinkit.errors import UsageError
from steinkit.sample import Floats
from steinkit.target import Seed


@dataclass(frozen=True, eq=False)
class Bands:
    """Curves of several seeds with their bands.

    Attributes
    ----------
    against : ndarray, shape (k,)
        Increasing numbers of draws, likelihood evaluations or seconds.
    replicates : ndarray, shape (seeds, k)
        Values of the curves, with NaN for missing values.
    median : ndarray, shape (k,)
        Median over the seeds that have a value.
    low, high : ndarray, shape (k,)
        Lower and upper quantiles over these seeds.
    interval : ndarray, shape (k, 2)
        Bootstrap interval of the median, or NaN if there is only one seed.
    quantiles : tuple of float
        Probabilities of the quantiles `low` and `high`.
    level : float
        Confidence level of the interval.
    """

    against: Floats
    replicates: Floats
    median: Floats
    low: Floats
    high: Floats
    interval: Floats
    quantiles: tuple[float, float]
    level: float

    def rate(self, *, tail_from: float = 0.0, rng: Seed = 0) -> Rate:
        """Return the slope of the median on logarithmic axes, with its interval.

        The slope is fitted to the points whose abscissas are at least `tail_from`. The interval is a bootstrap
        interval.
        """
        return fit_rate(self.replicates, self.against, self.against >= tail_from, level=self.level, rng=rng)

    def single_rates(self, *, tail_from: float = 0.0) -> Floats:
        """Return the rates of the curves for individual seeds, shape (seeds,).

        They can be compared with a paper that shows one sequence.
        """
        tail = self.against >= tail_from
        return np.array([fit_rate(row[None], self.against, tail).rate for row in self.replicates])


def bands(
    values: ArrayLike,
    against: ArrayLike,
    *,
    quantiles: tuple[float, float] = (0.1, 0.9),
    level: float = 0.95,
    rng: Seed = 0,
) -> Bands:
    """Compute median and quantile bands of curves over seeds.

    Parameters
    ----------
    values : array_like, shape (seeds, k)
        Values of one curve per seed, as in `Curve.replicates`, with NaN for missing values.
    against : array_like, shape (k,)
        Increasing abscissas of the curves, which are numbers of draws, likelihood evaluations or seconds.
    quantiles : tuple of float
        Probabilities of the lower and the upper edge of the band.
    level : float
        Confidence level of the interval of the median.
    rng : int, numpy.random.Generator or None
        Seed or generator for the bootstrap.

    Returns
    -------
    Bands
        Curves with their medians, bands and intervals.

    Raises
    ------
    UsageError
        If the shapes do not agree, if `against` does not increase, or if the quantiles or the level are out of range.

    Examples
    --------
    >>> from _bands import bands
    >>> found = bands([[4.0, 2.0], [6.0, 3.0], [5.0, 2.5]], [10, 40])
    >>> found.median.tolist(), found.rate().interval is None
    ([5.0, 2.5], False)
    """
    replicates, places = np.asarray(values, dtype=np.float64), np.asarray(against, dtype=np.float64)
    if replicates.ndim != 2 or not len(replicates) or places.shape != replicates.shape[1:] or not places.size:
        raise UsageError(
            "values must have shape (seeds, k), a curve for each seed, and against shape (k,); got "
            f"{replicates.shape} and {places.shape}"
        )
    if not np.isfinite(places).all() or (np.diff(places) <= 0.0).any():
        raise UsageError(f"against must increase; got {places.tolist()}")
    if not 0.0 <= quantiles[0] <= quantiles[1] <= 1.0:
        raise UsageError(f"quantiles must be two numbers from 0 to 1, the lower first; got {quantiles}")
    if not 0.0 < level < 1.0:
        raise UsageError(f"level must lie between 0 and 1; got {level}")
    low, high = between(replicates, quantiles)
    if len(replicates) > 1:
        interval = between(resampled_medians(replicates, rng), (0.5 * (1.0 - level), 0.5 * (1.0 + level))).T
    else:
        interval = np.full((len(places), 2), math.nan)
    return Bands(places, replicates, medians(replicates), low, high, interval, quantiles, level)
