"""Several measures of one sample, of independent samples where they are wanted, and the verdict beside them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from steinkit.errors import Caution, SolverError, SteinkitError, SteinkitWarning, UsageError, leave_to_results
from steinkit.measurement import Measurement
from steinkit.measures import all_options, take_measure
from steinkit.measures.options import Measure
from steinkit.measures.scores import Scores
from steinkit.runtime.deadlines import Shares, seconds_left, time_limit
from steinkit.runtime.progress import watched
from steinkit.sample import Sample
from steinkit.target import Seed, Target

if TYPE_CHECKING:
    from steinkit.diagnosis.verdict_result import Verdict
    from steinkit.discrepancy.reference import LongRun, Reference

LEVEL = 0.01
"""The p-value from which draws are said not to come from the target, where nobody names another."""
_REFERENCE_TOLERANCE = 1e-3  # independent samples differ among themselves by far more


class Judgement(NamedTuple):
    """What came of judging a sample.

    Attributes
    ----------
    verdict : Verdict or None
    unjudged : str or None
        Why there is none, where one was asked for.
    notes : tuple of str
        What a reader should know of either.
    """

    verdict: Verdict | None = None
    unjudged: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Judging:
    """How samples are judged.

    Attributes
    ----------
    level : float
        The p-value from which draws are said not to come from the target.
    matters : float, optional
        Size in standard units of moments that matter, if that is asked.
    looks : int
        How often a growing run is looked at.
    score_batch : int, optional
        Data read for the score of each draw, where it shall not be all.
    """

    level: float = LEVEL
    matters: float | None = None
    looks: int = 1
    score_batch: int | None = None

    def __post_init__(self) -> None:
        from steinkit.diagnosis.verdict import require_sensible

        require_sensible(self.level, self.matters, self.looks)

    def judge(self, sample: Sample, target: Target | None, settings: Mapping[str, Any], *, rng: Seed) -> Judgement:
        """The verdict on a sample and what its reader should know, or why there is none.

        Parameters
        ----------
        sample : Sample
        target : Target, optional
            Without it, and without scores in the sample, nobody asks for a verdict and none is missed.
        settings : mapping
            Of measures; "bounds" are those of the support.
        rng : int, numpy.random.Generator or None
        """
        from steinkit.diagnosis.verdict import verdict

        if target is None and sample.scores is None:
            return Judgement()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SteinkitWarning)  # what they say is in the verdict's warnings too
                found = verdict(sample, target, bounds=settings.get("bounds"), rng=rng, **vars(self))
        except SteinkitError as error:
            why = str(error)
            if isinstance(error, SolverError) and math.isfinite(seconds_left()):
                why = "time ran out before the draws were judged: allow more (max_seconds, --max-seconds), or thin them"
            return Judgement(None, why, (Caution(f"there is no verdict: {why}"),))
        return Judgement(found, None, found.warnings if found.enough_draws else ())


def score_sample(
    sample: Sample,
    target: Target | None,
    measures: Sequence[Measure],
    settings: Mapping[str, Any],
    *,
    repeats: int = 0,
    run: LongRun | None = None,
    judging: Judging | None = None,
    rng: Seed = 0,
) -> Scores:
    """Take measures of a sample, then of independent samples, and judge it; what fails then costs nothing else.

    Parameters
    ----------
    sample : Sample
    target : Target, optional
    measures : sequence of Measure
    settings : mapping
        Of all the measures, by their names. Of "max_seconds" each of them has a share, as have references and verdict.
    repeats : int
        How many independent samples to measure, of the sample's effective size; the target must be one that can be
        drawn from.
    run : LongRun, optional
        A long run of the user's own whose blocks are measured instead.
    judging : Judging, optional
        How to judge it; by default there is no verdict.
    rng : int, numpy.random.Generator or None
        Seed of the independent samples, and of the verdict.

    Raises
    ------
    UsageError, InputError, SolverError
        As the measures do.
    """
    from steinkit.discrepancy.reference import effective_size

    references: dict[str, Reference] = {}
    size = effective_size(sample) if repeats or run else 0
    compared = [measure for measure in measures if measure.has_bracket] if repeats or run else []
    shares = Shares(len(measures) + len(compared) + (judging is not None))
    progress = settings.get("progress", False)
    with time_limit(settings.get("max_seconds")), watched(progress), warnings.catch_warnings():
        leave_to_results()  # what they say is in the results' warnings too
        taken: dict[str, Measurement] = {}
        for measure in measures:
            with shares.one():
                taken[measure.name] = take_measure(measure.name, sample, target, settings)
        notes = [note for each in taken.values() for note in each.warnings]
        given: dict[str, Any] = {"run": run, "rng": rng, "settings": settings, "progress": progress}
        for name in (measure.name for measure in compared):
            try:
                with shares.one():
                    references[name] = measured_reference([taken[name]], target, size, repeats, **given)
            except SolverError as error:  # the sample's own answer stands
                notes.append(f"the reference samples were not scored: {error}")
        judgement = Judgement() if judging is None else judging.judge(sample, target, settings, rng=rng)
    points = (getattr(each, "sample", None) for each in taken.values())
    names = next((each.names for each in points if each is not None), sample.names)
    found, unjudged, said = judgement
    return Scores(replace(sample, names=names), tuple(taken.values()), references, found, unjudged, (*notes, *said))


def measured_reference(
    measured: Sequence[Measurement],
    target: Target | None,
    n: int,
    repeats: int,
    *,
    run: LongRun | None = None,
    rng: Seed,
    settings: Mapping[str, Any],
    progress: bool,
) -> Reference:
    """Measure right samples like those measured, as exactly as their spread deserves.

    Parameters
    ----------
    measured : sequence of Measurement
        Of one measure; none of the samples drawn is measured more exactly than the least exact of these.
    target : Target, optional
        Needed for samples drawn.
    n, repeats : int
        Independent draws that a sample is worth, and samples drawn.
    run : LongRun, optional
        Whose blocks are measured instead.
    rng : int, numpy.random.Generator or None
    settings : mapping
        Those of the measurements.
    progress : bool

    Raises
    ------
    UsageError, SolverError
        As the measure does.
    """
    from steinkit.discrepancy.reference import reference_discrepancy

    options = all_options()
    alike = {name: value for name, value in settings.items() if not options[name].of_one_sample}
    reached = [getattr(each, "tolerance", 0.0) for each in measured]
    alike |= {"tolerance": max([_REFERENCE_TOLERANCE, *reached]), "progress": False}
    units = getattr(measured[0], "units", None)
    if units is not None:  # independent samples are in their own beside a sample in its own
        alike["units"] = "own" if units.kind == "own" else units
    take = partial(take_measure, measured[0].measure, settings=alike)
    if run is not None:
        return run.reference(target, n, progress=progress, discrepancy=take)
    if target is None:
        raise UsageError("stored scores cannot be drawn from, so there is no reference; give a target, or a long run")
    return reference_discrepancy(target, n, repeats, rng=rng, progress=progress, discrepancy=take)
