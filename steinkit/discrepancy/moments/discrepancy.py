"""The moment Stein discrepancy: how far the means of features are from zero, and whether chance explains it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steinkit.arguments import checked
from steinkit.containers.reading import DrawsLike
from steinkit.describe.results import Result
from steinkit.discrepancy.blind_spots import far_apart
from steinkit.discrepancy.cross_fitting import Draws, tail_probability
from steinkit.discrepancy.moments.features import GROUPS, OVERFLOW, Feature, Kind, Moments, features_of
from steinkit.discrepancy.operators import boundary_factor
from steinkit.discrepancy.preparation import prepare
from steinkit.discrepancy.units import Units, UnitsLike
from steinkit.errors import InputError, cautious, reservations
from steinkit.runtime.deadlines import one_thread_in_libraries, require_time, within_time
from steinkit.runtime.progress import progress_bar
from steinkit.sample import Floats, Integers
from steinkit.target import Target

_NAMED: tuple[Kind, ...] = ("location", "spread", "dependence")  # what can be said of coordinates and pairs
_SKEWED: tuple[Kind, ...] = ("total spread", "tails", "spread", "axis spread")  # as squares are
_FAR = 6.0  # standard errors
_ROWS = 1 << 13  # draws standardised at a time
_ROUNDING = 1e-12  # of a feature's mean, below which its changes are rounding


@dataclass(frozen=True)
class ChainMoments:
    """What the moments of one chain say of it, in the units of the whole sample.

    Attributes
    ----------
    chain : int
        The label that the sample gives it.
    p_value, value : float
    """

    chain: int
    p_value: float
    value: float


@dataclass(frozen=True, eq=False)
class MomentSteinDiscrepancy(Result):
    """Means of features that are zero under the target, in standard units, and what they prove against it.

    Attributes
    ----------
    features : tuple of Feature
        What each of the k features is about: its `kind`, and the `coordinates` by their numbers from 0.
    mean : ndarray, shape (k,)
        Mean of each feature over the draws: zero under the target.
    z : ndarray, shape (k,)
        The mean over its standard error; of spreads and tails, which are skewed, with Hall's correction.
    autocorrelation_time : ndarray, shape (k,)
        Integrated autocorrelation time of each feature; 1 for weighted draws.
    p_value : float
        Probability of features as far from zero for a right sample: Bonferroni within each of the three groups, a third
        of the level each.
    group_p_values : dict
        Of the groups "whole", "own" and "pairs", each for itself.
    n_effective : float
        Draws over the median autocorrelation time of the odd features, locations, or of the even ones, whichever is
        longer; for weighted draws Kish's effective size.
    axes : ndarray, shape (2, d, d)
        Principal axes learnt on each half: entry [h, j, k] is the part of coordinate j in axis k.
    units : Units
        In which all this is meant.
    names : tuple of str
        Of the d coordinates.
    chains : tuple of ChainMoments
        Every chain of at least eight draws by itself, where that was asked for and there are several.
    seconds : dict
        Wall time spent on "scores" and "moments".
    warnings : tuple of str
        What a reader should know before the numbers.
    """

    features: tuple[Feature, ...]
    mean: Floats
    z: Floats
    autocorrelation_time: Floats
    p_value: float
    group_p_values: dict[str, float]
    n_effective: float
    axes: Floats
    units: Units
    names: tuple[str, ...]
    chains: tuple[ChainMoments, ...]
    seconds: dict[str, float]
    warnings: tuple[str, ...]

    @property
    def value(self) -> float:
        """Largest |mean| of a location, spread or dependence, in units of one standard deviation."""
        return float(np.abs(self.mean[self._named_rows]).max())

    def to_dict(self) -> dict[str, Any]:
        """List the result as JSON documents hold it.

        Returns
        -------
        dict
            Of strings, finite numbers, lists and dicts.
        """
        columns = (self.mean.tolist(), self.z.tolist(), self.autocorrelation_time.tolist())
        chains = [{"chain": each.chain, "p_value": each.p_value, "value": each.value} for each in self.chains]
        return {
            "measure": "moments",
            "value": self.value,
            "p_value": self.p_value,
            "groups": dict(self.group_p_values),
            "n_effective": self.n_effective,
            "features": [
                {
                    "kind": feature.kind,
                    "coordinates": self._named(feature),
                    "mean": mean,
                    "z": z,
                    "autocorrelation_time": time,
                }
                for feature, mean, z, time in zip(self.features, *columns, strict=True)
            ],
            **({"chains": chains} if chains else {}),
            "seconds": self.seconds,
        }

    def __repr__(self) -> str:
        return (
            f"<MomentSteinDiscrepancy {self.value:.3g} sd at most, p = {self.p_value:.2g}, {len(self.features)} "
            f"features in {len(self.names)} dimensions, {self.n_effective:.0f} effective draws"
            f"{reservations(self.warnings)}>"
        )

    def largest(self, count: int = 5) -> tuple[tuple[Feature, float, float], ...]:
        """Locations, spreads and dependences with the largest |z|.

        Parameters
        ----------
        count : int
            How many, at most.

        Returns
        -------
        tuple of (Feature, float, float)
            Feature, mean and z, largest |z| first.
        """
        rows = self._named_rows
        rows = rows[np.argsort(-np.abs(self.z[rows]), kind="stable")][:count]
        return tuple((self.features[k], float(self.mean[k]), float(self.z[k])) for k in rows)

    def _named(self, feature: Feature) -> list[str]:
        """What it is about: coordinates by their names, a principal axis by its number."""
        if feature.kind == "axis spread":
            return [f"principal axis {feature.coordinates[0] + 1}"]
        return [self.names[j] for j in feature.coordinates]

    @property
    def _named_rows(self) -> Integers:
        return np.array([k for k, feature in enumerate(self.features) if feature.kind in _NAMED])


@cautious
@checked
@within_time
def moment_stein_discrepancy(
    draws: DrawsLike,
    target: Target | None = None,
    *,
    scores: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bounds: ArrayLike | None = None,
    units: UnitsLike = "own",
    by_chain: bool = False,
    max_seconds: float | None = None,
) -> MomentSteinDiscrepancy:
    """Test location, spread and dependence of a sample against its target, without any draws to compare with.

    Each feature of a draw, such as 1 + (x_j - m_j) s_j(x), has mean zero under the target; its mean over the sample is
    set beside its standard error, autocorrelation within chains included. In its own units the result does not depend
    on those of the coordinates. Time and memory are linear in the number of draws.

    Parameters
    ----------
    draws : Sample, array_like of shape (n,), (n, d) or (chains, draws, d), or what else `as_sample` takes
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
    units : {"own", "raw"}, array_like of shape (d,), Units, or mapping
        The sample's own standard deviations; none; or a scale for each coordinate, the same for all samples whose
        values are to be compared.
    by_chain : bool
        Judge each of several chains by itself as well.
    max_seconds : float, optional
        Time, from the call on, after which to give up.

    Returns
    -------
    MomentSteinDiscrepancy
        Mean and z of every feature, and the p-value of all of them.

    Raises
    ------
    UsageError, InputError
        As `graph_stein_discrepancy` does; or if there are fewer than eight draws, or a coordinate never changes.
    TimeLimitError
        If `max_seconds` pass first.

    Notes
    -----
    A sample may agree in all these moments and yet be wrong in its shape; shares of modes that lie far apart, and modes
    that no draw has visited, are not seen.

    References
    ----------
    .. [1] N. Srinivasan, M. Sutton, C. Drovandi and L. F. South, "The polynomial Stein discrepancy for assessing
       moment convergence", arXiv 2412.05135, 2024.

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
    chosen = Units.of(units, prepared.points)
    scored = time.perf_counter()
    with one_thread_in_libraries():  # products as small as the cache gain nothing by threads that wait for one another
        found = _judged(laid_out, chosen, prepared.bounds)
        alone = laid_out.by_chain() if by_chain else ()
        judged = ((label, _judged(chain, chosen, prepared.bounds)) for label, chain in alone)
        chains = tuple(ChainMoments(label, each.p_value, each.value) for label, each in judged)
    return replace(
        found,
        chains=chains,
        seconds={"scores": scored - began, "moments": time.perf_counter() - scored},
        warnings=(
            *prepared.notes,
            *far_apart(prepared.points, prepared.scores, chosen),
            *laid_out.warnings(found.n_effective),
        ),
    )


