"""What lets the tests of chains read minibatches of data.

**Minibatches** are drawn without replacement, by walking through shuffled data. A test (or a step) reads its data from
where the last one of its chain stopped, in contiguous slices, and round and round: until it has seen all N, no datum
comes twice. Once the end has been passed, the next test begins on a new order. This needs no permutation of N numbers a
step.

The orders are each chain's own, at every N: no two chains share one, and the order in which the rows are given means
nothing. In an order that chains shared, the data near each other would always be read together, and the noise of such
minibatches, which is that one order's, would move the results of all chains alike. Up to 2^15 data a chain keeps a list
of the data, which is shuffled as far as it is read; above, since lists of a million data for a hundred chains would
fill 400 MB, orders are computed. `random_order_kernels` says how.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steinkit.errors import InputError
from steinkit.sample import Floats, Integers
from steinkit.samplers.chains.draws import Kind, seed_sequence
from steinkit.samplers.chains.likelihood_terms import PosteriorModel, require_numbers

Array = NDArray[Any]

LARGEST_SHUFFLED = 1 << 15
# Of computed orders: tables of one, and the most data.
_TABLES = 6
_LARGEST = 1 << 31


#: Where a chain is on its walk: the key of its orders, which of them, the place there, of how many.
PLACE = np.dtype([("key", np.uint64), ("number", np.int64), ("place", np.int64), ("size", np.int64)])


class Walk(NamedTuple):
    """Ways of K chains through N data, as `random_order_kernels` take them.

    Attributes
    ----------
    place : ndarray of `PLACE`, shape (K,)
    order : ndarray of int32, shape (K, N) or (K, 0)
        Lists of the data, each shuffled as it is read; or none, and tables.
    tables : ndarray of uint16, shape (K, 6, side) or (K, 6, 0)
    """

    place: Array
    order: Array
    tables: Array


def order_key(seed: int, kind: Kind) -> int:
    """The number of which all orders of one kind of the chain with this seed are made."""
    return int(seed_sequence(seed, kind).generate_state(1, np.uint64)[0])


def begin_walk(size: int, seeds: Sequence[int], kind: Kind) -> Walk:
    """The chains with these seeds at the beginning of their first orders of N data.

    Raises
    ------
    InputError
        If there are too many data.
    """
    from steinkit.samplers.chains.random_order_kernels import begin_order

    if size > _LARGEST:
        raise InputError(f"{size} data are more than the {_LARGEST} that can be put into random orders")
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
    """Walks of the chains with these seeds through arrays of the same leading length N.

    Parameters
    ----------
    data : sequence of ndarray
    seeds : sequence of int
    kind : Kind
        Which of the chains' streams orders the data.
    """

    def __init__(self, data: Sequence[Array], seeds: Sequence[int], kind: Kind) -> None:
        from steinkit.runtime.compilation import announced_compilation
        from steinkit.samplers.chains.random_order_kernels import end_readings, rows_of_chains

        self.data = tuple(data)
        self._rows_of_chains, self._end_readings, nobody = rows_of_chains, end_readings, np.arange(0)
        with announced_compilation():
            self._walk = begin_walk(len(data[0]), seeds, kind)
            rows_of_chains(self._walk, nobody, np.empty((0, 0), dtype=np.int64))
            end_readings(self._walk, nobody)

    def take(self, chains: Integers, rows: int) -> tuple[Array, ...]:
        """Next ``rows`` data of each of these chains: arrays of shape (n, rows, ...)."""
        index = np.empty((len(chains), rows), dtype=np.int64)
        self._rows_of_chains(self._walk, chains, index)
        return tuple(array.take(index, axis=0) for array in self.data)

    def close(self, chains: Integers) -> None:
        """End the test of each of these chains; whoever has passed the end gets a new order."""
        self._end_readings(self._walk, chains)


# The most data a chain reads at once: floats, and rows whatever their width. Not to depend on the number of chains.
_SLICE_FLOATS = 1 << 16
_SLICE_ROWS = (1 << 9, 1 << 13)
# Floats of data that several chains read in one call.
_TOGETHER_FLOATS = 1 << 20


class Seen:
    """What the tests of n moves have seen of the data: count, mean and squared deviations of the l_i.

    Parameters
    ----------
    chain, step : ndarray of int, shape (n,)
        Numbers of the chains, and of their steps.
    states, proposed : ndarray, shape (n, d)
    """

    def __init__(self, chain: Integers, step: Integers, states: Floats, proposed: Floats) -> None:
        self.chain, self.step, self.states, self.proposed = chain, step, states, proposed
        self.mean, self.squares = np.zeros((2, len(chain)))
        self.count = np.zeros(len(chain), dtype=np.int64)
        self.values: list[list[Floats]] = []  # slices of each test, where tests want them

    def moments(self, rows: Integers) -> tuple[Integers, Floats, Floats]:
        """Number, mean and variance of the l_i that these tests have seen."""
        count = self.count[rows]
        return count, self.mean[rows], self.squares[rows] / np.maximum(count - 1, 1)

    def terms(self, rows: Integers) -> list[Floats] | None:
        """The l_i that these tests have seen, where they were kept."""
        return [np.concatenate(self.values[row]) for row in rows.tolist()] if self.values else None


class MinibatchReader:
    """Reads a posterior's data for tests batch by batch, each datum at most once a test."""

    def __init__(self, model: PosteriorModel, seeds: Sequence[int], *, keeps_values: bool) -> None:
        self._model, self._keeps_values = model, keeps_values
        lowest, highest = _SLICE_ROWS
        self._longest = min(max(_SLICE_FLOATS // model.width, lowest), highest)
        self._walk = DataWalk(model.data, seeds, Kind.TEST_ORDER)
        self.close = self._walk.close

    def read(self, seen: Seen, rows: Integers, wanted: Integers) -> None:
        """Let these tests see so many data each, slice by slice, in few calls."""
        while (lacking := wanted > seen.count[rows]).any():
            rows, wanted = rows[lacking], wanted[lacking]
            sizes = np.minimum(wanted - seen.count[rows], self._longest)
            for size in set(sizes.tolist()):
                together, group = max(1, _TOGETHER_FLOATS // (size * self._model.width)), rows[sizes == size]
                for first in range(0, len(group), together):
                    self._read_slice(seen, group[first : first + together], size)

    def _read_slice(self, seen: Seen, rows: Integers, size: int) -> None:
        """Read the next ``size`` data for these tests, and merge mean and squares of the l_i with those before.

        With the slice's mean m' and squares q' (Chan, Golub and LeVeque 1983), and count, mean, squares b, m, q:
        m += (m' - m) size / (b + size),    q += q' + (m' - m)^2 b size / (b + size).
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
        if self._keeps_values:
            seen.values = seen.values or [[] for _ in seen.count]
            for row, values in zip(rows.tolist(), terms, strict=True):
                seen.values[row].append(values)
