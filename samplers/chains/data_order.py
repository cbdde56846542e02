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
from typing import Any, NamedTuple

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
