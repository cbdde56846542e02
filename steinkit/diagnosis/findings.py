"""Findings of a verdict: biased coordinates and pairs, and their directions.

Three of the score-based tests distinguish individual coordinates and contribute findings. The moments detect errors in
location, scale and correlation. The bounded moments and slices detect errors in shape and other dependence. A finding
is reported only if its test alone would reject the draws with a p-value of at most 0.05. Once one moment has been
reported, additional moments require less evidence. A biased location or scale also changes the shape of a coordinate,
so a finding about a moment replaces a finding about a shape if the evidence is similarly strong.

Moments describe a coordinate conditional on the others because a score is the slope of a conditional density. If only
x_1 is shifted, the coordinates that are correlated with x_1 are also biased given x_1. However, these coordinates are
not shifted, so they are not reported. If only the correlation between two coordinates is too weak, each coordinate is
too wide given the other, but the evidence for an error in their dependence is stronger.

**Shifts.** Suppose that draws from the target are shifted by a small step e along coordinate j. By Stein's identity,
the mean score of coordinate k changes from zero to

    mean of t_k = -e E[t_k t_j] + O(e^2)        for every target.

If only x_j is shifted, the mean score of each coordinate k is therefore proportional to the covariance of t_k and t_j,
up to the standard error of the mean score. The shift then explains all mean scores. Suppose that x_1 and x_2 have
correlation 0.9. If only x_1 is shifted, the mean scores of x_1 and x_2 have opposite signs, and the second is nine
tenths as large as the first, although x_2 is not shifted. For the same reason, the conditional shape of x_2 given x_1
has a bias of similar size.

Shifted coordinates are selected one at a time. The candidates are the coordinates with z-scores close to the largest.
The candidate that explains the largest part of the other scores is selected, and this part is subtracted. The selection
ends when no mean score is significant.

**Misplaced mass.** Let u be the position along a line. If the conditional distribution of the other coordinates given u
is correct, the mean score along the line over the draws near u is the slope of the target's marginal log density at u.
This statement holds for any marginal distribution of u in the draws. The log density is the integral of the slope over
the bins and is extrapolated linearly beyond the outermost draws. The target's mass in each bin follows from the log
density. The distribution functions of the draws and the target are compared at the bin edges.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from steinkit.autocorrelation import tail_probability
from steinkit.diagnosis.evidence import Evidence
from steinkit.discrepancy.bounded_features import BoundedFeature
from steinkit.discrepancy.moments import Feature, MomentSteinDiscrepancy, slower_half_time, usual_times
from steinkit.draws import ChainDraws
from steinkit.finding import ALONG_AXIS, Finding, Kind
from steinkit.sample import Floats
from steinkit.text import compact

_KINDS = {
    "axis spread": Kind.SCALE,
    "total spread": Kind.SCALE,
    "spread": Kind.SCALE,
    "location given": Kind.CONDITIONAL_LOCATION,
    "spread given": Kind.CONDITIONAL_SCALE,
}
"""Mapping from feature kinds to finding kinds where the names differ."""

_DIRECTIONS = {"location": ("too low", "too high"), "tails": ("too light", "too heavy")}
"""Directions for a positive and a negative feature mean. The defaults are "too narrow" and "too wide"."""

Moment: TypeAlias = tuple[Feature, float, float]  # feature, mean and z-score

_MOST = 5
_SHAPES_OF_ALL = 3  # a finding about all coordinates comes first if at least this many shapes are biased
_MOST_EXPLAINED = 50  # maximum number of moments that a shift may explain
_LEAST = 3.0  # minimum z-score of a significant location
_AS_CLEAR = 0.5  # a moment replaces a shape if its |z| is at least this fraction of the shape's |z|
# the same fraction for a moment that is explained by another moment; if the shape is correct, the ratio of the two |z|
# values is between 1.1 and 1.4
_EXPLAINED = 0.8
_LEAST_SHARE = 0.2  # fraction of the largest z-score below which other moments are not reported
_FURTHER = 10.0  # factor by which the largest p-value increases for additional moments
_UNEXPLAINED = 0.01  # a finding about several coordinates is reported if no other finding has a smaller p-value
_AS_LARGE = 2.0  # the total spread is reported first if its |z| is at least this multiple of the largest other |z|
_MOST_LOADINGS = 4
_LEAST_LOADING = 0.5  # a coordinate is not named if its squared loading is below this fraction of the largest one
_NO_CORRELATION = 3.0  # correlations below this number of standard errors are treated as zero
_RIVALS = 0.75  # a location may be the cause of others if its z-score is at least this fraction of the largest
_LEAST_SHARE_OF_SHAPES = 0.5  # shapes with z-scores below this fraction of the largest of their kind are not reported


def size_of(feature: Feature, mean: float) -> float:
    """Return the size of a moment in standard units, as defined in `Finding.size`.

    If the feature has mean f, the size is |f| for a location, |sqrt(1 - f) - 1| for a spread, and |f| / 2 otherwise.
    """
    if feature.kind == "spread":
        return abs(math.sqrt(max(0.0, 1.0 - mean)) - 1.0)
    return abs(mean) * (1.0 if feature.kind == "location" else 0.5)


def mean_of(feature: Feature, mean: float, size: float) -> float:
    """Return the absolute mean of a feature with a bias of a given size.

    For a spread, the value depends on the sign of `mean`. Returns infinity if no mean corresponds to the size.
    """
    if feature.kind == "location":
        return size
    if feature.kind != "spread":
        return 2.0 * size
    if mean < 0.0:
        return (1.0 + size) ** 2 - 1.0
    return 1.0 - (1.0 - size) ** 2 if size < 1.0 else math.inf


def p_value_beyond(moments: MomentSteinDiscrepancy, delta: float) -> float:
    """Return the p-value for the hypothesis that no bias exceeds `delta`.

    With enough draws, any bias is significant, so this test checks whether a bias exceeds a relevant size. The test
    statistic is the maximum over all moments of (|f| - c) / e, where f is the mean of the feature, e is its standard
    error, and c is the absolute mean that corresponds to `delta` standard units (`mean_of`). The test is one-sided and
    uses a Bonferroni correction.
    """
    named = moments.largest(len(moments.features))
    largest = -math.inf
    for feature, mean, z in named:
        bound = mean_of(feature, mean, delta)
        if abs(mean) > bound:
            largest = max(largest, abs(z) * (1.0 - bound / abs(mean)))  # the standard error is |mean| / |z|
    return float(np.minimum(1.0, len(named) * tail_probability(largest, moments.n_effective)))


def ranked(of_moments: Sequence[Finding], of_shapes: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return at most five findings, omitting those explained by other findings.

    A finding about all coordinates is listed first. The exception is when other findings are more significant and at
    most two of them concern shapes. A biased coordinate affects every axis, so the shape along a principal axis is
    reported only if there are no other findings.

    Parameters
    ----------
    of_moments, of_shapes : sequence of Finding
        Results of `moment_findings` and `shape_findings`.
    """
    single = [moment for moment in of_moments if not _is_of_several(moment)]
    of_moments = [moment for moment in of_moments if not moment.explained_by]
    left = [shape for shape in of_shapes if not any(_explains(moment, shape) for moment in single)]
    if of_moments or any(each.direction != ALONG_AXIS for each in left):
        left = [each for each in left if each.direction != ALONG_AXIS]
    of_several = [each for each in of_moments[:1] if _is_of_several(each)]
    rest = sorted([*of_moments[len(of_several) :], *left], key=lambda each: -abs(each.z))
    clearer = of_several and rest and abs(rest[0].z) > abs(of_several[0].z)
    if clearer and sum(each.kind == Kind.SHAPE for each in left) < _SHAPES_OF_ALL:
        return tuple(sorted((*rest[: _MOST - 1], *of_several), key=lambda each: -abs(each.z)))
    return (*of_several, *rest)[:_MOST]


