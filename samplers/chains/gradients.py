"""Markov chain proposals and gradients of the log posterior.

A proposal handles many chains at once. Each call computes theta' from theta and standard normal noise xi, and the log
ratio log q(theta | theta') - log q(theta' | theta).

    random walk    theta' = theta + scale * xi
    Langevin       theta' = theta + (eps / 2) g(theta) + sqrt(eps) xi,      g = gradient of log p

**Gradients** use all the data or a minibatch X of n of the N data points, optionally with control variates at the mode
m:

all data:     g(theta) = grad log rho(theta) + (1 / T) sum over i of grad log p(x_i | theta)
minibatch X:  g_X(theta) = grad log rho(theta) + (N / (n T)) sum over X of grad log p(x | theta)
at the mode:  g_X(theta) - g_X(m) + g(m), without the gradient of the prior at m, which cancels (Baker et al. 2019,
              equation 5)

A minibatch Langevin proposal is a mixture over X. If a test satisfies detailed balance for each component of the
mixture, with the *same* X in both q terms, it also satisfies detailed balance for the mixture.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import batch_within, positive, real_numbers, require_functions, whole
from steinkit.errors import InputError
from steinkit.runtime.deadlines import one_thread_in_libraries
from steinkit.sample import Floats, Integers
from steinkit.samplers.chains.draws import Recorder, RunOptions, StreamKind
from steinkit.samplers.chains.likelihood_terms import Model, PosteriorModel
from steinkit.samplers.chains.readers import DataWalk
from steinkit.targets.family import as_positive, as_vector


def add_noise(theta: Any, scale: Any, xi: Any) -> Any:
    """Compute theta + scale xi."""
    return theta + scale * xi


def follow_gradient(theta: Any, eps: Any, gradient: Any) -> Any:
    """Compute theta + (eps / 2) g, the mean of a Langevin move."""
    return theta + 0.5 * eps * gradient


@dataclass(frozen=True)
class Proposal:
    """Base class for proposals that handle many chains at once."""

    needs_gradient = False

    def gradient_batch(self, size: int) -> int:
        """Return the batch size of the gradient.

        Parameters
        ----------
        size : int
            Number of data points N.

        Returns
        -------
        int
            Batch size, or 0 (default) if the gradient uses all the data or is not required.
        """
        return 0

    def noise_width(self, dim: int) -> int:
        """Return the number of normal random numbers required for a move.

        Parameters
        ----------
        dim : int
            Number of coordinates d.

        Returns
        -------
        int
            Width w of the noise that is passed to `propose`. The default is d.
        """
        return dim

    def propose(self, states: Floats, noise: Floats, gradient: Gradient | None) -> tuple[Floats, Floats]:
        """Compute proposals and their log ratios.

        Parameters
        ----------
        states : ndarray, shape (n, d)
            Current states theta of n chains. Do not modify them.
        noise : ndarray, shape (n, w)
            Independent standard normal random numbers xi, with one row per chain.
        gradient : Gradient or None
            Gradient of the log posterior, evaluated with the same data at the states and the proposals. None if it is
            not required.

        Returns
        -------
        proposals : ndarray, shape (n, d)
            Proposed states theta'.
        log_ratio : ndarray, shape (n,)
            log q(theta | theta') - log q(theta' | theta).
        """
        raise NotImplementedError

    def described(self) -> dict[str, object]:
        """Return the options for `Draws.settings`.

        Returns
        -------
        dict
            Options by name.
        """
        return {each.name: getattr(self, each.name) for each in fields(self)}


@dataclass(frozen=True)
class RandomWalk(Proposal):
    """Symmetric normal proposal theta' = theta + scale * xi.

    Parameters
    ----------
    proposal_scale : float or array_like, shape (d,)
        Standard deviation of the moves, for all coordinates or for each coordinate.

    Raises
    ------
    UsageError
        If a scale is not positive.

    Examples
    --------
    >>> import steinkit as sk
    >>> from steinkit.samplers import MetropolisTest, RandomWalk, metropolis_hastings
    >>> target = sk.targets.Normal([0.0, 0.0])
    >>> metropolis_hastings(target, proposal=RandomWalk([1.0, 2.0]), test=MetropolisTest(), draws=5).points.shape
    (1, 5, 2)
    """

    proposal_scale: ArrayLike

    def __post_init__(self) -> None:
        object.__setattr__(self, "_scale", as_positive(self.proposal_scale, "proposal_scale"))

    def noise_width(self, dim: int) -> int:
        """Return the number of normal random numbers required for a move.

        A move requires one number per coordinate.

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
            If the number of scales is neither 1 nor d.
        """
        return len(as_vector(self._scale, dim, "proposal_scale"))  # type: ignore[attr-defined]

    def propose(self, states: Floats, noise: Floats, gradient: Gradient | None) -> tuple[Floats, Floats]:
        """Compute theta + scale * xi, with a log ratio of zero.

        Parameters
        ----------
        states : ndarray, shape (n, d)
            Current states theta.
        noise : ndarray, shape (n, d)
            Standard normal random numbers xi.
        gradient : None
            Not used.

        Returns
        -------
        proposals : ndarray, shape (n, d)
            Proposed states theta'.
        log_ratio : ndarray, shape (n,)
            Zeros, because the proposal is symmetric.
        """
        return add_noise(states, self._scale, noise), np.zeros(len(states))  # type: ignore[attr-defined]

    def described(self) -> dict[str, object]:
        """Return the scale for `Draws.settings`.

        Returns
        -------
        dict
            "proposal_scale", which is a number or a list of d numbers.
        """
        return {"proposal_scale": np.asarray(self.proposal_scale).tolist()}


@dataclass(frozen=True)
class Langevin(Proposal):
    """Langevin proposal theta' = theta + (eps / 2) g(theta) + sqrt(eps) xi.

    Parameters
    ----------
    step_size : float
        Variance eps of the noise. The drift is eps / 2 times the gradient.
    batch_size : int, optional
        Number of data points n in the gradient. Each move uses a new minibatch. By default, the gradient uses all the
        data.

    Raises
    ------
    UsageError
        If a parameter is not positive.

    References
    ----------
    G. O. Roberts and R. L. Tweedie (1996), "Exponential convergence of Langevin distributions and their discrete
    approximations".
    A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
    section 6.4, for minibatches.

    Examples
    --------
    >>> import steinkit as sk
    >>> from steinkit.samplers import AusterityTest, Langevin, metropolis_hastings
    >>> posterior = sk.targets.LogisticRegression.nodal()
    >>> run = {"proposal": Langevin(0.1, batch_size=10), "test": AusterityTest(0.1, 10), "draws": 5}
    >>> metropolis_hastings(posterior, **run).points.shape
    (1, 5, 6)
    """

    step_size: float
    batch_size: int | None = None

    needs_gradient = True

    def __post_init__(self) -> None:
        positive(self.step_size, "step_size")
        if self.batch_size is not None:
            whole(self.batch_size, "batch_size", 1)

    def gradient_batch(self, size: int) -> int:
        """Return the batch size of the gradient.

        Parameters
        ----------
        size : int
            Number of data points N.

        Returns
        -------
        int
            ``batch_size``, or 0 if the gradient uses all the data.

        Raises
        ------
        UsageError
            If ``batch_size`` exceeds N.
        """
        return 0 if self.batch_size is None else batch_within(self.batch_size, 1, size)

    def propose(self, states: Floats, noise: Floats, gradient: Gradient | None) -> tuple[Floats, Floats]:
        """Compute theta' and the log ratio of the two normal proposal densities.

        Parameters
        ----------
        states : ndarray, shape (n, d)
            Current states theta.
        noise : ndarray, shape (n, d)
            Standard normal random numbers xi.
        gradient : Gradient
            Gradient of the log posterior, evaluated with the same data at the states and the proposals.

        Returns
        -------
        proposals : ndarray, shape (n, d)
            theta' = theta + (eps / 2) g(theta) + sqrt(eps) xi.
        log_ratio : ndarray, shape (n,)
            log q(theta | theta') - log q(theta' | theta), with the same data in both terms.
        """
        assert gradient is not None  # because needs_gradient is True
        eps = self.step_size
        center = follow_gradient(states, eps, gradient.at_states())
        proposals = add_noise(center, math.sqrt(eps), noise)
        back = follow_gradient(proposals, eps, gradient.at_proposals(proposals))
        ratio = (((proposals - center) ** 2).sum(axis=1) - ((states - back) ** 2).sum(axis=1)) / (2.0 * eps)
        return proposals, np.asarray(ratio)

    def described(self) -> dict[str, object]:
        """Return the options for `Draws.settings`.

        Returns
        -------
        dict
            "step_size", and "gradient_batch_size", which is None if the gradient uses all the data.
        """
        return {"step_size": self.step_size, "gradient_batch_size": self.batch_size}


@dataclass(frozen=True)
class CustomProposal(Proposal):
    """Proposal defined by user-supplied functions.

    Parameters
    ----------
    move : callable, ((n, d), (n, w)) -> (n, d)
        Function that computes proposals from states and standard normal noise, row by row. The transformation
        Phi(noise), with the standard normal cdf Phi, gives uniform random numbers.
    log_ratio : callable, ((n, d), (n, d)) -> (n,), optional
        Function that computes log q(theta | theta') - log q(theta' | theta) from states and proposals. The default is
        zero, for a symmetric proposal.
    width : int, optional
        Number w of normal random numbers required for a move. The default is d.

    Raises
    ------
    UsageError
        If ``move`` or ``log_ratio`` is not callable, or if ``width`` is not a positive integer.

    Examples
    --------
    >>> import numpy as np
    >>> import steinkit as sk
    >>> from steinkit.samplers import CustomProposal, MetropolisTest, metropolis_hastings
    >>> log_walk = CustomProposal(  # theta' = theta exp(0.3 xi), for positive coordinates
    ...     move=lambda states, noise: states * np.exp(0.3 * noise),
    ...     log_ratio=lambda states, proposals: np.log(proposals / states).sum(axis=1),
    ... )
    >>> run = {"proposal": log_walk, "test": MetropolisTest(), "draws": 5, "start": 1.0}
    >>> metropolis_hastings(sk.targets.Gamma(2.0), **run).points.shape
    (1, 5, 1)
    """

    move: Callable[[Floats, Floats], ArrayLike]
    log_ratio: Callable[[Floats, Floats], ArrayLike] | None = None
    width: int | None = None

    def __post_init__(self) -> None:
        require_functions(move=self.move)
        require_functions(optional=True, log_ratio=self.log_ratio)
        if self.width is not None:
            whole(self.width, "width", 1)

    def noise_width(self, dim: int) -> int:
        """Return the number of normal random numbers required for a move.

        Parameters
        ----------
        dim : int
            Number of coordinates d.

        Returns
        -------
        int
            ``width``, or d if it is None.
        """
        return self.width or dim

    def propose(self, states: Floats, noise: Floats, gradient: Gradient | None) -> tuple[Floats, Floats]:
        """Call the functions and check the shapes of their results.

        Parameters
        ----------
        states : ndarray, shape (n, d)
            Current states theta. The functions receive copies.
        noise : ndarray, shape (n, w)
            Standard normal random numbers xi.
        gradient : None
            Not used.

        Returns
        -------
        proposals : ndarray, shape (n, d)
            Result of ``move``.
        log_ratio : ndarray, shape (n,)
            Result of ``log_ratio``, or zeros.

        Raises
        ------
        InputError
            If a result has a different shape.
        """
        proposals = real_numbers(self.move(states.copy(), noise), "proposals").copy()
        if proposals.shape != states.shape:
            raise InputError(f"`move` must return an array of shape {states.shape}; got {proposals.shape}")
        if self.log_ratio is None:
            return proposals, np.zeros(len(states))
        ratio = real_numbers(self.log_ratio(states.copy(), proposals.copy()), "log ratios")
        if ratio.shape != (len(states),):
            raise InputError(f"`log_ratio` must return an array of shape ({len(states)},); got {ratio.shape}")
        return proposals, ratio

    def described(self) -> dict[str, object]:
        """Return the name of ``move`` for `Draws.settings`.

        Returns
        -------
        dict
            "proposal", which is the name, or "custom" if the function has no name.
        """
        return {"proposal": getattr(self.move, "__name__", "custom")}


class FullGradient:
    """Full-data gradient, stored until the chain moves."""

    def __init__(self, model: Model, states: Floats) -> None:
        self.model = model
        # gradients of the log prior and of the log likelihood at the states and at the proposals
        self._terms = np.stack([model.grad_log_prior(states), model.total_gradient(states)])
        self._proposed = np.zeros(self._terms.shape)

    def turn_to(self, chains: Integers, states: Floats, temperature: float) -> FullGradient:
        """Select the chains for the next evaluations."""
        self._chains, self._inverse = chains, 1.0 / temperature
        return self

    def at_states(self) -> Floats:
        """Return the stored gradient at the states."""
        prior, data = self._terms[:, self._chains]
        return np.asarray(prior + self._inverse * data)

    def at_proposals(self, proposals: Floats) -> Floats:
        """Compute the gradient at the proposals."""
        prior, data = self.model.grad_log_prior(proposals), self.model.total_gradient(proposals)
        self._proposed[:, self._chains] = prior, data
        return np.asarray(prior + self._inverse * data)

    def accept(self, chains: Integers) -> None:
        """Store the gradients at the proposals for the chains that accepted them."""
        self._terms[:, chains] = self._proposed[:, chains]


class BatchGradient:
    """Gradient estimated from a new minibatch for each proposal.

    The state and the proposal use the same minibatch.

    If a mode is given, control variates are used. The minibatch gradient at the mode is then replaced by the full-data
    gradient. The minibatches come from a separate random order, which is independent of the data read by the test. If
    the acceptance test read the same data, it would not correct the error due to the minibatch.
    """

    def __init__(self, model: PosteriorModel, batch_size: int, seeds: Sequence[int], mode: Mode | None = None) -> None:
        self.model, self._batch_size, self._mode = model, batch_size, mode
        self._walk = DataWalk(model.data, seeds, StreamKind.PROPOSAL_ORDER)

    def turn_to(self, chains: Integers, states: Floats, temperature: float) -> BatchGradient:
        """Select the chains for the next evaluations, and read their minibatches."""
        self._batches = self._walk.take(chains, self._batch_size)
        self._walk.close(chains)
        self._states = states
        self._factor = (self.model.size / self._batch_size) / temperature
        return self

    def at_states(self) -> Floats:
        """Compute the gradient at the states."""
        return self.at_proposals(self._states)

    def at_proposals(self, proposals: Floats) -> Floats:
        """Compute the gradient at the proposals."""
        gradients = self.model.gradients(proposals, self._batches)
        if self._mode is not None:
            at_mode = self.model.gradients(np.tile(self._mode.state, (len(proposals), 1)), self._batches)
            gradients = gradients - at_mode + self._batch_size / self.model.size * self._mode.gradient
        return np.asarray(self.model.grad_log_prior(proposals) + self._factor * gradients)

    def accept(self, chains: Integers) -> None:
        """Do nothing because no gradient is stored."""


@dataclass(frozen=True, eq=False)
class Mode:
    """Posterior mode used by the control variates.

    Attributes
    ----------
    state, gradient : ndarray, shape (d,)
        The mode, and the gradient of the log likelihood of all the data at the mode.
    cost : int
        Number of gradient evaluations at single data points during the search for the mode.
    """

    state: Floats
    gradient: Floats
    cost: int

    @classmethod
    def of(cls, model: PosteriorModel, start: Floats) -> Mode:
        """Find a mode using L-BFGS.

        Evaluating the log density and its gradient together counts as one evaluation per data point. Raises InputError
        if no mode is found.
        """
        from scipy.optimize import Bounds, minimize

        posterior = model.posterior
        box = None if model.bounds is None else Bounds(*model.bounds.T)

        def objective(theta: Floats) -> tuple[float, Floats]:
            return -float(posterior.log_density(theta[None])[0]), -posterior.score(theta[None])[0]

        with one_thread_in_libraries():  # the mode and the chains must not depend on the number of threads
            found = minimize(objective, start, jac=True, bounds=box, method="L-BFGS-B", options={"ftol": 1e-12})
            gradient = model.total_gradient(found.x[None])[0]
        if not np.isfinite(found.x).all() or not np.isfinite(found.fun):
            raise InputError(f"L-BFGS found no mode of {posterior.label!r} from {start.tolist()}: {found.message}")
        return cls(found.x, gradient, model.size * (found.nfev + 1))


class StochasticLangevin(NamedTuple):
    """Parts of a run of `sgld`.

    Attributes
    ----------
    model : PosteriorModel
        Posterior that supplies the gradients.
    options : RunOptions
        Options of the run.
    recorder : Recorder
        Recorder of the draws.
    batch : int
        Number of data points per step.
    temperature : float
        Temperature T, which divides the log likelihood.
    step_sizes : callable
        Function that maps step numbers, counted from 0, to step sizes.
    mode : Mode or None
        Mode for control variates.
    step_cost, before : int
        Number of gradient evaluations at single data points per step, and before the first step.
    """

    model: PosteriorModel
    options: RunOptions
    recorder: Recorder
    batch: int
    temperature: float
    step_sizes: Callable[[Any], Any]
    mode: Mode | None
    step_cost: int
    before: int


Gradient = FullGradient | BatchGradient
"""Gradients of the log posterior at the states and proposals, evaluated on the same data."""
