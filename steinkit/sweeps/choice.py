"""Which setting of a sampler is best, and which cannot be told from it.

A setting i is run with seeds s and scored: its loss in that cell lies in a certified bracket [l_is, u_is]. (For a
measure of which more is better the loss is minus the measure, and the bracket turned round.) A cell that failed, or has
no finite value, has the worst loss there is, l = u = infinity: a setting that fails with half of its seeds or more has
an infinite median, and cannot win by its survivors. The best setting b has the smallest median of the midpoints.

Setting i is told apart from b if the evidence is beyond both solver and seeds. The m seeds that both have are drawn
with replacement, the same for both [1]_, and

    median of l_is - median of u_bs > 0

in all but a share (1 - level) / (k - 1) of the resamples, k being the number of settings (Bonferroni: the best of k
is the best partly by luck, and each of the others is compared with it). With so few seeds that m draws with replacement
cannot reach that share, 2^-m > (1 - level) / (2 (k - 1)), setting i is told apart if all its brackets lie above all
of b's: if both were alike that would happen with probability 1 / (2m over m) at most (a half with one seed, 1/6 with
two, 1/20, 1/70, 1/252), which reaches a level of 95 % for eight settings only from five seeds on. Settings that are not
told apart are ties, but never one with an infinite median of a best with a finite one: the best and its ties hold the
setting whose true median is least with probability `level`.

References
----------
.. [1] B. Efron and R. J. Tibshirani, "An introduction to the bootstrap", 1993, chapters 8 and 13.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.arguments import number, require_mappings, require_type, whole
from steinkit.errors import Caution, InputError, UsageError, cautious
from steinkit.measures import find_measure
from steinkit.result import in_json
from steinkit.sample import Floats, Integers
from steinkit.sweeps.cells import Cell, Interval, Place, Setting
from steinkit.sweeps.identity import digest
from steinkit.text import setting_key

LEVEL = 0.95
_SEED = 0  # of the resampling: the same cells give the same choice
_MOST_SEEDS = 100  # 200 over 100 is beyond any number of settings
_ENDS = 3  # values tried, from which one at their end may be beside a better one that was not

BEST, TIED, WORSE, NOT_RUN = "best", "not told apart", "worse", "not run"


class UnrankedError(InputError):
    """Settings cannot be ordered by the values there are, which may be small for the wrong reason."""


@dataclass(frozen=True)
class SettingSummary:
    """One setting over its seeds.

    Attributes
    ----------
    settings : dict
    standing : {"best", "not told apart", "worse", "not run"}
    scored, failed : int
        Cells with a value of the measure, and cells without.
    median : float
        Over all cells, failed ones counted as worst: infinite where half of the cells failed, NaN where there are none.
    interval : tuple of two floats, or None
        Percentile bootstrap interval of the median over the seeds, from the certified lower bounds to the certified
        upper ones. None with fewer than two cells; with fewer than six it falls short of a level of 95 %, whatever
        the bootstrap.
    lower, upper : float
        Medians of the certified lower and upper bounds: what the solver leaves open, the seeds apart.
    cost_per_draw : float or None
        Median over the cells that report it.
    """

    settings: dict[str, Any]
    standing: str
    scored: int
    failed: int
    median: float
    interval: Interval | None
    lower: float
    upper: float
    cost_per_draw: float | None

    @property
    def cells(self) -> int:
        """Cells that were run."""
        return self.scored + self.failed

    def to_dict(self) -> dict[str, Any]:
        """List the row as JSON documents hold it; null for what is infinite or not known.

        Returns
        -------
        dict
            Of strings, finite numbers, lists and dicts.
        """
        return {name: in_json(value) for name, value in vars(self).items()}


@dataclass(frozen=True)
class Choice:
    """The best setting by one measure.

    Attributes
    ----------
    measure : str
        Its name.
    rows : tuple of SettingSummary
        All settings, in grid order.
    level : float
        Confidence of the intervals and of the ties.
    warnings : tuple of str
        Settings with failures, and seeds too few for the level.
    """

    measure: str
    rows: tuple[SettingSummary, ...]
    level: float
    warnings: tuple[str, ...]

    @property
    def row(self) -> SettingSummary:
        """The best setting over its seeds."""
        return next(row for row in self.rows if row.standing == BEST)

    @property
    def best(self) -> dict[str, Any]:
        """The best setting."""
        return self.row.settings

    @property
    def ties(self) -> tuple[dict[str, Any], ...]:
        """Settings that cannot be told from the best, in grid order."""
        return tuple(row.settings for row in self.rows if row.standing == TIED)

    @property
    def median(self) -> float:
        """Of the best setting's values over the seeds."""
        return self.row.median

    @property
    def interval(self) -> Interval | None:
        """Of the best setting: see `SettingSummary`."""
        return self.row.interval

    @property
    def at_end(self) -> tuple[str, str] | None:
        """An option whose best value is the "smallest" or "largest" of three or more numbers tried, and which."""
        for name, value in self.best.items():
            tried = sorted({row.settings[name] for row in self.rows if _is_number(row.settings.get(name))})
            all_numbers = all(_is_number(row.settings.get(name)) for row in self.rows)
            if all_numbers and len(tried) >= _ENDS and value in (tried[0], tried[-1]):
                return name, "smallest" if value == tried[0] else "largest"
        return None

    def of(self, settings: Setting) -> SettingSummary:
        """Return the row of a setting.

        Parameters
        ----------
        settings : mapping
            Options of the setting.

        Returns
        -------
        SettingSummary
            The row.
        """
        return next(row for row in self.rows if row.settings == settings)

    def to_dict(self) -> dict[str, Any]:
        """List the choice as JSON documents hold it.

        Returns
        -------
        dict
            Of strings, finite numbers, lists and dicts.
        """
        names = ("best", "ties", "median", "interval")
        return {name: in_json(getattr(self, name)) for name in names} | {"table": in_json(self.rows)}


