"""The moment Stein discrepancy: how far the means of features are from zero, and whether chance explains it.

**Features** have mean zero under every target, and say what is wrong when they have not. For a draw x with score s, in
standard units z = (x - m) / sd and t = sd s, and for the Langevin operator T g = <g, s> + div g, polynomials g of
degree one and three give, with c = z - m', u = V'c, v = V't and r^2 = sum_k u_k^2 / w_k,

    whole    c.t + d                            g = c               total spread
             q (c.t + d) + 2 q' r^2             g = q c             tails,    q = (r^2/d) / (1 + r^2/(k d))
    own      t_j                                g = e_j             location of coordinate j
             1 + c_j t_j                        g = c_j e_j         spread of coordinate j
             1 + u_k v_k                        g = u_k V_k         spread along principal axis k
    pairs    c_i t_j + c_j t_i                  g = c_i e_j + c_j e_i   dependence of i and j, i < j

With r^2 in place of q the mean of the tails is zero only where the target's variance is finite: a t distribution with
two degrees of freedom would be called too light. The factor q is below k = 64, and draws in the bulk do not see it.

The centre m', the principal axes V and their variances w are those of *the other half* of the draws: were they of the
same draws they would have selected the noise that they then find (in 30 dimensions nearly every right sample is
rejected), and a centre of the same draws biases the spread by one over their effective number.

On a bounded support the functions g are multiplied by boundary factors that vanish at the bounds, coordinate by
coordinate, which makes the operator that of a diffusion with coefficients b and a = diag(a_1, ..., a_d)
(`steinkit.discrepancy.operators`); t becomes b, and 1 becomes a_j where g_j is differentiated:

    c.b + sum_j a_j,   q (c.b + sum_j a_j) + 2 q' sum_j (V u/w)_j a_j c_j,
    b_j,   a_j + c_j b_j,   u_k (V'b)_k + sum_j a_j V_jk^2,   c_i b_j + c_j b_i.

References
----------
N. Srinivasan, M. Sutton, C. Drovandi and L. F. South (2024), "The polynomial Stein discrepancy for assessing moment
convergence", arXiv 2412.05135 (degree two); cross-fitting, axes and groups are ours.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steinkit.arguments import require_flags
from steinkit.autocorrelation import tail_probability
from steinkit.blind_spots import far_apart
from steinkit.containers.reading import DrawsLike
from steinkit.discrepancy.operators import boundary_factor
from steinkit.draws import Draws
from steinkit.errors import InputError, cautious, reservations
from steinkit.measurement import Measurement, Reference
from steinkit.result import Statement
from steinkit.runtime.deadlines import blocks, one_thread_in_libraries, require_time, within_time
from steinkit.runtime.progress import progress_bar
from steinkit.sample import Floats, Integers
from steinkit.scored_sample import ScoredSample
from steinkit.target import Target
from steinkit.text import Table, compact, count, listed, probability, sentence, standard_errors
from steinkit.units import Units, UnitsLike

Group = Literal["whole", "own", "pairs"]
Kind = Literal["total spread", "tails", "location", "spread", "axis spread", "dependence"]
GROUPS: tuple[Group, ...] = ("whole", "own", "pairs")
OVERFLOW = "the moments overflow: draws or scores are too large; rescale or repair them"

_SMALLEST_AXIS = 1e-12  # variance of a principal axis, relative to the largest, below which rounding decides
_LARGEST_RADIUS = 64.0  # squared, over the dimension, that the tails' factor does not reach
_FEATURES = 64  # features computed at a time, at most
_VALUES = 1 << 22  # numbers in such a slice: of a million draws 32 MB
_TOGETHER = 1 << 13  # draws whose coordinates are combined at a time


@dataclass(frozen=True)
class Feature:
    """What a feature is about.

    Attributes
    ----------
    kind : {"total spread", "tails", "location", "spread", "axis spread", "dependence"}
    coordinates : tuple of int
        The coordinate, the pair, or the number of the principal axis; empty for what concerns all.
    """

    kind: Kind
    coordinates: tuple[int, ...] = ()

    @property
    def group(self) -> Group:
        """Features that are corrected for multiplicity together."""
        if self.kind in ("total spread", "tails"):
            return "whole"
        return "pairs" if self.kind == "dependence" else "own"


def features_of(dim: int) -> tuple[Feature, ...]:
    """All features in d dimensions, in the order of `feature_values`."""
    found = [Feature("total spread"), Feature("tails")]
    for kind in ("location", "spread", "axis spread"):
        found += [Feature(kind, (j,)) for j in range(dim)]
    first, second = np.triu_indices(dim, 1)
    return (*found, *(Feature("dependence", (int(i), int(j))) for i, j in zip(first, second, strict=True)))


@dataclass(frozen=True, eq=False)
class Moments:
    """Standardised draws with everything that features are made of, coordinates first.

    Attributes
    ----------
    centred : ndarray, shape (d, n)
        c.
    drift : ndarray, shape (d, n)
        b; the scores without bounds.
    spread : ndarray, shape (d, n), or None
        a; None without bounds, where it is 1.
    loadings : ndarray, shape (2, d, d)
        Entry [h, j, k] is the part of coordinate j in principal axis k of half h.
    variances : ndarray, shape (2, d)
        w of each half's axes.
    pieces : tuple of pairs of int and slice
        Draws that lie together, with the half whose axes are used for them: the other one than theirs.
    """

    centred: Floats
    drift: Floats
    spread: Floats | None
    loadings: Floats
    variances: Floats
    pieces: tuple[tuple[int, slice], ...]

    @classmethod
    def of(cls, points: Floats, drift: Floats, spread: Floats | None, draws: Draws) -> Moments:
        """Learn centres and axes on each half, and use them on the other.

        Parameters
        ----------
        points, drift, spread : ndarray, shape (d, n)
            In standard units. The points are centred in place.
        draws : Draws
            What they come from.

        Raises
        ------
        InputError
            If the squares of the points overflow.
        """
        pieces = tuple(_pieces(draws))
        loadings, variances = np.empty((2, len(points), len(points))), np.empty((2, len(points)))
        centres = []
        for learn in (0, 1):
            taken = [place for used, place in pieces if used != learn]
            total = sum(float(draws.shares[place].sum()) for place in taken)
            centre = np.zeros(len(points))
            for place in taken:
                centre += points[:, place] @ (draws.shares[place] / total)
            covariance = np.zeros((len(points), len(points)))
            for place in taken:  # few at a time, so that nothing as large as the draws is made
                deviations = points[:, place] - centre[:, None]
                covariance += (deviations * (draws.shares[place] / total)) @ deviations.T
            if not np.isfinite(covariance).all():
                raise InputError(OVERFLOW)
            values, loadings[learn] = np.linalg.eigh(covariance)
            variances[learn] = np.maximum(values, _SMALLEST_AXIS * max(values[-1], np.finfo(float).tiny))
            centres.append(centre)
        for used, place in pieces:
            points[:, place] -= centres[used][:, None]
        return cls(points, drift, spread, loadings, variances, pieces)

    def feature_values(self) -> Iterator[Floats]:
        """Values of all features in the order of `features_of`, in slices of shape (k, n) that the next overwrites."""
        dim, n = self.centred.shape
        width = max(2, min(_FEATURES, _VALUES // n))
        room = np.empty((width, n))
        yield self._whole(room[:2])
        for values_of in (self._locations, self._spreads, self._along_axes):
            for own in blocks(dim, width):
                yield values_of(own, room[: own.stop - own.start])
        first, second = np.triu_indices(dim, 1)
        other = np.empty(n)
        for pairs in blocks(len(first), width):
            for row, i, j in zip(room, first[pairs], second[pairs], strict=False):
                np.multiply(self.centred[i], self.drift[j], out=row)
                np.multiply(self.centred[j], self.drift[i], out=other)
                row += other
            yield room[: pairs.stop - pairs.start]

    def _whole(self, out: Floats) -> Floats:
        """Total spread and tails."""
        dim = len(self.centred)
        for used, place in self.pieces:
            c, b = self.centred[:, place], self.drift[:, place]
            inverse = self.loadings[used] / self.variances[used]
            curvature = inverse @ (self.loadings[used].T @ c)  # V (u / w)
            radius = np.einsum("jn,jn->n", c, curvature)
            total = np.einsum("jn,jn->n", c, b)
            if self.spread is None:
                total, bend = total + dim, radius
            else:
                a = self.spread[:, place]
                total, bend = total + a.sum(axis=0), np.einsum("jn,jn,jn->n", curvature, a, c)
            damping = 1.0 / (1.0 + radius / (_LARGEST_RADIUS * dim))
            out[0, place], out[1, place] = total, damping * (radius * total + 2.0 * damping * bend) / dim
        return out

    def _locations(self, own: slice, out: Floats) -> Floats:
        np.copyto(out, self.drift[own])
        return out

    def _spreads(self, own: slice, out: Floats) -> Floats:
        np.multiply(self.centred[own], self.drift[own], out=out)
        out += 1.0 if self.spread is None else self.spread[own]
        return out

    def _along_axes(self, axes: slice, out: Floats) -> Floats:
        """Spreads along principal axes."""
        for used, place in self.pieces:
            loadings = self.loadings[used][:, axes].T
            np.multiply(loadings @ self.centred[:, place], loadings @ self.drift[:, place], out=out[:, place])
            out[:, place] += 1.0 if self.spread is None else np.square(loadings) @ self.spread[:, place]
        return out


def _pieces(draws: Draws) -> Iterator[tuple[int, slice]]:
    """Draws of one half that lie together, few enough to stay in a processor's cache."""
    half = np.zeros(len(draws.shares), dtype=np.int8)
    half[draws.halves[1]] = 1
    ends = [0, *(np.flatnonzero(np.diff(half)) + 1).tolist(), len(half)]
    for begin, end in pairwise(ends):
        for start in range(begin, end, _TOGETHER):
            yield 1 - int(half[begin]), slice(start, min(start + _TOGETHER, end))


