"""Minibatches without replacement, by walking through shuffled data.

A test (or a step) reads its data from where the last one of its chain stopped, in contiguous slices, and
round and round: until it has seen all N, no datum comes twice. Once the end has been passed, the next test begins on a
new order. This needs no permutation of N numbers a step.

The orders are each chain's own, at every N: no two chains share one, and the order in which the rows are given means
nothing. In an order that chains shared, the data near each other would always be read together, and the noise of such
minibatches, which is that one order's, would move the results of all chains alike. Up to 2^15 data a chain keeps a list
of the data, which is shuffled as far as it is read; above, since lists of a million data for a hundred chains would
fill 400 MB, orders are computed. `random_order_kernels` says how.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.errors import InputError
from steinkit.sample import Integers
from steinkit.samplers.chains.random_streams import Kind, seed_sequence

Array = NDArray[Any]

LARGEST_SHUFFLED = 1 << 15
# Of computed orders: tables of one, and the most data.
_TABLES = 6
_LARGEST = 1 << 31


def order_key(seed: int, kind: Kind) -> int:
    """The number of which all orders of one kind of the chain with this seed are made."""
    return int(seed_sequence(seed, kind).generate_state(1, np.uint64)[0])


def order_room(size: int) -> tuple[NDArray[np.int32], NDArray[np.uint16]]:
    """Room for an order of N data of a chain, as `random_order_kernels.next_rows` takes it: a list and tables.

    Raises
    ------
    InputError
        If there are too many data.
    """
    if size > _LARGEST:
        raise InputError(f"{size} data are more than the {_LARGEST} that can be put into random orders")
    shuffled = size <= LARGEST_SHUFFLED
    side = 0 if shuffled else math.isqrt(size - 1) + 1
    return np.arange(size if shuffled else 0, dtype=np.int32), np.empty((_TABLES, side), dtype=np.uint16)


class DataWalk:
    """The chains' ways through the data; see `data_walk`."""

    def __init__(self, data: Sequence[Array], chains: int) -> None:
        self.data = tuple(data)
        self.size = len(data[0])
        self._position = np.zeros(chains, dtype=np.int64)

    def take(self, chains: Integers, rows: int) -> tuple[Array, ...]:
        """Next ``rows`` data of each of these chains: arrays of shape (n, rows, ...)."""
        position = self._position[chains]
        self._position[chains] = position + rows
        return self._slices(chains, position, rows)

    def close(self, chains: Integers) -> None:
        """End the test of each of these chains; whoever has passed the end gets a new order."""
        passed = self._position[chains] >= self.size
        if passed.any():
            self._renew(chains[passed])

    def _slices(self, chains: Integers, position: Integers, rows: int) -> tuple[Array, ...]:
        raise NotImplementedError

    def _renew(self, chains: Integers) -> None:
        raise NotImplementedError


class RandomWalk(DataWalk):
    """Walks in random orders of each chain's own."""

    def __init__(self, data: Sequence[Array], seeds: Sequence[int], kind: Kind) -> None:
        from steinkit.runtime.compilation import announced_compilation
        from steinkit.samplers.chains.random_order_kernels import begin_orders, rows_of_chains

        super().__init__(data, len(seeds))
        self._begin_orders, self._rows_of_chains = begin_orders, rows_of_chains
        order, tables = order_room(self.size)
        self._orders, self._tables = np.tile(order, (len(seeds), 1)), np.tile(tables, (len(seeds), 1, 1))
        self._keys = np.array([order_key(seed, kind) for seed in seeds], dtype=np.uint64)
        self._numbers = np.full(len(seeds), -1)
        with announced_compilation():
            self._renew(np.arange(len(seeds)))
            self._slices(np.arange(0), np.arange(0), 0)

    def _slices(self, chains: Integers, position: Integers, rows: int) -> tuple[Array, ...]:
        index = np.empty((len(chains), rows), dtype=np.int64)
        self._rows_of_chains(self._orders, self._tables, self._keys, self._numbers, self.size, chains, position, index)
        return tuple(array.take(index, axis=0) for array in self.data)

    def _renew(self, chains: Integers) -> None:
        self._numbers[chains] += 1
        self._position[chains] = 0
        if self._tables.size:
            self._begin_orders(self._tables, self._keys, self._numbers, chains)


def data_walk(data: Sequence[Array], seeds: Sequence[int], kind: Kind) -> DataWalk:
    """Walks of the chains with these seeds through the data.

    Parameters
    ----------
    data : sequence of ndarray
        Arrays of the same leading length N.
    seeds : sequence of int
    kind : Kind
        Which of the chains' streams orders the data.
    """
    return RandomWalk(data, seeds, kind)
