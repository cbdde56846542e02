"""Sweeps over a grid of sampler settings and several seeds.

A cell consists of the chain for one setting and one seed, and the measures of this chain. A cell depends only on its
setting, its seed, the target, the sampler, and the measures with their options. In particular, a cell does not depend
on other cells or the order of computation. Sweeps can therefore be interrupted, resumed, and distributed over processes
and machines.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from numbers import Integral
from typing import Any

import cloudpickle
import joblib
import numpy as np
from joblib.parallel import LokyBackend, ThreadingBackend

from steinkit.arguments import require_flags
from steinkit.containers.reading import as_sample
from steinkit.diagnosis.missed_modes import missed_mode
from steinkit.errors import Caution, SteinkitError, UsageError, about, cautious
from steinkit.measures import find_measure, require_taken
from steinkit.measures.options import units_of_several
from steinkit.measures.scoring import Judging
from steinkit.runtime.progress import progress_bar
from steinkit.sample import Floats, Sample
from steinkit.sweeps.cells import Cell, Place, Setting
from steinkit.sweeps.choice import ranking
from steinkit.sweeps.plan import DEFAULT_SEEDS, Plan, make_plan
from steinkit.sweeps.result import SweepResult
from steinkit.sweeps.sampler import quiet
from steinkit.sweeps.scheduler import eliminate
from steinkit.sweeps.store import Store, sweep_file
from steinkit.sweeps.tasks import Computed, depend_on, run_cells, run_chains, run_packed
from steinkit.target import Target
from steinkit.text import count, setting_key
from steinkit.units import is_open

_TOGETHER = 20  # maximum number of chains run in one call
_DIGITS = 6  # significant digits of the units
_PILOTS = 8  # maximum number of pilot chains for the units
_TASKS = 2  # minimum number of tasks per worker, if there are enough cells


@cautious
def sweep(
    target: Target | str,
    sampler: str | Callable[..., Any],
    *,
    grid: Mapping[str, Sequence[Any]],
    options: Mapping[str, object] | None = None,
    seeds: int | Sequence[int] = DEFAULT_SEEDS,
    measures: Sequence[str] | None = None,
    budgets: Sequence[int] | None = None,
    target_options: Mapping[str, object] | None = None,
    tolerance: float = 1e-2,
    max_seconds: float | None = None,
    file: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    racing: bool = False,
    progress: bool = False,
    label: str = "",
    **measure_settings: Any,
) -> SweepResult:
    """Run a sampler over a grid of settings and seeds, and choose a setting.

    Measures of sample quality are computed for the chains of each setting.

    Parameters
    ----------
    target : Target or str
        The target, or its name as on the command line.
    sampler : str or callable
        Name of a sampler, ``path.py:function``, or a function ``(target, *, seed, **options)`` that returns the draws
        of one chain as `Draws`, a `Sample` or an array. If a path is given, the file is executed.
    grid : mapping of str to sequence
        Sampler options and the values to try.
    options : mapping, optional
        Options that are the same for all settings, such as ``draws``. With ``start="normal"``, each chain starts at a
        draw from the standard normal distribution that depends on its seed.
    seeds : int or sequence of int
        Seeds for the chains of every setting. An integer n stands for the seeds 0, ..., n - 1.
    measures : sequence of str, optional
        Measures accepted by `steinkit score --measure`. Racing and the choice use the first measure that can order the
        settings. By default, the measures are "bias", "graph" in up to two dimensions or "sliced" in higher dimensions,
        and "ess". The bias is not used if its estimates are not reliable, for example if the draws are multimodal.
    budgets : sequence of int, optional
        Largest costs of a chain, in likelihood evaluations at individual data points. All settings are run and compared
        at each of these budgets. A chain with a smaller budget is the beginning of the chain with a larger one. The
        sampler must accept an option ``budget``.
    target_options : mapping, optional
        Options for a target given by name.
    tolerance : float
        Largest relative width of a bracket. The default is larger than for a single score, because the differences
        between seeds are much larger than one percent.
    max_seconds : float, optional
        Time limit per measure and cell, in seconds. A cell fails if no bracket with a relative width of at most 10% is
        found within this time.
    file : path, optional
        SQLite file for the cells. Each cell is committed when it is finished, and later runs reuse it. The suffix
        ``.sqlite`` is appended to a name without a suffix. By default, the cells are not stored.
    n_jobs : int, optional
        Number of parallel workers, or -1 for one per processor. By default, the active joblib backend, such as
        ``joblib.parallel_config(backend="dask")``, determines this number. Without an active backend, the cells are
        computed in this process.
    racing : bool
        If True, use successive elimination: score a few seeds first, and drop the settings that are distinguished from
        the best setting.
    progress : bool
        If True, show the progress on standard error.
    label : str
        Text that is part of the identity of every cell. Use a new label after a change that steinkit cannot detect,
        such as a change in a module or data file that a sampler reads.
    **measure_settings
        Other options of the measures, such as units, bounds, stein_factors, dilation, solver or kernel. All cells use
        the same units. By default, the units are the standard deviations of draws from the target. If the target has no
        sampler, a few settings are run, and the units are the standard deviations of the chain whose scales agree
        best with the scores.

    Returns
    -------
    SweepResult
        The result. Except for computing times, the result does not depend on the number of workers, the backend, or
        interruptions. If the log density is slow to evaluate, the number of draws in the verdict's invariance test
        depends on the computing time per evaluation.

    Raises
    ------
    UsageError
        If the sampler rejects an option, if no measure accepts one of the measure settings, if another process uses the
        file, or if cells that are to be stored cannot be identified.
    InputError
        If the file is damaged or is not a sweep file.
    OutputError
        If the file cannot be written. Finished cells remain in the file.

    Notes
    -----
    The failure of a cell does not end the sweep. The cell records the reason, counts as the worst value in the choice,
    and is run again if the sweep is resumed.

    A cell in the file is reused if it has the fingerprint of a requested cell. The fingerprint depends on the
    setting, the seed, the measures with their options, and the steinkit version. The fingerprint also depends on the
    target's name, options, data and file, and on the values of the score and log density at a few fixed points. For a
    user-defined function, the fingerprint includes the SHA-256 hash of the file where the function is defined, and the
    numbers and strings in its closure and default arguments. A label is required to store cells if a function is not
    defined in a file, or if its closure contains an array, an object or a random generator.

    At the end, `verdict` tests the draws from the best setting with the first seed. To detect missed modes, these draws
    are also compared with draws from the other settings.

    References
    ----------
    J. Gorham and L. Mackey, "Measuring sample quality with Stein's method", NeurIPS 2015, section 5.3.

    Examples
    --------
    >>> import steinkit as sk
    >>> target = sk.targets.Normal([0.0])
    >>> grid = {"proposal_scale": [0.01, 2.0]}
    >>> found = sk.sweep(target, "rwmh", grid=grid, options={"draws": 200}, seeds=5, measures=["ksd", "ess"])
    >>> found.criteria["ksd"].best
    {'proposal_scale': 2.0}
    """
    require_flags(racing=racing)
    given: Setting = {"options": options, "seeds": seeds, "measures": measures, "target_options": target_options}
    given |= {"budgets": budgets, "label": label, "tolerance": tolerance, "max_seconds": max_seconds}
    plan = make_plan(target, sampler, grid=grid, **given, **measure_settings)
    require_taken(measure_settings, plan.measures)
    return run_plan(plan, execution(plan, file, n_jobs, progress), racing=racing)


class Execution:
    """Computation and storage of cells.

    Attributes
    ----------
    store : Store
        Store of the cells.
    earlier : frozenset of str
        Fingerprints of the cells that earlier runs finished.
    """

    def __init__(self, store: Store, n_jobs: int | None, progress: bool) -> None:
        self.store, self._n_jobs, self._progress = store, n_jobs, progress
        self.earlier = frozenset(name for name, cell in store.cells.items() if not cell.reason)
        self._done = set(self.earlier)

    def cells(self, plan: Plan, places: Iterable[Place]) -> dict[Place, Cell]:
        """Return the requested cells, computing any that are missing.

        Cells that failed in an earlier run are computed again.
        """
        self.store.begin(plan.run, plan.configuration)
        names = {place: plan.fingerprint(*place) for place in places}
        missing = [place for place, name in names.items() if name not in self._done]
        initial = len(names) - len(missing)
        with progress_bar("sweep", len(names), initial=initial, unit=" cells", shown=self._progress) as bar:
            for setting, cell, draws in computed(plan, missing, self._n_jobs):
                name = names[setting, cell.seed]
                self.store.append(name, plan.run, cell, draws)
                self._done.add(name)
                bar.update()
        return {place: self.store.cells[name] for place, name in names.items()}


@contextlib.contextmanager
def execution(
    plan: Plan, file: str | os.PathLike[str] | None = None, n_jobs: int | None = None, progress: bool = False
) -> Iterator[Execution]:
    """Validate the options of a plan and open its file.

    The parameters are those of `sweep`. If the computation is interrupted, a note on the exception states the number of
    stored cells and how to resume.
    """
    if not isinstance(n_jobs, Integral | None) or n_jobs == 0:
        raise UsageError(f"n_jobs (--jobs) must be a positive number, or -1 for all processors; got {n_jobs!r}")
    path = None if file is None else sweep_file(file)
    plan.require(is_kept=path is not None)
    with Store(path) as store:
        try:
            yield Execution(store, n_jobs, progress)
        except KeyboardInterrupt as interrupt:
            kept = f"{count(len(store.cells), 'finished cell')} kept in {path}; run the same command again to resume"
            interrupt.add_note(kept if path else "finished cells are not kept without a file; pass file= to resume")
            raise


def computed(plan: Plan, places: Sequence[Place], n_jobs: int | None) -> Iterator[Computed]:
    """Compute cells in this process or with the active joblib backend.

    Cells are yielded in order of completion.
    """
    jobs = joblib.effective_n_jobs(n_jobs)
    if isinstance(joblib.parallel.get_active_backend()[0], ThreadingBackend):
        jobs = 1  # tasks redirect the output of the worker process
    most = len(places) if jobs == 1 else len(places) // (_TASKS * jobs)
    size = max(1, min(_TOGETHER, most)) if plan.sampler.known else 1
    tasks = []
    for setting, group in itertools.groupby(places, key=lambda place: place[0]):
        seeds = [seed for _, seed in group]
        tasks += [(setting, seeds[k : k + size]) for k in range(0, len(seeds), size)]
    if jobs == 1:
        for task in tasks:
            yield from run_cells(plan, *task)
        return
    given: dict[str, Any] = {} if n_jobs is None else {"n_jobs": n_jobs}
    if isinstance(joblib.parallel.get_active_backend()[0], LokyBackend):
        given |= {"initializer": depend_on, "initargs": (os.getpid(),)}
    try:
        packed = cloudpickle.dumps(plan)
        parallel = joblib.Parallel(return_as="generator_unordered", batch_size=1, **given)
        for cells in parallel(joblib.delayed(run_packed)(packed, *task) for task in tasks):
            yield from cells
    except Exception as error:  # raised by pickling or the backend, because tasks never raise
        message = " ".join(f"{type(error).__name__}: {error}".split())
        hint = "finished cells are kept in the sweep's file, if any; run the same sweep to resume, or omit n_jobs"
        raise SteinkitError(f"the worker processes failed ({message}); {hint}") from error


def run_plan(plan: Plan, opened: AbstractContextManager[Execution], *, racing: bool = False) -> SweepResult:
    """Compute the missing cells, choose a setting, and test draws from this setting."""
    began = time.perf_counter()
    with opened as running:
        store = running.store
        plan, notes = in_fixed_units(plan, store)
        plans = [plan.with_options(budget=budget) for budget in plan.budgets] or [plan]
        swept = [_eliminated(each, running) if racing else (running.cells(each, each.places), None) for each in plans]
        reused = sum(plans[-1].fingerprint(*place) in running.earlier for place in swept[-1][0])
        if others := len(store.cells.keys() - {each.fingerprint(*place) for each in plans for place in each.places}):
            reason = "the sweep, the data, the code or the steinkit version has changed"
            notes = (*notes, f"{count(others, 'cell')} in {store.file} cannot be reused because {reason}")
        *shorter, result = [
            SweepResult.of(plan, [found[each] for each in plan.places if each in found], notes, dropped, reused)
            for found, dropped in swept
        ]
        if plan.budgets:
            results = dict(zip(plan.budgets, [*shorter, result], strict=True))
            own = [
                about(f"budget {budget:,}", note)
                for budget, each in results.items()
                for note in each.warnings
                if note not in result.warnings
            ]
            choices = {budget: each.criteria for budget, each in results.items()}
            result = replace(result, by_budget=choices, warnings=(*result.warnings, *own))
        result = _judged(plan, store, result)
        result = replace(result, seconds=time.perf_counter() - began)
        store.keep(result)
    return result


def in_fixed_units(plan: Plan, store: Store) -> tuple[Plan, tuple[str, ...]]:
    """Return the plan with units fixed for all cells, and any warnings.

    By default, the units are standard deviations of exact draws from the target or of a pilot chain. When cells are
    added to an existing file, the units stored in the file are used. The units are rounded to be identical on all
    machines.

    Raises
    ------
    UsageError, InputError
        If the requested units are not available.
    """
    if not any("units" in find_measure(name).options for name in plan.measures):
        return plan, ()
    settings = plan.measure_settings
    can_sample = plan.target.can_sample and (settings.get("bounds") is None or plan.target.bounds is not None)
    if not can_sample and is_open(settings.get("units")) and (known := store.pilot_units(plan.configuration)):
        return plan.with_units(known), ()
    pilots = [as_sample(plan.target.sample(2, 0))] if can_sample else _pilots(plan)
    found, notes = units_of_several(pilots, plan.target, settings)
    if found is None and not is_open(settings.get("units")):
        return plan, ()
    if found is None:
        notes = (Caution("all pilot chains failed, and raw units are used; pass units= to choose a scale"),)
        return plan.with_units({"kind": "raw", "scale": {}}), notes
    scale = {name: float(f"{value:.{_DIGITS}g}") for name, value in found.document["scale"].items()}
    return plan.with_units({"kind": found.document["kind"], "scale": scale}), notes


def _pilots(plan: Plan) -> list[Sample]:
    """Run pilot chains with a few settings, sorted by their agreement with the score.

    Agreement is measured by the mean of (x_j - m_j) s_j(x), which is -1 under the target. For a chain that barely
    moves, the mean is closer to 0. For a chain that is too wide, the mean is less than -1.
    """
    tried = np.linspace(0, len(plan.settings) - 1, min(len(plan.settings), _PILOTS)).round().astype(int).tolist()
    chains = [run_chains(plan, setting, plan.seeds[:1])[0][1] for setting in tried]

    def disagreement(sample: Sample) -> float:
        weights = sample.probabilities
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                centered = sample.points - weights @ sample.points
                found = float(np.abs(1.0 + weights @ (centered * plan.target.score(sample.points))).mean())
        except Exception:  # user code can fail; the cells then report the failure
            return math.inf
        return found if math.isfinite(found) else math.inf

    return sorted((each for each in chains if each is not None), key=disagreement)


def _eliminated(plan: Plan, running: Execution) -> tuple[dict[Place, Cell], dict[str, str]]:
    """Run successive elimination, and return the cells and the dropped settings.

    Each rung uses the first measure that can order its settings. For each dropped setting, the reason is returned.
    """
    smaller_is_better = find_measure(plan.measures[0]).smaller_is_better
    comparable = [name for name in plan.measures if find_measure(name).smaller_is_better == smaller_is_better]
    found: dict[Place, Cell] = {}

    def losses_of(settings: Sequence[int], seeds: Sequence[int]) -> tuple[str, Floats]:
        found.update(running.cells(plan, itertools.product(settings, seeds)))
        return ranking([[found[i, seed] for seed in seeds] for i in settings], comparable)

    dropped = eliminate(plan.settings, plan.seeds, losses_of)
    left = [place for place in plan.places if setting_key(plan.settings[place[0]]) not in dropped]
    return found | running.cells(plan, left), dropped


def _judged(plan: Plan, store: Store, result: SweepResult) -> SweepResult:
    """Return the result with a verdict on draws from the best setting.

    The draws are those of the first seed. If these draws missed a mode that another setting visited, the result also
    describes this mode.
    """
    if result.leading is None:
        return result
    draws = {i: store.draws(plan.fingerprint(i, plan.seeds[0])) for i in range(len(plan.settings))}
    own = draws.pop(plan.settings.index(result.criteria[result.leading].best))
    if own is None:
        return replace(result, unjudged="the draws from the best setting were not stored")
    mode = None
    with quiet():
        judged = Judging().judge(own, plan.target, plan.measure_settings, rng=0)
        with contextlib.suppress(SteinkitError):  # the log density is missing or cannot be evaluated at a draw
            mode = missed_mode(own, {i: each for i, each in draws.items() if each is not None}, plan.target)
    return replace(result, verdict=judged.verdict, unjudged=judged.unjudged, missed=mode)
