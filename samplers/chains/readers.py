"""What lets the tests of chains read data: all of them at once, or minibatches."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from steinkit.sample import Floats, Integers
from steinkit.samplers.acceptance.interface import AcceptanceTest, Moves
from steinkit.samplers.chains.data_order import DataWalk
from steinkit.samplers.chains.likelihood_terms import Model, PosteriorModel, no_number, require_start
from steinkit.samplers.chains.options import RunOptions
from steinkit.samplers.chains.random_streams import Kind

# The most data a chain reads at once: floats, and rows whatever their width. Not to depend on the number of chains.
_SLICE_FLOATS = 1 << 16
_SLICE_ROWS = (1 << 9, 1 << 13)
# Floats of data that several chains read in one call.
_TOGETHER_FLOATS = 1 << 20


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


class FullDataReader(Reader):
    """Reads all the data of a target, or of a posterior, at once."""

    def __init__(self, model: Model, test: AcceptanceTest) -> None:
        self.model, self._scans = model, "oracle_cost" in test.diagnostics

    def begin_run(self, live: Chains) -> None:
        """Evaluate the first states."""
        values = self.model.total_log_likelihood(live.state)
        require_start(values, live.state, "the log likelihood", "give another start=")
        live.log_likelihood = values
        self._proposed = np.zeros(len(values))

    def begin_tests(self, live: Chains, rows: Integers, first_batch: int) -> None:
        """Every test wants all the data."""
        live.target[rows] = self.model.size

    def read(self, live: Chains) -> None:
        """Evaluate all proposals."""
        size = self.model.size
        self._proposed = self.model.total_log_likelihood(live.proposed)
        live.require_numbers(self._proposed, slice(None), live.proposed, "the log likelihood")
        live.mean = (self._proposed - live.log_likelihood) / size
        live.count = np.full(len(live.chain), size)

    def end_tests(self, live: Chains, rows: Integers, moved: Integers, reported: dict[str, Floats]) -> None:
        """Keep the log likelihood of the proposals that became states. There is nothing to scan for."""
        if self._scans:
            reported["oracle_cost"] = np.zeros(len(rows))
        if moved.size:
            live.log_likelihood[moved] = self._proposed[moved]


class MinibatchReader(Reader):
    """Reads a posterior's data batch by batch, each datum at most once a test."""

    model: PosteriorModel

    def __init__(self, model: PosteriorModel, test: AcceptanceTest, options: RunOptions) -> None:
        self.model, self.test = model, test
        lowest, highest = _SLICE_ROWS
        self._longest = min(max(_SLICE_FLOATS // self.model.width, lowest), highest)
        self._walk = DataWalk(self.model.data, options.seeds, Kind.TEST_ORDER)
        self._seen: list[list[Floats]] = [[] for _ in range(options.chains)]
        self._oracle_cost = np.zeros(options.chains)

    def begin_tests(self, live: Chains, rows: Integers, first_batch: int) -> None:
        """Forget the values of the tests before; let the new ones look at their moves, where they want that."""
        super().begin_tests(live, rows, first_batch)
        chain = live.chain[rows]
        if self.test.needs_values:
            for k in chain.tolist():
                self._seen[k] = []
        if self.test.needs_bound:
            entries = (getattr(live, name)[rows] for name in ("state", "proposed", "offset", "temperature", "level"))
            moves = Moves(self.model, self._oracle_cost[chain], *entries)
            live.bound[rows] = self.test.bounds(moves)
            self._oracle_cost[chain] = moves.scanned

    def read(self, live: Chains) -> None:
        """Read a slice for every chain, in few calls."""
        sizes = np.minimum(live.target - live.count, self._longest).tolist()
        for size in set(sizes):
            together = max(1, _TOGETHER_FLOATS // (size * self.model.width))
            group = [row for row, wanted in enumerate(sizes) if wanted == size]
            for first in range(0, len(group), together):
                some = group[first : first + together]
                self._read_slice(live, slice(None) if len(some) == len(sizes) else np.array(some), size)

    def _read_slice(self, live: Chains, rows: Any, size: int) -> None:
        """Read the next ``size`` data of these chains, and merge mean and squares of the l_i with those before.

        With the slice's mean m' and squares q' (Chan, Golub and LeVeque 1983), and count, mean, squares b, m, q:
        m += (m' - m) size / (b + size),    q += q' + (m' - m)^2 b size / (b + size).
        """
        chain = live.chain[rows]
        batches = self._walk.take(chain, size)
        proposed, states = live.proposed[rows], live.state[rows]
        terms = self.model.log_ratios(proposed, states, batches)
        mean = np.add.reduce(terms, axis=1) / size
        live.require_numbers(mean, rows, proposed, "the log likelihood")
        deviations = terms - mean[:, None]
        squares = np.add.reduce(deviations * deviations, axis=1)
        count = live.count[rows]
        share = size / (count + size)
        before = live.mean[rows]
        difference = mean - before
        live.mean[rows] = np.where(before == -np.inf, before, before + difference * share)
        live.squares[rows] += squares + difference * difference * (count * share)
        live.count[rows] = count + size
        if self.test.needs_values:
            for k, values in zip(chain.tolist(), terms, strict=True):
                self._seen[k].append(values)

    def values(self, live: Chains, rows: Any) -> list[Floats] | None:
        """The l_i seen in the tests of these chains."""
        if not self.test.needs_values:
            return None
        return [np.concatenate(self._seen[k]) for k in live.chain[rows].tolist()]

    def end_tests(self, live: Chains, rows: Integers, moved: Integers, reported: dict[str, Floats]) -> None:
        """Turn to the data of the next tests."""
        chain = live.chain[rows]
        self._walk.close(chain)
        if "oracle_cost" in self.test.diagnostics:
            reported["oracle_cost"] = self._oracle_cost[chain]
