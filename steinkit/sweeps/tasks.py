"""Tasks of a sweep: chains of a setting, and their scores.

A task runs in this process or in a worker.

Exceptions of samplers, targets and solvers, including SystemExit, become the reason of a failed cell.
"""

from __future__ import annotations

import functools
import os
import pickle
import signal
import threading
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
    """The draws of one seed, or the reason of the failure, with the time in seconds."""

    seed: int
    sample: Sample | None
    reason: str | None
    seconds: float


class Computed(NamedTuple):
    """A cell with the index of its setting, and the draws if they are kept."""

    setting: int
    cell: Cell
    draws: Sample | None


def run_chains(plan: Plan, setting: int, seeds: Sequence[int]) -> list[Chain]:
    """Run the chains of one setting in one call, or separately if this fails."""
    began = time.perf_counter()
    try:
        with quiet():
            drawn = plan.sampler.run(plan.target, plan.options(setting), seeds)
    except (Exception, SystemExit) as error:
        if len(seeds) > 1:
            return [chain for seed in seeds for chain in run_chains(plan, setting, [seed])]
        return [Chain(seeds[0], None, _reason(error), time.perf_counter() - began)]
    share = (time.perf_counter() - began) / len(seeds)
    return [Chain(seed, each, None, share) for seed, each in zip(seeds, drawn, strict=True)]


def run_cells(plan: Plan, setting: int, seeds: Sequence[int]) -> Iterator[Computed]:
    """Run the chains of one setting and score them.

    Only the draws of the plan's first seed are returned.
    """
    compile_from_now_on()
    for chain in run_chains(plan, setting, seeds):
        yield Computed(setting, _scored(plan, setting, chain), chain.sample if chain.seed == plan.seeds[0] else None)


def run_packed(packed: bytes, parent: int, setting: int, seeds: Sequence[int]) -> list[Computed]:
    """Run a task of a pickled plan in a worker of the process `parent`."""
    return list(run_cells(_unpacked(packed, parent), setting, seeds))


@functools.lru_cache(maxsize=1)
def _unpacked(packed: bytes, parent: int) -> Plan:
    """Unpickle a plan once per worker.

    A worker on the same machine ignores control-C, which reaches every process of a terminal, and exits when its parent
    does.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    if os.getppid() == parent:
        if threading.current_thread() is threading.main_thread():  # not on Dask
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        threading.Thread(target=watch, daemon=True).start()
    plan: Plan = pickle.loads(packed)
    return plan


def _scored(plan: Plan, setting: int, chain: Chain) -> Cell:
    """Compute all measures of a chain; the failure of one does not affect the others."""
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
                notes += [f"{name}: {note}" for note in found.warnings]
                measures[name] = Measured.of(found)
            except (Exception, SystemExit) as error:
                reasons.append(f"{name}: {_reason(error)}")
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
    """Return an error as one line.

    Errors other than steinkit's begin with their type.
    """
    text = " ".join(str(error).split())
    return text if isinstance(error, SteinkitError) else f"{type(error).__name__}: {text}"
