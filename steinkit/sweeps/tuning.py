"""Tuning at a budget: successive halving by chain lengths (`steinkit.sweeps.scheduler`), scored by Stein's method.

All k settings run for a short while from S seeds each, the best third of them three times as long, and so on, until
one has chains of full length. With n_r settings of length l_r in rung r that costs sum n_r l_r of the k in the full
grid, where beginnings count each time: 4 of 27. Lengths are then stretched, or cut, to what may be spent.

A chain goes on from its beginning: it is the chain of the same seed run longer, for samplers draw the same numbers from
a seed however many they draw. So it is one long run to the last bit, whatever was interrupted and wherever it went on,
and a rung is cells of a sweep, with records of their own. To draw the beginnings again is the price, a third at most.

A rung goes by the first measure that knows its order: by which as many settings as go on have values in more than half
of their seeds, and the best one has values that may be stated. (`steinkit.sweeps.choice.why_unranked`; biases between
modes are none.)
"""

from __future__ import annotations

import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from steinkit import __version__
from steinkit.arguments import positive, require_mappings, whole
from steinkit.errors import Caution, InputError, UsageError, cautious
from steinkit.measures import find_measure
from steinkit.measures.scoring import Judging
from steinkit.result import Result, cautioned, in_json, running_text
from steinkit.sample import Sample
from steinkit.sweeps.choice import UnrankedError, entry_of, loss_of, why_unranked
from steinkit.sweeps.execution import Execution, seconds_of
from steinkit.sweeps.plan import Plan, in_fixed_units
from steinkit.sweeps.run import Workplace, make_plan
from steinkit.sweeps.scheduler import Losses, Rung, Stage, climb, ladder
from steinkit.sweeps.store import Record
from steinkit.sweeps.tasks import Chain, SweptSampler, run_chains
from steinkit.sweeps.text import tuning_statements
from steinkit.target import Target
from steinkit.text import setting_key

if TYPE_CHECKING:
    from steinkit.diagnosis.verdict_result import Verdict

DEFAULT_COST, DEFAULT_SEEDS, DEFAULT_SETTINGS = 0.15, 3, 27
MEASURES = ("bias", "sliced", "moments")
_LEFT_OUT = 0.2  # of each chain
_SCORED, _LEAST = 1000, 200  # draws that are scored of the rest, at most: of full chains, and of short ones
_FEW = 100  # scored draws of a first rung


@dataclass(frozen=True, eq=False)
class TuningResult(Result):
    """The setting chosen, and what it rests on.

    Attributes
    ----------
    setting : dict
    bias, margin : float or None
        Of the setting's chains on the last rung, medians over the seeds, in standard deviations; None if not known.
    rungs : tuple of Rung
    seeds : tuple of int
    resource : str
        In what lengths are counted: "budget", gradient or likelihood evaluations of single data, or "draws".
    spent, full : int
        In that, by the choice, and what the full grid of all settings and seeds would have cost.
    seconds, full_seconds : float
        Work of all processes together, sampling and scores; and that of the full grid, judged by the last rung.
    verdict : Verdict or None
        On a fresh chain of full length, from a seed that took no part in the choice.
    unjudged : str or None
        Why there is none.
    warnings : tuple of str
        What a reader should know before the choice.
    """

    setting: dict[str, Any]
    bias: float | None
    margin: float | None
    rungs: tuple[Rung, ...]
    seeds: tuple[int, ...]
    resource: str
    spent: int
    full: int
    seconds: float
    full_seconds: float
    verdict: Verdict | None
    unjudged: str | None
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<TuningResult: {setting_key(self.setting)}, at {self.spent / self.full:.0%} of the full grid's cost>"

    def to_dict(self) -> dict[str, Any]:
        """List what ``steinkit tune --json`` prints.

        Returns
        -------
        dict
            Of strings, finite numbers, lists and dicts.
        """
        names = ["setting", "bias", "margin", "resource", "spent", "full", "seconds", "full_seconds", "unjudged"]
        names += ["seeds", "rungs", "verdict", "warnings"]
        return {name: in_json(getattr(self, name)) for name in names} | {"version": __version__}

    def summary(self) -> str:
        """Say which setting, its bias, what that cost, and whether a fresh chain may be used.

        Returns
        -------
        str
            Paragraphs, with a blank line between them.
        """
        return running_text([*tuning_statements(self.to_dict(), find_measure), *cautioned(self.warnings)])


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
    place = Workplace(file, n_jobs, backend, scheduler, progress)
    return run_tuning(plan, cost, place, max_seconds)


