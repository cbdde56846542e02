"""The work of a sweep, as functions that a worker can be given: run a setting's chains, and score them.

None raises what a setting, a sampler, a target or a solver does wrong, be it to leave Python: a cell holds the reason.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from steinkit.errors import SteinkitError
from steinkit.measures import take_measure
from steinkit.runtime.compilation import compile_from_now_on
from steinkit.sample import Sample
from steinkit.scored_sample import prepared_once
from steinkit.sweeps.cells import Cell, Measured
from steinkit.sweeps.plan import Plan
from steinkit.sweeps.sampler import quiet


class Chain(NamedTuple):
    """What running the chain of one seed gave: draws, or the reason why there are none."""

    seed: int
    sample: Sample | None
    reason: str | None
    seconds: float


def run_chains(plan: Plan, setting: int, seeds: Sequence[int]) -> list[Chain]:
    """Run the chains of one setting together, and apart where that fails, so that each fails for itself."""
    began = time.perf_counter()
    try:
        with quiet():
            drawn = plan.sampler.run(plan.target, plan.options | plan.settings[setting], seeds)
    except (Exception, SystemExit) as error:
        if len(seeds) == 1:
            return [Chain(seeds[0], None, _reason(error), time.perf_counter() - began)]
        half = len(seeds) // 2  # fewer runs than one by one, and chains do not depend on their company
        return [chain for part in (seeds[:half], seeds[half:]) for chain in run_chains(plan, setting, part)]
    share = (time.perf_counter() - began) / len(seeds)
    return [Chain(seed, each, None, share) for seed, each in zip(seeds, drawn, strict=True)]


def run_cells(plan: Plan, setting: int, seeds: Sequence[int]) -> Iterator[tuple[Cell, Sample | None]]:
    """Run the chains of one setting and score them; the draws of the plan's first seed are given back."""
    compile_from_now_on()  # other samples like it will follow
    for chain in run_chains(plan, setting, seeds):
        yield _scored(plan, setting, chain), chain.sample if chain.seed == plan.seeds[0] else None


def _scored(plan: Plan, setting: int, chain: Chain) -> Cell:
    """Take every measure of a chain; one that fails does not cost the others."""
    settings, sample = dict(plan.settings[setting]), chain.sample
    if sample is None:
        return Cell(settings, chain.seed, reason=chain.reason, sampling=chain.seconds)
    began = time.perf_counter()
    measures: dict[str, Measured] = {}
    reasons, notes = [], []
    with quiet(), prepared_once():
        for name in plan.measures:
            try:
                found = take_measure(name, sample, plan.target, plan.measure_settings)
            except (Exception, SystemExit) as error:
                reasons.append(f"{name}: {_reason(error)}")
                continue
            notes += [f"{name}: {note}" for note in found.warnings]
            measures[name] = Measured.of(found)
            if not all(map(math.isfinite, (measures[name].value, measures[name].lower, measures[name].upper))):
                del measures[name]
                reasons.append(f"{name}: the value is not finite")
    return Cell(
        settings,
        chain.seed,
        reason="; ".join(reasons) or None,
        draws=len(sample),
        cost_per_draw=None if sample.cost is None else float(sample.cost.max()) / len(sample),
        sampling=chain.seconds,
        scoring=time.perf_counter() - began,
        measures=measures,
        warnings=tuple(notes),
    )


def _reason(error: Exception | SystemExit) -> str:
    """Why, in one line: steinkit's own errors explain themselves."""
    text = " ".join(str(error).split())
    return text if isinstance(error, SteinkitError) else f"{type(error).__name__}: {text}"