_NAMED: tuple[Kind, ...] = ("location", "spread", "dependence")  # what can be said of coordinates and pairs
_SKEWED: tuple[Kind, ...] = ("total spread", "tails", "spread", "axis spread")  # as squares are
_FAR = 6.0  # standard errors
_LISTED = 5
_LARGE = 1e4  # standard errors, from which their digits say nothing
_CLEAR = 3.0  # standard errors below which a moment is not named
_SHARE = 0.2  # of the largest, below which a moment is not named beside it
_TOO: dict[Kind, tuple[str, str]] = {"location": ("too low", "too high"), "spread": ("too narrow", "too wide")}
_GIVEN = " Each refers to the distribution given the others: a correct coordinate may be wrong given a biased one."
_MEANING = (
    "Each moment, such as 1 + (x - m) s(x) for the score s, has mean 0 under the target. p allows for autocorrelation "
    "within the chains and for the number of moments looked at. A sample that agrees in all of them may still be wrong "
    "in its shape, in its mode weights, or in a mode that no draw has visited."
)
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


@dataclass(frozen=True)
class NamedMoment:
    """A moment of a sample, by the names of its coordinates.

    Attributes
    ----------
    kind : {"total spread", "tails", "location", "spread", "axis spread", "dependence"}
    coordinates : tuple of str
        Names; of a spread along a principal axis that axis.
    mean : float
        Zero under the target, in standard units.
    z : float
        The mean over its standard error.
    autocorrelation_time : float
        In draws.
    """

    kind: Kind
    coordinates: tuple[str, ...]
    mean: float
    z: float
    autocorrelation_time: float

    @property
    def is_above(self) -> bool:
        """True if the draws are too high or too wide, or their correlation is above the target's."""
        return self.z < 0.0

    @property
    def direction(self) -> str:
        """Direction of the draws' error, given the other coordinates.

        Correlations are signed: one of -.5 lies above one of -.8.
        """
        if self.kind in _TOO:
            return _TOO[self.kind][int(self.z < 0.0)]
        return f"{'below' if self.z > 0.0 else 'above'} the target's"

    def __str__(self) -> str:
        of = "the correlation of " if self.kind == "dependence" else ""
        return f"{of}{listed(self.coordinates)} {self.direction} ({standard_errors(self.z)})"

    @property
    def row(self) -> tuple[str, ...]:
        """Cells of a table."""
        z = f"{self.z:+.2f}" if abs(self.z) < _LARGE else f"{self.z:+.3g}"
        time = compact(self.autocorrelation_time, 3)
        return f"{self.kind} of {listed(self.coordinates)}", compact(self.mean, 3), z, time