@cautious
def choose(
    records: Sequence[Cell],
    measure: str,
    settings: Sequence[Mapping[str, Any]],
    *,
    eligible: Collection[int] | None = None,
    level: float = LEVEL,
    repeats: int = 2000,
) -> Choice:
    """Choose the best of several settings, and say which others cannot be told from it.

    Parameters
    ----------
    records : sequence of Cell
        Cells of a sweep. Those of settings that are not asked for are left aside.
    measure : str
        One that they were scored by: "graph", "sliced", "ess" and what else `steinkit score --measure` takes.
    settings : sequence of mapping
        The settings to choose from.
    eligible : collection of int, optional
        Which of them may win or tie; all if not given. The others, which a race has dropped, are summed up only.
    level : float
        Confidence of the intervals and of the ties.
    repeats : int
        Bootstrap resamples.

    Returns
    -------
    Choice
        The best setting, those that cannot be told from it, and what each one's seeds say.

    Raises
    ------
    UsageError
        If there is no such measure, no setting, or level or repeats is out of range.
    InputError
        If a setting has two cells with one seed, or no cell has a value.
    UnrankedError
        If the best setting owes its place to values that samples must not be ordered by; or, by an estimate, if another
        may owe its own to them.
    """
    number(level, "level", lambda share: 0.0 < share < 1.0, "between 0 and 1")
    whole(repeats, "repeats", 100)  # for quantiles to mean anything
    require_type(str, "the name of a measure", measure=measure)
    require_type((list, tuple), "a list", settings=settings, records=records)
    for record in records:
        require_type(Cell, "a cell of a sweep", record=record)
    if not settings:
        raise UsageError("there is no setting to choose from; pass at least one")
    require_mappings(**{f"settings[{i}]": each for i, each in enumerate(settings)})
    smaller_is_better = find_measure(measure).smaller_is_better
    lower, upper, cells = _losses(records, measure, settings)
    if not np.isfinite(lower).any():
        failed = f"{np.isinf(lower).sum()} failed, of {len(settings)} settings"
        raise InputError(f"no cell has a value of measure {measure}: {failed}; see the reasons in the records")
    middle = 0.5 * lower + 0.5 * upper
    medians = [_median(row) for row in middle]
    # where every setting fails with half of its seeds, the one that fails least often
    scored = [np.isfinite(row).sum() / max((~np.isnan(row)).sum(), 1) for row in lower]
    candidates = range(len(settings)) if eligible is None else sorted(eligible)
    best = min(candidates, key=lambda i: (np.nan_to_num(medians[i], nan=np.inf), -scored[i], i))
    if why := refusal({i: cells[i] for i in candidates}, best, measure):
        raise UnrankedError(f"settings cannot be ordered by measure {measure}: {why}")
    error = (1.0 - level) / max(len(settings) - 1, 1)

    def turn(low: float, high: float) -> Interval:  # losses back into the measure
        return (low, high) if smaller_is_better else (-high, -low)

    rows = []
    for i, setting in enumerate(settings):
        standing = BEST if i == best else WORSE if cells[i] else NOT_RUN
        tied = standing == WORSE and i in candidates and (math.isfinite(medians[i]) or medians[i] == medians[best])
        if tied and not is_above(lower[i], upper[best], error=error, repeats=repeats):
            standing = TIED
        interval = _bootstrap_interval(lower[i], upper[i], level, repeats)
        ends, costs = turn(_median(lower[i]), _median(upper[i])), [c.cost_per_draw for c in cells[i] if c.cost_per_draw]
        counts = int(np.isfinite(lower[i]).sum()), int(np.isinf(lower[i]).sum())
        center, cost = turn(medians[i], medians[i])[0], float(np.median(costs)) if costs else None
        rows.append(SettingSummary(dict(setting), standing, *counts, center, interval and turn(*interval), *ends, cost))
    return Choice(measure, tuple(rows), level, _warnings(rows, level, error))


