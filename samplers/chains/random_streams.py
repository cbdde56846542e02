"""Noise of many chains: each chain has generators of its own, one for each kind of noise.

Chain k of a run with seed s has the seed

    s_k = the first 53 bits of SeedSequence(s, spawn_key=(k,)),

and noise of kind j in it comes from SeedSequence(s_k, spawn_key=(j,)). So a chain depends on s_k alone, not on how
many chains run beside it; and as a generator gives the same numbers one by one or many at a time, not on the
size of the blocks either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum

import numpy as np

from steinkit.errors import UsageError
from steinkit.sample import Floats, Integers

# Numbers drawn at once for a chain, and the most steps they serve.
_BLOCK_NUMBERS = 1 << 13
_BLOCK_STEPS = 256


class Kind(IntEnum):
    """What noise is for. New kinds come last, so that old ones keep their numbers."""

    PROPOSAL = 0
    UNIFORM = 1
    TEST_ORDER = 2
    TEST = 3
    PROPOSAL_ORDER = 4


def chain_seeds(seed: int | Sequence[int], chains: int) -> tuple[int, ...]:
    """Seeds of the chains.

    Parameters
    ----------
    seed : int, or sequence of int
        Seed of the run, or the seeds of the chains themselves, such as some of `Draws.seeds`.
    chains : int
        Number of chains; 1 is read as the number of seeds where there are several.

    Raises
    ------
    UsageError
        If a seed is not a whole number of at least 0, or there are more or fewer than chains.
    """
    given = np.atleast_1d(np.asarray(seed, dtype=object))
    wrong = [s for s in given.ravel() if isinstance(s, bool) or not isinstance(s, int | np.integer) or s < 0]
    if wrong or given.ndim != 1 or not given.size:
        raise UsageError(f"seed must be a whole number of at least 0, or one for each chain; received {seed!r}")
    if np.ndim(seed) == 0:
        return tuple(
            int(np.random.SeedSequence(int(given[0]), spawn_key=(k,)).generate_state(1, np.uint64)[0] >> 11)
            for k in range(chains)
        )
    if chains not in (1, len(given)):
        raise UsageError(f"{len(given)} seeds for {chains} chains; give one for each chain, or a single number")
    return tuple(int(s) for s in given)


def seed_sequence(seed: int, kind: Kind) -> np.random.SeedSequence:
    """What one kind of noise of the chain with this seed comes from."""
    return np.random.SeedSequence(seed, spawn_key=(int(kind),))


def generator(seed: int, kind: Kind) -> np.random.Generator:
    """Generator of one kind of noise of the chain with this seed."""
    return np.random.default_rng(seed_sequence(seed, kind))


class Noise:
    """One row of numbers for each step of each chain, drawn in blocks.

    Parameters
    ----------
    seeds : sequence of int
        Seeds of the chains.
    kind : Kind
    width : int
        Numbers a step.
    fill : callable, (Generator, shape) -> array of that shape
        Draws the numbers in order, whatever the shape: a block may be anything from one step up.
    """

    def __init__(
        self,
        seeds: Sequence[int],
        kind: Kind,
        width: int,
        fill: Callable[[np.random.Generator, tuple[int, int]], Floats],
    ) -> None:
        self._generators = [generator(seed, kind) for seed in seeds]
        self._fill = fill
        self._steps = min(_BLOCK_STEPS, max(1, _BLOCK_NUMBERS // max(1, width)))
        self._width = width
        self._rows = np.empty((len(seeds) * self._steps, width))

    def take(self, chains: Integers, steps: Integers) -> Floats:
        """Numbers of each of these chains for the step it is at, shape (n, width).

        The steps of a chain are numbered from 0 and must be asked for once each and in order.
        """
        within = steps % self._steps
        if not within.all():
            for k in chains[within == 0].tolist():
                begin = k * self._steps
                self._rows[begin : begin + self._steps] = self._fill(self._generators[k], (self._steps, self._width))
        return self._rows.take(chains * self._steps + within, axis=0)


def normals(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Standard normal numbers."""
    return rng.standard_normal(shape)


def uniforms(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Uniform numbers in the open interval (0, 1)."""
    return np.maximum(rng.random(shape), 2.0**-54)
