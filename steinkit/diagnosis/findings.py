"""What is wrong with a sample: which coordinates or pairs are off, and which way.

Every test that can tell coordinates apart has findings: moments, bounded moments and slices, the last two for shapes
and for dependence beyond correlation. What is named would have a p-value of .05 or less as a verdict by itself, so that
no chance find is named; beside such a moment others need less. A shift changes the shape as well: a moment of the same
coordinate that is about as clear as a shape replaces it.

Moments name the right coordinate where shares of a discrepancy flag the stiff one. They are about a coordinate given
the others, for a score is the slope of a conditional density: where x_1 alone has moved, those that it is correlated
with are off given x_1. These have not moved and have no finding. Where only the correlation of two is too weak,
each is too wide given the other as well, but their dependence comes first.

Which coordinates have moved? Let draws of the target be shifted by a small step e along coordinate j. The mean score of
coordinate k, zero before, becomes

    mean of t_k = -e E[t_k t_j] + O(e^2)

by Stein's identity, for every target. If x_j alone has moved, all mean scores therefore stand in the ratio of their
covariances with t_j, up to their standard errors: it explains them. Under a correlation of .9 a shift of x_1 makes the
mean score of x_2 nine tenths as large as that of x_1, with the other sign, and x_2 has not moved. Its shape, given x_1,
is off by as much, and is explained together with its location.

Coordinates are taken one after the other. Among those about as far off as the furthest, it is the one that leaves the
least of the others. These then lose what it explains, until none is off.

**Misplaced mass.** Where along a line are there too many draws, or too few? The slope of the target's log density says
it. If the distribution of the other coordinates given u is right, the mean of the score along the line over the draws
near u is the slope of the target's marginal log density there, whatever the draws' own marginal is. Integrated from bin
to bin, and continued beyond the outermost draws with the slope at the ends, it gives the target's mass in every bin;
the draws' mass there is counted. Both distribution functions are compared at the edges of the bins.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from steinkit.autocorrelation import tail_probability
from steinkit.discrepancy.bounded_features import BoundedFeature, BoundedMoments
from steinkit.discrepancy.moments import Feature, MomentSteinDiscrepancy, slower_half_time, usual_times
from steinkit.discrepancy.sliced_goodness_of_fit import SlicedSteinTest
from steinkit.draws import Draws
from steinkit.finding import ALONG_AXIS, Finding, Kind
from steinkit.sample import Floats
from steinkit.text import compact
from steinkit.units import Units

_KINDS = {
    "axis spread": Kind.SCALE,
    "total spread": Kind.SCALE,
    "spread": Kind.SCALE,
    "location given": Kind.CONDITIONAL_LOCATION,
    "spread given": Kind.CONDITIONAL_SCALE,
}
"""Kinds of findings by kinds of features, where these have another name."""

_WAYS = {"location": ("too low", "too high"), "tails": ("too light", "too heavy")}
"""What is said of all but spreads and dependences where the mean is above zero, and where it is below."""

Moment: TypeAlias = tuple[Feature, float, float]  # with its mean and z-score

_MOST = 5
_SHAPES_OF_ALL = 3  # wrong shapes, from which what all coordinates have in common says it shorter
_MOST_EXPLAINED = 50  # moments among which those that another explains are sought
_LEAST = 3.0  # standard errors below which nothing of a location is left unexplained
_AS_CLEAR = 0.5  # of a shape's standard errors, from which a moment of the same coordinate explains it
_EXPLAINED = 0.8  # the same of a moment that another one explains: 1.1 to 1.4 where the shape is right
_LEAST_SHARE = 0.2  # of the largest, in standard errors, below which a moment is not named beside it
_BESIDE = 10.0  # times the p-value that is asked of the first, from which another is not named beside it
_UNEXPLAINED = 0.01  # p-value of the worst coordinate or pair, above which what concerns several is named
_ALIKE = 2.0  # times the largest |z| of a coordinate or pair, from which the spread of all together is named first
_MOST_LOADINGS = 4
_LEAST_LOADING = 0.5  # of an axis's largest squared loading, below which a coordinate is not named with it
_NO_CORRELATION = 3.0  # standard errors of a correlation of zero, within which a sample has none
_RIVALS = 0.75  # of the largest |z|, from which a location may be the cause of it


def size_of(feature: Feature, mean: float) -> float:
    """How far off a moment is, in standard units: `Finding.size` says what that means.

    With the mean f of its feature it is |f| for a location, |sqrt(1 - f) - 1| for a spread, and |f| / 2 for others.
    """
    if feature.kind == "spread":
        return abs(math.sqrt(max(0.0, 1.0 - mean)) - 1.0)
    return abs(mean) * (1.0 if feature.kind == "location" else 0.5)


def mean_of(feature: Feature, mean: float, size: float) -> float:
    """The absolute mean of a feature at a size, on that side of zero on which a mean lies; infinity if it has none."""
    if feature.kind == "location":
        return size
    if feature.kind != "spread":
        return 2.0 * size
    if mean < 0.0:
        return (1.0 + size) ** 2 - 1.0
    return 1.0 - (1.0 - size) ** 2 if size < 1.0 else math.inf


def p_value_beyond(moments: MomentSteinDiscrepancy, delta: float) -> float:
    """Probability that a sample whose moments are all off by at most `delta` shows one as large as this one's largest.

    Parameters
    ----------
    moments : MomentSteinDiscrepancy
    delta : float
        In standard units.

    Notes
    -----
    With enough draws any bias is significant. Whether it is larger than a size that matters is tested by the largest
    (|f| - c) / e over all moments, with the mean c that belongs to the size (`mean_of`) and the standard error e,
    one-sided, Bonferroni over all of them.
    """
    named = moments.largest(len(moments.features))
    largest = -math.inf
    for feature, mean, z in named:
        bound = mean_of(feature, mean, delta)
        if abs(mean) > bound:
            largest = max(largest, abs(z) * (1.0 - bound / abs(mean)))  # the standard error is |mean| / |z|
    return float(np.minimum(1.0, len(named) * tail_probability(largest, moments.n_effective)))


def flagged(of_moments: Sequence[Finding], of_shapes: Sequence[Finding]) -> tuple[Finding, ...]:
    """The worst faults first, without shapes that a moment of the same coordinate explains.

    What all have in common comes first, unless one or two by themselves are clearer. A shape along an axis is named
    where nothing else is: what is wrong with one coordinate shows along every axis.

    Parameters
    ----------
    of_moments, of_shapes : sequence of Finding
        From `moment_faults` and `shape_faults`.
    """
    alone = [moment for moment in of_moments if not _is_of_several(moment)]
    of_moments = [moment for moment in of_moments if not moment.explained_by]
    left = [shape for shape in of_shapes if not any(_explains(moment, shape) for moment in alone)]
    if of_moments or any(each.direction != ALONG_AXIS for each in left):
        left = [each for each in left if each.direction != ALONG_AXIS]
    of_several = [each for each in of_moments[:1] if _is_of_several(each)]
    rest = sorted([*of_moments[len(of_several) :], *left], key=lambda each: -abs(each.z))
    clearer = of_several and rest and abs(rest[0].z) > abs(of_several[0].z)
    if clearer and sum(each.kind == Kind.SHAPE for each in left) < _SHAPES_OF_ALL:
        return tuple(sorted((*rest[: _MOST - 1], *of_several), key=lambda each: -abs(each.z)))
    return (*of_several, *rest)[:_MOST]


def _explains(moment: Finding, shape: Finding) -> bool:
    """Whether a moment of the same coordinate says it shorter; one that is wrong given another needs a clearer one."""
    if shape.kind == Kind.SHAPE:
        least = _EXPLAINED if moment.explained_by else _AS_CLEAR
        return set(shape.parameters) <= set(moment.parameters) and abs(moment.z) >= least * abs(shape.z)
    return shape.parameters[0] in moment.parameters and abs(moment.z) >= abs(shape.z)


def _is_of_several(each: Finding) -> bool:
    """Whether it is the spread along an axis or of all coordinates, or the tails of all."""
    return each.kind in (Kind.SCALE, Kind.TAILS) and len(each.parameters) > 1


def moment_faults(
    moments: MomentSteinDiscrepancy, correlation: Floats, standardised: Draws | None = None, at_most: float = 0.05
) -> list[Finding]:
    """Moments that are off, worst first; those of all coordinates or of an axis before those of one or two.

    Locations that shifts of other coordinates explain come last.

    Parameters
    ----------
    moments : MomentSteinDiscrepancy
    correlation : ndarray, shape (d, d)
        Of the draws.
    standardised : Draws, optional
        The draws in standard units: locations that are off only because others are have no findings. Without
        bounds.
    at_most : float
        The p-value, corrected for all moments, above which nothing is named; ten times that beside one below it.
    """
    usual = usual_times(moments.features, moments.autocorrelation_time)
    p_values = _p_values(moments, usual)
    if min(p_values.values()) <= at_most:
        at_most *= _BESIDE
    found = [each for each in moments.largest(_MOST_EXPLAINED) if p_values[each[0]] <= at_most]
    least = max(_LEAST, _LEAST_SHARE * abs(found[0][2])) if found else _LEAST
    found = [each for each in found if abs(each[2]) >= min(least, abs(found[0][2]))]
    causes, explained = list[int](), list[Moment]()
    if standardised is not None and found:
        causes = _causes(found, moments, usual, standardised, least)
        explained = [each for each in found if each[0].kind == "location" and each[0].coordinates[0] not in causes]
    found = [each for each in found if each not in explained]
    found = [*_of_several(moments, p_values, found, at_most), *found][:_MOST]
    names = tuple(moments.names[j] for j in causes)
    return [
        *(_of_moment(each, moments, correlation) for each in found),
        *(replace(_of_moment(each, moments, correlation), explained_by=names) for each in explained),
    ]


def _p_values(moments: MomentSteinDiscrepancy, usual: Floats) -> dict[Feature, float]:
    """Of every feature, Bonferroni over its group and over the groups."""
    times = moments.autocorrelation_time
    draws = moments.n_effective * slower_half_time(moments.features, times)  # or Kish's size of their weights
    tails = tail_probability(np.abs(moments.z), draws / np.maximum(times, usual))
    sizes = Counter(feature.group for feature in moments.features)
    corrections = np.array([2.0 * sizes[feature.group] * len(sizes) for feature in moments.features])
    return dict(zip(moments.features, (corrections * tails).tolist(), strict=True))


def _causes(
    found: Sequence[Moment], moments: MomentSteinDiscrepancy, usual: Floats, standardised: Draws, least: float
) -> list[int]:
    """Those coordinates whose locations are off that have moved themselves."""
    coordinates = [feature.coordinates[0] for feature, _, _ in found if feature.kind == "location"]
    rows = [moments.features.index(Feature("location", (j,))) for j in coordinates]
    inflation = np.sqrt(np.maximum(moments.autocorrelation_time, usual))[rows]
    return moved(coordinates, standardised, inflation, least)


def _of_several(
    moments: MomentSteinDiscrepancy, p_values: Mapping[Feature, float], found: Sequence[Moment], at_most: float
) -> list[Moment]:
    """The moment of an axis or of all, where no coordinate or pair proves anything by itself, or all are off alike."""
    kinds = ["axis spread", "total spread", "tails"] if len(moments.names) > 1 else ["tails"]
    least = 0.0
    if found and min(p_values[each[0]] for each in found) < _UNEXPLAINED:
        kinds = ["total spread"] if len(moments.names) > 1 else []
        least = _ALIKE * abs(found[0][2])
    rows = [k for k, feature in enumerate(moments.features) if feature.kind in kinds and p_values[feature] <= at_most]
    worst = max(rows, key=lambda k: abs(moments.z[k]), default=None)
    if worst is None or abs(moments.z[worst]) < least:
        return []
    return [(moments.features[worst], float(moments.mean[worst]), float(moments.z[worst]))]


def _of_moment(moment: Moment, moments: MomentSteinDiscrepancy, correlation: Floats) -> Finding:
    feature, mean, z = moment
    coordinates = feature.coordinates
    if feature.kind == "axis spread":
        coordinates = tuple(loaded(moments.axes[:, :, coordinates[0]]))
    if feature.kind == "dependence":
        none = _NO_CORRELATION / math.sqrt(moments.n_effective)
        direction = _strength(mean, float(correlation[coordinates]), none)
    else:
        direction = _way(feature.kind, mean)
    names = tuple(moments.names[j] for j in coordinates) or moments.names
    return Finding(kind_of(feature.kind), names, direction, z, size_of(feature, mean))


def kind_of(feature: str) -> Kind:
    """Return the kind of a finding by a feature of this kind."""
    return _KINDS.get(feature) or Kind(feature)


def loaded(loadings: Floats) -> Sequence[int]:
    """The coordinates that an axis, shape (halves, d), loads on most, in the sample's order."""
    shares = np.square(loadings).mean(axis=0)
    order = np.argsort(-shares, kind="stable")[:_MOST_LOADINGS]
    return sorted(int(j) for j in order if shares[j] >= _LEAST_LOADING * shares[order[0]])