@dataclass(frozen=True, eq=False)
class MomentSteinDiscrepancy(Measurement):
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
        Integrated autocorrelation time of each feature, of weighted draws beside independent ones of these weights.
    p_value : float
        Probability of features as far from zero for a right sample: Bonferroni within each of the three groups, a third
        of the level each.
    group_p_values : dict
        Of the groups "whole", "own" and "pairs", each for itself.
    n_effective : float
        Draws over the median autocorrelation time of the odd features, locations, or of the even ones, whichever is
        longer; for weighted draws Kish's effective size over it.
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

    measure: ClassVar[str] = "moments"
    title: ClassVar[str] = "moment Stein discrepancy"

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
    chains: tuple[ChainMoments, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def value(self) -> float:
        """Largest |mean| of a location, spread or dependence, in units of one standard deviation."""
        return float(np.abs(self.mean[self._named_rows]).max())

    @property
    def lower(self) -> float:
        """The value: it is an estimate."""
        return self.value

    @property
    def upper(self) -> float:
        """The value: it is an estimate."""
        return self.value

    @property
    def moments(self) -> tuple[NamedMoment, ...]:
        """All moments in the order of `features`, by the names of their coordinates."""
        columns = (self.mean.tolist(), self.z.tolist(), self.autocorrelation_time.tolist())
        found = zip(self.features, *columns, strict=True)
        return tuple(NamedMoment(each.kind, self._named(each), *numbers) for each, *numbers in found)

    @property
    def largest_moments(self) -> tuple[NamedMoment, ...]:
        """Locations, spreads and dependences, the largest in standard errors first."""
        found = [each for each in self.moments if each.kind in _NAMED]
        return tuple(sorted(found, key=lambda each: -abs(each.z)))

    def to_dict(self) -> dict[str, Any]:
        """List the result as JSON documents hold it.

        Returns
        -------
        dict
            Of strings, finite numbers, lists and dicts.
        """
        return {
            "measure": self.measure,
            "value": self.value,
            "p_value": self.p_value,
            "groups": dict(self.group_p_values),
            "n_effective": self.n_effective,
            "features": [asdict(each) | {"coordinates": [*each.coordinates]} for each in self.moments],
            **({"chains": [asdict(each) for each in self.chains]} if self.chains else {}),
            "seconds": self.seconds,
        }

    def statements(self, reference: Reference | None = None, *, is_biased: bool = False) -> tuple[Statement, ...]:
        """State the largest moment, the p-value, and the moments that are clearly wrong."""
        number = (
            f"The {self.title} is {compact(self.value)}: the largest mean of a location, spread or dependence, "
            "which is 0 under the target, in standard units. In an exact sample of "
            f"{count(round(self.n_effective), 'effective draw')} moments as far off have probability "
            f"{probability(self.p_value)}."
        )
        alone = ", ".join(f"chain {each.chain} {each.p_value:.2g}" for each in self.chains)
        agree = f"The p-values of the chains, each by itself: {alone}."
        return (
            Statement("number", f"What is its {self.title}?", number),
            Statement("limits", f"What does the {self.title} say?", _MEANING, continues=True),
            Statement("findings", "Where is the difference?", self._off),
            *([Statement("comparison", "Do the chains agree?", agree)] if self.chains else []),
            *self._method(),
        )

    def tables(self, reference: Reference | None = None) -> tuple[Table, ...]:
        """List the largest moments."""
        columns = ("moment", "mean", "standard errors", "autocorrelation time")
        rows = tuple(each.row for each in self.largest_moments[:_LISTED])
        return (Table(f"{sentence(self.title)}, largest first", columns, rows),)

    @property
    def _off(self) -> str:
        """The largest moments, largest first."""
        worst = self.largest_moments[:_LISTED]
        least = max(_CLEAR, _SHARE * abs(worst[0].z))
        clear = [str(each) for each in worst if abs(each.z) >= least]
        if not clear:
            return f"No location, spread or dependence is {_CLEAR:g} standard errors or more from 0."
        return f"In standard errors from 0: {'; '.join(clear)}.{_GIVEN * (len(clear) > 1)}"

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

    def _named(self, feature: Feature) -> tuple[str, ...]:
        """What it is about: coordinates by their names, a principal axis by its number."""
        if feature.kind == "axis spread":
            return (f"principal axis {feature.coordinates[0] + 1}",)
        return tuple(self.names[j] for j in feature.coordinates)

    @property
    def _named_rows(self) -> Integers:
        return np.array([k for k, feature in enumerate(self.features) if feature.kind in _NAMED])


@cautious
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
        Weights of the draws, in any unit. Means are then self-normalised. Weighted draws are taken for a chain in the
        order given, but for rows that are sorted by weight, which are taken to be independent; a warning says which.
    bounds : array_like, shape (d, 2) or (2,), optional
        Bounds of the support; the target's own if not given. Without them the test rejects exact draws.
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
    A sample may agree in all these moments and yet be wrong in its shape; mode weights that lie far apart, and modes
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
    require_flags(by_chain=by_chain)
    sample = ScoredSample.of(draws, target, scores=scores, weights=weights, bounds=bounds)
    scored = time.perf_counter()
    found = moments_of(sample, units, by_chain=by_chain)
    return replace(found, seconds={"scores": scored - began, "moments": time.perf_counter() - scored})


def moments_of(sample: ScoredSample, units: UnitsLike = "own", *, by_chain: bool = False) -> MomentSteinDiscrepancy:
    """Test location, spread and dependence of a scored sample."""
    laid_out, chosen = sample.draws, Units.of(units, sample.points)
    with one_thread_in_libraries():  # products as small as the cache gain nothing by threads that wait for one another
        found = _judged(laid_out, chosen, sample.bounds)
        alone = laid_out.by_chain() if by_chain else ()
        judged = [(label, _judged(chain, chosen, sample.bounds)) for label, chain in alone]
    return replace(
        found,
        chains=tuple(ChainMoments(label, each.p_value, each.value) for label, each in judged),
        warnings=(
            *sample.notes,
            *far_apart(sample.points, sample.scores, chosen),
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
        for rows in blocks(n, _ROWS):
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
    them its standard error is small, too, and exact draws would be rejected too often: .12 for .01 of skewed targets.
    Spreads of exact chains that seldom change their size were rejected, .07 for .01, as too narrow.
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
            if draws.is_weighted:
                variance = (values**2) @ draws.shares**2
            else:
                variance = np.einsum("kn,kn->k", values, values) / (n - 1) / n
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
