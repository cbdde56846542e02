"""Stochastic gradient Langevin dynamics with and without an acceptance test.

    theta' = theta + (eps / 2) (grad log rho(theta) + (N / (n T)) sum over X of grad log p(x | theta)) + sqrt(eps) xi,

with xi ~ N(0, I), for a minibatch X of n of the N data points. The draws are biased, and the bias increases with the
step size. The step size is constant or decreases as eps_t = a (b + t)^-gamma, t = 0, 1, ... In the latter case, the
draws have weights eps_t.

In the corrected version, theta' is a proposal. The ratio q_X(theta | theta') / q_X(theta' | theta) uses the same
minibatch X in both terms. The proposal is a mixture over minibatches, and detailed balance for each component implies
detailed balance for the mixture. The test reads data in an order that is independent of X. A test on X would not
correct the error due to the minibatch.
"""

from __future__ import annotations

import math
from typing import Any, Unpack

import numpy as np

from steinkit.arguments import batch_within, number, positive, require_flags
from steinkit.posterior import Posterior
from steinkit.runtime.progress import progress_bar
from steinkit.sample import Floats
from steinkit.samplers.acceptance.interface import AcceptanceTest
from steinkit.samplers.acceptance.sequential import AusterityTest
from steinkit.samplers.chains import likelihood_terms as models
from steinkit.samplers.chains.draws import Draws, Noise, Recorder, RunKeywords, RunOptions, StreamKind, normals
from steinkit.samplers.chains.gradients import (
    BatchGradient,
    Langevin,
    Mode,
    StochasticLangevin,
    add_noise,
    follow_gradient,
)
from steinkit.samplers.chains.run import run_chains
from steinkit.samplers.registry import OwnOption, sampler


@sampler(
    decay=OwnOption("X", "Exponent of the decreasing step size in sgld; if positive, the draws are weighted."),
    decay_offset=OwnOption("X", "Number of steps before the step size decreases."),
    control_variates=OwnOption("", "Use control variates at the mode for the gradients in sgld."),
)
def sgld(
    posterior: Posterior,
    *,
    step_size: float,
    batch_size: int,
    decay: float = 0.0,
    decay_offset: float = 1.0,
    control_variates: bool = False,
    temperature: float = 1.0,
    **run: Unpack[RunKeywords],
) -> Draws:
    """Sample by stochastic gradient Langevin dynamics, which is biased.

    Parameters
    ----------
    posterior : Posterior
        Posterior with N data points. Minibatches of these points are used for the gradients.
    step_size : float
        Size of the first step, eps_0. This is also the variance of the noise added in that step. The drift of the step
        is eps_0 / 2 times the gradient.
    batch_size : int
        Number of data points n per gradient, drawn without replacement within an epoch.
    decay : float, default 0.0
        Exponent gamma, in [0, 1]. The value 0 gives constant steps. In general, eps_t = step_size (1 + t /
        decay_offset)^-gamma, that is, a (b + t)^-gamma with b = decay_offset and a = step_size b^gamma.
    decay_offset : float, default 1.0
        Positive number of steps b before the step size decreases.
    control_variates : bool, default False
        If True, the gradient of each minibatch at the mode is replaced by the gradient of all the data. The noise in
        the gradient is then small near the mode, and the bias depends only weakly on the batch size. L-BFGS finds the
        mode, starting from the initial state of the first chain. This option is suitable for unimodal posteriors.
    temperature : float, default 1.0
        Temperature T, which divides the log likelihood.
    **run
        Options of the run. See `RunOptions`.

    Returns
    -------
    Draws
        Biased draws of all chains. The cost is n per step. With control variates, the cost is 2 n per step, in addition
        to the passes over all the data in the search for the mode. With decay, the weight of a draw is the size of the
        step that begins at the draw.

    Raises
    ------
    UsageError
        If an option is out of range, or if the budget is too small for one step.
    InputError
        If a function of the posterior returns an array with an invalid shape, or if a state is not finite or leaves the
        bounds of the posterior. The message states the chain, the step and the state. A chain diverges if its steps are
        too large.

    References
    ----------
    M. Welling and Y. W. Teh (2011), "Bayesian learning via stochastic gradient Langevin dynamics", equations 2, 4
    and 11.
    J. Baker, P. Fearnhead, E. B. Fox and C. Nemeth (2019), "Control variates for stochastic gradient MCMC",
    algorithm 1.

    Examples
    --------
    >>> import steinkit as sk
    >>> posterior = sk.targets.LogisticRegression.nodal()
    >>> sk.samplers.sgld(posterior, step_size=0.01, batch_size=5, draws=100).points.shape
    (1, 100, 6)
    """
    options = RunOptions(**run)
    positive(step_size, "step_size")
    number(decay, "decay", lambda x: 0.0 <= x <= 1.0, "in [0, 1]")
    positive(decay_offset, "decay_offset")
    require_flags(control_variates=control_variates)
    model = models.as_posterior_model(posterior)
    batch = batch_within(batch_size, 1, model.size)
    states = models.start_states(posterior, options.start, options.chains)
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
        "temperature": positive(temperature, "temperature"),
    }
    recorder = Recorder(options, states.shape[1], {"weights": np.float64} if decay else {})

    def step_sizes(t: Any) -> Any:
        return step_size * (1.0 + t / decay_offset) ** -decay

    parts = StochasticLangevin(model, options, recorder, batch, temperature, step_sizes, mode, step_cost, before)
    with np.errstate(all="ignore"):  # non-finite values are reported with their chain and step
        if posterior.compiled_terms is not None:
            from steinkit.samplers.chains.compiled_chains import LangevinChains

            LangevinChains(parts).run(states)
        else:
            _take_steps(states, parts)
    return recorder.draws(model.names, settings)