def run_tuning(plan: Plan, cost: float, place: Workplace, max_seconds: float | None = None) -> TuningResult:
    """Go up the ladder, and judge a fresh chain of the setting that is left; parameters and errors of `tune`."""
    if max_seconds is not None:
        positive(max_seconds, "max_seconds")
    began = time.monotonic()
    resource, full = _length_of(plan)
    rungs_of = ladder(len(plan.settings), full, cost)
    most = [*(count for count, _ in rungs_of[1:]), 1]
    stages = [Stage(plan.seeds, length, left) for (_, length), left in zip(rungs_of, most, strict=True)]
    done: dict[str, tuple[int, Record]] = {}
    rungs: list[Rung] = []
    notes: list[str] = []
    with place.open(plan, sum(count for count, _ in rungs_of) * len(plan.seeds)) as (store, workers):
        plan = replace(plan, sampler=_Latter(**vars(plan.sampler), full=full), label=f"{plan.label} tuned".strip())
        short = replace(plan, options=plan.options | {resource: stages[0].length})  # whose chains may fix the scale
        scaled, doubts = in_fixed_units(short, store, workers)
        store.write_documents(configuration=plan.document | {"racing": False}, tuning=None)

        def losses_of(stage: Stage, settings: Sequence[int]) -> tuple[str, Losses]:
            longer = replace(scaled, options=plan.options | {resource: stage.length})
            execution = Execution(longer, store, workers, place.progress)
            found = execution.records([(setting, seed) for setting in settings for seed in plan.seeds])
            notes.extend(execution.notes)
            done.update({record["cell"]: (stage.length, record) for record in found.values()})
            return _order({i: [found[i, seed] for seed in plan.seeds] for i in settings}, plan, stage.most or 1)

        for rung in climb(plan.settings, stages, losses_of, {}):
            rungs.append(rung)
            if len(rungs) < len(stages) and max_seconds is not None and time.monotonic() - began > max_seconds:
                notes.append(Caution(f"time ran out after chains of {rung.length} of {full} {resource}"))
                break
        best, last = rungs[-1].kept[0], rungs[-1].length
        cells = [record for length, record in done.values() if length == last and record["settings"] == best]
        bias, margin = _bias_of(cells)
        verdict, unjudged, said = _fresh(plan, best, resource, full)
        if stages[-1].length < full:
            notes.append(f"cost {cost:g} pays chains of {stages[-1].length} of {full} {resource} at most")
        draws = (record["draws"] for length, record in done.values() if length == stages[0].length)
        if min(draws, default=_FEW) < _FEW:
            notes.append(f"the first rung's chains have fewer than {_FEW} draws to be scored: its order is rough")
        spent = sum(length for length, _ in done.values()), full * len(plan.cells)
        each = statistics.median(seconds_of(record) * full / last for record in cells)
        seconds = math.fsum(seconds_of(record) for _, record in done.values()), each * len(plan.cells)
        chosen = dict(best), bias, margin, tuple(rungs), plan.seeds, resource
        warnings = (*doubts, *notes, *said)
        result = TuningResult(*chosen, *spent, *seconds, verdict, unjudged, warnings)
        store.write_documents(tuning=result.to_dict())
    return result


@dataclass(frozen=True)
class _Latter(SweptSampler):
    """A sampler of whose chains some draws are scored, evenly spread, and none of the first fifth."""

    full: int

    def run(self, target: Target, options: Mapping[str, Any], seeds: Sequence[int]) -> list[Chain]:
        length = options["budget"] if "budget" in options else options["draws"]
        most = max(_LEAST, _SCORED * length // self.full)
        return [(_latter(sample, most), acceptance) for sample, acceptance in super().run(target, options, seeds)]


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


def _order(cells: Mapping[int, Sequence[Record]], plan: Plan, wanted: int) -> tuple[str, Losses]:
    """The measure by which settings are ordered, and the losses by it: infinite where they may order nothing."""
    for name in plan.measures:
        losses = {i: statistics.median(_loss(record, name) for record in those) for i, those in cells.items()}
        best = cells[min(losses, key=losses.__getitem__)]
        is_known = math.isfinite(statistics.median(_loss(record, name, is_best=True) for record in best))
        if is_known and sum(map(math.isfinite, losses.values())) >= wanted:
            each = {(i, record["seed"]): _loss(record, name) for i, those in cells.items() for record in those}
            return name, {cell: (loss, loss) for cell, loss in each.items()}
    if not any(map(math.isfinite, losses.values())):
        reasons = (record["reason"] for those in cells.values() for record in those if record["reason"])
        raise InputError(f"no setting can be scored in half of its cells: {next(reasons, 'no value is known')}")
    reason = next(filter(None, (why_unranked(record, name, is_best=True) for record in best)), "too few are scored")
    raise UnrankedError(f"settings cannot be ordered by {', '.join(plan.measures)}: by measure {name}, {reason}")


def _loss(record: Record, name: str, is_best: bool = False) -> float:
    """Of a cell; infinite where it has none, or none by which settings may be ordered (or, if wanted, stated)."""
    return math.inf if why_unranked(record, name, is_best=is_best) else 0.5 * sum(loss_of(record, name))


def _bias_of(records: Sequence[Record]) -> tuple[float | None, float | None]:
    """Median over the seeds of the bias, and of its margin, where more than half of them know it."""
    known = [entry_of(record, "bias") for record in records if math.isfinite(_loss(record, "bias", is_best=True))]
    if 2 * len(known) <= len(records):
        return None, None
    return statistics.median(each["value"] for each in known), statistics.median(each["margin"] for each in known)


def _fresh(
    plan: Plan, best: Mapping[str, Any], resource: str, full: int
) -> tuple[Verdict | None, str | None, tuple[str, ...]]:
    """The verdict on a chain from another seed, or why there is none, and what to know of it."""
    options = plan.options | dict(best) | {resource: full}
    (run,) = run_chains(plan.target, plan.sampler, options, [max(plan.seeds) + 1])
    if run.sample is None:
        return None, run.reason, ()
    return Judging().judge(run.sample, plan.target, {}, rng=0)
