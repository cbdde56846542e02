"""What independent samples from the target score by a measure: the scale that a number is read on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from steinkit.measures.base import Measurement
from steinkit.measures.registry import all_options, take_measure
from steinkit.target import Seed, Target

if TYPE_CHECKING:
    from steinkit.discrepancy.reference import Reference

_TOLERANCE = 1e-3  # they differ among themselves by far more


def measured_reference(
    measured: Sequence[Measurement],
    target: Target,
    n: int,
    repeats: int,
    *,
    rng: Seed,
    settings: Mapping[str, Any],
    progress: bool,
) -> Reference:
    """Measure independent samples like those measured, as exactly as their spread deserves.

    Parameters
    ----------
    measured : sequence of Measurement
        Of one measure; none of the samples drawn is measured more exactly than the least exact of these.
    target : Target
    n, repeats : int
        Draws in a sample, and samples.
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
    reached = [getattr(each.result, "tolerance", 0.0) for each in measured]
    alike |= {"tolerance": max([_TOLERANCE, *reached]), "progress": False}
    take = partial(take_measure, measured[0].measure, settings=alike)
    return reference_discrepancy(target, n, repeats, rng=rng, progress=progress, discrepancy=take)
