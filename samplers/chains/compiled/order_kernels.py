"""Compiled walks through the data: `steinkit.samplers.chains.data_order` says what they are."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from steinkit.runtime.compilation import array_kernel
from steinkit.sample import Integers
from steinkit.samplers.chains.random_order_kernels import data_of_one_at


@array_kernel
def next_rows(
    orders: NDArray[Any], tables: NDArray[Any], which: int, place: int, size: int, count: int, found: Any, digits: Any
) -> None:
    """The ``count`` data from a place of an order on, counted round and round: of permutations, or of tables."""
    if len(orders):
        own = orders[which]
        begin = place if place < size else place - size
        ahead = min(count, size - begin)
        for i in range(ahead):
            found[i] = own[begin + i]
        for i in range(ahead, count):
            found[i] = own[i - ahead]
    else:
        data_of_one_at(tables, size, place, found[:count], digits[0], digits[1])


@array_kernel
def count_up(first: int, count: int, found: Integers) -> None:
    """The data from ``first`` on, as they are given."""
    for i in range(count):
        found[i] = first + i
