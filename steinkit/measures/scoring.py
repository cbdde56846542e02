"""Several measures of one sample, and of independent samples where they are wanted: what ``steinkit score`` takes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from steinkit.errors import SolverError, SteinkitWarning
from steinkit.measures.base import Measure, Measurement
from steinkit.measures.independent_samples import measured_reference
from steinkit.measures.registry import take_measure
from steinkit.sample import Sample
from steinkit.target import Seed, Target

if TYPE_CHECKING:
    from steinkit.discrepancy.reference import Reference


@dataclass(frozen=True, eq=False)
class Scores:
    """What was measured.

    Attributes
    ----------
    sample : Sample
        Under the names that the measures gave its coordinates: the target's, where nobody named them.
    measurements : tuple of Measurement
    references : mapping of str to Reference
        By the measures that independent samples were scored by.
    warnings : tuple of str
    """

    sample: Sample
    measurements: tuple[Measurement, ...]
    references: Mapping[str, Reference]
    warnings: tuple[str, ...]


def score_sample(
    sample: Sample,
    target: Target | None,
    measures: Sequence[Measure],
    settings: Mapping[str, Any],
    *,
    repeats: int = 0,
    rng: Seed = 0,
) -> Scores:
    """Take measures of a sample, then of independent samples, of which one that fails does not cost the others.

    Parameters
    ----------
    sample : Sample
    target : Target, optional
    measures : sequence of Measure
    settings : mapping
        Of all the measures, by their names.
    repeats : int
        How many independent samples to measure; the target must be one that can be drawn from.
    rng : int, numpy.random.Generator or None
        Seed of the independent samples.

    Raises
    ------
    UsageError, InputError, SolverError
        As the measures do.
    """
    references: dict[str, Reference] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SteinkitWarning)  # what they say is in the results' warnings too
        taken = tuple(take_measure(measure.name, sample, target, settings) for measure in measures)
        notes = [note for each in taken for note in each.warnings]
        for measure, each in zip(measures, taken, strict=True):
            if target is None or not repeats or not measure.has_bracket:
                continue
            try:
                references[measure.name] = measured_reference(
                    [each],
                    target,
                    len(sample),
                    repeats,
                    rng=rng,
                    settings=settings,
                    progress=settings.get("progress", False),
                )
            except SolverError as error:  # the sample's own answer stands
                notes.append(f"the reference samples were not scored: {error}")
    named = (each.result.sample for each in taken if hasattr(each.result, "sample"))
    names = next((points.names for points in named if points is not None), sample.names)
    return Scores(replace(sample, names=names), taken, references, tuple(notes))
