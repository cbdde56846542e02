"""Chains of stochastic gradient Langevin dynamics one after another, each in compiled code."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from steinkit.runtime.deadlines import stop_signal
from steinkit.runtime.progress import progress_bar
from steinkit.runtime.threads import interruptible
from steinkit.sample import Floats
from steinkit.samplers.chains.compiled.chain_blocks import CompiledChain, Walk
from steinkit.samplers.chains.compiled.langevin_kernels import advance
from steinkit.samplers.chains.compiled.records import Drift, Outcome, Vector
from steinkit.samplers.chains.likelihood_terms import PosteriorModel, require_gradients, require_states, require_support
from steinkit.samplers.chains.options import RunOptions, Temperature
from steinkit.samplers.chains.random_streams import Kind, generator, normals
from steinkit.samplers.chains.recorder import Recorder


def run_langevin_chains(
    model: PosteriorModel,
    states: Floats,
    options: RunOptions,
    recorder: Recorder,
    batch: int,
    temperature: Temperature,
    step_sizes: Callable[[Floats], Floats],
) -> None:
    """Run all chains from their first states, (K, d), to their ends, and record them.

    Parameters
    ----------
    step_sizes : callable, (n,) -> (n,)
        Of the steps with these numbers, from 0.
    """
    steps = options.steps_of(batch)
    plan: dict[str, Any] = {"drift": Drift.MINIBATCH, "gradient_batch": batch, "size": model.size, "steps": steps}
    with (
        stop_signal() as stop,
        progress_bar("sampling", options.chains * steps, shown=options.progress, unit=" steps") as bar,
    ):
        chain = CompiledChain(model, options, temperature, stop, **plan)
        interruptible(partial(_run_all, chain, states, recorder, step_sizes, bar), stop)


def _run_all(
    chain: CompiledChain, states: Floats, recorder: Recorder, step_sizes: Callable[[Floats], Floats], bar: Any
) -> None:
    for k, state in enumerate(states):
        chain.begin(state)
        _run(chain, k, recorder, step_sizes, bar)


def _run(chain: CompiledChain, k: int, recorder: Recorder, step_sizes: Callable[[Floats], Floats], bar: Any) -> None:
    """Run one chain to its end, and record it."""
    seed, size = chain.options.seeds[k], chain.model.size
    steps, batch = (int(chain.plan[name][0]) for name in ("steps", "gradient_batch"))
    walk = Walk(size, seed, Kind.PROPOSAL_ORDER, wanted=True)
    moves = generator(seed, Kind.PROPOSAL)
    while chain.record["step"][0] < steps:
        first = int(chain.record["step"][0])
        length = chain.begin_block(steps - first)
        sizes = np.array(step_sizes(np.arange(first, first + length + 1.0)) * np.ones(length + 1))
        outcome = Outcome.PAUSED
        noise = normals(moves, (length, chain.vectors.shape[1]))
        while outcome not in (Outcome.FINISHED, Outcome.NOISE_USED):
            outcome = _advance(chain, walk, noise, sizes)
            if outcome in (Outcome.STATE_NOT_FINITE, Outcome.OUTSIDE):
                _raise(chain, k)
            chain.listen(bar)
        # equation 11 of `stochastic_langevin`: theta_t weighs eps_t, the size of the step that leaves it
        columns = {"weights": sizes[1:]} if "weights" in recorder.columns else {}
        cost = np.arange(first + 1, first + length + 1) * batch
        recorder.extend(k, first, points=chain.points, cost=cost, **columns)


def _advance(chain: CompiledChain, walk: Walk, noise: Floats, sizes: Floats) -> Outcome:
    return Outcome(
        advance(
            chain.plan,
            chain.record,
            chain.terms.addresses,
            chain.bounds,
            chain.vectors,
            noise,
            sizes,
            chain.heat,
            walk.record,
            walk.order,
            walk.tables,
            chain.rows,
            chain.values,
            chain.digits,
            chain.points,
            chain.quota,
            chain.stop.flag,
        )
    )


def _raise(chain: CompiledChain, k: int) -> None:
    """Say what is wrong with the state, naming chain and step."""
    step, vectors = int(chain.record["step"][0]), chain.vectors[:, None]
    require_gradients(vectors[Vector.PRIOR_GRADIENT], vectors[Vector.STATE], [k], [step])
    require_states(vectors[Vector.PROPOSED], [k], [step], "the state")
    require_support(chain.model, vectors[Vector.STATE], [k], step)
