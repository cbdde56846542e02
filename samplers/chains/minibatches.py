"""Tests that read growing minibatches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from steinkit.sample import Floats, Integers
from steinkit.samplers.acceptance.interface import AcceptanceTest
from steinkit.samplers.chains.data_order import DataWalk, data_walk
from steinkit.samplers.chains.likelihood_terms import PosteriorModel
from steinkit.samplers.chains.options import RunOptions
from steinkit.samplers.chains.random_streams import Kind
from steinkit.samplers.chains.reader import Chains, Reader

# The most data a chain reads at once: floats, and rows whatever their width. Not to depend on the number of chains.
_SLICE_FLOATS = 1 << 16
_SLICE_ROWS = (1 << 9, 1 << 13)
# Floats of data that several chains read in one call.
_TOGETHER_FLOATS = 1 << 20


class MinibatchReader(Reader):
    """Reads a posterior's data batch by batch, each datum at most once a test."""

    model: PosteriorModel

    def __init__(self, model: PosteriorModel, test: AcceptanceTest, options: RunOptions) -> None:
        self.model, self.test = model, test
        lowest, highest = _SLICE_ROWS
        self._longest = min(max(_SLICE_FLOATS // self.model.width, lowest), highest)
        self._walk: DataWalk = data_walk(self.model.data, options.seeds, Kind.TEST_ORDER)
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
            live.bound[rows] = self.test.bounds(_Moves(self.model, self._oracle_cost, chain, *entries))

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


@dataclass
class _Moves:
    """Moves of chains, as tests may look at them; scans are added to the chains' costs."""

    model: PosteriorModel
    cost: Floats  # of all chains
    chain: Integers
    states: Floats
    proposals: Floats
    offset: Floats
    temperature: Floats
    level: Floats

    @property
    def size(self) -> int:
        return self.model.size

    def largest_difference(self) -> Floats:
        self.cost[self.chain] += self.size
        return self.model.largest_difference(self.states, self.proposals)

    def difference_moments(self) -> tuple[Floats, Floats]:
        self.cost[self.chain] += self.size
        return self.model.difference_moments(self.proposals, self.states)