def _explains(moment: Finding, shape: Finding) -> bool:
    """Return True if a moment explains a finding about the same coordinate's shape."""
    if shape.kind == Kind.SHAPE:
        least = _EXPLAINED if moment.explained_by else _AS_CLEAR
        return set(shape.parameters) <= set(moment.parameters) and abs(moment.z) >= least * abs(shape.z)
    return shape.parameters[0] in moment.parameters and abs(moment.z) >= abs(shape.z)


def _is_of_several(each: Finding) -> bool:
    """Return True for findings about the scale or the tails of several parameters."""
    return each.kind in (Kind.SCALE, Kind.TAILS) and len(each.parameters) > 1


def moment_findings(
    moments: MomentSteinDiscrepancy, correlation: Floats, standardised: ChainDraws | None = None, at_most: float = 0.05
) -> list[Finding]:
    """Return findings about moments, with those about several coordinates first.

    Locations that are explained by shifts of other coordinates come last.

    Parameters
    ----------
    moments : MomentSteinDiscrepancy
    correlation : ndarray, shape (d, d)
        Correlations of the draws.
    standardised : ChainDraws, optional
        Draws in standard units, on an unbounded support. The draws are used to find locations that are explained by
        shifts of other coordinates.
    at_most : float
        Largest p-value of the first finding, corrected for all moments. The limit for further findings is ten times
        larger.
    """
    slower = np.maximum(moments.autocorrelation_time, usual_times(moments.features, moments.autocorrelation_time))
    p_values = _p_values(moments, slower)
    if min(p_values.values()) <= at_most:
        at_most *= _FURTHER
    found = [each for each in moments.largest(_MOST_EXPLAINED) if p_values[each[0]] <= at_most]
    least = max(_LEAST, _LEAST_SHARE * abs(found[0][2])) if found else _LEAST
    found = [each for each in found if abs(each[2]) >= min(least, abs(found[0][2]))]
    causes, explained = list[int](), list[Moment]()
    if standardised is not None and found:
        coordinates = [feature.coordinates[0] for feature, _, _ in found if feature.kind == "location"]
        rows = [moments.features.index(Feature("location", (j,))) for j in coordinates]
        causes = moved(coordinates, standardised, np.sqrt(slower)[rows], least)
        explained = [each for each in found if each[0].kind == "location" and each[0].coordinates[0] not in causes]
    found = [each for each in found if each not in explained]
    found = [*_of_several(moments, p_values, found, at_most), *found][:_MOST]
    names = tuple(moments.names[j] for j in causes)
    separate = [_of_moment(each, moments, correlation) for each in found]
    return separate + [_of_moment(each, moments, correlation, names) for each in explained]


