"""Draws of a scored sample, ordered by chain.

Tests and standard errors use this order.

**Cross-fitting.** Quantities estimated from one half of the draws are used on the other half because a test that uses
the same draws twice would be biased. The halves are contiguous within every chain, so only draws near the cut are
dependent.

**Weights.** The variance of the mean of f over draws with weights p_i is the variance of the sum of p_i (f_i - mean).
Therefore, autocorrelation times of weighted draws are computed from the products n p_i (f_i - mean). The same method is
used for multiplicities and for importance weights of the draws in a chain. In two cases, the draws have no time order
and are randomly permuted:

- Draws from nested sampling are sorted by likelihood, and their weights increase or decrease over long stretches of
  draws. Suppose that the weights first increase and then decrease. Draw k is then treated as the k-th point removed
  from N live points. Each removal multiplies the prior volume by a factor of about exp(-1 / N). The logarithm of each
  factor has a standard deviation of 1 / N and affects all later weights. This dependence adds N^-2 sum_k (sum_(i >= k)
  p_i dev_i)^2 to the variance of a mean. Since the likelihood increases from draw to draw, the log weight decreases by
  at most 1 / N per draw. The largest decrease provides an estimate of 1 / N.
- After resampling, a point may recur after other points. The repetitions of each point are merged into one draw
  with their total weight, and Kish's effective sample size accounts for the loss of precision. Repetitions due to
  rejected proposals are consecutive and are not affected.

Rounded values may coincide by chance. The expected number of such coincidences is computed from the rounding unit and
taken into account.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from steinkit.autocorrelation import FEWEST_BATCHES, MOST_VALUES, long_run_times, slowest_change
from steinkit.errors import Caution, InputError
from steinkit.runtime.deadlines import one_thread_in_libraries
from steinkit.sample import DistinctSample, Floats, Integers, Sample, split_chains
from steinkit.text import listed
from steinkit.units import Units

_FEWEST = 4  # minimum number of draws in a chain that is split into halves
_SORTED = 0.25  # largest fraction of direction changes in sorted weights; this fraction is at least 1/2 in chains
_CLEARLY = 1.0  # smallest increase and smallest decrease in the log weights from nested sampling
_REPEATED = 0.03  # largest fraction of draws that may recur after other draws
_BY_CHANCE = 4.0  # largest ratio of repeats to the number expected from rounding
_COLLISION = 0.2821  # probability that two normal draws round to the same value, divided by (rounding unit) / sd
_FINEST = 1e-6  # rounding units below this fraction of the sd are attributed to floating-point arithmetic
_QUARTILES = 1.349  # interquartile range of a normal distribution, in standard deviations
_SOME = 1000  # approximate number of draws examined for rounding (up to a factor of two)
_LATTICE = 1e-3  # tolerance for integer multiples of a unit
_COARSE = 0.05  # rounding units above this fraction of the sd are reported
FEW_EFFECTIVE = 100.0  # with fewer effective draws, tests reject exact draws too often


@dataclass(frozen=True, eq=False)
class ChainDraws:
    """Draws with positive weight in a sample, ordered by chain.

    Attributes
    ----------
    rows : ndarray of int, shape (n,)
        Index of each draw among the sample's draws with positive weight.
    points, scores : ndarray, shape (n, d)
    shares : ndarray, shape (n,)
        Weights of the draws, with sum 1.
    chain : ndarray of int, shape (n,)
        Label of the chain of each draw, or 0 if the sample has no labels.
    is_weighted : bool
        True if the weights are unequal.
    disorder : tuple of str
        Cautions about draws without a time order.
    is_ordered : bool
        True if the draws have a time order. Otherwise, the draws are treated as independent.
    nested : tuple of ndarray of int and float, or None
        For nested sampling, the original order of the draws, and 1 / N.
    names : tuple of str
        Names of the parameters.
    """

    rows: Integers
    points: Floats
    scores: Floats
    shares: Floats
    chain: Integers
    is_weighted: bool
    disorder: tuple[str, ...] = ()
    is_ordered: bool = True
    nested: tuple[Integers, float] | None = None
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, given: Sample, distinct: DistinctSample, scores: Floats) -> ChainDraws:
        """Combine a sample with its distinct points and the scores at these points.

        Raises
        ------
        InputError
            If there are fewer than eight draws.
        """
        in_chains, disorder = split_chains(given)
        order = np.concatenate(in_chains)
        order = order[distinct.inverse[order] >= 0]
        if len(order) < 2 * _FEWEST:
            kind = "draws" if given.weights is None else "draws with positive weight"
            raise InputError(f"expected at least {2 * _FEWEST} {kind}, got {len(order)}")
        shares, rows = given.probabilities[order], distinct.inverse[order]
        unordered, nested = "", None
        if _reappear(rows, distinct.points):
            first = np.sort(np.unique(rows, return_index=True)[1])
            shares = np.bincount(rows, shares)[rows[first]].astype(np.float64)
            order, rows = order[first], rows[first]
            unordered = f"{len(first)} distinct points reappear after other points, as in resampled draws"
            if given.weights is not None and np.ptp(given.weights):
                disorder.append("if the draws were resampled with their weights, omit the weights (--weights none)")
        elif _are_sorted(shares):
            unordered = "the draws are sorted by weight"
        chain = given.chain_labels[order]
        if unordered:
            disorder.append(f"{unordered}, so they are treated as independent draws without a time order")
            shuffle = np.random.default_rng(0).permutation
            chains = _slices(chain)
            mixed = np.concatenate([each.start + shuffle(each.stop - each.start) for each in chains])
            if len(chains) == 1 and (rate := _shrinkage(np.log(shares))):
                nested = np.argsort(mixed), rate
            order, rows, shares = order[mixed], rows[mixed], shares[mixed]
        numbered = np.cumsum(distinct.inverse >= 0) - 1
        return cls(
            rows=numbered[order],
            points=distinct.points[rows],
            scores=scores[rows],
            shares=shares / shares.sum(),
            chain=chain,
            is_weighted=bool((shares != shares[0]).any()),
            disorder=tuple(disorder),
            is_ordered=not unordered,
            nested=nested,
            names=distinct.names,
        )

    def in_units(self, units: Units) -> ChainDraws:
        """Return the draws converted to other units."""
        return replace(self, points=units.points(self.points), scores=units.scores(self.scores))

    def only(self, rows: Integers | slice) -> ChainDraws:
        """Return a subset of the draws, given row numbers in increasing order."""
        kept = {name: getattr(self, name)[rows] for name in ("rows", "points", "scores", "shares", "chain")}
        kept["shares"] = kept["shares"] / kept["shares"].sum()
        return replace(self, **kept, disorder=(), nested=None)

    @cached_property
    def chains(self) -> tuple[slice, ...]:
        """Range of draws in each chain."""
        return _slices(self.chain)

    @cached_property
    def halves(self) -> tuple[Integers, Integers]:
        """Rows in the first half and in the second half of every chain.

        A chain that is too short to split is assigned to one of the halves.
        """
        is_first = np.zeros(len(self.chain), dtype=bool)
        lengths = [chain.stop - chain.start for chain in self.chains]
        total, before = sum(length for length in lengths if length < _FEWEST), 0
        for chain, length in zip(self.chains, lengths, strict=True):
            if length >= _FEWEST:
                is_first[chain.start : chain.start + length // 2] = True
            else:
                is_first[chain] = 2 * before + length <= total  # the middle of the chain lies in the first half
                before += length
        return np.flatnonzero(is_first), np.flatnonzero(~is_first)

    def autocorrelation_times(self, deviations: Floats) -> Floats:
        """Return autocorrelation times of centered functions, or 1 for unordered draws."""
        if self.nested is not None:
            rows, rate = self.nested
            weighted = (deviations * self.shares)[:, rows]
            later = np.cumsum(weighted[:, ::-1], axis=1)
            squares = np.einsum("kn,kn->k", weighted, weighted)
            volumes = rate**2 * np.einsum("kn,kn->k", later, later)
            return np.asarray(1.0 + volumes / np.where(squares > 0.0, squares, np.inf))
        if not self.is_ordered:
            return np.ones(len(deviations))
        if self.is_weighted:
            deviations = deviations * (len(self.shares) * self.shares)
        return long_run_times(deviations, self.chains)

    @cached_property
    def rounding(self) -> Floats:
        """Rounding unit of each parameter, or zero if the parameter is not rounded."""
        return rounding_units(self.points)

    def unrounded(self, bounds: Floats | None) -> Floats:
        """Return random points that lie within the bounds and round to the draws."""
        offsets = np.random.default_rng(0).random(self.points.shape) - 0.5
        lower, upper = (-np.inf, np.inf) if bounds is None else bounds.T
        return np.clip(self.points + offsets * self.rounding, lower, upper)

    @cached_property
    def is_coarse(self) -> NDArray[np.bool_]:
        """Mask of parameters with a rounding unit above a twentieth of their sd."""
        return np.asarray(self.rounding > _COARSE * _widths(self.points))

    @cached_property
    def of_slowest_change(self) -> float:
        """Effective sample size of the function with the slowest mixing.

        The functions are the coordinates, the squares of coordinates and principal components, and the functions in
        `slowest_change`. The squares are required for Hamiltonian Monte Carlo. If the trajectory length is half a
        period along an axis, the draws alternate between two values, and only the squares reveal the slow mixing. The
        draws must be in standard units. The result is infinite if the draws have no time order.
        """
        if not self.is_ordered:
            return math.inf
        slowest = slowest_change(self.points, self.scores, self.chains)
        z = np.ascontiguousarray((self.points - self.shares @ self.points).T)
        with one_thread_in_libraries():
            functions = [z, z**2, (np.linalg.eigh(z @ z.T)[1].T @ z) ** 2]
        for values in [np.concatenate(functions)] if z.size <= MOST_VALUES else functions:
            slowest = max(slowest, self.autocorrelation_times(values - (values @ self.shares)[:, None]).max())
        return len(self.points) / float(slowest)

    @cached_property
    def size(self) -> float:
        """Kish's effective sample size, which does not account for autocorrelation."""
        return 1.0 / float(self.shares @ self.shares) if self.is_weighted else float(len(self.shares))

    def warnings(self, n_effective: float) -> Iterator[str]:
        """Yield the warnings for a test with this number of effective draws."""
        yield from map(Caution, self.disorder)
        if self.is_weighted and self.is_ordered:
            yield "the weighted draws are treated as an autocorrelated chain in the given order"
        coarse = np.flatnonzero(self.is_coarse)
        if len(coarse):
            units = listed([f"{self.names[j]} to {self.rounding[j]:.3g}" for j in coarse])
            yield Caution(f"the values are rounded ({units}) and have at most two significant digits")
        if n_effective < FEW_EFFECTIVE:
            yield Caution(f"the test requires at least 100 effective draws; got {math.floor(n_effective)}")


