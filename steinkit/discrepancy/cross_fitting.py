"""Cross-fitting: what is learnt on one half of the draws is used on the other, so that no test finds its own noise.

The halves are contiguous within every chain: their draws are independent but for those near the cut.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from steinkit.chains import split_chains
from steinkit.discrepancy.autocorrelation import long_run_times, slowest_change
from steinkit.discrepancy.preparation import Prepared
from steinkit.discrepancy.units import Units
from steinkit.errors import Caution, InputError
from steinkit.sample import Floats, Integers

_FEWEST = 4  # draws of a chain that is split: two in each half
EFFECTIVE_PER_FREEDOM = 5.0  # effective draws that count as one degree of freedom; 10 is cautious, 3 too bold
FEW_EFFECTIVE = 100.0  # effective draws below which right samples are accused too often


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
        Whether the probabilities differ; autocorrelation is then not corrected for.
    labels : tuple of int
        What the sample calls each chain; 0 where it names none.
    disorder : tuple of str
        Chains that could not be put in order.
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

    @classmethod
    def of(cls, weights: ArrayLike | None, prepared: Prepared) -> Draws:
        """Lay the draws out again that preparation has merged.

        Raises
        ------
        InputError
            If there are fewer than eight.
        """
        given = prepared.weighted(weights)
        in_chains, disorder = split_chains(given)
        in_order = [rows[given.probabilities[rows] > 0.0] for rows in in_chains]
        order = np.concatenate(in_order)
        ends = np.cumsum([len(rows) for rows in in_order]).tolist()
        chains = tuple(slice(end - len(rows), end) for rows, end in zip(in_order, ends, strict=True) if len(rows))
        labels = tuple(0 if given.chain is None else int(given.chain[rows[0]]) for rows in in_order if len(rows))
        if len(order) < 2 * _FEWEST:
            raise InputError(f"the test needs at least {2 * _FEWEST} draws; this sample has {len(order)}: add draws")
        shares, rows = given.probabilities[order], prepared.points.inverse[order]
        is_weighted = bool((shares != shares[0]).any())
        points, scores = prepared.points.points, prepared.scores
        if len(rows) != len(points) or (np.diff(rows) != 1).any():  # else they lie there as they are wanted
            points, scores = points[rows], scores[rows]
        numbered = np.cumsum(given.probabilities > 0.0) - 1
        return cls(
            rows=numbered[order],
            points=points,
            scores=scores,
            shares=shares / shares.sum(),
            chains=chains,
            halves=_halves(chains),
            is_weighted=is_weighted,
            labels=labels,
            disorder=tuple(disorder),
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
        ends = np.searchsorted(places, [(chain.start, chain.stop) for chain in self.chains])
        kept = [(label, slice(*map(int, each))) for label, each in zip(self.labels, ends, strict=True) if np.ptp(each)]
        chains = tuple(place for _, place in kept)
        return replace(
            self,
            rows=self.rows[rows],
            points=self.points[rows],
            scores=self.scores[rows],
            shares=self.shares[rows] / self.shares[rows].sum(),
            chains=chains,
            halves=_halves(chains),
            labels=tuple(label for label, _ in kept),
            disorder=(),
        )

    def autocorrelation_times(self, deviations: Floats) -> Floats:
        """Of functions of the draws less their means, (k, n) -> (k,); 1 for weighted draws."""
        if self.is_weighted:
            return np.ones(len(deviations))
        return long_run_times(deviations, self.chains)

    @cached_property
    def of_slowest_change(self) -> float:
        """Draws over the time of the slowest coordinate, square or change of region; infinite for weighted draws.

        Squares are those of the coordinates and of the principal axes: along an axis that Hamiltonian Monte Carlo turns
        by half a period at every step, draws alternate between two places that hardly change. Of draws in standard
        units; chains may be of any lengths.
        """
        if self.is_weighted:
            return math.inf
        slowest = slowest_change(self.points, self.scores, self.chains)
        z = np.ascontiguousarray((self.points - self.points.mean(axis=0)).T)
        for values in (z, z**2, (np.linalg.eigh(z @ z.T)[1].T @ z) ** 2):
            slowest = max(slowest, self.autocorrelation_times(values - values.mean(axis=1, keepdims=True)).max())
        return len(self.points) / float(slowest)

    def effective(self, times: Floats) -> Floats:
        """Draws over the autocorrelation times of functions; Kish's effective size of weighted draws."""
        if self.is_weighted:
            return np.full(len(times), 1.0 / float(self.shares @ self.shares))
        return np.asarray(len(self.shares) / times)

    def n_effective(self, time: float) -> float:
        """Draws over one autocorrelation time; Kish's effective size of weighted draws."""
        return float(self.effective(np.array([time]))[0])

    def warnings(self, n_effective: float) -> tuple[str, ...]:
        """What a reader of a test of these draws should know."""
        found = tuple(map(Caution, self.disorder))
        if self.is_weighted:
            found += (Caution("the draws are weighted: their autocorrelation is not corrected for"),)
        if n_effective < FEW_EFFECTIVE:
            few = f"too few effective draws ({math.floor(n_effective)}) to judge by this test; 100 or more are wanted"
            found += (Caution(few),)
        return found


@overload
def tail_probability(z: float, n_effective: float) -> float: ...
@overload
def tail_probability(z: Floats, n_effective: Floats) -> Floats: ...
def tail_probability(z: float | Floats, n_effective: float | Floats) -> float | Floats:
    """Probability that a right sample's z-score exceeds this one: the tail of Student's t, set on slow chains."""
    from scipy.special import stdtr

    tails = stdtr(n_effective / EFFECTIVE_PER_FREEDOM, np.negative(z))
    return np.asarray(tails, dtype=np.float64) if isinstance(z, np.ndarray) else float(tails)


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
