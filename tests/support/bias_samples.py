"""Draws for bias estimates, some with known groups or biases."""

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


def _off_ridge(x):
    return (x[:, 1] - 1.5 * x[:, 0] ** 2) / 0.4


RIDGE = sk.Target(
    lambda x: np.column_stack([7.5 * x[:, 0] * _off_ridge(x) - x[:, 0], -_off_ridge(x) / 0.4]),
    log_density=lambda x: -0.5 * x[:, 0] ** 2 - 0.5 * _off_ridge(x) ** 2,
    dim=2,
)
"""The distribution of x1 ~ N(0, 1) and x2 ~ N(1.5 x1^2, .4^2)."""


def ridge_draws(mean, seed, n=1000):
    """Return draws on the curved ridge with x1 ~ N(mean, 1)."""
    rng = np.random.default_rng(seed)
    x = mean + rng.standard_normal(n)
    return np.column_stack([x, 1.5 * x**2 + 0.4 * rng.standard_normal(n)])


def funnel(rng, n, dim=5):
    """Return draws of v ~ N(0, 9) and x | v ~ N(0, exp(v) I), and their scores."""
    v = 3.0 * rng.standard_normal(n)
    x = np.exp(v / 2.0)[:, None] * rng.standard_normal((n, dim))
    own = -v / 9.0 + 0.5 * (x**2).sum(axis=1) * np.exp(-v) - 0.5 * dim
    return np.column_stack([v, x]), np.column_stack([own, -x * np.exp(-v)[:, None]])


def log_gamma(dim, shape=3.0):
    """Return the distribution of logarithms of gamma variables, which is skewed."""
    return sk.Target(lambda x: shape - np.exp(x), log_density=lambda x: (shape * x - np.exp(x)).sum(axis=1), dim=dim)


def normal_mixture(means, shares, n, rng, order="shuffled"):
    """Return draws from normal modes with given weights, and the mixture with equal weights."""
    means = np.asarray(means, dtype=float)
    target = sk.targets.GaussianMixture(means, sd=1.0)
    labels = rng.choice(len(means), size=n, p=shares)
    if order == "stuck":
        labels = np.sort(labels)
    return means[labels] + rng.standard_normal((n, means.shape[1])), target