def _slices(chain: Integers) -> tuple[slice, ...]:
    """Return the range of draws in each chain, as determined by the labels."""
    starts = [0, *(1 + np.flatnonzero(np.diff(chain))).tolist(), len(chain)]
    return tuple(slice(*ends) for ends in pairwise(starts))


def rounding_units(points: Floats) -> Floats:
    """Return the rounding unit of each column, or zero for unrounded columns."""
    some = points[:: max(1, len(points) // _SOME)]
    gaps = np.diff(np.sort(some, axis=0), axis=0)
    least = np.where(gaps > 0.0, gaps, np.inf).min(axis=0, initial=np.inf)
    known = (least > _FINEST * _widths(some)) & (np.count_nonzero(gaps, axis=0) >= _FEWEST)
    steps = gaps / np.where(known, least, np.inf)
    return np.where(known & (np.abs(steps - np.rint(steps)) < _LATTICE).all(axis=0), least, 0.0)


def _widths(points: Floats) -> Floats:
    """Return robust standard deviations computed from interquartile ranges."""
    low, high = np.quantile(points, (0.25, 0.75), axis=0)
    return np.asarray((high - low) / _QUARTILES)


def _reappear(rows: Integers, points: Floats) -> bool:
    """Return True if points reappear more often than rounding can explain."""
    again = 1 + np.count_nonzero(np.diff(rows)) - len(points)
    if again <= _REPEATED * len(rows) or len(points) < 2 * _FEWEST:
        return False
    widths, units = _widths(points), rounding_units(points)
    equal = np.prod(np.minimum(1.0, _COLLISION * units / np.where(widths > 0.0, widths, np.inf)))
    return bool(again > _BY_CHANCE * 0.5 * len(rows) ** 2 * equal)


def _are_sorted(shares: Floats) -> bool:
    """Return True if the weights increase and decrease over long stretches."""
    steps = np.sign(np.diff(shares))
    steps = steps[steps != 0.0]
    return len(steps) >= 2 * _FEWEST and bool(np.count_nonzero(np.diff(steps)) < _SORTED * len(steps))


def _shrinkage(logarithms: Floats) -> float:
    """Return the largest decrease in log weight per draw, or 0 if there is no peak."""
    peak, width = int(np.argmax(logarithms)), len(logarithms) // FEWEST_BATCHES
    if not width or min(np.ptp(logarithms[: peak + 1]), np.ptp(logarithms[peak:])) < _CLEARLY:
        return 0.0
    return max(0.0, float((logarithms[:-width] - logarithms[width:]).max()) / width)
