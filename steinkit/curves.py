r"""Measures as functions of the number of draws, and their convergence rates.

The curve of a sample x_1, x_2, ... consists of the measure :math:`m_n` of its first n draws, evaluated on a grid of
values of n. The rate r is the slope of the least-squares line

.. math:: \log m_n \approx a + r \log n

over the tail of the grid. For independent draws, r is near -1/2. The curve of a biased sampler approaches the bias, so
r tends to 0. If several replicates of a sampler are given, the curve and the line are computed from the medians over
the replicates. The interval for the rate is a percentile interval obtained by bootstrapping the replicates. No interval
is computed for a single sample. The points of a single curve share draws, but a regression interval assumes independent
points. Therefore, such an interval would not describe the variation between runs of the sampler.

References
----------
J. Gorham and L. Mackey (2015), "Measuring sample quality with Stein's method", figure 1 and section 5.5.
B. Efron and R. J. Tibshirani (1993), An Introduction to the Bootstrap, chapter 13 (percentile intervals).
"""

from __future__ import annotations

import math
import re
import warnings as python_warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.arguments import generator_from, real_numbers, require_mappings, require_type
from steinkit.containers.reading import DrawsLike, as_sample
from steinkit.errors import InputError, SolverError, UsageError, about, cautious, reservations
from steinkit.measures import default_measure, find_measure, require_taken, take_measure
from steinkit.measures.options import units_of_several
from steinkit.measures.scores import MeasuredResult
from steinkit.result import UNVISITED, Origin, Statement, bracket_column, running_text
from steinkit.runtime.deadlines import Shares, time_limit
from steinkit.runtime.progress import progress_bar
from steinkit.sample import Floats, Sample, split_chains
from steinkit.target import Seed, Target
from steinkit.text import Table, compact, one_line, rounded_outwards, sentence, within
from steinkit.units import Units

Flags = NDArray[np.bool_]
_FEWEST = 3  # minimum number of points for a fitted line
_POINTS, _FIRST = 12, 10  # default number of grid points and default first grid point
_BOOTSTRAP = 2000  # number of resamples
_BLOCK = 1 << 21  # number of resampled values in memory
_LEVEL = 0.95
_LEVELS_OUT = (
    "Independent draws have r near -0.5. A curve that approaches a constant indicates a bias that more draws do not "
    "remove. A decreasing curve does not exclude a bias."
)
_GROWS = (
    "An effective size proportional to n (r near 1) indicates good mixing. It does not show that the target is correct."
)


@dataclass(frozen=True, eq=False)
class Rate:
    """Fitted rate and its interval.

    See `Curve` for the attributes.
    """

    interval: Floats | None
    rate: float
    rate_interval: tuple[float, float]
    tail: Flags


