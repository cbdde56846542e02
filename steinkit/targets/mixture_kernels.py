"""Compiled forms of the mixture posterior's likelihood terms, for many parameters at once.

They are those of `steinkit.targets.mixture_posterior`, chain by chain and datum by datum in order: a chain's
numbers do not depend on the chains beside it. One row of data serves all chains; otherwise each has its own.
"""

from __future__ import annotations

import numpy as np

from steinkit.runtime.compilation import array_kernel
from steinkit.sample import Floats
from steinkit.targets.elementary_kernels import expit_all, softplus_all


@array_kernel
def log_odds(thetas: Floats, y: Floats, variance: float) -> Floats:
    """Log odds of the second component, z = (theta_2 (y - theta_1) - theta_2^2 / 2) / v, shape (K, b)."""
    chains, data = len(thetas), y.shape[1]
    z = np.empty((chains, data))
    for k in range(chains):
        row = k if len(y) > 1 else 0
        first, second = thetas[k, 0], thetas[k, 1]
        for i in range(data):
            z[k, i] = (second * (y[row, i] - first) - 0.5 * second * second) / variance
    return z


@array_kernel
def mixture_terms(thetas: Floats, y: Floats, variance: float, constant: float) -> Floats:
    """Log likelihoods: (K, 2), (K, b) or (1, b) -> (K, b)."""
    terms: Floats = log_odds(thetas, y, variance)
    softplus_all(terms.reshape(terms.size))
    chains, data = terms.shape
    for k in range(chains):
        row = k if len(y) > 1 else 0
        first = thetas[k, 0]
        for i in range(data):
            residual = y[row, i] - first
            terms[k, i] = terms[k, i] - residual * residual / (2.0 * variance) - constant
    return terms


@array_kernel
def mixture_gradients(thetas: Floats, y: Floats, variance: float) -> Floats:
    """Gradients summed over the data: (K, 2), (K, b) or (1, b) -> (K, 2)."""
    odds = log_odds(thetas, y, variance)
    expit_all(odds.reshape(odds.size))
    chains, data = odds.shape
    gradients = np.empty((chains, 2))
    for k in range(chains):
        row = k if len(y) > 1 else 0
        first, second = thetas[k, 0], thetas[k, 1]
        by_first = by_second = 0.0
        for i in range(data):
            residual = y[row, i] - first
            by_first += residual - odds[k, i] * second
            by_second += odds[k, i] * (residual - second)
        gradients[k, 0], gradients[k, 1] = by_first / variance, by_second / variance
    return gradients
