"""One chain of stochastic gradient Langevin dynamics in compiled code: the steps of `stochastic_langevin`."""

from __future__ import annotations

import math
from typing import Any

from steinkit.runtime.compilation import array_kernel
from steinkit.sample import Floats, Integers
from steinkit.samplers.chains.compiled.order_kernels import end_reading, take_rows
from steinkit.samplers.chains.compiled.posterior_kernels import batch_gradient, grad_log_prior
from steinkit.samplers.chains.compiled.records import Outcome, Vector


@array_kernel
def advance(
    plans: Any,
    chains: Any,
    terms: Integers,
    bounds: Floats,
    vectors: Floats,
    noise: Floats,
    step_sizes: Floats,
    temperatures: Floats,
    walks: Any,
    order: Any,
    tables: Any,
    rows: Integers,
    values: Floats,
    digits: Any,
    points: Floats,
    quota: int,
    stop: Any,
) -> Outcome:
    """Run the chain on, and say why it stopped; arguments as in `metropolis_kernels.advance`.

    ``step_sizes`` are those of the steps from ``chain.block_start`` on, shape (B,);
    ``walks``, ``order`` and ``tables`` are those of the gradient.
    """
    state, prior, data = vectors[Vector.STATE], vectors[Vector.PRIOR_GRADIENT], vectors[Vector.DATA_GRADIENT]
    plan, chain, walk, read, proposed = plans[0], chains[0], walks[0], 0, vectors[Vector.PROPOSED]
    batch = plan.gradient_batch
    while chain.step < plan.steps:
        now = chain.step - chain.block_start
        if now == len(temperatures):
            return Outcome.NOISE_USED
        if read >= quota:
            return Outcome.PAUSED
        read += batch
        take_rows(walk, order, tables, batch, rows, digits)
        end_reading(walk, tables)
        grad_log_prior(terms, state, prior)
        batch_gradient(terms, state, rows, batch, plan.slice_rows, data, values, vectors[Vector.SUM], stop)
        if stop[0]:
            return Outcome.PAUSED
        factor, step = plan.size / batch / temperatures[now], step_sizes[now]
        for j in range(len(state)):
            prior[j] += factor * data[j]
            proposed[j] = state[j] + (0.5 * step * prior[j] + math.sqrt(step) * noise[now, j])
        for j in range(len(state)):
            if not math.isfinite(proposed[j]):
                return Outcome.STATE_NOT_FINITE
        for j in range(len(state)):
            state[j] = proposed[j]
        for j in range(len(bounds)):
            if not bounds[j, 0] <= state[j] <= bounds[j, 1]:
                return Outcome.OUTSIDE
        chain.step += 1
        for j in range(len(state)):
            points[now, j] = state[j]
    return Outcome.FINISHED
