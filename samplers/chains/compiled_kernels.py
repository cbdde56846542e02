"""One chain in compiled code, by Metropolis-Hastings or by stochastic gradient Langevin dynamics.

The steps are those of `steinkit.samplers.chains.run` and of `stochastic_langevin`, in their order. A call takes the
steps of a block; the next one goes on where it stopped. Tests are those of `steinkit.samplers.acceptance.rules`, moves
those of `steinkit.samplers.chains.gradients`; sums over a posterior's terms are made slice by slice, and
`steinkit.compiled_terms` says what is called.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from steinkit.runtime.compilation import array_kernel
from steinkit.runtime.function_pointers import call_at, number_at
from steinkit.sample import Floats, Integers
from steinkit.samplers.acceptance.interface import Look
from steinkit.samplers.acceptance.rules import Rule, decide
from steinkit.samplers.chains.gradients import add_noise, follow_gradient
from steinkit.samplers.chains.random_order_kernels import end_reading, take_rows


class Outcome(IntEnum):
    """Why a call came back."""

    GO_ON = -1  # inside only
    FINISHED = 0
    STOPPED = 1  # since ``Terms.stop`` said so
    NOISE_USED = 2
    STATE_NOT_FINITE = 3
    RATIO_NO_NUMBER = 4
    LIKELIHOOD_NO_NUMBER = 5
    LOST = 6
    OUTSIDE = 7


class Drift(IntEnum):
    """What a proposal's drift is made of."""

    NONE = 0
    ALL_DATA = 1
    MINIBATCH = 2


class Vectors(NamedTuple):
    """Rows of a chain's vectors, (rows, d): plain numbers, since few versions of Numba index by an enumeration."""

    STATE: int = 0
    PROPOSED: int = 1
    CENTRE: int = 2  # the mean of the proposal
    PRIOR_GRADIENT: int = 3  # at the state
    DATA_GRADIENT: int = 4
    PROPOSED_PRIOR_GRADIENT: int = 5
    PROPOSED_DATA_GRADIENT: int = 6
    MODE: int = 7  # and the data's gradient there: of control variates
    GRADIENT_AT_MODE: int = 8


Vector = Vectors()


def _record(whole: str, real: str) -> np.dtype[np.void]:
    return np.dtype([(name, np.int64) for name in whole.split()] + [(name, np.float64) for name in real.split()])


#: What stays the same: sizes and the proposal; whether tests read all the data, scan them for a bound, or have it here.
PLAN = _record(
    "size drift gradient_batch variates reads_all first_batch scans steps budget step_cost patience", "step_size bound"
)
#: Where a chain is. ``wrong`` is the number that an error is about.
CHAIN = _record("step block_start spent outside scanned", "log_prior log_likelihood wrong")


class Terms(NamedTuple):
    """A posterior's terms, and room to evaluate them.

    Attributes
    ----------
    addresses : ndarray of int, shape (6,)
        `CompiledTerms.addresses`.
    bounds : ndarray, shape (d, 2) or (0, 2)
    size, longest : int
        Number of data N, and the most that are handed over at once.
    rows : ndarray of int, shape (S,)
        Numbers of the data of a batch.
    values : ndarray, shape (2 S,)
    work : ndarray, shape (d,)
    stop : ndarray of bool, shape (1,)
        Whether to come back at once, with what there is.
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
    """What the kernels of a chain work on.

    Attributes
    ----------
    plan, chain : ndarray of records `PLAN` and `CHAIN`, shape (1,)
    terms : Terms
    vectors : ndarray, shape (7, d)
        Rows as `Vector` numbers them.
    scale : ndarray, shape (d,)
        Of a random walk.
    rule : Rule
        Of `steinkit.samplers.acceptance.rules`: the test.
    test_walk, gradient_walk : Walk
        Of `steinkit.samplers.chains.readers`, of one chain.
    digits : ndarray of uint32, shape (2, TOGETHER)
        Room for `random_order_kernels.next_rows`.
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
    """Noise, temperatures and results of B steps from ``chain.block_start`` on.

    Attributes
    ----------
    noise : ndarray, shape (B, d)
    temperatures, levels, normals : ndarray, shape (B,)
        Levels are those of the tests, or the sizes of the steps where there is no test; normals may be empty.
    points : ndarray, shape (B, d)
        The states after the steps.
    results : ndarray of int, shape (B, 4)
        What was spent up to each step, whether the move was accepted, data that its test read, and data scanned.
    """

    noise: Floats
    temperatures: Floats
    levels: Floats
    normals: Floats
    points: Floats
    results: Integers


Given = tuple[float, float, float, float]
# Entries of the addresses.
_TABLE, _RATIOS, _LIKELIHOOD, _GRADIENT, _PRIOR, _PRIOR_GRADIENT = range(6)


@array_kernel
def log_prior(terms: Terms, theta: Floats) -> float:
    """Log prior; minus infinity outside the bounds."""
    bounds = terms.bounds
    for j in range(len(bounds)):
        if not bounds[j, 0] <= theta[j] <= bounds[j, 1]:
            return -np.inf
    value: float = number_at(terms.addresses[_PRIOR], (terms.addresses[_TABLE], theta.ctypes.data))
    return value


