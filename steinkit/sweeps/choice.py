"""Choice of a setting, and the settings that are tied with it.

A setting i is run with seeds s and scored. Its loss in a cell lies in a certified bracket [l_is, u_is]. (If larger
values of the measure are better, the loss is its negative.) A cell without a finite value has the loss l = u =
infinity. A setting that fails with half of its seeds or more therefore has an infinite median, and its remaining cells
cannot make it the best. The best setting b has the smallest median of the midpoints.

Setting i is distinguished from b if the evidence exceeds the uncertainty of both the solver and the seeds. The m seeds
that both settings have are resampled with replacement, jointly [1]_, and

    median of l_is - median of u_bs > 0

must hold in all but a fraction (1 - level) / (k - 1) of the resamples, where k is the number of settings. (This is a
Bonferroni correction: each of the others is compared with the best, which was selected.) If m is so small that
resampling cannot reach that fraction, 2^-m > (1 - level) / (2 (k - 1)), setting i is distinguished if all of its
brackets lie above all brackets of b. For two identical settings the probability of this event is at most
1 / (2m choose m) (1/2 for one seed, then 1/6, 1/20, 1/70, 1/252). Five seeds are therefore sufficient for a level of
95 % and eight settings. The other settings are ties, except that a setting with an infinite median never ties with a
finite one. The best setting and its ties contain the setting with the smallest true median with probability `level`.

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
from numpy.typing import NDArray

from steinkit.arguments import number, require_mappings, require_type, whole
from steinkit.errors import Caution, InputError, UsageError, cautious
from steinkit.measures import find_measure
from steinkit.result import in_json
from steinkit.sample import Floats, Integers
from steinkit.sweeps.cells import Cell, Interval, Record, Setting
from steinkit.sweeps.identity import digest
from steinkit.text import setting_key

LEVEL = 0.95
_MISSING = math.nan, math.nan  # loss of a cell that was not run
_SEED = 0  # of the resampling: the same cells give the same choice
_MOST_SEEDS = 100  # (200 over 100) exceeds any number of settings
_ENDS = 3  # number of values from which the best one at an end of the grid is reported

BEST, TIED, WORSE, NOT_RUN = "best", "not told apart", "worse", "not run"


class UnrankedError(InputError):
    """Error of a measure with values that cannot order the settings.

    Such a value may be small although the draws are biased.
    """


@dataclass(frozen=True)
class SettingSummary(Record):
    """A setting with its results over the seeds.

    Attributes
    ----------
    settings : dict
        Options of the sampler.
    standing : {"best", "not told apart", "worse", "not run"}
        Result of the comparison with the best setting.
    scored, failed : int
        Number of cells with and without a value of the measure.
    median : float
        Median over all cells, with the worst value for failed cells; NaN without cells.
    interval : tuple of two floats, or None
        Percentile bootstrap interval of the median over the seeds, extended by the certified brackets. None with fewer
        than two cells. Its coverage is below 95 % with fewer than six.
    lower, upper : float
        Medians of the certified lower and upper bounds: the uncertainty of the solver.
    cost_per_draw : float or None
        Median over the cells that report it.
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
    """The best setting by one measure.

    Attributes
    ----------
    measure : str
        Name of the measure.
    rows : tuple of SettingSummary
        All settings, in the order of the grid.
    level : float
        Confidence level of the intervals and of the ties.
    warnings : tuple of str
        Warnings about failed cells, and about too few seeds for the level.

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
        """Settings that cannot be distinguished from the best, in the order of the grid."""
        return tuple(row.settings for row in self.rows if row.standing == TIED)

    @property
    def median(self) -> float:
        """Median of the best setting over the seeds."""
        return self.row.median

    @property
    def interval(self) -> Interval | None:
        """Interval of that median: see `SettingSummary`."""
        return self.row.interval

    @property
    def at_end(self) -> tuple[str, str] | None:
        """Numeric option with its best value at an end of the grid, or None.

        The second item is "smallest" or "largest". The option must have three or more values.
        """
        for name, value in self.best.items():
            tried: list[Any] = [row.settings.get(name) for row in self.rows]
            are_numbers = all(isinstance(each, int | float) for each in tried)
            if are_numbers and len(set(tried)) >= _ENDS and value in (min(tried), max(tried)):
                return name, "smallest" if value == min(tried) else "largest"
        return None

    def of(self, settings: Mapping[str, Any]) -> SettingSummary:
        """Return the summary of a setting.

        Parameters
        ----------
        settings : mapping
            Options of the setting.

        Returns
        -------
        SettingSummary
            Its row.
        """
        return next(row for row in self.rows if row.settings == settings)

    def to_dict(self) -> Setting:
        """Return the choice as JSON values.

        Returns
        -------
        dict
            Strings, finite numbers, lists and dicts.
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
    """Choose the best of several settings, and find its ties.

    Ties are settings that cannot be distinguished from the best.

    Parameters
    ----------
    records : sequence of Cell
        Cells of a sweep. Cells of other settings are ignored.
    measure : str
        A measure of the cells, such as "graph", "sliced" or "ess".
    settings : sequence of mapping
        Settings to choose from.
    eligible : collection of int, optional
        Indices of the settings that may win or tie; by default all. The others are summarized only.
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
        If the measure does not exist, there are no settings, or `level` or `repeats` is out of range.
    InputError
        If a setting has two cells with the same seed, or no cell has a value.
    UnrankedError
        If the values of the best setting are not suitable for a ranking. If the measure is an estimate, the values of
        all settings must be suitable.

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
        raise InputError(f"expected a value of measure {measure} in some cell; all {np.isinf(lower).sum()} failed")
    medians = [_median(row) for row in 0.5 * lower + 0.5 * upper]
    # if every setting fails with half of its seeds, the one that fails least often
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
        if not smaller_is_better:  # from losses to the measure
            median, interval, ends = -median, interval and (-interval[1], -interval[0]), (-ends[1], -ends[0])
        counts = int(np.isfinite(lower[i]).sum()), int(np.isinf(lower[i]).sum())
        costs = [cell.cost_per_draw for cell in cells[i].values() if cell.cost_per_draw]
        cost = float(np.median(costs)) if costs else None
        rows.append(SettingSummary(dict(setting), standing, *counts, median, interval, *ends, cost))
    return Choice(measure, tuple(rows), level, _warnings(rows, level, error))


def refusal(best: Sequence[Cell], all_cells: Iterable[Sequence[Cell]], measure: str) -> str:
    """Return the reason why a measure cannot order settings; empty if it can.

    A measure is refused if half of the cells of the best setting have a reason. An estimate is also refused if half of
    the cells of any other setting have one.

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
    if not find_measure(measure).has_bracket:  # an estimate may also be too large
        rows += [(row, "unranked") for row in all_cells]
    for row, kind in rows:
        values = [cell.measures[measure] for cell in row if measure in cell.measures]
        reasons = [reason for value in values if (reason := getattr(value, kind))]
        if reasons and 2 * len(reasons) >= len(values):
            return f"in {len(reasons)} of {len(values)} cells of {setting_key(row[0].settings)}, {reasons[0]}"
    return ""


