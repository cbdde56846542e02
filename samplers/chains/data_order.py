"""Minibatches without replacement, by walking through shuffled data.

A test (or a step) reads its data from where the last one of its chain stopped, in contiguous slices, and
round and round: until it has seen all N, no datum comes twice. Once the end has been passed, the next test begins on a
new order. This needs no permutation of N numbers a step, and reads memory in order.

Up to 2^15 data each chain has random permutations of its own. Above, all chains share one shuffled copy of the data
for each kind of walk, whose order is the same in every run, and a chain's new order is a new random starting point in
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from steinkit.sample import Integers
from steinkit.samplers.chains.random_streams import Kind, generator

Array = NDArray[Any]

LARGEST_PERMUTED = 1 << 15
# Entries of the permutations drawn at once for a chain.
_BLOCK_ENTRIES = 1 << 12
_SHUFFLE_SEED = 20150608


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
        self._block = max(1, _BLOCK_ENTRIES // self.size)
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
            ordered = np.tile(np.arange(self.size, dtype=np.int32), (self._block, 1))
            self._waiting[k] = self._generators[k].permuted(ordered, axis=1)
            self._used[k] = 0
        order = self._waiting[chains, self._used[chains]]
        self._orders[chains, : self.size] = order
        self._orders[chains, self.size :] = order
        self._used[chains] += 1
        self._position[chains] = 0


class SharedWalk(DataWalk):
    """One shuffled copy of the data for all chains; its first rows stand once more at the end: no slice wraps."""

    def __init__(self, data: Sequence[Array], seeds: Sequence[int], kind: Kind, longest: int) -> None:
        super().__init__(data, len(seeds))
        self._generators = [generator(seed, kind) for seed in seeds]
        # of its own for each kind: a chain's proposals and tests would else go side by side where its origins are near
        order = np.random.default_rng([_SHUFFLE_SEED, int(kind)]).permutation(self.size)
        order = np.concatenate([order, order[:longest]])
        self._copies = tuple(np.ascontiguousarray(array[order]) for array in self.data)
        self._origin = np.zeros(len(seeds), dtype=np.int64)
        self._windows: dict[int, tuple[Array, ...]] = {}
        self._renew(np.arange(len(seeds)))

    def _slices(self, chains: Integers, position: Integers, rows: int) -> tuple[Array, ...]:
        first = (self._origin[chains] + position) % self.size
        if rows not in self._windows:
            self._windows[rows] = tuple(_windows(copy, rows) for copy in self._copies)
        return tuple(windows[first] for windows in self._windows[rows])

    def _renew(self, chains: Integers) -> None:
        for k in chains.tolist():
            self._origin[k] = int(self._generators[k].random() * self.size)
        self._position[chains] = 0


def data_walk(data: Sequence[Array], seeds: Sequence[int], kind: Kind, longest: int) -> DataWalk:
    """Walks of the chains with these seeds through the data.

    Parameters
    ----------
    data : sequence of ndarray
        Arrays of the same leading length N.
    seeds : sequence of int
    kind : Kind
        Which of the chains' streams orders the data.
    longest : int
        The most rows that will be taken at once.
    """
    if len(data[0]) <= LARGEST_PERMUTED:
        return PermutedWalk(data, seeds, kind)
    return SharedWalk(data, seeds, kind, longest)


def _windows(array: Array, rows: int) -> Array:
    """View whose entry i is ``array[i : i + rows]``."""
    starts = len(array) - rows + 1
    return as_strided(array, (starts, rows, *array.shape[1:]), (array.strides[0], *array.strides), writeable=False)
