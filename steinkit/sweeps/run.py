"""Sweeps: a sampler run with every combination of some options, from several seeds, scored, and the best one chosen.

A cell is one setting with one seed: one chain, and the measures of it. A cell's outcome depends on its setting, its
seed, the target, the measures and their settings alone; not on the other cells, nor on where and in which order cells
are computed. So a sweep may be interrupted and resumed, and spread over processes and machines.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from steinkit.arguments import require_flags
from steinkit.diagnosis.missed_modes import missed_mode
from steinkit.errors import SteinkitError, cautious
from steinkit.measures import find_measure, require_taken
from steinkit.measures.scoring import Judging
from steinkit.runtime.progress import progress_bar
from steinkit.sample import Sample
from steinkit.sweeps.cells import Cell, Place
from steinkit.sweeps.choice import ranking
from steinkit.sweeps.plan import DEFAULT_SEEDS, Plan, make_plan
from steinkit.sweeps.result import SweepResult
from steinkit.sweeps.sampler import quiet
from steinkit.sweeps.scheduler import Losses, Stage, climb, race_stages
from steinkit.sweeps.store import Store, sweep_file
from steinkit.sweeps.tasks import run_cells
from steinkit.sweeps.units import in_fixed_units
from steinkit.sweeps.workers import Lost, Workers, open_workers
from steinkit.target import Target
from steinkit.text import setting_key

_TOGETHER = 20  # seeds whose chains run together, at most
_TASKS = 2  # a worker process, at least, where there are cells enough


@cautious
def sweep(
    target: Target | str,
    sampler: str | Callable[..., Any],
    *,
    grid: Mapping[str, Sequence[Any]],
    options: Mapping[str, Any] | None = None,
    seeds: int | Sequence[int] = DEFAULT_SEEDS,
    measures: Sequence[str] | None = None,
    target_options: Mapping[str, Any] | None = None,
    tolerance: float = 1e-2,
    max_seconds: float | None = None,
    file: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    backend: str = "loky",
    scheduler: str | None = None,
    racing: bool = False,
    progress: bool = False,
    label: str = "",
    **measure_settings: Any,
) -> SweepResult:
    """Run a sampler with every setting of a grid from several seeds, score the chains, and choose a setting.

    Parameters
    ----------
    target : Target or str
        What to draw from and to score against; a name, as the command line writes it, is made with `target_options`.
    sampler : str or callable
        Name of a sampler, or a function ``(target, *, seed, **options)`` that returns `Draws`, a `Sample` or an array
        of draws for one seed; ``path.py:function`` names one in a file, which is run.
    grid : mapping of str to sequence
        Options of the sampler, with the values to try.
    options : mapping, optional
        Options that are the same throughout, such as draws. ``start="normal"`` starts each chain in a standard normal
        state, from its seed.
    seeds : int or sequence of int
        How many seeds, which are then 0, 1, ..., or the seeds themselves. Each runs a chain of its own, as
        ``seed=[s]`` does in a sampler.
    measures : sequence of str, optional
        What to score by: "graph", "sliced", "ess" and what else `steinkit score --measure` takes. The first by which
        settings may be ordered chooses, and racing goes by it. By default bias, whose order was that of the true
        errors in a benchmark; where it is not reliable of some setting, as between modes, graph up to two dimensions,
        and sliced above, where graph saturates and too narrow samples score lower; and ess beside them. With a
        diffusion operator graph and ess.
    target_options : mapping, optional
        Options of a target given by its name.
    tolerance : float
        Widest relative bracket accepted. It is looser here than for a single score: seeds differ from each other by
        tens of percents, brackets of one percent leave the choice as it is, and they cost a fraction of the time.
    max_seconds : float, optional
        Time for a measure of one cell; a cell that has no bracket of 10 % by then fails.
    file : path, optional
        SQLite file in which every finished cell is kept at once; a later run reuses the cells that are
        there; ``.sqlite`` is added to a name without an ending. Without one nothing is kept but the result.
    n_jobs : int, optional
        Worker processes of loky; by default none, so that work is done in this process. A process that is killed, for
        instance for want of memory, is started again, and a cell that costs two processes fails; the sweep goes on.
    backend : str
        loky: processes of this machine. dask, ray: a cluster. Its workers unpickle, and so run, whatever they are
        sent, and this process what they send back: it must be trusted.
    scheduler : str, optional
        Address of the cluster; without one the cluster in use.
    racing : bool
        Score in rounds, with few seeds first, and drop settings that certainly do not win.
    progress : bool
        Show progress on standard error.
    label : str
        Words that join the fingerprint of every cell. Change them where something changed that steinkit cannot see,
        such as a module or a file that a sampler of your own reads.
    **measure_settings
        Other settings of the measures, each read by at least one of them: units, bounds, operator, stein_factors,
        dilation, graph and solver of graph; units, bounds, operator, kernel, statistic and squared of ksd; and so on.
        Units are one scale for all cells, kept with each: by default that of draws from the target, and where it cannot
        be drawn from that of the first chain, which a file keeps when cells are added.

    Returns
    -------
    SweepResult
        The same, times aside, for any number of jobs, any backend, and whether it was interrupted or not.

    Raises
    ------
    UsageError
        If the sampler does not take an option or does not allow its value, a setting is read by none of the measures,
        another process uses the file, or cells are to be kept of something that cannot be told from another.
    InputError
        If the file is damaged, or not the file of a sweep.
    OutputError
        If the file cannot be written. Finished cells are kept.
    MissingDependencyError
        If the backend's package is not installed.

    Notes
    -----
    A cell that fails does not end the sweep: it holds the reason, and counts as worst in the choice. When the sweep is
    run again with its file, cells that failed are run again.

    A cell is used again only if its fingerprint is that of a cell of this sweep. The fingerprint covers the setting,
    the seed, the measures and their settings, steinkit's version, and the target: its name and options, its data, its
    file, and its score and log density at a few fixed points. Of a sampler of your own it covers the SHA-256 of its
    file and the numbers and words that it holds. A function from no file, as in a notebook, or one that holds an array,
    an object or a random generator, cannot be told from another: its cells are kept under a label only.

    At the end the draws of the best setting are judged, those of the first seed, and compared with draws of other
    settings: no Stein discrepancy sees a mode that no draw has come near.

    References
    ----------
    J. Gorham and L. Mackey, "Measuring sample quality with Stein's method", NeurIPS 2015, section 5.3.
    """
    require_flags(racing=racing)
    given: dict[str, Any] = {"options": options, "seeds": seeds, "measures": measures, "label": label}
    given |= {"tolerance": tolerance, "max_seconds": max_seconds}
    plan = make_plan(target, sampler, grid=grid, target_options=target_options, **given, **measure_settings)
    require_taken(measure_settings, plan.measures)
    return run_plan(plan, Workplace(file, n_jobs, backend, scheduler, progress), racing)


@dataclass(frozen=True)
class Workplace:
    """Where cells are computed and kept: what `sweep` takes under these names."""

    file: str | os.PathLike[str] | None = None
    n_jobs: int | None = None
    backend: str = "loky"
    scheduler: str | None = None
    progress: bool = False

    @contextlib.contextmanager
    def open(self, plan: Plan, cells: int) -> Iterator[tuple[Store, Workers]]:
        """Give a file and workers; an interrupt is given a note that counts the cells kept and says how to go on."""
        file = None if self.file is None else sweep_file(self.file)
        plan.require(is_kept=file is not None)
        with Store(file) as store:
            try:
                with open_workers(self.backend, self.n_jobs, self.scheduler) as workers:
                    yield store, workers
            except KeyboardInterrupt as interrupt:
                kept = f"{len(store.cells)} finished cells (of {cells} in the full sweep) are kept in {file}"
                nothing = "nothing is kept of an interrupted sweep without a file; name one"
                interrupt.add_note(f"{kept}; run the same sweep with that file to go on" if file else nothing)
                raise


class Execution:
    """Cells computed, one after another kept in the store, with a bar that counts them.

    Attributes
    ----------
    reused : set of str
        Cells asked for that were there before.
    """

    def __init__(self, plan: Plan, store: Store, workers: Workers, progress: bool) -> None:
        self._plan, self._store, self._workers, self._progress = plan, store, workers, progress
        self._tried, self.reused = set[str](), set[str]()
        store.begin(plan.run, plan.configuration)

    def cells(self, places: Sequence[Place]) -> dict[Place, Cell]:
        """Return cells; compute those that are missing, and those that failed before this run."""
        names = {place: self._plan.fingerprint(*place) for place in places}
        known = self._store.cells
        lacking = {
            place: name
            for place, name in names.items()
            if name not in self._tried and (name not in known or known[name].reason)
        }
        self.reused |= {*names.values()} - {*lacking.values()} - self._tried
        there = len(names) - len(lacking)
        with progress_bar("sweep", len(names), initial=there, unit=" cells", shown=self._progress) as bar:
            for setting, cell, draws in self._computed(list(lacking)):
                name = lacking[setting, cell.seed]
                self._store.append(name, self._plan.run, cell, draws)
                self._tried.add(name)
                bar.update()
        return {place: known[name] for place, name in names.items()}

    def _computed(self, places: Sequence[Place]) -> Iterator[tuple[int, Cell, Sample | None]]:
        """Cells as they are finished; the chains of some seeds of a setting run together."""
        seeds: dict[int, list[int]] = {}
        for setting, seed in places:
            seeds.setdefault(setting, []).append(seed)
        least = 1 if self._workers.submit is None else _TASKS * self._workers.count
        size = max(1, min(_TOGETHER, len(places) // least)) if self._plan.sampler.is_joint else 1
        tasks = {(i, k): (i, each[k : k + size]) for i, each in seeds.items() for k in range(0, len(each), size)}
        # apart, the second time: one chain may have cost the others their process, or all their memory
        answers = self._workers.answers(self._plan, run_cells, tasks, lambda whole: [(whole[0], [s]) for s in whole[1]])
        for (setting, _), answer in answers:
            if isinstance(answer, Lost):
                seed = answer.arguments[1][0]
                answer = Cell(dict(self._plan.settings[setting]), seed, reason=f"not run: {answer.reason}"), None
            yield setting, *answer


def run_plan(plan: Plan, place: Workplace, racing: bool = False) -> SweepResult:
    """Compute the cells that are not there yet, choose, and judge the draws of the best setting.

    Raises
    ------
    UsageError, MissingDependencyError
        As `sweep` does.
    KeyboardInterrupt
        With a note that says what is kept and how to go on.
    """
    began = time.perf_counter()
    with place.open(plan, len(plan.places)) as (store, workers):
        plan, notes = in_fixed_units(plan, store, workers)
        execution = Execution(plan, store, workers, place.progress)
        found, dropped = _raced(plan, execution) if racing else (execution.cells(plan.places), None)
        if others := len(store.cells.keys() - {plan.fingerprint(*each) for each in plan.places}):
            said = "of another sweep, other data, other code or another version, and not reused"
            notes = (*notes, f"{others} cell{'s' * (others > 1)} in {store.file}: {said}")
        cells = [found[each] for each in plan.places if each in found]
        result = _judged(plan, store, SweepResult.of(plan, cells, notes, dropped, len(execution.reused)))
        result = replace(result, seconds=time.perf_counter() - began)
        store.keep(result)
    return result


def _raced(plan: Plan, execution: Execution) -> tuple[dict[Place, Cell], dict[str, str]]:
    """Run a race, by the first measure by which settings may be ordered on a rung; what it drops, and why."""
    smaller_is_better = find_measure(plan.measures[0]).smaller_is_better
    alike = [name for name in plan.measures if find_measure(name).smaller_is_better == smaller_is_better]
    found: dict[Place, Cell] = {}
    dropped: dict[str, str] = {}

    def losses_of(stage: Stage, settings: Sequence[int]) -> tuple[str, Losses]:
        found.update(execution.cells([(setting, seed) for setting in settings for seed in stage.seeds]))
        return ranking({i: [found[i, seed] for seed in stage.seeds] for i in settings}, alike)

    for _ in climb(plan.settings, race_stages(plan.seeds), losses_of, dropped, sign=1 if smaller_is_better else -1):
        pass
    return found, {key: dropped[key] for key in map(setting_key, plan.settings) if key in dropped}


def _judged(plan: Plan, store: Store, result: SweepResult) -> SweepResult:
    """The result with what the draws are worth that were kept of the best setting, those of the first seed."""
    if result.leading is None:
        return result
    names = [plan.fingerprint(i, plan.seeds[0]) for i in range(len(plan.settings))]
    kept = {i: store.draws(name) for i, name in enumerate(names) if name in store.with_draws}
    own = kept.pop(plan.settings.index(result.criteria[result.leading].best), None)
    if own is None:
        return replace(result, unjudged="no draws of the best setting were kept")
    mode = None
    with quiet():
        judged = Judging().judge(own, plan.target, plan.measure_settings, rng=0)
        if plan.target.has_log_density:
            with contextlib.suppress(SteinkitError):  # of a density that fails at draws of another setting
                mode = missed_mode(own, kept, plan.target)
    return replace(result, verdict=judged.verdict, unjudged=judged.unjudged, missed=mode)