def _p_values(moments: MomentSteinDiscrepancy, slower: Floats) -> dict[Feature, float]:
    """Return the corrected p-value of every feature.

    The Bonferroni correction is applied within each group and across the groups.
    """
    draws = moments.n_effective * slower_half_time(moments.features, moments.autocorrelation_time)  # Kish's if weighted
    tails = tail_probability(np.abs(moments.z), draws / slower)
    sizes = Counter(feature.group for feature in moments.features)
    corrections = np.array([2.0 * sizes[feature.group] * len(sizes) for feature in moments.features])
    return dict(zip(moments.features, (corrections * tails).tolist(), strict=True))


def _of_several(
    moments: MomentSteinDiscrepancy, p_values: Mapping[Feature, float], found: Sequence[Moment], at_most: float
) -> list[Moment]:
    """Return a list with the multi-coordinate moment that is reported first.

    The list is empty if an individual coordinate has a significant moment that is nearly as large.
    """
    kinds = ["axis spread", "total spread", "tails"] if len(moments.names) > 1 else ["tails"]
    least = 0.0
    if found and min(p_values[each[0]] for each in found) < _UNEXPLAINED:
        kinds = ["total spread"] if len(moments.names) > 1 else []
        least = _AS_LARGE * abs(found[0][2])
    rows = [k for k, feature in enumerate(moments.features) if feature.kind in kinds and p_values[feature] <= at_most]
    worst = max(rows, key=lambda k: abs(moments.z[k]), default=None)
    if worst is None or abs(moments.z[worst]) < least:
        return []
    return [(moments.features[worst], float(moments.mean[worst]), float(moments.z[worst]))]


