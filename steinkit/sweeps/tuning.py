"""Tuning of samplers by successive halving at a given total cost.

On the first rung, all k settings are run with short chains, with one chain per seed. The best third of the settings is
then run with chains three times as long, and so on, until one setting has chains of the full length l. With n_r
settings and chains of length l_r on rung r, the cost per seed is the sum of n_r l_r over the rungs. For the full grid,
the cost per seed is k l. For k = 27, the ratio of these costs is 4 to 27. The lengths are chosen to match the given
cost.

A longer chain is run with the same seed as the shorter chain. Samplers use the same random numbers regardless of the
number of draws, so the shorter chain equals the beginning of the longer chain. Running this initial segment again costs
at most a third as much as running the longer chain. All cells are stored in one file, and tuning can be resumed from
this file.

The settings of a rung are ordered by the first suitable measure (`steinkit.sweeps.choice.ranking`). A measure is
suitable if enough settings to fill the next rung have values in more than half of their cells, and if the values for
the best setting are reliable. Estimated biases of multimodal draws are not reliable.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np

from steinkit.errors import UsageError, cautious
from steinkit.measures.scoring import Judgement, Judging
from steinkit.sample import Sample
from steinkit.sweeps.cells import Cell, Setting
from steinkit.sweeps.choice import ranking
from steinkit.sweeps.plan import Plan, make_plan
from steinkit.sweeps.result import TuningResult
from steinkit.sweeps.run import Execution, execution, in_fixed_units
from steinkit.sweeps.sampler import SweptSampler
from steinkit.sweeps.scheduler import Rung, ladder
from steinkit.sweeps.tasks import run_chains
from steinkit.target import Target

DEFAULT_COST, DEFAULT_SEEDS = 0.15, 3
MEASURES = ("bias", "sliced", "moments")
_BURN_IN = 0.2  # fraction of each chain that is discarded
_SCORED, _LEAST = 1000, 200  # number of scored draws in a full chain, and minimum in a short chain


@cautious
def tune(
    target: Target | str,
    sampler: str | Callable[..., Any],
    *,
    grid: Mapping[str, Sequence[Any]],
    options: Mapping[str, object] | None = None,
    cost: float = DEFAULT_COST,
    seeds: int | Sequence[int] = DEFAULT_SEEDS,
    measures: Sequence[str] = MEASURES,
    target_options: Mapping[str, object] | None = None,
    file: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
    label: str = "",
) -> TuningResult:
    """Choose a sampler's settings at a fraction of the cost of a sweep.

    The settings are compared by successive halving.

    Parameters
    ----------
    target : Target or str
        The target. See `sweep`.
    sampler : str or callable
        The sampler. See `sweep`. A user-defined function must use the same random numbers regardless of the number of
        draws.
    grid : mapping of str to sequence
        Sampler options and the values to try.
    options : mapping, optional
        Options that are the same for all settings. ``budget`` (likelihood evaluations at individual data points) or
        ``draws`` is the full length of a chain.
    cost : float
        Fraction of the full grid's cost to spend on the choice. The chain for the verdict is not included.
    seeds : int or sequence of int
        Seeds of the chains of every setting, as for `sweep`.
    measures : sequence of str
        Measures in order of preference. Each rung uses the first measure that can order its settings.
    target_options : mapping, optional
        Options for a target given by name.
    file : path, optional
        SQLite file for the cells. Each cell is committed when it is finished, and a later call resumes from the file.
    n_jobs : int, optional
        Number of parallel workers, as for `sweep`.
    progress : bool
        If True, show the progress on standard error.
    label : str
        Text that is part of the identity of every cell, as for `sweep`.

    Returns
    -------
    TuningResult
        The result. Except for computing times, the result does not depend on the number of workers, the backend, or
        interruptions. If the log density is slow to evaluate, the number of draws in the verdict's invariance test
        depends on the computing time per evaluation.

    Raises
    ------
    UsageError
        See `sweep`. This error is also raised if `cost` or the length of the chains is out of range, or if ``burn_in``
        is given, because the first fifth of each chain is always discarded.
    InputError
        If no setting of a rung can be scored, or no measure can order the settings.

    Notes
    -----
    The cost includes the sampling of all compared chains. Scoring and pilot chains for the units of measures are not
    included.

    Examples
    --------
    >>> import steinkit as sk
    >>> found = sk.tune(
    ...     sk.targets.LogisticRegression.nodal(), "sgld", grid={"step_size": [1e-4, 1e-3, 0.03, 1.0]},
    ...     options={"batch_size": 10, "budget": 20_000}, seeds=1, cost=0.5,
    ... )
    >>> found.setting
    {'step_size': 0.03}
    """
    given: dict[str, Any] = {"options": options, "seeds": seeds, "measures": measures, "label": label}
    plan = make_plan(target, sampler, grid=grid, target_options=target_options, **given)
    return run_tuning(plan, execution(plan, file, n_jobs, progress), cost)


def run_tuning(plan: Plan, opened: AbstractContextManager[Execution], cost: float) -> TuningResult:
    """Run all rungs, and test a new chain with the remaining setting."""
    resource, full = _length_of(plan)
    counts, lengths = zip(*ladder(len(plan.settings), full, cost), strict=True)
    known = replace(plan.configuration, label=f"{plan.configuration.label} tuned".strip())
    plan = replace(plan, sampler=_WithoutBurnIn(**vars(plan.sampler), full=full), configuration=known)
    alive, rungs = list(plan.settings), list[Rung]()
    done: dict[str, tuple[int, Cell]] = {}
    with opened as running:
        plan, notes = in_fixed_units(plan.with_options(**{resource: lengths[0]}), running.store)
        for length, most in zip(lengths, [*counts[1:], 1], strict=True):
            plan, indices = plan.with_options(**{resource: length}), [plan.settings.index(each) for each in alive]
            found = running.cells(plan, itertools.product(indices, plan.seeds))
            done |= {plan.fingerprint(*place): (length, cell) for place, cell in found.items()}
            rows = [[found[i, seed] for seed in plan.seeds] for i in indices]
            measure, losses = ranking(rows, plan.measures, most)
            rungs.append(Rung.of(length, measure, alive, losses, most))
            alive = list(rungs[-1].kept)
        (best,), (longest,) = alive, rows
        plan = plan.with_options(**{resource: full})
        ((fresh, draws),) = run_chains(plan, plan.settings.index(best), [max(plan.seeds) + 1])
        judged = Judgement(None, fresh.reason) if draws is None else Judging().judge(draws, plan.target, {}, rng=0)
        if length < full:
            notes = (*notes, f"a cost of {cost:g} allows chains of {length} {resource}, instead of the full {full}")
        bias, margin = _bias_of(longest)
        result = TuningResult(
            setting=dict(best),
            bias=bias,
            margin=margin,
            rungs=tuple(rungs),
            seeds=plan.seeds,
            resource=resource,
            spent=sum(length for length, _ in done.values()),
            full=full * len(plan.places),
            seconds=math.fsum(cell.seconds for _, cell in done.values()),
            full_seconds=median(cell.seconds * full / length for cell in longest) * len(plan.places),
            verdict=judged.verdict,
            unjudged=judged.unjudged,
            configuration=plan.configuration,
            warnings=(*notes, *judged.notes),
        )
        running.store.keep(result)
    return result


@dataclass(frozen=True)
class _WithoutBurnIn(SweptSampler):
    """Sampler that discards the first fifth of each chain.

    The remaining draws are thinned before scoring.
    """

    full: int

    def run(self, target: Target, options: Setting, seeds: Sequence[int]) -> list[Sample]:
        length = options["budget"] if "budget" in options else options["draws"]
        most, kept = max(_LEAST, _SCORED * length // self.full), []
        for sample in super().run(target, options, seeds):
            left = len(sample) - int(_BURN_IN * len(sample))
            steps_back = np.arange(min(left, most)) * max(1, left // most)
            kept.append(sample[len(sample) - 1 - steps_back[::-1]])
        return kept


def _length_of(plan: Plan) -> tuple[str, int]:
    """Return the unit for chain lengths, and the full length."""
    options = plan.configuration.options
    if "burn_in" in options | plan.settings[0]:
        raise UsageError("burn_in must not be given, because tuning discards the first fifth of each chain")
    resource = "budget" if "budget" in options else "draws"
    full = options.get(resource)
    if resource in plan.settings[0] or isinstance(full, bool) or not isinstance(full, int):
        raise UsageError(f"the full length of a chain, budget or draws, must be a fixed whole number; got {full!r}")
    return resource, full


def _bias_of(cells: Sequence[Cell]) -> tuple[float | None, float | None]:
    """Return the median bias over the seeds and the median margin of error.

    Both values are None unless more than half of the estimates are reliable.
    """
    known = [cell.measures["bias"] for cell in cells if "bias" in cell.measures and not cell.measures["bias"].unknown]
    if 2 * len(known) <= len(cells):
        return None, None
    return median(each.value for each in known), median(each.margin or 0.0 for each in known)