@array_kernel
def grad_log_prior(terms: Terms, theta: Floats, found: Floats) -> None:
    """Gradient of the log prior, (d,)."""
    call_at(terms.addresses[_PRIOR_GRADIENT], (terms.addresses[_TABLE], theta.ctypes.data, found.ctypes.data))


@array_kernel
def log_ratios(terms: Terms, theta: Floats, proposed: Floats, count: int) -> None:
    """l_i = log p(x_i | proposed) - log p(x_i | theta) of the first ``count`` rows, into the first values."""
    states = (terms.addresses[_TABLE], theta.ctypes.data, proposed.ctypes.data)
    call_at(terms.addresses[_RATIOS], (*states, terms.rows.ctypes.data, np.int64(count), terms.values.ctypes.data))


@array_kernel
def slice_log_likelihood(terms: Terms, theta: Floats, first: int, count: int) -> float:
    """Log likelihood of the data first, ..., first + count - 1."""
    part = (np.int64(first), np.int64(count), terms.values.ctypes.data)
    value: float = number_at(terms.addresses[_LIKELIHOOD], (terms.addresses[_TABLE], theta.ctypes.data, *part))
    return value


@array_kernel
def slice_gradient(terms: Terms, theta: Floats, first: int, count: int, found: Floats) -> None:
    """Gradient of the log likelihood summed over rows first, ..., first + count - 1, (d,)."""
    rows = terms.rows.ctypes.data + first * terms.rows.itemsize
    part = (rows, np.int64(count), found.ctypes.data, terms.values.ctypes.data)
    call_at(terms.addresses[_GRADIENT], (terms.addresses[_TABLE], theta.ctypes.data, *part))


# The loops below may be long, and end unfinished once ``stop`` holds; slices are the same however fast they come, for
# the sums depend on them in their last digits.


@array_kernel
def batch_gradient(terms: Terms, theta: Floats, count: int, found: Floats) -> None:
    """Gradient of the log likelihood summed over the first ``count`` rows, (d,)."""
    slice_gradient(terms, theta, 0, min(terms.longest, count), found)
    for first in range(terms.longest, count, terms.longest):
        if terms.stop[0]:
            return
        slice_gradient(terms, theta, first, min(terms.longest, count - first), terms.work)
        for j in range(len(found)):
            found[j] += terms.work[j]


@array_kernel
def total_log_likelihood(terms: Terms, theta: Floats) -> float:
    """Log likelihood of all the data."""
    total = 0.0
    for first in range(0, terms.size, terms.longest):
        if terms.stop[0]:
            return total
        total += slice_log_likelihood(terms, theta, first, min(terms.longest, terms.size - first))
    return total


@array_kernel
def count_up(terms: Terms, first: int) -> int:
    """Make the rows those of the data from ``first`` on, as many as a slice has; return their number."""
    count = min(terms.longest, terms.size - first)
    for i in range(count):
        terms.rows[i] = first + i
    return count


@array_kernel
def total_gradient(terms: Terms, theta: Floats, found: Floats) -> None:
    """Gradient of the log likelihood of all the data, (d,)."""
    for j in range(len(found)):
        found[j] = 0.0
    for first in range(0, terms.size, terms.longest):
        if terms.stop[0]:
            return
        slice_gradient(terms, theta, 0, count_up(terms, first), terms.work)
        for j in range(len(found)):
            found[j] += terms.work[j]


@array_kernel
def largest_log_ratio(terms: Terms, theta: Floats, proposed: Floats) -> float:
    """Largest |l_i| of all the data; NaN if one of them is."""
    largest = 0.0
    for first in range(0, terms.size, terms.longest):
        if terms.stop[0]:
            return largest
        count = count_up(terms, first)
        log_ratios(terms, theta, proposed, count)
        for i in range(count):
            size_of_one = abs(terms.values[i])
            if size_of_one > largest or math.isnan(size_of_one):
                largest = size_of_one
    return largest


_add_noise, _follow_gradient = array_kernel(add_noise), array_kernel(follow_gradient)


