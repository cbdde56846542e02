"""Comparison and ranking of several samples of one target."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from steinkit.arguments import require_flags, require_mappings, require_type, whole
from steinkit.comparison_result import Comparison
from steinkit.containers.objects import is_xarray
from steinkit.containers.reading import DrawsLike, as_sample
from steinkit.discrepancy.reference import LongRun
from steinkit.errors import Caution, SteinkitError, UsageError, about, cautious
from steinkit.measures import default_measure, find_measure, require_taken
from steinkit.measures.options import units_of_several
from steinkit.measures.scoring import ComparedSample, Judging, require_sampler, score_samples
from steinkit.runtime.deadlines import time_limit
from steinkit.sample import Sample
from steinkit.target import Seed, Target


@cautious
def compare(
    samples: Mapping[str, DrawsLike],
    target: Target | None = None,
    *,
    measures: str | Sequence[str] | None = None,
    verdict: bool = True,
    matters: float | None = None,
    analyses: int = 1,
    reference: int = 0,
    reference_draws: DrawsLike | LongRun | None = None,
    rng: Seed = 0,
    progress: bool = False,
    settings: Mapping[str, object] | None = None,
    **changes: Any,
) -> Comparison:
    """Test and measure several samples and rank them by their certified brackets.

    A sample that cannot be measured is listed together with the reason. If the samples have different sizes, a warning
    is issued. A discrepancy decreases as draws are added, so a better sampler with fewer draws can rank lower.

    Parameters
    ----------
    samples : mapping of str to Sample or array_like
        The samples by name.
    target : Target, optional
        Target distribution. A target is not required if all samples store scores, or for the measure "ess".
    measures : str or sequence of str, optional
        Names from `steinkit.measures.measure_names`. The default is "graph" in up to two dimensions or with a diffusion
        operator, and "sliced" otherwise.
    verdict : bool
        If True, every sample is also tested with `steinkit.verdict` because even the best sample may be biased.
    matters : float, optional
        Smallest bias that matters. See `steinkit.verdict`.
    analyses : int
        Number of analyses of a growing run. See `steinkit.verdict`.
    reference : int
        Number of independent samples from the target that are measured for each effective size of the samples.
    reference_draws : Sample, array_like or LongRun, optional
        Draws of an exact long run. If given, blocks of this run are measured instead of independent samples.
    rng : int, numpy.random.Generator or None
        Random seed for the independent samples and the verdicts.
    progress : bool
        If True, progress is shown on standard error.
    settings : mapping, optional
        Settings of the measures by name. ``max_seconds`` applies to the measures, the verdicts and the references
        together.
    **changes
        Settings that override `settings`, such as ``tolerance=1e-3``. Each setting must belong to at least one of the
        measures.

    Returns
    -------
    Comparison
        Results of every sample, and the ranking by each measure.

    Raises
    ------
    UsageError
        If there is no sample or measure, if a measure or setting is not known, if the target has no sampler for the
        reference, or if no sample can be measured with these settings.

    Examples
    --------
    >>> import numpy as np
    >>> import steinkit as sk
    >>> draws = np.random.default_rng(0).standard_normal(500)
    >>> sk.compare({"shifted": draws + 1.0, "exact": draws}, sk.targets.Normal([0.0])).ranking
    {'graph': (('exact',), ('shifted',))}
    """
    require_mappings(settings=settings)
    require_flags(verdict=verdict)
    shared = {**(settings or {}), **changes, "progress": progress}
    if not isinstance(samples, Mapping) or is_xarray(samples) or not samples:
        got = "none" if isinstance(samples, Mapping) and not len(samples) else type(samples).__name__
        raise UsageError(f"`samples` must be a mapping of names to samples, such as {{'nuts': draws}}; got {got}")
    known = {name: _read(draws) for name, draws in samples.items()}
    readable = [each for each in known.values() if isinstance(each, Sample)]
    if measures is None:
        measures = default_measure(readable[0].dim if readable else 1, operator=shared.get("operator"))
    measures = [measures] if isinstance(measures, str) else measures
    require_type((list, tuple), "a measure or a list of measures", measures=measures)
    require_type(str, "the name of a measure", **{f"measures[{i}]": each for i, each in enumerate(measures)})
    measures = tuple(dict.fromkeys(measures))
    if not measures:
        raise UsageError("`measures` must name one or more measures, such as graph; got an empty list")
    require_taken(changes, measures)
    judging = Judging(matters=matters, analyses=analyses) if verdict else None
    run = reference_draws
    if not (run is None or isinstance(run, LongRun)):
        run = LongRun(as_sample(run), "the long run")
    reference = whole(reference, "reference", 0)
    if reference:
        require_sampler(target, shared)
        if run is not None:
            raise UsageError("`reference` and `reference_draws` are mutually exclusive; omit one of them")
    notes: tuple[str, ...] = ()
    with time_limit(shared.get("max_seconds")):
        if any("units" in find_measure(name).options for name in measures):
            shared["units"], notes = units_of_several(readable, target, shared)
        found, references, missing = score_samples(
            known, target, measures, shared, exact=run or reference, judging=judging, rng=rng
        )
    own = [about(each.name, note) for each in found for note in each.notes]
    warnings = (*dict.fromkeys([*notes, *own]), *missing, *_sizes(found))
    ranking = {measure: _rank(found, measure) for measure in measures}
    return Comparison(tuple(found), measures, ranking, references, shared.get("units"), warnings)


def _read(draws: DrawsLike) -> Sample | SteinkitError:
    """Return the sample or the error."""
    try:
        return as_sample(draws)
    except SteinkitError as error:
        return error


def _rank(found: Sequence[ComparedSample], measure: str) -> tuple[tuple[str, ...], ...]:
    """Rank the samples that the measure can rank."""
    taken = {each.name: each.measurements[measure] for each in found if measure in each.measurements}
    brackets = {
        name: (each.lower, each.upper)
        for name, each in taken.items()
        if not math.isnan(each.value) and not each.unranked
    }
    return rank_groups(brackets, smaller_is_better=find_measure(measure).smaller_is_better)


def rank_groups(
    brackets: Mapping[str, tuple[float, float]], *, smaller_is_better: bool = True
) -> tuple[tuple[str, ...], ...]:
    """Return groups of names with overlapping brackets, starting with the best.

    A measure does not distinguish two samples with overlapping brackets even if the midpoints differ. Overlap is not
    transitive because a wide bracket can overlap two disjoint brackets. Therefore, samples share a rank if a chain of
    overlapping brackets connects them. If two samples have different ranks, their brackets do not overlap. Brackets
    that share an endpoint also overlap. The names in a group are sorted by the midpoints of the brackets.
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
    """Return a warning if the samples have different numbers of draws."""
    sizes = {each.draws for each in found if each.measurements}
    if len(sizes) < 2:
        return []
    least = min(sizes)
    note = (
        f"the samples have {least} to {max(sizes)} draws, and every measure depends on the number of draws; to compare "
        f"samplers, use the first {least} draws of each"
    )
    return [Caution(note)]
