"""Sweeps: a sampler run with every combination of some options, from several seeds, scored, and the best one chosen.

A cell is one setting with one seed: one chain, and the measures of it. A cell's outcome depends on its setting, its
seed, the target, the measures and their settings alone; not on the other cells, nor on where and in which order cells
are computed. So a sweep may be interrupted and resumed, and spread over processes and machines.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from steinkit.arguments import number, positive, require_flags, require_mappings
from steinkit.errors import UsageError, cautious, did_you_mean
from steinkit.measures import all_options, default_measure, find_measure, require_taken
from steinkit.sweeps.choice import UnrankedError, loss_of, require_ranked
from steinkit.sweeps.execution import Execution, other_records, seconds_of
from steinkit.sweeps.identity import recordable, target_fingerprint
from steinkit.sweeps.plan import MOST_CELLS, Plan, grid_settings, in_fixed_units, seed_list
from steinkit.sweeps.result import SweepResult
from steinkit.sweeps.scheduler import Losses, Stage, climb, race_stages
from steinkit.sweeps.store import Record, Store, sweep_file
from steinkit.sweeps.tasks import Cell, swept_sampler
from steinkit.sweeps.workers import Workers, open_workers
from steinkit.target import Target
from steinkit.text import setting_key

DEFAULT_SEEDS = 20


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
        Time for a measure of one cell; a cell that has no bracket of 10 % by then fails. A worker process that does
        not answer soon after is ended, which clusters are not asked for; without `n_jobs` there is one process then.
    file : path, optional
        SQLite file in which every finished cell is kept at once; a later run reuses the cells that are
        there; ``.sqlite`` is added to a name without an ending. Without one nothing is kept but the result.
    n_jobs : int, optional
        Worker processes; by default none with backend loky, which then works in this process, and all of the
        cluster's with the others. A process that is killed, for instance for want of memory, is started again, and a
        cell that costs two processes fails; the sweep goes on.
    backend : str
        loky: processes of this machine. dask, ray: a cluster. Its workers unpickle, and so run, whatever they are
        sent, and this process what they send back: it must be trusted.
    scheduler : str, optional
        Address of the cluster; without one the cluster in use, or one started on this machine.
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
        If an option is not one of the sampler's, a setting cannot be honoured or is read by none of the measures,
        another process uses the file, or records are to be kept of something that cannot be told from another.
    InputError
        If the file is damaged, or not the file of a sweep.
    OutputError
        If the file cannot be written. Finished cells are kept.
    MissingDependencyError
        If the backend's package is not installed.

    Notes
    -----
    A cell that fails does not end the sweep: its record says why, and it counts as worst in the choice. When the sweep
    is run again with its file, cells that failed are run once more, and a warning counts them.

    A record is used again only if its fingerprint is that of a cell of this sweep. The fingerprint covers the setting,
    the seed, the measures and their settings, steinkit's version, and the target: its name and options, its data, its
    file, and its score and log density at a few fixed points. Of a sampler of your own it covers the contents of its
    file and the values that it holds. A function from no file, as in a notebook, or one that holds an object or a
    random generator, cannot be told from another: its records are kept under a label only.

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


def make_plan(
    target: Target | str,
    sampler: str | Callable[..., Any],
    folder: Path = Path(),
    /,
    *,
    grid: Mapping[str, Sequence[Any]],
    options: Mapping[str, Any] | None = None,
    seeds: int | Sequence[int] = DEFAULT_SEEDS,
    measures: Sequence[str] | None = None,
    target_options: Mapping[str, Any] | None = None,
    label: str = "",
    **given: Any,
) -> Plan:
    """Hold what a user gave `sweep` together, and lay out the cells; files named in it are relative to the folder.

    Raises
    ------
    UsageError
        As `sweep` does.
    """
    require_mappings(options=options, target_options=target_options)
    measure_settings, options = make_measure_settings(**given), options or {}
    made, identity = _identified(target, target_options or {}, options, folder)
    found = swept_sampler(sampler, folder)
    if measures is None:
        dim = made.dim or start_dimension(options)
        operator = measure_settings.get("operator")
        measures = (*([] if operator else ["bias"]), default_measure(dim, operator=operator), "ess")
    listed = isinstance(measures, list | tuple) and all(isinstance(name, str) for name in measures)
    if not listed or not measures or len(set(measures)) < len(measures):
        raise UsageError(f"measures must be a list of different measures, ('graph', 'ess') say; received {measures!r}")
    for name in measures:
        find_measure(name)
    if not isinstance(label, str):
        raise UsageError(f"label must be words; received {label!r}")
    fixed = {name: recordable(value, name) for name, value in options.items()}
    settings, listed_seeds = grid_settings(grid, fixed), seed_list(seeds)
    if (cells := len(settings) * len(listed_seeds)) > MOST_CELLS:
        raise UsageError(f"a sweep may have {MOST_CELLS:,} cells at most; {cells:,} are asked for: give fewer values")
    return Plan(
        made,
        identity,
        found,
        fixed,
        settings,
        listed_seeds,
        tuple(measures),
        measure_settings=measure_settings,
        label=label,
    )


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
        """Give records and workers; an interrupt is given a note that counts the cells kept and says how to go on."""
        file = None if self.file is None else sweep_file(self.file)
        if file is not None:
            plan.require_identifiable()
        timed = plan.measure_settings["max_seconds"] is not None
        with Store(file) as store:
            try:
                with open_workers(self.backend, self.n_jobs, self.scheduler, plan.target, timed=timed) as workers:
                    yield store, workers
            except KeyboardInterrupt as interrupt:
                kept = f"{len(store.records)} finished cells (of {cells} in the full sweep) are kept in {file}"
                nothing = "nothing is kept of an interrupted sweep without a file; name one"
                interrupt.add_note(f"{kept}; run the same sweep with that file to go on" if file else nothing)
                raise


def run_plan(plan: Plan, place: Workplace, racing: bool = False) -> SweepResult:
    """Compute the cells that have no record yet, and choose.

    Raises
    ------
    UsageError, MissingDependencyError
        As `sweep` does.
    KeyboardInterrupt
        With a note that says what is kept and how to go on.
    """
    began = time.perf_counter()
    with place.open(plan, len(plan.cells)) as (store, workers):
        plan, doubts = in_fixed_units(plan, store, workers)
        # with the result, which may be that of another sweep than the configuration
        store.write_documents(configuration=plan.document | {"racing": racing}, result=None)
        others = other_records(plan, store)
        execution = Execution(plan, store, workers, place.progress)
        report = _race(plan, execution) if racing else None
        found = execution.records(plan.cells) if report is None else report.pop("records")
        known = {name: getattr(plan, name) for name in ("settings", "seeds", "measures")}
        known |= {"reused": len(execution.reused), "seconds": time.perf_counter() - began, "racing": report}
        records, units = [found[cell] for cell in plan.cells if cell in found], plan.measure_settings.get("units")
        result = SweepResult.of(records, (*doubts, *others, *execution.notes), **known, units=units)
        store.write_documents(result={"result": result.to_dict(), "records": [record["cell"] for record in records]})
    return result


def _race(plan: Plan, execution: Execution) -> dict[str, Any]:
    """Run a race, by the first measure by which settings may be ordered on a rung.

    Returns
    -------
    dict
        Records of the cells that were run, by their cells; the settings dropped; the work done and saved. The work
        of the full sweep is an estimate: each setting's median over its cells, for all seeds, which leaves out the
        time that workers need to warm up.
    """
    smaller_is_better = find_measure(plan.measures[0]).smaller_is_better
    alike = [name for name in plan.measures if find_measure(name).smaller_is_better == smaller_is_better]
    found: dict[Cell, Record] = {}
    dropped: dict[str, str] = {}

    def losses_of(stage: Stage, settings: Sequence[int]) -> tuple[str, Losses]:
        computed = execution.records([(setting, seed) for setting in settings for seed in stage.seeds])
        found.update(computed)
        refused = []
        for name in alike:
            losses = {cell: loss_of(record, name) for cell, record in computed.items()}
            medians = {i: statistics.median(sum(losses[i, s]) for s in stage.seeds) for i in settings}
            cells = {i: [computed[i, s] for s in stage.seeds] for i in settings}
            try:
                require_ranked(cells, min(medians, key=medians.__getitem__), name, plan.settings)
            except UnrankedError as error:
                refused.append(str(error))
            else:
                return name, losses
        raise UnrankedError(f"settings cannot race: {'; '.join(refused)}")

    for _ in climb(plan.settings, race_stages(plan.seeds), losses_of, dropped, sign=1 if smaller_is_better else -1):
        pass
    seconds: dict[int, list[float]] = {}
    for (setting, _), record in found.items():
        seconds.setdefault(setting, []).append(seconds_of(record))
    spent = math.fsum(map(math.fsum, seconds.values()))
    full = len(plan.seeds) * math.fsum(map(statistics.median, seconds.values()))
    return {
        "records": found,
        "dropped": {key: dropped[key] for key in map(setting_key, plan.settings) if key in dropped},
        "cells_run": len(found),
        "cells_full": len(plan.cells),
        "seconds_spent": spent,
        "seconds_full_estimate": full,
        "saved": 1.0 - spent / full if full > 0.0 else 0.0,
    }


def named_target(
    name: str, options: Mapping[str, Any], dim: int, folder: Path = Path()
) -> tuple[Target, tuple[Path, ...]]:
    """The target that a name means, and the files it was made from.

    Parameters
    ----------
    name : str
        A built-in name, or ``path.py:attribute``.
    options : mapping
        Options of a built-in target.
    dim : int
        Dimension, where the options fix none.
    folder : Path
        What the paths of files are relative to.
    """
    from steinkit.targets import load_target, make_target

    if ":" in name or name.endswith(".py"):
        if options:
            raise UsageError("target options are for built-in targets; set them inside your Python file instead")
        path, colon, attribute = name.rpartition(":")
        reference = f"{folder / path}{colon}{attribute}" if colon else str(folder / name)
        return load_target(reference), (folder / path,)
    resolved, files = {key: recordable(value, f"target option {key}") for key, value in options.items()}, []
    data = resolved.get("data")
    if isinstance(data, str):
        resolved["data"] = str(folder / data)
        files.append(folder / data)
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in resolved.items()}
    return make_target(name, texts, dim), tuple(files)


def start_dimension(options: Mapping[str, Any]) -> int:
    """Dimension that a sampler's start or proposal scale fixes; 1 where they fix none."""
    for name in ("start", "proposal_scale"):
        try:
            shape = np.shape(options.get(name, ()))
        except ValueError:
            raise UsageError(f"{name} must be rows of the same length; received {options[name]!r}") from None
        if not isinstance(options.get(name), str) and len(shape) and shape[-1]:
            return int(shape[-1])
    return 1