@array_kernel
def advance_metropolis(machine: Machine, block: Block) -> Outcome:
    """Run the steps of a block, and say why it stopped: once ``terms.stop`` holds, at the latest."""
    # handed on one by one: to take an array out of a tuple, which counts it, costs as much as a term of the likelihood
    plan, chain, terms, vectors = machine.plan[0], machine.chain[0], machine.terms, machine.vectors
    scale, rule, test_walk, gradient_walk = machine.scale, machine.rule, machine.test_walk, machine.gradient_walk
    noise, temperatures, levels, normals, points, results = block
    digits = machine.digits
    while chain.step < plan.steps and chain.spent + plan.first_batch + plan.step_cost <= plan.budget:
        now = chain.step - chain.block_start
        if now == len(levels):
            return Outcome.NOISE_USED
        heat, proposed = temperatures[now], vectors[Vector.PROPOSED]
        if plan.drift == Drift.NONE:
            for j in range(len(scale)):
                proposed[j] = _add_noise(vectors[Vector.STATE, j], scale[j], noise[now, j])
        else:
            propose_along_gradient(plan, terms, vectors, noise[now], heat, gradient_walk, digits)
        for j in range(len(proposed)):
            if not math.isfinite(proposed[j]):
                return Outcome.STATE_NOT_FINITE
        prior, offset = log_prior(terms, proposed), -np.inf
        if prior != -np.inf:
            ratio = 0.0 if plan.drift == Drift.NONE else way_back(plan, terms, vectors, heat)
            offset = prior - chain.log_prior + ratio
        if terms.stop[0]:
            return Outcome.STOPPED
        if not offset < np.inf:
            chain.wrong = offset
            return Outcome.RATIO_NO_NUMBER
        accepted, count, likelihood = False, 0, 0.0
        if offset > -np.inf:
            given = (offset, heat, levels[now], normals[now] if len(normals) else 0.0)
            outcome, accepted, count, likelihood = judge(plan, chain, terms, vectors, rule, test_walk, digits, given)
            if outcome != Outcome.GO_ON:
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
def judge(
    plan: Any, chain: Any, terms: Terms, vectors: Floats, rule: Rule, walk: Any, digits: Any, given: Given
) -> tuple[Outcome, bool, int, float]:
    """Let the test look until it is decided: whether it accepts, how many data it read, and all their log likelihood.

    ``given`` are offset, temperature, level and normal number. Means and squares of slices are merged with those before
    (Chan, Golub and LeVeque 1983); the values of a slice become squares of their deviations.
    """
    values, state, proposed = terms.values, vectors[Vector.STATE], vectors[Vector.PROPOSED]
    count, number, wanted, mean, squares, likelihood, bound = 0, 0, plan.first_batch, 0.0, 0.0, 0.0, plan.bound
    if plan.scans:
        chain.scanned += plan.size
        bound = largest_log_ratio(terms, state, proposed)
    while True:
        while count < wanted:
            if terms.stop[0]:
                return Outcome.STOPPED, False, count, likelihood
            some = min(wanted - count, terms.longest)
            if plan.reads_all:
                likelihood += slice_log_likelihood(terms, proposed, count, some)
            else:
                take_rows(walk, 0, terms.rows[:some], digits)
                log_ratios(terms, state, proposed, some)
                here = sum_of(values, some) / some
                if not here < np.inf:
                    chain.wrong = here
                    return Outcome.LIKELIHOOD_NO_NUMBER, False, count, likelihood
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
                return Outcome.LIKELIHOOD_NO_NUMBER, False, count, likelihood
            mean = (likelihood - chain.log_likelihood) / plan.size
        decided, accepted = True, False
        if mean != -np.inf:  # else some datum has no likelihood at the proposal
            variance = squares / max(count - 1, 1)
            look = Look(plan.size, number, count, mean, variance, *given, bound, None)
            decided, accepted, wanted = decide(rule, look)
        number, wanted = number + 1, min(wanted, plan.size)
        if decided:
            if not plan.reads_all:
                end_reading(walk, 0)
            return Outcome.GO_ON, accepted, count, likelihood


@array_kernel
def copy_row(source: Floats, at: int, target: Floats, to: int) -> None:
    """Copy a row; a loop, since assignments of slices take Numba seconds to compile."""
    for j in range(source.shape[1]):
        target[to, j] = source[at, j]


@array_kernel
def advance_langevin(machine: Machine, block: Block) -> Outcome:
    """Run the steps of a block, as `advance_metropolis` does; levels are the sizes of the steps."""
    plan, chain, terms, vectors = machine.plan[0], machine.chain[0], machine.terms, machine.vectors
    state, prior, data = vectors[Vector.STATE], vectors[Vector.PRIOR_GRADIENT], vectors[Vector.DATA_GRADIENT]
    proposed, batch = vectors[Vector.PROPOSED], plan.gradient_batch
    walk, digits, rows = machine.gradient_walk, machine.digits, terms.rows[:batch]
    noise, temperatures, levels, _, points, _ = block
    bounds, mode, at_mode = terms.bounds, vectors[Vector.MODE], vectors[Vector.GRADIENT_AT_MODE]
    while chain.step < plan.steps:
        now = chain.step - chain.block_start
        if now == len(temperatures):
            return Outcome.NOISE_USED
        take_rows(walk, 0, rows, digits)
        end_reading(walk, 0)
        grad_log_prior(terms, state, prior)
        batch_gradient(terms, state, batch, data)
        if plan.variates:  # what the same data say at the mode gives way to what all the data say there
            batch_gradient(terms, mode, batch, proposed)
            for j in range(len(state)):
                data[j] = (data[j] - proposed[j]) + batch / plan.size * at_mode[j]
        if terms.stop[0]:
            return Outcome.STOPPED
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
