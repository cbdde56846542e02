"""Comparison of chains with the moments and quantiles of a known distribution.

Chains are independent of each other. The means of a statistic over K chains are therefore K independent numbers, and
their mean is compared with the exact value in units of its standard error.
"""

import numpy as np
from scipy import stats

import steinkit as sk

LIMIT = 4.5  # standard errors; exceeded by about 7e-6 of correct statistics
PROBABILITIES = (0.05, 0.25, 0.5, 0.75, 0.95)


def statistics(x, marginal):
    """Return functions of a coordinate with expectation zero."""
    yield "mean", x - marginal.mean()
    yield "variance", (x - marginal.mean()) ** 2 - marginal.var()
    for p in PROBABILITIES:
        yield f"quantile {p}", (x < marginal.ppf(p)) - p


def errors(draws, marginals):
    """Return the name and the error, in standard errors, of every statistic of every coordinate."""
    weights = np.ones(draws.points.shape[:2]) if draws.weights is None else draws.weights
    found = {}
    for j, marginal in enumerate(marginals):
        for name, values in statistics(draws.points[:, :, j], marginal):
            means = (weights * values).sum(axis=1) / weights.sum(axis=1)
            found[f"{name} of {j}"] = means.mean() / (means.std(ddof=1) / np.sqrt(len(means)) + 1e-300)
    return found


def worst(draws, marginals):
    """The largest error in standard errors."""
    return max(map(abs, errors(draws, marginals).values()))


def normal(mean, variance):
    return stats.norm(mean, np.sqrt(variance))


POSTERIOR = sk.targets.GaussianMean.simulate(40, theta=[0.3, -0.2], variance=[1.0, 4.0])
POSTERIOR_MARGINALS = [
    normal(*pair) for pair in zip(POSTERIOR.posterior_mean, POSTERIOR.posterior_variance, strict=True)
]
RUN = {"chains": 100, "burn_in": 60, "draws": 40, "thin": 3}
