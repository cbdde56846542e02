"""One Metropolis-Hastings chain in compiled code: the steps of `steinkit.samplers.chains.run`, in their order.

A call goes on where the last one stopped, and comes back when the chain is finished, noise or orders are used up, or
enough has been done for the caller to look at the time. Tests are those of `steinkit.samplers.acceptance`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from steinkit.runtime.compilation import array_kernel
from steinkit.sample import Floats, Integers
from steinkit.samplers.acceptance.concentration import RANGE_FACTOR
from steinkit.samplers.acceptance.interface import ROUNDING
from steinkit.samplers.acceptance.minibatch_barker import JUMP
from steinkit.samplers.chains.compiled.order_kernels import end_reading, take_rows
from steinkit.samplers.chains.compiled.posterior_kernels import (
    batch_gradient,
    grad_log_prior,
    largest_log_ratio,
    log_prior,
    log_ratios,
    slice_log_likelihood,
    total_gradient,
)
from steinkit.samplers.chains.compiled.records import Drift, Outcome, Rule, Vector


@array_kernel
def advance(
    plans: Any,
    chains: Any,
    terms: Integers,
    scale: Floats,
    bounds: Floats,
    thresholds: Floats,
    vectors: Floats,
    noise: Floats,
    levels: Floats,
    normals: Floats,
    temperatures: Floats,
    test_walk: Any,
    test_order: Any,
    test_tables: Any,
    gradient_walk: Any,
    gradient_order: Any,
    gradient_tables: Any,
    rows: Integers,
    values: Floats,
    digits: Any,
    points: Floats,
    results: Integers,
    quota: int,
    stop: Any,
) -> Outcome:
    """Run the chain on, and say why it stopped.

    Parameters
    ----------
    plans, chains : ndarray of records, shape (1,)
        See `steinkit.samplers.chains.compiled.records`.
    terms : ndarray of int, shape (6,)
        `CompiledTerms.addresses`.
    scale : ndarray, shape (d,)
        Of a random walk.
    bounds : ndarray, shape (d, 2) or (0, 2)
    thresholds : ndarray, shape (J - 1,)
        `AcceptanceTest.fixed_thresholds`.
    vectors : ndarray, shape (8, d)
        Rows as `Vector` numbers them.
    noise, levels, normals, temperatures : ndarray, shapes (B, d), (B,), (B,), (B,)
        Of the steps from ``chain.block_start`` on; normals may be empty.
    test_walk, gradient_walk : ndarray of records, shape (1,)
        And their orders and tables; see `steinkit.samplers.chains.random_order_kernels.next_rows`.
    rows : ndarray of int, shape (S,)
        Room for the numbers of the data of a slice.
    values : ndarray, shape (2 S,)
    digits : ndarray of uint32, shape (2, TOGETHER)
    points : ndarray, shape (B, d)
        The states after the steps.
    results : ndarray of int, shape (B, 4)
        What was spent up to each step, whether the move was accepted, data that its test read, and data scanned.
    quota : int
        Data after which to come back.
    stop : ndarray of bool, shape (1,)
        Whether to come back at once, the step unfinished.
    """
    plan, chain, read = plans[0], chains[0], 0
    while True:
        if not chain.testing:
            if chain.step == plan.steps or chain.spent + plan.first_batch + plan.step_cost > plan.budget:
                return Outcome.FINISHED
            if chain.step - chain.block_start == len(levels):
                return Outcome.NOISE_USED
            if read >= quota:
                return Outcome.PAUSED
            read += 1
            now = chain.step - chain.block_start
            if plan.drift == Drift.NONE:
                for j in range(len(scale)):
                    vectors[Vector.PROPOSED, j] = vectors[Vector.STATE, j] + scale[j] * noise[now, j]
            else:
                propose_along_gradient(
                    plan, terms, vectors, noise[now], temperatures[now], gradient_walk[0], gradient_order,
                    gradient_tables, rows, values, digits, stop,
                )  # fmt: skip
                read += 2 * plan.gradient_batch if plan.drift == Drift.MINIBATCH else plan.size
            outcome = weigh_proposal(plan, chain, terms, bounds, vectors, temperatures[now], rows, values, stop)
            if stop[0]:
                return Outcome.PAUSED
            if outcome != Outcome.GO_ON:
                return outcome  # type: ignore[no-any-return]
            if chain.offset == -np.inf:
                conclude(plan, chain, vectors, points, results, np.int64(0))
                chain.outside += 1
                if chain.outside >= plan.patience:
                    return Outcome.LOST
                continue
            if plan.scans:
                read += plan.size
            continue
        if read >= quota:
            return Outcome.PAUSED
        now = chain.step - chain.block_start
        count = min(chain.target - chain.count, plan.slice_rows)
        read += count
        if plan.rule == Rule.ALL_DATA:
            chain.proposed_log_likelihood += slice_log_likelihood(
                terms, vectors[Vector.PROPOSED], chain.count, count, values
            )
            chain.count += count
        else:
            take_rows(test_walk[0], test_order, test_tables, count, rows, digits)
            log_ratios(terms, vectors[Vector.STATE], vectors[Vector.PROPOSED], rows, count, values)
            if not add_values(chain, values, count):
                return Outcome.LIKELIHOOD_NO_NUMBER
        if chain.count == chain.target:
            normal = normals[now] if len(normals) else 0.0
            verdict = decide(plan, chain, thresholds, levels[now], normal, temperatures[now])
            if verdict == _NO_NUMBER:
                return Outcome.LIKELIHOOD_NO_NUMBER
            if verdict != _UNDECIDED:
                conclude(plan, chain, vectors, points, results, np.int64(verdict == _ACCEPTED))
                if plan.rule != Rule.ALL_DATA:
                    end_reading(test_walk[0], test_tables)


@array_kernel
def propose_along_gradient(
    plan: Any,
    terms: Integers,
    vectors: Floats,
    noise: Floats,
    temperature: float,
    walk: Any,
    order: Any,
    tables: Any,
    rows: Integers,
    values: Floats,
    digits: Any,
    stop: Any,
) -> None:
    """theta' = theta + (eps / 2) g(theta) + sqrt(eps) xi; of a minibatch the rows are left in ``rows``."""
    state, centre, proposed = vectors[Vector.STATE], vectors[Vector.CENTRE], vectors[Vector.PROPOSED]
    prior, data = vectors[Vector.PRIOR_GRADIENT], vectors[Vector.DATA_GRADIENT]
    if plan.drift == Drift.MINIBATCH:
        take_rows(walk, order, tables, plan.gradient_batch, rows, digits)
        end_reading(walk, tables)
        grad_log_prior(terms, state, prior)
        work = vectors[Vector.SUM]
        batch_gradient(terms, state, rows, plan.gradient_batch, plan.slice_rows, data, values, work, stop)
    factor = drift_factor(plan, temperature)
    for j in range(len(state)):
        centre[j] = state[j] + 0.5 * plan.step_size * (prior[j] + factor * data[j])
        proposed[j] = centre[j] + math.sqrt(plan.step_size) * noise[j]


