r"""A measure of sample quality against the number of draws, or their cost, and the rate at which it falls.

For a sample x_1, x_2, ... the curve is the measure :math:`m_n` of its first n draws, over a grid of n (or of budgets:
the draws that the budget pays for). The rate r is the slope of the least-squares line

.. math:: \log m_n \approx a + r \log n

over the tail of the grid. Independent draws have r near -1/2; a sampler with a bias has a curve that levels out at the
bias, so that r tends to 0. Of several replicates of a sampler the curve is the median over them, and the line goes
through the medians. The interval of the rate is

- for one sample that of regression theory. It takes the points for independent, which those of one growing sample are
  not: it describes how straight the line is, not what another run of the sampler would show;
- for several replicates that of a bootstrap over the replicates, each of which keeps all its points together.

For measures that need nothing else of the target its scores of all draws are evaluated once for the whole curve.
Nothing else is carried from one n to the next: the greedy spanner of the first n draws is not part of that of more,
since it takes pairs in the order of their distance.

References
----------
J. Gorham and L. Mackey (2015), "Measuring sample quality with Stein's method", figure 1 and section 5.5.
B. Efron and R. J. Tibshirani (1993), An Introduction to the Bootstrap, chapter 13 (percentile intervals).
"""

from __future__ import annotations

import math
import re
import warnings as python_warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from steinkit import __version__
from steinkit.arguments import generator_from, number, real_numbers, require_mappings, require_type
from steinkit.chains import split_chains
from steinkit.containers.reading import DrawsLike, as_sample
from steinkit.errors import InputError, SolverError, UsageError, cautious, reservations
from steinkit.measures import default_measure, find_measure, require_taken, take_measure
from steinkit.measures.options import units_of_several
from steinkit.result import UNVISITED, Origin, Result, Statement, bracket_column
from steinkit.runtime.deadlines import Shares, time_limit
from steinkit.runtime.progress import progress_bar
from steinkit.sample import Floats, Integers, Sample
from steinkit.target import Seed, Target
from steinkit.text import (
    Table,
    compact,
    count,
    filled,
    one_line,
    rounded_outwards,
    sentence,
    units_label,
    units_sentence,
    within,
)

if TYPE_CHECKING:
    from steinkit.units import Units

Flags = NDArray[np.bool_]
FEWEST_POINTS = 3
_POINTS = 12
_FIRST = 10
_BOOTSTRAP = 2000
_BLOCK = 1 << 21  # values held at once
_INTERVALS = {
    "bootstrap": "bootstrap interval over the samples",
    "regression": "regression interval, which says how straight the line is: the points share draws, and another run "
    "may differ by more",
}
_LEVELS_OUT = (
    "Independent draws have a power near -0.5. A curve that levels out shows a bias that more draws do not remove; a "
    "falling curve does not rule one out."
)
_GROWS = "An effective size that grows like the draws (power 1) speaks for mixing, not for the right target."


@dataclass(frozen=True, eq=False)
class Rate:
    """A fitted rate, by the names that `Curve` has for it."""

    interval: Floats | None
    rate: float
    rate_interval: tuple[float, float]
    interval_kind: Literal["regression", "bootstrap"]
    tail: Flags