@sampler()
def corrected_sgld(
    posterior: Posterior,
    *,
    step_size: float,
    batch_size: int,
    epsilon: float = 0.05,
    test: AcceptanceTest | None = None,
    temperature: float = 1.0,
    **run: Unpack[RunKeywords],
) -> Draws:
    """Sample with SGLD proposals and an acceptance test; epsilon controls the bias.

    Parameters
    ----------
    posterior : Posterior
        Posterior with N data points. Minibatches of these points are used for the gradients and tests.
    step_size : float
        Variance eps of the noise of a move. The drift is eps / 2 times the gradient.
    batch_size : int
        Number of data points n per proposal, and per stage of the austerity test.
    epsilon : float, default 0.05
        Error allowed at one stage of the austerity test, in [0, 1].
    test : AcceptanceTest, optional
        Acceptance test that is used instead of the austerity test defined by ``epsilon``.
    temperature : float, default 1.0
        Temperature T, which divides the log likelihood.
    **run
        Options of the run. See `RunOptions`.

    Returns
    -------
    Draws
        Draws of all chains. The cost of a step is n for the proposal plus the number of data points read by its test.
        The attribute `Draws.batch_sizes` reports the number of data points read by each test.

    Raises
    ------
    UsageError
        If an option is out of range, or if the budget is too small for one step.
    InputError
        If a function of the posterior returns an array that has an invalid shape or contains NaN, or if a state is not
        finite. The message states the chain, the step and the state.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
    section 6.4.

    Examples
    --------
    >>> import steinkit as sk
    >>> posterior = sk.targets.LogisticRegression.nodal()
    >>> sk.samplers.corrected_sgld(posterior, step_size=0.1, batch_size=10, draws=100).points.shape
    (1, 100, 6)
    """
    options = RunOptions(**run)
    chosen = AusterityTest(epsilon, batch_size) if test is None else test
    return run_chains("corrected_sgld", posterior, Langevin(step_size, batch_size), chosen, options, temperature)


def _take_steps(states: Floats, run: StochasticLangevin) -> None:
    """Advance all chains together, with the same cost per step for all chains."""
    chains, options, recorder = np.arange(len(states)), run.options, run.recorder
    gradient = BatchGradient(run.model, run.batch, options.seeds, run.mode)
    noise = Noise(options.seeds, StreamKind.PROPOSAL, states.shape[1], normals)
    done = np.zeros(len(states), dtype=np.int64)  # number of steps taken, which is the same for all chains
    steps = options.steps_of(run.step_cost, run.before)
    for t in progress_bar("sampling", shown=options.progress, unit=" steps", steps=range(steps)):
        step = run.step_sizes(t)
        drift = gradient.turn_to(chains, states, run.temperature).at_states()
        moved = add_noise(follow_gradient(states, step, drift), math.sqrt(step), noise.take(chains, done))
        if not np.isfinite(moved).all():
            models.require_gradients(drift, states, chains, done)
            models.require_states(moved, chains, done, "the state")
        states = moved
        models.require_support(run.model, states, chains, t)
        done += 1
        # By equation 11 of Welling and Teh, the weight of theta_t is eps_t, the size of the step that starts at
        # theta_t.
        columns = {"weights": np.full(len(states), run.step_sizes(t + 1))} if "weights" in recorder.columns else {}
        recorder.record(chains, done, points=states, cost=run.before + done * run.step_cost, **columns)