@array_kernel
def drift_factor(plan: Any, temperature: float) -> float:
    """What the likelihood's gradient is multiplied by: 1 / T, or N / (n T) for a minibatch."""
    if plan.drift == Drift.MINIBATCH:
        factor: float = plan.size / plan.gradient_batch / temperature
        return factor
    return 1.0 / temperature


@array_kernel
def way_back(
    plan: Any, terms: Integers, vectors: Floats, temperature: float, rows: Integers, values: Floats, stop: Any
) -> float:
    """log q(theta | theta') - log q(theta' | theta) of a Langevin proposal, over the same data both ways."""
    state, centre, proposed = vectors[Vector.STATE], vectors[Vector.CENTRE], vectors[Vector.PROPOSED]
    prior, data = vectors[Vector.PROPOSED_PRIOR_GRADIENT], vectors[Vector.PROPOSED_DATA_GRADIENT]
    longest, work = plan.slice_rows, vectors[Vector.SUM]
    grad_log_prior(terms, proposed, prior)
    if plan.drift == Drift.MINIBATCH:
        batch_gradient(terms, proposed, rows, plan.gradient_batch, longest, data, values, work, stop)
    else:
        total_gradient(terms, proposed, plan.size, longest, data, rows, values, work, stop)
    factor, there, back = drift_factor(plan, temperature), 0.0, 0.0
    for j in range(len(state)):
        there += (proposed[j] - centre[j]) ** 2
        back += (state[j] - (proposed[j] + 0.5 * plan.step_size * (prior[j] + factor * data[j]))) ** 2
    ratio: float = (there - back) / (2.0 * plan.step_size)
    return ratio