@dataclass(frozen=True, eq=False)
class Curve(Rate, Result):
    """A measure against the number of draws.

    Attributes
    ----------
    measure : str
        Its name.
    n : ndarray, shape (k,)
        Numbers of draws; of several replicates with budgets, their medians.
    cost : ndarray, shape (k,), or None
        What these draws cost, over all chains (median over replicates); None where the samples store no cost.
    budget : ndarray, shape (k,), or None
        The budgets, if the grid is one of budgets.
    values : ndarray, shape (k,)
        The measure; median over the replicates. NaN where it is not defined, or not certified for any replicate.
    lower, upper : ndarray, shape (k,)
        Certified bracket of `values` (medians of the replicates' bounds); the values themselves for ess.
    replicates : ndarray, shape (samples, k)
        The measure of each sample.
    interval : ndarray, shape (k, 2), or None
        Bootstrap interval of the median over replicates; None for one sample.
    rate : float
        Slope of log value on log n (on log cost where the grid is one of budgets); NaN where it cannot be fitted.
    rate_interval : tuple of float
        Interval (lower, upper) of the rate, at `level`.
    interval_kind : {"regression", "bootstrap"}
        Where `rate_interval` comes from: "regression" for one sample, whose points are not independent.
    tail : ndarray of bool, shape (k,)
        The points that the rate is fitted to.
    level : float
        Of the intervals.
    units : Units or None
        The one scale of all points of the curve; None where the measure has no units.
    warnings : tuple of str
        What a reader should know before the rate.
    origin : Origin or None
        Where a command line made it.
    """

    measure: str
    n: Floats
    cost: Floats | None
    budget: Floats | None
    values: Floats
    lower: Floats
    upper: Floats
    replicates: Floats
    level: float
    units: Units | None
    warnings: tuple[str, ...]
    origin: Origin | None = None

    def to_dict(self) -> dict[str, Any]:
        """List what ``steinkit curve --json`` prints.

        Returns
        -------
        dict
            Of strings, finite numbers, lists and dicts.
        """
        arrays = {name: getattr(self, name) for name in ("n", "cost", "budget", "values", "lower", "upper")}
        return {
            "measure": self.measure,
            **{name: None if values is None else _numbers(values) for name, values in arrays.items()},
            "interval": None if self.interval is None else [_numbers(pair) for pair in self.interval],
            "replicates": [_numbers(row) for row in self.replicates],
            "rate": _numbers([self.rate])[0],
            "rate_against": "n" if self.budget is None else "cost",
            "rate_interval": _numbers(self.rate_interval),
            "interval_kind": self.interval_kind,
            "level": self.level,
            "tail": np.flatnonzero(self.tail).tolist(),
            "units": None if self.units is None else self.units.document,
            "warnings": list(self.warnings),
            "version": __version__,
            **(self.origin.to_dict() if self.origin else {}),
        }

    @property
    def subject(self) -> str:
        """The samples and their target."""
        return "" if self.origin is None else f"{', '.join(self.origin.files)} against {self.origin.against}"

    def headline(self) -> str:
        """State the rate."""
        title = sentence(find_measure(self.measure).title)
        if math.isnan(self.rate):
            return f"{title}: no rate could be fitted"
        low, high = self.rate_interval
        way = "falls" if self.rate < 0.0 else "grows"
        return f"{title} {way} like the {self.against} to the power {self.rate:.2f} ({low:.2f} to {high:.2f})"

    def statements(self) -> tuple[Statement, ...]:
        """State the rate, its interval and its limits."""
        asked, is_distance = "What does this not prove?", find_measure(self.measure).smaller_is_better
        return (
            Statement("number", "How does it go?", self._rate),
            Statement("limits", asked, _LEVELS_OUT if is_distance else _GROWS),
            *([Statement("limits", asked, UNVISITED)] if is_distance else []),
        )

    def tables(self) -> tuple[Table, ...]:
        """List the measure at each size, with its bracket and the interval over replicates."""
        measure = find_measure(self.measure)
        columns = {"draws": [f"{each:g}" for each in self.n]}
        if self.cost is not None:
            columns["cost"] = [f"{each:g}" for each in self.cost]
        columns["value"] = [compact(each) for each in self.values.tolist()]
        if proof := bracket_column(measure.claim):
            columns["value"] = [*map(within, self.values.tolist(), self.lower.tolist(), self.upper.tolist())]
            ends = np.nan_to_num(self.lower).tolist(), np.where(np.isnan(self.upper), np.inf, self.upper).tolist()
            columns[proof] = [" and ".join(each) for each in map(rounded_outwards, *ends)]
        what = ""
        if self.interval is not None:
            what = f" (median of {len(self.replicates)} samples)"
            heading = f"{self.level:.0%} interval of the median"
            columns[heading] = [" to ".join(map(compact, each)) for each in self.interval.tolist()]
        rows = tuple(zip(*columns.values(), strict=True))
        return (Table(f"{sentence(measure.title)} of the first draws{what}", tuple(columns), rows),)

    def facts(self) -> tuple[tuple[str, str], ...]:
        """List the measure, its units and its origin."""
        units = units_label(None if self.units is None else self.units.document)
        return ("measure", find_measure(self.measure).title), *((("units", units),) if units else ()), *super().facts()

    def summary(self) -> str:
        """Report the measure at each size and its rate.

        Returns
        -------
        str
            Of several lines, as ``steinkit curve`` prints it.
        """
        (table,), (rate, limits, *_) = self.tables(), self.statements()
        head = [one_line(self.subject), ""] if self.origin else []
        units = units_sentence(None if self.units is None else self.units.document)
        lines = [*head, table.caption, *table.lines(), "", filled(f"{rate.text} {limits.text}")]
        return "\n".join([*lines, *(["", filled(units)] if units else [])])

    @property
    def against(self) -> str:
        """Grid of the curve: "draws" or "cost"."""
        return "draws" if self.budget is None else "cost"

    @property
    def _rate(self) -> str:
        if math.isnan(self.rate):
            return "No rate could be fitted."
        low, high = self.rate_interval
        source = f"a {self.level:.0%} {_INTERVALS[self.interval_kind]}"
        return (
            f"Over the last {int(self.tail.sum())} points the measure goes like the {self.against} to the power "
            f"{self.rate:.2f} ({low:.2f} to {high:.2f}: {source})."
        )

    def __repr__(self) -> str:
        return (
            f"<Curve of {self.measure} at {len(self.n)} sizes to {self.n[-1]:g} draws, "
            f"rate {self.rate:.3g}{reservations(self.warnings)}>"
        )