def _of_moment(
    moment: Moment, moments: MomentSteinDiscrepancy, correlation: Floats, explained_by: tuple[str, ...] = ()
) -> Finding:
    feature, mean, z = moment
    coordinates, direction = feature.coordinates, _direction(feature.kind, mean)
    if feature.kind == "axis spread":
        coordinates = tuple(loaded(moments.axes[:, :, coordinates[0]]))
    if feature.kind == "dependence":
        noise = _NO_CORRELATION / math.sqrt(moments.n_effective)
        direction = _strength(mean, float(correlation[coordinates]), noise)
    names = tuple(moments.names[j] for j in coordinates) or moments.names
    return Finding(kind_of(feature.kind), names, direction, z, size_of(feature, mean), explained_by=explained_by)


def kind_of(feature: str) -> Kind:
    """Return the finding kind that corresponds to a feature kind."""
    return _KINDS.get(feature) or Kind(feature)


def loaded(loadings: Floats) -> Sequence[int]:
    """Return the coordinates with the largest loadings on an axis."""
    shares = np.square(loadings).mean(axis=0)
    order = np.argsort(-shares, kind="stable")[:_MOST_LOADINGS]
    return sorted(int(j) for j in order if shares[j] >= _LEAST_LOADING * shares[order[0]])


def _direction(kind: str, mean: float) -> str:
    """Return the direction of the bias indicated by the mean of a feature.

    Let the target be normal with mean zero and covariance S, and let the draws have the mean m and the covariance C.
    Then the mean of t is -S^-1 m, and the mean of 1 + c_j t_j is 1 - (C S^-1)_jj. The mean of c_i t_j + c_j t_i
    decreases as the correlation in the draws increases.
    """
    positive, negative = _DIRECTIONS.get(kind.removesuffix(" given"), ("too narrow", "too wide"))
    return positive if mean > 0.0 else negative


def _strength(mean: float, correlation: float, noise: float) -> str:
    """Return the direction of a dependence.

    Let rho be the correlation between two coordinates under a normal target, and let r be their correlation in the
    draws. The mean of the feature is 2 (rho - r) / (1 - rho^2). The absolute value of this mean is 2 |r| if rho = 0,
    and 4 |r| / (1 - r^2) if rho = -r. The threshold for a correlation of the wrong sign lies between these two values
    because errors in location and spread also change the mean.
    """
    if abs(correlation) <= noise or mean * correlation > 0.0:
        return "correlation too weak"
    return "correlation of wrong sign" if abs(mean) > 3.0 * abs(correlation) + 2.0 * noise else "correlation too strong"


def moved(coordinates: Sequence[int], draws: ChainDraws, inflation: Floats, least: float) -> list[int]:
    """Return the shifted coordinates among those with biased mean scores.

    Parameters
    ----------
    coordinates : sequence of int
    draws : ChainDraws
        Draws in standard units, on an unbounded support.
    inflation : ndarray, shape (len(coordinates),)
        Factors by which autocorrelation increases the standard errors.
    least : float
        Smallest significant mean score, in standard errors.
    """
    scores = draws.scores[:, list(coordinates)].T
    left = np.arange(len(scores))
    found: list[int] = []
    while len(left):
        z = _z_scores(scores, draws, inflation)[left]
        if z.max() < least:
            break
        remains = {k: _residuals(scores, k, draws) for k in left[z >= _RIVALS * z.max()].tolist()}
        cause = min(remains, key=lambda k: float((_z_scores(remains[k], draws, inflation)[left] ** 2).sum()))
        found.append(coordinates[cause])
        left, scores = left[left != cause], remains[cause]
    return found


