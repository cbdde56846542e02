"""Tuning at a budget: successive halving by chain lengths (`steinkit.sweeps.scheduler`), scored by Stein's method.

All k settings run for a short while from S seeds each, the best third of them three times as long, and so on, until
one has chains of full length. With n_r settings of length l_r in rung r that costs sum n_r l_r of the k in the full
grid, where beginnings count each time: 4 of 27. Lengths are then stretched, or cut, to what may be spent.

A chain goes on from its beginning: it is the chain of the same seed run longer, for samplers draw the same numbers from
a seed however many they draw. So it is one long run to the last bit, whatever was interrupted and wherever it went on,
and a rung is cells of a sweep, with records of their own. To draw the beginnings again is the price, a third at most.

A rung goes by the first measure that knows its order (`steinkit.sweeps.choice.ranking`): by which as many settings as
go on have values in more than half of their seeds, and the best one has values that may be stated. Biases between modes
are none.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np

from steinkit.arguments import positive, require_mappings, whole
from steinkit.errors import Caution, UsageError, cautious
from steinkit.measures.scoring import Judgement, Judging
from steinkit.sample import Sample
from steinkit.sweeps.cells import Cell
from steinkit.sweeps.choice import ranking
from steinkit.sweeps.plan import Plan, make_plan
from steinkit.sweeps.result import TuningResult
from steinkit.sweeps.run import Execution, Workplace
from steinkit.sweeps.sampler import SweptSampler
from steinkit.sweeps.scheduler import Losses, Rung, Stage, climb, ladder
from steinkit.sweeps.tasks import run_chains
from steinkit.sweeps.units import in_fixed_units
from steinkit.target import Target
from steinkit.text import setting_key

DEFAULT_COST, DEFAULT_SEEDS, DEFAULT_SETTINGS = 0.15, 3, 27
MEASURES = ("bias", "sliced", "moments")
_LEFT_OUT = 0.2  # of each chain
_SCORED, _LEAST = 1000, 200  # draws that are scored of the rest, at most: of full chains, and of short ones
_FEW = 100  # scored draws of a first rung


@cautious
def tune(
    target: Target | str,
    sampler: str | Callable[..., Any],
    *,
    grid: Mapping[str, Sequence[Any]] | None = None,
    ranges: Mapping[str, Sequence[float]] | None = None,
    settings: int = DEFAULT_SETTINGS,
    options: Mapping[str, Any] | None = None,
    cost: float = DEFAULT_COST,
    seeds: int | Sequence[int] = DEFAULT_SEEDS,
    measures: Sequence[str] = MEASURES,
    target_options: Mapping[str, Any] | None = None,
    max_seconds: float | None = None,
    file: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    backend: str = "loky",
    scheduler: str | None = None,
    progress: bool = False,
    label: str = "",
) -> TuningResult:
    """Choose a sampler's setting at a part of a grid's cost: all settings for a short while, the better ones longer.

    Parameters
    ----------
    target : Target or str
        As `sweep` takes it.
    sampler : str or callable
        As `sweep` takes it. One of your own must draw the same from a seed, however many draws are asked for.
    grid : mapping of str to sequence, optional
        Options of the sampler, with the values to try.
    ranges : mapping of str to two numbers, optional
        In place of a grid, options with their lower and upper ends, positive: `settings` of Sobol's points are tried,
        log-uniform in between, and whole where both ends are.
    settings : int
        How many.
    options : mapping, optional
        Options that are the same throughout. ``budget``, gradient evaluations of a chain, or ``draws`` is its full
        length.
    cost : float
        Share of the cost of the full grid that may be spent on the choice. The verdict's chain comes on top.
    seeds : int or sequence of int
        As `sweep` takes them: each setting runs a chain of each.
    measures : sequence of str
        What to go by: a rung goes by the first that knows its order.
    target_options : mapping, optional
        Options of a target given by its name.
    max_seconds : float, optional
        Wall time after which no further rung is begun; the choice is then the best of the last one.
    file : path, optional
        SQLite file in which every finished cell is kept at once; a later call goes on from there.
    n_jobs : int, optional
        Worker processes, -1 for all processors.
    backend : str
        "loky", "dask" or "ray".
    scheduler : str, optional
        Address of the cluster.
    progress : bool
        Whether to show a bar on standard error.
    label : str
        Part of what tells the cells of a sampler of your own apart, as `sweep` takes it.

    Returns
    -------
    TuningResult
        The same, times aside, for any number of jobs, any backend, and whether it was interrupted or not.

    Raises
    ------
    UsageError
        As `sweep` does; or if cost, a range or a length is out of range, or there is a burn_in: the first fifth of each
        chain is left out.
    InputError
        If no setting of a rung can be scored, or none of the measures may order them.

    Notes
    -----
    Costs are of sampling. Scores come on top, as they do in a full grid, and up to eight chains of the shortest length
    that give slices and moments a scale where the target cannot be drawn from.

    Examples
    --------
    >>> import steinkit as sk
    >>> found = sk.tune(
    ...     sk.targets.LogisticRegression.nodal(), "sgld", ranges={"step_size": (1e-4, 1.0)}, settings=9,
    ...     options={"batch_size": 10, "budget": 50_000}, seeds=1, cost=0.5,
    ... )
    >>> 0.001 < found.setting["step_size"] < 0.3
    True
    """
    require_mappings(ranges=ranges)
    columns = grid if ranges is None else dict(ranges)
    if columns is None or (grid is not None and ranges is not None):
        raise UsageError("give either grid=, values of options, or ranges=, their ends")
    given: dict[str, Any] = {"options": options, "seeds": seeds, "measures": measures, "label": label}
    plan = make_plan(target, sampler, grid=columns, target_options=target_options, **given)
    if ranges is not None:
        plan = replace(plan, settings=sobol_settings(ranges, settings))
    return run_tuning(plan, cost, Workplace(file, n_jobs, backend, scheduler, progress), max_seconds)


def run_tuning(plan: Plan, cost: float, place: Workplace, max_seconds: float | None = None) -> TuningResult:
    """Go up the ladder, and judge a fresh chain of the setting that is left; parameters and errors of `tune`."""
    if max_seconds is not None:
        positive(max_seconds, "max_seconds")
    began = time.monotonic()
    resource, full = _length_of(plan)
    counts = ladder(len(plan.settings), full, cost)
    most = [*(count for count, _ in counts[1:]), 1]
    stages = [Stage(plan.seeds, length, left) for (_, length), left in zip(counts, most, strict=True)]
    done: dict[str, tuple[int, Cell]] = {}
    rungs: list[Rung] = []
    with place.open(plan, sum(count for count, _ in counts) * len(plan.seeds)) as (store, workers):
        plan = replace(plan, sampler=_Latter(**vars(plan.sampler), full=full), label=f"{plan.label} tuned".strip())
        short = replace(plan, options=plan.options | {resource: stages[0].length})  # whose chains may fix the scale
        scaled, notes = in_fixed_units(short, store, workers)

        def losses_of(stage: Stage, settings: Sequence[int]) -> tuple[str, Losses]:
            longer = replace(scaled, options=plan.options | {resource: stage.length})
            execution = Execution(longer, store, workers, place.progress)
            found = execution.cells([(setting, seed) for setting in settings for seed in plan.seeds])
            done.update({longer.fingerprint(*each): (stage.length, cell) for each, cell in found.items()})
            return ranking({i: [found[i, seed] for seed in plan.seeds] for i in settings}, plan.measures, stage.most)

        for rung in climb(plan.settings, stages, losses_of, {}):
            rungs.append(rung)
            if len(rungs) < len(stages) and max_seconds is not None and time.monotonic() - began > max_seconds:
                notes = (*notes, Caution(f"time ran out after chains of {rung.length} of {full} {resource}"))
                break
        best, last = rungs[-1].kept[0], rungs[-1].length
        cells = [cell for length, cell in done.values() if length == last and cell.settings == best]
        judged = _fresh(replace(plan, settings=(best,), options=plan.options | {resource: full}))
        if last < full and len(rungs) == len(stages):
            notes = (*notes, f"cost {cost:g} pays chains of {last} of {full} {resource} at most")
        if min((cell.draws for length, cell in done.values() if length == stages[0].length), default=_FEW) < _FEW:
            said = f"the first rung's chains have fewer than {_FEW} draws to be scored: its order is rough"
            notes = (*notes, said)
        bias, margin = _bias_of(cells)
        result = TuningResult(
            dict(best),
            bias,
            margin,
            tuple(rungs),
            plan.seeds,
            resource,
            spent=sum(length for length, _ in done.values()),
            full=full * len(plan.places),
            seconds=math.fsum(cell.seconds for _, cell in done.values()),
            full_seconds=median(cell.seconds * full / last for cell in cells) * len(plan.places),
            verdict=judged.verdict,
            unjudged=judged.unjudged,
            configuration=scaled.configuration,
            warnings=(*notes, *judged.notes),
        )
        store.keep(result)
    return result


@dataclass(frozen=True)
class _Latter(SweptSampler):
    """A sampler of whose chains some draws are scored, evenly spread, and none of the first fifth."""

    full: int

    def run(self, target: Target, options: Mapping[str, Any], seeds: Sequence[int]) -> list[Sample]:
        length = options["budget"] if "budget" in options else options["draws"]
        most = max(_LEAST, _SCORED * length // self.full)
        return [_latter(sample, most) for sample in super().run(target, options, seeds)]


def _latter(sample: Sample, most: int) -> Sample:
    left = len(sample) - int(_LEFT_OUT * len(sample))
    return sample[np.sort(len(sample) - 1 - np.arange(min(left, most)) * max(1, left // most))]


def sobol_settings(ranges: Mapping[str, Sequence[float]], count: int) -> tuple[dict[str, Any], ...]:
    """Settings spread evenly over ranges of options, log-uniform, fewer where whole numbers are met twice.

    Raises
    ------
    UsageError
        If a range is not two positive numbers, the lower first, or count is below 2.
    """
    from scipy.stats.qmc import Sobol

    whole(count, "settings", 2)
    columns = []
    points = Sobol(len(ranges), scramble=False).random_base2(math.ceil(math.log2(count + 1)))[1 : count + 1]
    for (name, ends), places in zip(ranges.items(), points.T, strict=True):
        numbers = all(isinstance(end, int | float) and not isinstance(end, bool) for end in ends)
        if not numbers or len(ends) != 2 or not 0.0 < ends[0] < ends[1] < sys.float_info.max:
            raise UsageError(f"the range of {name} must be two positive numbers, the lower first; received {ends!r}")
        values = ends[0] * (ends[1] / ends[0]) ** places
        is_whole = any(isinstance(end, int) for end in ends) and all(end == int(end) for end in ends)
        rounded = [round(value) if is_whole else float(f"{value:.4g}") for value in values.tolist()]
        columns.append([min(max(each, ends[0]), ends[1]) for each in rounded])
    found = [dict(zip(ranges, row, strict=True)) for row in zip(*columns, strict=True)]
    return tuple({setting_key(setting): setting for setting in found}.values())


def _length_of(plan: Plan) -> tuple[str, int]:
    """In what a chain's length is counted, and the full one."""
    if "burn_in" in plan.options or "burn_in" in plan.settings[0]:
        raise UsageError("burn_in is not for tuning, which leaves out the first fifth of each chain; leave it out")
    resource = "budget" if "budget" in plan.options else "draws"
    full = plan.options.get(resource)
    if resource in plan.settings[0] or isinstance(full, bool) or not isinstance(full, int):
        raise UsageError("the full length of a chain must be a fixed option: budget, gradient evaluations, or draws")
    return resource, full


def _bias_of(cells: Sequence[Cell]) -> tuple[float | None, float | None]:
    """Median over the seeds of the bias, and of its margin, where more than half of them know it."""
    known = [cell.measures["bias"] for cell in cells if "bias" in cell.measures and not cell.measures["bias"].unknown]
    if 2 * len(known) <= len(cells):
        return None, None
    return median(each.value for each in known), median(each.margin or 0.0 for each in known)


def _fresh(plan: Plan) -> Judgement:
    """The verdict on a chain from another seed, or why there is none, and what to know of it."""
    (chain,) = run_chains(plan, 0, [max(plan.seeds) + 1])
    if chain.sample is None:
        return Judgement(None, chain.reason)
    return Judging().judge(chain.sample, plan.target, {}, rng=0)
