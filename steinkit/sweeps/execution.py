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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinkit.describe.writing import setting_key
from steinkit.errors import ForecastWarning, UsageError, listening_to_forecasts, warn_user
from steinkit.measures import find_measure
from steinkit.runtime.progress import progress_bar
from steinkit.sample import Floats
from steinkit.sweeps.choice import Interval, bracket_of, is_above, why_unranked
from steinkit.sweeps.identity import digest
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
        self._to_retry = {
            name
            for name, record in store.records.items()
            if record["status"] == "failed" and record["attempts"] < _ATTEMPTS
        }
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


def _seed_by_seed(whole: Arguments) -> list[Arguments]:
    """The chains of a setting apart: one of them may have cost the others their process, or all their memory."""
    *setting, seeds = whole
    return [(*setting, [seed]) for seed in seeds]


def _why(lost: Lost, what: str) -> str:
    """Why a chain was not run, or not scored."""
    return f"the chain was not {what}: {lost.reason}{', twice' * (not lost.late)}"


_SHARES = (1 / 8, 1 / 4, 1 / 2)  # of the seeds, in the rounds before the last
_ERROR = 0.05  # probability, at most, with which a race drops the setting whose true median is least
_LOOSE = 1e-2  # tolerance of early rounds where the final one is tighter: scores are then several times cheaper
_WORST = (math.inf, math.inf)
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
    race = Race(
        len(plan.settings),
        plan.seeds,
        smaller_is_better=smaller_is_better,
        tolerance=None if plan.measure_settings["tolerance"] >= _LOOSE else _LOOSE,
        names=[setting_key(setting) for setting in plan.settings],
    )
    found: dict[Cell, Record] = {}
    brackets: dict[Cell, Interval | None] = {}
    distinct: dict[str, Record] = {}
    while (coming := race.next_round(brackets)) is not None:
        cells = [(setting, seed) for setting in coming.settings for seed in coming.seeds]
        computed = execution.records(cells, coming.tolerance)
        by = _ordering(computed, alike)
        found |= computed
        distinct |= {record["cell"]: record for record in computed.values()}
        brackets |= {cell: bracket_of(record, by) for cell, record in computed.items()}
    dropped = {setting_key(plan.settings[i]): reason for i, reason in sorted(race.dropped.items())}
    records = [found[cell] for cell in plan.cells if cell in found]
    return records, {"dropped": dropped, **_work(list(distinct.values()), records, plan)}


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