def ranking(cells: Sequence[Sequence[Cell]], measures: Sequence[str], wanted: int | None = None) -> tuple[str, Floats]:
    """Return the first measure that can order settings, and their losses by it.

    Parameters
    ----------
    cells : sequence of sequence of Cell
        Cells of each setting, with the same seeds.
    measures : sequence of str
        Names of the measures, in the order of preference.
    wanted : int, optional
        Number of settings to be ordered. If it is given, cells with unranked values count as failed.

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
    """Return the medians of midpoints of brackets, shape (settings, seeds, 2)."""
    medians: Floats = np.median(0.5 * losses.sum(axis=2), axis=1)
    return medians


def is_above(lower: Floats, upper: Floats, *, error: float, repeats: int = 2000) -> bool:
    """Return True if the median loss of a setting exceeds another's.

    The difference must exceed the uncertainty of the solver and of the seeds.

    Parameters
    ----------
    lower : ndarray, shape (seeds,)
        Certified lower bounds of the losses of the setting; infinite for failed cells, NaN for missing ones.
    upper : ndarray, shape (seeds,)
        Certified upper bounds of the losses of the other setting, with the same seeds.
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
    resampled = _resamples(shared, repeats)
    with np.errstate(invalid="ignore"):  # two infinite medians: the settings are not distinguished
        difference = np.median(lower[resampled], axis=1) - np.median(upper[resampled], axis=1)
    return bool(np.mean(~(difference > 0.0)) <= error)


def _by_setting(records: Sequence[Cell], settings: Sequence[Mapping[str, Any]]) -> list[dict[int, Cell]]:
    """Return the cells of each setting by their seeds."""
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
    """Return the interval of the median over the seeds, extended by the brackets."""
    present = ~np.isnan(lower)
    if present.sum() < 2:
        return None
    resampled, tail = _resamples(present, repeats), 0.5 * (1.0 - level)
    low = np.quantile(np.median(lower[resampled], axis=1), tail, method="lower")
    high = np.quantile(np.median(upper[resampled], axis=1), 1.0 - tail, method="higher")
    return float(low), float(high)


def _resamples(present: NDArray[np.bool_], repeats: int) -> Integers:
    """Return indices of the seeds present, drawn with replacement.

    The shape is (repeats, seeds present).
    """
    indices = np.flatnonzero(present)
    return indices[np.random.default_rng(_SEED).integers(len(indices), size=(repeats, len(indices)))]


def _warnings(rows: Sequence[SettingSummary], level: float, error: float) -> tuple[str, ...]:
    failed = [row for row in rows if row.failed]
    found = [f"{row.failed} of {row.cells} cells with {setting_key(row.settings)} failed" for row in failed]
    fewest = min(row.cells for row in rows if row.cells)
    needed = next(m for m in range(1, _MOST_SEEDS) if math.comb(2 * m, m) * error >= 1.0)
    if len(rows) > 1 and fewest < needed:
        found.append(
            f"too few seeds per setting ({fewest}) to distinguish {len(rows)} settings at a level of {level:g}: "
            f"ties may be missing; use at least {needed} seeds"
        )
    return tuple(map(Caution, found))
