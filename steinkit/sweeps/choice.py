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

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.arguments import number, require_mappings, require_type, whole
from steinkit.errors import Caution, InputError, UsageError, cautious
from steinkit.measures import find_measure
from steinkit.result import in_json
from steinkit.sample import Floats, Integers

Interval = tuple[float, float]
Record = Mapping[str, Any]

_SEED = 0  # of the resampling: the same cells give the same choice
_MOST_SEEDS = 100  # 200 over 100 is beyond any number of settings


class UnrankedError(InputError):
    """Settings cannot be ordered by the values there are, which may be small for the wrong reason."""


@dataclass(frozen=True)
class SettingSummary:
    """One setting over its seeds.

    Attributes
    ----------
    settings : dict
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
    scored: int
    failed: int
    median: float
    interval: Interval | None
    lower: float
    upper: float
    cost_per_draw: float | None

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
    best : dict
        The best setting.
    ties : tuple of dict
        Settings that cannot be told from the best, in grid order.
    median : float
        Of the best setting's values over the seeds.
    interval : tuple of two floats, or None
        Of the best setting: see `SettingSummary`.
    rows : tuple of SettingSummary
        All settings, in grid order.
    level : float
        Confidence of the intervals and of the ties.
    warnings : tuple of str
        Settings with failures, and seeds too few for the level.
    """

    measure: str
    best: dict[str, Any]
    ties: tuple[dict[str, Any], ...]
    median: float
    interval: Interval | None
    rows: tuple[SettingSummary, ...]
    level: float
    warnings: tuple[str, ...]

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
    records: Sequence[Record],
    measure: str,
    settings: Sequence[Mapping[str, Any]],
    *,
    eligible: Collection[int] | None = None,
    level: float = 0.95,
    repeats: int = 2000,
) -> Choice:
    """Choose the best of several settings, and say which others cannot be told from it.

    Parameters
    ----------
    records : iterable of mapping
        Cells of a sweep, each with "settings", "seed", "results" (documents of measures) and "cost_per_draw". Cells of
        settings that are not asked for are left aside.
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
        require_type(Mapping, "a mapping", record=record)
    if not settings:
        raise UsageError("there is no setting to choose from; pass at least one")
    require_mappings(**{f"settings[{i}]": each for i, each in enumerate(settings)})
    lower, upper, cells = _losses(records, measure, settings)
    rows = tuple(
        SettingSummary(dict(settings[i]), **_summary(lower[i], upper[i], cells[i], measure, level, repeats))
        for i in range(len(settings))
    )
    if not any(row.scored for row in rows):
        failed = f"{sum(row.failed for row in rows)} failed, of {len(settings)} settings"
        raise InputError(f"no cell has a value of measure {measure}: {failed}; see the reasons in the records")
    medians = [_median(0.5 * each + 0.5 * other) for each, other in zip(lower, upper, strict=True)]
    # where every setting fails with half of its seeds, the one that fails least often
    scored = [row.scored / max(row.scored + row.failed, 1) for row in rows]
    candidates = range(len(settings)) if eligible is None else sorted(eligible)
    best = min(candidates, key=lambda i: (np.nan_to_num(medians[i], nan=np.inf), -scored[i], i))
    require_ranked({i: cells[i] for i in candidates}, best, measure, settings)
    error = (1.0 - level) / max(len(settings) - 1, 1)
    ties = tuple(
        dict(settings[i])
        for i in candidates
        if i != best
        and (math.isfinite(medians[i]) or medians[i] == medians[best])
        and not is_above(lower[i], upper[best], error=error, repeats=repeats)
    )
    median, interval = rows[best].median, rows[best].interval
    return Choice(measure, dict(settings[best]), ties, median, interval, rows, level, _warnings(rows, level, error))


def require_ranked(
    cells: Mapping[int, Sequence[Record]], best: int, measure: str, settings: Sequence[Mapping[str, Any]]
) -> None:
    """Raise UnrankedError if the best setting, or by an estimate any, has values that settings must not be ordered by.

    Parameters
    ----------
    cells : mapping of int to sequence of mapping
        Records by the numbers of their settings.
    best : int
        Number of the best one.
    measure : str
    settings : sequence of mapping
    """
    for i in [best] if find_measure(measure).has_bracket else cells:  # an estimate may be too large as well
        found = [why for record in cells[i] if (why := why_unranked(record, measure, is_best=i == best))]
        scored = sum(math.isfinite(loss_of(record, measure)[0]) for record in cells[i])
        if found and 2 * len(found) >= scored:
            where = f"{len(found)} of {scored} cells of {_show(settings[i])}"
            raise UnrankedError(f"settings cannot be ordered by measure {measure}: in {where}, {found[0]}")


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
    records: Iterable[Record], measure: str, settings: Sequence[Mapping[str, Any]]
) -> tuple[Floats, Floats, list[list[Record]]]:
    """Brackets of the losses of k settings with S seeds, shape (k, S), NaN where there is no cell; and their cells."""
    places = {_key(setting): i for i, setting in enumerate(settings)}
    wanted = [record for record in records if _key(record["settings"]) in places]
    seeds = {seed: j for j, seed in enumerate(sorted({record["seed"] for record in wanted}))}
    losses = np.full((2, len(settings), len(seeds)), np.nan)
    cells: list[list[Record]] = [[] for _ in settings]
    for record in wanted:
        i, j = places[_key(record["settings"])], seeds[record["seed"]]
        if not np.isnan(losses[0, i, j]):
            given = f"two cells with settings {dict(record['settings'])} and seed {record['seed']}"
            raise InputError(f"{given}; pass records of one sweep, each cell once")
        losses[:, i, j] = loss_of(record, measure)
        cells[i].append(record)
    return losses[0], losses[1], cells


def _summary(
    lower: Floats, upper: Floats, cells: Sequence[Record], measure: str, level: float, repeats: int
) -> dict[str, Any]:
    """What the row of a setting says, its losses turned back into the measure."""
    bracket = (_median(lower), _median(upper))
    median, interval = _median(0.5 * lower + 0.5 * upper), _bootstrap_interval(lower, upper, level, repeats)
    if not find_measure(measure).smaller_is_better:
        bracket, median, interval = _turned(bracket), -median, interval and _turned(interval)
    costs = [float(cost) for record in cells if (cost := record.get("cost_per_draw")) is not None]
    counts = {"scored": int(np.isfinite(lower).sum()), "failed": int(np.isinf(lower).sum())}
    known = {"median": median, "interval": interval, "lower": bracket[0], "upper": bracket[1]}
    return counts | known | {"cost_per_draw": float(np.median(costs)) if costs else None}


def why_unranked(record: Record, measure: str, *, is_best: bool) -> str:
    """Why a measure's value in a cell must not put its setting first, or behind another; empty where it may.

    All biases of the best setting must be known. Others may have margins that are too wide; or be slow, as long as no
    draws fall into groups: then there are no regions whose shares, which the score does not know, may be wrong.
    """
    entry = entry_of(record, measure)
    why = entry.get("unranked") or ""
    if is_best:
        whys = (f"biases are not known: {each['reason']}" for each in entry.get("quantities", ()) if each["reason"])
        return why or next(whys, "")
    return "" if entry.get("hidden") and not entry["falls_apart"] else why


def bracket_of(record: Record, measure: str) -> Interval | None:
    """The certified bracket of a cell; the value itself where the measure is an estimate, None where there is none."""
    entry = entry_of(record, measure)
    value = entry.get("value")
    if value is None or not find_measure(measure).has_bracket:
        return None if value is None else (value, value)
    return entry.get("lower", value), entry.get("upper", value)


def entry_of(record: Record, measure: str) -> Mapping[str, Any]:
    """The document of a measure of a cell; empty where it was not taken."""
    return next((entry for entry in record["results"] if entry["measure"] == measure), {})


def loss_of(record: Record, measure: str) -> Interval:
    """Bracket of the loss of one cell; infinite where it has no finite value."""
    bracket = bracket_of(record, measure)
    if bracket is None or not all(map(math.isfinite, bracket)):
        return math.inf, math.inf
    return bracket if find_measure(measure).smaller_is_better else _turned(bracket)


def _turned(bracket: Interval) -> Interval:
    return -bracket[1], -bracket[0]


def _key(settings: Mapping[str, Any]) -> str:
    """Equal for equal settings, whatever the order of their names, before and after a trip through JSON."""
    return json.dumps(settings, sort_keys=True)


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
        f"{row.failed} of {row.failed + row.scored} cells with {_show(row.settings)} failed; they count as worst"
        for row in rows
        if row.failed
    ]
    cells = [row.scored + row.failed for row in rows if row.scored + row.failed]
    needed = next(m for m in range(1, _MOST_SEEDS) if math.comb(2 * m, m) * error >= 1.0)
    if len(rows) > 1 and min(cells) < needed:
        found.append(
            f"too few seeds a setting ({min(cells)}) to tell {len(rows)} settings apart at a level of {level:g}: "
            f"ties may be missing; use at least {needed} seeds"
        )
    return tuple(map(Caution, found))


def _show(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in settings.items())
