"""Running joint probabilities of sets of binary variables for each chain.

The distribution of many binary variables is too large to tabulate, but the joint distribution of a few of them is not.
The average L1 distance between two such tables over many sets of variables,

    (1 / M) sum over sets s of sum over values v of |p(x_s = v) - q(x_s = v)|,

measures the difference between two distributions. It is at most 2.

References
----------
A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
appendix F.1, eq. 48.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from _running_means import RunningMeans, running_means
from numpy.typing import ArrayLike

from steinkit.containers.reading import DrawsLike, as_sample
from steinkit.errors import InputError, UsageError
from steinkit.sample import Floats, Integers, Sample, split_chains

_MOST_VARIABLES = 16  # maximum number of variables in a set, which has 2^16 values


def running_tables(
    draws: DrawsLike,
    sets: ArrayLike,
    *,
    budget: Iterable[float] | None = None,
    n: Iterable[int] | None = None,
) -> RunningMeans:
    """Compute the frequencies of joint values of binary variables.

    The frequencies are those of the draws up to a cost, or of the first n draws.

    The means are those of `running_means` for the indicators of all values. Counting is much faster, and it does not
    store the indicators.

    Parameters
    ----------
    draws : Sample or array_like
        Chains of zeros and ones. If the draws have weights, the frequencies are weighted.
    sets : array_like of int, shape (M, k)
        Column indices, starting from 0, of the k variables of each set.
    budget, n : iterable
        Budgets or numbers of draws, as for `running_means`. Exactly one of them must be given.

    Returns
    -------
    RunningMeans
        Means of M 2^k indicators. Index 2^k m + v belongs to the indicator of x_s = v for the m-th set s, where bit j
        of v is the j-th variable of the set. The tables are ``means.reshape(chains, -1, M, 2**k)``.

    Raises
    ------
    UsageError
        If `sets` contains numbers that are not columns of the draws, if a set has more than 16 variables or repeats a
        variable, if not exactly one of `budget` and `n` is given, or if budgets are given and the draws store no cost.
    InputError
        If a draw has values other than zero and one.
    """
    sample = as_sample(draws)
    columns = _columns(sets, sample.points.shape[1])
    binary = (sample.points == 0.0) | (sample.points == 1.0)
    if not binary.all():
        row, column = np.argwhere(~binary)[0].tolist()
        raise InputError(f"coordinate {column} of draw {row} is {sample.points[row, column]:g}; it must be 0 or 1")
    places = running_means(sample, lambda points: np.empty((len(points), 0)), budget=budget, n=n)
    chains, _ = split_chains(sample)
    means = [_shares(sample, rows, counts, columns) for rows, counts in zip(chains, places.draws, strict=True)]
    return RunningMeans(places.against, np.stack(means), places.draws)


def table_errors(found: RunningMeans, truth: ArrayLike, *, values: int) -> Floats:
    """Compute the average L1 distance between running tables and true tables.

    Parameters
    ----------
    found : RunningMeans
        Result of `running_tables`.
    truth : array_like, shape (M 2^k,)
        True probabilities, in the same order.
    values : int
        Number of values of each set, 2^k.

    Returns
    -------
    ndarray, shape (chains, m)
        Distance of each chain at each budget, or NaN before the first draw.

    Raises
    ------
    UsageError
        If `truth` has a different shape, or if it does not consist of whole sets.
    """
    right = np.asarray(truth, dtype=np.float64)
    width = found.means.shape[-1]
    if right.shape != (width,) or values < 1 or width % values:
        raise UsageError(
            f"truth must contain {width} probabilities, for sets with {values} values each; got shape {right.shape}"
        )
    return np.asarray(np.abs(found.means - right).sum(axis=-1) * (values / width))


def _shares(sample: Sample, rows: Integers, counts: Integers, columns: Integers) -> Floats:
    """Return the frequencies of the values of each set in initial parts of a chain, (m, M 2^k)."""
    rows = rows[: counts[-1]]
    weights = np.ones(len(rows)) if sample.weights is None else sample.weights[rows]
    segment = np.searchsorted(counts, np.arange(len(rows)), side="right")  # the first count that includes a draw
    states = np.ascontiguousarray(sample.points[rows].T.astype(np.int64))
    values = 1 << columns.shape[1]
    place, powers = values * segment, 1 << np.arange(columns.shape[1])
    found = np.empty((len(counts), len(columns), values))
    for m, chosen in enumerate(columns):
        sums = np.bincount(place + powers @ states[chosen], weights, minlength=values * len(counts))
        found[:, m] = sums.reshape(len(counts), values).cumsum(axis=0)
    with np.errstate(invalid="ignore"):  # 0/0 occurs before the first draw
        shares: Floats = found / found[:, :1].sum(axis=-1, keepdims=True)
    return shares.reshape(len(counts), -1)


def _columns(sets: ArrayLike, dim: int) -> Integers:
    """Return the columns of each set, (M, k)."""
    columns = np.asarray(sets)
    if columns.ndim != 2 or not columns.size or columns.dtype.kind not in "iu" or columns.shape[1] > _MOST_VARIABLES:
        raise UsageError(
            f"sets must be whole numbers of shape (M, k), k at most {_MOST_VARIABLES}; got shape {columns.shape} "
            f"of type {columns.dtype}"
        )
    if columns.min() < 0 or columns.max() >= dim:
        raise UsageError(f"sets must name columns from 0 to {dim - 1}; got {columns.min()} to {columns.max()}")
    ordered = np.sort(columns, axis=1)
    if (ordered[:, 1:] == ordered[:, :-1]).any():
        raise UsageError("a set names a column twice")
    return columns.astype(np.int64)
