"""Parts of a sample: its first n draws, those that a budget pays for, n that are evenly spaced; of all chains alike."""

from __future__ import annotations

import math

import numpy as np

from steinkit.chains import split_chains
from steinkit.errors import UsageError
from steinkit.sample import Integers, Sample


def first_draws(sample: Sample, n: int) -> Sample:
    """The first n draws: of several chains, the first n/K of each, one more of the first where that is not whole.

    Raises
    ------
    UsageError
        If the sample has fewer.
    """
    if n > len(sample):
        raise UsageError(f"the first {n} draws were asked for, the sample has {len(sample)}")
    chains, _ = split_chains(sample)
    place = np.concatenate([np.arange(len(rows)) for rows in chains])
    turn = np.argsort(place, kind="stable")  # first draws of all chains, then the second ones
    chosen: Integers = np.concatenate(chains)[np.sort(turn[:n])]
    return sample[chosen]


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


def evenly_spaced(sample: Sample, n: int) -> Sample:
    """N draws at even distances over all chains laid end to end, the first and the last among them.

    So samples of different lengths, as the same budget buys of different samplers, become samples of one size.

    Raises
    ------
    UsageError
        If the sample has fewer, or n is not positive.
    """
    if not 1 <= n <= len(sample):
        raise UsageError(f"{n} evenly spaced draws were asked for, of {len(sample)} that there are")
    chains, _ = split_chains(sample)
    places = np.rint(np.linspace(0, len(sample) - 1, n)).astype(np.int64)
    return sample[np.concatenate(chains)[places]]


def total_cost(sample: Sample) -> float:
    """Cost of all chains up to their last draws; NaN where the sample stores none."""
    if sample.cost is None:
        return math.nan
    return float(sum(sample.cost[rows].max() for rows in split_chains(sample)[0]))
