"""Compiled forms of logistic regression's likelihood terms, for many parameters at once.

They are those of `steinkit.targets.logistic`, chain by chain and datum by datum in order: a chain's numbers do not
depend on the chains beside it, as they do where one matrix product serves all. One batch serves all chains (a leading
length of 1); otherwise each has its own.
"""

from __future__ import annotations

import numpy as np

from steinkit.runtime.compilation import array_kernel
from steinkit.sample import Floats
from steinkit.targets.elementary_kernels import expit_all, softplus_all

_LANES = 4


@array_kernel
def negative_margins(thetas: Floats, features: Floats, signs: Floats) -> Floats:
    """-y x'theta for each datum, shape (K, b); products are summed in four lanes, which do not wait for one another."""
    chains, dim = thetas.shape
    data = features.shape[1]
    whole = dim - dim % _LANES
    margins = np.empty((chains, data))
    for k in range(chains):
        row = k if len(features) > 1 else 0
        for i in range(data):
            sum_0 = sum_1 = sum_2 = sum_3 = 0.0
            for j in range(0, whole, _LANES):
                sum_0 += features[row, i, j] * thetas[k, j]
                sum_1 += features[row, i, j + 1] * thetas[k, j + 1]
                sum_2 += features[row, i, j + 2] * thetas[k, j + 2]
                sum_3 += features[row, i, j + 3] * thetas[k, j + 3]
            for j in range(whole, dim):
                sum_0 += features[row, i, j] * thetas[k, j]
            margins[k, i] = -signs[row, i] * ((sum_0 + sum_1) + (sum_2 + sum_3))
    return margins


@array_kernel
def logistic_terms(thetas: Floats, features: Floats, signs: Floats) -> Floats:
    """Log likelihoods -log(1 + exp(-y x'theta)): (K, d), (K, b, d), (K, b) -> (K, b)."""
    terms: Floats = negative_margins(thetas, features, signs)
    flat = terms.reshape(terms.size)
    softplus_all(flat)
    for i in range(len(flat)):
        flat[i] = -flat[i]
    return terms


@array_kernel
def logistic_gradients(thetas: Floats, features: Floats, signs: Floats) -> Floats:
    """Gradients summed over the data, sum of sigma(-y x'theta) y x: (K, d), (K, b, d), (K, b) -> (K, d)."""
    pulls = negative_margins(thetas, features, signs)
    expit_all(pulls.reshape(pulls.size))
    chains, data = pulls.shape
    dim = thetas.shape[1]
    gradients = np.zeros((chains, dim))
    for k in range(chains):
        row = k if len(features) > 1 else 0
        for i in range(data):
            pull = signs[row, i] * pulls[k, i]
            for j in range(dim):
                gradients[k, j] += pull * features[row, i, j]
    return gradients
