"""Stochastic gradient Langevin dynamics (SGLD), as it is and corrected by an acceptance test.

    theta' = theta + (eps / 2) (grad log rho(theta) + (N / (n T)) sum over X of grad log p(x | theta)) + sqrt(eps) xi,

xi ~ N(0, I), X being n of the N data. As it is, the draws are biased, the more so the larger the steps. The steps are
constant, or decrease as eps_t = a (b + t)^-gamma, t = 0, 1, ...; the draws then carry the weights eps_t.

Corrected, theta' is a proposal, judged with the ratio q_X(theta | theta') / q_X(theta' | theta), the same minibatch X
in both. The proposal is a mixture over minibatches; detailed balance for each of its components gives it for the
mixture. The test reads data in an order independent of X: on X itself it would accept what X is wrong about.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Unpack

import numpy as np

from steinkit.arguments import batch_within, number, positive
from steinkit.errors import UsageError
from steinkit.posterior import Posterior
from steinkit.runtime.progress import progress_bar
from steinkit.sample import Floats
from steinkit.samplers.acceptance.interface import AcceptanceTest, option
from steinkit.samplers.acceptance.sequential import AusterityTest
from steinkit.samplers.chains.draws import (
    Draws,
    Kind,
    Noise,
    Recorder,
    RunKeywords,
    RunOptions,
    Temperature,
    describe_temperature,
    normals,
    temperatures,
)
from steinkit.samplers.chains.gradients import (
    BatchGradient,
    Langevin,
    Mode,
    add_noise,
    follow_gradient,
)
from steinkit.samplers.chains.likelihood_terms import (
    PosteriorModel,
    as_posterior_model,
    require_gradients,
    require_states,
    require_support,
    start_states,
)
from steinkit.samplers.chains.run import run_chains
from steinkit.samplers.registry import sampler


@sampler(
    decay=option("X", "Exponent with which the steps of sgld decrease; draws are then weighted."),
    decay_offset=option("X", "Steps before that decrease sets in."),
    control_variates=option("", "Use control variates at the mode for the gradients of sgld."),
)
def sgld(
    posterior: Posterior,
    *,
    step_size: float,
    batch_size: int,
    decay: float = 0.0,
    decay_offset: float = 1.0,
    control_variates: bool = False,
    temperature: Temperature = 1.0,
    **run: Unpack[RunKeywords],
) -> Draws:
    """Stochastic gradient Langevin dynamics, with constant or decreasing steps: biased.

    Parameters
    ----------
    posterior : Posterior
        With its N data, from which the gradients draw minibatches.
    step_size : float
        Size eps_0 of the first step: the variance of its noise; its drift is eps_0 / 2 times the gradient.
    batch_size : int
        Data n in a step's gradient, without replacement within an epoch.
    decay : float
        gamma, in [0, 1]: eps_t = step_size (1 + t / decay_offset)^-gamma. That is a (b + t)^-gamma with b =
        decay_offset and a = step_size b^gamma. 0 is a constant step.
    decay_offset : float
        b, positive: the number of steps after which they begin to shrink in earnest.
    control_variates : bool
        Take from each minibatch's gradient what the same data say at the mode, and add what all the data say there. The
        gradient's noise then falls with the distance from the mode, and its bias hardly depends on the batch. The mode
        is climbed to by L-BFGS from the first state. For posteriors with one mode.
    temperature : float or callable, (n,) -> (n,)
        T that divides the log likelihood; or a schedule, T of the steps with the given numbers, from 0.
    chains : int
        Number of chains.
    draws, budget : int, optional
        Draws to keep of each chain, and gradient evaluations that it may spend, burn-in included. One of the two is
        needed; with both, what is reached first ends a chain.
    burn_in, thin : int
        Steps left out at the beginning, and of how many steps one is kept.
    seed : int, or sequence of int
        Of the run, or of each chain: see `RunOptions`.
    start : array_like, shape (d,) or (chains, d), optional
        First state of all chains, or of each; zeros if not given, or the mode with control variates.
    progress : bool
        Show a bar on standard error if the run takes more than a second.

    Returns
    -------
    Draws
        Biased. Cost n a step; with control variates 2 n, after the passes over all data that found the mode. With decay
        the draws are weighted by the sizes of the steps that leave them.

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
    and 11. J. Baker, P. Fearnhead, E. B. Fox and C. Nemeth (2019), "Control variates for stochastic gradient MCMC",
    algorithm 1.
    """
    options = RunOptions(**run)
    positive(step_size, "step_size")
    number(decay, "decay", lambda x: 0.0 <= x <= 1.0, "in [0, 1]")
    positive(decay_offset, "decay_offset")
    if not isinstance(control_variates, bool | np.bool_):
        raise UsageError(f"control_variates must be True or False; received {control_variates!r}")
    model = as_posterior_model(posterior)
    batch = batch_within(batch_size, 1, model.size)
    states = start_states(posterior, options.start, options.chains)
    posterior.check_shapes(states[0])
    mode = Mode.of(model, states[0]) if control_variates else None
    if mode is not None and options.start is None:
        states[:] = mode.state
    step_cost, before = (batch, 0) if mode is None else (2 * batch, mode.cost)
    options.require_budget(step_cost, before)
    settings = {
        "sampler": "sgld",
        "step_size": step_size,
        "batch_size": batch_size,
        "decay": decay,
        "decay_offset": decay_offset,
        **({"control_variates": True} if control_variates else {}),
        "temperature": describe_temperature(temperature),
    }
    recorder = Recorder(options, states.shape[1], {"weights": np.float64} if decay else {})

    def step_sizes(t: Any) -> Any:
        return step_size * (1.0 + t / decay_offset) ** -decay

    given = model, options, recorder, batch, temperature, step_sizes, mode, step_cost, before
    with np.errstate(all="ignore"):  # what is not finite is found and reported
        if posterior.compiled_terms is not None:
            from steinkit.samplers.chains.compiled_chains import LangevinChains

            LangevinChains(*given).run(states)
        else:
            _take_steps(states, *given)
    return recorder.draws(model.names, settings)


@sampler()
def corrected_sgld(
    posterior: Posterior,
    *,
    step_size: float,
    batch_size: int,
    epsilon: float = 0.05,
    test: AcceptanceTest | None = None,
    temperature: Temperature = 1.0,
    **run: Unpack[RunKeywords],
) -> Draws:
    """Langevin moves on minibatches, as SGLD's, each judged by an acceptance test: austerity, or another.

    Parameters
    ----------
    posterior : Posterior
        With its N data, from which gradients and tests draw minibatches.
    step_size : float
        eps: the variance of the noise of a move; its drift is eps / 2 times the gradient.
    batch_size : int
        Data n of a proposal's minibatch, and of a batch of the austerity test.
    epsilon : float
        Error allowed at one look of the austerity test, in [0, 1].
    test : AcceptanceTest, optional
        Any other acceptance test; epsilon is then not used.
    temperature : float or callable, (n,) -> (n,)
        T that divides the log likelihood; or a schedule, T of the steps with the given numbers, from 0.
    chains : int
        Number of chains.
    draws, budget : int, optional
        Draws to keep of each chain, and likelihood or gradient evaluations that it may spend, burn-in included. One
        of the two is needed; with both, what is reached first ends a chain.
    burn_in, thin : int
        Steps left out at the beginning, and of how many steps one is kept.
    seed : int, or sequence of int
        Of the run, or of each chain: see `RunOptions`.
    start : array_like, shape (d,) or (chains, d), optional
        First state of all chains, or of each; zeros if not given.
    progress : bool
        Show a bar on standard error if the run takes more than a second.

    Returns
    -------
    Draws
        Cost n for a proposal and what its test reads, which `Draws.batch_sizes` holds.

    Raises
    ------
    UsageError
        If an option is out of range, or budget does not pay one step.
    InputError
        If a function of the posterior returns a wrong shape or NaN, or a state is not finite; the message names chain,
        step and state.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
    section 6.4.
    """
    options = RunOptions(**run)
    judge = AusterityTest(epsilon, batch_size) if test is None else test
    return run_chains("corrected_sgld", posterior, Langevin(step_size, batch_size), judge, options, temperature)


def _take_steps(
    states: Floats,
    model: PosteriorModel,
    options: RunOptions,
    recorder: Recorder,
    batch: int,
    temperature: Temperature,
    step_size: Callable[[int], float],
    mode: Mode | None,
    step_cost: int,
    before: int,
) -> None:
    """All chains step together: their steps cost the same."""
    chains, dim = np.arange(len(states)), states.shape[1]
    gradient = BatchGradient(model, batch, options.seeds, mode)
    noise = Noise(options.seeds, Kind.PROPOSAL, dim, normals)
    done = np.zeros(len(states), dtype=np.int64)  # steps taken, the same for all
    heat = temperatures(temperature, done)
    steps = options.steps_of(step_cost, before)
    for t in progress_bar("sampling", shown=options.progress, unit=" steps", steps=range(steps)):
        step = step_size(t)
        if callable(temperature):
            heat = temperatures(temperature, done)
        drift = gradient.turn_to(chains, states, heat).at_states()
        moved = add_noise(follow_gradient(states, step, drift), math.sqrt(step), noise.take(chains, done))
        if not np.isfinite(moved).all():
            require_gradients(drift, states, chains, done)
            require_states(moved, chains, done, "the state")
        states = moved
        require_support(model, states, chains, t)
        done += 1
        # equation 11: theta_t weighs eps_t, the size of the step that leaves it
        columns = {"weights": np.full(len(states), step_size(t + 1))} if "weights" in recorder.columns else {}
        recorder.record(chains, done, points=states, cost=before + done * step_cost, **columns)