def _numbers(values: Iterable[float]) -> list[float | None]:
    """Numbers for JSON, which has no NaN; whole ones without a decimal point."""
    finite = [float(value) if math.isfinite(value) else None for value in values]
    return [int(value) if value is not None and value.is_integer() else value for value in finite]


@cautious
def curve(
    draws: DrawsLike | Sequence[Sample],
    target: Target | None = None,
    *,
    n: Iterable[float] | None = None,
    budget: Iterable[float] | None = None,
    measure: str | None = None,
    tail_from: float | None = None,
    level: float = 0.95,
    rng: Seed = 0,
    progress: bool = False,
    settings: Mapping[str, Any] | None = None,
    **changes: Any,
) -> Curve:
    """Measure the first n draws of a sample for several n, and fit the rate at which the measure falls.

    The first n draws of K chains are the first n/K of each (where n is no multiple of K, the first chains give one
    more; a chain that has no more is left at what it has). A budget is shared alike: each chain gives the draws whose
    cumulative cost is within budget/K.

    Parameters
    ----------
    draws : Sample or array_like, or list of Sample
        The draws in their order; a list holds replicates of the same sampler.
    target : Target, optional
        Not needed where the samples store scores, nor for ess.
    n : iterable of int, optional
        Sizes. By default 12 from 10 to all draws (of the shortest replicate), evenly spaced in log n.
    budget : iterable of float, optional
        Budgets in the unit of the samples' cost, in place of `n`.
    measure : str, optional
        One of `steinkit.measures.measure_names`. By default graph up to two dimensions, and sliced above, where graph
        saturates; with a diffusion operator graph.
    tail_from : float, optional
        Smallest n (or budget) that the rate is fitted to. By default the geometric mean of the first and the last,
        which is the upper half of the curve as it is drawn, and at least three points.
    level : float
        Of the intervals.
    rng : int, numpy.random.Generator or None
        Seed of the bootstrap over replicates.
    progress : bool
        Show progress on standard error.
    settings : mapping, optional
        How the measure is taken, by the names of the settings; it may hold those of other measures. Of
        ``max_seconds`` every size has a share.
    **changes
        Settings that differ, such as ``tolerance=1e-3``; the measure must have each.

    Returns
    -------
    Curve
        The measure at each size, and the rate.

    Raises
    ------
    UsageError
        If a size or budget cannot be had, the measure is not known, or it has no such setting.
    InputError
        If the draws cannot be measured.

    Examples
    --------
    >>> import steinkit as sk
    >>> from steinkit.curves import curve
    >>> from steinkit.samplers import iid
    >>> target = sk.targets.Normal([0.0])
    >>> found = curve(iid(target, draws=1000).to_sample(), target)
    >>> bool(-0.8 < found.rate < -0.2)
    True
    """
    require_mappings(settings=settings)
    require_type((str, type(None)), "the name of a measure or None", measure=measure)
    samples = _as_samples(draws)
    shared = {**(settings or {}), **changes, "progress": False}
    if measure is None:
        measure = default_measure(samples[0].dim, operator=shared.get("operator"))
    require_taken(changes, (measure,))
    number(level, "level", lambda share: 0.0 < share < 1.0, "between 0 and 1")
    if tail_from is not None:
        number(tail_from, "tail_from", lambda size: True, "of draws, or a budget")
    if n is not None and budget is not None:
        raise UsageError("both n and budget were given; the grid is one of sizes or one of budgets")
    grid = _sizes(n, samples) if budget is None else _budgets(budget, samples)
    units: Units | None = None
    doubts: tuple[str, ...] = ()
    if "units" in find_measure(measure).options:
        units, doubts = units_of_several(samples, target, shared)
        shared |= {"units": units}
    cut = first_draws if budget is None else within_budget
    with time_limit(shared.get("max_seconds")):
        brackets, sizes, cost, told = _measured(samples, target, measure, grid, cut, shared, progress)
    against = sizes if budget is None else cost
    assert against is not None  # samples without cost have no budget
    begin = tail_from
    if begin is None:  # half way on the logarithm, with enough points for a line if there are
        begin = min(math.sqrt(grid[0] * grid[-1]), grid[-min(FEWEST_POINTS, len(grid))])
    values, lower, upper = medians(brackets)
    grows = np.diff(against) > 0.0  # a budget that buys nothing more is the point before once again
    fitted = fit_rate(brackets[0], against, (grid >= begin) & np.append(True, grows), level=level, rng=rng)
    notes = [*doubts, *_merged(told)]
    if not math.isfinite(fitted.rate):
        different = len(np.unique(against[fitted.tail]))
        notes.append(f"no rate: the tail has {different} different points to fit, {FEWEST_POINTS} are needed")
    surest = 1.0 - 2.0 ** (1 - len(samples))  # that the median lies within the range of so many
    if len(samples) > 1 and surest < level:
        notes.append(
            f"{len(samples)} samples are too few for an interval of {level:.0%}: even the range of their values holds "
            f"the median with probability {surest:.0%} only"
        )
    if budget is not None and not grows.all():
        beyond = ", ".join(f"{each:g}" for each in grid[1:][~grows])
        notes.append(
            f"no more was drawn with budget {beyond} than with the one before: these points stand for what was drawn, "
            "not for what the budget could have bought"
        )
    return Curve(
        **vars(fitted),
        measure=measure,
        n=sizes,
        cost=cost,
        budget=None if budget is None else grid,
        values=values,
        lower=lower,
        upper=upper,
        replicates=brackets[0],
        level=level,
        units=units,
        warnings=tuple(notes),
    )


