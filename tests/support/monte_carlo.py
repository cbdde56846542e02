"""Whether chains have the moments and quantiles of a known distribution, within Monte Carlo error.

Chains are independent of each other, whatever their autocorrelation: the mean over a chain of a statistic is one of K
independent numbers, and the mean of these is compared with the truth in units of its standard error.
"""

import numpy as np
from scipy import stats

LIMIT = 4.5  # standard errors; about 7e-6 of correct statistics lie further out
PROBABILITIES = (0.05, 0.25, 0.5, 0.75, 0.95)


def statistics(x, marginal):
    """Functions of a coordinate whose expectation is zero under its distribution."""
    yield "mean", x - marginal.mean()
    yield "variance", (x - marginal.mean()) ** 2 - marginal.var()
    for p in PROBABILITIES:
        yield f"quantile {p}", (x < marginal.ppf(p)) - p


def errors(draws, marginals):
    """Name, and error in standard errors, of every statistic of every coordinate."""
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
