"""Gradients of the log posterior: over all data, or over minibatches, as they are or with control variates at the mode.

all data:     g(theta) = grad log rho(theta) + (1 / T) sum over i of grad log p(x_i | theta)
minibatch X:  g_X(theta) = grad log rho(theta) + (N / (n T)) sum over X of grad log p(x | theta)
at a mode m:  g_X(theta) - g_X(m) + g(m), in which the prior's gradients at m cancel (Baker et al. 2019, equation 5)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steinkit.errors import InputError
from steinkit.runtime.deadlines import one_thread_in_libraries
from steinkit.sample import Floats, Integers
from steinkit.samplers.chains.data_order import DataWalk
from steinkit.samplers.chains.likelihood_terms import Model, PosteriorModel
from steinkit.samplers.chains.random_streams import Kind


class FullGradient:
    """Gradient over all data. That of a chain's state is kept until the chain moves."""

    def __init__(self, model: Model, states: Floats) -> None:
        self.model = model
        # copies, for they are written into, and what a user's function returned may be read-only, or kept by it
        self._prior = np.array(model.grad_log_prior(states), dtype=np.float64)
        self._data = np.array(model.total_gradient(states), dtype=np.float64)
        self._proposed_prior = np.zeros(states.shape)
        self._proposed_data = np.zeros(states.shape)

    def turn_to(self, chains: Integers, states: Floats, temperature: Floats) -> FullGradient:
        """Serve the proposals of these chains next."""
        self._chains, self._inverse = chains, 1.0 / temperature[:, None]
        return self

    def at_states(self) -> Floats:
        """Gradient kept from when the states were proposed."""
        return self._prior[self._chains] + self._inverse * self._data[self._chains]

    def at_proposals(self, proposals: Floats) -> Floats:
        """Gradient at the proposals."""
        prior, data = self.model.grad_log_prior(proposals), self.model.total_gradient(proposals)
        self._proposed_prior[self._chains], self._proposed_data[self._chains] = prior, data
        return np.asarray(prior + self._inverse * data)

    def accept(self, chains: Integers) -> None:
        """These chains moved to their proposals."""
        self._prior[chains] = self._proposed_prior[chains]
        self._data[chains] = self._proposed_data[chains]


class BatchGradient:
    """Gradient over a new minibatch for each proposal, the same at the state and at the proposal.

    Its data come from a walk of its own, in an order independent of the test's: a test on the proposal's own data
    would accept what those data are wrong about.
    """

    def __init__(self, model: PosteriorModel, batch_size: int, seeds: Sequence[int]) -> None:
        self.model = model
        self._batch_size = batch_size
        self._walk = DataWalk(model.data, seeds, Kind.PROPOSAL_ORDER)

    def turn_to(self, chains: Integers, states: Floats, temperature: Floats) -> BatchGradient:
        """Serve the proposals of these chains next, each from its next minibatch."""
        self._batches = self._walk.take(chains, self._batch_size)
        self._walk.close(chains)
        self._states = states
        self._factor = (self.model.size / self._batch_size) / temperature[:, None]
        return self

    def at_states(self) -> Floats:
        """Gradient at the states."""
        return self._at(self._states)

    def at_proposals(self, proposals: Floats) -> Floats:
        """Gradient at the proposals."""
        return self._at(proposals)

    def accept(self, chains: Integers) -> None:
        """Nothing is kept."""

    def _at(self, thetas: Floats) -> Floats:
        return self.model.grad_log_prior(thetas) + self._factor * self._of_batches(thetas)

    def _of_batches(self, thetas: Floats) -> Floats:
        return self.model.gradients(thetas, self._batches)


class ControlledGradient(BatchGradient):
    """Gradient over a new minibatch, less what the same data say at the mode, plus what all the data say there."""

    def __init__(self, model: PosteriorModel, batch_size: int, seeds: Sequence[int], mode: Mode) -> None:
        super().__init__(model, batch_size, seeds)
        self._mode, self._share = mode, batch_size / model.size

    def _of_batches(self, thetas: Floats) -> Floats:
        there = np.broadcast_to(self._mode.state, thetas.shape)
        found = super()._of_batches(thetas) - super()._of_batches(np.array(there))
        return np.asarray(found + self._share * self._mode.gradient)


@dataclass(frozen=True, eq=False)
class Mode:
    """A mode of a posterior, and the gradient of the data's log likelihood there, each (d,).

    ``cost`` are the gradients of single data that it took.
    """

    state: Floats
    gradient: Floats
    cost: int

    @classmethod
    def of(cls, model: PosteriorModel, start: Floats) -> Mode:
        """Climb to the mode by L-BFGS; InputError if there is none near the start.

        The log density is evaluated with its gradient, and both count once.
        """
        from scipy.optimize import Bounds, minimize

        posterior = model.posterior
        box = None if model.bounds is None else Bounds(*model.bounds.T)

        def downhill(theta: Floats) -> tuple[float, Floats]:
            return -float(posterior.log_density(theta[None])[0]), -posterior.score(theta[None])[0]

        with one_thread_in_libraries():  # the mode, and chains with it, must not depend on their number
            found = minimize(downhill, start, jac=True, bounds=box, method="L-BFGS-B", options={"ftol": 1e-12})
            gradient = model.total_gradient(found.x[None])[0]
        if not np.isfinite(found.x).all() or not np.isfinite(found.fun):
            raise InputError(f"no mode of {posterior.label!r} was found from {start.tolist()}: {found.message}")
        return cls(found.x, gradient, model.size * (found.nfev + 1))
