"""Draws for the estimates of bias, some with known groups or biases."""

import numpy as np

import steinkit as sk
from steinkit.diagnosis.bias.quantities import Quantities
from steinkit.diagnosis.bias.stein_regression import Operand
from steinkit.scored_sample import ScoredSample
from steinkit.units import Units


def quantities(points, scores, *, bounds=None, weights=None, functions=None):
    """Return draws with their scored sample."""
    prepared = ScoredSample.of(points, scores=scores, weights=weights, bounds=bounds)
    return Quantities.of(prepared, functions or {})


def operand(points, scores, *, bounds=None, weights=None):
    """Return draws in units of their own standard deviations."""
    return quantities(points, scores, bounds=bounds, weights=weights).operand


def raw_operand(points, scores, *, bounds=None, weights=None):
    """Draws in raw units."""
    prepared = ScoredSample.of(points, scores=scores, weights=weights, bounds=bounds)
    dim = points.shape[1]
    units = Units("raw", np.zeros(dim), np.ones(dim), prepared.points.names)
    return Operand.of(prepared.draws, prepared.bounds, units)


def normal_mixture(means, shares, n, rng, order="shuffled"):
    """Return draws from normal modes with given weights, and the mixture with equal weights."""
    means = np.asarray(means, dtype=float)
    target = sk.targets.GaussianMixture(means, sd=1.0)
    labels = rng.choice(len(means), size=n, p=shares)
    if order == "stuck":
        labels = np.sort(labels)
    return means[labels] + rng.standard_normal((n, means.shape[1])), target