def measure_setting_names() -> tuple[str, ...]:
    """Settings of the measures that a sweep takes in addition to tolerance and max_seconds."""
    taken = (name for name, option in all_options().items() if option.changes_value and not option.of_one_sample)
    return tuple(sorted(set(taken) - {"tolerance", "max_seconds"}))


def make_measure_settings(*, tolerance: float = 1e-2, max_seconds: float | None = None, **given: Any) -> dict[str, Any]:
    """The measures' settings by their names.

    Raises
    ------
    UsageError
        If one is unknown, or tolerance or max_seconds is out of range.
    """
    known = measure_setting_names()
    for name in given:
        if name not in known:
            wrong = f"sweep has no option {name!r}{did_you_mean(name, (*known, 'seeds'))}"
            said = f"those of the measures are {', '.join(known)}; options of the sampler belong into grid= or options="
            raise UsageError(f"{wrong}; {said}")
    number(tolerance, "tolerance", lambda width: 0.0 < width < 1.0, "between 0 and 1")
    if max_seconds is not None:
        positive(max_seconds, "max_seconds")
    options = all_options()
    found = {
        name: options[name].checked(value if options[name].may_be_object else recordable(value, name))
        for name, value in given.items()
    }
    return found | {"tolerance": float(tolerance), "max_seconds": recordable(max_seconds, "max_seconds")}


def _identified(
    target: Target | str, target_options: Mapping[str, Any], options: Mapping[str, Any], folder: Path
) -> tuple[Target, dict[str, Any]]:
    """The target, and how records know it."""
    if not isinstance(target, str | Target):
        raise UsageError(f"target must be a steinkit.Target, or the name of one; received {type(target).__name__}")
    if isinstance(target, str):
        name, (made, files) = target, named_target(target, target_options, start_dimension(options), folder)
    elif target_options:
        raise UsageError("target_options are for a target given by its name; this one is made already")
    else:
        name, made, files = target.label, target, ()
    described = {key: recordable(value, f"target option {key}") for key, value in target_options.items()}
    return made, {"name": name, "options": described, "fingerprint": target_fingerprint(made, files)}