class Race:
    """A race of settings; `next_round` is called until it returns None.

    Parameters
    ----------
    n_settings : int
    seeds : sequence of int
        Seeds of the last round, in the order in which rounds take them.
    smaller_is_better : bool
    tolerance : float, optional
        Of the rounds before the last. None scores at the final tolerance from the start, so that the last round finds
        those scores ready; a loose tolerance pays only where it makes a score several times cheaper.
    names : sequence of str, optional
        What reasons call the settings; by default "setting 1" and so on.

    Attributes
    ----------
    dropped : dict of int to str
        Numbers of the settings dropped so far, with the reasons.
    """

    def __init__(
        self,
        n_settings: int,
        seeds: Sequence[int],
        *,
        smaller_is_better: bool = True,
        tolerance: float | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        self.dropped: dict[int, str] = {}
        self._names = names or [f"setting {i + 1}" for i in range(n_settings)]
        self._seeds = tuple(seeds)
        self._in_race = tuple(range(n_settings))
        self._smaller_is_better = smaller_is_better
        self._tolerance = tolerance
        self._sizes = _round_sizes(len(seeds))
        self._error = _ERROR / max(1, len(self._sizes) * (n_settings - 1))
        self._last: Round | None = None

    def next_round(self, brackets: Mapping[tuple[int, int], Interval | None]) -> Round | None:
        """Drop what cannot win by the brackets known, and say what to run next.

        Parameters
        ----------
        brackets : mapping of (setting number, seed) to (lower, upper), or to None
            Certified brackets of the measure, of every cell of the round before and perhaps others; None for a cell
            that failed, which counts as the worst value there is.

        Returns
        -------
        Round or None
            None after the last round.
        """
        if self._last is not None:
            if len(self._last.seeds) == len(self._seeds):
                return None
            self._drop(self._last.seeds, brackets)
        if self._sizes and len(self._in_race) > 1:
            self._last = Round(self._in_race, self._seeds[: self._sizes.pop(0)], self._tolerance)
        else:
            self._last = Round(self._in_race, self._seeds, None)
        return self._last

    def _drop(self, seeds: tuple[int, ...], brackets: Mapping[tuple[int, int], Interval | None]) -> None:
        losses = np.array([[self._loss(brackets[i, seed]) for seed in seeds] for i in self._in_race])
        lower, upper = losses[:, :, 0], losses[:, :, 1]
        medians = np.median(0.5 * lower + 0.5 * upper, axis=1)
        leader = int(medians.argmin())
        out = {
            i: self._reason(lower[row], upper[leader], self._in_race[leader])
            for row, i in enumerate(self._in_race)
            if row != leader and is_above(lower[row], upper[leader], error=self._error)
        }
        self.dropped.update(out)
        self._in_race = tuple(i for i in self._in_race if i not in out)

    def _loss(self, bracket: Interval | None) -> Interval:
        """Smaller is better; infinite where the cell failed."""
        if bracket is None:
            return math.inf, math.inf
        return bracket if self._smaller_is_better else (-bracket[1], -bracket[0])

    def _reason(self, lower: Floats, leader: Floats, number: int) -> str:
        """Why a setting is out: its median bound, on the side that favours it, beside the leader's, on the other."""
        sign = 1.0 if self._smaller_is_better else -1.0
        own, other = sign * float(np.median(lower)), sign * float(np.median(leader))
        side, other_side = ("at least", "at most") if self._smaller_is_better else ("at most", "at least")
        failed = int(np.isinf(lower).sum())
        failures = f", {failed} of them failed" if failed else ""
        median = f"median {side} {own:.4g}" if math.isfinite(own) else "no finite median"
        return (
            f"{median} over {len(lower)} seeds{failures}, where {self._names[number]} has {other_side} {other:.4g}: "
            "beyond the spread of the seeds"
        )


def _round_sizes(seeds: int) -> list[int]:
    """Numbers of seeds in the rounds before the last, growing."""
    sizes = {max(_FEWEST_SEEDS, math.ceil(share * seeds)) for share in _SHARES}
    return sorted(size for size in sizes if size < seeds)


def _ordering(cells: Mapping[Cell, Record], measures: Sequence[str]) -> str:
    """The first measure whose values order settings: none is dropped, or stays, for values that order nothing."""
    refused = []
    for measure in measures:
        why = _refusal([*cells.values()], measure, is_best=True)
        if not find_measure(measure).has_bracket:  # an estimate may be too large as well as too small
            groups = [[each for (i, _), each in cells.items() if i == k] for k in {i: None for i, _ in cells}]
            medians = [
                statistics.median((bracket_of(each, measure) or _WORST)[0] for each in group) for group in groups
            ]
            best = medians.index(min(medians))
            why = next(filter(None, (_refusal(group, measure, k == best) for k, group in enumerate(groups))), "")
        if not why:
            return measure
        refused.append(f"measure {measure}: {why}")
    raise UsageError(f"settings cannot race by {'; nor by '.join(refused)}")


def _refusal(records: Sequence[Record], measure: str, is_best: bool) -> str:
    """Why half or more of some records must not be ordered by a measure; empty where they may."""
    reasons = [reason for record in records if (reason := why_unranked(record, measure, is_best=is_best))]
    return f"in {len(reasons)} of {len(records)} cells, {reasons[0]}" if 2 * len(reasons) >= len(records) else ""


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