def _residuals(scores: Floats, cause: int, draws: ChainDraws) -> Floats:
    """Return scores of shape (k, n) minus the parts explained by one score.

    The residual of the score with index `cause` is zero.
    """
    deviations = scores[cause] - draws.shares @ scores[cause]
    variance = draws.shares @ deviations**2
    slopes = (scores * draws.shares) @ deviations / variance if variance > 0.0 else np.zeros(len(scores))
    left = scores - slopes[:, None] * scores[cause]
    left[cause] = 0.0
    return np.asarray(left)


def _z_scores(scores: Floats, draws: ChainDraws, inflation: Floats) -> Floats:
    """Return the absolute mean scores in units of their standard errors."""
    mean = scores @ draws.shares
    error = inflation * np.sqrt((scores - mean[:, None]) ** 2 @ draws.shares**2)
    return np.asarray(np.abs(mean) / np.where(error > 0.0, error, np.inf))


def shape_findings(evidence: Evidence, at_most: Mapping[str, float]) -> list[Finding]:
    """Return findings about shapes and about dependence beyond correlation.

    Parameters
    ----------
    evidence : Evidence
    at_most : mapping
        Largest p-values for the tests "bounded" and "sliced", corrected for all features and directions.
    """
    sliced, names, directions = evidence.sliced, evidence.moments.names, len(evidence.sliced.z)
    features = [each for each in evidence.bounded.largest if each.p <= at_most["bounded"]]
    candidates = [
        (each.z, each.direction, "sliced")
        for each in sliced.largest
        if directions * tail_probability(each.z, sliced.n_effective) <= at_most["sliced"]
    ]
    axes = np.eye(len(names))
    candidates += [
        (abs(each.z), axes[each.coordinates[0]], "bounded") for each in features if len(each.coordinates) == 1
    ]
    least = _LEAST_SHARE_OF_SHAPES * max((z for z, *_ in candidates), default=0.0)
    candidates = [each for each in candidates if each[0] >= least]
    candidates.sort(key=lambda each: (np.count_nonzero(each[1]) > 1, -each[0]))  # coordinates before axes
    shapes = _each_once(_shape(*each, evidence) for each in candidates)
    pairs = _each_once(_conditional(feature, names) for feature in features if len(feature.coordinates) == 2)
    least = _LEAST_SHARE_OF_SHAPES * max((abs(each.z) for each in pairs), default=0.0)
    return sorted([*shapes, *(each for each in pairs if abs(each.z) >= least)], key=lambda each: -abs(each.z))


def _each_once(findings: Iterable[Finding]) -> list[Finding]:
    """Return the first finding for each set of coordinates."""
    kept: dict[frozenset[str], Finding] = {}
    for each in findings:
        kept.setdefault(frozenset(each.parameters), each)
    return list(kept.values())


def _shape(z: float, direction: Floats, source: str, evidence: Evidence) -> Finding:
    """Return the finding about the distribution's shape along a coordinate or axis.

    A finding along a single coordinate includes the misplaced mass.
    """
    units, bounds, draws = evidence.sample.own_units, evidence.sample.bounds, evidence.sample.standard_draws
    involved = np.flatnonzero(direction)
    if len(involved) > 1:
        named = tuple(units.names[j] for j in loaded(direction[None]))
        return Finding(Kind.SHAPE, named, ALONG_AXIS, z, source=source)
    j = int(involved[0])
    ends = np.array([-math.inf, math.inf]) if bounds is None else bounds[j]
    limits = tuple(((ends - units.centre[j]) / units.scale[j]).tolist())
    start, end, excess = misplaced_mass(draws.points[:, j], draws.scores[:, j], draws.shares, limits)
    low, high = (compact(units.centre[j] + units.scale[j] * each, 3) for each in (start, end))
    where = f"at {low}" if low == high else f"between {low} and {high}"
    if math.isinf(start) or math.isinf(end):
        where = f"below {high}" if math.isinf(start) else f"above {low}"
    many = "many" if excess > 0.0 else "few"
    return Finding(Kind.SHAPE, (units.names[j],), f"too {many} draws {where}", z, abs(excess), source)


