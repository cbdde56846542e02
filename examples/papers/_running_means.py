r"""Running means of the estimates of a sampler, and their risk relative to a long exact run.

For the chains c = 1, ..., K of a sampler, a quantity f and a budget b, the running mean :math:`\hat f_c(b)` is the mean
of f over the draws of chain c up to the cost b. Its risk is

.. math:: R(b) = \mathbf{E} (\hat f_c(b) - f^*)^2 = \mathrm{bias}^2(b) + \mathrm{variance}(b),

which is estimated over the chains. For several quantities, such as predictions at many test points, the risk is the
mean of their risks. If the true value :math:`f^*` is not known, it is replaced by the result of a long exact run. The
square of the standard error of this result is a lower limit for the risks that can be estimated.

The standard error of a long run is computed from batch means. The chains are divided into batches of about sqrt(n)
draws, where n is the length of the shortest chain. The means of the batches are nearly independent if sqrt(n) is much
larger than the autocorrelation time.

References
----------
A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
section 6 (risk).
J. M. Flegal and G. L. Jones (2010), "Batch means and spectral variance estimators in Markov chain Monte Carlo",
Annals of Statistics 38.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from steinkit.containers.reading import DrawsLike, as_sample
from steinkit.curves import between
from steinkit.errors import InputError, UsageError
from steinkit.sample import Floats, Integers, Sample, split_chains
from steinkit.target import Seed

Quantity = Callable[[Floats], ArrayLike]

_BLOCK = 4096  # number of draws per evaluation of a quantity
_BOOTSTRAP = 2000


@dataclass(frozen=True, eq=False)
class RunningMeans:
    """Means of the draws of each chain up to each budget.

    Attributes
    ----------
    against : ndarray, shape (m,)
        Budgets per chain in units of the draws' cost, or numbers of draws.
    means : ndarray, shape (chains, m, k)
        Means of k quantities, or NaN before the first draw of a chain.
    draws : ndarray of int, shape (chains, m)
        Number of draws in each mean.
    """

    against: Floats
    means: Floats
    draws: Integers


@dataclass(frozen=True, eq=False)
class Risk:
    """Mean squared error of running means over chains, averaged over the quantities.

    Attributes
    ----------
    against : ndarray, shape (m,)
        Budgets per chain in units of the draws' cost, or numbers of draws.
    value : ndarray, shape (m,)
        Risk at each budget, or NaN if a chain has no draws within the budget.
    interval : ndarray, shape (m, 2)
        Bootstrap interval of the risk, obtained by resampling the chains.
    squared_bias, variance : ndarray, shape (m,)
        Unbiased estimates of the two components of `value`. The estimate of the squared bias can be negative, and it
        includes `floor`.
    floor : float
        Mean squared standard error of the reference values.
    level : float
        Confidence level of the interval.
    """

    against: Floats
    value: Floats
    interval: Floats
    squared_bias: Floats
    variance: Floats
    floor: float
    level: float


@dataclass(frozen=True, eq=False)
class LongRunMean:
    """Means of a long run, which are used as reference values.

    Attributes
    ----------
    value, standard_error : ndarray, shape (k,)
        Means of the k quantities, and their standard errors.
    """

    value: Floats
    standard_error: Floats


def running_means(
    draws: DrawsLike,
    quantity: Quantity | None = None,
    *,
    budget: Iterable[float] | None = None,
    n: Iterable[int] | None = None,
) -> RunningMeans:
    """Compute the means of the draws of each chain up to a cost, or of its first n draws.

    Parameters
    ----------
    draws : Sample or array_like
        Chains of one sampler, such as the result of `Draws.to_sample`, which includes the cost. For running means
        against seconds, replace the cost with seconds. If the draws have weights, the means are weighted.
    quantity : callable, optional
        Function that maps points (b, d) to values (b,) or (b, k). It is called with a few thousand draws at a time. By
        default, the quantities are the coordinates.
    budget : iterable of float, optional
        Budgets of *one* chain, in the units of the draws' cumulative cost.
    n : iterable of int, optional
        Numbers of draws per chain, used instead of `budget`.

    Returns
    -------
    RunningMeans
        Means of each chain at each budget or number of draws.

    Raises
    ------
    UsageError
        If not exactly one of `budget` and `n` is given, or if budgets are given and the draws store no cost.
    InputError
        If the quantity does not return one or k finite numbers per draw.
    """
    sample = as_sample(draws)
    if (budget is None) == (n is None):
        raise UsageError("exactly one of budget and n is needed")
    against = np.unique(np.array(list(budget if n is None else n), dtype=np.float64))  # type: ignore[arg-type]
    if not against.size or not np.isfinite(against).all() or against[0] <= 0.0:
        raise UsageError(f"budgets, or numbers of draws, must be positive; got {against.tolist()}")
    if n is None and sample.cost is None:
        raise UsageError("running means against budgets need the draws' cumulative cost (column cost); give n instead")
    chains, _ = split_chains(sample)
    means, counts = [], np.empty((len(chains), len(against)), dtype=np.int64)
    for c, rows in enumerate(chains):
        progress = np.arange(1.0, len(rows) + 1.0)
        if n is None:
            assert sample.cost is not None
            progress = np.maximum.accumulate(sample.cost[rows])
        counts[c] = np.searchsorted(progress, against, side="right")
        sums, weights = _sums(sample, rows, np.append(0, counts[c]), quantity)
        totals = np.cumsum(weights)[:, None]
        with np.errstate(invalid="ignore"):  # 0/0 occurs before the first draw with a positive weight
            means.append(np.where(totals > 0.0, np.cumsum(sums, axis=0) / totals, math.nan))
    return RunningMeans(against, np.stack(means), counts)


def risk(
    found: RunningMeans,
    truth: ArrayLike | LongRunMean,
    *,
    level: float = 0.95,
    rng: Seed = 0,
) -> Risk:
    """Compute the mean squared error of running means over their chains.

    Parameters
    ----------
    found : RunningMeans
        Running means of at least two chains.
    truth : array_like, shape (k,), or LongRunMean
        True means of the quantities.
    level : float
        Confidence level of the bootstrap interval.
    rng : int, numpy.random.Generator or None
        Seed or generator for the bootstrap over chains.

    Returns
    -------
    Risk
        Mean squared error at each budget, with its components and its interval.

    Raises
    ------
    UsageError
        If there is only one chain, or if `truth` has a different number of quantities.
    """
    known = truth if isinstance(truth, LongRunMean) else None
    right = np.atleast_1d(np.asarray(known.value if known else truth, dtype=np.float64))
    chains, _, k = found.means.shape
    if right.shape != (k,):
        raise UsageError(f"truth must have shape ({k},), one value per quantity; got {right.shape}")
    if chains < 2:
        raise UsageError("a risk requires at least two chains; got one")
    errors = found.means - right
    squared = (errors**2).mean(axis=2)  # (chains, m)
    variance = errors.var(axis=0, ddof=1).mean(axis=1)
    value = squared.mean(axis=0)
    chosen = np.random.default_rng(rng).integers(chains, size=(_BOOTSTRAP, chains))
    cells = chosen + chains * np.arange(_BOOTSTRAP)[:, None]
    counts = np.bincount(cells.ravel(), minlength=_BOOTSTRAP * chains).reshape(_BOOTSTRAP, chains)
    interval = between(counts @ squared / chains, (0.5 * (1.0 - level), 0.5 * (1.0 + level))).T
    floor = float((known.standard_error**2).mean()) if known else 0.0
    return Risk(found.against, value, interval, value - variance, variance, floor, level)


def long_run_mean(draws: DrawsLike, quantity: Quantity | None = None) -> LongRunMean:
    """Compute means over long chains, with standard errors from batch means.

    Parameters
    ----------
    draws : Sample or array_like
        Chains of an exact sampler without burn-in and with equal weights. Draws in excess of a whole number of batches
        are omitted at the beginning of a chain.
    quantity : callable, optional
        Function that maps points to values, as for `running_means`.

    Returns
    -------
    LongRunMean
        Means of the quantities with their standard errors.

    Raises
    ------
    UsageError
        If the draws have unequal weights, or if all chains together have fewer than two batches.
    InputError
        If the quantity does not return one or k finite numbers per draw.
    """
    sample = as_sample(draws)
    if sample.weights is not None and np.ptp(sample.weights) > 0.0:
        raise UsageError("the draws of a long exact run must have equal weights; got unequal weights")
    chains, _ = split_chains(sample)
    length = max(1, math.isqrt(min(map(len, chains))))
    means = []
    for rows in chains:
        sums, counts = _sums(sample, rows, np.arange(len(rows) % length, len(rows) + 1, length), quantity)
        means.append(sums / counts[:, None])
    batches = np.concatenate(means)
    if len(batches) < 2:
        raise UsageError(f"a long run requires at least two batches; got {len(sample)} draw")
    return LongRunMean(batches.mean(axis=0), batches.std(axis=0, ddof=1) / math.sqrt(len(batches)))


def _sums(sample: Sample, rows: Integers, bounds: Integers, quantity: Quantity | None) -> tuple[Floats, Floats]:
    """Return the weighted sums of a quantity, (m, k), and of the weights, (m,).

    Each sum extends over the rows of a chain between two bounds.
    """
    weights = np.ones(len(rows)) if sample.weights is None else sample.weights[rows]
    totals = np.zeros(len(bounds) - 1)
    sums = np.zeros((len(totals), _values(sample.points[rows[:1]], quantity).shape[1]))
    for segment, (begin, end) in enumerate(pairwise(bounds.tolist())):
        for first in range(begin, end, _BLOCK):
            block = slice(first, min(first + _BLOCK, end))
            sums[segment] += weights[block] @ _values(sample.points[rows[block]], quantity)
            totals[segment] += weights[block].sum()
    return sums, totals


def _values(points: Floats, quantity: Quantity | None) -> Floats:
    if quantity is None:
        return points
    values = np.asarray(quantity(points), dtype=np.float64)
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or len(values) != len(points) or not np.isfinite(values).all():
        raise InputError(
            f"the quantity of {len(points)} draws must be finite numbers of shape ({len(points)},) or "
            f"({len(points)}, k); got shape {values.shape}"
            f"{'' if np.isfinite(values).all() else ', not all of them finite'}"
        )
    return values
