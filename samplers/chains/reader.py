"""The chains of a run that are not finished, and what lets their tests read data: all of them, or minibatches."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from steinkit.sample import Floats, Integers
from steinkit.samplers.chains.likelihood_terms import Model, no_number


@dataclass
class Chains:
    """The chains that are not finished, an entry each."""

    chain: Integers  # number
    step: Integers  # steps finished
    spent: Integers
    outside: Integers  # proposals outside the support since the last one inside
    state: Floats  # (n, d)
    proposed: Floats  # (n, d)
    log_prior: Floats
    proposed_log_prior: Floats
    offset: Floats  # log prior ratio and log proposal ratio
    temperature: Floats
    level: Floats
    normal: Floats
    number: Integers  # of the coming look
    target: Integers  # data it wants
    count: Integers  # data seen in the test
    mean: Floats  # of the l_i seen
    squares: Floats  # sum of squared deviations from it
    bound: Floats  # what the test made of the move, where it wants that
    log_likelihood: Floats  # of the state, over all data, where the test wants that
    done: Any  # whether finished

    @classmethod
    def begin(cls, states: Floats, log_prior: Floats) -> Chains:
        """Chains at their first states, (n, d)."""
        n = len(states)
        columns: dict[str, Any] = {entry.name: np.zeros(n) for entry in fields(cls)}
        for name in ("step", "spent", "outside", "number", "target", "count"):
            columns[name] = np.zeros(n, dtype=np.int64)
        columns |= {"chain": np.arange(n), "done": np.zeros(n, dtype=bool), "log_prior": log_prior.copy()}
        return cls(**columns | {"state": states.copy(), "proposed": states.copy()})

    def keep(self, rows: Any) -> None:
        """Drop all other chains."""
        for entry in fields(self):
            setattr(self, entry.name, getattr(self, entry.name)[rows])

    def require_numbers(self, values: Floats, rows: Any, proposed: Floats, what: str) -> None:
        """Refuse NaN and plus infinity, naming chain, step and state."""
        if not math.isfinite(np.add.reduce(values)) and not (values < np.inf).all():
            bad = int(np.flatnonzero(~(values < np.inf))[0])
            raise no_number(int(self.chain[rows][bad]), int(self.step[rows][bad]), what, values[bad], proposed[bad])


class Reader:
    """Lets the tests of chains read data."""

    model: Model

    def begin_run(self, live: Chains) -> None:
        """Prepare for chains at their first states."""

    def begin_tests(self, live: Chains, rows: Integers, first_batch: int) -> None:
        """Prepare the tests of these chains, which have just proposed."""
        live.target[rows] = first_batch

    def read(self, live: Chains) -> None:
        """Let every chain read the next data of its test."""
        raise NotImplementedError

    def values(self, live: Chains, rows: Any) -> list[Floats] | None:
        """The l_i that the tests of these chains have seen, where they want them."""
        return None

    def end_tests(self, live: Chains, rows: Integers, moved: Integers, reported: dict[str, Floats]) -> None:
        """End the tests of these chains, some of which have moved, and complete what is reported of them."""