@dataclass(frozen=True, eq=False)
class Curve(Rate, MeasuredResult):
    """Values of a measure as a function of the number of draws.

    Attributes
    ----------
    measure : str
        Name of the measure.
    n : ndarray, shape (k,)
        Numbers of draws.
    values : ndarray, shape (k,)
        The measure, as the median over replicates. The value is NaN if, for every replicate, it is undefined or not
        certified.
    lower, upper : ndarray, shape (k,)
        Brackets of `values`, as medians of the bounds of the replicates. For an estimate, the bounds are equal to the
        values.
    replicates : ndarray, shape (samples, k)
        The measure of each sample.
    interval : ndarray, shape (k, 2), or None
        Bootstrap interval of the median over replicates, or None for one sample.
    rate : float
        Slope of log value against log n, or NaN if it cannot be fitted.
    rate_interval : tuple of float
        Bootstrap interval (lower, upper) of the rate, or NaN for one sample.
    tail : ndarray of bool, shape (k,)
        True for the points used in the fit.
    units : Units or None
        Common scale of all points, or None if the measure has no units.
    warnings : tuple of str
        Limitations of the curve.
    origin : Origin or None
        Command that generated the curve, if any.

    Examples
    --------
    >>> import steinkit as sk
    >>> draws = sk.targets.Normal([0.0]).sample(200, 0)
    >>> sk.curve(draws, sk.targets.Normal([0.0]), n=[50, 100, 200], measure="ksd").n
    array([ 50., 100., 200.])
    """

    measure: str
    n: Floats
    values: Floats
    lower: Floats
    upper: Floats
    replicates: Floats
    units: Units | None
    warnings: tuple[str, ...]
    origin: Origin | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the document that ``steinkit curve --json`` prints.

        Returns
        -------
        dict
            The JSON document, which contains strings, finite numbers, lists and dicts.
        """
        return {
            "measure": self.measure,
            **{name: _numbers(getattr(self, name)) for name in ("n", "values", "lower", "upper")},
            "interval": None if self.interval is None else [_numbers(pair) for pair in self.interval],
            "replicates": [_numbers(row) for row in self.replicates],
            "rate": _numbers([self.rate])[0],
            "rate_interval": _numbers(self.rate_interval),
            "tail": np.flatnonzero(self.tail).tolist(),
            **self._closing(),
        }

    @property
    def subject(self) -> str:
        """Samples and their target."""
        return "" if self.origin is None else f"{', '.join(self.origin.files)} against {self.origin.against}"

    def headline(self) -> str:
        """State the rate."""
        title = sentence(find_measure(self.measure).title)
        if math.isnan(self.rate):
            return f"{title}: no rate could be fitted"
        trend = "decreases" if self.rate < 0.0 else "increases"
        return f"{title} {trend} as n^r with r = {self._rate}"

    def statements(self) -> tuple[Statement, ...]:
        """State the rate, its interval and its limits."""
        limits, is_distance = "What does this not prove?", find_measure(self.measure).smaller_is_better
        points = int(self.tail.sum())
        number = f"Over the last {points} points, the measure of n draws is proportional to n^r with r = {self._rate}"
        if math.isnan(self.rate):
            number = "No rate could be fitted"
        elif not math.isnan(self.rate_interval[0]):
            number += " (95% bootstrap interval)"
        return (
            Statement("number", "What is the rate?", f"{number}."),
            Statement("limits", limits, _LEVELS_OUT if is_distance else _GROWS),
            *([Statement("limits", limits, UNVISITED)] if is_distance else []),
        )

    def tables(self) -> tuple[Table, ...]:
        """List the measure, its bracket and its interval at each size.

        The intervals are computed over the replicates.
        """
        measure = find_measure(self.measure)
        columns = {
            "draws": [f"{each:g}" for each in self.n],
            "value": [*map(within, self.values.tolist(), self.lower.tolist(), self.upper.tolist())],
        }
        if proof := bracket_column(measure.claim):
            ends = np.nan_to_num(self.lower).tolist(), np.where(np.isnan(self.upper), np.inf, self.upper).tolist()
            columns[proof] = [" and ".join(each) for each in map(rounded_outwards, *ends)]
        median = ""
        if self.interval is not None:
            median = f" (median of {len(self.replicates)} samples)"
            columns["95% interval of the median"] = [" to ".join(map(compact, each)) for each in self.interval.tolist()]
        rows = tuple(zip(*columns.values(), strict=True))
        return (Table(f"{sentence(measure.title)} of the first draws{median}", tuple(columns), rows),)

    def facts(self) -> tuple[tuple[str, str], ...]:
        """List the measure, its units and its provenance."""
        return ("measure", find_measure(self.measure).title), *self._unit_facts, *super().facts()

    def summary(self) -> str:
        """Report the measure at each sample size and its rate of convergence.

        Returns
        -------
        str
            The text of ``steinkit curve``.
        """
        (table,) = self.tables()
        shown = f"{table.caption}\n{table.text()}"
        blocks = [one_line(self.subject), shown, running_text(self.statements()), self._units_text]
        return "\n\n".join(filter(None, blocks))

    @property
    def _rate(self) -> str:
        """Rate, followed by its interval if available."""
        low, high = self.rate_interval
        return f"{self.rate:.2f}" + ("" if math.isnan(low) else f" ({low:.2f} to {high:.2f})")

    def __repr__(self) -> str:
        return (
            f"<Curve of {self.measure} at {len(self.n)} sample sizes up to {self.n[-1]:g} draws, "
            f"rate {self.rate:.3g}{reservations(self.warnings)}>"
        )


def _numbers(values: Iterable[float]) -> list[float | None]:
    """Convert values to JSON numbers.

    NaN is converted to None, and integers are written without a decimal point.
    """
    finite = [float(value) if math.isfinite(value) else None for value in values]
    return [int(value) if value is not None and value.is_integer() else value for value in finite]


@cautious
def curve(
    draws: DrawsLike | Sequence[Sample],
    target: Target | None = None,
    *,
    n: Iterable[float] | None = None,
    measure: str | None = None,
    rng: Seed = 0,
    progress: bool = False,
    settings: Mapping[str, object] | None = None,
    **changes: Any,
) -> Curve:
    """Apply a measure to the first n draws for several n, and fit the rate.

    The rate is estimated from all sizes above the geometric mean of the smallest and largest sizes. At least three
    sizes are used. For K chains, the first n draws are the first n/K draws of each chain. If n is not a multiple of K,
    the first chains each contribute one additional draw. If a chain is too short, all of its draws are used.

    Parameters
    ----------
    draws : Sample or array_like, or list of Sample
        Draws in their original order. The samples in a list are replicates of one sampler.
    target : Target, optional
        Target distribution. A target is not required if the samples store scores, or for the measure "ess".
    n : iterable of int, optional
        Numbers of draws. The default is 12 numbers, evenly spaced in log n, from 10 to all draws of the shortest
        replicate.
    measure : str, optional
        One of `steinkit.measures.measure_names`. The default is "graph" in up to two dimensions or with a diffusion
        operator, and "sliced" otherwise.
    rng : int, numpy.random.Generator or None
        Random seed for the bootstrap over replicates.
    progress : bool
        If True, progress is shown on standard error.
    settings : mapping, optional
        Settings by name, which may belong to several measures. ``max_seconds`` applies to all sizes together.
    **changes
        Settings that override `settings`, such as ``tolerance=1e-3``. The measure must support these settings.

    Returns
    -------
    Curve
        The measure at each size, and the rate.

    Raises
    ------
    UsageError
        If `n` is out of range, or if the measure or a setting is not known.
    InputError
        If the draws cannot be measured.

    References
    ----------
    J. Gorham and L. Mackey (2015), "Measuring sample quality with Stein's method", figure 1.

    Examples
    --------
    >>> import steinkit as sk
    >>> from steinkit.samplers import iid
    >>> target = sk.targets.Normal([0.0])
    >>> found = sk.curve(iid(target, draws=1000).to_sample(), target)
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
    grid = _sizes(n, samples)
    units: Units | None = None
    notes = [note for sample in samples for note in split_chains(sample)[1]]
    kinds: dict[str, str] = {}
    if "units" in find_measure(measure).options:
        units, doubts = units_of_several(samples, target, shared)
        shared |= {"units": units}
        notes += doubts
    brackets = np.full((3, len(samples), len(grid)), np.nan)  # values, lower bounds and upper bounds
    steps = [(r, k) for r in range(len(samples)) for k in range(len(grid))]
    shares = Shares(len(steps))
    with time_limit(shared.get("max_seconds")), progress_bar("sizes", len(steps), shown=progress) as bar:
        for r, k in steps:
            try:
                with shares.one():
                    found = take_measure(measure, first_draws(samples[r], grid[k]), target, shared)
                brackets[:, r, k] = found.value, found.lower, found.upper
                for note in found.warnings:  # if warnings differ only in numbers, keep the one for the largest size
                    kinds[re.sub(r"\d[\d.e+-]*", "#", note)] = about(f"n = {grid[k]:g}", note)
            except SolverError as error:
                brackets[1:, r, k] = error.lower, error.upper
                notes.append(f"n = {grid[k]:g}: {error}")
            except InputError as error:
                raise InputError(f"replicate {r + 1}: {error}" if len(samples) > 1 else str(error)) from error
            bar.update()
    first = min(math.sqrt(grid[0] * grid[-1]), grid[-min(_FEWEST, len(grid))])
    values, lower, upper = medians(brackets)
    fitted = fit_rate(brackets[0], grid, grid >= first, rng=rng)
    if not math.isfinite(fitted.rate):
        notes.append(f"no rate: the fit requires {_FEWEST} points in the tail, got {int(fitted.tail.sum())}")
    coverage = 1.0 - 2.0 ** (1 - len(samples))  # probability that the median is in the range of the replicates
    if len(samples) > 1 and coverage < _LEVEL:
        notes.append(
            f"{len(samples)} samples are too few for a {_LEVEL:.0%} interval: the range of their values contains the "
            f"median with a probability of only {coverage:.0%}"
        )
    return Curve(
        **vars(fitted),
        measure=measure,
        n=grid,
        values=values,
        lower=lower,
        upper=upper,
        replicates=brackets[0],
        units=units,
        warnings=tuple(dict.fromkeys([*kinds.values(), *notes])),
    )


