"""Proposals, by which chains pick the states that tests judge, and the gradients of the log posterior in them.

A proposal makes theta' from theta and normal noise xi of the chain's own, for many chains at once, and says
log q(theta | theta') - log q(theta' | theta), which enters the test.

    random walk    theta' = theta + scale * xi
    Langevin       theta' = theta + (eps / 2) g(theta) + sqrt(eps) xi,      g = gradient of log p

A Langevin proposal on a minibatch X uses g_X(theta) = grad log rho(theta) + (N / (n T)) sum over X of
grad log p(x | theta). It is a mixture over minibatches; a test that enforces detailed balance for each component,
with the *same* X in both q terms, enforces it for the mixture.

**Gradients** are over all data, or over minibatches, as they are or with control variates at the mode.

all data:     g(theta) = grad log rho(theta) + (1 / T) sum over i of grad log p(x_i | theta)
minibatch X:  g_X(theta) = grad log rho(theta) + (N / (n T)) sum over X of grad log p(x | theta)
at a mode m:  g_X(theta) - g_X(m) + g(m), in which the prior's gradients at m cancel (Baker et al. 2019, equation 5)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import batch_within, positive, real_numbers, whole
from steinkit.errors import InputError, UsageError
from steinkit.runtime.deadlines import one_thread_in_libraries
from steinkit.sample import Floats, Integers
from steinkit.samplers.chains.draws import Kind
from steinkit.samplers.chains.likelihood_terms import Model, PosteriorModel
from steinkit.samplers.chains.readers import DataWalk
from steinkit.targets.family import as_positive, as_vector


def add_noise(theta: Any, scale: Any, xi: Any) -> Any:
    """theta + scale xi, of numbers in compiled chains, of arrays elsewhere."""
    return theta + scale * xi


def follow_gradient(theta: Any, eps: Any, gradient: Any) -> Any:
    """theta + (eps / 2) g: the mean of a Langevin move, of numbers in compiled chains, of arrays elsewhere."""
    return theta + 0.5 * eps * gradient


@dataclass(frozen=True)
class Proposal:
    """A proposal for many chains at once. `RandomWalk` is the shortest example."""

    needs_gradient = False

    def gradient_batch(self, size: int) -> int:
        """Data in the gradient's minibatch; 0 for all of them, or where no gradient is needed.

        Parameters
        ----------
        size : int
            Number of data N.

        Returns
        -------
        int
            0 if not overridden.
        """
        return 0

    def noise_width(self, dim: int) -> int:
        """Normal numbers for each move: one a coordinate, if not overridden.

        Parameters
        ----------
        dim : int
            Number of coordinates d.

        Returns
        -------
        int
            The width w of the noise that `propose` is given.
        """
        return dim

    def propose(self, states: Floats, noise: Floats, gradient: Gradient | None) -> tuple[Floats, Floats]:
        """Proposals, and what they add to the test.

        Parameters
        ----------
        states : ndarray, shape (n, d)
            The states theta of n chains, not to be changed.
        noise : ndarray, shape (n, w)
            Independent standard normal numbers xi, a row a chain.
        gradient : Gradient or None
            That of the log posterior, over the same data at states and proposals; None where none is needed.

        Returns
        -------
        proposals : ndarray, shape (n, d)
            The proposals theta'.
        log_ratio : ndarray, shape (n,)
            log q(theta | theta') - log q(theta' | theta).
        """
        raise NotImplementedError

    def described(self) -> dict[str, Any]:
        """Options, for `Draws.settings`.

        Returns
        -------
        dict
            By their names.
        """
        return {each.name: getattr(self, each.name) for each in fields(self)}


@dataclass(frozen=True)
class RandomWalk(Proposal):
    """Symmetric normal moves.

    Parameters
    ----------
    proposal_scale : float or array_like, shape (d,)
        Standard deviation of the moves, of all coordinates or of each.

    Raises
    ------
    UsageError
        If a scale is not positive.
    """

    proposal_scale: ArrayLike

    def __post_init__(self) -> None:
        object.__setattr__(self, "_scale", as_positive(self.proposal_scale, "proposal_scale"))

    def noise_width(self, dim: int) -> int:
        """One number a coordinate.

        Parameters
        ----------
        dim : int
            Number of coordinates d.

        Returns
        -------
        int
            d.

        Raises
        ------
        UsageError
            If there are scales, one a coordinate, for another number of coordinates.
        """
        return len(as_vector(self._scale, dim, "proposal_scale"))  # type: ignore[attr-defined]

    def propose(self, states: Floats, noise: Floats, gradient: Gradient | None) -> tuple[Floats, Floats]:
        """theta + scale * xi; the ratio is zero.

        Parameters
        ----------
        states : ndarray, shape (n, d)
            The states theta.
        noise : ndarray, shape (n, d)
            Standard normal numbers xi.
        gradient : None
            Not needed.

        Returns
        -------
        proposals : ndarray, shape (n, d)
            The proposals theta'.
        log_ratio : ndarray, shape (n,)
            Zeros: the walk is symmetric.
        """
        return add_noise(states, self._scale, noise), np.zeros(len(states))  # type: ignore[attr-defined]

    def described(self) -> dict[str, Any]:
        """The scale, for `Draws.settings`.

        Returns
        -------
        dict
            "proposal_scale": a number, or a list of d.
        """
        return {"proposal_scale": np.asarray(self.proposal_scale).tolist()}


@dataclass(frozen=True)
class Langevin(Proposal):
    """Moves along the gradient, with noise to match.

    Parameters
    ----------
    step_size : float
        Step eps: the variance of the noise; the drift is eps / 2 times the gradient.
    batch_size : int, optional
        Data n in the gradient, a new minibatch each move; all of them if not given.

    References
    ----------
    G. O. Roberts and R. L. Tweedie (1996), "Exponential convergence of Langevin distributions and their discrete
    approximations". A. Korattikara, Y. Chen and M. Welling (2014), section 6.4, for minibatches.
    """

    step_size: float
    batch_size: int | None = None

    needs_gradient = True

    def __post_init__(self) -> None:
        positive(self.step_size, "step_size")
        if self.batch_size is not None:
            whole(self.batch_size, "batch_size", 1)

    def gradient_batch(self, size: int) -> int:
        """Data n in the gradient, or 0 for all.

        Parameters
        ----------
        size : int
            Number of data N.

        Returns
        -------
        int
            ``batch_size``, or 0 if that is None.

        Raises
        ------
        UsageError
            If ``batch_size`` is more than N.
        """
        return 0 if self.batch_size is None else batch_within(self.batch_size, 1, size)

    def propose(self, states: Floats, noise: Floats, gradient: Gradient | None) -> tuple[Floats, Floats]:
        """theta', and the ratio of the two normal densities, of theta about theta' + drift and back.

        Parameters
        ----------
        states : ndarray, shape (n, d)
            The states theta.
        noise : ndarray, shape (n, d)
            Standard normal numbers xi.
        gradient : Gradient
            That of the log posterior, over the same data at states and proposals.

        Returns
        -------
        proposals : ndarray, shape (n, d)
            theta' = theta + (eps / 2) g(theta) + sqrt(eps) xi.
        log_ratio : ndarray, shape (n,)
            log q(theta | theta') - log q(theta' | theta), both with the same data.

        Raises
        ------
        UsageError
            If there is no gradient.
        """
        if gradient is None:
            raise UsageError("a Langevin proposal needs a gradient")
        eps = self.step_size
        centre = follow_gradient(states, eps, gradient.at_states())
        proposals = add_noise(centre, math.sqrt(eps), noise)
        back = follow_gradient(proposals, eps, gradient.at_proposals(proposals))
        ratio = (((proposals - centre) ** 2).sum(axis=1) - ((states - back) ** 2).sum(axis=1)) / (2.0 * eps)
        return proposals, np.asarray(ratio)

    def described(self) -> dict[str, Any]:
        """Options, for `Draws.settings`.

        Returns
        -------
        dict
            "step_size", and "gradient_batch_size", which is None for all the data.
        """
        return {"step_size": self.step_size, "gradient_batch_size": self.batch_size}


@dataclass(frozen=True)
class CustomProposal(Proposal):
    """Moves of your own.

    Parameters
    ----------
    move : callable, ((n, d), (n, w)) -> (n, d)
        Proposals from states and standard normal noise, each row on its own. Uniform numbers are Phi(noise).
    log_ratio : callable, ((n, d), (n, d)) -> (n,), optional
        log q(theta | theta') - log q(theta' | theta) for states and proposals; zero, for a symmetric proposal, if not
        given.
    width : int, optional
        Normal numbers w for each move; d if not given.

    Examples
    --------
    >>> from steinkit.samplers import CustomProposal
    >>> log_walk = CustomProposal(  # theta' = theta exp(0.3 xi), for positive coordinates
    ...     move=lambda states, noise: states * np.exp(0.3 * noise),
    ...     log_ratio=lambda states, proposals: np.log(proposals / states).sum(axis=1),
    ... )
    """

    move: Callable[[Floats, Floats], ArrayLike]
    log_ratio: Callable[[Floats, Floats], ArrayLike] | None = None
    width: int | None = None

    def __post_init__(self) -> None:
        if not callable(self.move) or not (self.log_ratio is None or callable(self.log_ratio)):
            raise UsageError("move and log_ratio must be functions of arrays")
        if self.width is not None:
            whole(self.width, "width", 1)

    def noise_width(self, dim: int) -> int:
        """Normal numbers for each move: w, or one a coordinate.

        Parameters
        ----------
        dim : int
            Number of coordinates d.

        Returns
        -------
        int
            ``width``, or d if that is None.
        """
        return self.width or dim

    def propose(self, states: Floats, noise: Floats, gradient: Gradient | None) -> tuple[Floats, Floats]:
        """Call the functions, and hold them to their shapes.

        Parameters
        ----------
        states : ndarray, shape (n, d)
            The states theta; the functions get copies.
        noise : ndarray, shape (n, w)
            Standard normal numbers xi.
        gradient : None
            Not needed.

        Returns
        -------
        proposals : ndarray, shape (n, d)
            What ``move`` returns.
        log_ratio : ndarray, shape (n,)
            What the function ``log_ratio`` returns; zeros without one.

        Raises
        ------
        InputError
            If a function returns another shape.
        """
        proposals = real_numbers(self.move(states.copy(), noise), "proposals").copy()
        if proposals.shape != states.shape:
            raise InputError(f"move must return shape {states.shape}, like the states; it returned {proposals.shape}")
        if self.log_ratio is None:
            return proposals, np.zeros(len(states))
        ratio = real_numbers(self.log_ratio(states.copy(), proposals.copy()), "log ratios")
        if ratio.shape != (len(states),):
            raise InputError(f"log_ratio must return shape ({len(states)},), one a state; it returned {ratio.shape}")
        return proposals, ratio

    def described(self) -> dict[str, Any]:
        """Name of the function that moves, for `Draws.settings`.

        Returns
        -------
        dict
            "proposal": the name, or "custom" where it has none.
        """
        return {"proposal": getattr(self.move, "__name__", "custom")}


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

    With a mode it is less what the same data say there, plus what all the data say there: control variates.
    Its data come from a walk of its own, in an order independent of the test's: a test on the proposal's own data
    would accept what those data are wrong about.
    """

    def __init__(self, model: PosteriorModel, batch_size: int, seeds: Sequence[int], mode: Mode | None = None) -> None:
        self.model, self._batch_size, self._mode = model, batch_size, mode
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
        return self.at_proposals(self._states)

    def at_proposals(self, proposals: Floats) -> Floats:
        """Gradient at the proposals."""
        return self.model.grad_log_prior(proposals) + self._factor * self._of_batches(proposals)

    def accept(self, chains: Integers) -> None:
        """Nothing is kept."""

    def _of_batches(self, thetas: Floats) -> Floats:
        found = self.model.gradients(thetas, self._batches)
        if self._mode is None:
            return found
        there = self.model.gradients(np.tile(self._mode.state, (len(thetas), 1)), self._batches)
        return np.asarray(found - there + self._batch_size / self.model.size * self._mode.gradient)


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


Gradient = FullGradient | BatchGradient
"""Gradient of the log posterior at the chains' states and at their proposals, over the same data."""