def _judged(draws: Draws, units: Units, bounds: Floats | None) -> MomentSteinDiscrepancy:
    """Means of the features of some draws, and their p-value."""
    with np.errstate(over="ignore", invalid="ignore"):
        moments = Moments.of(*standardised(draws, units, bounds), draws)
    features = features_of(len(units.scale))
    skewed = np.array([feature.kind in _SKEWED for feature in features])
    mean, error, skewness, times = _statistics(moments, draws, skewed)
    slower = np.maximum(times, usual_times(features, times))
    inflation = np.sqrt(slower)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = mean / (error * inflation)
    z = np.where(mean == 0.0, 0.0, z)
    z[skewed] = _without_skewness(z, skewness * inflation)[skewed]
    p_value, groups = _p_values(features, z, slower, draws)
    return MomentSteinDiscrepancy(
        features=features,
        mean=mean,
        z=z,
        autocorrelation_time=times,
        p_value=p_value,
        group_p_values=groups,
        n_effective=draws.n_effective(slower_half_time(features, times)),
        axes=moments.loadings,
        units=units,
        names=units.names,
        chains=(),
        seconds={},
        warnings=(),
    )


def usual_times(features: Sequence[Feature], times: Floats) -> Floats:
    """For each feature the median time of its kind, shape (k,); a time much below it is taken for chance.

    Kinds stay apart: of antithetic chains locations are quick, and spreads, which are even functions, slow.
    """
    alike = np.array(["spread" if feature.kind == "axis spread" else feature.kind for feature in features])
    alike[np.isin(alike, ("total spread", "tails"))] = "whole"
    found = np.empty(len(times))
    for kind in np.unique(alike):
        found[alike == kind] = np.median(times[alike == kind])
    return found


