"""What compiled chains keep between calls, and what a call comes back with."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np


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


class Rule(IntEnum):
    """When a test decides."""

    ALL_DATA = 0
    THRESHOLDS = 1
    BARKER = 2
    CONCENTRATION = 3


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
    SUM: int = 3  # of gradients, for a while
    PRIOR_GRADIENT: int = 4  # at the state
    DATA_GRADIENT: int = 5
    PROPOSED_PRIOR_GRADIENT: int = 6
    PROPOSED_DATA_GRADIENT: int = 7


Vector = Vectors()


def _record(whole: str, real: str) -> np.dtype[np.void]:
    return np.dtype([(name, np.int64) for name in whole.split()] + [(name, np.float64) for name in real.split()])


#: What stays the same: sizes, the proposal, the test. Whether a test scans all the data for its bound, or has it here.
PLAN = _record(
    "size slice_rows drift gradient_batch rule first_batch grows_in_jumps scans steps budget step_cost patience",
    "step_size sigma epsilon factor power bound",
)
#: Where a chain is. ``wrong`` is the number that an error is about.
CHAIN = _record(
    "step block_start spent outside testing number target count scanned",
    "log_prior proposed_log_prior offset mean squares bound log_likelihood proposed_log_likelihood wrong",
)
#: Where a chain is on a walk through its data: the key of its orders, which of them, the place there, of how many.
WALK = np.dtype([("key", np.uint64), ("number", np.int64), ("place", np.int64), ("size", np.int64)])
