"""Minibatches without replacement, by walking through shuffled data.

A test (or a step) reads its data from where the last one of its chain stopped, in contiguous slices, and
round and round: until it has seen all N, no datum comes twice. Once the end has been passed, the next test begins on a
new order. This needs no permutation of N numbers a step.

The orders are each chain's own, at every N: no two chains share one, and the order in which the rows are given means
nothing. In an order that chains shared, the data near each other would always be read together, and the noise of such
minibatches, which is that one order's, would move the results of all chains alike. Up to 2^15 data an order is a
permutation drawn and kept; above, it is computed as far as it is read, since a hundred permutations of a million data
would fill 400 MB.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.errors import InputError
from steinkit.sample import Integers
from steinkit.samplers.chains.random_streams import Kind, generator

Array = NDArray[Any]

LARGEST_PERMUTED = 1 << 15
# Entries of the permutations drawn at once for a chain.
_BLOCK_ENTRIES = 1 << 12
# Of a `FeistelWalk`: tables of an order, and the most data.
_TABLES = 6
_LARGEST = 1 << 31


def is_permuted(size: int) -> bool:
    """Whether orders of N data are drawn and kept, not computed as they are read."""
    return size <= LARGEST_PERMUTED


def permutations_at_once(size: int) -> int:
    """How many permutations of N data are drawn together."""
    return max(1, _BLOCK_ENTRIES // size)


def permutations(rng: np.random.Generator, size: int) -> NDArray[np.int32]:
    """The next permutations of N data of a chain, shape (`permutations_at_once`, N)."""
    ordered = np.tile(np.arange(size), (permutations_at_once(size), 1))
    # of 8-byte numbers, which NumPy moves faster than others
    return np.asarray(rng.permuted(ordered, axis=1, out=ordered), dtype=np.int32)


def require_orders(size: int) -> None:
    """Raise InputError if there are too many data for `digit_tables`."""
    if size > _LARGEST:
        raise InputError(f"{size} data are more than the {_LARGEST} that can be put into random orders")


def digit_tables(rng: np.random.Generator, size: int) -> NDArray[np.uint16]:
    """The tables of a chain's next order of N data, as `random_order_kernels` reads them, shape (6, side)."""
    return rng.integers(_side(size), size=(_TABLES, _side(size)), dtype=np.uint16)


def _side(size: int) -> int:
    """ceil(sqrt(N))."""
    return math.isqrt(size - 1) + 1


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


class PermutedWalk(DataWalk):
    """Permutations of its own for each chain, written out twice in a row so that no slice wraps."""

    def __init__(self, data: Sequence[Array], seeds: Sequence[int], kind: Kind) -> None:
        super().__init__(data, len(seeds))
        self._generators = [generator(seed, kind) for seed in seeds]
        self._block = permutations_at_once(self.size)
        self._waiting = np.empty((len(seeds), self._block, self.size), dtype=np.int32)
        self._used = np.full(len(seeds), self._block, dtype=np.int64)
        self._orders = np.empty((len(seeds), 2 * self.size), dtype=np.int32)
        self._flat = self._orders.reshape(-1)
        self._renew(np.arange(len(seeds)))

    def _slices(self, chains: Integers, position: Integers, rows: int) -> tuple[Array, ...]:
        first = chains * (2 * self.size) + position
        index = self._flat.take(first[:, None] + np.arange(rows))
        return tuple(array.take(index, axis=0) for array in self.data)

    def _renew(self, chains: Integers) -> None:
        spent = self._used[chains] == self._block
        for k in chains[spent].tolist():
            self._waiting[k] = permutations(self._generators[k], self.size)
            self._used[k] = 0
        order = self._waiting[chains, self._used[chains]]
        self._orders[chains, : self.size] = order
        self._orders[chains, self.size :] = order
        self._used[chains] += 1
        self._position[chains] = 0


class FeistelWalk(DataWalk):
    """Orders of its own for each chain that are computed where they are read, from tables of 6 sqrt(N) random numbers.

    `random_order_kernels` says how.
    """

    def __init__(self, data: Sequence[Array], seeds: Sequence[int], kind: Kind) -> None:
        from steinkit.runtime.compilation import announced_compilation
        from steinkit.samplers.chains.random_order_kernels import data_at

        super().__init__(data, len(seeds))
        require_orders(self.size)
        self._data_at = data_at
        self._generators = [generator(seed, kind) for seed in seeds]
        self._tables = np.empty((len(seeds), _TABLES, _side(self.size)), dtype=np.uint16)
        self._renew(np.arange(len(seeds)))
        with announced_compilation():
            self._slices(np.arange(0), np.arange(0), 0)

    def _slices(self, chains: Integers, position: Integers, rows: int) -> tuple[Array, ...]:
        index = np.empty((len(chains), rows), dtype=np.int64)
        self._data_at(self._tables, self.size, chains, position, index)
        return tuple(array.take(index, axis=0) for array in self.data)

    def _renew(self, chains: Integers) -> None:
        for k in chains.tolist():
            self._tables[k] = digit_tables(self._generators[k], self.size)
        self._position[chains] = 0


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
    return (PermutedWalk if is_permuted(len(data[0])) else FeistelWalk)(data, seeds, kind)
