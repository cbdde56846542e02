"""Compiled random orders of N data, of which any part can be had without the rest.

A place p < side^2 is written as two digits, p = left side + right, and these are shuffled in turn by functions f_1,
..., f_6, drawn at random, each a table of ``side`` numbers:

    left <- (left + f_1(right)) mod side,    right <- (right + f_2(left)) mod side,    left <- (left + f_3(right)) ...

Each line can be undone, so that p goes to another place q one to one: a Feistel network, here with digits added in
place of bits (Black and Rogaway 2002). Where q >= N it is shuffled again until it is not, which keeps the N places
below N among themselves: with side = ceil(sqrt(N)) that is rare.

With two of these lines, windows of the order are up to 60 times as variable as random samples of sorted data are; with
four, up to 1.3 times (at N = 33,600, where a window is half of the data). With six, 20,000 orders show no difference.

References
----------
M. Luby and C. Rackoff (1988), "How to construct pseudorandom permutations from pseudorandom functions".
J. Black and P. Rogaway (2002), "Ciphers with arbitrary finite domains".
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.runtime.compilation import array_kernel
from steinkit.sample import Integers

# Places shuffled together: loops over them become vector instructions.
TOGETHER = 256

_u32: Any = np.uint32


@array_kernel
def shuffle_digits(left: NDArray[np.uint32], right: NDArray[np.uint32], tables: NDArray[np.uint16], count: int) -> None:
    """Shuffle the first ``count`` pairs of digits, in place."""
    side = _u32(tables.shape[1])
    for k in range(0, tables.shape[0], 2):
        first, second = tables[k], tables[k + 1]
        for j in range(count):
            moved = _u32(left[j] + first[right[j]])
            left[j] = min(moved, _u32(moved - side))  # moved mod side: below side, the difference wraps to a large one
        for j in range(count):
            moved = _u32(right[j] + second[left[j]])
            right[j] = min(moved, _u32(moved - side))


@array_kernel
def data_of_one_at(
    own: NDArray[np.uint16],
    size: int,
    position: int,
    found: Integers,
    left: NDArray[np.uint32],
    right: NDArray[np.uint32],
) -> None:
    """`data_at` of one chain, with its tables (6, side) and room for ``TOGETHER`` left and right digits."""
    side, rows = own.shape[1], len(found)
    place, done = position % size, 0
    while done < rows:
        first, second = place // side, place % side
        count = min(TOGETHER, rows - done, side - second, size - place)
        for j in range(count):
            left[j], right[j] = first, second + j
        shuffle_digits(left, right, own, count)
        for j in range(count):
            found[done + j] = left[j] * side + right[j]
        for j in range(done, done + count):
            while found[j] >= size:
                left[0], right[0] = found[j] // side, found[j] % side
                shuffle_digits(left, right, own, 1)
                found[j] = left[0] * side + right[0]
        done += count
        place = (place + count) % size


@array_kernel
def data_at(tables: NDArray[np.uint16], size: int, chains: Integers, positions: Integers, found: Integers) -> None:
    """Numbers of the data that stand at consecutive places of the chains' orders.

    Parameters
    ----------
    tables : ndarray of uint16, shape (K, 6, side)
        Functions f of each chain, with values below side; side^2 is at least N.
    size : int
        N, at most 2^31.
    chains : ndarray of int, shape (n,)
        Which of the K chains.
    positions : ndarray of int, shape (n,)
        First place of each, counted round and round: place N is place 0 again.
    found : ndarray of int, shape (n, rows)
        The numbers.
    """
    left, right = np.empty(TOGETHER, dtype=np.uint32), np.empty(TOGETHER, dtype=np.uint32)
    for i in range(len(chains)):
        data_of_one_at(tables[chains[i]], size, positions[i], found[i], left, right)
