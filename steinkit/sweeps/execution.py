"""Computing the cells of a sweep that have no record yet: chains by settings, then scores by cells, on workers.

Racing gives most seeds to the settings that may win, few to those that cannot [1]_.
A race runs all settings with an eighth of the seeds, the rest with a quarter, then with half (never fewer than five),
and what is left with all of them at the final tolerance. After each round the leader b is the setting with the smallest
median loss, and setting i is dropped if it is told apart from b (see `steinkit.sweeps.choice`): its certified lower
bounds against b's upper ones, over resamples of the seeds, with the allowed error divided by the number of comparisons
that a race of k settings and R rounds can make, R (k - 1). So a loose bracket keeps a setting in the race, it never
drops one, and the setting whose true median is least stays in with probability .95 at least.

References
----------
.. [1] O. Maron and A. W. Moore, "Hoeffding races: accelerating model selection search for classification and function
   approximation", NeurIPS 1993.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinkit.describe.writing import setting_key
from steinkit.errors import ForecastWarning, UsageError, listening_to_forecasts, warn_user
from steinkit.measures import find_measure
from steinkit.runtime.progress import progress_bar
from steinkit.sample import Floats
from steinkit.sweeps.choice import Interval, is_above, loss_of, why_unranked
from steinkit.sweeps.identity import digest
from steinkit.sweeps.plan import Plan
from steinkit.sweeps.processes import Arguments, Lost, Workers
from steinkit.sweeps.store import Record, Store, first_few
from steinkit.sweeps.tasks import Cell, Run, Scores, run_chains, score_chain

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
        lacking = [cell for cell, name in names.items() if not self._is_done(name, cell[1])]
        there = {*names.values()} - {names[cell] for cell in lacking}
        self._used |= self._before & there
        with (
            progress_bar("sweep", len(names), initial=len(there), unit=" cells", shown=self._progress) as bar,
            listening_to_forecasts(self._tell_forecast),  # of cells in this process, before they are solved
        ):
            for cell, run, scores in self._computed(lacking, names, tolerance):
                before = known.get(names[cell])
                attempts = 1 if before is None else 1 + before["attempts"]
                record = self._plan.record(cell, tolerance, run, scores, attempts)
                if before is not None:
                    self._retried.append(record)
                self._store.append(record)
                bar.update()
        return {cell: known[name] for cell, name in names.items()}

    def _is_done(self, name: str, seed: int) -> bool:
        """Whether a record is there and stands; the first failure of an earlier run does not."""
        if not self._store.holds(name, self._plan.keeps_draws(seed)):
            return False
        record = self._store.records[name]
        return record["status"] == "ok" or record["attempts"] >= _ATTEMPTS or name not in self._before

    def _tell_forecast(self, said: str) -> None:
        """Warn of the first cell that may need too much memory; others are like it."""
        if not self._forecast_told:
            self._forecast_told = True
            warn_user(f"a cell of the sweep: {said}", ForecastWarning)

    def _computed(
        self, cells: Sequence[Cell], names: Mapping[Cell, str], tolerance: float | None
    ) -> Iterator[tuple[Cell, Run, Scores]]:
        """Cells as they are finished: chains of some settings, those of one setting together, then their scores."""
        plan = self._plan
        by_setting: dict[int, list[int]] = {}
        for setting, seed in cells:
            by_setting.setdefault(setting, []).append(seed)
        width = _SETTINGS_AT_ONCE * self._workers.count
        for begin in range(0, len(by_setting), width):
            runs: dict[Cell, Run] = {}
            for cell, run in self._runs(list(by_setting.items())[begin : begin + width]):
                if run.sample is None:
                    yield cell, run, Scores([], run.reason, [], 0.0)
                    continue
                runs[cell] = run
                if plan.keeps_draws(run.seed):  # before its record, which says that they are there
                    self._store.write_draws(names[cell], run.sample)
            for cell, scores in self._scores(runs, plan.at_tolerance(tolerance)):
                yield cell, runs[cell], scores

    def _runs(self, seeds: Iterable[tuple[int, list[int]]]) -> Iterator[tuple[Cell, Run]]:
        plan = self._plan
        tasks = [(i, (plan.sampler, plan.options | plan.settings[i], those)) for i, those in seeds]
        for setting, answer in self._workers.answers(run_chains, tasks, parts=_seed_by_seed):
            if isinstance(answer, Lost):
                answer = [Run(seed, None, None, _why(answer, "run"), 0.0) for seed in answer.arguments[-1]]
            yield from (((setting, run.seed), run) for run in answer)

    def _scores(self, runs: Mapping[Cell, Run], settings: Mapping[str, Any]) -> Iterator[tuple[Cell, Scores]]:
        measures, limit = self._plan.measures, settings["max_seconds"]
        tasks = [(cell, (run.sample, measures, settings)) for cell, run in runs.items()]
        seconds = None if limit is None else _OVERTIME * limit * len(measures)
        for cell, answer in self._workers.answers(score_chain, tasks, seconds=seconds):
            if isinstance(answer, Lost):
                answer = Scores([], _why(answer, "scored"), [], 0.0)
            for said in answer.forecasts:
                self._tell_forecast(said)
            yield cell, answer


def _seed_by_seed(whole: Arguments) -> list[Arguments]:
    """The chains of a setting apart: one of them may have cost the others their process, or all their memory."""
    *setting, seeds = whole
    return [(*setting, [seed]) for seed in seeds]


def _why(lost: Lost, what: str) -> str:
    """Why a chain was not run, or not scored."""
    return f"the chain was not {what}: {lost.reason}{', twice' * (not lost.late)}"


_CAUSES = {
    "target": "with another target or other data",
    "sampler": "with other code of the sampler",
    "version": "by version {version}",
    "measure_settings": "in other units",
}


def other_records(plan: Plan, store: Store) -> list[str]:
    """What the folder holds of cells that are to be run, made with other data, by other code or in other units."""
    lacking = [cell for cell in plan.cells if store.records and plan.fingerprint(*cell) not in store.records]
    wanted = {_regardless(described): described for described in (plan.description(*cell) for cell in lacking)}
    causes: Counter[str] = Counter()
    for record in store.records.values():
        if (described := wanted.get(_regardless(record))) is not None:
            found = next((cause for name, cause in _CAUSES.items() if record[name] != described[name]), None)
            causes.update([] if found is None else [found.format(**record)])
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
    follows = {"sampler": "code", "target": "fingerprint", "measure_settings": "units"}
    parts = [{key: value for key, value in record[name].items() if key != left} for name, left in follows.items()]
    return digest(record["settings"], record["seed"], record["measures"], parts)


_SHARES = (1 / 8, 1 / 4, 1 / 2)  # of the seeds, in the rounds before the last
_ERROR = 0.05  # probability, at most, with which a race drops the setting whose true median is least
_LOOSE = 1e-2  # tolerance of early rounds where the final one is tighter: scores are then several times cheaper
_FEWEST_SEEDS = 5  # with four, eight settings cannot be told apart at 95 %


def race_rounds(plan: Plan, execution: Execution) -> tuple[list[Record], dict[str, Any]]:
    """Run the rounds of a race by the first measure whose values may be ordered in a round.

    Returns
    -------
    list of dict
        The last record of every cell that was run, settings in the order of the grid and seeds in theirs.
    dict
        What was dropped, and the work done and saved.

    Raises
    ------
    UsageError
        If there is none that is turned the same way as the first.
    """
    smaller_is_better = find_measure(plan.measures[0]).smaller_is_better
    alike = [name for name in plan.measures if find_measure(name).smaller_is_better == smaller_is_better]
    keys = list(map(setting_key, plan.settings))
    tolerance = None if plan.measure_settings["tolerance"] >= _LOOSE else _LOOSE
    found: dict[Cell, Record] = {}
    losses: dict[Cell, Interval] = {}
    distinct: dict[str, Record] = {}
    dropped: dict[int, str] = {}
    for coming in race(keys, plan.seeds, losses, dropped, tolerance=tolerance, sign=1 if smaller_is_better else -1):
        cells = [(setting, seed) for setting in coming.settings for seed in coming.seeds]
        computed = execution.records(cells, coming.tolerance)
        by = _ordering(computed, alike)
        found |= computed
        distinct |= {record["cell"]: record for record in computed.values()}
        losses |= {cell: loss_of(record, by) for cell, record in computed.items()}
    records = [found[cell] for cell in plan.cells if cell in found]
    reasons = {keys[i]: reason for i, reason in sorted(dropped.items())}
    return records, {"dropped": reasons, **_work(list(distinct.values()), records, plan)}


@dataclass(frozen=True)
class Round:
    """What to run next.

    Attributes
    ----------
    settings : tuple of int
        Numbers of the settings still in the race.
    seeds : tuple of int
        Seeds to have of each of them; those of earlier rounds come first.
    tolerance : float or None
        Tolerance of their scores; None is the final one.
    """

    settings: tuple[int, ...]
    seeds: tuple[int, ...]
    tolerance: float | None


def race(
    names: Sequence[str],
    seeds: Sequence[int],
    losses: Mapping[Cell, Interval],
    dropped: dict[int, str],
    *,
    tolerance: float | None = None,
    sign: int = 1,
) -> Iterator[Round]:
    """Rounds to run, one after another.

    Parameters
    ----------
    names : sequence of str
        What reasons call the settings.
    seeds : sequence of int
        Seeds of the last round, in the order in which rounds take them.
    losses : mapping of (setting number, seed) to (lower, upper)
        Certified brackets of the loss, infinite where a cell failed: to be there of every cell of a round when the next
        one is asked for.
    dropped : dict
        Takes the numbers of settings that are dropped, with the reasons.
    tolerance : float, optional
        Of the rounds before the last. None scores at the final tolerance from the start, so that the last round finds
        those scores ready; a loose tolerance pays only where it makes a score several times cheaper.
    sign : int
        A loss times this is the measure.
    """
    sizes = {max(_FEWEST_SEEDS, math.ceil(share * len(seeds))) for share in _SHARES}
    early = sorted(size for size in sizes if size < len(seeds))
    error = _ERROR / max(1, len(early) * (len(names) - 1))
    alive = tuple(range(len(names)))
    for size in early:
        if len(alive) == 1:
            break
        yield Round(alive, tuple(seeds[:size]), tolerance)
        table = np.array([[losses[i, seed] for seed in seeds[:size]] for i in alive])
        lower, upper = table[:, :, 0], table[:, :, 1]
        leader = int(np.median(0.5 * lower + 0.5 * upper, axis=1).argmin())
        for row, i in enumerate(alive):
            if row != leader and is_above(lower[row], upper[leader], error=error):
                dropped[i] = _reason(lower[row], upper[leader], names[alive[leader]], sign)
        alive = tuple(i for i in alive if i not in dropped)
    yield Round(alive, tuple(seeds), None)


def _reason(lower: Floats, upper: Floats, leader: str, sign: int) -> str:
    """Why a setting is out: its median bound, on the side that favours it, beside the leader's, on the other."""
    own, other = sign * float(np.median(lower)), sign * float(np.median(upper))
    side, other_side = ("at least", "at most")[::sign]
    failed = int(np.isinf(lower).sum())
    failures = f", {failed} of them failed" if failed else ""
    median = f"median {side} {own:.4g}" if math.isfinite(own) else "no finite median"
    return (
        f"{median} over {len(lower)} seeds{failures}, where {leader} has {other_side} {other:.4g}: "
        "beyond the spread of the seeds"
    )