def first_draws(sample: Sample, n: float) -> Sample:
    """The first n draws: of several chains, the first n/K of each, one more of the first where that is not whole.

    Raises
    ------
    UsageError
        If the sample has fewer.
    """
    if n > len(sample):
        raise UsageError(f"the first {n:.0f} draws were asked for, but the sample has {len(sample)}")
    chains, _ = split_chains(sample)
    place = np.concatenate([np.arange(len(rows)) for rows in chains])
    turn = np.argsort(place, kind="stable")  # first draws of all chains, then the second ones
    return sample[np.concatenate(chains)[np.sort(turn[: int(n)])]]


def within_budget(sample: Sample, budget: float) -> Sample:
    """The draws that a budget pays for: of K chains, those of each whose cumulative cost is within budget/K.

    Raises
    ------
    UsageError
        If the sample stores no cost, or the budget pays for no draw.
    """
    if sample.cost is None:
        raise UsageError("a curve against budgets needs the draws' cumulative cost (column cost); give sizes n instead")
    chains, _ = split_chains(sample)
    share = budget / len(chains)
    paid = [rows[np.maximum.accumulate(sample.cost[rows]) <= share] for rows in chains]
    chosen: Integers = np.concatenate(paid)
    if not chosen.size:
        first = min(float(sample.cost[rows[0]]) for rows in chains)
        raise UsageError(
            f"a budget of {budget:g} pays for no draw: the first of a chain costs {first:g}, and there are "
            f"{len(chains)} of them"
        )
    return sample[chosen]


def _as_samples(draws: Any) -> tuple[Sample, ...]:
    if isinstance(draws, list | tuple) and any(isinstance(each, Sample) for each in draws):
        strangers = [type(each).__name__ for each in draws if not isinstance(each, Sample)]
        if strangers:
            raise UsageError(f"a list of replicates holds Samples only; received {strangers[0]} among them")
        if len({each.dim for each in draws}) > 1:
            raise UsageError(f"replicates must have the same dimension; received {[each.dim for each in draws]}")
        return tuple(draws)
    return (as_sample(draws),)