def refusal(cells: Mapping[int, Sequence[Cell]], best: int, measure: str) -> str:
    """Say why settings must not be ordered by a measure: in half of the best one's cells, or by an estimate of any's.

    Parameters
    ----------
    cells : mapping of int to sequence of Cell
        By the numbers of their settings.
    best : int
        Number of the best one.
    measure : str

    Returns
    -------
    str
        Empty where they may be ordered.
    """
    for i in [best] if find_measure(measure).has_bracket else cells:  # an estimate may be too large as well
        known = [cell.measures[measure] for cell in cells[i] if measure in cell.measures]
        found = [why for each in known if (why := each.unknown if i == best else each.unranked)]
        if found and 2 * len(found) >= len(known):
            return f"in {len(found)} of {len(known)} cells of {setting_key(cells[i][0].settings)}, {found[0]}"
    return ""


def ranking(
    cells: Mapping[int, Sequence[Cell]], measures: Sequence[str], wanted: int | None = None
) -> tuple[str, dict[Place, Interval]]:
    """Find the first measure by which settings may be ordered, and their losses by it.

    Parameters
    ----------
    cells : mapping of int to sequence of Cell
        By the numbers of their settings.
    measures : sequence of str
    wanted : int, optional
        How many settings the order is to be known of; cells whose values order nothing then count as failed. By
        default of all that have values.

    Raises
    ------
    UnrankedError
        If there is none.
    """
    refused = []
    for name in measures:
        halving = wanted is not None
        losses = {(i, cell.seed): cell.loss(name, is_ranked=halving) for i, those in cells.items() for cell in those}
        medians = {i: median(0.5 * sum(losses[i, cell.seed]) for cell in those) for i, those in cells.items()}
        best = min(medians, key=medians.__getitem__)
        why = refusal({best: cells[best]} if halving else cells, best, name)
        if not why and wanted is not None and sum(map(math.isfinite, medians.values())) < wanted:
            reasons = (cell.reason for those in cells.values() for cell in those)
            why = f"too few settings have values in half of their cells: {next(filter(None, reasons), 'none is known')}"
        if not why:
            return name, losses
        refused.append(f"by measure {name}, {why}")
    raise UnrankedError(f"settings cannot be ordered by {', '.join(measures)}: {'; '.join(refused)}")