def first_draws(sample: Sample, n: float) -> Sample:
    """Return the first n draws of a sample.

    For K chains, the result contains the first n/K draws of each chain. If K does not divide n, the first chains each
    contribute one additional draw.
    """
    chains, _ = split_chains(sample)
    place = np.concatenate([np.arange(len(rows)) for rows in chains])
    turn = np.argsort(place, kind="stable")  # the first draws of all chains, then their second draws, and so on
    return sample[np.concatenate(chains)[np.sort(turn[: int(n)])]]


def _as_samples(draws: Any) -> tuple[Sample, ...]:
    """Return the replicates."""
    if not (isinstance(draws, list | tuple) and any(isinstance(each, Sample) for each in draws)):
        return (as_sample(draws),)
    require_type(Sample, "a Sample", **{f"draws[{k}]": each for k, each in enumerate(draws)})
    if len({each.dim for each in draws}) > 1:
        raise UsageError(f"replicates must have the same dimension; got {[each.dim for each in draws]}")
    return tuple(draws)


def _sizes(n: Iterable[float] | None, samples: Sequence[Sample]) -> Floats:
    """Return the grid in ascending order."""
    most = min(map(len, samples))
    if n is None:
        return np.unique(np.rint(np.geomspace(min(_FIRST, most), most, _POINTS)))
    sizes = np.unique(real_numbers(n, "n", f"whole numbers from 1 to {most}"))
    if not sizes.size or (sizes != np.rint(sizes)).any() or sizes[0] < 1 or sizes[-1] > most:
        got = ", ".join(f"{size:.15g}" for size in sizes) or "no number"
        raise UsageError(f"`n` must contain whole numbers from 1 to {most}, the number of draws; got {got}")
    return sizes


