"""The draws of a scored sample, chain after chain: halves for cross-fitting, order, weights and rounding.

**Cross-fitting.** What is learnt on one half of the draws is used on the other, so that no test finds its own noise.
The halves are contiguous within every chain: their draws are independent but for those near the cut.

The mean of f over draws with shares p_i varies as the sum of p_i (f_i - mean), so that the times of weighted draws are
those of the products n p_i (f_i - mean), beside their variance for independent draws. This holds for multiplicities of
a chain and for importance weights of one. Two kinds of rows have no order in time, and are put in a random one:

- Rows sorted by weight, as nested sampling makes them: weights rise or fall in long runs. Where they rise and then
  fall, row k is taken for the point that leaves when the volume has shrunk k times by about the factor exp(-1 / N). The
  logarithm of each factor errs by 1 / N and moves all later weights, which adds N^-2 sum_k (sum_(i >= k) p_i dev_i)^2
  to the variance of a mean. As the likelihood rises from row to row, weights fall by 1 / N a row at the most.
- Points that come again after others, as resampling makes them. Each becomes one draw with the weight of all its
  repeats, so that Kish's size counts what resampling lost. A rejection repeats the draw before it, and stays.

Rounded values come again by chance. How many do is known from the unit of rounding, and is allowed for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from steinkit.autocorrelation import _FEWEST_BATCHES, _VALUES, long_run_times, slowest_change
from steinkit.chains import split_chains
from steinkit.errors import Caution, InputError
from steinkit.runtime.deadlines import one_thread_in_libraries
from steinkit.sample import DistinctSample, Floats, Integers, Sample
from steinkit.text import listed
from steinkit.units import Units

_FEWEST = 4  # draws of a chain that is split: two in each half
_SORTED = 0.25  # changes of direction over changes, below which they are; a half in slow chains, else more
_CLEARLY = 1.0  # rise, and fall, of the logarithm of weights of nested sampling
_REPEATED = 0.03  # of the draws, up to which points that come again after others are no matter
_BY_CHANCE = 4.0  # times the expected number of equal draws that rounding makes, up to which it explains them
_COLLISION = 0.2821  # probability that two normal draws are rounded to the same value, times sd over unit
_FINEST = 1e-6  # of a standard deviation: a unit of rounding below this is that of floating-point numbers
_QUARTILES = 1.349  # standard deviations between a normal distribution's
_SOME = 1000  # draws, or up to twice as many, among which rounding is sought
_LATTICE = 1e-3  # of a unit, by which differences may miss whole multiples
_COARSE = 0.05  # of a standard deviation, from which rounding is said
FEW_EFFECTIVE = 100.0  # effective draws below which exact draws are rejected too often


@dataclass(frozen=True, eq=False)
class Draws:
    """The draws of a sample that carry weight, chain after chain.

    Attributes
    ----------
    rows : ndarray of int, shape (n,)
        Their rows among the draws that carry weight, as the sample has them.
    points, scores : ndarray, shape (n, d)
    shares : ndarray, shape (n,)
        Their probabilities.
    chains : tuple of slice
        The place of each chain.
    halves : tuple of two ndarrays of int
        The first half of every chain, and the second; of chains too short to be split the first ones, and the last.
    is_weighted : bool
        Whether the probabilities differ.
    labels : tuple of int
        What the sample calls each chain; 0 where it names none.
    disorder : tuple of str
        Chains that could not be put in order, or draws without one.
    is_ordered : bool
        Whether the draws have an order in time; else they are taken to be independent.
    nested : tuple of ndarray of int and float, or None
        Of nested sampling the places of its rows in their own order, and 1 / N.
    names : tuple of str
        Of the coordinates.
    """

    rows: Integers
    points: Floats
    scores: Floats
    shares: Floats
    chains: tuple[slice, ...]
    halves: tuple[Integers, Integers]
    is_weighted: bool
    labels: tuple[int, ...] = (0,)
    disorder: tuple[str, ...] = ()
    is_ordered: bool = True
    nested: tuple[Integers, float] | None = None
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, given: Sample, distinct: DistinctSample, scores: Floats) -> Draws:
        """Lay out the draws of a sample, chain after chain, with the scores of their distinct points.

        Raises
        ------
        InputError
            If there are fewer than eight.
        """
        in_chains, disorder = split_chains(given)
        in_order = [rows[distinct.inverse[rows] >= 0] for rows in in_chains]
        order = np.concatenate(in_order)
        ends = np.cumsum([len(rows) for rows in in_order]).tolist()
        chains = tuple(slice(end - len(rows), end) for rows, end in zip(in_order, ends, strict=True) if len(rows))
        labels = tuple(0 if given.chain is None else int(given.chain[rows[0]]) for rows in in_order if len(rows))
        if len(order) < 2 * _FEWEST:
            raise InputError(f"the test needs at least {2 * _FEWEST} draws; this sample has {len(order)}: add draws")
        shares, rows = given.probabilities[order], distinct.inverse[order]
        unordered, nested = "", None
        if _come_again(rows, distinct.points):
            first = np.sort(np.unique(rows, return_index=True)[1]).astype(np.int64)
            order, rows, shares = order[first], rows[first], np.asarray(np.bincount(rows, shares)[rows[first]], float)
            chains, labels = _remaining(chains, labels, first)
            unordered = f"{len(first)} distinct points come again after others, as resampling makes them"
        elif _are_sorted(shares):
            unordered = "the draws are sorted by weight"
        if unordered:
            disorder.append(f"{unordered}: they are taken to be independent, in no order of time")
            shuffle = np.random.default_rng(0).permutation
            mixed = np.concatenate([chain.start + shuffle(chain.stop - chain.start) for chain in chains])
            if len(chains) == 1 and (rate := _shrinkage(np.log(shares))):
                nested = np.argsort(mixed), rate
            order, rows, shares = order[mixed], rows[mixed], shares[mixed]
        points = distinct.points
        if len(rows) != len(points) or (np.diff(rows) != 1).any():  # else they lie there as they are wanted
            points, scores = points[rows], scores[rows]
        numbered = np.cumsum(distinct.inverse >= 0) - 1
        return cls(
            rows=numbered[order],
            points=points,
            scores=scores,
            shares=shares / shares.sum(),
            chains=chains,
            halves=_halves(chains),
            is_weighted=bool((shares != shares[0]).any()),
            labels=labels,
            disorder=tuple(disorder),
            is_ordered=not unordered,
            nested=nested,
            names=distinct.names,
        )

    def in_units(self, units: Units) -> Draws:
        """The same draws, measured in these."""
        return replace(self, points=units.points(self.points), scores=units.scores(self.scores))

    def by_chain(self) -> Iterator[tuple[int, Draws]]:
        """Of several chains each that can be judged by itself, with its label."""
        for label, place in zip(self.labels, self.chains, strict=True) if len(self.chains) > 1 else ():
            if place.stop - place.start >= 2 * _FEWEST:
                yield label, self.only(place)

    def only(self, rows: Integers | slice) -> Draws:
        """Those in these rows, which increase; chains with none of them are left out."""
        places = np.arange(len(self.points))[rows]
        chains, labels = _remaining(self.chains, self.labels, places)
        return replace(
            self,
            rows=self.rows[rows],
            points=self.points[rows],
            scores=self.scores[rows],
            shares=self.shares[rows] / self.shares[rows].sum(),
            chains=chains,
            halves=_halves(chains),
            labels=labels,
            disorder=(),
            nested=None,
        )

    def autocorrelation_times(self, deviations: Floats) -> Floats:
        """Of functions of draws, weighted if these are, less their means, (k, n) -> (k,); 1 without an order."""
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
        """The unit to which each coordinate is rounded, shape (d,); zero where it is not."""
        return rounding_units(self.points)

    def unrounded(self, bounds: Floats | None) -> Floats:
        """Return the points, each at a random place among those that rounding takes to it, within the bounds."""
        if not self.rounding.any():
            return self.points
        places = np.random.default_rng(0).random(self.points.shape) - 0.5
        lower, upper = (-np.inf, np.inf) if bounds is None else bounds.T
        return np.clip(self.points + places * self.rounding, lower, upper)

    @cached_property
    def is_coarse(self) -> NDArray[np.bool_]:
        """Whether each coordinate is rounded to a twentieth of its standard deviation or more, shape (d,)."""
        return np.asarray(self.rounding > _COARSE * _widths(self.points))

    @cached_property
    def of_slowest_change(self) -> float:
        """Draws over the time of the slowest coordinate, square or change of region; infinite without an order.

        Squares are those of the coordinates and of the principal axes: along an axis that Hamiltonian Monte Carlo turns
        by half a period at every step, draws alternate between two places that hardly change. Of draws in standard
        units; chains may be of any lengths.
        """
        if not self.is_ordered:
            return math.inf
        slowest = slowest_change(self.points, self.scores, self.chains)
        z = np.ascontiguousarray((self.points - self.shares @ self.points).T)
        with one_thread_in_libraries():
            functions = [z, z**2, (np.linalg.eigh(z @ z.T)[1].T @ z) ** 2]
        for values in [np.concatenate(functions)] if z.size <= _VALUES else functions:
            slowest = max(slowest, self.autocorrelation_times(values - (values @ self.shares)[:, None]).max())
        return len(self.points) / float(slowest)

    def effective(self, times: Floats) -> Floats:
        """Draws, of weighted ones Kish's effective size, over the autocorrelation times of functions."""
        return np.asarray((1.0 / float(self.shares @ self.shares) if self.is_weighted else len(self.shares)) / times)

    def n_effective(self, time: float) -> float:
        """Draws, of weighted ones Kish's effective size, over one autocorrelation time."""
        return float(self.effective(np.array([time]))[0])

    def warnings(self, n_effective: float) -> tuple[str, ...]:
        """What a reader of a test of these draws should know."""
        found = tuple[str, ...](map(Caution, self.disorder))
        if self.is_weighted and self.is_ordered:
            found += ("the weighted draws are taken for a chain in the order given, whose autocorrelation counts",)
        coarse = np.flatnonzero(self.is_coarse)
        if len(coarse):
            units = listed([f"{self.names[j]} to {self.rounding[j]:.3g}" for j in coarse])
            found += (Caution(f"the values are rounded ({units}), so that they carry two digits or less"),)
        if n_effective < FEW_EFFECTIVE:
            few = f"too few effective draws ({math.floor(n_effective)}) to judge by this test; 100 or more are wanted"
            found += (Caution(few),)
        return found


