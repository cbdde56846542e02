"""Compiled walks of one chain through the data: `steinkit.samplers.chains.data_order` says what they are."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from steinkit.runtime.compilation import array_kernel
from steinkit.sample import Integers
from steinkit.samplers.chains.random_order_kernels import begin_order, next_rows


@array_kernel
def take_rows(walk: Any, order: NDArray[Any], tables: NDArray[Any], count: int, found: Integers, digits: Any) -> None:
    """Go on by ``count`` data; a walk is a record of `records.WALK`, all else as `next_rows` takes it."""
    next_rows(order, tables, walk.key, walk.number, walk.place, walk.size, found[:count], digits)
    walk.place += count


@array_kernel
def end_reading(walk: Any, tables: NDArray[Any]) -> None:
    """Turn to the next order where the end of this one has been passed."""
    if walk.place >= walk.size:
        walk.number += 1
        walk.place = 0
        begin_order(tables, walk.key, walk.number)


@array_kernel
def count_up(first: int, count: int, found: Integers) -> None:
    """The data from ``first`` on, as they are given."""
    for i in range(count):
        found[i] = first + i
