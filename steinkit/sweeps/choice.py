"""Choice of the best setting in a sweep, and of the settings tied with it.

The chain of setting i with seed s is scored, and its loss lies in a certified bracket [l_is, u_is]. The loss is the
measure, or its negative if larger values are better. If a cell has no finite value, its loss is l = u = infinity. The
median loss of a setting is therefore infinite if at least half of its cells fail. To choose the best setting b, the
medians of the bracket midpoints over the seeds are compared. The setting with the smallest median is the best.

Setting i is distinguished from b if the difference in loss exceeds the combined uncertainty of the solver and the
seeds. For this comparison, the m seeds that both settings share are resampled with replacement, with the same resamples
for both settings [1]_. The condition

    median of l_is - median of u_bs > 0

must hold in all but a fraction (1 - level) / (k - 1) of the resamples, where k is the number of settings. The factor k
- 1 is a Bonferroni correction for the comparisons with the other settings. If m is too small for this fraction, that
is, if 2^-m > (1 - level) / (2 (k - 1)), setting i is distinguished from b only if all brackets of i lie above all
brackets of b. For two identical settings, the probability of this event is at most 1 / (2m choose m), which is 1/2 for
one seed and 1/252 for five seeds. Five seeds are therefore sufficient for eight settings at a level of 95%. A setting
that is not distinguished from b is tied with b, unless only its own median is infinite. With probability `level`, the
best setting or a setting tied with it has the smallest true median.

References
----------
.. [1] B. Efron and R. J. Tibshirani, "An introduction to the bootstrap", 1993, chapters 8 and 13.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinkit.arguments import number, require_mappings, require_type, whole
from steinkit.curves import resampled_medians
from steinkit.errors import Caution, InputError, UsageError, cautious
from steinkit.measures import find_measure
from steinkit.result import in_json
from steinkit.sample import Floats
from steinkit.sweeps.cells import Cell, Interval, Record, Setting
from steinkit.sweeps.identity import digest
from steinkit.text import setting_key

LEVEL = 0.95
_MISSING = math.nan, math.nan  # loss of a cell that was not run
_SEED = 0  # seed of the bootstrap, which must give the same choice for the same cells
_MOST_SEEDS = 100  # the binomial coefficient (200 choose 100) exceeds any number of settings
_ENDS = 3  # minimum number of grid values needed to report a best value at an end

BEST, TIED, WORSE, NOT_RUN = "best", "tied", "worse", "not run"


class UnrankedError(InputError):
    """Error raised when a measure cannot order the settings.

    The values may be small even if the draws are biased.
    """


@dataclass(frozen=True)
class SettingSummary(Record):
    """Summary of one setting over its seeds.

    Attributes
    ----------
    settings : dict
        Options of the sampler.
    standing : {"best", "tied", "worse", "not run"}
        Result of the comparison with the best setting.
    scored, failed : int
        Numbers of cells with and without a value of the measure.
    median : float
        Median over all cells. Failed cells count as the worst possible value. NaN if there are no cells.
    interval : tuple of two floats, or None
        Percentile bootstrap interval of the median over the seeds, extended by the certified brackets. None if there
        are fewer than two cells. With fewer than six cells, the coverage is below 95%.
    lower, upper : float
        Medians of the certified lower and upper bounds, which reflect the uncertainty due to the solver.
    cost_per_draw : float or None
        Median over the cells that report a cost, or None if there are no such cells.
    """

    settings: Setting
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
        """Number of cells."""
        return self.scored + self.failed


@dataclass(frozen=True)
class Choice:
    """Best setting under one measure, and the settings tied with it.

    Attributes
    ----------
    measure : str
        Name of the measure.
    rows : tuple of SettingSummary
        All settings, in the order of the grid.
    level : float
        Confidence level of the intervals and of the ties.
    warnings : tuple of str
        Warnings about failed cells, and about having too few seeds for the level.

    Examples
    --------
    >>> import steinkit as sk
    >>> values = {0.1: (1.0, 1.1), 0.5: (4.0, 3.8)}
    >>> cells = [
    ...     sk.Cell({"step": step}, seed, measures={"ksd": sk.Measured("ksd", value, value, value)})
    ...     for step, row in values.items() for seed, value in enumerate(row)
    ... ]
    >>> choice = sk.choose(cells, "ksd", [{"step": 0.1}, {"step": 0.5}])
    >>> choice.best, choice.median
    ({'step': 0.1}, 1.05)
    """

    measure: str
    rows: tuple[SettingSummary, ...]
    level: float
    warnings: tuple[str, ...]

    @property
    def row(self) -> SettingSummary:
        """Summary of the best setting."""
        return next(row for row in self.rows if row.standing == BEST)

    @property
    def best(self) -> Setting:
        """The best setting."""
        return self.row.settings

    @property
    def ties(self) -> tuple[Setting, ...]:
        """Settings that cannot be distinguished from the best, in grid order."""
        return tuple(row.settings for row in self.rows if row.standing == TIED)

    @property
    def median(self) -> float:
        """Median of the measure for the best setting, over the seeds."""
        return self.row.median

    @property
    def interval(self) -> Interval | None:
        """Interval for `median`, as defined in `SettingSummary`."""
        return self.row.interval

    @property
    def at_end(self) -> tuple[str, str] | None:
        """Numeric option whose best value is at an end of the grid, or None.

        The second item states whether the value is the "smallest" or the "largest". Only options with at least
        three values are considered.
        """
        for name, value in self.best.items():
            tried: list[Any] = [row.settings.get(name) for row in self.rows]
            are_numbers = all(isinstance(each, int | float) for each in tried)
            if are_numbers and len(set(tried)) >= _ENDS and value in (min(tried), max(tried)):
                return name, "smallest" if value == min(tried) else "largest"
        return None

    def of(self, settings: Mapping[str, object]) -> SettingSummary:
        """Return the summary of a setting.

        Parameters
        ----------
        settings : mapping
            Options of the setting.

        Returns
        -------
        SettingSummary
            The summary.
        """
        return next(row for row in self.rows if row.settings == settings)

    def to_dict(self) -> Setting:
        """Return the choice as JSON values.

        Returns
        -------
        dict
            The JSON document, which contains strings, finite numbers, lists and dicts.
        """
        names = ("best", "ties", "median", "interval")
        return {name: in_json(getattr(self, name)) for name in names} | {"table": in_json(self.rows)}


@cautious
def choose(
    records: Sequence[Cell],
    measure: str,
    settings: Sequence[Mapping[str, object]],
    *,
    eligible: Collection[int] | None = None,
    level: float = LEVEL,
    repeats: int = 2000,
) -> Choice:
    """Choose the best of several settings, and list the settings tied with it.

    Tied settings cannot be distinguished from the best setting.

    Parameters
    ----------
    records : sequence of Cell
        Cells of a sweep. Cells of other settings are ignored.
    measure : str
        A measure of the cells, such as "graph", "sliced" or "ess".
    settings : sequence of mapping
        Settings to choose from.
    eligible : collection of int, optional
        Indices of the settings that may be the best or tied. By default, all settings are eligible. The other settings
        are only summarized.
    level : float
        Confidence level of the intervals and of the ties.
    repeats : int
        Number of bootstrap resamples.

    Returns
    -------
    Choice
        The best setting, its ties, and a summary of every setting.

    Raises
    ------
    UsageError
        If the measure does not exist, if there are no settings, or if `level` or `repeats` is out of range.
    InputError
        If a setting has two cells with the same seed, or no cell has a value.
    UnrankedError
        If the values of the best setting are not suitable for a ranking, or if the measure is an estimate and the
        values of any setting are not suitable.

    Examples
    --------
    >>> import steinkit as sk
    >>> found = sk.sweep("normal", "iid", grid={"draws": [10, 500]}, seeds=5, measures=["ksd"])
    >>> sk.choose(found.records, "ksd", found.settings).best
    {'draws': 500}
    """
    number(level, "level", lambda share: 0.0 < share < 1.0, "between 0 and 1")
    whole(repeats, "repeats", 100)
    require_type((list, tuple), "a list", settings=settings, records=records)
    for record in records:
        require_type(Cell, "a cell of a sweep", record=record)
    require_mappings(**{f"settings[{i}]": each for i, each in enumerate(settings)})
    if not settings:
        raise UsageError("settings must have at least one entry; got none")
    smaller_is_better = find_measure(measure).smaller_is_better
    cells = _by_setting(records, settings)
    seeds = sorted({seed for row in cells for seed in row})
    losses = np.array([[row[seed].loss(measure) if seed in row else _MISSING for seed in seeds] for row in cells])
    lower, upper = np.reshape(losses, (len(settings), len(seeds), 2)).transpose(2, 0, 1)
    if not np.isfinite(lower).any():
        raise InputError(
            f"expected at least one cell with a value of measure {measure}; all {np.isinf(lower).sum()} failed"
        )
    medians = [_median(row) for row in 0.5 * lower + 0.5 * upper]
    # if all medians are infinite, choose the setting with the fewest failures
    scored = [np.isfinite(row).sum() / max((~np.isnan(row)).sum(), 1) for row in lower]
    candidates = range(len(settings)) if eligible is None else sorted(eligible)
    best = min(candidates, key=lambda i: (np.nan_to_num(medians[i], nan=np.inf), -scored[i], i))
    if reason := refusal([*cells[best].values()], [[*cells[i].values()] for i in candidates], measure):
        raise UnrankedError(f"settings cannot be ordered by measure {measure}: {reason}")
    error = (1.0 - level) / max(len(settings) - 1, 1)
    rows = []
    for i, setting in enumerate(settings):
        standing = BEST if i == best else WORSE if cells[i] else NOT_RUN
        tied = standing == WORSE and i in candidates and (math.isfinite(medians[i]) or medians[i] == medians[best])
        if tied and not is_above(lower[i], upper[best], error=error, repeats=repeats):
            standing = TIED
        median, interval = medians[i], _bootstrap_interval(lower[i], upper[i], level, repeats)
        ends = _median(lower[i]), _median(upper[i])
        if not smaller_is_better:  # convert losses to values of the measure
            median, interval, ends = -median, interval and (-interval[1], -interval[0]), (-ends[1], -ends[0])
        counts = int(np.isfinite(lower[i]).sum()), int(np.isinf(lower[i]).sum())
        costs = [cell.cost_per_draw for cell in cells[i].values() if cell.cost_per_draw]
        cost = float(np.median(costs)) if costs else None
        rows.append(SettingSummary(dict(setting), standing, *counts, median, interval, *ends, cost))
    return Choice(measure, tuple(rows), level, _warnings(rows, level, error))


def refusal(best: Sequence[Cell], all_cells: Iterable[Sequence[Cell]], measure: str) -> str:
    """Return the reason why a measure cannot order settings, or an empty string.

    A measure is rejected if half of the values for the best setting must not be ranked first. An
    estimate is also rejected if half of the values for any setting must not be ranked.

    Parameters
    ----------
    best : sequence of Cell
        Cells of the best setting.
    all_cells : iterable of sequence of Cell
        Cells of each setting.
    measure : str
        Name of the measure.
    """
    rows = [(best, "unknown")]
    if not find_measure(measure).has_bracket:  # estimates that are too large would favor other settings
        rows += [(row, "unranked") for row in all_cells]
    for row, kind in rows:
        values = [cell.measures[measure] for cell in row if measure in cell.measures]
        reasons = [reason for value in values if (reason := getattr(value, kind))]
        if reasons and 2 * len(reasons) >= len(values):
            return f"in {len(reasons)} of {len(values)} cells with {setting_key(row[0].settings)}, {reasons[0]}"
    return ""


def ranking(cells: Sequence[Sequence[Cell]], measures: Sequence[str], wanted: int | None = None) -> tuple[str, Floats]:
    """Return the first measure that can order the settings, and the losses.

    Parameters
    ----------
    cells : sequence of sequence of Cell
        Cells of each setting, with the same seeds.
    measures : sequence of str
        Names of the measures, in order of preference.
    wanted : int, optional
        Number of settings that must have a finite median loss. If this number is given, cells with unranked values
        count as failed.

    Returns
    -------
    tuple of str and ndarray of shape (settings, seeds, 2)
        The measure, and the brackets of the losses.

    Raises
    ------
    UnrankedError
        If no measure can order the settings.
    """
    refused = []
    for name in measures:
        losses = np.array([[cell.loss(name, is_ranked=wanted is not None) for cell in row] for row in cells])
        medians = median_losses(losses)
        reason = refusal(cells[int(medians.argmin())], cells if wanted is None else (), name)
        if not reason and wanted is not None and np.isfinite(medians).sum() < wanted:
            failures = (cell.reason for row in cells for cell in row)
            reason = f"too few settings have values in half of their cells: {next(filter(None, failures), 'unknown')}"
        if not reason:
            return name, losses
        refused.append(f"by measure {name}, {reason}")
    raise UnrankedError(f"settings cannot be ordered by {', '.join(measures)}: {'; '.join(refused)}")


def median_losses(losses: Floats) -> Floats:
    """Return the median bracket midpoint of each setting."""
    return np.asarray(np.median(0.5 * losses.sum(axis=2), axis=1))


def is_above(lower: Floats, upper: Floats, *, error: float, repeats: int = 2000) -> bool:
    """Return True if one setting has a larger median loss than another.

    The difference must exceed the uncertainty due to the solver and the seeds.

    Parameters
    ----------
    lower : ndarray, shape (seeds,)
        Certified lower bounds on the losses of the first setting. The bounds are infinite for failed cells and NaN for
        missing cells.
    upper : ndarray, shape (seeds,)
        Certified upper bounds on the losses of the second setting, with the same seeds.
    error : float
        Probability of a wrong decision for two identical settings.
    repeats : int
        Number of bootstrap resamples.
    """
    shared = ~(np.isnan(lower) | np.isnan(upper))
    if not shared.any():
        return False
    if 0.5 ** shared.sum() > 0.5 * error:
        return bool(lower[shared].min() > upper[shared].max())
    with np.errstate(invalid="ignore"):  # two infinite medians are not distinguished
        medians = resampled_medians(np.column_stack([lower, upper])[shared], _SEED, repeats)
        return bool(np.mean(~(medians[:, 0] - medians[:, 1] > 0.0)) <= error)


def _by_setting(records: Sequence[Cell], settings: Sequence[Mapping[str, object]]) -> list[dict[int, Cell]]:
    """Return the cells of each setting, keyed by seed."""
    found: dict[str, dict[int, Cell]] = {digest(setting): {} for setting in settings}
    for cell in records:
        known = found.get(digest(cell.settings), {})
        if cell.seed in known:
            raise InputError(f"expected one cell per setting and seed, got two of {cell.settings} with {cell.seed}")
        known[cell.seed] = cell
    return [found[digest(setting)] for setting in settings]


def _median(row: Floats) -> float:
    """Return the median of the entries that are not NaN."""
    present = row[~np.isnan(row)]
    return float(np.median(present)) if present.size else math.nan


def _bootstrap_interval(lower: Floats, upper: Floats, level: float, repeats: int) -> Interval | None:
    """Return a bootstrap interval of the median, extended by the brackets."""
    present = ~np.isnan(lower)
    if present.sum() < 2:
        return None
    tail, medians = 0.5 * (1.0 - level), resampled_medians(np.column_stack([lower, upper])[present], _SEED, repeats)
    low, high = (
        np.quantile(medians[:, 0], tail, method="lower"),
        np.quantile(medians[:, 1], 1.0 - tail, method="higher"),
    )
    return float(low), float(high)


def _warnings(rows: Sequence[SettingSummary], level: float, error: float) -> tuple[str, ...]:
    failed = [row for row in rows if row.failed]
    found = [f"{row.failed} of {row.cells} cells with {setting_key(row.settings)} failed" for row in failed]
    fewest = min(row.cells for row in rows if row.cells)
    needed = next(m for m in range(1, _MOST_SEEDS) if math.comb(2 * m, m) * error >= 1.0)
    if len(rows) > 1 and fewest < needed:
        found.append(
            f"there are too few seeds per setting ({fewest}) to distinguish {len(rows)} settings at a level of "
            f"{level:g}, and ties may be missing; use at least {needed} seeds"
        )
    return tuple(map(Caution, found))
