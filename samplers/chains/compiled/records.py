"""What compiled chains keep between calls, and what a call comes back with."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from steinkit.sample import Floats, Integers


class Outcome(IntEnum):
    """Why a call came back."""

    GO_ON = -1  # inside only
    FINISHED = 0
    PAUSED = 1  # to let the caller look at the time and at control-C
    NOISE_USED = 2
    STATE_NOT_FINITE = 3
    RATIO_NO_NUMBER = 4
    LIKELIHOOD_NO_NUMBER = 5
    LOST = 6
    OUTSIDE = 7


class Drift(IntEnum):
    """What a proposal's drift is made of."""

    NONE = 0
    ALL_DATA = 1
    MINIBATCH = 2


class Vectors(NamedTuple):
    """Rows of a chain's vectors, (rows, d): plain numbers, since few versions of Numba index by an enumeration."""

    STATE: int = 0
    PROPOSED: int = 1
    CENTRE: int = 2  # the mean of the proposal
    PRIOR_GRADIENT: int = 3  # at the state
    DATA_GRADIENT: int = 4
    PROPOSED_PRIOR_GRADIENT: int = 5
    PROPOSED_DATA_GRADIENT: int = 6
    MODE: int = 7  # and the data's gradient there: of control variates
    GRADIENT_AT_MODE: int = 8


Vector = Vectors()


def _record(whole: str, real: str) -> np.dtype[np.void]:
    return np.dtype([(name, np.int64) for name in whole.split()] + [(name, np.float64) for name in real.split()])


#: What stays the same: sizes and the proposal; whether tests read all the data, scan them for a bound, or have it here.
PLAN = _record(
    "size drift gradient_batch variates reads_all first_batch scans steps budget step_cost patience", "step_size bound"
)
#: Where a chain is. ``wrong`` is the number that an error is about.
CHAIN = _record(
    "step block_start spent outside testing number target count scanned",
    "log_prior proposed_log_prior offset mean squares bound log_likelihood proposed_log_likelihood wrong",
)


class Terms(NamedTuple):
    """A posterior's terms, and room to evaluate them.

    Attributes
    ----------
    addresses : ndarray of int, shape (6,)
        `CompiledTerms.addresses`.
    bounds : ndarray, shape (d, 2) or (0, 2)
    size, longest : int
        Number of data N, and the most that are handed over at once.
    rows : ndarray of int, shape (S,)
        Numbers of the data of a batch.
    values : ndarray, shape (2 S,)
    work : ndarray, shape (d,)
    stop : ndarray of bool, shape (1,)
        Whether to come back at once, with what there is.
    """

    addresses: Integers
    bounds: Floats
    size: int
    longest: int
    rows: Integers
    values: Floats
    work: Floats
    stop: Any


class Machine(NamedTuple):
    """What the kernels of a chain work on.

    Attributes
    ----------
    plan, chain : ndarray of records `PLAN` and `CHAIN`, shape (1,)
    terms : Terms
    vectors : ndarray, shape (7, d)
        Rows as `Vector` numbers them.
    scale : ndarray, shape (d,)
        Of a random walk.
    rule : Rule
        Of `steinkit.samplers.acceptance.rules`: the test.
    test_walk, gradient_walk : Walk
        Of `steinkit.samplers.chains.data_order`, of one chain.
    digits : ndarray of uint32, shape (2, TOGETHER)
        Room for `random_order_kernels.next_rows`.
    """

    plan: Any
    chain: Any
    terms: Terms
    vectors: Floats
    scale: Floats
    rule: Any
    test_walk: Any
    gradient_walk: Any
    digits: Any


class Block(NamedTuple):
    """Noise, temperatures and results of B steps from ``chain.block_start`` on.

    Attributes
    ----------
    noise : ndarray, shape (B, d)
    temperatures, levels, normals : ndarray, shape (B,)
        Levels are those of the tests, or the sizes of the steps where there is no test; normals may be empty.
    points : ndarray, shape (B, d)
        The states after the steps.
    results : ndarray of int, shape (B, 4)
        What was spent up to each step, whether the move was accepted, data that its test read, and data scanned.
    """

    noise: Floats
    temperatures: Floats
    levels: Floats
    normals: Floats
    points: Floats
    results: Integers
