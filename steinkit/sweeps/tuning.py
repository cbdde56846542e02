"""Tuning of samplers by successive halving at a given cost.

Chains are scored by Stein's method.

All k settings run with short chains from S seeds, the best third of them with chains three times as long, and so on,
until one setting has chains of full length. With n_r settings of length l_r on rung r, this costs sum n_r l_r of the
k l in the full grid, for instance 4 of 27. The lengths are then scaled to the given cost.

A longer chain is run with the same seed. Because samplers use the same random numbers for any number of draws, the
shorter chain is its beginning. The cells of all rungs are stored in one file, so tuning can be resumed. Running the
beginnings again costs at most a third.

A rung is ordered by the first measure that can order its settings (`steinkit.sweeps.choice.ranking`): the number of
settings that continue must have values in more than half of their cells, and the values of the best one must be
reliable. Biases of multimodal draws are not.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np

from steinkit.arguments import positive
from steinkit.errors import Caution, UsageError, cautious
from steinkit.measures.scoring import Judgement, Judging
from steinkit.sample import Sample
from steinkit.sweeps.cells import Cell, Setting
from steinkit.sweeps.choice import ranking
from steinkit.sweeps.plan import Plan, make_plan
from steinkit.sweeps.result import TuningResult
from steinkit.sweeps.run import execution, in_fixed_units
from steinkit.sweeps.sampler import SweptSampler
from steinkit.sweeps.scheduler import Losses, Rung, Stage, climb, ladder
from steinkit.sweeps.tasks import run_chains
from steinkit.target import Target

DEFAULT_COST, DEFAULT_SEEDS = 0.15, 3
MEASURES = ("bias", "sliced", "moments")
_BURN_IN = 0.2  # fraction of each chain that is discarded
_SCORED, _LEAST = 1000, 200  # largest numbers of scored draws, of full chains and of short ones


@cautious
def tune(
    target: Target | str,
    sampler: str | Callable[..., Any],
    *,
    grid: Mapping[str, Sequence[Any]],
    options: Mapping[str, Any] | None = None,
    cost: float = DEFAULT_COST,
    seeds: int | Sequence[int] = DEFAULT_SEEDS,
    measures: Sequence[str] = MEASURES,
    target_options: Mapping[str, Any] | None = None,
    max_seconds: float | None = None,
    file: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
    label: str = "",
) -> TuningResult:
    """Choose a sampler's settings at a fraction of the cost of a sweep.

    Settings are compared by successive halving.

    Parameters
    ----------
    target : Target or str
        As for `sweep`.
    sampler : str or callable
        As for `sweep`. A user's function must use the same random numbers for any number of draws.
    grid : mapping of str to sequence
        Options of the sampler, with the values to try.
    options : mapping, optional
        Options that are the same for all settings. ``budget`` (likelihood evaluations of single data points) or
        ``draws`` is the full length of a chain.
    cost : float
        Fraction of the cost of the full grid to spend on the choice. The chain for the verdict is not included.
    seeds : int or sequence of int
        Seeds of the chains of every setting, as for `sweep`.
    measures : sequence of str
        Measures in the order of preference; a rung uses the first that can order its settings.
    target_options : mapping, optional
        Options of a target given by its name.
    max_seconds : float, optional
        Wall time in seconds after which no further rung begins. The choice is then the best setting of the last rung.
    file : path, optional
        SQLite file in which every finished cell is committed. A later call resumes from it.
    n_jobs : int, optional
        Number of parallel workers, as for `sweep`.
    progress : bool
        If True, show the progress on standard error.
    label : str
        Text that is part of the identity of every cell, as for `sweep`.

    Returns
    -------
    TuningResult
        The result. It does not depend on the number of jobs, the backend, or interruptions, except for times.

    Raises
    ------
    UsageError
        As for `sweep`; or if `cost` or a length is out of range, or ``burn_in`` is given: the first fifth of each chain
        is discarded.
    InputError
        If no setting of a rung can be scored, or no measure can order the settings.

    Notes
    -----
    The cost counts sampling. Scores are not included, nor are chains that define the units of slices and moments.

    Examples
    --------
    >>> import steinkit as sk
    >>> found = sk.tune(
    ...     sk.targets.LogisticRegression.nodal(), "sgld", grid={"step_size": [1e-4, 1e-3, 0.03, 1.0]},
    ...     options={"batch_size": 10, "budget": 50_000}, seeds=1, cost=0.5,
    ... )
    >>> found.setting
    {'step_size': 0.03}
    """
    given: dict[str, Any] = {"options": options, "seeds": seeds, "measures": measures, "label": label}
    plan = make_plan(target, sampler, grid=grid, target_options=target_options, **given)
    return run_tuning(plan, cost, max_seconds, file=file, n_jobs=n_jobs, progress=progress)


def run_tuning(
    plan: Plan,
    cost: float,
    max_seconds: float | None = None,
    *,
    file: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> TuningResult:
    """Run the rungs, and test a fresh chain of the remaining setting.

    The parameters are those of `tune`.
    """
    if max_seconds is not None:
        positive(max_seconds, "max_seconds")
    began = time.monotonic()
    resource, full = _length_of(plan)
    counts = ladder(len(plan.settings), full, cost)
    most = [*(settings for settings, _ in counts[1:]), 1]
    stages = [Stage(plan.seeds, length, left) for (_, length), left in zip(counts, most, strict=True)]
    done: dict[str, tuple[int, Cell]] = {}
    rungs: list[Rung] = []
    cells = sum(settings for settings, _ in counts) * len(plan.seeds)
    with execution(plan, cells, file, n_jobs, progress) as running:
        known = replace(plan.configuration, label=f"{plan.configuration.label} tuned".strip())
        plan = replace(plan, sampler=_Latter(**vars(plan.sampler), full=full), configuration=known)
        scaled, notes = in_fixed_units(plan.with_options(**{resource: stages[0].length}), running.store)

        def losses_of(stage: Stage, settings: Sequence[int]) -> tuple[str, Losses]:
            longer = scaled.with_options(**{resource: stage.length})
            found = running.cells(longer, [(setting, seed) for setting in settings for seed in plan.seeds])
            done.update({longer.fingerprint(*each): (stage.length, cell) for each, cell in found.items()})
            return ranking({i: [found[i, seed] for seed in plan.seeds] for i in settings}, plan.measures, stage.most)

        for rung in climb(plan.settings, stages, losses_of, {}):
            rungs.append(rung)
            if len(rungs) < len(stages) and max_seconds is not None and time.monotonic() - began > max_seconds:
                notes = (*notes, Caution(f"time ran out after chains of {rung.length} of {full} {resource}"))
                break
        best, last = rungs[-1].kept[0], rungs[-1].length
        longest = [cell for length, cell in done.values() if length == last and cell.settings == best]
        judged = _fresh(replace(plan, settings=(best,)))
        if last < full and len(rungs) == len(stages):
            notes = (*notes, f"a cost of {cost:g} allows chains of {last} of {full} {resource}")
        bias, margin = _bias_of(longest)
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
            full_seconds=median(cell.seconds * full / last for cell in longest) * len(plan.places),
            verdict=judged.verdict,
            unjudged=judged.unjudged,
            configuration=scaled.configuration,
            warnings=(*notes, *judged.notes),
        )
        running.store.keep(result)
    return result


@dataclass(frozen=True)
class _Latter(SweptSampler):
    """Sampler that discards the first fifth of its chains.

    The other draws are thinned to the number of scored draws.
    """

    full: int

    def run(self, target: Target, options: Setting, seeds: Sequence[int]) -> list[Sample]:
        length = options["budget"] if "budget" in options else options["draws"]
        most = max(_LEAST, _SCORED * length // self.full)
        return [_latter(sample, most) for sample in super().run(target, options, seeds)]


def _latter(sample: Sample, most: int) -> Sample:
    left = len(sample) - int(_BURN_IN * len(sample))
    return sample[np.sort(len(sample) - 1 - np.arange(min(left, most)) * max(1, left // most))]


def _length_of(plan: Plan) -> tuple[str, int]:
    """Return the unit of a chain's length, and the full length."""
    options = plan.configuration.options
    if "burn_in" in options | plan.settings[0]:
        raise UsageError("burn_in must not be given: tuning discards the first fifth of each chain")
    resource = "budget" if "budget" in options else "draws"
    full = options.get(resource)
    if resource in plan.settings[0] or isinstance(full, bool) or not isinstance(full, int):
        raise UsageError(f"the full length of a chain, budget or draws, must be a fixed whole number; got {full!r}")
    return resource, full


def _bias_of(cells: Sequence[Cell]) -> tuple[float | None, float | None]:
    """Return the medians of the bias and its margin over the seeds.

    Both are None unless more than half of them are reliable.
    """
    known = [cell.measures["bias"] for cell in cells if "bias" in cell.measures and not cell.measures["bias"].unknown]
    if 2 * len(known) <= len(cells):
        return None, None
    return median(each.value for each in known), median(each.margin or 0.0 for each in known)


def _fresh(plan: Plan) -> Judgement:
    """Test a chain from a seed that was not used for the choice."""
    (chain,) = run_chains(plan, 0, [max(plan.seeds) + 1])
    if chain.sample is None:
        return Judgement(None, chain.reason)
    return Judging().judge(chain.sample, plan.target, {}, rng=0)
