"""NumPy loops of one Markov chain, as in a script.

The samplers are compared with these loops, which have the same algorithms and likelihood terms, and use a new random
minibatch at each stage. Random numbers are drawn in advance if possible. Each function returns the mean number of data
points per step.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import stdtr

import steinkit as sk
from steinkit import samplers
from steinkit.targets import MixturePosterior

TEMPERATURE = 1e4
SCALE = 0.15
NODAL_SCALE = 0.1  # scale of the random walk on the nodal data, with six coordinates
START = (0.0, 1.0)
SGLD_STEP, SGLD_BATCH = 5e-3, 5


def naive_barker(posterior: sk.Posterior, steps: int, batch: int, temperature: float) -> float:
    """Run Barker's minibatch test in a loop, and return the mean batch size."""
    rng, (y,), size = np.random.default_rng(0), posterior.data, posterior.size
    correction = samplers.correction_distribution(1.0)
    theta, used = np.array(START), 0
    for _ in range(steps):
        proposal = theta + SCALE * rng.standard_normal(2)
        prior = np.diff(posterior.log_prior(np.stack([theta, proposal])))[0]
        n, total, squares = 0, 0.0, 0.0
        while True:
            x = y[rng.integers(size, size=batch)]
            values = posterior.log_likelihood(proposal, x) - posterior.log_likelihood(theta, x)
            n, total, squares = n + batch, total + values.sum(), squares + values @ values
            variance = (size / temperature) ** 2 * (squares - total**2 / n) / (n - 1) / n
            if variance < 1.0:
                break
        noise = np.sqrt(1.0 - variance) * rng.standard_normal() + correction.sample(rng.random(1))[0]
        if size / temperature * total / n + prior + noise > 0.0:
            theta = proposal
        used += n
    return used / steps


def naive_austerity(
    posterior: sk.Posterior, steps: int, batch: int, epsilon: float, temperature: float, start: Any, scale: float
) -> float:
    """Run the austerity test in a loop, and return the mean batch size."""
    rng, size = np.random.default_rng(0), posterior.size
    theta, used = np.array(start, dtype=float), 0
    for _ in range(steps):
        proposal = theta + scale * rng.standard_normal(len(theta))
        prior = np.diff(posterior.log_prior(np.stack([theta, proposal])))[0]
        threshold = temperature / size * (np.log(rng.random()) - prior)
        order = rng.permutation(size) if size < 1000 else None  # too slow for large data
        n, total, squares = 0, 0.0, 0.0
        while True:
            index = rng.integers(size, size=batch) if order is None else order[n : n + batch]
            x = tuple(array[index] for array in posterior.data)
            values = posterior.log_likelihood(proposal, *x) - posterior.log_likelihood(theta, *x)
            n, total, squares = n + len(values), total + values.sum(), squares + values @ values
            gap, variance = total / n - threshold, (squares - total**2 / n) / (n - 1)
            if n >= size:
                break
            error = np.sqrt(max(variance, 0.0) / n * (1.0 - (n - 1) / (size - 1)))
            if error > 1e-9 and stdtr(n - 1, -abs(gap) / error) < epsilon:
                break
        if gap > 0.0:
            theta = proposal
        used += n
    return used / steps


def naive_sgld(posterior: sk.Posterior, steps: int) -> float:
    """Run SGLD in a loop, with a new order of the data per epoch.

    Return the batch size.
    """
    rng, (y,), size = np.random.default_rng(0), posterior.data, posterior.size
    theta = np.zeros(2)
    for t in range(steps):
        at = t * SGLD_BATCH % size
        if at == 0:
            order = rng.permutation(size)
        gradient = size / SGLD_BATCH * posterior.grad_log_likelihood(theta, y[order[at : at + SGLD_BATCH]])
        gradient = gradient + posterior.grad_log_prior(theta[None])[0]
        theta = theta + SGLD_STEP / 2.0 * gradient + np.sqrt(SGLD_STEP) * rng.standard_normal(2)
    return SGLD_BATCH


def naive_random_walk(posterior: MixturePosterior, steps: int, scale: float = SCALE) -> float:
    """Run random-walk Metropolis in a loop, with all the data at each step and explicit densities.

    Return N.

    Up to a constant, log p(y | theta) = log(exp(-(y - theta_1)^2 / 2v) + exp(-(y - theta_1 - theta_2)^2 / 2v)).
    """
    rng, (y,) = np.random.default_rng(0), posterior.data
    factor, precision = -0.5 / posterior.variance, 0.5 / posterior.prior_variances

    def log_density(theta: np.ndarray) -> float:
        first = y - theta[0]
        second = first - theta[1]
        return float(np.logaddexp(factor * first * first, factor * second * second).sum() - theta * theta @ precision)

    theta = np.zeros(2)
    height = log_density(theta)
    moves, levels = scale * rng.standard_normal((steps, 2)), np.log(rng.random(steps))
    for move, level in zip(moves, levels, strict=True):
        proposal = theta + move
        proposed = log_density(proposal)
        if level < proposed - height:
            theta, height = proposal, proposed
    return posterior.size
