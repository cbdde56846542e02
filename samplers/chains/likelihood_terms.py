"""What samplers ask of a target, for many chains at once, held to its shapes.

    log p(theta) = log_prior(theta) + log_likelihood(theta) / T + constant

A posterior's log likelihood is a sum over N data; a plain target's log density stands in for it, with N = 1. No matrix
product runs across chains: the numbers of a chain must not depend, not even in the last bit, on how many run
beside it.
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
from steinkit.target import Target
from steinkit.targets.family import as_finite

Array = NDArray[Any]

# Floats of data up to which all the data are copied for each chain and the many-chain forms are used on them.
_SMALL_DATA = 1 << 13
# Floats of such copies held at once, and floats of data in a block otherwise.
_BLOCK_FLOATS = 1 << 18
# Floats of batches up to which the states and their proposals are evaluated in one call.
_SHORT_BATCHES = 1 << 11


class PosteriorModel:
    """A posterior's terms for n chains."""

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
        """Log prior of each chain, (n, d) -> (n,); minus infinity outside the support."""
        values = _shaped(self.posterior.log_prior(thetas), (len(thetas),), "log_prior")
        return values if self.bounds is None else np.where(_inside(thetas, self.bounds), values, -np.inf)

    def grad_log_prior(self, thetas: Floats) -> Floats:
        """Gradient of the log prior, (n, d) -> (n, d)."""
        return _shaped(self.posterior.grad_log_prior(thetas), thetas.shape, "grad_log_prior")

    def log_likelihoods(self, thetas: Floats, batches: tuple[Array, ...]) -> Floats:
        """Log likelihood of each datum of each chain's own batch, (n, d) and (n, b, ...) -> (n, b)."""
        return self._by_chain("log_likelihood", thetas, batches, batches[0].shape[:2])

    def log_ratios(self, thetas: Floats, others: Floats, batches: tuple[Array, ...]) -> Floats:
        """Log likelihood at ``thetas`` less that at ``others``, datum by datum, -> (n, b)."""
        n = len(thetas)
        if self.posterior.log_likelihood_many is None or batches[0].size > _SHORT_BATCHES:
            return self.log_likelihoods(thetas, batches) - self.log_likelihoods(others, batches)
        # one call for both: for few numbers, calls cost more than numbers do
        both = self.log_likelihoods(
            np.concatenate((thetas, others)), tuple(np.concatenate((batch, batch)) for batch in batches)
        )
        return both[:n] - both[n:]

    def gradients(self, thetas: Floats, batches: tuple[Array, ...]) -> Floats:
        """Gradient of the log likelihood summed over each chain's own batch, -> (n, d)."""
        return self._by_chain("grad_log_likelihood", thetas, batches, thetas.shape)

    def total_log_likelihood(self, thetas: Floats) -> Floats:
        """Log likelihood of all data, (n, d) -> (n,)."""

        def block_sum(theta: Floats, *block: Array) -> Any:
            return self._log_likelihood(theta, *block).sum()

        def sums(some: Floats, copies: tuple[Array, ...]) -> Floats:
            return np.asarray(self.log_likelihoods(some, copies).sum(axis=1))

        uses_copies = self.posterior.log_likelihood_many is not None
        return self._over_data(thetas, np.zeros(len(thetas)), block_sum, sums if uses_copies else None)

    def total_gradient(self, thetas: Floats) -> Floats:
        """Gradient of the log likelihood of all data, (n, d) -> (n, d)."""
        single = self.posterior.grad_log_likelihood

        def block_sum(theta: Floats, *block: Array) -> Any:
            return _shaped(single(theta, *block), theta.shape, "grad_log_likelihood")

        uses_copies = self.posterior.grad_log_likelihood_many is not None
        return self._over_data(thetas, np.zeros(thetas.shape), block_sum, self.gradients if uses_copies else None)

    def largest_difference(self, thetas: Floats, others: Floats) -> Floats:
        """Largest absolute difference, over all data, of the log likelihoods of two states, -> (n,)."""
        return np.array([np.abs(terms).max() for terms in self._differences(thetas, others)])

    def difference_moments(self, thetas: Floats, others: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation, with divisor N, of the same differences over all data, each (n,)."""
        moments = np.array([(terms.mean(), terms.std()) for terms in self._differences(thetas, others)]).reshape(-1, 2)
        return moments[:, 0], moments[:, 1]

    def _by_chain(self, name: str, thetas: Floats, batches: tuple[Array, ...], shape: tuple[int, ...]) -> Floats:
        """Values of a function of the posterior for each chain: of its many-chain form, or chain by chain."""
        many, single = getattr(self.posterior, f"{name}_many"), getattr(self.posterior, name)
        if many is not None:
            return _shaped(many(thetas, *batches), shape, f"{name}_many")
        values = np.empty(shape)
        for k, theta in enumerate(thetas):
            values[k] = _shaped(single(theta, *(batch[k] for batch in batches)), shape[1:], name)
        return values

    def _differences(self, thetas: Floats, others: Floats) -> Iterator[Floats]:
        """Log likelihood of every datum at a state less that at another, (N,) for each pair of states."""
        for theta, other in zip(thetas, others, strict=True):
            first, second = (
                np.concatenate([self._log_likelihood(t, *block) for block in self._blocks()]) for t in (theta, other)
            )
            yield first - second

    def _log_likelihood(self, theta: Floats, *block: Array) -> Floats:
        return _shaped(self.posterior.log_likelihood(theta, *block), (len(block[0]),), "log_likelihood")

    def _over_data(
        self,
        thetas: Floats,
        total: Floats,
        block_sum: Callable[..., Any],
        sums: Callable[[Floats, tuple[Array, ...]], Floats] | None,
    ) -> Floats:
        """Fill ``total``: few data in one call for several chains, many data chain by chain, block by block."""
        if sums is not None and self._together:
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

    def _blocks(self) -> list[tuple[Array, ...]]:
        return [
            tuple(array[first : first + self._rows] for array in self.data) for first in range(0, self.size, self._rows)
        ]


class TargetModel:
    """A target with a log density and no data: its log density counts as the log likelihood of one datum."""

    size = 1

    def __init__(self, target: Target) -> None:
        self.target = target
        self.names = target.names or ()
        self.bounds = target.bounds

    def log_prior(self, thetas: Floats) -> Floats:
        """Zero inside the support, minus infinity outside."""
        return np.zeros(len(thetas)) if self.bounds is None else np.where(_inside(thetas, self.bounds), 0.0, -np.inf)

    def grad_log_prior(self, thetas: Floats) -> Floats:
        """Zero."""
        return np.zeros(thetas.shape)

    def total_log_likelihood(self, thetas: Floats) -> Floats:
        """Log density, chain by chain: many targets evaluate points in one matrix product."""
        return np.array([self.target.log_density(theta[None])[0] for theta in thetas], dtype=np.float64)

    def total_gradient(self, thetas: Floats) -> Floats:
        """Score, chain by chain; zero outside the support, where no chain goes."""
        gradients = np.zeros(thetas.shape)
        inside = np.flatnonzero(np.isfinite(self.log_prior(thetas)))
        for k in inside.tolist():
            gradients[k] = self.target.score(thetas[k : k + 1])[0]
        return gradients


Model = PosteriorModel | TargetModel


def as_target(target: Target) -> Target:
    """Refuse what is no target."""
    if not isinstance(target, Target):
        raise UsageError(f"a sampler needs a steinkit.Target or steinkit.Posterior; received {type(target).__name__}")
    return target


def as_model(target: Target) -> Model:
    """Wrap a target for samplers that use its whole density."""
    if isinstance(target, Posterior):
        return PosteriorModel(target)
    return TargetModel(as_target(target))


def as_posterior_model(posterior: Target) -> PosteriorModel:
    """Wrap a posterior for samplers that use minibatches of its data."""
    if not isinstance(posterior, Posterior):
        label = getattr(posterior, "label", type(posterior).__name__)
        raise UsageError(
            f"minibatches need a steinkit.Posterior, with data and likelihood terms; received {label!r}: "
            "use rwmh, barker or mala for a target without data"
        )
    return PosteriorModel(posterior)


def start_states(target: Target, start: Any, chains: int) -> Floats:
    """First states of the chains, (K, d): as given, for one or for all, or zeros.

    Raises
    ------
    UsageError
        If the dimension is not known, or start has another shape or numbers that are not finite.
    """
    if start is None:
        if target.dim is None:
            raise UsageError(f"the dimension of {target.label!r} is not known: pass start=, or dim= to the target")
        return np.zeros((chains, target.dim))
    states = as_finite(start, "start")
    if states.ndim == 0 and target.dim == 1:
        states = states[None]
    dim = target.dim or (states.shape[-1] if states.ndim else 0)
    if states.shape not in {(dim,), (chains, dim)} or not dim:
        raise UsageError(
            f"start must have shape ({target.dim or 'd'},) or ({chains}, {target.dim or 'd'}): one state, or one for "
            f"each chain; received {states.shape}"
        )
    return np.array(np.broadcast_to(states, (chains, dim)), order="C")  # rows that compiled code can read


def require_states(states: Floats, chains: Sequence[int] | Array, steps: Sequence[int] | Array, what: str) -> None:
    """Raise InputError, naming chain, step and state, if a state is not finite."""
    if math.isfinite(np.add.reduce(states, axis=None)) or np.isfinite(states).all():
        return
    row = int(np.flatnonzero(~np.isfinite(states).all(axis=1))[0])
    raise InputError(
        f"chain {int(chains[row]) + 1}, step {int(steps[row]) + 1}: {what} is {show_state(states[row])}, not finite; "
        "the chain has diverged: use a smaller step, or another start"
    )


def require_gradients(
    gradients: Floats, states: Floats, chains: Sequence[int] | Array, steps: Sequence[int] | Array
) -> None:
    """Raise InputError, naming chain, step and state, if the gradient at a state is NaN: no smaller step would help."""
    if not np.isnan(gradients).any():
        return
    row = int(np.flatnonzero(np.isnan(gradients).any(axis=1))[0])
    raise InputError(
        f"chain {int(chains[row]) + 1}, step {int(steps[row]) + 1}: the gradient at the state "
        f"{show_state(states[row])} is {show_state(gradients[row])}; it must be numbers: mend grad_log_likelihood or "
        "grad_log_prior, or keep the chain away from there by another start or a smaller step"
    )


def require_support(model: PosteriorModel, states: Floats, chains: Sequence[int] | Array, step: int) -> None:
    """Raise InputError if a chain has left the posterior's bounds, which nothing in SGLD respects."""
    if model.bounds is None:
        return
    outside = np.flatnonzero(~_inside(states, model.bounds))
    if outside.size:
        raise InputError(
            f"chain {int(chains[outside[0]]) + 1}, step {step + 1}: the state {show_state(states[outside[0]])} lies "
            "outside the posterior's bounds, which SGLD does not respect; sample transformed parameters, or use "
            "corrected_sgld"
        )


def require_start(values: Floats, states: Floats, what: str, remedy: str) -> None:
    """Raise InputError, naming chain and state, if a value at a first state, its log prior say, is not finite."""
    for k in np.flatnonzero(~np.isfinite(values)).tolist():
        raise InputError(
            f"chain {k + 1} cannot start at {show_state(states[k])}: {what} there is {values[k]}; {remedy}"
        )


def require_numbers(values: Floats, chains: Array, steps: Array, proposed: Floats, what: str) -> None:
    """Raise InputError, naming chain, step and state, if a value at a proposal is NaN or plus infinity."""
    if not math.isfinite(np.add.reduce(values)) and not (values < np.inf).all():
        bad = int(np.flatnonzero(~(values < np.inf))[0])
        raise no_number(int(chains[bad]), int(steps[bad]), what, values[bad], proposed[bad])


def no_number(chain: int, step: int, what: str, value: float, proposed: Floats) -> InputError:
    """The error of a proposal at which something is NaN or plus infinity; chain and step count from 0."""
    return InputError(
        f"chain {chain + 1}, step {step + 1}: {what} gives {value} for the proposal {show_state(proposed)}; it must be "
        "a number or minus infinity"
    )


def lost(chain: int, proposals: int, state: Floats) -> InputError:
    """The error of a chain whose last proposals all lay outside the support."""
    return InputError(
        f"chain {chain + 1}: the last {proposals} proposals all lay outside the support, from {show_state(state)}; use "
        "a smaller proposal scale or step, or another start"
    )


def show_state(theta: Floats) -> str:
    """A state in few words."""
    shown = ", ".join(f"{value:.6g}" for value in theta[:8])
    return f"({shown}, ...)" if len(theta) > 8 else f"({shown})"


def _inside(thetas: Floats, bounds: Floats) -> NDArray[np.bool_]:
    return np.asarray(((thetas >= bounds[:, 0]) & (thetas <= bounds[:, 1])).all(axis=1))


def _shaped(values: Any, shape: tuple[int, ...], name: str) -> Floats:
    """Hold what a user's function returned to its shape."""
    array = real_numbers(values, f"the values of {name}")
    if array.shape != shape:
        raise InputError(f"{name} must return shape {shape} here; it returned {array.shape}")
    return array
