"""Computation of measures, references and verdicts for samples."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from steinkit.diagnosis.verdict import require_sensible, verdict
from steinkit.diagnosis.verdict_result import Verdict
from steinkit.discrepancy.reference import LongRun, effective_size, reference_discrepancy
from steinkit.errors import Caution, InputError, SolverError, SteinkitError, UsageError, leave_to_results
from steinkit.measurement import Measurement, Reference
from steinkit.measures import find_measure, take_measure
from steinkit.measures.options import Measure
from steinkit.measures.scores import Scores
from steinkit.runtime.compilation import small_work
from steinkit.runtime.deadlines import Shares, seconds_left, time_limit
from steinkit.runtime.progress import progress_bar, watched
from steinkit.sample import Sample
from steinkit.target import Seed, Target

Options = Mapping[str, Any]

LEVEL = 0.01
"""Default significance level. Samples with smaller p-values are rejected."""
_REFERENCE_TOLERANCE = 1e-3  # the variation among exact samples is much larger


class Judgement(NamedTuple):
    """Verdict on a sample, or the reason why there is no verdict.

    Attributes
    ----------
    verdict : Verdict or None
    unjudged : str or None
        Reason why there is no verdict, or None if no verdict was requested.
    exit_code : int
        Exit code of a command without a verdict.
    """

    verdict: Verdict | None = None
    unjudged: str | None = None
    exit_code: int = InputError.exit_code

    @property
    def notes(self) -> tuple[str, ...]:
        """Warnings from the verdict, or a warning that the verdict is missing."""
        if self.unjudged is not None:
            return (Caution(f"there is no verdict: {self.unjudged}"),)
        return self.verdict.warnings if self.verdict is not None and self.verdict.enough_draws else ()


@dataclass(frozen=True, eq=False)
class ComparedSample:
    """Results for one of the compared samples.

    Attributes
    ----------
    name : str
    sample : Sample, optional
        The sample, or None if the draws could not be read.
    measurements : mapping of str to Measurement
        Results, keyed by measure.
    errors : mapping of str to SteinkitError
        Errors raised for the other measures.
    verdict : Verdict or None
    unjudged : str or None
        Reason why there is no verdict, or None if no verdict was requested.
    effective : int or None
        Effective size of the exact reference samples, or None if there are none.
    """

    name: str
    sample: Sample | None
    measurements: Mapping[str, Measurement]
    errors: Mapping[str, SteinkitError]
    verdict: Verdict | None = None
    unjudged: str | None = None
    effective: int | None = None

    @property
    def draws(self) -> int:
        """Number of draws, or 0 if no draws could be read."""
        return 0 if self.sample is None else len(self.sample)

    @property
    def size(self) -> int:
        """Effective size of the exact reference samples."""
        return self.effective or self.draws

    @property
    def reasons(self) -> str:
        """Reasons for missing measures."""
        return "; ".join(f"{measure}: {error}" for measure, error in self.errors.items())

    @property
    def notes(self) -> tuple[str, ...]:
        """Warnings from the measures and the verdict."""
        taken = (note for each in self.measurements.values() for note in each.warnings)
        return (*taken, *Judgement(self.verdict, self.unjudged).notes)


@dataclass(frozen=True)
class Judging:
    """Options for the computation of verdicts.

    Attributes
    ----------
    level : float
        Level of the test.
    matters : float, optional
        Smallest bias that matters, in standard units.
    analyses : int
        Number of analyses of a growing run.
    score_batch : int, optional
        Number of data points per score. By default, all data points are used.
    """

    level: float = LEVEL
    matters: float | None = None
    analyses: int = 1
    score_batch: int | None = None

    def __post_init__(self) -> None:
        require_sensible(self.level, self.matters, self.analyses)

    def judge(self, sample: Sample, target: Target | None, settings: Options, *, rng: Seed) -> Judgement:
        """Return the verdict on a sample, or the reason why there is no verdict.

        Parameters
        ----------
        sample : Sample
        target : Target, optional
            Target distribution. If there is neither a target nor stored scores, there is no verdict and no warning.
        settings : mapping
            Settings of the measures. The setting "bounds" also applies to the verdict.
        rng : int, numpy.random.Generator or None
        """
        if target is None and sample.scores is None:
            return Judgement()
        try:
            with warnings.catch_warnings():
                leave_to_results()
                found = verdict(sample, target, bounds=settings.get("bounds"), rng=rng, **vars(self))
        except SteinkitError as error:
            if isinstance(error, SolverError) and math.isfinite(seconds_left()):
                reason = "the time limit was too short; increase max_seconds (--max-seconds), or thin the draws"
                return Judgement(None, reason, error.exit_code)
            return Judgement(None, str(error))
        return Judgement(found)


def score_sample(
    sample: Sample,
    target: Target | None,
    measures: Sequence[Measure],
    settings: Options,
    *,
    exact: int | LongRun = 0,
    judging: Judging | None = None,
    rng: Seed = 0,
) -> Scores:
    """Compute the measures and the verdict for a sample.

    Exact samples are also measured, as a reference. If the computation of the verdict or a reference fails, a warning
    gives the reason.

    Parameters
    ----------
    sample : Sample
    target : Target, optional
    measures : sequence of Measure
    settings : mapping
        Settings by name. "max_seconds" applies to the measures, the references and the verdict together.
    exact : int or LongRun
        Number of independent samples to measure, each with the effective size of the sample. Alternatively, a long run,
        which is divided into blocks of this size.
    judging : Judging, optional
        Options of the verdict. By default, there is no verdict.
    rng : int, numpy.random.Generator or None
        Random seed for the independent samples and the verdict.

    Raises
    ------
    UsageError, InputError, SolverError
        See the functions of the measures.
    """
    names = tuple(measure.name for measure in measures)
    with time_limit(settings.get("max_seconds")), watched(settings.get("progress", False)), warnings.catch_warnings():
        leave_to_results()
        (found,), references, missing = score_samples(
            {"": sample}, target, names, settings, exact=exact, judging=judging, rng=rng
        )
    for error in found.errors.values():
        raise error
    points = (getattr(each, "sample", None) for each in found.measurements.values())
    sample = replace(sample, names=next((each.names for each in points if each is not None), sample.names))
    first = {name: each for name, (each, *_) in references.items()}
    notes = (*found.notes, *missing)
    return Scores(sample, tuple(found.measurements.values()), first, found.verdict, found.unjudged, notes)


def score_samples(
    samples: Mapping[str, Sample | SteinkitError],
    target: Target | None,
    measures: Sequence[str],
    settings: Options,
    *,
    exact: int | LongRun,
    judging: Judging | None,
    rng: Seed,
) -> tuple[list[ComparedSample], dict[str, tuple[Reference, ...]], list[str]]:
    """Compute the measures and verdicts for several samples.

    Exact samples with the same effective sizes are also measured, as a reference. See `score_sample`. Return the
    results, the reference values for each measure, and the reasons for any missing reference values.

    Raises
    ------
    UsageError
        If the settings exclude every measure of every sample.
    """
    sized = exact != 0
    steps = len(samples) * len(measures)
    shares = Shares(steps * (1 + sized) + len(samples) * (judging is not None))
    found: list[ComparedSample] = []
    several = len(samples) > 1  # for a single sample, the measures show their own progress bars
    own = {**settings, "progress": not several and settings.get("progress", False)}
    numbers = sum(each.points.size for each in samples.values() if isinstance(each, Sample))
    rate = max((find_measure(measure).plain_seconds for measure in measures), default=math.inf)
    planned = rate * numbers * (1 + (exact if isinstance(exact, int) else 1))
    with small_work(planned) if planned < math.inf else nullcontext():
        with progress_bar("measures", steps, shown=several and settings.get("progress", False)) as bar:
            for name, each in samples.items():
                measurements: dict[str, Measurement] = {}
                errors: dict[str, SteinkitError] = {}
                for measure in measures:
                    try:
                        if not isinstance(each, Sample):
                            raise each
                        with shares.one():
                            measurements[measure] = take_measure(measure, each, target, own)
                    except SteinkitError as error:
                        errors[measure] = error
                    bar.update()
                sample = each if isinstance(each, Sample) else None
                size = effective_size(sample) if sample is not None and sized else None
                found.append(ComparedSample(name, sample, measurements, errors, effective=size))
        failures = [error for each in found for error in each.errors.values()]
        if len(failures) == steps and all(isinstance(error, UsageError) for error in failures):
            raise failures[0]
        references: dict[str, tuple[Reference, ...]] = {}
        missing: list[str] = []
        for measure in measures if sized else ():
            measured = [each for each in found if measure in each.measurements and find_measure(measure).has_bracket]
            results = [each.measurements[measure] for each in measured]
            for n in sorted({each.size for each in measured}):
                try:
                    source = exact
                    if not isinstance(source, int):
                        source = source.like(next(each.sample for each in measured if each.sample))
                    with shares.one():
                        reference = _reference(results, target, n, source, rng, settings)
                    references[measure] = (*references.get(measure, ()), reference)
                except (SolverError, InputError) as error:
                    missing.append(f"the reference with {n} draws could not be measured by {measure}: {error}")
    for k, compared in enumerate(found):
        if judging is not None and compared.sample is not None and compared.measurements:
            with shares.one():
                judgement = judging.judge(compared.sample, target, settings, rng=rng)
            found[k] = replace(compared, verdict=judgement.verdict, unjudged=judgement.unjudged)
    return found, references, missing


def require_sampler(target: Target | None, settings: Options) -> Target:
    """Return the target if its sampler generates exact samples within the bounds.

    Raises
    ------
    UsageError
        If the target has no sampler, or if the bounds differ from those of the target.
    """
    truncated = settings.get("bounds") is not None and target is not None and target.bounds is None
    if target is None or not target.can_sample or truncated:
        got = "stored scores" if target is None else f"{target.label}{' with different bounds' if truncated else ''}"
        raise UsageError(f"a reference needs a target with a sampler, or reference_draws; got {got}")
    return target


def _reference(
    measured: Sequence[Measurement], target: Target | None, n: int, exact: int | LongRun, rng: Seed, settings: Options
) -> Reference:
    """Measure exact samples of effective size n.

    The settings are those of the measured samples, but the tolerance is at least 1e-3.
    """
    reached = [getattr(each, "tolerance", 0.0) for each in measured]
    shared = {**settings, "tolerance": max([_REFERENCE_TOLERANCE, *reached]), "progress": False}
    units = getattr(measured[0], "units", None)
    if units is not None:  # exact samples use their own units if the sample does
        shared["units"] = "own" if units.kind == "own" else units
    take = partial(take_measure, measured[0].measure, settings=shared)
    progress = settings.get("progress", False)
    if not isinstance(exact, int):
        return exact.reference(target, n, progress=progress, discrepancy=take)
    source = require_sampler(target, settings)
    return reference_discrepancy(source, n, exact, rng=rng, progress=progress, discrepancy=take)
