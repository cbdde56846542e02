"""Tests that read all the data: one look each, and the state's log likelihood is kept."""

from __future__ import annotations

import numpy as np

from steinkit.sample import Floats, Integers
from steinkit.samplers.acceptance.interface import AcceptanceTest
from steinkit.samplers.chains.likelihood_terms import Model, require_likelihoods
from steinkit.samplers.chains.reader import Chains, Reader


class FullDataReader(Reader):
    """Reads all the data of a target, or of a posterior, at once."""

    def __init__(self, model: Model, test: AcceptanceTest) -> None:
        self.model, self._scans = model, "oracle_cost" in test.diagnostics

    def begin_run(self, live: Chains) -> None:
        """Evaluate the first states."""
        values = self.model.total_log_likelihood(live.state)
        require_likelihoods(values, live.state)
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
