"""Stochastic gradient Langevin dynamics (SGLD).

    theta_{t+1} = theta_t + (eps_t / 2) (grad log rho(theta_t) + (N / (n T)) sum over X_t of grad log p(x | theta_t))
                  + sqrt(eps_t) xi_t,        xi_t ~ N(0, I),

X_t being n of the N data. There is no acceptance test: the draws are biased, the more so the larger the steps. Steps
are constant, or decrease as eps_t = a (b + t)^-gamma, t = 0, 1, ...; the draws then carry the weights eps_t.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike
from tqdm import tqdm

from steinkit.errors import InputError
from steinkit.posterior import Posterior
from steinkit.sample import Floats
from steinkit.samplers.chains.gradients import BatchGradient
from steinkit.samplers.chains.likelihood_terms import (
    PosteriorModel,
    as_posterior_model,
    require_states,
    show_state,
    start_states,
)
from steinkit.samplers.chains.options import (
    RunOptions,
    Temperature,
    batch_within,
    describe_temperature,
    number,
    positive,
    temperatures,
)
from steinkit.samplers.chains.random_streams import Kind, Noise, normals
from steinkit.samplers.chains.recorder import Recorder
from steinkit.samplers.draws import Draws


def sgld(
    posterior: Posterior,
    *,
    step_size: float,
    batch_size: int,
    decay: float = 0.0,
    decay_offset: float = 1.0,
    temperature: Temperature = 1.0,
    chains: int = 1,
    draws: int | None = None,
    budget: int | None = None,
    burn_in: int = 0,
    thin: int = 1,
    seed: int | Sequence[int] = 0,
    start: ArrayLike | None = None,
    progress: bool = False,
) -> Draws:
    """Stochastic gradient Langevin dynamics, with constant or decreasing steps.

    Parameters
    ----------
    posterior : Posterior
    step_size : float
        Size eps_0 of the first step: the variance of its noise; its drift is eps_0 / 2 times the gradient.
    batch_size : int
        Data n in a step's gradient, without replacement within an epoch.
    decay : float
        gamma, in [0, 1]: eps_t = step_size (1 + t / decay_offset)^-gamma. That is a (b + t)^-gamma with b =
        decay_offset and a = step_size b^gamma. 0 is a constant step.
    decay_offset : float
        b, positive: the number of steps after which they begin to shrink in earnest.
    temperature : float or callable, (n,) -> (n,)
        T that divides the log likelihood; or a schedule, T of the steps with the given numbers, from 0.
    chains, draws, budget, burn_in, thin, seed, start, progress
        Number and length of the chains, seeds, first states: see `RunOptions`.

    Returns
    -------
    Draws
        Biased. Cost n a step. With decay the draws are weighted by the sizes of the steps that leave them.

    Raises
    ------
    UsageError
        If an option is out of range, or budget does not pay one step.
    InputError
        If a function of the posterior returns a wrong shape, or a state is not finite or leaves the posterior's bounds;
        the message names chain, step and state. Too large a step makes a chain diverge.

    References
    ----------
    M. Welling and Y. W. Teh (2011), "Bayesian learning via stochastic gradient Langevin dynamics", equations 2, 4
    and 11.
    """
    options = RunOptions(
        chains=chains,
        draws=draws,
        budget=budget,
        burn_in=burn_in,
        thin=thin,
        seed=seed,
        start=start,
        progress=progress,
    )
    positive(step_size, "step_size")
    number(decay, "decay", lambda x: 0.0 <= x <= 1.0, "in [0, 1]")
    positive(decay_offset, "decay_offset")
    model = as_posterior_model(posterior)
    batch = batch_within(batch_size, 1, model.size)
    options.require_budget(batch)
    settings = {
        "sampler": "sgld",
        "step_size": step_size,
        "batch_size": batch_size,
        "decay": decay,
        "decay_offset": decay_offset,
        "temperature": describe_temperature(temperature),
    }
    recorder = Recorder(
        options, start_states(posterior, start, options.chains).shape[1], {"weights": np.float64} if decay else {}
    )
    with np.errstate(all="ignore"):  # what is not finite is found and reported
        _run(model, options, recorder, batch, temperature, lambda t: step_size * (1.0 + t / decay_offset) ** -decay)
    return recorder.draws(model.names, settings)


def _run(
    model: PosteriorModel,
    options: RunOptions,
    recorder: Recorder,
    batch: int,
    temperature: Temperature,
    step_size: Callable[[int], float],
) -> None:
    """All chains step together: their steps cost the same."""
    posterior = model.posterior
    states = start_states(posterior, options.start, options.chains)
    posterior.check_shapes(states[0])
    chains, dim = np.arange(len(states)), states.shape[1]
    gradient = BatchGradient(model, batch, options.seeds)
    noise = Noise(options.seeds, Kind.PROPOSAL, dim, normals)
    done = np.zeros(len(states), dtype=np.int64)  # steps taken, the same for all
    heat = temperatures(temperature, done)
    steps = min(count for count in (options.steps, (options.budget or 0) // batch or None) if count is not None)
    for t in tqdm(
        range(steps), "sampling", delay=1.0, unit=" steps", file=sys.stderr, disable=not options.progress, leave=False
    ):
        step = step_size(t)
        if callable(temperature):
            heat = temperatures(temperature, done)
        drift = gradient.turn_to(chains, states, heat).at_states()
        states = states + 0.5 * step * drift + math.sqrt(step) * noise.take(chains, done)
        require_states(states, chains, done, "the state")
        _require_support(model, states, t)
        done += 1
        # equation 11: theta_t weighs eps_t, the size of the step that leaves it
        columns = {"weights": np.full(len(states), step_size(t + 1))} if "weights" in recorder.columns else {}
        recorder.record(chains, done, points=states, cost=done * batch, **columns)


def _require_support(model: PosteriorModel, states: Floats, t: int) -> None:
    """Raise InputError if a chain has left the posterior's bounds, which nothing in SGLD respects."""
    if model.bounds is None:
        return
    outside = np.flatnonzero(((states < model.bounds[:, 0]) | (states > model.bounds[:, 1])).any(axis=1))
    if outside.size:
        raise InputError(
            f"chain {outside[0] + 1}, step {t + 1}: the state {show_state(states[outside[0]])} lies outside the "
            "posterior's bounds, which SGLD does not respect; sample transformed parameters, or use corrected_sgld"
        )