def _way(kind: str, mean: float) -> str:
    """What a mean above or below zero says of the draws.

    Under a normal target with covariance S, and draws of mean m and covariance C about it, the mean of t is -S^-1 m,
    that of 1 + c_j t_j is 1 - (C S^-1)_jj, and that of c_i t_j + c_j t_i grows as the correlation of the draws falls.
    """
    above, below = _WAYS.get(kind.removesuffix(" given"), ("too narrow", "too wide"))
    return above if mean > 0.0 else below


def _strength(mean: float, correlation: float, none: float) -> str:
    """What a dependence is, by the draws' own correlation, which is none up to what chance makes of it.

    For two coordinates under a normal target the mean is 2 (rho - r) / (1 - rho^2), with the target's correlation rho
    and the draws' r: 2 |r| in size where rho = 0, and 4 |r| / (1 - r^2) where rho = -r. A wrong sign is said from half
    way on: spreads and locations that are off add to the mean.
    """
    if abs(correlation) <= none or mean * correlation > 0.0:
        return "correlation too weak"
    return "correlation of wrong sign" if abs(mean) > 3.0 * abs(correlation) + 2.0 * none else "correlation too strong"


def moved(coordinates: Sequence[int], draws: Draws, inflation: Floats, least: float) -> list[int]:
    """Those of some coordinates whose mean scores are off that have moved themselves.

    Parameters
    ----------
    coordinates : sequence of int
    draws : Draws
        In standard units, without bounds.
    inflation : ndarray, shape (len(coordinates),)
        Factors of the standard errors that autocorrelation makes.
    least : float
        Standard errors from which what is left of a mean score is off.
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


def _residuals(scores: Floats, cause: int, draws: Draws) -> Floats:
    """What one coordinate's score does not explain of the others', shape (k, n); nothing of itself."""
    deviations = scores[cause] - draws.shares @ scores[cause]
    variance = draws.shares @ deviations**2
    slopes = (scores * draws.shares) @ deviations / variance if variance > 0.0 else np.zeros(len(scores))
    left = scores - slopes[:, None] * scores[cause]
    left[cause] = 0.0
    return np.asarray(left)


def _z_scores(scores: Floats, draws: Draws, inflation: Floats) -> Floats:
    """How many standard errors means are from zero."""
    mean = scores @ draws.shares
    variance = (scores - mean[:, None]) ** 2 @ draws.shares**2
    error = inflation * np.sqrt(variance)
    return np.asarray(np.abs(mean) / np.where(error > 0.0, error, np.inf))


_LEAST_SHARE_OF_SHAPES = 0.5  # of the largest z of its kind, below which nothing is named beside it


def shape_faults(
    bounded: BoundedMoments,
    sliced: SlicedSteinTest,
    standardised: Draws,
    units: Units,
    limits: Floats | None,
    at_most: Mapping[str, float],
) -> list[Finding]:
    """Shapes that are wrong and dependence that no correlation shows, each coordinate or pair once, worst first.

    Parameters
    ----------
    bounded : BoundedMoments
    sliced : SlicedSteinTest
    standardised : Draws
        In these units.
    units : Units
        The draws' own standard deviations.
    limits : ndarray, shape (d, 2), optional
        Bounds of the support, in raw units.
    at_most : mapping
        The p-values of "bounded" and "sliced", corrected for all features and directions, above which nothing is named.
    """
    names = units.names
    directions = len(sliced.z)
    slices = [
        (each.z, each.direction, "sliced")
        for each in sliced.largest
        if directions * tail_probability(each.z, sliced.n_effective) <= at_most["sliced"]
    ]
    features = [each for each in bounded.largest if each.p_value <= at_most["bounded"]]
    axes = np.eye(len(names))
    own = [(abs(each.z), axes[each.coordinates[0]], "bounded") for each in features if len(each.coordinates) == 1]
    shapes = _each_once(_shape(*each, standardised, units, limits) for each in _clear([*slices, *own]))
    pairs = _each_once(_given(feature, names) for feature in features if len(feature.coordinates) == 2)
    largest = max((abs(fault.z) for fault in pairs), default=0.0)
    clear = [fault for fault in pairs if abs(fault.z) >= _LEAST_SHARE_OF_SHAPES * largest]
    return sorted([*shapes, *clear], key=lambda each: -abs(each.z))


def _each_once(faults: Iterable[Finding]) -> list[Finding]:
    """The first fault of every coordinate or pair."""
    kept: dict[frozenset[str], Finding] = {}
    for fault in faults:
        kept.setdefault(frozenset(fault.parameters), fault)
    return list(kept.values())


def _clear(found: Sequence[tuple[float, Floats, str]]) -> list[tuple[float, Floats, str]]:
    """Those about as clear as the clearest, that first, and coordinates before axes."""
    least = _LEAST_SHARE_OF_SHAPES * max((z for z, *_ in found), default=0.0)
    kept = [each for each in found if each[0] >= least]
    return sorted(kept, key=lambda each: (np.count_nonzero(each[1]) > 1, -each[0]))


def _shape(
    z: float, direction: Floats, source: str, standardised: Draws, units: Units, limits: Floats | None
) -> Finding:
    """The shape along a coordinate, with where draws are too many or too few; or along an axis."""
    involved = np.flatnonzero(direction)
    if len(involved) > 1:
        named = tuple(units.names[j] for j in loaded(direction[None]))
        return Finding(Kind.SHAPE, named, ALONG_AXIS, z, source=source)
    j = int(involved[0])
    ends = np.array([-math.inf, math.inf]) if limits is None else limits[j]
    bounds = tuple(((ends - units.centre[j]) / units.scale[j]).tolist())
    mass = misplaced_mass(standardised.points[:, j], standardised.scores[:, j], standardised.shares, bounds)
    low, high = (units.centre[j] + units.scale[j] * end for end in (mass.low, mass.high))
    many = "many" if mass.excess > 0.0 else "few"
    where = f"too {many} draws {_where(low, high)}"
    return Finding(Kind.SHAPE, (units.names[j],), where, z, abs(mass.excess), source)


def _where(low: float, high: float) -> str:
    if math.isinf(low):
        return f"below {compact(high, 3)}"
    if math.isinf(high):
        return f"above {compact(low, 3)}"
    ends = compact(low, 3), compact(high, 3)
    return f"at {ends[0]}" if ends[0] == ends[1] else f"between {ends[0]} and {ends[1]}"


def _given(feature: BoundedFeature, names: Sequence[str]) -> Finding:
    """A location or spread that depends on another coordinate's distance from its median otherwise than it ought to.

    A positive mean says that near the median of x_i the score of x_j is larger than far from it, and x_j too low; or
    1 + c_j t_j, and x_j too narrow.
    """
    other, own = (names[k] for k in feature.coordinates)
    near = f"{_way(feature.kind, feature.mean)} where {other} is near its median"
    return Finding(kind_of(feature.kind), (own, other), near, feature.z, abs(feature.mean), "bounded")


_PER_BIN = 50  # draws, at the least
_MOST_BINS = 20
_STEEPEST = 700.0  # rise of a log density beyond the last draw, above which its exponential overflows
_AN_INTERVAL = 1.35  # times what one threshold parts, from which an interval is said


@dataclass(frozen=True)
class MisplacedMass:
    """The interval in which the share of the draws is furthest from the target's.

    Attributes
    ----------
    low, high : float
        Its ends; one of them may be infinite.
    excess : float
        The share of the draws that lie in it, less the target's; negative where there are too few.
    """

    low: float
    high: float
    excess: float


def misplaced_mass(
    along: Floats, pull: Floats, shares: Floats, bounds: tuple[float, float] = (-math.inf, math.inf)
) -> MisplacedMass:
    """Find where draws are too many, or too few.

    Parameters
    ----------
    along : ndarray, shape (n,)
        u of each draw.
    pull : ndarray, shape (n,)
        Score along u.
    shares : ndarray, shape (n,)
        Probabilities of the draws.
    bounds : tuple of two floats
        Of u, where the support is bounded.
    """
    order = np.argsort(along, kind="stable")
    u, slope, mass = along[order], pull[order], shares[order]
    bins = min(max(len(u) // _PER_BIN, 4), _MOST_BINS)
    reached = np.cumsum(mass)
    starts = np.searchsorted(reached, np.arange(bins) / bins * reached[-1])
    starts = np.unique(np.searchsorted(u, u[starts]))  # draws at the same place are in the same bin
    mass_of_bins = np.add.reduceat(mass, starts)
    slopes = np.add.reduceat(mass * slope, starts) / mass_of_bins
    edges = np.append(u[starts], u[-1])
    target = _masses(edges, slopes, bounds)
    difference = np.cumsum(np.concatenate([[0.0], mass_of_bins, [0.0]]) / reached[-1] - target)[:-1]
    return _furthest(edges, difference)


def _masses(edges: Floats, slopes: Floats, bounds: tuple[float, float]) -> Floats:
    """Mass of the log density with these slopes between the edges: below, in each bin, and above; its sum is one."""
    width = np.diff(edges)
    height = np.concatenate([[0.0], np.cumsum(slopes * width)])
    height = np.exp(height - height.max())
    inside = _under_exponential(np.maximum(height[:-1], height[1:]), slopes, width)
    below = _beyond(height[0], -slopes[0], edges[0] - bounds[0])
    above = _beyond(height[-1], slopes[-1], bounds[1] - edges[-1])
    masses = np.concatenate([[below], inside, [above]])
    return np.asarray(masses / masses.sum())


def _under_exponential(top: Floats, slope: Floats, width: Floats) -> Floats:
    """The integral of an exponential between two places, from its larger value there."""
    steep = np.abs(slope)
    return np.where(
        steep * width > 0.0, top * -np.expm1(-steep * width) / np.where(steep > 0.0, steep, 1.0), top * width
    )


def _beyond(height: float, slope: float, width: float) -> float:
    """The integral of an exponential from here on; none where it rises without end."""
    rises = slope >= 0.0
    if math.isinf(width):
        return 0.0 if rises else height / -slope
    top = height * math.exp(min(slope * width, _STEEPEST)) if rises else height
    return float(_under_exponential(np.array(top), np.array(slope), np.array(width)))


def _furthest(edges: Floats, difference: Floats) -> MisplacedMass:
    """One threshold, or an interval where that parts the distributions much better."""
    at = int(np.argmax(np.abs(difference)))
    first, last = sorted((int(difference.argmin()), int(difference.argmax())))
    if abs(difference[last] - difference[first]) > _AN_INTERVAL * abs(difference[at]):
        return MisplacedMass(float(edges[first]), float(edges[last]), float(difference[last] - difference[first]))
    if at < len(edges) // 2:
        return MisplacedMass(-math.inf, float(edges[at]), float(difference[at]))
    return MisplacedMass(float(edges[at]), math.inf, -float(difference[at]))
