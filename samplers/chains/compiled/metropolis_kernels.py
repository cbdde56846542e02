"""One Metropolis-Hastings chain in compiled code: the steps of `steinkit.samplers.chains.run`, in their order.

A call goes on where the last one stopped, and comes back when the chain is finished, noise is used up, or enough has
been done for the caller to look at the time. Tests are those of `steinkit.samplers.acceptance.rules`, moves those of
`steinkit.samplers.chains.proposals`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from steinkit.runtime.compilation import array_kernel
from steinkit.sample import Floats, Integers
from steinkit.samplers.acceptance.interface import Look
from steinkit.samplers.acceptance.rules import Rule, decide
from steinkit.samplers.chains.compiled.posterior_kernels import (
    batch_gradient,
    grad_log_prior,
    largest_log_ratio,
    log_prior,
    log_ratios,
    slice_log_likelihood,
    total_gradient,
)
from steinkit.samplers.chains.compiled.records import Block, Drift, Machine, Outcome, Terms, Vector
from steinkit.samplers.chains.proposals import add_noise, follow_gradient
from steinkit.samplers.chains.random_order_kernels import end_reading, take_rows

_add_noise, _follow_gradient = array_kernel(add_noise), array_kernel(follow_gradient)


@array_kernel
def advance(machine: Machine, block: Block, quota: int) -> Outcome:
    """Run the chain on, and say why it stopped: after ``quota`` data, or once ``terms.stop`` holds, at the latest."""
    # handed on one by one: to take an array out of a tuple, which counts it, costs as much as a term of the likelihood
    plan, chain, terms, vectors, read = machine.plan[0], machine.chain[0], machine.terms, machine.vectors, 0
    scale, rule, test_walk, gradient_walk = machine.scale, machine.rule, machine.test_walk, machine.gradient_walk
    noise, temperatures, levels, normals, points, results = block
    digits, rows, values, stop = machine.digits, terms.rows, terms.values, terms.stop
    while True:
        now = chain.step - chain.block_start
        if not chain.testing:
            if chain.step == plan.steps or chain.spent + plan.first_batch + plan.step_cost > plan.budget:
                return Outcome.FINISHED
            if now == len(levels):
                return Outcome.NOISE_USED
            if read >= quota:
                return Outcome.PAUSED
            read += 1
            if plan.drift == Drift.NONE:
                for j in range(len(scale)):
                    vectors[Vector.PROPOSED, j] = _add_noise(vectors[Vector.STATE, j], scale[j], noise[now, j])
            else:
                propose_along_gradient(plan, terms, vectors, noise[now], temperatures[now], gradient_walk, digits)
                read += 2 * plan.gradient_batch if plan.drift == Drift.MINIBATCH else plan.size
            outcome = weigh_proposal(plan, chain, terms, vectors, temperatures[now])
            if stop[0]:
                return Outcome.PAUSED
            if outcome != Outcome.GO_ON:
                return outcome  # type: ignore[no-any-return]
            if chain.offset == -np.inf:
                conclude(plan, chain, vectors, points, results, False)
                chain.outside += 1
                if chain.outside >= plan.patience:
                    return Outcome.LOST
                continue
            if plan.scans:
                read += plan.size
            continue
        if read >= quota:
            return Outcome.PAUSED
        count = min(chain.target - chain.count, terms.longest)
        read += count
        if plan.reads_all:
            chain.proposed_log_likelihood += slice_log_likelihood(terms, vectors[Vector.PROPOSED], chain.count, count)
            chain.count += count
        else:
            take_rows(test_walk, 0, rows[:count], digits)
            log_ratios(terms, vectors[Vector.STATE], vectors[Vector.PROPOSED], count)
            if not add_values(chain, values, count):
                return Outcome.LIKELIHOOD_NO_NUMBER
        if chain.count == chain.target:
            if plan.reads_all:
                if not chain.proposed_log_likelihood < np.inf:
                    chain.wrong = chain.proposed_log_likelihood
                    return Outcome.LIKELIHOOD_NO_NUMBER
                chain.mean = (chain.proposed_log_likelihood - chain.log_likelihood) / plan.size
            decided, accepted = True, False
            if chain.mean != -np.inf:  # else some datum has no likelihood at the proposal
                normal = normals[now] if len(normals) else 0.0
                decided, accepted = look_at(plan, chain, rule, levels[now], normal, temperatures[now])
            if decided:
                conclude(plan, chain, vectors, points, results, accepted)
                if not plan.reads_all:
                    end_reading(test_walk, 0)


@array_kernel
def propose_along_gradient(
    plan: Any, terms: Terms, vectors: Floats, noise: Floats, temperature: float, walk: Any, digits: Any
) -> None:
    """theta' = theta + (eps / 2) g(theta) + sqrt(eps) xi; of a minibatch the rows are left in ``terms.rows``."""
    state, centre, proposed = vectors[Vector.STATE], vectors[Vector.CENTRE], vectors[Vector.PROPOSED]
    prior, data = vectors[Vector.PRIOR_GRADIENT], vectors[Vector.DATA_GRADIENT]
    if plan.drift == Drift.MINIBATCH:
        take_rows(walk, 0, terms.rows[: plan.gradient_batch], digits)
        end_reading(walk, 0)
        grad_log_prior(terms, state, prior)
        batch_gradient(terms, state, plan.gradient_batch, data)
    factor = drift_factor(plan, temperature)
    for j in range(len(state)):
        centre[j] = _follow_gradient(state[j], plan.step_size, prior[j] + factor * data[j])
        proposed[j] = _add_noise(centre[j], math.sqrt(plan.step_size), noise[j])


