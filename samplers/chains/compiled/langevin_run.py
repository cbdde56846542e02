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
from steinkit.samplers.chains.compiled.chain_blocks import CompiledChain
from steinkit.samplers.chains.compiled.langevin_kernels import advance
from steinkit.samplers.chains.compiled.records import Outcome, Vector
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
    shown = progress_bar("sampling", options.chains * steps, shown=options.progress, unit=" steps")
    with stop_signal() as stop, shown as bar:
        chain = CompiledChain(model, options, temperature, stop, reads_all=1, gradient_batch=batch, steps=steps)
        interruptible(partial(_run_all, chain, states, recorder, step_sizes, bar), stop)


def _run_all(
    chain: CompiledChain, states: Floats, recorder: Recorder, step_sizes: Callable[[Floats], Floats], bar: Any
) -> None:
    steps, batch = (int(chain.plan[name][0]) for name in ("steps", "gradient_batch"))
    for k, state in enumerate(states):
        chain.begin(k, state)
        moves = generator(chain.options.seeds[k], Kind.PROPOSAL)

        def noise(length: int, first: int, moves: Any = moves) -> tuple[Floats, Floats, Floats]:
            sizes = np.array(step_sizes(np.arange(first, first + length + 1.0)) * np.ones(length + 1))
            return normals(moves, (length, states.shape[1])), sizes, np.empty(0)

        while (first := int(chain.record["step"])) < steps:
            chain.begin_block(steps - first, partial(noise, first=first))
            outcome = chain.run_block(advance, bar)
            if outcome not in (Outcome.FINISHED, Outcome.NOISE_USED):
                _raise(chain, k)
            # equation 11 of `stochastic_langevin`: theta_t weighs eps_t, the size of the step that leaves it
            columns = {"weights": chain.block.levels[1:]} if "weights" in recorder.columns else {}
            cost = (first + 1 + np.arange(len(chain.block.points))) * batch
            recorder.extend(k, first, points=chain.block.points, cost=cost, **columns)


def _raise(chain: CompiledChain, k: int) -> None:
    """Say what is wrong with the state, naming chain and step."""
    step, vectors = int(chain.record["step"]), chain.vectors[:, None]
    require_gradients(vectors[Vector.PRIOR_GRADIENT], vectors[Vector.STATE], [k], [step])
    require_states(vectors[Vector.PROPOSED], [k], [step], "the state")
    require_support(chain.model, vectors[Vector.STATE], [k], step)
