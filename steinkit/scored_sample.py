"""Samples prepared for tests, with their weights, scores and bounds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from steinkit import double_double
from steinkit.arguments import require_range, require_unmasked
from steinkit.blind_spots import far_apart
from steinkit.containers.reading import DrawsLike, as_sample
from steinkit.draws import ChainDraws
from steinkit.errors import Caution, InputError, UsageError, during, quoted
from steinkit.sample import DistinctSample, Floats, Integers, Sample, first_occurrences, rectangle_of, split_chains
from steinkit.target import Target, as_bounds, require_inside, require_target
from steinkit.text import count, ordinal
from steinkit.units import Units, UnitsLike

MOST_NUMBERS = 5_000_000
"""Maximum number of draws times parameters in a verdict. The memory used is about thirty times that of the draws."""

_LEAST_SHARE = 1e-100  # smallest weight of a draw, relative to the total weight


@dataclass(frozen=True, eq=False)
class ScoredSample:
    """Draws and scores, prepared once for all tests and measures.

    Attributes
    ----------
    points : DistinctSample
    scores : ndarray, shape (n, d)
        Score of the target at the distinct points.
    bounds : ndarray, shape (d, 2), or None
    notes : tuple of str
        Notes on draws that were merged or dropped, and cautions.
    given : Sample
        The draws, including weights that were passed separately.
    whole : Sample
        All draws. They differ from the draws in `given` if a very large sample is represented by a subset.
    units : Units
        Units of points, scores and bounds, which are raw units unless `in_units` was called.
    target : Target or None
        The target, or None if only scores are available.
    original : ScoredSample, or None
        The same sample in raw units, if this one is in other units.
    """

    points: DistinctSample
    scores: Floats
    bounds: Floats | None
    notes: tuple[str, ...]
    given: Sample
    whole: Sample
    units: Units
    target: Target | None = None
    original: ScoredSample | None = None

    @classmethod
    def of(
        cls,
        draws: DrawsLike,
        target: Target | None = None,
        *,
        scores: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        bounds: ArrayLike | None = None,
        most: float = np.inf,
    ) -> ScoredSample:
        """Validate draws and their target, and evaluate the score.

        If the draws contain more than `most` numbers, evenly spaced draws of each chain are used.
        """
        last = _last.get() if scores is None and weights is None and bounds is None else None
        if last and last[0][0] is draws and last[0][1] is target and last[0][2].given.points.size <= most:
            return last[0][2]
        require_target(target, optional=True)
        given, left_out = selected(as_sample(draws), target)
        sample = _with_columns(given, weights, scores, target)
        if weights is not None:
            given = replace(given, weights=np.ravel(weights))
        notes: list[str] = [*left_out]
        whole, rows, step = given, np.arange(len(given)), math.ceil(sample.points.size / most)
        if step > 1:
            rows = np.concatenate([rows[::step] for rows in split_chains(sample)[0]])
            notes.append(f"{len(rows):,} of {len(sample):,} draws were used, every {ordinal(step)} of each chain")
            sample, given = sample[rows], given[rows]
        if sample.weights is not None:
            faint = (sample.weights > 0.0) & (sample.probabilities < _LEAST_SHARE)
            if faint.any():
                sample = sample.with_columns(weights=np.where(faint, 0.0, sample.weights))
                notes.append(
                    f"{faint.sum()} of {len(sample)} draws have less than 1e-100 of the total weight and were dropped"
                )
        points = sample.distinct()
        limits = _support(points, target, bounds, rows)
        notes += _notes_on(given, points, target)
        values = points.scores
        if target is not None:
            values = target.score(points.points, draws=rows[points.first], names=points.names)
            target.check_once(points.points, values, points.names)
            notes += target.remarks
        assert values is not None  # see _with_columns
        found = cls(points, values, limits, tuple(notes), given, whole, Units.of("raw", points), target)
        if last is not None and step <= 1:
            last[:] = [(draws, target, found)]
        return found

    @cached_property
    def draws(self) -> ChainDraws:
        """Draws with positive weight. At least eight are required."""
        return ChainDraws.of(self.given, self.points, self.scores)

    @cached_property
    def standard(self) -> ScoredSample:
        """Sample in units of its own standard deviations."""
        return self.in_units("own")

    @cached_property
    def own_units(self) -> Units:
        """Units defined by the standard deviations of the draws."""
        return Units.of("own", self.points)

    @cached_property
    def standard_draws(self) -> ChainDraws:
        """Draws with positive weight, in units of their standard deviations."""
        return self.draws.in_units(self.own_units)

    @cached_property
    def carried(self) -> Sample:
        """Draws with positive weight and their scores, in the original order."""
        rows = np.flatnonzero(self.points.inverse >= 0)
        scores = self.scores[self.points.inverse[rows]]
        return replace(self.given[rows], scores=scores, names=self.points.names)

    @property
    def raw(self) -> ScoredSample:
        """Sample in raw units."""
        return self if self.original is None else self.original

    @property
    def cautions(self) -> tuple[str, ...]:
        """Notes that affect the interpretation of results."""
        return tuple(note for note in self.notes if isinstance(note, Caution))

    def in_units(self, units: UnitsLike) -> ScoredSample:
        """Return the sample in the given units.

        Points that are equal after rounding in these units are merged into one point, and their scores are replaced
        with the weighted mean.

        Raises
        ------
        UsageError, InputError
            See `Units.of`. An InputError is also raised if a nonzero number in these units is not between 1e-100 and
            1e100 in absolute value.
        """
        assert self.original is None
        chosen = Units.of(units, self.points)
        if chosen.kind == "raw":
            _require_ranges(self.points.points, self.scores, self.bounds)
            return self
        chosen = chosen.from_bounds(self.bounds)
        first, group = first_occurrences(chosen.points(self.points.points))
        raw = self if len(first) == len(self.points) else self._joined(first, group)
        points, scores = chosen.points(raw.points.points), chosen.scores(raw.scores)
        limits = None if self.bounds is None else chosen.limits(self.bounds)
        _require_ranges(points, scores, limits)
        return replace(
            raw,
            points=replace(raw.points, points=points, scores=None),
            scores=scores,
            bounds=limits,
            notes=(*raw.notes, *far_apart(self.points, self.scores, chosen)),
            units=chosen,
            original=raw,
        )

    def _joined(self, first: Integers, group: Integers) -> ScoredSample:
        """Merge each group of points into its first point and average the scores."""
        points, exact = self.points, (self.points.weights, self.points.weights_low)
        weights, weights_low = double_double.sums_in_groups(exact, group, len(first))
        shares = double_double.ratio(exact, (weights[group], weights_low[group]))
        terms = (double_double.times(shares, (column, np.zeros(len(group)))) for column in self.scores.T)
        with np.errstate(over="ignore", invalid="ignore"):  # `in_units` rejects non-finite results
            scores = np.column_stack([double_double.sums_in_groups(each, group, len(first))[0] for each in terms])
        merged = replace(
            points,
            points=points.points[first],
            weights=weights,
            weights_low=weights_low,
            scores=None,
            counts=np.bincount(group, weights=points.counts).astype(np.int64),
            first=points.first[first],
            inverse=np.where(points.inverse >= 0, group[points.inverse], -1),
        )
        note = (
            f"rounding in these units makes {count(len(group) - len(first), 'point')} equal to others; equal points "
            "were merged, and the means of their scores are used"
        )
        return replace(self, points=merged, scores=scores, notes=(*self.notes, note))


_last: ContextVar[list[tuple[DrawsLike, Target | None, ScoredSample]] | None] = ContextVar("last", default=None)


def prepared_once() -> AbstractContextManager[None]:
    """Return a context manager that lets measures share one prepared sample."""
    return during(_last, [])


def _require_ranges(points: Floats, scores: Floats, bounds: Floats | None) -> None:
    """Raise InputError if a number is too large or too small to prove brackets."""
    gaps = np.diff(np.sort(points, axis=0), axis=0)
    limits = np.empty(0) if bounds is None else bounds
    for values, what in ((points, "draws"), (gaps, "differences of draws"), (scores, "scores"), (limits, "bounds")):
        require_range(values, what)


def _with_columns(sample: Sample, weights: ArrayLike | None, scores: ArrayLike | None, target: Target | None) -> Sample:
    """Return the sample with the given weights and scores, or raise UsageError.

    The weights and scores may have the shape (chains, draws, ...). If a target is given, the scores in the sample are
    discarded.
    """
    columns: dict[str, ArrayLike | None] = {}
    layout = rectangle_of(sample) or (len(sample),)
    for name, values, row in (("weights", weights, ()), ("scores", scores, (sample.dim,))):
        if values is not None:
            require_unmasked(values, name)
            array = np.asarray(values)
            columns[name] = array.reshape(len(sample), *row) if array.shape == (*layout, *row) else array
    if weights is not None and sample.weights is not None:
        raise UsageError("weights= was given, but the sample has weights; omit one of them")
    if scores is not None and (target is not None or sample.scores is not None):
        other = "so was a target" if target is not None else "the sample has scores"
        raise UsageError(f"scores= was given, but {other}; omit one of them")
    if target is not None:
        require_names(sample, target)
        columns |= {} if sample.scores is None else {"scores": None}
    elif sample.scores is None and scores is None:
        raise UsageError("expected a target, scores=, or a sample with scores; got a sample without scores")
    return sample.with_columns(**columns) if columns else sample


def _support(points: DistinctSample, target: Target | None, bounds: ArrayLike | None, rows: Integers) -> Floats | None:
    """Return the bounds of the support, or None.

    Raises InputError if a point lies outside the bounds.
    """
    own = None if target is None else target.bounds
    limits = own if bounds is None else as_bounds(bounds, points.dim)
    if limits is None:
        return None
    if own is not None and bounds is not None and not np.array_equal(own, limits):
        raise UsageError("bounds= differs from the bounds of the target; omit one of them")
    if len(limits) != points.dim:
        raise InputError(f"the target has {len(limits)} parameters, but the draws have {points.dim}")
    require_inside(points.points, limits, points.names, rows[points.first])
    return limits


def _notes_on(sample: Sample, points: DistinctSample, target: Target | None) -> Iterator[str]:
    """Yield cautions and notes about merged or dropped draws."""
    n = len(sample)
    if points.merged:
        yield f"{points.merged} of {n} draws repeat an earlier draw; they were merged and their weights added"
    if points.weightless:
        yield f"{points.weightless} of {n} draws have weight zero and were dropped"
    if len(points) == 1:
        subject = "the sample consists of a single draw" if n == 1 else f"all {n} draws are the same point"
        yield Caution(f"{subject}, so the result is the discrepancy of a point mass")
    if target is not None and sample.scores is not None:
        yield "the scores of the target were used instead of the scores stored in the sample"


def selected(sample: Sample, target: Target | None) -> tuple[Sample, tuple[str, ...]]:
    """Return a sample with parameters in the target's order, and a note if needed.

    Parameters are selected by name. The note lists the ignored columns. If the sample has default names, they are
    replaced with the names in the target. A sample is returned unchanged if it lacks a parameter of the target.
    """
    names = None if target is None else target.names
    if names is None or names == sample.names:
        return sample, ()
    if sample.has_default_names:
        return (sample.with_columns(names=names) if len(names) == sample.dim else sample), ()
    if not set(names) <= set(sample.names):
        return sample, ()
    others = [name for name in sample.names if name not in names]
    note = f"the columns {quoted(others, most=5)} are not parameters of the target and were ignored"
    return sample.select(names), ((note,) if others else ())


def require_names(sample: Sample, target: Target) -> None:
    """Raise InputError unless the sample and target have the same parameter names.

    The names must be in the same order. Samples with default names are accepted.

    Raises
    ------
    InputError
        If the names or their order differ.
    """
    if target.names is None or sample.has_default_names or len(target.names) != sample.dim:
        return
    given, expected = ", ".join(sample.names), ", ".join(target.names)
    if sorted(target.names) != sorted(sample.names):
        raise InputError(
            f"the parameters of the draws, {given}, differ from the parameters of the target, {expected}; pass draws "
            "with these names, or specify the column order with --columns on the command line"
        )
    if target.names != sample.names:
        raise InputError(
            f"the parameters {given} are not in the order of the target, {expected}; reorder them with Sample.select "
            "or with --columns on the command line"
        )
