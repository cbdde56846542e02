"""Metropolis-Hastings chains whose tests read growing minibatches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from steinkit.errors import InputError
from steinkit.sample import Floats, Integers
from steinkit.samplers.acceptance.austerity import OracleAusterityTest
from steinkit.samplers.acceptance.concentration import ConcentrationTest
from steinkit.samplers.acceptance.interface import AcceptanceTest
from steinkit.samplers.chains.data_order import DataWalk, data_walk
from steinkit.samplers.chains.likelihood_terms import Model, PosteriorModel, as_posterior_model
from steinkit.samplers.chains.options import RunOptions
from steinkit.samplers.chains.proposals import Proposal
from steinkit.samplers.chains.random_streams import Kind
from steinkit.samplers.chains.run import Run
from steinkit.target import Target

# The most data a chain reads at once: floats, and rows whatever their width. Not to depend on the number of chains.
_SLICE_FLOATS = 1 << 16
_SLICE_ROWS = (1 << 9, 1 << 13)
# Floats of data that several chains read in one call.
_TOGETHER_FLOATS = 1 << 20


class MinibatchRun(Run):
    """Tests on growing minibatches."""

    model: PosteriorModel

    def __init__(
        self, target: Target, proposal: Proposal, test: AcceptanceTest, options: RunOptions, *others: Any
    ) -> None:
        super().__init__(target, proposal, test, options, *others)
        lowest, highest = _SLICE_ROWS
        self._longest = min(max(_SLICE_FLOATS // self.model.width, lowest), highest)
        self._walk: DataWalk = data_walk(self.model.data, options.seeds, Kind.TEST_ORDER, self._longest)
        self._seen: list[list[Floats]] = [[] for _ in range(options.chains)]
        self._oracle_cost = np.zeros(options.chains)

    def _make_model(self, target: Target) -> Model:
        return as_posterior_model(target)

    def _cost_of_gradient(self) -> int:
        # over all the data, if not over a minibatch: here no test reads all of them anyway
        return super()._cost_of_gradient() or (self.model.size if self.proposal.needs_gradient else 0)

    def _begin_test(self, rows: Integers) -> None:
        live = self.live
        live.target[rows] = self.first_batch
        if self.test.needs_values:
            for k in live.chain[rows].tolist():
                self._seen[k] = []
        if isinstance(self.test, ConcentrationTest):
            live.bound[rows] = self._bounds(self.test, rows)
        if isinstance(self.test, OracleAusterityTest):
            live.bound[rows] = self._true_means(rows)

    def _read(self) -> None:
        live = self.live
        sizes = np.minimum(live.target - live.count, self._longest).tolist()
        for size in set(sizes):
            together = max(1, _TOGETHER_FLOATS // (size * self.model.width))
            group = [row for row, wanted in enumerate(sizes) if wanted == size]
            for first in range(0, len(group), together):
                some = group[first : first + together]
                self._read_slice(slice(None) if len(some) == len(sizes) else np.array(some), size)

    def _read_slice(self, rows: Any, size: int) -> None:
        """Read the next ``size`` data of these chains, and merge mean and squares of the l_i with those before.

        With the slice's mean m' and squares q' (Chan, Golub and LeVeque 1983), and count, mean, squares b, m, q:
        m += (m' - m) size / (b + size),    q += q' + (m' - m)^2 b size / (b + size).
        """
        live, chain = self.live, self.live.chain[rows]
        batches = self._walk.take(chain, size)
        proposed, states = live.proposed[rows], live.state[rows]
        terms = self.model.log_ratios(proposed, states, batches)
        mean = np.add.reduce(terms, axis=1) / size
        self._require_numbers(mean, rows, proposed, "the log likelihood")
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

    def _conclude(self, rows: Integers, accepted: Any, reported: dict[str, Floats]) -> Integers:
        chain = self.live.chain[rows]
        self._walk.close(chain)
        for name in self.test.diagnostics:
            if name == "oracle_cost":
                reported[name] = self._oracle_cost[chain]
            elif name not in reported:
                reported[name] = np.full(len(rows), np.nan)  # rejected without a look
        return super()._conclude(rows, accepted, reported)

    def _values(self, rows: Any) -> list[Floats] | None:
        if not self.test.needs_values:
            return None
        return [np.concatenate(self._seen[k]) for k in self.live.chain[rows].tolist()]

    def _bounds(self, test: ConcentrationTest, rows: Integers) -> Floats:
        """C of the concentration test: as given, or by a scan whose cost is counted apart."""
        live = self.live
        if test.bound == "oracle":
            self._oracle_cost[live.chain[rows]] += self.model.size
            return self.model.largest_difference(live.state[rows], live.proposed[rows])
        if not callable(test.bound):
            return np.full(len(rows), float(test.bound))
        values = np.asarray(test.bound(live.state[rows], live.proposed[rows]), dtype=np.float64)
        if values.shape != (len(rows),) or not (values >= 0.0).all():
            raise InputError(f"bound must return shape ({len(rows)},), none below zero; it returned {values}")
        return values

    def _true_means(self, rows: Integers) -> Floats:
        """Standardised means (mean - mu_0) sqrt(N - 1) / sd of all the l_i, by a scan whose cost is counted apart."""
        live, N = self.live, self.model.size
        self._oracle_cost[live.chain[rows]] += N
        mean, sd = self.model.difference_moments(live.proposed[rows], live.state[rows])
        mu_0 = (live.level[rows] - live.offset[rows]) * (live.temperature[rows] / N)
        return (mean - mu_0) * math.sqrt(N - 1.0) / sd
