"""Compiled kernels for Gibbs sampling in a Markov random field.

A test reads the N terms of a variable with a stride: position k is term (origin + stride k) mod N, with a random origin
and a random stride that is coprime to N. Positions are read in blocks of B, where block m consists of positions B m to
B m + B - 1. The blocks are read in random order, and they are followed by the remaining positions, which number fewer
than B. With fewer than 256 terms, B is 1, and the order is a random permutation. With more terms, this order costs much
less than a permutation. Because of the random stride, each test combines different terms in a block. With fixed blocks,
the variance of minibatches would differ by about 8%.

The mean and the variance are computed from sums of the differences from the first term, so the variance of equal terms
is exactly zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from steinkit.runtime.compilation import array_kernel
from steinkit.sample import Floats, Integers
from steinkit.samplers.acceptance.interface import Stage
from steinkit.samplers.acceptance.rules import decide
from steinkit.samplers.chains.random_order_kernels import STRIDE, random_bits

_S32 = np.uint64(32)


@array_kernel
def term(differences: Floats, pairs: NDArray[np.uint16], state: NDArray[np.uint8], place: int) -> float:
    """Return the term at a position in the order of one variable.

    The arguments have shapes (N, 4), (N, 2) and (D,).
    """
    found: float = differences[place, 2 * state[pairs[place, 0]] + state[pairs[place, 1]]]
    return found


@array_kernel
def random_below(seed: Any, bound: int) -> tuple[Any, Any]:
    """Return the next seed and a random integer below ``bound``.

    The generator is SplitMix64 (Steele, Lea and Flood 2014).
    """
    bits = random_bits(seed, 0)
    return seed + STRIDE, np.int64(((bits >> _S32) * np.uint64(bound)) >> _S32)


@array_kernel
def random_stride(seed: Any, size: int) -> tuple[Any, Any]:
    """Return the next seed and a random integer below ``size`` that is coprime to it."""
    while True:
        seed, stride = random_below(seed, size)
        divisor, rest = size, stride
        while rest:
            divisor, rest = rest, divisor % rest
        if divisor == 1:
            return seed, stride


@array_kernel
def shuffle_on(order: Integers, seed: Any, first: int, end: int) -> Any:
    """Draw new blocks for some positions of an order, and return the next seed.

    The positions are ``first`` to ``end`` - 1.
    """
    for k in range(first, end):
        seed, further = random_below(seed, len(order) - k)
        order[k], order[k + further] = order[k + further], order[k]
    return seed


@array_kernel
def block_length(size: int) -> int:
    """Return the block length B for N terms."""
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
    """Sum l - shift and its square over the terms ``first`` to ``end`` in reading order."""
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
    """Sum all terms of one variable for states (n, D), and store the sums in ``out`` (n,)."""
    for row in range(len(states)):
        total = 0.0
        for p in range(len(pairs)):
            total += term(differences, pairs, states[row], p)
        out[row] = total


def judged(judge: Any, stage: Stage) -> Any:
    """Apply an acceptance test.

    The results are its decision and the number of data points that it requests.
    """
    return judge.decide(stage)[:3]


@overload(judged, strict=False)
def _judged_by_rule(judge: Any, stage: Any) -> Any:
    return lambda judge, stage: decide(judge, stage)


def sweep_in_python(
    terms: Any,
    states: NDArray[np.uint8],
    levels: Floats,
    normals: Floats,
    seeds: NDArray[np.uint64],
    judge: Any,
    batch: int,
    bound: float,
    read: Integers,
) -> None:
    """Update all variables of each chain with an acceptance test.

    The function `sweep` is the compiled version.

    Parameters
    ----------
    terms : FieldTerms
        Terms of the log odds of all variables.
    states : ndarray of uint8, shape (n, D)
        States of the chains, which are changed in place.
    levels : ndarray, shape (n, D)
        Level log(u / (1 - u)) of each update.
    normals : ndarray, shape (n, D) or (n, 0)
        Standard normal variates for the updates, if the test requires them.
    seeds : ndarray of uint64, shape (n, D)
        Seeds of the reading order of each update.
    judge : AcceptanceTest or Rule
        Acceptance test that decides each update. The compiled version requires a Rule.
    batch : int
        Number of terms read in the first stage.
    bound : float
        Upper bound on all |l|, if the test requires it.
    read : ndarray of int, shape (n,)
        Number of terms read by all updates of each chain. The numbers are stored in place.
    """
    size = terms.pairs.shape[1]
    length = block_length(size)
    order = np.empty(size // length, dtype=np.int64)
    read[:] = 0
    for i in range(states.shape[1]):  # the terms of a variable remain in the processor's cache for all chains
        differences, pairs = terms.differences[i], terms.pairs[i]
        for chain in range(len(states)):
            state, normal = states[chain], normals[chain, i] if normals.shape[1] else 0.0
            order[:] = np.arange(len(order))
            seed, origin = random_below(seeds[chain, i], size)
            seed, stride = random_stride(np.uint64(seed), size) if batch < size else (seed, 1)
            shuffled, shift = 0, term(differences, pairs, state, origin)
            count, end, number, total, squares = 0, batch, 0, 0.0, 0.0
            decided = accepted = False
            while not decided:
                if end < size:  # otherwise, all terms are read, and their order is irrelevant
                    needed = min((end - 1) // length + 1, len(order))
                    seed = shuffle_on(order, np.uint64(seed), shuffled, needed)
                    shuffled = needed
                added = sums(differences, pairs, state, origin, stride, order, count, end, shift)
                count, total, squares = end, total + added[0], squares + added[1]
                variance = max(squares - total * total / count, 0.0) / max(count - 1, 1)
                mean, level = shift + total / count, levels[chain, i]
                stage = Stage(size, number, count, mean, variance, 0.0, 1.0, level, normal, bound)
                decided, accepted, wanted = judged(judge, stage)
                end, number = min(wanted, size), number + 1
            state[i] = accepted
            read[chain] += count


sweep = array_kernel(sweep_in_python)