@array_kernel
def drift_factor(plan: Any, temperature: float) -> float:
    """What the likelihood's gradient is multiplied by: 1 / T, or N / (n T) for a minibatch."""
    if plan.drift == Drift.MINIBATCH:
        factor: float = plan.size / plan.gradient_batch / temperature
        return factor
    return 1.0 / temperature


@array_kernel
def way_back(plan: Any, terms: Terms, vectors: Floats, temperature: float) -> float:
    """log q(theta | theta') - log q(theta' | theta) of a Langevin proposal, over the same data both ways."""
    state, centre, proposed = vectors[Vector.STATE], vectors[Vector.CENTRE], vectors[Vector.PROPOSED]
    prior, data = vectors[Vector.PROPOSED_PRIOR_GRADIENT], vectors[Vector.PROPOSED_DATA_GRADIENT]
    grad_log_prior(terms, proposed, prior)
    if plan.drift == Drift.MINIBATCH:
        batch_gradient(terms, proposed, plan.gradient_batch, data)
    else:
        total_gradient(terms, proposed, data)
    factor, there, back = drift_factor(plan, temperature), 0.0, 0.0
    for j in range(len(state)):
        there += (proposed[j] - centre[j]) ** 2
        back += (state[j] - _follow_gradient(proposed[j], plan.step_size, prior[j] + factor * data[j])) ** 2
    ratio: float = (there - back) / (2.0 * plan.step_size)
    return ratio


@array_kernel
def weigh_proposal(plan: Any, chain: Any, terms: Terms, vectors: Floats, temperature: float) -> Outcome:
    """Find the proposal's offset, and begin its test; minus infinity outside the support."""
    proposed = vectors[Vector.PROPOSED]
    for j in range(len(proposed)):
        if not math.isfinite(proposed[j]):
            return Outcome.STATE_NOT_FINITE
    chain.number = chain.count = 0
    chain.mean = chain.squares = chain.proposed_log_likelihood = 0.0
    chain.proposed_log_prior = log_prior(terms, proposed)
    if chain.proposed_log_prior == -np.inf:
        chain.offset = -np.inf
        return Outcome.GO_ON
    ratio = 0.0 if plan.drift == Drift.NONE else way_back(plan, terms, vectors, temperature)
    chain.offset = chain.proposed_log_prior - chain.log_prior + ratio
    if not chain.offset < np.inf:
        chain.wrong = chain.offset
        return Outcome.RATIO_NO_NUMBER
    if chain.offset == -np.inf:
        return Outcome.GO_ON
    chain.outside = 0
    chain.target = plan.first_batch
    chain.testing = 1
    chain.bound = plan.bound
    if plan.scans:
        chain.scanned += plan.size
        chain.bound = largest_log_ratio(terms, vectors[Vector.STATE], proposed)
    return Outcome.GO_ON


@array_kernel
def sum_of(values: Floats, count: int) -> float:
    """Sum of the first values: four sums side by side, since each addition waits for the one before."""
    first = second = third = fourth = 0.0
    whole = count - count % 4
    for i in range(0, whole, 4):
        first += values[i]
        second += values[i + 1]
        third += values[i + 2]
        fourth += values[i + 3]
    for i in range(whole, count):
        first += values[i]
    return (first + second) + (third + fourth)


@array_kernel
def add_values(chain: Any, values: Floats, count: int) -> bool:
    """Merge a slice's mean and squares with those before (Chan, Golub and LeVeque 1983); False if it is no number.

    The values become squares of their deviations.
    """
    mean = sum_of(values, count) / count
    if not mean < np.inf:
        chain.wrong = mean
        return False
    for i in range(count):
        values[i] = (values[i] - mean) ** 2
    squares = sum_of(values, count)
    if chain.mean != -np.inf:
        share = count / (chain.count + count)
        difference = mean - chain.mean
        chain.mean += difference * share
        chain.squares += squares + difference * difference * (chain.count * share)
    chain.count += count
    return True


@array_kernel
def look_at(plan: Any, chain: Any, rule: Rule, level: float, normal: float, temperature: float) -> tuple[bool, bool]:
    """Let the test decide, or ask for more data."""
    N, b = plan.size, chain.count
    variance = chain.squares / max(b - 1, 1)
    look = Look(N, chain.number, b, chain.mean, variance, chain.offset, temperature, level, normal, chain.bound, None)
    decided, accepted, wanted = decide(rule, look)
    chain.number += 1
    chain.target = min(wanted, N)
    return decided, accepted


@array_kernel
def copy_row(source: Floats, at: int, target: Floats, to: int) -> None:
    """Copy a row; a loop, since assignments of slices take Numba seconds to compile."""
    for j in range(source.shape[1]):
        target[to, j] = source[at, j]


@array_kernel
def conclude(plan: Any, chain: Any, vectors: Floats, points: Floats, results: Integers, accepted: bool) -> None:
    """Move if the test accepted, and record the step."""
    now = chain.step - chain.block_start
    if accepted:
        copy_row(vectors, Vector.PROPOSED, vectors, Vector.STATE)
        chain.log_prior = chain.proposed_log_prior
        chain.log_likelihood = chain.proposed_log_likelihood
        if plan.drift == Drift.ALL_DATA:
            copy_row(vectors, Vector.PROPOSED_PRIOR_GRADIENT, vectors, Vector.PRIOR_GRADIENT)
            copy_row(vectors, Vector.PROPOSED_DATA_GRADIENT, vectors, Vector.DATA_GRADIENT)
    chain.testing = 0
    chain.step += 1
    chain.spent += chain.count + plan.step_cost
    copy_row(vectors, Vector.STATE, points, now)
    results[now, 0] = chain.spent
    results[now, 1] = accepted
    results[now, 2] = chain.count
    results[now, 3] = chain.scanned
