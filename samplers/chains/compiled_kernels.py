"""Compiled Metropolis-Hastings and SGLD steps for one chain.

The steps and their order are the same as in `steinkit.samplers.chains.run` and `stochastic_langevin`. Each call runs
one block of steps and continues from the state at the end of the previous call. The tests are defined in
`steinkit.samplers.acceptance.rules`, and the moves in `steinkit.samplers.chains.gradients`. The functions described in
`steinkit.compiled_terms` compute sums over the terms of a posterior, one slice at a time.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from steinkit.runtime.compilation import array_kernel
from steinkit.runtime.function_pointers import call_at, number_at
from steinkit.sample import Floats, Integers
from steinkit.samplers.acceptance.interface import Stage
from steinkit.samplers.acceptance.rules import Rule, decide
from steinkit.samplers.chains.gradients import add_noise, follow_gradient
from steinkit.samplers.chains.random_order_kernels import end_reading, take_rows


class Outcome(IntEnum):
    """Reason why a call ended."""

    CONTINUE = -1  # an internal value
    FINISHED = 0
    STOPPED = 1  # ended by ``Terms.stop``
    NOISE_USED = 2
    STATE_NOT_FINITE = 3
    RATIO_NOT_A_NUMBER = 4
    LIKELIHOOD_NOT_A_NUMBER = 5
    LOST = 6
    OUTSIDE = 7


class Drift(IntEnum):
    """Data used in the drift of a proposal."""

    NONE = 0
    ALL_DATA = 1
    MINIBATCH = 2


class Vectors(NamedTuple):
    """Row indices of the vectors stored for a chain.

    The indices are plain integers because Numba cannot index with enumeration members.
    """

    STATE: int = 0
    PROPOSED: int = 1
    CENTER: int = 2  # the mean of the proposal
    PRIOR_GRADIENT: int = 3  # at the state
    DATA_GRADIENT: int = 4
    PROPOSED_PRIOR_GRADIENT: int = 5
    PROPOSED_DATA_GRADIENT: int = 6
    MODE: int = 7  # the mode used by the control variates and the gradient of the log likelihood at this mode
    GRADIENT_AT_MODE: int = 8


Vector = Vectors()


def _record(whole: str, real: str) -> np.dtype[np.void]:
    return np.dtype([(name, np.int64) for name in whole.split()] + [(name, np.float64) for name in real.split()])


#: Constants of a run. They are sizes, properties of the proposal, and flags that state whether tests read all the data,
#: scan all the data for a bound, or have a constant bound.
PLAN = _record(
    "size drift gradient_batch variates reads_all first_batch scans steps budget step_cost patience",
    "temperature step_size bound",
)
#: State of a chain. The field ``wrong`` is the invalid value that an error reports.
CHAIN = _record("step block_start spent outside scanned", "log_prior log_likelihood wrong")


class Terms(NamedTuple):
    """Terms of a posterior and buffers for their evaluation.

    Attributes
    ----------
    addresses : ndarray of int, shape (6,)
        `CompiledTerms.addresses`.
    bounds : ndarray, shape (d, 2) or (0, 2)
        Bounds of the support. The array is empty if there are none.
    size, longest : int
        Number of data points N, and the maximum number of data points per call.
    rows : ndarray of int, shape (S,)
        Indices of the data points in a batch.
    values : ndarray, shape (2 S,)
        Buffer for values of data points.
    work : ndarray, shape (d,)
        Buffer for a gradient.
    stop : ndarray of bool, shape (1,)
        True if a call must return immediately with incomplete results.
    """

    addresses: Integers
    bounds: Floats
    size: int
    longest: int
    rows: Integers
    values: Floats
    work: Floats
    stop: Any


class Machine(NamedTuple):
    """State and buffers of a chain.

    Attributes
    ----------
    plan, chain : ndarray of records `PLAN` and `CHAIN`, shape (1,)
        Constants of the run, and state of the chain.
    terms : Terms
        Terms of the posterior.
    vectors : ndarray, shape (9, d)
        Vectors of the chain, in the rows numbered by `Vector`.
    scale : ndarray, shape (d,)
        Standard deviation of a random walk.
    rule : Rule
        Acceptance test, as defined in `steinkit.samplers.acceptance.rules`.
    test_walk, gradient_walk : Walk
        Positions of the chain in its random orders, as defined in `steinkit.samplers.chains.readers`.
    digits : ndarray of uint32, shape (2, TOGETHER)
        Buffer for `random_order_kernels.take_rows`.
    """

    plan: Any
    chain: Any
    terms: Terms
    vectors: Floats
    scale: Floats
    rule: Any
    test_walk: Any
    gradient_walk: Any
    digits: Any


class Block(NamedTuple):
    """Noise and results for B steps, beginning with step ``chain.block_start``.

    Attributes
    ----------
    noise : ndarray, shape (B, d)
        Noise of the moves.
    levels, normals : ndarray, shape (B,)
        Levels and normal random numbers of the tests. For samplers without a test, the levels contain the step sizes.
        The array of normal random numbers may be empty.
    points : ndarray, shape (B, d)
        States after the steps.
    results : ndarray of int, shape (B, 4)
        Cost up to each step, a flag for an accepted move, the number of data points that the test read, and the number
        of data points that were scanned.
    """

    noise: Floats
    levels: Floats
    normals: Floats
    points: Floats
    results: Integers


Given = tuple[float, float, float, float]
# Entries of ``Terms.addresses``.
_TABLE, _RATIOS, _LIKELIHOOD, _GRADIENT, _PRIOR, _PRIOR_GRADIENT = range(6)


@array_kernel
def log_prior(terms: Terms, theta: Floats) -> float:
    """Compute the log prior, which is minus infinity outside the bounds."""
    bounds = terms.bounds
    for j in range(len(bounds)):
        if not bounds[j, 0] <= theta[j] <= bounds[j, 1]:
            return -np.inf
    value: float = number_at(terms.addresses[_PRIOR], (terms.addresses[_TABLE], theta.ctypes.data))
    return value


@array_kernel
def grad_log_prior(terms: Terms, theta: Floats, found: Floats) -> None:
    """Compute the gradient of the log prior as an array of shape (d,)."""
    call_at(terms.addresses[_PRIOR_GRADIENT], (terms.addresses[_TABLE], theta.ctypes.data, found.ctypes.data))


@array_kernel
def log_ratios(terms: Terms, theta: Floats, proposed: Floats, count: int) -> None:
    """Write the l_i of the first ``count`` rows to the value buffer."""
    states = (terms.addresses[_TABLE], theta.ctypes.data, proposed.ctypes.data)
    call_at(terms.addresses[_RATIOS], (*states, terms.rows.ctypes.data, np.int64(count), terms.values.ctypes.data))


@array_kernel
def slice_log_likelihood(terms: Terms, theta: Floats, first: int, count: int) -> float:
    """Compute the log likelihood of ``count`` data points, starting at ``first``."""
    part = (np.int64(first), np.int64(count), terms.values.ctypes.data)
    value: float = number_at(terms.addresses[_LIKELIHOOD], (terms.addresses[_TABLE], theta.ctypes.data, *part))
    return value


@array_kernel
def slice_gradient(terms: Terms, theta: Floats, first: int, count: int, found: Floats) -> None:
    """Compute the sum of the gradients of ``count`` rows, starting at ``first``."""
    rows = terms.rows.ctypes.data + first * terms.rows.itemsize
    part = (rows, np.int64(count), found.ctypes.data, terms.values.ctypes.data)
    call_at(terms.addresses[_GRADIENT], (terms.addresses[_TABLE], theta.ctypes.data, *part))


# The following loops return incomplete results if ``stop`` is set. The slice size is fixed because it affects the last
# digits of the sums.


@array_kernel
def batch_gradient(terms: Terms, theta: Floats, count: int, found: Floats) -> None:
    """Compute the sum of the gradients of the first ``count`` rows."""
    slice_gradient(terms, theta, 0, min(terms.longest, count), found)
    for first in range(terms.longest, count, terms.longest):
        if terms.stop[0]:
            return
        slice_gradient(terms, theta, first, min(terms.longest, count - first), terms.work)
        for j in range(len(found)):
            found[j] += terms.work[j]


@array_kernel
def total_log_likelihood(terms: Terms, theta: Floats) -> float:
    """Compute the log likelihood of all the data."""
    total = 0.0
    for first in range(0, terms.size, terms.longest):
        if terms.stop[0]:
            return total
        total += slice_log_likelihood(terms, theta, first, min(terms.longest, terms.size - first))
    return total


@array_kernel
def fill_rows(terms: Terms, first: int) -> int:
    """Set the rows to a slice of the data and return the size of the slice.

    The slice begins at ``first``.
    """
    count = min(terms.longest, terms.size - first)
    for i in range(count):
        terms.rows[i] = first + i
    return count


@array_kernel
def total_gradient(terms: Terms, theta: Floats, found: Floats) -> None:
    """Compute the gradient of the log likelihood of all the data."""
    for j in range(len(found)):
        found[j] = 0.0
    for first in range(0, terms.size, terms.longest):
        if terms.stop[0]:
            return
        slice_gradient(terms, theta, 0, fill_rows(terms, first), terms.work)
        for j in range(len(found)):
            found[j] += terms.work[j]


@array_kernel
def largest_log_ratio(terms: Terms, theta: Floats, proposed: Floats) -> float:
    """Compute the largest |l_i| over all the data, or NaN if any l_i is NaN."""
    largest = 0.0
    for first in range(0, terms.size, terms.longest):
        if terms.stop[0]:
            return largest
        count = fill_rows(terms, first)
        log_ratios(terms, theta, proposed, count)
        for i in range(count):
            size_of_one = abs(terms.values[i])
            if size_of_one > largest or math.isnan(size_of_one):
                largest = size_of_one
    return largest


_add_noise, _follow_gradient = array_kernel(add_noise), array_kernel(follow_gradient)


@array_kernel
def advance_metropolis(machine: Machine, block: Block) -> Outcome:
    """Run the steps of a block until ``terms.stop`` is set.

    Return the reason why the call ended.
    """
    # the arrays are passed one by one because extracting an array from a tuple takes as long as evaluating a likelihood
    # term
    plan, chain, terms, vectors = machine.plan[0], machine.chain[0], machine.terms, machine.vectors
    scale, rule, test_walk, gradient_walk = machine.scale, machine.rule, machine.test_walk, machine.gradient_walk
    noise, levels, normals, points, results = block
    digits, heat = machine.digits, plan.temperature
    while chain.step < plan.steps and chain.spent + plan.first_batch + plan.step_cost <= plan.budget:
        now = chain.step - chain.block_start
        if now == len(levels):
            return Outcome.NOISE_USED
        proposed = vectors[Vector.PROPOSED]
        if plan.drift == Drift.NONE:
            for j in range(len(scale)):
                proposed[j] = _add_noise(vectors[Vector.STATE, j], scale[j], noise[now, j])
        else:
            propose_along_gradient(plan, terms, vectors, noise[now], gradient_walk, digits)
        for j in range(len(proposed)):
            if not math.isfinite(proposed[j]):
                return Outcome.STATE_NOT_FINITE
        prior, offset = log_prior(terms, proposed), -np.inf
        if prior != -np.inf:
            ratio = 0.0 if plan.drift == Drift.NONE else log_ratio_back(plan, terms, vectors)
            offset = prior - chain.log_prior + ratio
        if terms.stop[0]:
            return Outcome.STOPPED
        if not offset < np.inf:
            chain.wrong = offset
            return Outcome.RATIO_NOT_A_NUMBER
        accepted, count, likelihood = False, 0, 0.0
        if offset > -np.inf:
            given = (offset, heat, levels[now], normals[now] if len(normals) else 0.0)
            outcome, accepted, count, likelihood = judge(plan, chain, terms, vectors, rule, test_walk, digits, given)
            if outcome != Outcome.CONTINUE:
                return outcome  # type: ignore[no-any-return]
        chain.outside = 0 if offset > -np.inf else chain.outside + 1
        if accepted:
            copy_row(vectors, Vector.PROPOSED, vectors, Vector.STATE)
            chain.log_prior, chain.log_likelihood = prior, likelihood
            if plan.drift == Drift.ALL_DATA:
                copy_row(vectors, Vector.PROPOSED_PRIOR_GRADIENT, vectors, Vector.PRIOR_GRADIENT)
                copy_row(vectors, Vector.PROPOSED_DATA_GRADIENT, vectors, Vector.DATA_GRADIENT)
        chain.step += 1
        chain.spent += count + plan.step_cost
        copy_row(vectors, Vector.STATE, points, now)
        results[now, 0], results[now, 1], results[now, 2], results[now, 3] = chain.spent, accepted, count, chain.scanned
        if chain.outside >= plan.patience:
            return Outcome.LOST
    return Outcome.FINISHED


@array_kernel
def propose_along_gradient(plan: Any, terms: Terms, vectors: Floats, noise: Floats, walk: Any, digits: Any) -> None:
    """Compute the state theta' proposed by a Langevin move.

    If a minibatch is used, its row numbers remain in ``terms.rows``.
    """
    state, center, proposed = vectors[Vector.STATE], vectors[Vector.CENTER], vectors[Vector.PROPOSED]
    prior, data = vectors[Vector.PRIOR_GRADIENT], vectors[Vector.DATA_GRADIENT]
    if plan.drift == Drift.MINIBATCH:
        take_rows(walk, 0, terms.rows[: plan.gradient_batch], digits)
        end_reading(walk, 0)
        grad_log_prior(terms, state, prior)
        batch_gradient(terms, state, plan.gradient_batch, data)
    factor = drift_factor(plan)
    for j in range(len(state)):
        center[j] = _follow_gradient(state[j], plan.step_size, prior[j] + factor * data[j])
        proposed[j] = _add_noise(center[j], math.sqrt(plan.step_size), noise[j])


@array_kernel
def drift_factor(plan: Any) -> float:
    """Return the factor that multiplies the gradient.

    The factor is 1 / T for all the data and N / (n T) for a minibatch.
    """
    factor: float = 1.0 / plan.temperature
    if plan.drift == Drift.MINIBATCH:
        factor = plan.size / plan.gradient_batch / plan.temperature
    return factor


@array_kernel
def log_ratio_back(plan: Any, terms: Terms, vectors: Floats) -> float:
    """Compute the log ratio of a Langevin move, using the same data in both terms."""
    state, center, proposed = vectors[Vector.STATE], vectors[Vector.CENTER], vectors[Vector.PROPOSED]
    prior, data = vectors[Vector.PROPOSED_PRIOR_GRADIENT], vectors[Vector.PROPOSED_DATA_GRADIENT]
    grad_log_prior(terms, proposed, prior)
    if plan.drift == Drift.MINIBATCH:
        batch_gradient(terms, proposed, plan.gradient_batch, data)
    else:
        total_gradient(terms, proposed, data)
    factor, there, back = drift_factor(plan), 0.0, 0.0
    for j in range(len(state)):
        there += (proposed[j] - center[j]) ** 2
        back += (state[j] - _follow_gradient(proposed[j], plan.step_size, prior[j] + factor * data[j])) ** 2
    ratio: float = (there - back) / (2.0 * plan.step_size)
    return ratio


@array_kernel
def sum_of(values: Floats, count: int) -> float:
    """Sum the first ``count`` values using four independent partial sums."""
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
def judge(
    plan: Any, chain: Any, terms: Terms, vectors: Floats, rule: Rule, walk: Any, digits: Any, given: Given
) -> tuple[Outcome, bool, int, float]:
    """Run a test.

    Return the outcome, the decision, the number of data points read, and the log likelihood.

    The tuple ``given`` contains the offset, the temperature, the level and the normal random number. The means and
    squares of a slice are merged with the means and squares of the previous slices (Chan, Golub and LeVeque 1983). The
    values of a slice are replaced by their squared deviations.
    """
    values, state, proposed = terms.values, vectors[Vector.STATE], vectors[Vector.PROPOSED]
    count, number, size, mean, squares, likelihood, bound = 0, 0, plan.first_batch, 0.0, 0.0, 0.0, plan.bound
    if plan.scans:
        chain.scanned += plan.size
        bound = largest_log_ratio(terms, state, proposed)
    while True:
        while count < size:
            if terms.stop[0]:
                return Outcome.STOPPED, False, count, likelihood
            some = min(size - count, terms.longest)
            if plan.reads_all:
                likelihood += slice_log_likelihood(terms, proposed, count, some)
            else:
                take_rows(walk, 0, terms.rows[:some], digits)
                log_ratios(terms, state, proposed, some)
                here = sum_of(values, some) / some
                if not here < np.inf:
                    chain.wrong = here
                    return Outcome.LIKELIHOOD_NOT_A_NUMBER, False, count, likelihood
                for i in range(some):
                    values[i] = (values[i] - here) ** 2
                if mean != -np.inf:
                    share, difference = some / (count + some), here - mean
                    mean += difference * share
                    squares += sum_of(values, some) + difference * difference * (count * share)
            count += some
        if plan.reads_all:
            if not likelihood < np.inf:
                chain.wrong = likelihood
                return Outcome.LIKELIHOOD_NOT_A_NUMBER, False, count, likelihood
            mean = (likelihood - chain.log_likelihood) / plan.size
        decided, accepted = True, False
        if mean != -np.inf:  # otherwise, at least one data point has zero likelihood at the proposal
            variance = squares / max(count - 1, 1)
            stage = Stage(plan.size, number, count, mean, variance, *given, bound)
            decided, accepted, size = decide(rule, stage)
        number, size = number + 1, min(size, plan.size)
        if decided:
            if not plan.reads_all:
                end_reading(walk, 0)
            return Outcome.CONTINUE, accepted, count, likelihood


@array_kernel
def copy_row(source: Floats, at: int, target: Floats, to: int) -> None:
    """Copy a row in a loop because Numba compiles slice assignments slowly."""
    for j in range(source.shape[1]):
        target[to, j] = source[at, j]


@array_kernel
def advance_langevin(machine: Machine, block: Block) -> Outcome:
    """Run a block of SGLD steps.

    The array of levels contains the step sizes.
    """
    plan, chain, terms, vectors = machine.plan[0], machine.chain[0], machine.terms, machine.vectors
    state, prior, data = vectors[Vector.STATE], vectors[Vector.PRIOR_GRADIENT], vectors[Vector.DATA_GRADIENT]
    proposed, batch = vectors[Vector.PROPOSED], plan.gradient_batch
    walk, digits, rows = machine.gradient_walk, machine.digits, terms.rows[:batch]
    noise, levels, _, points, _ = block
    bounds, mode, at_mode = terms.bounds, vectors[Vector.MODE], vectors[Vector.GRADIENT_AT_MODE]
    while chain.step < plan.steps:
        now = chain.step - chain.block_start
        if now == len(noise):
            return Outcome.NOISE_USED
        take_rows(walk, 0, rows, digits)
        end_reading(walk, 0)
        grad_log_prior(terms, state, prior)
        batch_gradient(terms, state, batch, data)
        if plan.variates:  # replace the minibatch gradient at the mode with the full gradient
            batch_gradient(terms, mode, batch, proposed)
            for j in range(len(state)):
                data[j] = (data[j] - proposed[j]) + batch / plan.size * at_mode[j]
        if terms.stop[0]:
            return Outcome.STOPPED
        factor, step = plan.size / batch / plan.temperature, levels[now]
        for j in range(len(state)):
            prior[j] += factor * data[j]
            proposed[j] = state[j] + (0.5 * step * prior[j] + math.sqrt(step) * noise[now, j])
        for j in range(len(state)):
            if not math.isfinite(proposed[j]):
                return Outcome.STATE_NOT_FINITE
        copy_row(vectors, Vector.PROPOSED, vectors, Vector.STATE)
        for j in range(len(bounds)):
            if not bounds[j, 0] <= state[j] <= bounds[j, 1]:
                return Outcome.OUTSIDE
        chain.step += 1
        copy_row(vectors, Vector.STATE, points, now)
    return Outcome.FINISHED
