"""Metropolis-Hastings chains whose tests read all the data: one look each."""

from __future__ import annotations

from typing import Any

import numpy as np

from steinkit.errors import InputError
from steinkit.sample import Integers
from steinkit.samplers.chains.likelihood_terms import Model, as_model, show_state
from steinkit.samplers.chains.run import Run
from steinkit.target import Target


class FullRun(Run):
    """Tests on all the data: one look each, and the state's log likelihood is kept."""

    def __init__(self, target: Target, *others: Any) -> None:
        super().__init__(target, *others)
        values = self.model.total_log_likelihood(self.live.state)
        for k in np.flatnonzero(~np.isfinite(values)).tolist():
            raise InputError(
                f"chain {k + 1} cannot start at {show_state(self.live.state[k])}: the log likelihood there is "
                f"{values[k]}; give another start="
            )
        self.live.log_likelihood = values
        self._proposed = np.zeros(len(values))

    def _make_model(self, target: Target) -> Model:
        return as_model(target)

    def _begin_test(self, rows: Integers) -> None:
        self.live.target[rows] = self.model.size

    def _read(self) -> None:
        live, size = self.live, self.model.size
        self._proposed = self.model.total_log_likelihood(live.proposed)
        self._require_numbers(self._proposed, slice(None), live.proposed, "the log likelihood")
        live.mean = (self._proposed - live.log_likelihood) / size
        live.count = np.full(len(live.chain), size)

    def _accept(self, moved: Integers) -> None:
        super()._accept(moved)
        if moved.size:
            self.live.log_likelihood[moved] = self._proposed[moved]
