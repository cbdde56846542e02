"""Minibatches of data for acceptance tests and gradients.

**Minibatches** are slices of a random order of the data, so they are drawn without replacement. Each test or step
starts at the position where the previous test or step of its chain stopped and wraps around at the end of the order. A
test therefore reads each data point at most once. When an order is exhausted, the next test starts a new one. This
method avoids a permutation of N numbers per step.

Each chain has its own random orders, so the results do not depend on the order of the rows. If chains shared an order,
they would always read neighboring data together, and the noise of these minibatches would bias all chains in the same
way. For up to 2^15 data points, a chain stores a list of the data points and shuffles only the part that is read. For
larger data sets, the lists of a hundred chains might require 400 MB, so the orders are computed instead (see
`random_order_kernels`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steinkit.errors import InputError
from steinkit.sample import Floats, Integers
from steinkit.samplers.chains.draws import StreamKind, seed_sequence
from steinkit.samplers.chains.likelihood_terms import PosteriorModel, require_numbers

Array = NDArray[Any]

LARGEST_SHUFFLED = 1 << 15
# Number of tables per computed order, and maximum number of data points.
_TABLES = 6
_LARGEST = 1 << 31


#: Position of a chain: key of its orders, number of the order, position in the order, and number of data points.
PLACE = np.dtype([("key", np.uint64), ("number", np.int64), ("place", np.int64), ("size", np.int64)])


class Walk(NamedTuple):
    """Positions of K chains in their random orders of N data points.

    Attributes
    ----------
    place : ndarray of `PLACE`, shape (K,)
        Position of each chain.
    order : ndarray of int32, shape (K, N) or (K, 0)
        List of the data points for each chain, which is shuffled as it is read. The array is empty if the orders are
        computed.
    tables : ndarray of uint16, shape (K, 6, side) or (K, 6, 0)
        Tables of the computed orders.
    """

    place: Array
    order: Array
    tables: Array


def order_key(seed: int, kind: StreamKind) -> int:
    """Return the key shared by all orders of one kind in the chain with this seed."""
    return int(seed_sequence(seed, kind).generate_state(1, np.uint64)[0])


def begin_walk(size: int, seeds: Sequence[int], kind: StreamKind) -> Walk:
    """Return chains at the start of random orders of the N data points.

    Raises
    ------
    InputError
        If there are more than 2^31 data points.
    """
    from steinkit.samplers.chains.random_order_kernels import begin_order

    if size > _LARGEST:
        raise InputError(f"minibatches require at most {_LARGEST} data points; got {size}")
    shuffled = size <= LARGEST_SHUFFLED
    side = 0 if shuffled else math.isqrt(size - 1) + 1
    place = np.array([(order_key(seed, kind), 0, 0, size) for seed in seeds], dtype=PLACE)
    order = np.tile(np.arange(size if shuffled else 0, dtype=np.int32), (len(seeds), 1))
    walk = Walk(place, order, np.empty((len(seeds), _TABLES, side), dtype=np.uint16))
    if side:
        for key, tables in zip(place["key"], walk.tables, strict=True):
            begin_order(tables, key, 0)
    return walk


class DataWalk:
    """Minibatches for chains, drawn from arrays with a common leading dimension N.

    Parameters
    ----------
    data : sequence of ndarray
        The data.
    seeds : sequence of int
        Seeds of the chains.
    kind : StreamKind
        Random stream that determines the orders.
    """

    def __init__(self, data: Sequence[Array], seeds: Sequence[int], kind: StreamKind) -> None:
        from steinkit.runtime.compilation import announced_compilation
        from steinkit.samplers.chains.random_order_kernels import end_readings, rows_of_chains

        self.data = tuple(data)
        self._rows_of_chains, self._end_readings, no_chains = rows_of_chains, end_readings, np.arange(0)
        with announced_compilation():
            self._walk = begin_walk(len(data[0]), seeds, kind)
            rows_of_chains(self._walk, no_chains, np.empty((0, 0), dtype=np.int64))
            end_readings(self._walk, no_chains)

    def take(self, chains: Integers, rows: int) -> tuple[Array, ...]:
        """Return the next ``rows`` data points for each of these chains."""
        index = np.empty((len(chains), rows), dtype=np.int64)
        self._rows_of_chains(self._walk, chains, index)
        return tuple(array.take(index, axis=0) for array in self.data)

    def close(self, chains: Integers) -> None:
        """End the tests of these chains, and start new orders where the old ones ended."""
        self._end_readings(self._walk, chains)


# Size of the slices that a chain reads, in floats and in rows. These numbers must not depend on the number of chains.
_SLICE_FLOATS = 1 << 16
_SLICE_ROWS = (1 << 9, 1 << 13)
# Number of data values read in one call for several chains.
_TOGETHER_FLOATS = 1 << 20


class Seen:
    """Statistics of the l_i read by the tests of n moves.

    The statistics are the count, the mean and the sum of squared deviations.

    Parameters
    ----------
    chain, step : ndarray of int, shape (n,)
        Chain numbers and step numbers.
    states, proposed : ndarray, shape (n, d)
        Current and proposed states.
    """

    def __init__(self, chain: Integers, step: Integers, states: Floats, proposed: Floats) -> None:
        self.chain, self.step, self.states, self.proposed = chain, step, states, proposed
        self.mean, self.squares = np.zeros((2, len(chain)))
        self.count = np.zeros(len(chain), dtype=np.int64)

    def moments(self, rows: Integers) -> tuple[Integers, Floats, Floats]:
        """Return the count, mean and variance of the l_i read by these tests."""
        count = self.count[rows]
        return count, self.mean[rows], self.squares[rows] / np.maximum(count - 1, 1)


class MinibatchReader:
    """Reader for the data in a posterior.

    A test reads each data point at most once.
    """

    def __init__(self, model: PosteriorModel, seeds: Sequence[int]) -> None:
        self._model = model
        lowest, highest = _SLICE_ROWS
        self._longest = min(max(_SLICE_FLOATS // model.width, lowest), highest)
        self._walk = DataWalk(model.data, seeds, StreamKind.TEST_ORDER)
        self.close = self._walk.close

    def read(self, seen: Seen, rows: Integers, sizes: Integers) -> None:
        """Read data for these tests until each test has read all the data of its stage."""
        while (lacking := sizes > seen.count[rows]).any():
            rows, sizes = rows[lacking], sizes[lacking]
            slices = np.minimum(sizes - seen.count[rows], self._longest)
            for size in set(slices.tolist()):
                together, group = max(1, _TOGETHER_FLOATS // (size * self._model.width)), rows[slices == size]
                for first in range(0, len(group), together):
                    self._read_slice(seen, group[first : first + together], size)

    def _read_slice(self, seen: Seen, rows: Integers, size: int) -> None:
        """Read the next ``size`` data points for these tests and update the statistics.

        The mean m' and squares q' of the slice are merged with the count b, mean m and squares q of the preceding data
        (Chan, Golub and LeVeque 1983): m += (m' - m) size / (b + size),    q += q' + (m' - m)^2 b size / (b + size).
        """
        chain, proposed = seen.chain[rows], seen.proposed[rows]
        terms = self._model.log_ratios(proposed, seen.states[rows], self._walk.take(chain, size))
        mean = np.add.reduce(terms, axis=1) / size
        require_numbers(mean, chain, seen.step[rows], proposed, "the log likelihood")
        deviations = terms - mean[:, None]
        squares = np.add.reduce(deviations * deviations, axis=1)
        count, before = seen.count[rows], seen.mean[rows]
        share, difference = size / (count + size), mean - before
        seen.mean[rows] = np.where(before == -np.inf, before, before + difference * share)
        seen.squares[rows] += squares + difference * difference * (count * share)
        seen.count[rows] = count + size