def _sizes(n: Iterable[float] | None, samples: Sequence[Sample]) -> Floats:
    most = min(map(len, samples))
    if n is None:
        return np.unique(np.rint(np.geomspace(min(_FIRST, most), most, _POINTS)))
    sizes = np.unique(real_numbers(n, "n", f"whole numbers from 1 to {most}"))
    if not sizes.size or (sizes != np.rint(sizes)).any() or sizes[0] < 1 or sizes[-1] > most:
        received = ", ".join(f"{size:.15g}" for size in sizes) or "none"
        raise UsageError(f"n must be whole numbers from 1 to {most}, the draws there are; received {received}")
    return sizes


def _budgets(budget: Iterable[float], samples: Sequence[Sample]) -> Floats:
    budgets = np.unique(real_numbers(budget, "budget", "numbers"))
    if not budgets.size or not np.isfinite(budgets).all() or budgets[0] <= 0.0:
        raise UsageError(f"budgets must be positive numbers; received {budgets.tolist()}")
    for sample in samples:
        within_budget(sample, float(budgets[0]))
    return budgets


def _measured(
    samples: Sequence[Sample],
    target: Target | None,
    measure: str,
    grid: Floats,
    cut: Callable[..., Sample],
    settings: Mapping[str, Any],
    progress: bool,
) -> tuple[Floats, Floats, Floats | None, list[tuple[str, int]]]:
    """Measure the first draws of every sample, the fewest first.

    Value, lower and upper bound of every replicate at every point, (3, samples, k); sizes, costs; notes and where.
    """
    brackets = np.full((3, len(samples), len(grid)), np.nan)
    n, cost = np.empty(brackets.shape[1:]), np.empty(brackets.shape[1:])
    notes: list[tuple[str, int]] = []
    shares = Shares(n.size)
    with progress_bar("sizes", n.size, shown=progress) as bar:
        for r, sample in enumerate(samples):
            try:
                whole, own_target, own_settings, said = _prepared(sample, target, measure, settings)
                notes += [(note, 0) for note in said]
                for k, wanted in enumerate(grid.tolist()):
                    first = cut(whole, wanted)
                    n[r, k], cost[r, k] = len(first), _total_cost(first)
                    with shares.one():
                        brackets[:, r, k], said = _take(measure, first, own_target, own_settings)
                    notes += [(note, len(first)) for note in said]
                    bar.update()
            except InputError as error:
                raise InputError(f"replicate {r + 1}: {error}" if len(samples) > 1 else str(error)) from error
    known = not np.isnan(cost).any()
    return brackets, np.median(n, axis=0), np.median(cost, axis=0) if known else None, notes


def _prepared(
    sample: Sample, target: Target | None, measure: str, settings: Mapping[str, Any]
) -> tuple[Sample, Target | None, Mapping[str, Any], Sequence[str]]:
    """The sample, its chains in order, with the score of every draw in place of the target where that suffices."""
    chains, notes = split_chains(sample)
    ordered = sample[np.concatenate(chains)]
    if target is None or not find_measure(measure).reuses_scores:
        return ordered, target, settings, notes
    from steinkit.scored_sample import ScoredSample

    ready = ScoredSample.of(ordered, target, bounds=settings.get("bounds"))
    # a draw without weight has no score, and no measure looks at it
    scores = np.where(ready.points.inverse[:, None] >= 0, ready.scores[ready.points.inverse], 0.0)
    scored = replace(ordered, scores=scores, names=ready.points.names)
    return scored, None, {**settings, "bounds": ready.bounds}, [*notes, *ready.notes]


def _take(
    measure: str, sample: Sample, target: Target | None, settings: Mapping[str, Any]
) -> tuple[tuple[float, float, float], tuple[str, ...]]:
    """Value, lower and upper bound; without a value where no answer could be certified."""
    try:
        found = take_measure(measure, sample, target, settings)
    except SolverError as error:
        return (math.nan, error.lower, error.upper), (str(error),)
    return (found.value, found.lower, found.upper), found.warnings