def slower_half_time(features: Sequence[Feature], times: Floats) -> float:
    """The median time of the odd features, which are locations, or of the even ones: whichever is longer."""
    is_odd = np.array([feature.kind == "location" for feature in features])
    return max(float(np.median(times[is_odd])), float(np.median(times[~is_odd])))


def standardised(draws: Draws, units: Units, bounds: Floats | None) -> tuple[Floats, Floats, Floats | None]:
    """Draws in units, coordinates first: points, the operator's drift b and, on a bounded support, its diffusion a."""
    n, dim = draws.points.shape
    points, drift = np.empty((dim, n)), np.empty((dim, n))
    spread = None if bounds is None else np.empty((dim, n))
    anchored = units.from_bounds(bounds)  # near a bound the score is large
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused with the statistics
        for begin in range(0, n, _ROWS):
            rows = slice(begin, begin + _ROWS)
            points[:, rows] = units.points(draws.points[rows]).T
            drift[:, rows] = units.scores(draws.scores[rows]).T
            if bounds is not None and spread is not None:
                limits = anchored.limits(bounds)
                factor, slope, _ = boundary_factor(anchored.points(draws.points[rows]), limits, 1.0)
                drift[:, rows] = factor.T * drift[:, rows] + slope.T
                spread[:, rows] = factor.T
    return points, drift, spread


def _without_skewness(z: Floats, skewness: Floats) -> Floats:
    """Studentised means on the scale where they are nearly normal though what they are means of is skewed.

    Tails are a polynomial of degree four whose few large values are of one sign: where a sample happens to have few of
    them its standard error is small, too, and right samples would be accused too often: .12 for .01 of skewed targets.
    Spreads of right chains that seldom change their size were accused, .07 for .01, as too narrow.
    P. Hall (1992), "On the removal of skewness by transformation", JRSS B 54(1); monotone in z. Far out, where it is no
    approximation, the correction stays what it is at six standard errors.
    """
    near = np.clip(z, -_FAR, _FAR)
    return np.asarray(z + skewness * (near**2 / 3.0 + 1.0 / 6.0) + skewness**2 * near**3 / 27.0)


def _statistics(moments: Moments, draws: Draws, skewed: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats, Floats]:
    """Mean, its standard error and skewness for independent draws, and autocorrelation time of every feature.

    The skewness of a feature that is not `skewed` is left at zero: the cubes of all dependences take long.
    """
    mean, error, skewness, times = [], [], np.zeros(len(skewed)), []
    n, done = len(draws.shares), 0
    with (
        np.errstate(over="ignore", invalid="ignore"),  # what is not finite is refused below
        progress_bar("moments", len(skewed)) as bar,
    ):
        for values in moments.feature_values():
            require_time("moments were taken")
            centre = values @ draws.shares
            values -= centre[:, None]
            rounding = _ROUNDING * np.abs(centre)
            variance = _variance(values, draws, n)
            still = np.flatnonzero(~(variance > rounding**2))
            still = still[np.abs(values[still]).max(axis=1, initial=0.0) <= rounding[still]]
            values[still], variance[still] = 0.0, 0.0  # a constant, which has no autocorrelation
            times.append(draws.autocorrelation_times(values))
            mean.append(centre)
            error.append(np.maximum(np.sqrt(variance), rounding))
            rows = np.flatnonzero(skewed[done : done + len(values)])
            skewness[done + rows] = _skewness(values[rows], draws, variance[rows])
            done += len(values)
            bar.update(len(values))
    found = np.concatenate(mean), np.concatenate(error), skewness, np.concatenate(times)
    if not all(np.isfinite(values).all() for values in found):
        raise InputError(OVERFLOW)
    return found


def _variance(deviations: Floats, draws: Draws, n: int) -> Floats:
    """Of the means."""
    if draws.is_weighted:
        return np.asarray((deviations**2) @ draws.shares**2)
    return np.asarray(np.einsum("kn,kn->k", deviations, deviations) / (n - 1) / n)


def _skewness(deviations: Floats, draws: Draws, variance: Floats) -> Floats:
    """Of the means."""
    scaled = deviations * draws.shares / np.where(variance > 0.0, np.sqrt(variance), 1.0)[:, None]
    return np.asarray((scaled * scaled * scaled).sum(axis=1))


def _p_values(features: Sequence[Feature], z: Floats, times: Floats, draws: Draws) -> tuple[float, dict[str, float]]:
    """Bonferroni within the groups, and over those that there are."""
    tails = tail_probability(np.abs(z), draws.effective(times))
    found = {}
    for group in GROUPS:
        rows = [k for k, feature in enumerate(features) if feature.group == group]
        if rows:
            found[str(group)] = min(1.0, 2.0 * len(rows) * float(tails[rows].min()))
    return min(1.0, len(found) * min(found.values())), found
