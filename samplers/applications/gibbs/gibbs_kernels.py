"""The compiled loops of Gibbs sampling in a Markov random field.

A test reads the N terms of a variable in strides: place k is that of term (origin + stride k) mod N, with a random
origin and a random stride that has no divisor in common with N. The places are read in blocks of B, block m being
places B m to B m + B - 1, and the blocks come in a random order; the rest, fewer than B, comes last. Below 256 terms B
is 1, and the order a random permutation; above, it costs much less than one. The stride takes other terms together in
each test: where blocks are always the same, minibatches vary as these blocks do, by some 8 % more or less.

Mean and variance are formed from sums over the terms less the first one of them: terms that are all equal have
variance zero exactly.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.runtime.compilation import array_kernel
from steinkit.sample import Floats, Integers

# As in `steinkit.samplers.acceptance.interface.varies`.
_ROUNDING = 1e-14

_STEP, _FIRST, _SECOND = (np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
_S27, _S30, _S31, _S32 = (np.uint64(n) for n in (27, 30, 31, 32))


@array_kernel
def term(differences: Floats, pairs: NDArray[np.uint16], state: NDArray[np.uint8], place: int) -> float:
    """Term at a place of the order of one variable, (N, 4), (N, 2) and (D,)."""
    found: float = differences[place, 2 * state[pairs[place, 0]] + state[pairs[place, 1]]]
    return found


@array_kernel
def random_below(seed: Any, bound: int) -> tuple[Any, Any]:
    """Next seed, and a random whole number below ``bound`` (the generator SplitMix64, Steele, Lea and Flood 2014)."""
    seed = seed + _STEP
    z = (seed ^ (seed >> _S30)) * _FIRST
    z = (z ^ (z >> _S27)) * _SECOND
    z = z ^ (z >> _S31)
    return seed, np.int64(((z >> _S32) * np.uint64(bound)) >> _S32)


@array_kernel
def random_stride(seed: Any, size: int) -> tuple[Any, Any]:
    """Next seed, and a random whole number below ``size`` that has no divisor in common with it."""
    while True:
        seed, stride = random_below(seed, size)
        divisor, rest = size, stride
        while rest:
            divisor, rest = rest, divisor % rest
        if divisor == 1:
            return seed, stride


@array_kernel
def shuffle_on(order: Integers, seed: Any, first: int, end: int) -> Any:
    """Draw the blocks at places first to end of an order, of those not drawn before; return the next seed."""
    for k in range(first, end):
        seed, further = random_below(seed, len(order) - k)
        order[k], order[k + further] = order[k + further], order[k]
    return seed


@array_kernel
def block_length(size: int) -> int:
    """Length B of the blocks in which N terms are read."""
    return max(1, min(32, size // 128))


@array_kernel
def sums(
    differences: Floats,
    pairs: NDArray[np.uint16],
    state: NDArray[np.uint8],
    origin: int,
    stride: int,
    order: Integers,
    first: int,
    end: int,
    shift: float,
) -> tuple[float, float]:
    """Sums of l - shift, and of its squares, over the terms from ``first`` to ``end`` in the order of reading."""
    size = len(pairs)
    length = block_length(size)
    total = squares = 0.0
    while first < end:
        block = first // length
        behind = first - block * length
        place = (order[block] if block < len(order) else block) * length + behind
        number = (origin + stride * place) % size
        stop = min(first + length - behind, end)
        while first < stop:
            deviation = term(differences, pairs, state, number) - shift
            total += deviation
            squares += deviation * deviation
            first += 1
            number += stride
            if number >= size:
                number -= size
    return total, squares


@array_kernel
def log_odds(differences: Floats, pairs: NDArray[np.uint16], states: NDArray[np.uint8], out: Floats) -> None:
    """Sums of all terms of one variable, at states (n, D), into ``out`` (n,)."""
    for row in range(len(states)):
        total = 0.0
        for p in range(len(pairs)):
            total += term(differences, pairs, states[row], p)
        out[row] = total


@array_kernel
def sweep(
    differences: Floats,
    pairs: NDArray[np.uint16],
    states: NDArray[np.uint8],
    levels: Floats,
    seeds: NDArray[np.uint64],
    batch: int,
    thresholds: Floats,
    read: Integers,
) -> None:
    """Update all variables of each chain in turn, by the austerity test.

    Parameters
    ----------
    differences, pairs : ndarray, shape (D, N, 4) and (D, N, 2)
    states : ndarray of uint8, shape (n, D)
        Changed in place.
    levels : ndarray, shape (n, D)
        log(u / (1 - u)) of each update.
    seeds : ndarray of uint64, shape (n, D)
        Of the order in which each update reads.
    batch : int
        Terms of a look; with N of them the update is exact.
    thresholds : ndarray, shape (looks before the last,)
    read : ndarray of int, shape (n,)
        Terms read by all updates of each chain.
    """
    size = pairs.shape[1]
    length = block_length(size)
    order = np.empty(size // length, dtype=np.int64)
    read[:] = 0
    for i in range(states.shape[1]):  # the terms of a variable stay in the processor's cache for all chains
        for chain in range(len(states)):
            state, mu_0 = states[chain], levels[chain, i] * (1.0 / size)
            order[:] = np.arange(len(order))
            seed, origin = random_below(seeds[chain, i], size)
            seed, stride = random_stride(seed, size) if batch < size else (seed, 1)
            shuffled, shift = 0, term(differences[i], pairs[i], state, origin)
            count, look, total, squares, decided = 0, 0, 0.0, 0.0, False
            gap = 0.0
            while not decided:
                end = min(count + batch, size)
                if end < size:  # else all are read, in whatever order
                    needed = (end - 1) // length + 1
                    seed = shuffle_on(order, seed, shuffled, min(needed, len(order)))
                    shuffled = min(needed, len(order))
                added = sums(differences[i], pairs[i], state, origin, stride, order, count, end, shift)
                count, total, squares = end, total + added[0], squares + added[1]
                mean = shift + total / count
                gap = mean - mu_0
                decided = count == size
                if not decided:
                    variance = (squares - total * total / count) / max(count - 1, 1)
                    s = math.sqrt(max(variance, 0.0) / count * (1.0 - (count - 1.0) / (size - 1)))
                    decided = variance > _ROUNDING * mean * mean and abs(gap) > thresholds[look] * s
                    look += 1
            state[i] = gap > 0.0
            read[chain] += count


@array_kernel
def begin(seeds: NDArray[np.uint64], origins: Integers, strides: Integers, orders: Integers, size: int) -> None:
    """Draw origin, stride and the order of the blocks for tests with these seeds, (n,) each and (n, blocks)."""
    for chain in range(len(seeds)):
        orders[chain] = np.arange(orders.shape[1])
        seed, origins[chain] = random_below(seeds[chain], size)
        seed, strides[chain] = random_stride(seed, size)
        shuffle_on(orders[chain], seed, 0, orders.shape[1])


@array_kernel
def read_on(
    differences: Floats,
    pairs: NDArray[np.uint16],
    states: NDArray[np.uint8],
    chains: Integers,
    origins: Integers,
    strides: Integers,
    orders: Integers,
    counts: Integers,
    wanted: Integers,
    shifts: Floats,
    totals: Floats,
    squares: Floats,
) -> None:
    """Let these chains, in their tests of one variable, read on to the number of terms wanted.

    Parameters
    ----------
    differences, pairs : ndarray, shape (N, 4) and (N, 2)
    states : ndarray of uint8, shape (n, D)
    chains : ndarray of int, shape (m,)
        Rows of all the others that are meant.
    origins, strides, orders : ndarray of int, shape (n,), (n,) and (n, blocks)
    counts, wanted : ndarray of int, shape (n,)
        Terms read, changed in place, and to be read.
    shifts, totals, squares : ndarray, shape (n,)
        The first term, and the sums of `sums`; changed in place.
    """
    for chain in chains:
        state, count, origin = states[chain], counts[chain], origins[chain]
        if count == 0:
            shifts[chain] = term(differences, pairs, state, origin)
        added = sums(
            differences, pairs, state, origin, strides[chain], orders[chain], count, wanted[chain], shifts[chain]
        )
        totals[chain] += added[0]
        squares[chain] += added[1]
        counts[chain] = wanted[chain]