def _remaining(
    chains: Sequence[slice], labels: Sequence[int], places: Integers
) -> tuple[tuple[slice, ...], tuple[int, ...]]:
    """The chains among draws at these places, which increase, with their labels; those with none are left out."""
    ends = np.searchsorted(places, [(chain.start, chain.stop) for chain in chains])
    kept = [(slice(*map(int, each)), label) for each, label in zip(ends, labels, strict=True) if np.ptp(each)]
    return tuple(place for place, _ in kept), tuple(label for _, label in kept)


def rounding_units(points: Floats) -> Floats:
    """The unit of which values of each coordinate, (n, d), differ by whole multiples, in some draws; zero for none."""
    some = points[:: max(1, len(points) // _SOME)]
    gaps = np.diff(np.sort(some, axis=0), axis=0)
    least = np.where(gaps > 0.0, gaps, np.inf).min(axis=0, initial=np.inf)
    known = (least > _FINEST * _widths(some)) & (np.count_nonzero(gaps, axis=0) >= _FEWEST)
    steps = gaps / np.where(known, least, np.inf)
    return np.where(known & (np.abs(steps - np.rint(steps)) < _LATTICE).all(axis=0), least, 0.0)


def _widths(points: Floats) -> Floats:
    """Standard deviations of normal draws of the same quartiles, shape (d,)."""
    low, high = np.quantile(points, (0.25, 0.75), axis=0)
    return np.asarray((high - low) / _QUARTILES)


def _come_again(rows: Integers, points: Floats) -> bool:
    """Whether draws, by the rows of their points, repeat earlier ones that are not their neighbours, beyond chance."""
    again = 1 + np.count_nonzero(np.diff(rows)) - len(points)
    if again <= _REPEATED * len(rows) or len(points) < 2 * _FEWEST:
        return False
    widths, units = _widths(points), rounding_units(points)
    equal = np.prod(np.minimum(1.0, _COLLISION * units / np.where(widths > 0.0, widths, np.inf)))
    return bool(again > _BY_CHANCE * 0.5 * len(rows) ** 2 * equal)


def _are_sorted(shares: Floats) -> bool:
    """Whether neighbours' shares rise and fall in long runs, as no chain's do."""
    steps = np.sign(np.diff(shares))
    steps = steps[steps != 0.0]
    return len(steps) >= 2 * _FEWEST and bool(np.count_nonzero(np.diff(steps)) < _SORTED * len(steps))


def _shrinkage(logarithms: Floats) -> float:
    """How fast weights fall a row after they have risen, at most; zero where they do not do both."""
    peak, width = int(np.argmax(logarithms)), len(logarithms) // _FEWEST_BATCHES
    if not width or min(np.ptp(logarithms[: peak + 1]), np.ptp(logarithms[peak:])) < _CLEARLY:
        return 0.0
    return max(0.0, float((logarithms[:-width] - logarithms[width:]).max()) / width)


def _halves(chains: Sequence[slice]) -> tuple[Integers, Integers]:
    is_first = np.zeros(chains[-1].stop, dtype=bool)
    short = [chain for chain in chains if chain.stop - chain.start < _FEWEST]
    total, before = sum(chain.stop - chain.start for chain in short), 0
    for chain in chains:
        length = chain.stop - chain.start
        if length >= _FEWEST:
            is_first[chain.start : chain.start + length // 2] = True
        else:
            is_first[chain] = 2 * before + length <= total  # its middle lies in their first half
            before += length
    return np.flatnonzero(is_first), np.flatnonzero(~is_first)
