"""The moment Stein discrepancy: how far the means of features are from zero, and whether chance explains it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from steinkit.discrepancy.cross_fitting import Draws, tail_probability
from steinkit.discrepancy.kernel.boundary import boundary_factor
from steinkit.discrepancy.moments.features import GROUPS, Feature, Moments, features_of
from steinkit.discrepancy.preparation import prepare
from steinkit.discrepancy.units import Units
from steinkit.errors import InputError
from steinkit.sample import Floats, Integers, Sample
from steinkit.target import Target

_ROUNDING = 1e-12  # of a feature's mean, below which its changes are rounding


@dataclass(frozen=True, eq=False)
class MomentSteinDiscrepancy:
    """Means of features that are zero under the target, in standard units, and what they prove against it.

    Attributes
    ----------
    features : tuple of Feature
    mean : ndarray, shape (k,)
        Mean of each feature over the draws: zero under the target.
    z : ndarray, shape (k,)
        The mean over its standard error; of total spread and tails, which are skewed, with Hall's correction.
    autocorrelation_time : ndarray, shape (k,)
        Integrated autocorrelation time of each feature; 1 for weighted draws.
    p_value : float
        Probability of features as far from zero for a right sample: Bonferroni within each of the three groups, a third
        of the level each.
    group_p_values : dict
        Of the groups "whole", "own" and "pairs", each for itself.
    n_effective : float
        Draws over the median autocorrelation time; for weighted draws Kish's effective size.
    axes : ndarray, shape (2, d, d)
        Principal axes learnt on each half: entry [h, j, k] is the part of coordinate j in axis k.
    scale : ndarray, shape (d,)
        Standard deviations of the draws, the unit of each coordinate.
    names : tuple of str
    seconds : dict
    warnings : tuple of str
    """

    features: tuple[Feature, ...]
    mean: Floats
    z: Floats
    autocorrelation_time: Floats
    p_value: float
    group_p_values: dict[str, float]
    n_effective: float
    axes: Floats
    scale: Floats
    names: tuple[str, ...]
    seconds: dict[str, float]
    warnings: tuple[str, ...]

    @property
    def value(self) -> float:
        """Largest |mean| of a location, spread or dependence, in units of one standard deviation."""
        return float(np.abs(self.mean[self._named_rows()]).max())

    def largest(self, count: int = 5) -> tuple[tuple[Feature, float, float], ...]:
        """Locations, spreads and dependences with the largest |z|: feature, mean and z, largest first."""
        rows = self._named_rows()
        rows = rows[np.argsort(-np.abs(self.z[rows]), kind="stable")][:count]
        return tuple((self.features[k], float(self.mean[k]), float(self.z[k])) for k in rows)

    def _named_rows(self) -> Integers:
        kinds = ("location", "spread", "dependence")
        return np.array([k for k, feature in enumerate(self.features) if feature.kind in kinds])


def moment_stein_discrepancy(
    draws: Sample | ArrayLike,
    target: Target | None = None,
    *,
    scores: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bounds: ArrayLike | None = None,
) -> MomentSteinDiscrepancy:
    """Test location, spread and dependence of a sample against its target, without any draws to compare with.

    Each feature of a draw, such as 1 + (x_j - m_j) s_j(x), has mean zero under the target; its mean over the sample is
    set beside its standard error, autocorrelation within chains included. The result does not depend on the units of
    the coordinates. Time and memory are linear in the number of draws.

    Parameters
    ----------
    draws : Sample or array_like, shape (n,), (n, d) or (chains, draws, d)
        In the order in which they were made. Chains are told apart by shape, or by the sample's chain labels.
    target : Target, optional
        Exactly one of `target`, `scores` and scores stored in the sample is needed.
    scores : array_like, shape (n, d), optional
        Score of the target at each draw.
    weights : array_like, shape (n,), optional
        Weights of the draws, in any unit. Means are then self-normalised, with standard errors of independent weighted
        draws: autocorrelation is not corrected for, and a warning says so.
    bounds : array_like, shape (d, 2) or (2,), optional
        Bounds of the support; the target's own if not given. Without them the test accuses right samples.

    Returns
    -------
    MomentSteinDiscrepancy

    Raises
    ------
    UsageError, InputError
        As `graph_stein_discrepancy` does; or if there are fewer than eight draws, or a coordinate never changes.

    Notes
    -----
    A sample may agree in all these moments and yet be wrong in its shape; shares of modes that lie far apart, and modes
    that no draw has visited, are not seen.

    References
    ----------
    .. [1] N. Srinivasan, M. Chen, M. Fasiolo and others, "The polynomial Stein discrepancy for assessing moment
       convergence", arXiv 2412.05135, 2024.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> draws = 1.2 * np.random.default_rng(0).standard_normal((1000, 2))
    >>> sk.moment_stein_discrepancy(draws, sk.targets.Normal([0.0, 0.0])).p_value < 1e-6
    True
    """
    began = time.perf_counter()
    prepared = prepare(draws, target, scores=scores, weights=weights, bounds=bounds)
    laid_out = Draws.of(weights, prepared)
    moments, scale = _standardised(laid_out, prepared.bounds, prepared.points.names)
    scored = time.perf_counter()
    mean, error, skewness, times = _statistics(moments, laid_out)
    n_effective = laid_out.n_effective(times)
    inflation = np.sqrt(np.maximum(times, np.median(times)))
    with np.errstate(divide="ignore", invalid="ignore"):
        z = mean / (error * inflation)
    z = np.where(mean == 0.0, 0.0, z)
    features = features_of(len(scale))
    whole = np.array([feature.group == "whole" for feature in features])
    z[whole] = _without_skewness(z, skewness * inflation)[whole]
    p_value, groups = _p_values(features, z, n_effective)
    return MomentSteinDiscrepancy(
        features=features,
        mean=mean,
        z=z,
        autocorrelation_time=times,
        p_value=p_value,
        group_p_values=groups,
        n_effective=n_effective,
        axes=moments.loadings,
        scale=scale,
        names=prepared.points.names,
        seconds={"scores": scored - began, "moments": time.perf_counter() - scored},
        warnings=prepared.notes + laid_out.warnings(n_effective),
    )


def _standardised(draws: Draws, bounds: Floats | None, names: tuple[str, ...]) -> tuple[Moments, Floats]:
    """Draws in units of their standard deviations, ready for their features; and these units."""
    points, share = draws.points.T, draws.shares
    centre = (points @ share)[:, None]
    deviations = points - centre
    deviations[(points == points[:, :1]).all(axis=1)] = 0.0  # the mean of a constant is rounded
    largest = np.abs(deviations).max(axis=1)  # squares of the deviations themselves may overflow
    scale = largest * np.sqrt((deviations / np.where(largest > 0.0, largest, 1.0)[:, None]) ** 2 @ share)
    still = np.flatnonzero(~(scale > 0.0))
    if len(still):
        raise InputError(f"{names[still[0]]} is the same in all draws, so it has no unit: leave it out, or move it")
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused with the statistics
        drift, spread = draws.scores.T * scale[:, None], np.ones_like(points)
        if bounds is not None:
            anchored = Units("own", centre[:, 0], scale).from_bounds(bounds)  # near a bound the score is large
            limits = anchored.points(bounds.T).T
            factor, slope, _ = boundary_factor(anchored.points(points.T), limits, 1.0)
            drift, spread = factor.T * drift + slope.T, factor.T.copy()
        return Moments.of(deviations / scale[:, None], drift, spread, draws), scale


def _without_skewness(z: Floats, skewness: Floats) -> Floats:
    """Studentised means on the scale where they are nearly normal though what they are means of is skewed.

    Tails are a polynomial of degree four whose few large values are of one sign: where a sample happens to have few of
    them its standard error is small, too, and right samples would be accused too often: .12 for .01 of skewed targets.
    P. Hall (1992), "On the removal of skewness by transformation", JRSS B 54(1); monotone in z.
    """
    return np.asarray(z + skewness * (z**2 / 3.0 + 1.0 / 6.0) + skewness**2 * z**3 / 27.0)


def _statistics(moments: Moments, draws: Draws) -> tuple[Floats, Floats, Floats, Floats]:
    """Mean, its standard error and skewness for independent draws, and autocorrelation time of every feature."""
    mean, error, skewness, times = [], [], [], []
    n = len(draws.shares)
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused below
        for values in moments.feature_values():
            centre = values @ draws.shares
            deviations = values - centre[:, None]
            rounding = _ROUNDING * np.abs(centre)
            deviations[np.abs(deviations).max(axis=1) <= rounding] = 0.0  # a constant, which has no autocorrelation
            if draws.is_weighted:
                variance = (deviations**2) @ draws.shares**2
            else:
                variance = (deviations**2).sum(axis=1) / (n - 1) / n
            times.append(draws.autocorrelation_times(deviations))
            mean.append(centre)
            error.append(np.maximum(np.sqrt(variance), rounding))
            scaled = deviations * draws.shares / np.where(variance > 0.0, np.sqrt(variance), 1.0)[:, None]
            skewness.append((scaled**3).sum(axis=1))
    found = np.concatenate(mean), np.concatenate(error), np.concatenate(skewness), np.concatenate(times)
    if not all(np.isfinite(values).all() for values in found):
        raise InputError("the moments overflow: draws or scores are too large; rescale or repair them")
    return found


def _p_values(features: Sequence[Feature], z: Floats, n_effective: float) -> tuple[float, dict[str, float]]:
    """Bonferroni within the groups, and over those that there are."""
    found = {}
    for group in GROUPS:
        own = np.array([abs(z[k]) for k, feature in enumerate(features) if feature.group == group])
        if len(own):
            found[str(group)] = min(1.0, 2.0 * len(own) * tail_probability(float(own.max()), n_effective))
    return min(1.0, len(found) * min(found.values())), found
