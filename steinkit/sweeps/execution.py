"""Computing the cells of a sweep that have no record yet: chains by settings, then scores by cells, on workers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from steinkit.runtime.progress import progress_bar
from steinkit.sweeps.plan import Plan
from steinkit.sweeps.store import Record, Store
from steinkit.sweeps.tasks import Cell, Run, Scores, run_chains, score_chain
from steinkit.sweeps.workers import Arguments, Lost, Workers

# Settings a worker whose draws are held at once: several, so that workers wait for each other seldom.
_SETTINGS_AT_ONCE = 4
_ATTEMPTS = 2  # sweeps that try a cell which fails: the one that made it, and one that goes on with its file
_OVERTIME = 1.1  # that measures may take; workers grant a little more


class Execution:
    """Cells computed, one after another kept in the store, with a bar that counts them.

    Attributes
    ----------
    reused : set of str
        Cells asked for that were there before.
    """

    def __init__(self, plan: Plan, store: Store, workers: Workers, progress: bool) -> None:
        self._plan, self._store, self._workers, self._progress = plan, store, workers, progress
        self._before, self.reused = set(store.records), set[str]()
        self._retried: list[Record] = []

    @property
    def notes(self) -> list[str]:
        """What was tried again."""
        count, failed = len(self._retried), sum(record["status"] == "failed" for record in self._retried)
        said = f"had failed before and {'were' if count > 1 else 'was'} run once more, {failed} failed again"
        return [f"{count} cell{'s' * (count > 1)} {said}"] if count else []

    def records(self, cells: Sequence[Cell]) -> dict[Cell, Record]:
        """Return the records of cells; compute those that are missing."""
        names = {cell: self._plan.fingerprint(*cell) for cell in cells}
        known = self._store.records
        lacking = [cell for cell, name in names.items() if not self._is_done(name, cell[1])]
        there = {*names.values()} - {names[cell] for cell in lacking}
        self.reused |= self._before & there
        with progress_bar("sweep", len(names), initial=len(there), unit=" cells", shown=self._progress) as bar:
            for cell, run, scores in self._computed(lacking):
                before = known.get(names[cell], {"status": "new"})
                has_failed = before["status"] == "failed"
                record = self._plan.record(cell, run, scores, 1 + (before["attempts"] if has_failed else 0))
                if has_failed:
                    self._retried.append(record)
                self._store.append(record, run.sample if self._plan.keeps_draws(run.seed) else None)
                bar.update()
        return {cell: known[name] for cell, name in names.items()}

    def _is_done(self, name: str, seed: int) -> bool:
        """Whether a record is there and stands; the first failure of an earlier run does not."""
        record = self._store.records.get(name)
        if record is None or (record["status"] != "ok" and record["attempts"] < _ATTEMPTS and name in self._before):
            return False
        lacks_draws = self._store.file is not None and self._plan.keeps_draws(seed) and record["draws"]
        return not lacks_draws or name in self._store.with_draws

    def _computed(self, cells: Sequence[Cell]) -> Iterator[tuple[Cell, Run, Scores]]:
        """Cells as they are finished: chains of some settings, those of one setting together, then their scores."""
        by_setting: dict[int, list[int]] = {}
        for setting, seed in cells:
            by_setting.setdefault(setting, []).append(seed)
        width = _SETTINGS_AT_ONCE * self._workers.count
        for begin in range(0, len(by_setting), width):
            runs: dict[Cell, Run] = {}
            for cell, run in self._runs(list(by_setting.items())[begin : begin + width]):
                if run.sample is None:
                    yield cell, run, Scores([], run.reason, [], 0.0)
                else:
                    runs[cell] = run
            for cell, scores in self._scores(runs):
                yield cell, runs[cell], scores

    def _runs(self, seeds: Iterable[tuple[int, list[int]]]) -> Iterator[tuple[Cell, Run]]:
        plan = self._plan
        tasks = {i: (plan.sampler, plan.options | plan.settings[i], those) for i, those in seeds}
        for setting, answer in self._workers.answers(run_chains, tasks, parts=_seed_by_seed):
            if isinstance(answer, Lost):
                answer = [Run(seed, None, None, f"not run: {answer.reason}", 0.0) for seed in answer.arguments[-1]]
            yield from (((setting, run.seed), run) for run in answer)

    def _scores(self, runs: Mapping[Cell, Run]) -> Iterator[tuple[Cell, Scores]]:
        measures, settings = self._plan.measures, self._plan.measure_settings
        limit = settings["max_seconds"]
        seconds = None if limit is None else _OVERTIME * limit * len(measures)
        tasks = {cell: (run.sample, measures, settings) for cell, run in runs.items()}
        for cell, answer in self._workers.answers(score_chain, tasks, seconds=seconds):
            if isinstance(answer, Lost):
                answer = Scores([], f"not scored: {answer.reason}", [], 0.0)
            yield cell, answer


def _seed_by_seed(whole: Arguments) -> list[Arguments]:
    """The chains of a setting apart: one of them may have cost the others their process, or all their memory."""
    *setting, seeds = whole
    return [(*setting, [seed]) for seed in seeds]


def other_records(plan: Plan, store: Store) -> list[str]:
    """Count the records of the file that do not belong to the sweep: another target, code, version, unit or setting."""
    others = len(store.records.keys() - {plan.fingerprint(*cell) for cell in plan.cells}) if store.records else 0
    said = "of another sweep, other data, other code or another version, and not reused"
    return [f"{others} record{'s' * (others > 1)} in {store.file}: {said}"] if others else []


def seconds_of(record: Record) -> float:
    """Return the work that a cell took."""
    return math.fsum(record["seconds"].values())
