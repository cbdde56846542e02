"""Computing the cells of a sweep that have no record yet: chains by settings, then scores by cells, on workers."""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from steinkit.runtime.progress import progress_bar
from steinkit.sample import Sample
from steinkit.sweeps.backends import Workers
from steinkit.sweeps.plan import Plan
from steinkit.sweeps.store import Store
from steinkit.sweeps.tasks import Run, Scores, run_chains_of_setting, score_chain

Cell = tuple[int, int]
Record = dict[str, Any]

# Settings a worker whose draws are held at once: several, so that workers wait for each other seldom.
_SETTINGS_AT_ONCE = 4


class Execution:
    """Cells computed, one after another kept in the store, with a bar that counts them."""

    def __init__(self, plan: Plan, store: Store, workers: Workers, progress: bool) -> None:
        self._plan, self._store, self._workers, self._progress = plan, store, workers, progress
        self._before, self._used = set(store.records), set[str]()

    @property
    def reused(self) -> int:
        """How many of the cells asked for were there before."""
        return len(self._used)

    def records(self, cells: Sequence[Cell], tolerance: float | None = None) -> dict[Cell, Record]:
        """Records of the cells at a tolerance (None: the final one), computed where there are none."""
        names = {cell: self._plan.fingerprint(*cell, tolerance) for cell in cells}
        known = self._store.records
        missing = [cell for cell in cells if names[cell] not in known]
        self._used |= self._before & set(names.values())
        with progress_bar(
            "sweep", len(cells), initial=len(cells) - len(missing), unit=" cells", shown=self._progress
        ) as bar:
            for record in self._computed(missing, tolerance):
                self._store.append(record)
                bar.update()
        return {cell: known[name] for cell, name in names.items()}

    def _computed(self, cells: Sequence[Cell], tolerance: float | None) -> Iterator[Record]:
        """Records of the cells as they are finished: chains of some settings first, then their scores."""
        by_setting: dict[int, list[int]] = {}
        for setting, seed in cells:
            by_setting.setdefault(setting, []).append(seed)
        settings = list(by_setting)
        width = _SETTINGS_AT_ONCE * self._workers.count
        for begin in range(0, len(settings), width):
            some = {setting: by_setting[setting] for setting in settings[begin : begin + width]}
            yield from self._finished(some, tolerance)

    def _finished(self, seeds: dict[int, list[int]], tolerance: float | None) -> Iterator[Record]:
        plan, measure_settings = self._plan, self._plan.at_tolerance(tolerance)
        runs: dict[Cell, Run] = {}
        for setting, found in self._run_chains(seeds):
            for run in found:
                cell = (setting, run.seed)
                if run.sample is None:
                    yield plan.record(cell, tolerance, run, None)
                    continue
                runs[cell] = run
                if run.seed == plan.seeds[0]:  # before its record, which says that they are there
                    self._store.write_draws(plan.fingerprint(*cell, tolerance), run.sample)
        arguments = [(plan.target, cell, run.sample, plan.measures, measure_settings) for cell, run in runs.items()]
        with contextlib.closing(self._workers.as_completed(_score, arguments)) as scored:
            for cell, scores in scored:
                yield plan.record(cell, tolerance, runs[cell], scores)

    def _run_chains(self, seeds: dict[int, list[int]]) -> Iterator[tuple[int, list[Run]]]:
        plan = self._plan
        arguments = [
            (plan.target, setting, plan.sampler, plan.options | plan.settings[setting], wanted)
            for setting, wanted in seeds.items()
        ]
        with contextlib.closing(self._workers.as_completed(_run, arguments)) as found:
            yield from found


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


def _run(target: Any, setting: int, *others: Any) -> tuple[int, list[Run]]:
    """The runs of a setting, with its number: results come in any order."""
    return setting, run_chains_of_setting(target, *others)


def _score(target: Any, cell: Cell, sample: Sample, *others: Any) -> tuple[Cell, Scores]:
    return cell, score_chain(target, sample, *others)
