"""Racing: most seeds for the settings that may win, few for those that cannot [1]_.

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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinkit.describe.writing import setting_key
from steinkit.errors import UsageError
from steinkit.measures import find_measure
from steinkit.sample import Floats
from steinkit.sweeps.choice import Interval, bracket_of, is_above, why_unranked
from steinkit.sweeps.execution import Execution, seconds_of
from steinkit.sweeps.plan import Plan
from steinkit.sweeps.store import Record
from steinkit.sweeps.tasks import Cell

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