def _merged(notes: Sequence[tuple[str, int]]) -> Iterable[str]:
    """Each note once: of those that differ in their numbers only the last, and at how many points others said so."""
    kinds: dict[str, list[tuple[str, int]]] = {}
    for note, size in notes:
        kinds.setdefault(re.sub(r"\d[\d.e+-]*", "#", note), []).append((note, size))
    for alike in kinds.values():
        note, size = alike[-1]
        others = sum(size > 0 for _, size in alike) - 1
        where = f"n = {size}: " if size else ""
        likewise = f" (and likewise at {count(others, 'other point')} of the curve)" if others > 0 else ""
        yield type(note)(f"{where}{note}{likewise}")


def _total_cost(sample: Sample) -> float:
    """Cost of all chains up to their last draws; NaN where the sample stores none."""
    if sample.cost is None:
        return math.nan
    return float(sum(sample.cost[rows].max() for rows in split_chains(sample)[0]))


def fit_rate(replicates: Floats, against: Floats, tail: Flags, *, level: float = 0.95, rng: Seed = 0) -> Rate:
    """Fit the rate of a curve, and an interval around it.

    Parameters
    ----------
    replicates : ndarray, shape (samples, k)
        The measure; a value that is missing is NaN.
    against : ndarray, shape (k,)
        Number of draws, or cost.
    tail : ndarray of bool, shape (k,)
        Points to fit; those without a logarithm are left out.
    level : float
        Of the intervals.
    rng : int, numpy.random.Generator or None
        Seed of the bootstrap.

    Returns
    -------
    Rate
    """
    values = medians(replicates)
    slope, fitted = _slope(values, against, tail)
    interval = (math.nan, math.nan)
    if len(replicates) == 1:
        if math.isfinite(slope):
            interval = _regression_interval(np.log(against[fitted]), np.log(values[fitted]), slope, level)
        return Rate(None, slope, interval, "regression", fitted)
    resampled = resampled_medians(replicates, rng)
    ends = (0.5 * (1.0 - level), 0.5 * (1.0 + level))
    if math.isfinite(slope):
        low, high = between(np.array([_slope(row, against, tail)[0] for row in resampled]), ends).tolist()
        interval = low, high
    return Rate(between(resampled, ends).T, slope, interval, "bootstrap", fitted)


def medians(values: Floats) -> Floats:
    """Medians over replicates, the last axis but one; a value that is missing leaves the others theirs."""
    if not np.isnan(values).any():
        return np.asarray(np.median(values, axis=-2))  # many times faster
    with python_warnings.catch_warnings():
        python_warnings.simplefilter("ignore", RuntimeWarning)  # a point that no replicate has a value for
        return np.asarray(np.nanmedian(values, axis=-2))


def resampled_medians(replicates: Floats, rng: Seed) -> Floats:
    """Medians over replicates drawn anew, each with all its points, shape (repeats, k)."""
    chosen = generator_from(rng).integers(len(replicates), size=(_BOOTSTRAP, len(replicates)))
    blocks = np.array_split(chosen, 1 + chosen.size * replicates.shape[1] // _BLOCK)
    return np.concatenate([medians(replicates[rows]) for rows in blocks])


def between(values: Floats, quantiles: tuple[float, float]) -> Floats:
    """Two quantiles along the first axis, of the values that are not missing, shape (2, ...)."""
    with python_warnings.catch_warnings():
        python_warnings.simplefilter("ignore", RuntimeWarning)  # a point that no replicate has a value for
        return np.asarray(np.nanquantile(values, quantiles, axis=0))


def _slope(values: Floats, against: Floats, tail: Flags) -> tuple[float, Flags]:
    """The slope through those points of the tail that have a logarithm, and which these are."""
    fitted = np.asarray(tail & (np.nan_to_num(values) > 0.0) & (against > 0.0))
    x, y = np.log(against[fitted]), np.log(values[fitted])
    if len(np.unique(x)) < FEWEST_POINTS:
        return math.nan, fitted
    x -= x.mean()
    return float(x @ y / (x @ x)), fitted


def _regression_interval(x: Floats, y: Floats, slope: float, level: float) -> tuple[float, float]:
    """Student's interval of a slope."""
    from scipy.special import stdtrit

    x = x - x.mean()
    residual = y - y.mean() - slope * x
    freedom = len(x) - 2
    reach = float(stdtrit(freedom, 0.5 * (1.0 + level)) * math.sqrt(residual @ residual / freedom / (x @ x)))
    return slope - reach, slope + reach
