"""Target terms for many chains, with checks of shapes and values.

    log p(theta) = log_prior(theta) + log_likelihood(theta) / T + constant

The log likelihood of a posterior is a sum over N data points. For a target without data, the log density replaces the
log likelihood, and N = 1. The draws of a chain must be bit-for-bit identical for any number of chains. Therefore, no
matrix product is computed for several chains at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.arguments import real_numbers
from steinkit.errors import InputError, UsageError
from steinkit.posterior import Posterior
from steinkit.sample import Floats
from steinkit.target import Target, require_target
from steinkit.targets.family import as_finite

Array = NDArray[Any]

# Data sets of up to this size (in floats) are copied for each chain and evaluated by the functions for many chains.
_SMALL_DATA = 1 << 13
# Such copies hold at most this number of floats at once, and larger data sets are divided into blocks of this size.
_BLOCK_FLOATS = 1 << 18
# Batches of up to this size (in floats) are evaluated at the states and the proposals in a single call.
_SHORT_BATCHES = 1 << 11


class PosteriorModel:
    """Posterior terms for n chains."""

    def __init__(self, posterior: Posterior) -> None:
        self.posterior = posterior
        self.data = posterior.data
        self.size = posterior.size
        self.names = posterior.names or ()
        self.bounds = posterior.bounds
        self.width = width = sum(max(1, array[0].size) for array in self.data)
        self._rows = max(1, _BLOCK_FLOATS // width)
        self._together = _BLOCK_FLOATS // (width * self.size) if width * self.size <= _SMALL_DATA else 0
        self._copies: tuple[Array, ...] = ()

    def log_prior(self, thetas: Floats) -> Floats:
        """Compute the log prior at the states in an array of shape (n, d).

        The values are minus infinity outside the support.
        """
        values = _shaped(self.posterior.log_prior(thetas), (len(thetas),), "log_prior")
        return values if self.bounds is None else np.where(_inside(thetas, self.bounds), values, -np.inf)

    def grad_log_prior(self, thetas: Floats) -> Floats:
        """Compute the gradient of the log prior at the states in an (n, d) array."""
        return _shaped(self.posterior.grad_log_prior(thetas), thetas.shape, "grad_log_prior")

    def log_likelihoods(self, thetas: Floats, batches: tuple[Array, ...]) -> Floats:
        """Compute the log likelihoods of one batch per chain.

        For batches of shape (n, b, ...) and states of shape (n, d), the values have shape (n, b).
        """
        return self._by_chain("log_likelihood", thetas, batches, batches[0].shape[:2])

    def log_ratios(self, thetas: Floats, others: Floats, batches: tuple[Array, ...]) -> Floats:
        """Compute log-likelihood differences between ``thetas`` and ``others``."""
        n = len(thetas)
        if self.posterior.log_likelihood_many is None or batches[0].size > _SHORT_BATCHES:
            return self.log_likelihoods(thetas, batches) - self.log_likelihoods(others, batches)
        # a single call because the call overhead dominates for short batches
        doubled = tuple(np.concatenate((batch, batch)) for batch in batches)
        both = self.log_likelihoods(np.concatenate((thetas, others)), doubled)
        return both[:n] - both[n:]

    def gradients(self, thetas: Floats, batches: tuple[Array, ...]) -> Floats:
        """Compute the sum of the gradients over the batch of each chain."""
        return self._by_chain("grad_log_likelihood", thetas, batches, thetas.shape)

    def total_log_likelihood(self, thetas: Floats) -> Floats:
        """Compute the full-data log likelihood at the states in an (n, d) array."""

        def sums(some: Floats, copies: tuple[Array, ...]) -> Floats:
            return np.asarray(self.log_likelihoods(some, copies).sum(axis=1))

        has_many = self.posterior.log_likelihood_many is not None
        total = np.zeros(len(thetas))
        return self._over_data(thetas, total, lambda *given: self._log_likelihood(*given).sum(), sums, has_many)

    def total_gradient(self, thetas: Floats) -> Floats:
        """Compute the full-data log-likelihood gradient at the states in an (n, d) array."""

        def block_sum(theta: Floats, *block: Array) -> Floats:
            return _shaped(self.posterior.grad_log_likelihood(theta, *block), theta.shape, "grad_log_likelihood")

        has_many = self.posterior.grad_log_likelihood_many is not None
        return self._over_data(thetas, np.zeros(thetas.shape), block_sum, self.gradients, has_many)

    def differences(self, thetas: Floats, others: Floats) -> Iterator[Floats]:
        """Yield the N differences of log likelihoods for each pair of states."""
        for theta, other in zip(thetas, others, strict=True):
            blocks = self._blocks()
            yield np.concatenate([self._log_likelihood(theta, *b) - self._log_likelihood(other, *b) for b in blocks])

    def _by_chain(self, name: str, thetas: Floats, batches: tuple[Array, ...], shape: tuple[int, ...]) -> Floats:
        """Evaluate a function for each chain.

        The many-chain version of the function is used if available.
        """
        many, single = getattr(self.posterior, f"{name}_many"), getattr(self.posterior, name)
        if many is not None:
            return _shaped(many(thetas, *batches), shape, f"{name}_many")
        values = np.empty(shape)
        for k, theta in enumerate(thetas):
            values[k] = _shaped(single(theta, *(batch[k] for batch in batches)), shape[1:], name)
        return values

    def _log_likelihood(self, theta: Floats, *block: Array) -> Floats:
        return _shaped(self.posterior.log_likelihood(theta, *block), (len(block[0]),), "log_likelihood")

    def _over_data(
        self,
        thetas: Floats,
        total: Floats,
        block_sum: Callable[..., Any],
        sums: Callable[[Floats, tuple[Array, ...]], Floats],
        has_many: bool,
    ) -> Floats:
        """Sum a function over the data for each state, and store the sums in ``total``.

        For small data sets, each call evaluates several chains.
        """
        if has_many and self._together:
            if not self._copies:
                self._copies = tuple(np.repeat(np.asarray(array)[None], self._together, axis=0) for array in self.data)
            for first in range(0, len(thetas), self._together):
                some = thetas[first : first + self._together]
                total[first : first + len(some)] = sums(some, tuple(copy[: len(some)] for copy in self._copies))
            return total
        for k, theta in enumerate(thetas):
            for block in self._blocks():
                total[k] += block_sum(theta, *block)
        return total

    def _blocks(self) -> Iterator[tuple[Array, ...]]:
        for first in range(0, self.size, self._rows):
            yield tuple(array[first : first + self._rows] for array in self.data)


class TargetModel:
    """Target without data.

    The log density is treated as the log likelihood of one data point.
    """

    size = 1

    def __init__(self, target: Target) -> None:
        self.target = target
        self.names = target.names or ()
        self.bounds = target.bounds

    def log_prior(self, thetas: Floats) -> Floats:
        """Return zero inside the support and minus infinity outside it."""
        return np.zeros(len(thetas)) if self.bounds is None else np.where(_inside(thetas, self.bounds), 0.0, -np.inf)

    def grad_log_prior(self, thetas: Floats) -> Floats:
        """Return zero."""
        return np.zeros(thetas.shape)

    def total_log_likelihood(self, thetas: Floats) -> Floats:
        """Compute the log density chain by chain, without shared matrix products."""
        return np.array([self.target.log_density(theta[None])[0] for theta in thetas], dtype=np.float64)

    def total_gradient(self, thetas: Floats) -> Floats:
        """Compute the score chain by chain.

        The score is zero outside the support.
        """
        gradients = np.zeros(thetas.shape)
        inside = np.flatnonzero(np.isfinite(self.log_prior(thetas)))
        for k in inside.tolist():
            gradients[k] = self.target.score(thetas[k : k + 1])[0]
        return gradients


Model = PosteriorModel | TargetModel


def as_model(target: Target) -> Model:
    """Return the target terms used by samplers that evaluate the full density."""
    if isinstance(target, Posterior):
        return PosteriorModel(target)
    require_target(target)
    return TargetModel(target)


def as_posterior_model(posterior: Target) -> PosteriorModel:
    """Return the posterior terms used by minibatch samplers."""
    if not isinstance(posterior, Posterior):
        label = getattr(posterior, "label", type(posterior).__name__)
        raise UsageError(
            f"expected a steinkit.Posterior, with data and likelihood terms, got {label!r}; use rwmh, barker or mala "
            "for targets without data"
        )
    return PosteriorModel(posterior)


def start_states(target: Target, start: Any, chains: int) -> Floats:
    """Return the initial states of the chains as an array of shape (K, d).

    The initial states are zeros if ``start`` is None.

    Raises
    ------
    UsageError
        If the dimension is unknown, or if start has the wrong shape or a non-finite value.
    """
    if start is None:
        if target.dim is None:
            raise UsageError(f"the dimension of {target.label!r} is unknown; pass start=, or dim= to the target")
        return np.zeros((chains, target.dim))
    states = as_finite(start, "start")
    if states.ndim == 0 and target.dim == 1:
        states = states[None]
    dim = target.dim or (states.shape[-1] if states.ndim else 0)
    if states.shape not in {(dim,), (chains, dim)} or not dim:
        d = target.dim or "d"
        raise UsageError(f"`start` must have shape ({d},) or (chains, d) = ({chains}, {d}); got {states.shape}")
    return np.array(np.broadcast_to(states, (chains, dim)), order="C")  # compiled code requires contiguous rows


def failure(chain: int, step: int, text: str) -> InputError:
    """Return an error that names the chain and the step, both counted from 0."""
    return InputError(f"chain {chain + 1}, step {step + 1}: {text}")


def require_states(states: Floats, chains: Sequence[int] | Array, steps: Sequence[int] | Array, what: str) -> None:
    """Raise InputError if a state is not finite.

    The error message contains the chain, the step and the state.
    """
    if math.isfinite(np.add.reduce(states, axis=None)) or np.isfinite(states).all():
        return
    row = int(np.flatnonzero(~np.isfinite(states).all(axis=1))[0])
    text = (
        f"{what} is {show_state(states[row])}, which is not finite: the chain diverged; use a smaller step or another "
        "start"
    )
    raise failure(int(chains[row]), int(steps[row]), text)


def require_gradients(
    gradients: Floats, states: Floats, chains: Sequence[int] | Array, steps: Sequence[int] | Array
) -> None:
    """Raise InputError if the gradient at a state is NaN.

    The error message contains the chain, the step and the state.
    """
    if not np.isnan(gradients).any():
        return
    row = int(np.flatnonzero(np.isnan(gradients).any(axis=1))[0])
    text = (
        f"the gradient at the state {show_state(states[row])} is {show_state(gradients[row])}; correct "
        "grad_log_likelihood or grad_log_prior, or use another start or a smaller step"
    )
    raise failure(int(chains[row]), int(steps[row]), text)


def require_support(model: PosteriorModel, states: Floats, chains: Sequence[int] | Array, step: int) -> None:
    """Raise InputError if an SGLD chain has left the bounds of the posterior."""
    if model.bounds is None:
        return
    outside = np.flatnonzero(~_inside(states, model.bounds))
    if outside.size:
        text = (
            f"the state {show_state(states[outside[0]])} is outside the bounds of the posterior, which SGLD ignores; "
            "sample transformed parameters, or use corrected_sgld"
        )
        raise failure(int(chains[outside[0]]), step, text)


def require_start(values: Floats, states: Floats, what: str, advice: str) -> None:
    """Raise InputError if the value at any initial state is not finite."""
    for k in np.flatnonzero(~np.isfinite(values)).tolist():
        raise InputError(f"chain {k + 1} cannot start at {show_state(states[k])}: {what} is {values[k]}; {advice}")


def require_numbers(values: Floats, chains: Array, steps: Array, proposed: Floats, what: str) -> None:
    """Raise InputError if the value at any proposal is NaN or plus infinity."""
    if not math.isfinite(np.add.reduce(values)) and not (values < np.inf).all():
        bad = int(np.flatnonzero(~(values < np.inf))[0])
        raise not_a_number(int(chains[bad]), int(steps[bad]), what, values[bad], proposed[bad])


def not_a_number(chain: int, step: int, what: str, value: float, proposed: Floats) -> InputError:
    """Return the error for a value of NaN or plus infinity at a proposal."""
    text = f"{what} must be finite or minus infinity; got {value} for the proposal {show_state(proposed)}"
    return failure(chain, step, text)


def lost(chain: int, proposals: int, state: Floats) -> InputError:
    """Return the error raised after many consecutive proposals outside the support."""
    return InputError(
        f"chain {chain + 1}: the last {proposals} proposals from {show_state(state)} were outside the support; use a "
        "smaller proposal scale or step, or another start"
    )


def show_state(theta: Floats) -> str:
    """Format at most eight coordinates of a state."""
    shown = ", ".join(f"{value:.6g}" for value in theta[:8])
    return f"({shown}, ...)" if len(theta) > 8 else f"({shown})"


def _inside(thetas: Floats, bounds: Floats) -> NDArray[np.bool_]:
    return np.asarray(((thetas >= bounds[:, 0]) & (thetas <= bounds[:, 1])).all(axis=1))


def _shaped(values: Any, shape: tuple[int, ...], name: str) -> Floats:
    """Check the shape of an array returned by a user-supplied function."""
    array = real_numbers(values, f"the values of {name}")
    if array.shape != shape:
        raise InputError(f"`{name}` must return an array of shape {shape}; got {array.shape}")
    return array