@array_kernel
def weigh_proposal(
    plan: Any,
    chain: Any,
    terms: Integers,
    bounds: Floats,
    vectors: Floats,
    temperature: float,
    rows: Integers,
    values: Floats,
    stop: Any,
) -> Outcome:
    """Find the proposal's offset, and begin its test; minus infinity outside the support."""
    proposed = vectors[Vector.PROPOSED]
    for j in range(len(proposed)):
        if not math.isfinite(proposed[j]):
            return Outcome.STATE_NOT_FINITE
    chain.number = chain.count = 0
    chain.mean = chain.squares = chain.proposed_log_likelihood = 0.0
    chain.proposed_log_prior = log_prior(terms, proposed, bounds)
    if chain.proposed_log_prior == -np.inf:
        chain.offset = -np.inf
        return Outcome.GO_ON
    ratio = 0.0 if plan.drift == Drift.NONE else way_back(plan, terms, vectors, temperature, rows, values, stop)
    chain.offset = chain.proposed_log_prior - chain.log_prior + ratio
    if not chain.offset < np.inf:
        chain.wrong = chain.offset
        return Outcome.RATIO_NO_NUMBER
    if chain.offset == -np.inf:
        return Outcome.GO_ON
    chain.outside = 0
    chain.target = plan.first_batch
    chain.testing = 1
    if plan.scans:
        chain.scanned += plan.size
        state, longest = vectors[Vector.STATE], plan.slice_rows
        chain.bound = largest_log_ratio(terms, state, proposed, plan.size, longest, rows, values, stop)
    else:
        chain.bound = plan.bound
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


_UNDECIDED, _REJECTED, _ACCEPTED, _NO_NUMBER = range(4)


@array_kernel
def decide(plan: Any, chain: Any, thresholds: Floats, level: float, normal: float, temperature: float) -> int:
    """Let the test decide, or ask for more data."""
    N, b = plan.size, chain.count
    scale, number = N / temperature, chain.number
    chain.number += 1
    if plan.rule == Rule.ALL_DATA:
        if not chain.proposed_log_likelihood < np.inf:
            chain.wrong = chain.proposed_log_likelihood
            return _NO_NUMBER
        chain.mean = (chain.proposed_log_likelihood - chain.log_likelihood) / N
        return _ACCEPTED if scale * chain.mean + chain.offset + plan.sigma * normal > level else _REJECTED
    if chain.mean == -np.inf:  # some datum has no likelihood at the proposal
        return _REJECTED
    variance = chain.squares / max(b - 1, 1)
    varies = variance > ROUNDING * chain.mean * chain.mean
    gap = chain.mean - (level - chain.offset) / scale
    if plan.rule == Rule.THRESHOLDS:
        s = math.sqrt(variance / b * (1.0 - (b - 1.0) / max(N - 1, 1)))
        decided = varies and number < len(thresholds) and abs(gap) > thresholds[number] * s
        accepted = gap > 0.0
        chain.target = min(b + plan.first_batch, N)
    elif plan.rule == Rule.BARKER:
        s2, target = scale * scale * variance * (1.0 / b - 1.0 / N), plan.sigma**2
        decided = varies and s2 < target
        noise = math.sqrt(max(target - s2, 0.0)) * normal
        accepted = scale * chain.mean + chain.offset + noise > level
        chain.target = min(barker_target(plan, b, s2 / target), N)
    else:
        delta = plan.epsilon * (plan.power - 1.0) / (plan.power * (number + 1.0) ** plan.power)
        L = math.log(5.0 / delta)
        rho = 1.0 - (b - 1.0) / N if 2 * b <= N else (1.0 - b / N) * (1.0 + 1.0 / b)
        decided = abs(gap) > math.sqrt(variance * 2.0 * rho * L / b) + RANGE_FACTOR * 2.0 * chain.bound * L / b
        accepted = gap > 0.0
        chain.target = np.int64(min(np.ceil(plan.factor * b), float(N)))
    if not decided and b < N:
        return _UNDECIDED
    return _ACCEPTED if accepted else _REJECTED


@array_kernel
def barker_target(plan: Any, b: int, excess: float) -> int:
    """Data for the next look of the minibatch Barker test, whose s^2 is ``excess`` times what is wanted."""
    batch: int = plan.first_batch
    if not plan.grows_in_jumps:
        return b + batch
    batches = 0.0 if math.isnan(excess) else np.ceil(JUMP * excess * (b / batch))
    return int(min(max(batches, b // batch + 1.0), plan.size // batch + 1.0)) * batch


@array_kernel
def copy_row(source: Floats, at: int, target: Floats, to: int) -> None:
    """Copy a row; a loop, since assignments of slices take Numba seconds to compile."""
    for j in range(source.shape[1]):
        target[to, j] = source[at, j]


@array_kernel
def conclude(plan: Any, chain: Any, vectors: Floats, points: Floats, results: Integers, accepted: int) -> None:
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
