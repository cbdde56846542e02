"""Score a sample: its measures, those of exact samples, and its verdict."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from steinkit.errors import Caution, SolverError, SteinkitError, SteinkitWarning, UsageError, leave_to_results
from steinkit.measurement import Measurement
from steinkit.measures import take_measure
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
"""Default level: a verdict rejects samples with a smaller p-value."""
_REFERENCE_TOLERANCE = 1e-3  # the values of exact samples vary by far more


class Judgement(NamedTuple):
    """The verdict on a sample, or the reason why there is none.

    Attributes
    ----------
    verdict : Verdict or None
    unjudged : str or None
        Reason of a missing verdict; None if no verdict was requested.
    notes : tuple of str
        Warnings on either.
    """

    verdict: Verdict | None = None
    unjudged: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Judging:
    """Options of the verdicts on samples.

    Attributes
    ----------
    level : float
        Level of the test.
    matters : float, optional
        Smallest bias that matters, in standard units.
    looks : int
        Number of analyses of a growing run.
    score_batch : int, optional
        Data points per score; by default all.
    """

    level: float = LEVEL
    matters: float | None = None
    looks: int = 1
    score_batch: int | None = None

    def __post_init__(self) -> None:
        from steinkit.diagnosis.verdict import require_sensible

        require_sensible(self.level, self.matters, self.looks)

    def judge(self, sample: Sample, target: Target | None, settings: Mapping[str, Any], *, rng: Seed) -> Judgement:
        """Return the verdict on a sample, or the reason why there is none.

        Parameters
        ----------
        sample : Sample
        target : Target, optional
            Target distribution. Without it, and without stored scores, there is no verdict, and no warning.
        settings : mapping
            Settings of the measures; "bounds" apply to the verdict, too.
        rng : int, numpy.random.Generator or None
        """
        from steinkit.diagnosis.verdict import verdict

        if target is None and sample.scores is None:
            return Judgement()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SteinkitWarning)  # the verdict repeats them
                found = verdict(sample, target, bounds=settings.get("bounds"), rng=rng, **vars(self))
        except SteinkitError as error:
            reason = str(error)
            if isinstance(error, SolverError) and math.isfinite(seconds_left()):
                reason = "the time limit was too short; increase max_seconds (--max-seconds), or thin the draws"
            return Judgement(None, reason, (Caution(f"there is no verdict: {reason}"),))
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
    """Measure a sample and exact samples, and judge it; a failure of the latter two is a warning.

    Parameters
    ----------
    sample : Sample
    target : Target, optional
    measures : sequence of Measure
    settings : mapping
        Settings by name. The measures, references and the verdict share "max_seconds".
    repeats : int
        Number of independent samples to measure, of the sample's effective size.
    run : LongRun, optional
        Exact run whose blocks are measured instead.
    judging : Judging, optional
        Options of the verdict; by default there is none.
    rng : int, numpy.random.Generator or None
        Random seed of the independent samples and of the verdict.

    Raises
    ------
    UsageError, InputError, SolverError
        As the measures do.
    """
    from steinkit.discrepancy.reference import effective_size

    references: dict[str, Reference] = {}
    size = effective_size(sample) if repeats or run else 0
    compared = [measure.name for measure in measures if measure.has_bracket] if repeats or run else []
    shares = Shares(len(measures) + len(compared) + (judging is not None))
    progress = settings.get("progress", False)
    with time_limit(settings.get("max_seconds")), watched(progress), warnings.catch_warnings():
        leave_to_results()
        taken: dict[str, Measurement] = {}
        for measure in measures:
            with shares.one():
                taken[measure.name] = take_measure(measure.name, sample, target, settings)
        notes = [note for each in taken.values() for note in each.warnings]
        for name in compared:
            try:
                with shares.one():
                    references[name] = measured_reference(
                        [taken[name]], target, size, repeats, run=run, rng=rng, settings=settings, progress=progress
                    )
            except SolverError as error:
                notes.append(f"the reference samples were not scored: {error}")
        judgement = Judgement() if judging is None else judging.judge(sample, target, settings, rng=rng)
    points = (getattr(each, "sample", None) for each in taken.values())
    names = next((each.names for each in points if each is not None), sample.names)
    found, unjudged, doubts = judgement
    return Scores(replace(sample, names=names), tuple(taken.values()), references, found, unjudged, (*notes, *doubts))


def require_sampler(target: Target | None, settings: Mapping[str, Any]) -> Target:
    """Return the target if exact samples can be drawn from it within the bounds.

    Raises
    ------
    UsageError
        If it has no sampler, or the bounds are not its own.
    """
    truncated = settings.get("bounds") is not None and target is not None and target.bounds is None
    if target is None or not target.can_sample or truncated:
        got = "stored scores" if target is None else f"{target.label}{' with other bounds' if truncated else ''}"
        raise UsageError(f"a reference needs a target with a sampler, or reference_draws; got {got}")
    return target


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
    """Measure exact samples like those measured.

    Parameters
    ----------
    measured : sequence of Measurement
        Results of one measure. The tolerance is the largest of theirs, and at least 1e-3.
    target : Target, optional
        Target distribution; not needed with a run.
    n, repeats : int
        Effective size, and number of independent samples.
    run : LongRun, optional
        Exact run whose blocks are measured instead.
    rng : int, numpy.random.Generator or None
    settings : mapping
        Settings of the measurements.
    progress : bool

    Raises
    ------
    UsageError, SolverError
        As the measure does.
    """
    from steinkit.discrepancy.reference import reference_discrepancy

    reached = [getattr(each, "tolerance", 0.0) for each in measured]
    alike = {**settings, "tolerance": max([_REFERENCE_TOLERANCE, *reached]), "progress": False}
    units = getattr(measured[0], "units", None)
    if units is not None:  # if a sample is measured in its own units, so are the exact ones
        alike["units"] = "own" if units.kind == "own" else units
    take = partial(take_measure, measured[0].measure, settings=alike)
    if run is not None:
        return run.reference(target, n, progress=progress, discrepancy=take)
    source = require_sampler(target, settings)
    return reference_discrepancy(source, n, repeats, rng=rng, progress=progress, discrepancy=take)