def _ordering(cells: Mapping[Cell, Record], measures: Sequence[str]) -> str:
    """The first measure whose values order settings: none is dropped, or stays, for values that order nothing."""
    refused = []
    for measure in measures:
        groups, is_best = [list(cells.values())], [True]
        if not find_measure(measure).has_bracket:  # an estimate may be too large as well as too small
            groups = [[each for (i, _), each in cells.items() if i == k] for k in dict.fromkeys(i for i, _ in cells)]
            medians = [statistics.median(loss_of(each, measure)[0] for each in group) for group in groups]
            is_best = [k == medians.index(min(medians)) for k in range(len(groups))]
        for group, best in zip(groups, is_best, strict=True):
            reasons = [reason for record in group if (reason := why_unranked(record, measure, is_best=best))]
            if 2 * len(reasons) >= len(group):
                refused.append(f"measure {measure}: in {len(reasons)} of {len(group)} cells, {reasons[0]}")
                break
        else:
            return measure
    raise UsageError(f"settings cannot race by {'; nor by '.join(refused)}")


def _work(run: Sequence[Record], last: Sequence[Record], plan: Plan) -> dict[str, Any]:
    """Work done, and an estimate of that of the full sweep: each setting's median over its cells, for all seeds.

    The median leaves out what workers need to warm up. Cells of a dropped setting that were scored loosely stand in for
    finally scored ones. Both make the estimate low rather than high. What the chains of a setting share when they run
    together weighs on fewer of them in a race, which makes it high: by little, where scores take most of the time.
    """
    spent = math.fsum(map(seconds_of, run))
    full = 0.0
    for setting in plan.settings:
        seconds = [seconds_of(record) for record in last if record["settings"] == setting]
        full += len(plan.seeds) * statistics.median(seconds)
    return {
        "cells_run": len(run),
        "cells_full": len(plan.cells),
        "seconds_spent": spent,
        "seconds_full_estimate": full,
        "saved": 1.0 - spent / full if full > 0.0 else 0.0,
    }
