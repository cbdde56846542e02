"""One chain of stochastic gradient Langevin dynamics in compiled code: the steps of `stochastic_langevin`."""

from __future__ import annotations

import math

from steinkit.runtime.compilation import array_kernel
from steinkit.samplers.chains.compiled.posterior_kernels import batch_gradient, grad_log_prior
from steinkit.samplers.chains.compiled.records import Block, Machine, Outcome, Vector
from steinkit.samplers.chains.random_order_kernels import end_reading, take_rows


@array_kernel
def advance(machine: Machine, block: Block, quota: int) -> Outcome:
    """Run the chain on, and say why it stopped, as `metropolis_kernels.advance`; levels are the sizes of the steps."""
    plan, chain, terms, vectors, read = machine.plan[0], machine.chain[0], machine.terms, machine.vectors, 0
    state, prior, data = vectors[Vector.STATE], vectors[Vector.PRIOR_GRADIENT], vectors[Vector.DATA_GRADIENT]
    proposed, batch = vectors[Vector.PROPOSED], plan.gradient_batch
    walk, digits, rows = machine.gradient_walk, machine.digits, terms.rows[:batch]
    noise, temperatures, levels, _, points, _ = block
    bounds, mode, at_mode = terms.bounds, vectors[Vector.MODE], vectors[Vector.GRADIENT_AT_MODE]
    while chain.step < plan.steps:
        now = chain.step - chain.block_start
        if now == len(temperatures):
            return Outcome.NOISE_USED
        if read >= quota:
            return Outcome.PAUSED
        read += batch
        take_rows(walk, 0, rows, digits)
        end_reading(walk, 0)
        grad_log_prior(terms, state, prior)
        batch_gradient(terms, state, batch, data)
        if plan.variates:  # what the same data say at the mode gives way to what all the data say there
            batch_gradient(terms, mode, batch, proposed)
            for j in range(len(state)):
                data[j] = (data[j] - proposed[j]) + batch / plan.size * at_mode[j]
        if terms.stop[0]:
            return Outcome.PAUSED
        factor, step = plan.size / batch / temperatures[now], levels[now]
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