def fit_rate(replicates: Floats, against: Floats, tail: Flags, *, level: float = _LEVEL, rng: Seed = 0) -> Rate:
    """Fit the rate of a curve and, for replicates, compute a bootstrap interval.

    Parameters
    ----------
    replicates : ndarray, shape (samples, k)
        The measure, with NaN for missing values.
    against : ndarray, shape (k,)
        Number of draws, or another cost.
    tail : ndarray of bool, shape (k,)
        True for the points used in the fit. Points that are not positive, and therefore have no logarithm, are omitted.
    level : float
        Confidence level of the intervals.
    rng : int, numpy.random.Generator or None
        Random seed for the bootstrap.

    Returns
    -------
    Rate
    """
    slope, fitted = _slope(medians(replicates), against, tail)
    interval = (math.nan, math.nan)
    if len(replicates) == 1:
        return Rate(None, slope, interval, fitted)
    resampled, ends = resampled_medians(replicates, rng), (0.5 * (1.0 - level), 0.5 * (1.0 + level))
    if math.isfinite(slope):
        low, high = between(np.array([_slope(row, against, tail)[0] for row in resampled]), ends).tolist()
        interval = low, high
    return Rate(between(resampled, ends).T, slope, interval, fitted)


def medians(values: Floats) -> Floats:
    """Return the medians over the replicates (the second-to-last axis).

    Missing values are ignored.
    """
    if not np.isnan(values).any():
        return np.asarray(np.median(values, axis=-2))  # many times faster than nanmedian
    with python_warnings.catch_warnings():
        python_warnings.simplefilter("ignore", RuntimeWarning)  # all values at a point may be missing
        return np.asarray(np.nanmedian(values, axis=-2))


def resampled_medians(replicates: Floats, rng: Seed, repeats: int = _BOOTSTRAP) -> Floats:
    """Return the bootstrap medians as an array of shape (resamples, k)."""
    chosen = generator_from(rng).integers(len(replicates), size=(repeats, len(replicates)))
    blocks = np.array_split(chosen, 1 + chosen.size * replicates.shape[1] // _BLOCK)
    return np.concatenate([medians(replicates[rows]) for rows in blocks])


def between(values: Floats, quantiles: tuple[float, float]) -> Floats:
    """Return the endpoints of an interval: two quantiles along the first axis.

    Missing values are ignored.
    """
    with python_warnings.catch_warnings():
        python_warnings.simplefilter("ignore", RuntimeWarning)  # all values at a point may be missing
        return np.asarray(np.nanquantile(values, quantiles, axis=0))


def _slope(values: Floats, against: Floats, tail: Flags) -> tuple[float, Flags]:
    """Return the slope of the fitted line and a mask of the points in the fit.

    The fit uses the points in the tail that have finite logarithms.
    """
    fitted = np.asarray(tail & (np.nan_to_num(values) > 0.0) & (against > 0.0))
    x, y = np.log(against[fitted]), np.log(values[fitted])
    if len(np.unique(x)) < _FEWEST:
        return math.nan, fitted
    x -= x.mean()
    return float(x @ y / (x @ x)), fitted
