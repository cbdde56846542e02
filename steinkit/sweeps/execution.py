"""Computing the cells of a sweep that have no record yet: chains by settings, then scores by cells, on workers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from steinkit.describe.writing import setting_key
from steinkit.errors import ForecastWarning, listening_to_forecasts, warn_user
from steinkit.runtime.progress import progress_bar
from steinkit.sweeps.plan import Plan
from steinkit.sweeps.store import Record, Store, first_few
from steinkit.sweeps.tasks import Cell, Run, Scores, run_setting, score_cell
from steinkit.sweeps.workers import Arguments, Lost, Workers, answers

# Settings a worker whose draws are held at once: several, so that workers wait for each other seldom.
_SETTINGS_AT_ONCE = 4
_ATTEMPTS = 2  # sweeps that try a cell which fails: the one that made it, and one that goes on in its folder
_OVERTIME = 1.1  # that measures may take; workers grant a little more
_CELLS_NAMED = 5


class Execution:
    """Cells computed, one after another kept in the store, with a bar that counts them."""

    def __init__(self, plan: Plan, store: Store, workers: Workers, progress: bool) -> None:
        self._plan, self._store, self._workers, self._progress = plan, store, workers, progress
        self._before, self._used = set(store.records), set[str]()
        self._to_retry = {name for name, record in store.records.items() if _may_be_retried(record)}
        self._retried: list[Record] = []
        self._forecast_told = False

    @property
    def reused(self) -> int:
        """How many of the cells asked for were there before."""
        return len(self._used)

    @property
    def notes(self) -> list[str]:
        """What was tried again."""
        if not self._retried:
            return []
        cells = [f"{setting_key(record['settings'])} seed {record['seed']}" for record in self._retried]
        failed = sum(record["status"] == "failed" for record in self._retried)
        return [
            f"{len(cells)} cell{'s' * (len(cells) > 1)} that had failed before {'were' if len(cells) > 1 else 'was'} "
            f"run once more, {failed} failed again: {first_few(cells, _CELLS_NAMED)}"
        ]

    def records(self, cells: Sequence[Cell], tolerance: float | None = None) -> dict[Cell, Record]:
        """Records of the cells at a tolerance (None: the final one), computed where there are none."""
        names = {cell: self._plan.fingerprint(*cell, tolerance) for cell in cells}
        known = self._store.records
        keeps = self._plan.keeps_draws
        there = {
            (setting, seed)
            for setting, seed in cells
            if self._store.holds(name := names[setting, seed], keeps(seed)) and name not in self._to_retry
        }
        self._used |= self._before & {names[cell] for cell in there}
        attempts = {
            cell: known[names[cell]]["attempts"] if names[cell] in known else 0 for cell in cells if cell not in there
        }
        with (
            progress_bar("sweep", len(cells), initial=len(there), unit=" cells", shown=self._progress) as bar,
            listening_to_forecasts(self._tell_forecast),  # of cells in this process, before they are solved
        ):
            for record in self._computed(attempts, tolerance):
                if record["cell"] in self._to_retry:
                    self._to_retry.remove(record["cell"])
                    self._retried.append(record)
                self._store.append(record)
                bar.update()
        return {cell: known[name] for cell, name in names.items()}

    def _tell_forecast(self, said: str) -> None:
        """Warn of the first cell that may need too much memory; others are like it."""
        if not self._forecast_told:
            self._forecast_told = True
            warn_user(f"a cell of the sweep: {said}", ForecastWarning)

    def _computed(self, attempts: dict[Cell, int], tolerance: float | None) -> Iterator[Record]:
        """Records of cells that were tried so often, as they are finished: chains of some settings, then their scores.

        Chains of one setting run together.
        """
        plan, by_setting = self._plan, dict[int, list[int]]()
        for setting, seed in attempts:
            by_setting.setdefault(setting, []).append(seed)
        width = _SETTINGS_AT_ONCE * self._workers.count
        for begin in range(0, len(by_setting), width):
            runs: dict[Cell, Run] = {}
            for setting, found in self._run_chains(dict(list(by_setting.items())[begin : begin + width])):
                for run in found:
                    cell = (setting, run.seed)
                    if run.sample is None:
                        yield plan.record(cell, tolerance, run, None, attempts[cell] + 1)
                        continue
                    runs[cell] = run
                    if plan.keeps_draws(run.seed):  # before its record, which says that they are there
                        self._store.write_draws(plan.fingerprint(*cell, tolerance), run.sample)
            for cell, scores in self._scores(runs, tolerance):
                yield plan.record(cell, tolerance, runs[cell], scores, attempts[cell] + 1)

    def _run_chains(self, seeds: dict[int, list[int]]) -> Iterator[tuple[int, list[Run]]]:
        plan = self._plan
        arguments = [
            (setting, plan.sampler, plan.options | plan.settings[setting], those) for setting, those in seeds.items()
        ]
        for answer in answers(self._workers, run_setting, arguments, parts=_seed_by_seed):
            if isinstance(answer, Lost):
                setting, _, _, lost = answer.arguments
                yield setting, [Run(seed, None, None, _why(answer, "run"), 0.0) for seed in lost]
            else:
                yield answer

    def _scores(self, runs: dict[Cell, Run], tolerance: float | None) -> Iterator[tuple[Cell, Scores]]:
        plan, settings = self._plan, self._plan.at_tolerance(tolerance)
        arguments = [(cell, run.sample, plan.measures, settings) for cell, run in runs.items()]
        limit = settings["max_seconds"]
        seconds = None if limit is None else _OVERTIME * limit * len(plan.measures)
        for answer in answers(self._workers, score_cell, arguments, seconds=seconds):
            if isinstance(answer, Lost):
                yield answer.arguments[0], Scores([], _why(answer, "scored"), [], 0.0)
            else:
                for said in answer[1].forecasts:
                    self._tell_forecast(said)
                yield answer


def other_records(plan: Plan, store: Store) -> list[str]:
    """What the folder holds of cells that are to be run, made with other data, by other code or in other units."""
    lacking = [cell for cell in plan.cells if plan.fingerprint(*cell) not in store.records]
    wanted = {_regardless(described): described for described in (plan.description(*cell) for cell in lacking)}
    causes: Counter[str] = Counter()
    for record in store.records.values():
        described = wanted.get(_regardless(record))
        if described is None:
            continue
        if record["target"] != described["target"]:
            causes["with another target or other data"] += 1
        elif record["sampler"] != described["sampler"]:
            causes["with other code of the sampler"] += 1
        elif record["version"] != described["version"]:
            causes[f"by version {record['version']}"] += 1
        elif record["measure_settings"].get("units") != described["measure_settings"].get("units"):
            causes["in other units"] += 1
        else:
            causes["when measures had fewer settings"] += 1
    return [
        f"{count} record{'s' * (count > 1)} in {store.directory} {'were' if count > 1 else 'was'} made {cause}, and "
        f"{'are' if count > 1 else 'is'} not reused"
        for cause, count in causes.items()
    ]


def seconds_of(record: Record) -> float:
    """Work that a cell took."""
    return math.fsum(record["seconds"].values())


def _regardless(record: Record) -> str:
    """What a cell computes, whatever the data, the code and the version, and the units that follow from them."""
    kept = [record["settings"], record["seed"], record["sampler"]["name"], record["sampler"]["options"]]
    kept += [record["target"]["name"], record["target"]["options"], record["measures"]]
    given = record["measure_settings"].items()  # without what is not set, as those that older records do not know
    kept += [{name: value for name, value in given if value is not None and name != "units"}]
    return repr([_sorted(entry) for entry in kept])


def _sorted(value: Any) -> Any:
    return sorted(value.items()) if isinstance(value, dict) else value


def _may_be_retried(record: Record) -> bool:
    return bool(record["status"] == "failed" and record["attempts"] < _ATTEMPTS)


def _seed_by_seed(whole: Arguments) -> list[Arguments]:
    """The chains of a setting apart: one of them may have cost the others their process, or all their memory."""
    *setting, seeds = whole
    return [(*setting, [seed]) for seed in seeds]


def _why(lost: Lost, what: str) -> str:
    """Why a chain was not run, or not scored."""
    return f"the chain was not {what}: {lost.reason}{', twice' * (not lost.late)}"
