"""Sweep tasks. Each task runs and scores the chains of one setting.

A task is executed in this process or in a worker. If a sampler, target or solver raises an exception, including
SystemExit, the exception is recorded as the reason for the failed cell.
"""

from __future__ import annotations

import functools
import os
import pickle
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from steinkit.errors import SteinkitError
from steinkit.measures import take_measure
from steinkit.runtime.compilation import compile_from_now_on
from steinkit.sample import Sample
from steinkit.scored_sample import prepared_once
from steinkit.sweeps.cells import Cell, Measured
from steinkit.sweeps.plan import Plan
from steinkit.sweeps.sampler import quiet

Computed = tuple[int, Cell, Sample | None]  # index of the setting, the cell, and the draws to store


def run_chains(plan: Plan, setting: int, seeds: Sequence[int]) -> list[tuple[Cell, Sample | None]]:
    """Run the chains of one setting in one call, or separately if that fails.

    Return cells without measures, together with the draws. The draws are None if the sampler failed.
    """
    began, settings = time.perf_counter(), dict(plan.settings[setting])
    try:
        with quiet():
            drawn = plan.sampler.run(plan.target, plan.options(setting), seeds)
    except (Exception, SystemExit) as error:
        if len(seeds) > 1:
            return [chain for seed in seeds for chain in run_chains(plan, setting, [seed])]
        return [(Cell(settings, seeds[0], _reason(error), sampling=time.perf_counter() - began), None)]
    share = (time.perf_counter() - began) / len(seeds)
    costs = [None if each.cost is None else float(each.cost.max()) / len(each) for each in drawn]
    return [
        (Cell(settings, seed, draws=len(sample), cost_per_draw=cost, sampling=share), sample)
        for seed, sample, cost in zip(seeds, drawn, costs, strict=True)
    ]


def run_cells(plan: Plan, setting: int, seeds: Sequence[int]) -> Iterator[Computed]:
    """Run and score the chains of one setting.

    Draws are included only for the first seed of the plan.
    """
    compile_from_now_on()
    for cell, sample in run_chains(plan, setting, seeds):
        scored = cell if sample is None else _scored(plan, cell, sample)
        yield setting, scored, sample if cell.seed == plan.seeds[0] else None


def run_packed(packed: bytes, setting: int, seeds: Sequence[int]) -> list[Computed]:
    """Run one task from a pickled plan in a worker process."""
    return list(run_cells(_unpacked(packed), setting, seeds))


@functools.lru_cache(maxsize=1)
def _unpacked(packed: bytes) -> Plan:
    """Unpickle a plan once per worker."""
    plan: Plan = pickle.loads(packed)
    return plan


def depend_on(parent: int) -> None:
    """Make a worker process exit when its parent process ends.

    The worker also ignores Ctrl-C, because the terminal sends this signal to all of its processes.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=watch, daemon=True).start()


def _scored(plan: Plan, cell: Cell, sample: Sample) -> Cell:
    """Compute all measures of a chain, and record the reasons for failures."""
    began = time.perf_counter()
    measures: dict[str, Measured] = {}
    reasons, notes = [], []
    with quiet(), prepared_once():
        for name in plan.measures:
            try:
                found = take_measure(name, sample, plan.target, plan.measure_settings)
                notes += [f"{name}: {note}" for note in found.warnings]
                measures[name] = Measured.of(found)
            except (Exception, SystemExit) as error:
                reasons.append(f"{name}: {_reason(error)}")
    known = replace(cell, reason="; ".join(reasons) or None, measures=measures, warnings=tuple(notes))
    return replace(known, scoring=time.perf_counter() - began)


def _reason(error: Exception | SystemExit) -> str:
    """Return an error as one line, with the type for errors from other packages."""
    text = " ".join(str(error).split())
    return text if isinstance(error, SteinkitError) else f"{type(error).__name__}: {text}"
