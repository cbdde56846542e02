"""What every discrepancy starts from: distinct points with weights, their scores, and the support's bounds.

**Blind spots** are modes far apart, one draw that makes the unit, and fewer draws than coordinates. Where modes are far
apart the standard deviation of the draws is the distance between them, and nothing in one is seen. With draws in groups
a distance D apart, each of standard deviation 1, the unit is about D / 2 or more. A group half as wide as it should be
is then a difference of 1 / D units. What to look for is a large sd(x_j) sd(s_j), for the score s: it is 1 for a normal
distribution, about D / 2 for two normal modes, but also the root of a variance inflation factor where coordinates are
correlated, and 90 for a funnel. So it is asked besides that

- the draws leave a gap in x_j, of a good part of the unit and far wider than what the draws at its ends leave among
  each other, with a share of the draws on either side, and that
- the scores of these draws lead away from it on both sides, steeply: the density falls into the gap.

In tails that only few draws have reached, all gaps are wide, and the scores at both ends lead the same way, to the
mode. That both modes are 1.2 times too wide is found by the moments of 1000 draws in 20 of 20 samples if they are one,
in 12 where the product is 5, in 3 where it is 9.

**Units** are the scale in which distances between draws are meant. A discrepancy in raw units depends on whether a
coordinate is given in metres or in miles. In standard units

    x -> (x - m) / sd,      score -> sd score,      bounds -> (bounds - m) / sd,

it does not. The standard deviations may be the sample's own: one that is too wide does not hide behind its own, since
the scores are multiplied by it as well. Several samples are compared in the units of one of them, or of a reference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from steinkit import double_double
from steinkit.arguments import checked, real_numbers, require_unmasked
from steinkit.containers.reading import DrawsLike, as_sample
from steinkit.errors import Caution, InputError, UsageError, did_you_mean, during
from steinkit.result import Brief
from steinkit.sample import DistinctSample, Floats, Integers, Sample, default_names, first_occurrences, rectangle_of
from steinkit.target import Seed, Target, as_bounds, require_inside
from steinkit.text import listed

Kind = Literal["own", "reference", "pilot", "given", "raw"]

_REFERENCE_DRAWS = 10_000
_WANTED = "'own', 'raw', or a scale for each coordinate"


@dataclass(frozen=True, eq=False, repr=False)
class Units(Brief):
    """Centre and scale of every coordinate.

    Attributes
    ----------
    kind : {"own", "reference", "pilot", "given", "raw"}
        Whether the scale is the sample's own standard deviations, those of draws from the target or of a pilot sample,
        was given, or is 1.
    centre : ndarray, shape (d,)
        Origin of each coordinate, in the draws' unit.
    scale : ndarray, shape (d,)
        Unit of each coordinate, in the draws' unit; positive.
    names : tuple of str
        Of the coordinates.
    """

    kind: Kind
    centre: Floats
    scale: Floats
    names: tuple[str, ...]

    @classmethod
    def of(cls, units: UnitsLike, sample: DistinctSample) -> Units:
        """What a user means by units, for a sample.

        Parameters
        ----------
        units : {"own", "raw"}, array_like of shape (d,), Units, or mapping
            The sample's own standard deviations; none; a scale for each coordinate; or a mapping as `document` makes
            it, of which "scale", by the names of the coordinates or in their order, is enough.
        sample : DistinctSample
            Whose coordinates they are to be units of, as `Sample.distinct` gives it.

        Returns
        -------
        Units
            Of the sample's coordinates, in their order.

        Raises
        ------
        UsageError
            If it is no such thing.
        InputError
            If a coordinate never changes, which then has no unit of its own; or if the units are those of coordinates
            of other names.
        """
        if isinstance(units, Units):
            return units._of_names(sample.names)
        if isinstance(units, Mapping):
            if "scale" not in units:
                raise UsageError(f'units need the key "scale", as in {{"scale": [1.0, 0.5]}}; received {dict(units)!r}')
            kind, scale = units.get("kind", "given"), units["scale"]
            if kind not in get_args(Kind):
                known = ", ".join(get_args(Kind))
                raise UsageError(f"the kind of units must be one of {known}; received {kind!r}")
            if kind == "raw":
                return cls.of("raw", sample)
            if isinstance(scale, Mapping):
                scale = {str(name): value for name, value in scale.items()}
                _require_names(tuple(scale), sample.names)
                scale = [scale[name] for name in sample.names]
            return replace(cls.of(scale, sample), kind=kind)
        if isinstance(units, str):
            if units == "raw":
                return cls("raw", np.zeros(sample.dim), np.ones(sample.dim), sample.names)
            if units != "own":
                hint = did_you_mean(units, ("own", "raw"))
                raise UsageError(f"units must be {_WANTED}; received {units!r}{hint}")
            return cls._own(sample)
        return cls("given", sample.weights @ sample.points, _checked(units, sample.dim), sample.names)

    @classmethod
    def reference(cls, target: Target, names: tuple[str, ...], rng: Seed = 0) -> Units:
        """The standard deviations of 10,000 independent draws from the target.

        Parameters
        ----------
        target : Target
            One that can be drawn from.
        names : tuple of str
            Of the d coordinates.
        rng : int, numpy.random.Generator or None
            Seed of the draws.

        Returns
        -------
        Units
            Centred at the mean of these draws.

        Raises
        ------
        UsageError
            If the target cannot be drawn from.
        InputError
            If it has another number of coordinates than there are names.
        """
        drawn = as_sample(target.sample(_REFERENCE_DRAWS, np.random.default_rng(rng)))
        if drawn.dim != len(names):
            raise InputError(f"the target has {drawn.dim} coordinates, the draws have {len(names)}: {', '.join(names)}")
        return replace(cls._own(replace(drawn, names=names).distinct()), kind="reference")

    @classmethod
    def _own(cls, sample: DistinctSample) -> Units:
        centre, scale = sample.weights @ sample.points, np.zeros(sample.dim)
        for j, column in enumerate(sample.points.T):
            with np.errstate(over="ignore"):  # refused at once
                deviations = finite_in_units(column - centre[j])
            largest = float(np.abs(deviations).max())  # squares of the deviations themselves may overflow
            if (column != column[0]).any():  # the mean of a constant is rounded
                deviations /= largest
                deviations *= deviations
                scale[j] = largest * np.sqrt(sample.weights @ deviations)
        still = [name for name, unit in zip(sample.names, scale, strict=True) if not unit > 0.0]
        if still:
            raise InputError(f"{without_units(still)}: leave out what does not vary, give units, or take raw ones")
        return cls("own", centre, scale, sample.names)

    @property
    def document(self) -> dict[str, Any]:
        """The units as JSON keeps them."""
        return {"kind": self.kind, "scale": dict(zip(self.names, self.scale.tolist(), strict=True))}

    def from_bounds(self, bounds: Floats | None) -> Units:
        """These units with the origin of bounded coordinates at a bound, so that distances to it are not rounded.

        Parameters
        ----------
        bounds : ndarray, shape (d, 2), or None
            Lower and upper bound of each coordinate, in the draws' unit; infinite where there is none.

        Returns
        -------
        Units
            Centred at the lower bound, where that is infinite at the upper one, else where these are.
        """
        if bounds is None:
            return self
        lower, upper = bounds.T
        centre = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper, self.centre))
        return replace(self, centre=centre)

    def points(self, points: Floats) -> Floats:
        """Points in these units.

        Parameters
        ----------
        points : ndarray, shape (..., d)
            In the draws' unit.

        Returns
        -------
        ndarray, shape (..., d)
            (points - centre) / scale.

        Raises
        ------
        InputError
            If one overflows.
        """
        with np.errstate(over="ignore"):
            return finite_in_units((points - self.centre) / self.scale)

    def limits(self, bounds: Floats) -> Floats:
        """Bounds in these units.

        Parameters
        ----------
        bounds : ndarray, shape (d, 2)
            Lower and upper bound of each coordinate, in the draws' unit.

        Returns
        -------
        ndarray, shape (d, 2)
            (bounds - centre) / scale; one that overflows is infinite, as good as none.
        """
        with np.errstate(over="ignore"):
            return np.asarray((bounds - self.centre[:, None]) / self.scale[:, None])

    def scores(self, scores: Floats) -> Floats:
        """Scores in these units.

        Parameters
        ----------
        scores : ndarray, shape (..., d)
            Gradients of a log density, in one over the draws' unit.

        Returns
        -------
        ndarray, shape (..., d)
            scores * scale.

        Raises
        ------
        InputError
            If one overflows.
        """
        with np.errstate(over="ignore"):
            return finite_in_units(scores * self.scale)

    def _of_names(self, names: tuple[str, ...]) -> Units:
        """These units for coordinates of these names; names that nobody gave stand for any."""
        if names == self.names:
            return self
        if len(names) == len(self.names) and default_names(len(names)) in (names, self.names):
            return replace(self, names=names)
        _require_names(self.names, names)
        order = [self.names.index(name) for name in names]
        return replace(self, centre=self.centre[order], scale=self.scale[order], names=names)


UnitsLike = str | ArrayLike | Mapping[str, Any] | Units


@checked
def common_units(units: UnitsLike | None, pilot: DistinctSample, target: Target | None = None, rng: Seed = 0) -> Units:
    """The one scale for all samples that are to be compared.

    Parameters
    ----------
    units : {"own", "reference", "raw"}, array_like of shape (d,), Units, mapping, or None
        What was given is taken as it is. "reference" are the target's standard deviations. "own" and None, which of
        several samples would be several scales, are the target's where it can be drawn from, else the pilot's.
    pilot : DistinctSample
        A sample of those to be compared, or one made for this.
    target : Target, optional
        What the samples are to represent.
    rng : int, numpy.random.Generator or None
        Seed of the draws from the target.

    Returns
    -------
    Units
        To be given as ``units`` wherever one of the samples is measured.

    Raises
    ------
    UsageError
        If "reference" is asked for and the target cannot be drawn from; or as `Units.of` does.
    InputError
        As `Units.of` and `Units.reference` do.
    """
    if isinstance(units, str) and units == "reference":
        if target is None:
            raise UsageError("units of a reference need a target that can be drawn from; stored scores have none")
        return Units.reference(target, pilot.names, rng)
    if units is not None and not is_open(units):
        return Units.of(units, pilot)
    if target is not None and target.can_sample:
        return Units.reference(target, pilot.names, rng)
    return replace(Units.of("own", pilot), kind="pilot")


def is_open(units: UnitsLike | None) -> bool:
    """Whether every sample would have a scale of its own, so that the one of several is still to be fixed."""
    return units is None or (isinstance(units, str) and units == "own")


def without_units(names: Sequence[str]) -> str:
    """What is said of coordinates that do not vary."""
    if len(names) == 1:
        return f"{names[0]} is the same in all draws, so it has no unit of its own"
    return f"{listed(names)} are the same in all draws, so they have no units of their own"


def require_variation(values: Floats, names: tuple[str, ...]) -> None:
    """Refuse columns, (n, m), of which one never changes; InputError names it."""
    still = np.flatnonzero((values == values[0]).all(axis=0))
    if len(still):
        raise InputError(f"{without_units([names[k] for k in still])}: leave out what does not vary")


def finite_in_units(values: Floats) -> Floats:
    """Values as they are; InputError if one of them is no finite number."""
    if not np.isfinite(values).all():
        raise InputError("draws or scores overflow in these units: rescale them, or take other units")
    return values


def _checked(scale: ArrayLike, dim: int) -> Floats:
    wanted = f"{dim} positive numbers, one a coordinate"
    values = real_numbers(scale, "units", wanted)
    if values.shape != (dim,) or not (np.isfinite(values).all() and (values > 0.0).all()):
        raise UsageError(f"units must be {wanted}; received {scale!r}")
    return values


def _require_names(known: tuple[str, ...], wanted: tuple[str, ...]) -> None:
    if sorted(known) != sorted(wanted):
        raise InputError(
            f"the units are those of {', '.join(known)}, but the draws have the coordinates {', '.join(wanted)}: "
            "give units for these names, or rename the draws"
        )


_FAR = 5.0  # scale times standard deviation of the score
_GAP = 0.25  # of the scale
_SHARE = 0.01  # of the draws, on either side
_AT_AN_END = 3  # draws whose mean score tells which way it leads
_ALONE = 3.0  # gaps over what these span at both ends
_OUTLYING = 0.5  # of a coordinate's variance, above which one point alone makes its unit
_FALL = 10.0  # gap times score: twice the fall of the log density where it is that of a normal mode


def far_apart(points: DistinctSample, scores: Floats, units: Units) -> Iterator[str]:
    """A caution where the unit of a coordinate is the distance between groups of draws; nothing if no unit is.

    Parameters
    ----------
    points : DistinctSample
        In raw units.
    scores : ndarray, shape (n, d)
        In raw units.
    units : Units
        Those in which they are to be taken; units that were given, or raw ones, are their user's business.
    """
    found = []
    judged = units.kind not in ("given", "raw") and len(points) >= 2 * _AT_AN_END
    for j, name in enumerate(points.names if judged else ()):
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is not far apart
            pull = scores[:, j] * units.scale[j]
            spread = float(np.sqrt(points.weights @ (pull - points.weights @ pull) ** 2))
        x = (points.points[:, j] - units.centre[j]) / units.scale[j]
        if _FAR < spread < np.inf and _valley(x, pull, points.weights):
            found.append(f"{name} ({spread:.3g} times)")
    if found:
        yield Caution(
            f"the draws lie in groups far apart in {', '.join(found)}: their standard deviation is that many times the "
            "length over which the density changes, so faults within a group hardly show; judge each group by itself, "
            "or give units, the standard deviations within a group"
        )


def outlying(points: DistinctSample, units: Units) -> Iterator[str]:
    """Coordinates in whose unit all draws but one are the same."""
    shares = points.weights[:, None] * units.points(points.points) ** 2
    for name, row, share in zip(points.names, shares.argmax(axis=0), shares.max(axis=0), strict=True):
        if share > _OUTLYING:
            yield Caution(
                f"draw {points.first[row] + 1} makes up {share:.0%} of the variance of {name}: in that unit the tests "
                "see little of the other draws, and one draw proves nothing; judge the others without it"
            )


def too_few_to_span(points: DistinctSample) -> Iterator[str]:
    """Whether there are no more different draws than coordinates."""
    different, dim = points.points.shape
    if different <= dim:
        yield Caution(
            f"{different} distinct draws do not span {dim} dimensions: faults along the directions that they miss may "
            "not show; take more draws than coordinates"
        )


def _valley(x: Floats, scores: Floats, weights: Floats) -> bool:
    """Whether the widest gap with draws enough on either side is one into which the density falls from both."""
    order = np.argsort(x, kind="stable")
    below = np.cumsum(weights[order])[:-1]
    gaps = np.where((below >= _SHARE) & (below <= 1.0 - _SHARE), np.diff(x[order]), 0.0)
    gaps[: _AT_AN_END - 1] = gaps[len(gaps) - _AT_AN_END + 1 :] = 0.0
    at = int(gaps.argmax())
    if gaps[at] <= _GAP:
        return False
    left, right = order[at + 1 - _AT_AN_END : at + 1], order[at + 1 : at + 1 + _AT_AN_END]
    if gaps[at] < _ALONE * (np.ptp(x[left]) + np.ptp(x[right])):
        return False
    return bool(gaps[at] * min(-scores[left].mean(), scores[right].mean()) > _FALL)


_LEAST_SHARE = 2.0**-960  # of a draw's weight in that of all: products with it are normal numbers still


@dataclass(frozen=True, eq=False)
class Prepared:
    """A sample ready to be scored.

    Attributes
    ----------
    points : DistinctSample
    scores : ndarray, shape (n, d)
        Score of the target at the distinct points.
    bounds : ndarray, shape (d, 2), or None
    notes : tuple of str
        What was merged or left out, and what a reader should know before the number.
    given : Sample
        The draws as they came, checked, without what was given beside them.
    units : Units
        In which points, scores and bounds are: raw ones, until `in_units` changes them.
    original : Prepared, or None
        The same points in raw units, where they are in others.
    """

    points: DistinctSample
    scores: Floats
    bounds: Floats | None
    notes: tuple[str, ...]
    given: Sample
    units: Units
    original: Prepared | None = None

    @property
    def raw(self) -> Prepared:
        """The same points, scores and bounds in raw units."""
        return self if self.original is None else self.original

    @property
    def cautions(self) -> tuple[str, ...]:
        """Those of the notes that change how a number is to be read."""
        return tuple(note for note in self.notes if isinstance(note, Caution))

    def in_units(self, units: UnitsLike) -> Prepared:
        """The same in other units, the origin of bounded coordinates at a bound; itself in raw ones.

        Points that rounding makes equal in these units are one point, with the weighted mean of their scores.

        Raises
        ------
        UsageError, InputError
            As `Units.of` does, or if the scores overflow in these units.
        """
        assert self.original is None
        chosen = Units.of(units, self.points)
        if chosen.kind == "raw":
            return self
        chosen = chosen.from_bounds(self.bounds)
        first, group = first_occurrences(chosen.points(self.points.points))
        raw = self if len(first) == len(self.points) else self._joined(first, group)
        points, scores = chosen.points(raw.points.points), chosen.scores(raw.scores)
        limits = None if self.bounds is None else chosen.limits(self.bounds)
        return replace(
            raw,
            points=replace(raw.points, points=points, scores=None),
            scores=scores,
            bounds=limits,
            notes=(*raw.notes, *far_apart(self.points, self.scores, chosen)),
            units=chosen,
            original=raw,
        )

    def _joined(self, first: Integers, group: Integers) -> Prepared:
        """With groups of points taken as one, each with the mean of its scores."""
        points = self.points.joined(first, group)
        whole = points.weights[group], points.weights_low[group]
        shares = double_double.ratio((self.points.weights, self.points.weights_low), whole)
        terms = (double_double.times(shares, (column, np.zeros(len(group)))) for column in self.scores.T)
        means = [double_double.sums_in_groups(each, group, len(first))[0] for each in terms]  # scores may nearly cancel
        note = (
            f"{len(group) - len(first)} points equal others in these units but for rounding; they were merged, with "
            "the mean of their scores"
        )
        scores = np.column_stack(means)
        return replace(self, points=points, scores=scores, notes=(*self.notes, note))

    def weighted(self, weights: ArrayLike | None) -> Sample:
        """The draws as they came, with the weights given beside them, if there were any."""
        return self.given if weights is None else replace(self.given, weights=np.ravel(weights))


def prepare(
    draws: DrawsLike,
    target: Target | None,
    *,
    scores: ArrayLike | None,
    weights: ArrayLike | None,
    bounds: ArrayLike | None,
) -> Prepared:
    """Check that sample, target, scores, weights and bounds fit together, and evaluate the score where needed.

    The one place where what a discrepancy is given is checked: behind it travels what this returns.
    """
    last = _last.get() if scores is None and weights is None and bounds is None else None
    if last and last[0][0] is draws and last[0][1] is target:
        return last[0][2]
    given = as_sample(draws)
    layout = rectangle_of(given)
    if layout is not None:
        scores, weights = _in_rows(scores, (*layout, given.dim)), _in_rows(weights, layout)
    sample = _with_columns(given, weights, scores, target)
    sample, faint = _without_faint(sample)
    points = sample.distinct()
    limits = _support(points, target, bounds)
    notes = (*faint, *_notes_on(given, points, target))
    values = points.scores if target is None else target.score(points.points, draws=points.first, names=points.names)
    assert values is not None  # _with_columns saw to it
    if target is not None:
        target.check_once(points.points, values, points.names)
    remarks = () if target is None else target.remarks
    found = Prepared(points, values, limits, (*notes, *remarks), given, Units.of("raw", points))
    if last is not None:
        last[:] = [(draws, target, found)]
    return found


_last: ContextVar[list[tuple[DrawsLike, Target | None, Prepared]] | None] = ContextVar("last", default=None)


def prepared_once() -> AbstractContextManager[None]:
    """A block in which several measures are taken of one sample: it is prepared, and its score evaluated, once."""
    return during(_last, [])


def _without_faint(sample: Sample) -> tuple[Sample, tuple[str, ...]]:
    """The sample with weight zero for draws whose share underflows, or would with what it is multiplied by."""
    weights = np.ones(len(sample)) if sample.weights is None else sample.weights
    faint = (weights > 0.0) & (sample.probabilities < _LEAST_SHARE)
    if not faint.any():
        return sample, ()
    note = f"{np.count_nonzero(faint)} of {len(sample)} draws have less than 2^-960 of the weight and were left out"
    return sample.with_columns(weights=np.where(faint, 0.0, weights)), (note,)


def _in_rows(values: ArrayLike | None, layout: tuple[int, ...]) -> ArrayLike | None:
    """Values laid out by chain and draw, brought to one row a draw; any others as they are, for `Sample` to judge."""
    if values is None or np.shape(values) != layout:
        return values
    return np.reshape(values, (layout[0] * layout[1], *layout[2:]))


def _with_columns(sample: Sample, weights: ArrayLike | None, scores: ArrayLike | None, target: Target | None) -> Sample:
    """The sample with the weights and scores given beside it, and the target's names; one source of each."""
    columns: dict[str, Any] = {}
    for name, values in (("weights", weights), ("scores", scores)):
        if values is not None:
            require_unmasked(values, name)
            columns[name] = np.asarray(values)
    if weights is not None and sample.weights is not None:
        raise UsageError("weights were given, but the sample carries its own; drop one of the two")
    if scores is not None and (target is not None or sample.scores is not None):
        other = "a target was given too" if target is not None else "the sample stores its own"
        raise UsageError(f"scores were given, but {other}; drop one of the two")
    if target is None:
        if sample.scores is None and scores is None:
            raise UsageError(
                "a discrepancy needs the target's score: give a target, or scores=, or a sample with scores"
            )
        return sample.with_columns(**columns) if columns else sample
    require_names(sample, target)
    if sample.scores is not None:
        columns["scores"] = None  # the target's take their place
    named = named_after(sample, target)
    return named.with_columns(**columns) if columns else named