def _conditional(feature: BoundedFeature, names: Sequence[str]) -> Finding:
    """Return a finding about a coordinate near the median of another coordinate.

    If the mean of the feature is positive, the score of x_j, or 1 + c_j t_j, is larger near the median of x_i than far
    from the median. Near this median, x_j is therefore too low or too narrow.
    """
    other, own = (names[k] for k in feature.coordinates)
    near = f"{_direction(feature.kind, feature.mean)} where {other} is near its median"
    return Finding(kind_of(feature.kind), (own, other), near, feature.z, abs(feature.mean), "bounded")


_PER_BIN = 50  # minimum number of draws per bin
_MOST_BINS = 20
_STEEPEST = 700.0  # limit on the increase in log density beyond the last draw, to avoid overflow
_AN_INTERVAL = 1.35  # an interval is reported instead of a half line if its excess is larger by this factor


def misplaced_mass(
    along: Floats, pull: Floats, shares: Floats, bounds: tuple[float, float] = (-math.inf, math.inf)
) -> tuple[float, float, float]:
    """Find the interval with the largest excess or deficit of draws.

    Parameters
    ----------
    along : ndarray, shape (n,)
        Position u of each draw along a line.
    pull : ndarray, shape (n,)
        Score along the line.
    shares : ndarray, shape (n,)
        Weights of the draws, which sum to one.
    bounds : tuple of two floats
        Bounds of u.

    Returns
    -------
    low, high : float
        Ends of the interval. One end may be infinite.
    excess : float
        Fraction of the draws in the interval minus the probability of the interval under the target.
    """
    order = np.argsort(along, kind="stable")
    u, slope, mass = along[order], pull[order], shares[order]
    bins = min(max(len(u) // _PER_BIN, 4), _MOST_BINS)
    reached = np.cumsum(mass)
    starts = np.searchsorted(reached, np.arange(bins) / bins * reached[-1])
    starts = np.unique(np.searchsorted(u, u[starts]))  # equal draws must be in the same bin
    mass_of_bins = np.add.reduceat(mass, starts)
    slopes = np.add.reduceat(mass * slope, starts) / mass_of_bins
    edges = np.append(u[starts], u[-1])
    target = _masses(edges, slopes, bounds)
    difference = np.cumsum(np.concatenate([[0.0], mass_of_bins, [0.0]]) / reached[-1] - target)[:-1]
    at = int(np.argmax(np.abs(difference)))
    first, last = sorted((int(difference.argmin()), int(difference.argmax())))
    if abs(difference[last] - difference[first]) > _AN_INTERVAL * abs(difference[at]):
        return float(edges[first]), float(edges[last]), float(difference[last] - difference[first])
    if at < len(edges) // 2:
        return -math.inf, float(edges[at]), float(difference[at])
    return float(edges[at]), math.inf, -float(difference[at])


@np.errstate(invalid="ignore")
def _masses(edges: Floats, slopes: Floats, bounds: tuple[float, float]) -> Floats:
    """Return the target's mass below all bins, in each bin, and above all bins.

    The log density is assumed to be piecewise linear.
    """
    inner = np.diff(edges)
    heights = np.concatenate([[0.0], np.cumsum(slopes * inner)])
    heights = np.exp(heights - heights.max())
    outward = np.array([-slopes[0], slopes[-1]])
    reach = np.array([edges[0] - bounds[0], bounds[1] - edges[-1]])
    reach[np.isinf(reach) & (outward >= 0.0)] = 0.0  # a density that increases outward would have infinite mass
    ends = heights[[0, -1]] * np.exp(np.clip(outward * reach, 0.0, _STEEPEST))
    top = np.concatenate([ends[:1], np.maximum(heights[:-1], heights[1:]), ends[1:]])
    width = np.concatenate([reach[:1], inner, reach[1:]])
    steep = np.abs(np.concatenate([outward[:1], slopes, outward[1:]]))
    exponential = top * -np.expm1(-steep * width) / np.where(steep > 0.0, steep, 1.0)
    masses = np.where(steep * width > 0.0, exponential, top * width)
    return np.asarray(masses / masses.sum())