def is_above(lower: Floats, upper: Floats, *, error: float, repeats: int = 2000) -> bool:
    """Whether the median loss of one setting is above another's, beyond solver and seeds.

    Parameters
    ----------
    lower : ndarray, shape (seeds,)
        Certified lower bounds of the losses of the setting in question; infinite where it failed, NaN where there is
        no such cell.
    upper : ndarray, shape (seeds,)
        Certified upper bounds of the losses of the setting it is compared with, with the same seeds.
    error : float
        Probability with which one of two like settings may be called above the other.
    repeats : int
        Bootstrap resamples.
    """
    shared = ~(np.isnan(lower) | np.isnan(upper))
    if not shared.any():
        return False
    if 0.5 ** shared.sum() > 0.5 * error:
        return bool(lower[shared].min() > upper[shared].max())
    places = _resamples(shared, repeats)
    with np.errstate(invalid="ignore"):  # both medians infinite: nothing tells the settings apart
        difference = np.median(lower[places], axis=1) - np.median(upper[places], axis=1)
    return bool(np.mean(~(difference > 0.0)) <= error)


def _losses(
    records: Iterable[Cell], measure: str, settings: Sequence[Setting]
) -> tuple[Floats, Floats, list[list[Cell]]]:
    """Brackets of the losses of k settings with S seeds, shape (k, S), NaN where there is no cell; and their cells."""
    places = {digest(setting): i for i, setting in enumerate(settings)}  # whatever the order of their names
    wanted = [(places[name], cell) for cell in records if (name := digest(cell.settings)) in places]
    seeds = {seed: j for j, seed in enumerate(sorted({cell.seed for _, cell in wanted}))}
    losses = np.full((2, len(settings), len(seeds)), np.nan)
    cells: list[list[Cell]] = [[] for _ in settings]
    for i, cell in wanted:
        if not np.isnan(losses[0, i, seeds[cell.seed]]):
            given = f"two cells with settings {cell.settings} and seed {cell.seed}"
            raise InputError(f"{given}; pass records of one sweep, each cell once")
        losses[:, i, seeds[cell.seed]] = cell.loss(measure)
        cells[i].append(cell)
    return losses[0], losses[1], cells


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _median(row: Floats) -> float:
    """Median of the entries that are there; infinite where half of them are, NaN where there are none."""
    present = row[~np.isnan(row)]
    return float(np.median(present)) if present.size else math.nan


def _bootstrap_interval(lower: Floats, upper: Floats, level: float, repeats: int) -> Interval | None:
    """Interval of the median over the seeds, outwards in the resamples and in the brackets."""
    present = ~np.isnan(lower)
    if present.sum() < 2:
        return None
    places = _resamples(present, repeats)
    tail = 0.5 * (1.0 - level)
    low = np.quantile(np.median(lower[places], axis=1), tail, method="lower")
    high = np.quantile(np.median(upper[places], axis=1), 1.0 - tail, method="higher")
    return float(low), float(high)


def _resamples(present: NDArray[np.bool_], repeats: int) -> Integers:
    """Places of the seeds present, drawn with replacement, shape (repeats, seeds present)."""
    places = np.flatnonzero(present)
    return places[np.random.default_rng(_SEED).integers(len(places), size=(repeats, len(places)))]


def _warnings(rows: Sequence[SettingSummary], level: float, error: float) -> tuple[str, ...]:
    found = [
        f"{row.failed} of {row.cells} cells with {setting_key(row.settings)} failed; they count as worst"
        for row in rows
        if row.failed
    ]
    cells = [row.cells for row in rows if row.cells]
    needed = next(m for m in range(1, _MOST_SEEDS) if math.comb(2 * m, m) * error >= 1.0)
    if len(rows) > 1 and min(cells) < needed:
        found.append(
            f"too few seeds a setting ({min(cells)}) to tell {len(rows)} settings apart at a level of {level:g}: "
            f"ties may be missing; use at least {needed} seeds"
        )
    return tuple(map(Caution, found))
