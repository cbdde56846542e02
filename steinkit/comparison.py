"""Several samples against one target: each judged and measured alike, and put in the order that is proved."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from steinkit.arguments import require_flags, require_mappings, require_type, whole
from steinkit.comparison_result import ComparedSample, Comparison
from steinkit.containers.objects import is_xarray
from steinkit.containers.reading import DrawsLike, as_sample
from steinkit.errors import Caution, InputError, SolverError, SteinkitError, UsageError, about, cautious
from steinkit.measurement import Measurement
from steinkit.measures import default_measure, find_measure, require_taken, take_measure
from steinkit.measures.options import units_of_several
from steinkit.measures.scoring import Judging, measured_reference
from steinkit.runtime.deadlines import Shares, time_limit
from steinkit.runtime.progress import progress_bar
from steinkit.sample import Sample
from steinkit.target import Seed, Target

if TYPE_CHECKING:
    from steinkit.discrepancy.reference import LongRun, Reference


@cautious
def compare(
    samples: Mapping[str, DrawsLike],
    target: Target | None = None,
    *,
    measures: str | Sequence[str] | None = None,
    verdict: bool = True,
    matters: float | None = None,
    looks: int = 1,
    reference: int = 0,
    reference_draws: DrawsLike | LongRun | None = None,
    rng: Seed = 0,
    progress: bool = False,
    settings: Mapping[str, Any] | None = None,
    **changes: Any,
) -> Comparison:
    """Judge several samples, measure them alike, and order them by what is proved.

    A sample that cannot be measured is reported with its reason and does not end the comparison. Samples of different
    sizes are compared all the same, with a warning: a discrepancy falls as draws are added, so that a better sampler
    with fewer draws can come out behind.

    Parameters
    ----------
    samples : mapping of str to Sample or array_like
        The samples by name.
    target : Target, optional
        What they claim to represent; not needed where all store scores, nor for ess.
    measures : str or sequence of str, optional
        Of `steinkit.measures.measure_names`. By default graph up to two dimensions, and sliced above, where graph
        saturates and too narrow samples score lower; with a diffusion operator graph.
    verdict : bool
        Judge every sample that was measured, as `steinkit.verdict` does: a sample that is better than others may still
        be wrong. One that cannot be judged is reported and costs nothing else.
    matters : float, optional
        As `steinkit.verdict` has it.
    looks : int
        As `steinkit.verdict` has it.
    reference : int
        How many independent samples from the target to measure as well, for each effective size that samples have.
    reference_draws : Sample, array_like or LongRun, optional
        Draws of a long run that is known to be right, whose blocks are measured instead.
    rng : int, numpy.random.Generator or None
        Seed of the reference, and of the verdicts.
    progress : bool
        Show progress on standard error.
    settings : mapping, optional
        How the measures are taken, by the names of the settings; each measure reads its own. Of ``max_seconds`` every
        measure of a sample has a share, as have its verdict and the references.
    **changes
        Settings that differ, such as ``tolerance=1e-3``; at least one of the measures must read each.

    Returns
    -------
    Comparison
        What was found of every sample, and the order in which each measure puts them.

    Raises
    ------
    UsageError
        If there is no sample or measure, a measure is not known, a reference is wanted that cannot be had, or the
        settings leave nothing to measure on any sample, or no measure reads one of them.

    Examples
    --------
    >>> import numpy as np
    >>> import steinkit as sk
    >>> from steinkit.comparison import compare
    >>> draws = np.random.default_rng(0).standard_normal(500)
    >>> compare({"shifted": draws + 1.0, "right": draws}, sk.targets.Normal([0.0])).ranking
    {'graph': (('right',), ('shifted',))}
    """
    require_mappings(settings=settings)
    require_flags(verdict=verdict)
    shared = {**(settings or {}), **changes, "progress": False}
    if not isinstance(samples, Mapping) or is_xarray(samples):
        kind = type(samples).__name__
        raise UsageError(f"samples must be a mapping of names to samples, such as {{'nuts': draws}}; received {kind}")
    if not samples:
        raise UsageError("there is no sample to compare; give one or more, each with a name")
    known = {name: _read(draws) for name, draws in samples.items()}
    readable = [each for each in known.values() if isinstance(each, Sample)]
    if measures is None:
        measures = default_measure(readable[0].dim if readable else 1, operator=shared.get("operator"))
    measures = [measures] if isinstance(measures, str) else measures
    require_type((list, tuple), "a measure or a list of measures", measures=measures)
    require_type(str, "the name of a measure", **{f"measures[{i}]": each for i, each in enumerate(measures)})
    measures = tuple(dict.fromkeys(measures))
    if not measures:
        raise UsageError("there is no measure to compare by; name one, such as graph")
    has_units = ["units" in find_measure(name).options for name in measures]
    require_taken(changes, measures)
    judging = Judging(matters=matters, looks=looks) if verdict else None
    run = _long_run(reference_draws)
    _require_reference(reference, run, target, shared)
    steps = len(samples) * len(measures)
    with time_limit(shared.get("max_seconds")), progress_bar("measures", steps, shown=progress) as bar:
        shares = Shares(steps * (2 if reference or run else 1) + (len(samples) if verdict else 0))
        units, unsettled = units_of_several(readable, target, shared) if any(has_units) else (None, ())
        shared |= {"units": units}
        work = _Work(target, measures, shared, judging, reference, run, rng, shares)
        found = tuple(work.measured(name, each, bar) for name, each in known.items())
        _require_one(found)
        references, missed = work.references(found, progress)
        judged = [work.judged(each) for each in found]
    ranking = {measure: _rank(found, measure) for measure in measures}
    notes = [
        about(each.name, note) for each in found for taken in each.measurements.values() for note in taken.warnings
    ]
    doubts = [about(each.name, note) for each, said in judged for note in said]
    notes = list(dict.fromkeys([*unsettled, *notes, *doubts]))
    results = tuple(each for each, _ in judged)
    return Comparison(results, measures, ranking, references, units, (*notes, *missed, *_sizes(found)))


def _read(draws: DrawsLike) -> Sample | SteinkitError:
    """The sample, or why there is none."""
    try:
        return as_sample(draws)
    except SteinkitError as error:
        return error


def _long_run(draws: DrawsLike | LongRun | None) -> LongRun | None:
    from steinkit.discrepancy.reference import LongRun

    return draws if draws is None or isinstance(draws, LongRun) else LongRun(as_sample(draws), "the long run")


def _require_reference(repeats: int, run: LongRun | None, target: Target | None, settings: Mapping[str, Any]) -> None:
    """Refuse a reference that cannot be had."""
    whole(repeats, "reference", 0)
    if repeats and run is not None:
        raise UsageError("reference draws samples and reference_draws brings its own; leave out one of the two")
    cut_off = settings.get("bounds") is not None and target is not None and target.bounds is None
    if repeats and (target is None or not target.can_sample or cut_off):
        what = "stored scores" if target is None else "a target cut off by bounds" if cut_off else target.label
        raise UsageError(f"{what} cannot be drawn from, so there is no reference; leave it out")


def _require_one(found: Sequence[ComparedSample]) -> None:
    """Where no measure of any sample could be taken because of the settings, it is they that are wrong."""
    errors = [error for each in found for error in each.errors.values()]
    if not any(each.measurements for each in found) and all(isinstance(error, UsageError) for error in errors):
        raise errors[0]


@dataclass(frozen=True)
class _Work:
    """What is done with every sample; `shares` share the time out."""

    target: Target | None
    measures: tuple[str, ...]
    settings: Mapping[str, Any]
    judging: Judging | None
    repeats: int
    run: LongRun | None
    rng: Seed
    shares: Shares

    def measured(self, name: str, sample: Sample | SteinkitError, bar: Any) -> ComparedSample:
        """All measures of one sample, or why they cannot be had."""
        from steinkit.discrepancy.reference import effective_size

        if not isinstance(sample, Sample):
            bar.update(len(self.measures))
            return ComparedSample(name, None, {}, dict.fromkeys(self.measures, sample))
        measurements: dict[str, Measurement] = {}
        errors: dict[str, SteinkitError] = {}
        for measure in self.measures:
            try:
                with self.shares.one():
                    measurements[measure] = take_measure(measure, sample, self.target, self.settings)
            except SteinkitError as error:
                errors[measure] = error
            bar.update()
        effective = effective_size(sample) if self.repeats or self.run else None
        return ComparedSample(name, sample, measurements, errors, effective=effective)

    def judged(self, each: ComparedSample) -> tuple[ComparedSample, tuple[str, ...]]:
        """A sample with the verdict on it, if it was measured, and what to know of that."""
        if self.judging is None or each.sample is None or not each.measurements:
            return each, ()
        with self.shares.one():
            judgement = self.judging.judge(each.sample, self.target, self.settings, rng=self.rng)
        return replace(each, verdict=judgement.verdict, unjudged=judgement.unjudged), judgement.notes

    def references(
        self, found: Sequence[ComparedSample], progress: bool
    ) -> tuple[dict[str, tuple[Reference, ...]], list[str]]:
        """What right samples of each effective size score, and which could not be scored."""
        references: dict[str, tuple[Reference, ...]] = {}
        missed: list[str] = []
        for measure in self.measures if self.repeats or self.run else ():
            measured = [each for each in found if measure in each.measurements and find_measure(measure).has_bracket]
            alike = [each.measurements[measure] for each in measured]
            for size in sorted({each.effective for each in measured if each.effective is not None}):
                try:
                    own = self.run and self.run.like(next(each.sample for each in measured if each.sample))
                    given: dict[str, Any] = {"run": own, "rng": self.rng, "settings": self.settings}
                    with self.shares.one():
                        reference = measured_reference(
                            alike, self.target, size, self.repeats, **given, progress=progress
                        )
                except (SolverError, InputError) as error:  # the samples' own answers stand
                    missed.append(f"the reference of {size} draws was not measured by {measure}: {error}")
                    continue
                references[measure] = (*references.get(measure, ()), reference)
        return references, missed


def _rank(found: Sequence[ComparedSample], measure: str) -> tuple[tuple[str, ...], ...]:
    """Groups of the samples that the measure may order; one that saturates may prefer samples that are too narrow."""
    taken = {each.name: each.measurements[measure] for each in found if measure in each.measurements}
    ordered = {name: each for name, each in taken.items() if not math.isnan(each.value) and not each.unranked}
    brackets = {name: (each.lower, each.upper) for name, each in ordered.items()}
    return rank_groups(brackets, smaller_is_better=find_measure(measure).smaller_is_better)


def rank_groups(
    brackets: Mapping[str, tuple[float, float]], *, smaller_is_better: bool = True
) -> tuple[tuple[str, ...], ...]:
    """Groups of names whose brackets a chain of overlaps joins, best first: the order that brackets prove.

    Two samples whose brackets overlap cannot be told apart by a measure, however different the middles of the brackets
    look: they are tied. Overlap is not transitive (a wide bracket can overlap two that are far apart), so samples share
    a rank if a chain of overlapping brackets joins them. Of two samples of different rank the better one *is* better,
    by this measure; of two of the same rank nothing is claimed.

    Within a group names stand in the order of their brackets' middles. Brackets that touch overlap.
    """
    sign = 1.0 if smaller_is_better else -1.0
    turned = {name: sorted((sign * lower, sign * upper)) for name, (lower, upper) in brackets.items()}
    groups: list[list[str]] = []
    reached = -math.inf
    for name in sorted(turned, key=lambda name: turned[name][0]):
        lower, upper = turned[name]
        if lower > reached or not groups:
            groups.append([])
        groups[-1].append(name)
        reached = max(reached, upper)
    return tuple(tuple(sorted(group, key=lambda name: sum(turned[name]))) for group in groups)


def _sizes(found: Sequence[ComparedSample]) -> list[str]:
    sizes = {len(each.sample) for each in found if each.sample is not None and each.measurements}
    if len(sizes) < 2:
        return []
    return [
        Caution(
            f"the samples have {min(sizes)} to {max(sizes)} draws, and every measure depends on their number as well "
            f"as their quality; to compare samplers, compare the first {min(sizes)} draws of each"
        )
    ]
