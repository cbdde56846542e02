"""Chains of stochastic gradient Langevin dynamics one after another, each in compiled code."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from steinkit.runtime.progress import progress_bar
from steinkit.sample import Floats
from steinkit.samplers.chains.compiled.chain_blocks import CompiledChain, Orders
from steinkit.samplers.chains.compiled.langevin_kernels import advance
from steinkit.samplers.chains.compiled.records import Drift, Outcome, Vector
from steinkit.samplers.chains.likelihood_terms import PosteriorModel, require_states, require_support
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
    chain = CompiledChain(
        model, options, temperature, drift=Drift.MINIBATCH, gradient_batch=batch, size=model.size, steps=steps
    )
    with progress_bar("sampling", options.chains * steps, shown=options.progress, unit=" steps") as bar:
        for k, seed in enumerate(options.seeds):
            chain.begin(states[k])
            orders = Orders(model.size, seed, Kind.PROPOSAL_ORDER, wanted=True)
            moves = generator(seed, Kind.PROPOSAL)
            while chain.record["step"][0] < steps:
                first = int(chain.record["step"][0])
                length = chain.begin_block(steps - first)
                sizes = np.array(step_sizes(np.arange(first, first + length + 1.0)) * np.ones(length + 1))
                outcome = Outcome.PAUSED
                noise = normals(moves, (length, states.shape[1]))
                while outcome not in (Outcome.FINISHED, Outcome.NOISE_USED):
                    outcome = _advance(chain, orders, noise, sizes)
                    if outcome == Outcome.GRADIENT_ORDERS_USED:
                        orders.renew()
                        chain.record["gradient_order"] = 0
                    elif outcome in (Outcome.STATE_NOT_FINITE, Outcome.OUTSIDE):
                        _raise(chain, k)
                    chain.listen(bar)
                # equation 11 of `stochastic_langevin`: theta_t weighs eps_t, the size of the step that leaves it
                columns = {"weights": sizes[1:]} if "weights" in recorder.columns else {}
                cost = np.arange(first + 1, first + length + 1) * batch
                recorder.extend(k, first, points=chain.points, cost=cost, **columns)


def _advance(chain: CompiledChain, orders: Orders, noise: Floats, sizes: Floats) -> Outcome:
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
            orders.permuted,
            orders.tables,
            chain.rows,
            chain.values,
            chain.digits,
            chain.points,
            chain.quota,
        )
    )


def _raise(chain: CompiledChain, k: int) -> None:
    """Say what is wrong with the state, naming chain and step."""
    step, state = int(chain.record["step"][0]), chain.vectors[Vector.STATE][None]
    require_states(state, [k], [step], "the state")
    require_support(chain.model, state, [k], step)
