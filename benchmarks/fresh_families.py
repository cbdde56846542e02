"""Five targets and five defects that were defined before any verdict was run on them.

    python benchmarks/fresh_families.py            # 100 exact samples per target, 30 per defect
    python benchmarks/fresh_families.py --final    # seeds 1000, 1001, ..., for the last run
    python benchmarks/fresh_families.py --quick

The families and their sizes are fixed. No method, level or constant of the package may be chosen based on these
results, and this file must not be changed after a run. Failing families are reported unchanged. One sample of each was
evaluated to test the benchmark.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from bias_problems import hamiltonian_chains
from curved_models import Array, Rng, mode_and_curvature
from fault import walked
from scipy import stats
from scipy.special import expit, log_softmax, softmax
from second_witness import Case, Make, N, exact, run

import steinkit as sk

CORRELATION = np.array([[1.0, 0.6, 0.2], [0.6, 1.0, -0.3], [0.2, -0.3, 1.0]])
CONCENTRATIONS = np.array([0.7, 1.5, 3.0, 6.0, 2.0])
POOL_CHAINS, POOL_DRAWS = 1000, 100  # number of chains, and draws per chain, for targets without an exact sampler


@cache
def copula(df: float = 4.0) -> sk.Target:
    """Return beta margins with the copula of a Student t, on the unit cube."""
    a, b = np.array([2.0, 1.5, 5.0]), np.array([3.0, 1.5, 2.0])
    precision, margins, student = np.linalg.inv(CORRELATION), stats.beta(a, b), stats.t(df)

    def log_density(x: Array) -> Array:
        q = student.ppf(margins.cdf(x))
        joint = -0.5 * (df + 3.0) * np.log1p(((q @ precision) * q).sum(axis=1) / df)
        return joint + (margins.logpdf(x) - student.logpdf(q)).sum(axis=1)

    def score(x: Array) -> Array:
        q = student.ppf(margins.cdf(x))
        pull = q @ precision
        by_q = (df + 1.0) * q / (df + q**2) - (df + 3.0) * pull / (df + (pull * q).sum(axis=1, keepdims=True))
        by_margin = (a - 1.0) / x - (b - 1.0) / (1.0 - x)
        return by_margin + by_q * np.exp(margins.logpdf(x) - student.logpdf(q))

    def draw(n: int, rng: Rng) -> Array:
        z = rng.standard_normal((n, 3)) @ np.linalg.cholesky(CORRELATION).T
        return margins.ppf(student.cdf(z * np.sqrt(df / rng.chisquare(df, (n, 1)))))

    return sk.Target(score, log_density=log_density, sampler=draw, bounds=[[0.0, 1.0]] * 3)


@cache
def compositions(slope: float = 2.0, sd: float = 0.5) -> sk.Target:
    """Return log ratios of Dirichlet proportions to the last, and a normal coordinate that depends on the first."""

    def parts(x: Array) -> tuple[Array, Array]:
        return np.hstack([x[:, :4], np.zeros((len(x), 1))]), x[:, 4]

    def log_density(x: Array) -> Array:
        logits, z = parts(x)
        left = z - slope * softmax(logits, axis=1)[:, 0]
        return log_softmax(logits, axis=1) @ CONCENTRATIONS - 0.5 * (left / sd) ** 2

    def score(x: Array) -> Array:
        logits, z = parts(x)
        shares = softmax(logits, axis=1)
        pull = (z - slope * shares[:, 0]) / sd**2
        by_logit = CONCENTRATIONS - CONCENTRATIONS.sum() * shares
        by_logit += (slope * pull * shares[:, 0])[:, None] * (np.eye(5)[0] - shares)
        return np.column_stack([by_logit[:, :4], -pull])

    def draw(n: int, rng: Rng) -> Array:
        shares = rng.dirichlet(CONCENTRATIONS, n)
        z = slope * shares[:, 0] + sd * rng.standard_normal(n)
        return np.column_stack([np.log(shares[:, :4] / shares[:, 4:]), z])

    return sk.Target(score, log_density=log_density, sampler=draw, dim=5)


@cache
def crescents(radius: float = 3.0, width: float = 0.4, pull: float = 0.8) -> sk.Target:
    """Return a ring with two lobes: log p = -(|x| - radius)^2 / (2 width^2) + pull cos(2 angle)."""

    def log_density(x: Array) -> Array:
        r = np.linalg.norm(x, axis=1)
        return -0.5 * ((r - radius) / width) ** 2 + pull * np.cos(2.0 * np.arctan2(x[:, 1], x[:, 0]))

    def score(x: Array) -> Array:
        r = np.linalg.norm(x, axis=1, keepdims=True)
        turn = -2.0 * pull * np.sin(2.0 * np.arctan2(x[:, 1], x[:, 0]))[:, None]
        return -(r - radius) / width**2 * x / r + turn * np.column_stack([-x[:, 1], x[:, 0]]) / r**2

    def draw(n: int, rng: Rng) -> Array:
        r = radius + width * rng.standard_normal(4 * n + 50)  # kept with probability proportional to r
        r = r[rng.random(len(r)) * 2.0 * radius < r][:n]
        angle = 0.5 * rng.vonmises(0.0, pull, n) + np.pi * (rng.random(n) < 0.5)
        return r[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])

    return sk.Target(score, log_density=log_density, sampler=draw, dim=2)


@cache
def volatility(returns: int = 12, persistence: float = 0.9) -> sk.Target:
    """Return (level, log scale, innovations) of autoregressive log variances, non-centered."""
    rng = np.random.default_rng(51)
    effect = np.tril(persistence ** np.abs(np.subtract.outer(np.arange(returns), np.arange(returns))))
    squares = np.exp(-1.0 + 0.5 * effect @ rng.standard_normal(returns)) * rng.standard_normal(returns) ** 2

    def log_density(x: Array) -> Array:
        level, log_scale, z = x[:, :1], x[:, 1:2], x[:, 2:]
        h = level + np.exp(log_scale) * (z @ effect.T)
        prior = 0.125 * (level[:, 0] + 1.0) ** 2 + 2.0 * (log_scale[:, 0] + 1.0) ** 2 + 0.5 * (z**2).sum(axis=1)
        return -prior - 0.5 * (h + squares * np.exp(-h)).sum(axis=1)

    def score(x: Array) -> Array:
        level, log_scale, z = x[:, :1], x[:, 1:2], x[:, 2:]
        moved = np.exp(log_scale) * (z @ effect.T)
        by_h = 0.5 * (squares * np.exp(-level - moved) - 1.0)
        by_scale = (by_h * moved).sum(axis=1, keepdims=True) - 4.0 * (log_scale + 1.0)
        by_level = by_h.sum(axis=1, keepdims=True) - 0.25 * (level + 1.0)
        return np.hstack([by_level, by_scale, np.exp(log_scale) * (by_h @ effect) - z])

    return sk.Target(score, log_density=log_density, dim=2 + returns)


@cache
def separated() -> sk.targets.LogisticRegression:
    """Return a logistic regression for twenty responses, the signs of the first feature, with prior sds of 5."""
    features = np.random.default_rng(52).standard_normal((20, 3)) * np.array([1.0, 2.0, 0.5])
    return sk.targets.LogisticRegression(features, features[:, 0] > 0.0, prior_variance=25.0)


@cache
def pool(target: sk.Target) -> Array:
    """Run Hamiltonian Monte Carlo with many chains; keep draws that are ten transitions apart."""
    chains = hamiltonian_chains(target, POOL_CHAINS, 10 * POOL_DRAWS, np.random.default_rng(53))
    return chains[:, ::10].reshape(-1, chains.shape[-1])


def picked(target: sk.Target, rng: Rng) -> Array:
    """Select a thousand draws from the pool."""
    draws = pool(target)
    return draws[rng.choice(len(draws), N, replace=False)]


def thinned_tail(rng: Rng) -> Case:
    """Drop three quarters of the draws beyond the .9 quantile of the first log ratio."""
    target = compositions()
    x = target.sample(2 * N, rng)
    high = np.quantile(target.sample(100_000, np.random.default_rng(54))[:, 0], 0.9)
    return x[(x[:, 0] < high) | (rng.random(len(x)) < 0.25)][:N], target


def swapped_scales(rng: Rng) -> Case:
    """Exchange the standard deviations of the first and the last coefficient."""
    target = separated()
    x = picked(target, rng)
    center, scale = pool(target).mean(axis=0), pool(target).std(axis=0)
    return center + (x - center) / scale * scale[[2, 1, 0]], target


def half_converged(rng: Rng, step: float = 0.1, steps: int = 10, noise: float = 0.5) -> Case:
    """Run a few steps of Langevin dynamics with noisy gradients from the prior mean, one chain per draw."""
    target = volatility()
    scale = pool(target).std(axis=0)
    x = np.zeros((N, len(scale))) - np.eye(len(scale))[:2].sum(axis=0)
    for _ in range(steps):
        slope = target.score(x) * scale + noise * rng.standard_normal(x.shape)
        x = x + scale * (0.5 * step * slope + np.sqrt(step) * rng.standard_normal(x.shape))
    return x, target


def dropped_prior(rng: Rng, data: int = 20, dim: int = 5) -> Case:
    """Draw from the posterior of a linear regression with a flat prior; the target has a standard normal prior."""
    features = rng.standard_normal((data, dim))
    answers = features @ rng.standard_normal(dim) + rng.standard_normal(data)

    def posterior(prior_precision: float) -> sk.Target:
        precision = features.T @ features + prior_precision * np.eye(dim)
        covariance = np.linalg.inv(precision)
        return sk.targets.Normal(covariance @ (features.T @ answers), covariance=0.5 * (covariance + covariance.T))

    return posterior(0.0).sample(N, rng), posterior(1.0)


def subsampled(rng: Rng, data: int = 200, kept: int = 180) -> Case:
    """Draw from the posterior of a logistic regression given 90% of the data, each with weight 1 / .9."""
    features = rng.standard_normal((data, 4))
    responses = rng.random(data) < expit(features @ np.array([1.0, -0.5, 0.5, 0.0]))
    target = sk.targets.LogisticRegression(features, responses, prior_variance=4.0)
    part, signs = features[:kept], np.where(responses[:kept], 1.0, -1.0)
    mode, covariance = mode_and_curvature(target, np.zeros(4))

    def log_density(x: Array) -> Array:
        return -data / kept * np.logaddexp(0.0, -signs * (x @ part.T)).sum(axis=1) - 0.125 * (x**2).sum(axis=1)

    starts = mode + rng.standard_normal((N, 4)) @ np.linalg.cholesky(covariance).T
    return walked(log_density, starts, np.sqrt(np.diag(covariance)), 300, rng), target


EXACT: dict[str, Make] = {
    "beta margins, t copula": lambda rng: exact(copula(), rng),
    "log ratios of Dirichlet shares": lambda rng: exact(compositions(), rng),
    "two crescents": lambda rng: exact(crescents(), rng),
    "stochastic volatility": lambda rng: (picked(volatility(), rng), volatility()),
    "separated logistic regression": lambda rng: (picked(separated(), rng), separated()),
}
FAULTS: dict[str, Make] = {
    "one tail thinned": thinned_tail,
    "scales swapped": swapped_scales,
    "SGLD, half converged": half_converged,
    "prior dropped": dropped_prior,
    "likelihood subsampled": subsampled,
}


if __name__ == "__main__":
    import fresh_families  # imported by name, so that worker processes keep their pools

    run(fresh_families.EXACT, fresh_families.FAULTS, "fresh_families", __doc__)