def _support(points: DistinctSample, target: Target | None, bounds: ArrayLike | None) -> Floats | None:
    """The support's bounds, with every point inside; None if there are none."""
    own = None if target is None else target.bounds
    limits = own if bounds is None else as_bounds(bounds, points.dim)
    if limits is None:
        return None
    if own is not None and bounds is not None and not np.array_equal(own, limits):
        raise UsageError("bounds were given, but the target has its own and they differ; drop one of the two")
    if len(limits) != points.dim:
        raise InputError(f"the target has {len(limits)} coordinates, the draws have {points.dim}")
    require_inside(points.points, limits, points.names, points.first)
    return limits


def _notes_on(sample: Sample, points: DistinctSample, target: Target | None) -> Iterator[str]:
    """What scoring does to the sample as given, and what its reader should know before the number."""
    n = len(sample)
    if points.merged:
        yield f"{points.merged} of {n} draws repeat an earlier draw; they were merged and their weights summed"
    if points.weightless:
        yield f"{points.weightless} of {n} draws have weight zero and were left out"
    if len(points) == 1:
        what = "the sample is one draw" if n == 1 else f"all {n} draws are the same point"
        yield Caution(f"{what}: the discrepancy is that of a single point mass")
    if target is not None and sample.scores is not None:
        yield "the sample's stored scores were not used; the target's were"


def named_after(sample: Sample, target: Target | None) -> Sample:
    """The sample under the target's names where nobody named its coordinates."""
    if target is None or target.names is None or not sample.has_default_names or len(target.names) != sample.dim:
        return sample
    return sample.with_columns(names=target.names)


def require_names(sample: Sample, target: Target) -> None:
    """Refuse draws whose coordinates somebody named otherwise than the target's, or in another order.

    Raises
    ------
    InputError
        With both lists.
    """
    if target.names is None or sample.has_default_names or len(target.names) != sample.dim:
        return
    columns, coordinates = ", ".join(sample.names), ", ".join(target.names)
    if sorted(target.names) != sorted(sample.names):
        raise InputError(
            f"the draws have the coordinates {columns} and the target has {coordinates}, so they cannot be matched; "
            "name the draws as the target does, Sample(points, names=...), or state their order by --columns on the "
            "command line"
        )
    if target.names != sample.names:
        raise InputError(
            f"the columns {columns} are not in the target's order {coordinates}; "
            "reorder them (Sample.select, or --columns on the command line)"
        )
