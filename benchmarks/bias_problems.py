"""Samples with known bias, from real posteriors, skewed logistic regressions, and other models.

For posteriors from posteriordb, the true moments are computed from the ten thousand reference draws. For other
posteriors, they are computed from long runs of Hamiltonian Monte Carlo. Comparisons account for the standard errors of
these moments.

FOLDER contains one folder per posterior, with ``reference.npz`` (points, scores, names: exact draws), ``biased.npz``
(KEY_points, KEY_scores) and ``facts.json`` (mean, sd).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import expit, gammaln

import steinkit as sk

REFERENCE_DRAWS = 10_000
KINDS = {
    "good": "right",
    "shift25": "a coordinate shifted by .25 sd",
    "wide12": "sd x 1.2",
    "meanfield": "mean field",
    "gauss": "normal, same moments",
    "ula": "Langevin",
}
DRAWS = 1000
# step size in units of the covariance, and number of steps; for a normal target, the sds are 8% too large
_LANGEVIN_STEP, _LANGEVIN_STEPS = 0.6, 40
_PATH, _ACCEPTED = 5, 0.8


@dataclass(frozen=True, eq=False)
class Truth:
    """Means and standard deviations, with standard errors.

    The errors of standard deviations refer to their logarithms.
    """

    mean: np.ndarray
    sd: np.ndarray
    mean_noise: np.ndarray
    log_sd_noise: np.ndarray

    @classmethod
    def of(cls, chains: np.ndarray) -> Truth:
        """Compute the moments from independent chains, shape (chains, draws, d)."""
        mean, sd = chains.mean(axis=(0, 1)), chains.std(axis=(0, 1))
        squares = ((chains - mean) / sd) ** 2
        errors = [values.mean(axis=1).std(axis=0, ddof=1) / np.sqrt(len(chains)) for values in (chains, squares)]
        return cls(mean, sd, errors[0], 0.5 * errors[1])


@dataclass(frozen=True, eq=False)
class Problem:
    """Sample with its true moments, and either its scores or its target."""

    name: str
    kind: str
    points: np.ndarray
    truth: Truth
    scores: np.ndarray | None = None
    target: sk.Target | None = None


def posteriors(folder: Path) -> Iterator[Problem]:
    """Yield six samples from each posterior in a folder."""
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        facts, samples = json.loads((place / "facts.json").read_text()), np.load(place / "biased.npz")
        mean, sd = np.array(facts["mean"]), np.array(facts["sd"])
        fourth = (((np.load(place / "reference.npz")["points"] - mean) / sd) ** 4).mean(axis=0)
        noise = np.sqrt(np.maximum(fourth - 1.0, 0.5) / REFERENCE_DRAWS) / 2.0
        truth = Truth(mean, sd, sd / np.sqrt(REFERENCE_DRAWS), noise)
        for key, kind in KINDS.items():
            yield Problem(place.name, kind, samples[f"{key}_points"], truth, scores=samples[f"{key}_scores"])


def skewed_logistic(dim: int, data: int, correlation: float = 0.5, seed: int = 0) -> sk.targets.LogisticRegression:
    """Return a logistic regression with few data points and a non-normal posterior."""
    rng = np.random.default_rng([11, seed, dim])
    root = np.linalg.cholesky(correlation ** np.abs(np.subtract.outer(np.arange(dim), np.arange(dim))))
    features = rng.standard_normal((data, dim)) @ root.T
    chances = expit(features @ rng.standard_normal(dim))
    return sk.targets.LogisticRegression(features, rng.random(data) < chances, prior_variance=4.0)


def poisson_regression() -> sk.Target:
    """Return a Poisson regression with eight coefficients and forty small counts."""
    rng = np.random.default_rng(12)
    features = np.column_stack([np.ones(40), rng.standard_normal((40, 7))])
    counts = rng.poisson(np.exp(features @ (0.4 * rng.standard_normal(8) - 0.5 * np.eye(8)[0])))

    def log_density(x: np.ndarray) -> np.ndarray:
        linear = x @ features.T
        return (counts * linear - np.exp(linear)).sum(axis=1) - 0.5 * (x**2).sum(axis=1) / 4.0

    def score(x: np.ndarray) -> np.ndarray:
        return (counts - np.exp(x @ features.T)) @ features - x / 4.0

    return sk.Target(score, log_density=log_density, dim=8, label="Poisson regression")


def binomial_groups() -> sk.Target:
    """Return log odds of twelve groups, non-centered: (mean, log tau, twelve standardized effects)."""
    rng = np.random.default_rng(13)
    trials = rng.integers(8, 25, 12)
    successes = rng.binomial(trials, expit(0.3 + 0.8 * rng.standard_normal(12)))

    def log_density(x: np.ndarray) -> np.ndarray:
        odds = x[:, :1] + np.exp(x[:, 1:2]) * x[:, 2:]
        likelihood = (successes * odds - trials * np.logaddexp(0.0, odds)).sum(axis=1)
        return likelihood - 0.5 * (x[:, 0] / 2.0) ** 2 - 0.5 * x[:, 1] ** 2 - 0.5 * (x[:, 2:] ** 2).sum(axis=1)

    def score(x: np.ndarray) -> np.ndarray:
        tau = np.exp(x[:, 1:2])
        slope = successes - trials * expit(x[:, :1] + tau * x[:, 2:])
        return np.column_stack(
            [
                slope.sum(axis=1) - x[:, 0] / 4.0,
                (tau * slope * x[:, 2:]).sum(axis=1) - x[:, 1],
                tau * slope - x[:, 2:],
            ]
        )

    return sk.Target(score, log_density=log_density, dim=14, label="groups of binomial counts")


def negative_binomial() -> sk.Target:
    """Return the log mean and log dispersion of fifty counts."""
    from scipy.special import digamma

    rng = np.random.default_rng(14)
    counts = rng.negative_binomial(1.5, 1.5 / (1.5 + 3.0), 50)

    def log_density(x: np.ndarray) -> np.ndarray:
        mean, size = np.exp(x[:, :1]), np.exp(x[:, 1:])
        terms = gammaln(counts + size) - gammaln(size) + size * (np.log(size) - np.log(size + mean))
        return (terms + counts * np.log(mean / (size + mean))).sum(axis=1) - 0.5 * (x**2).sum(axis=1) / 4.0

    def score(x: np.ndarray) -> np.ndarray:
        mean, size = np.exp(x[:, :1]), np.exp(x[:, 1:])
        by_mean = (size * (counts - mean) / (size + mean)).sum(axis=1)
        by_size = (
            digamma(counts + size)
            - digamma(size)
            + (np.log(size) - np.log(size + mean))
            + (mean - counts) / (size + mean)
        )
        return np.column_stack([by_mean, (size * by_size).sum(axis=1)]) - x / 4.0

    return sk.Target(score, log_density=log_density, dim=2, label="negative binomial counts")


def robust_regression() -> sk.Target:
    """Return four coefficients and a log scale, with t(4) errors, for twenty-five data points."""
    rng = np.random.default_rng(15)
    features = np.column_stack([np.ones(25), rng.standard_normal((25, 3))])
    responses = features @ np.array([1.0, 0.5, -0.5, 0.0]) + rng.standard_t(4.0, 25)

    def log_density(x: np.ndarray) -> np.ndarray:
        left = (responses - x[:, :4] @ features.T) * np.exp(-x[:, 4:])
        return (-2.5 * np.log1p(left**2 / 4.0) - x[:, 4:]).sum(axis=1) - 0.5 * (x**2).sum(axis=1) / 9.0

    def score(x: np.ndarray) -> np.ndarray:
        left = (responses - x[:, :4] @ features.T) * np.exp(-x[:, 4:])
        pull = 5.0 * left / (4.0 + left**2)
        scale = (pull * left - 1.0).sum(axis=1)
        return np.column_stack([(pull * np.exp(-x[:, 4:])) @ features, scale]) - x / 9.0

    return sk.Target(score, log_density=log_density, dim=5, label="robust regression")


def survival() -> sk.Target:
    """Return three coefficients and the log shape of Weibull times of thirty patients."""
    rng = np.random.default_rng(16)
    features = np.column_stack([np.ones(30), rng.standard_normal((30, 2))])
    logs = np.log(rng.weibull(1.4, 30)) + features @ np.array([0.5, 0.3, -0.6])

    def log_density(x: np.ndarray) -> np.ndarray:
        shape, left = np.exp(x[:, 3:]), logs - x[:, :3] @ features.T
        return (x[:, 3:] + shape * left - np.exp(shape * left)).sum(axis=1) - 0.5 * (x**2).sum(axis=1) / 4.0

    def score(x: np.ndarray) -> np.ndarray:
        shape, left = np.exp(x[:, 3:]), logs - x[:, :3] @ features.T
        excess = np.exp(shape * left) - 1.0
        return np.column_stack([(shape * excess) @ features, (1.0 - shape * left * excess).sum(axis=1)]) - x / 4.0

    return sk.Target(score, log_density=log_density, dim=4, label="Weibull survival")


def growing_noise() -> sk.Target:
    """Return a line and a linear log standard deviation: four parameters, fifteen data points."""
    rng = np.random.default_rng(17)
    design = np.column_stack([np.ones(15), np.linspace(-1.0, 1.0, 15)])
    responses = design @ np.array([0.5, 1.0]) + np.exp(0.5 * design[:, 1]) * rng.standard_normal(15)

    def log_density(x: np.ndarray) -> np.ndarray:
        log_sd = x[:, 2:] @ design.T
        left = (responses - x[:, :2] @ design.T) * np.exp(-log_sd)
        return -(0.5 * left**2 + log_sd).sum(axis=1) - 0.5 * (x**2).sum(axis=1) / 4.0

    def score(x: np.ndarray) -> np.ndarray:
        log_sd = x[:, 2:] @ design.T
        left = (responses - x[:, :2] @ design.T) * np.exp(-log_sd)
        return np.hstack([(left * np.exp(-log_sd)) @ design, (left**2 - 1.0) @ design]) - x / 4.0

    return sk.Target(score, log_density=log_density, dim=4, label="growing noise")


def normal_approximation(target: sk.Target) -> tuple[np.ndarray, np.ndarray]:
    """Return the mode and the inverse curvature there, by Newton's method with step halving."""
    assert target.dim is not None
    mode, steps = np.zeros(target.dim), 1e-4 * np.eye(target.dim)
    for _ in range(60):
        curvature = (target.score(mode - steps) - target.score(mode + steps)) / 2e-4
        curvature = 0.5 * (curvature + curvature.T)
        eigenvalues, axes = np.linalg.eigh(curvature)
        eigenvalues = np.maximum(eigenvalues, 1e-3 * eigenvalues[-1])
        slope = target.score(mode[None])[0]
        step = axes @ ((axes.T @ slope) / eigenvalues)
        before = target.log_density(mode[None])[0]
        while target.log_density((mode + step)[None])[0] < before - 1e-9 and np.abs(step).max() > 1e-12:
            step = step / 2.0
        mode = mode + step
        if slope @ step < 1e-10:
            break
    return mode, (axes / eigenvalues) @ axes.T


def hamiltonian_chains(
    target: sk.Target, chains: int, draws: int, rng: np.random.Generator, warm_up: int = 300
) -> np.ndarray:
    """Draw exact samples of shape (chains, draws, d).

    The metric is the curvature at the mode, and later the warm-up covariance.
    """
    mode, covariance = normal_approximation(target)
    points = mode + 0.3 * rng.standard_normal((chains, len(mode))) @ np.linalg.cholesky(covariance).T
    for _ in range(2):
        run = _hamiltonian_run(target, points, covariance, warm_up, 0, rng)
        points = run[-1]
        late = run[warm_up // 2 :].reshape(-1, len(mode))
        if len(late) > 20 * len(mode):
            covariance = np.cov(late.T).reshape(len(mode), len(mode))
    return _hamiltonian_run(target, points, covariance, warm_up // 2, draws, rng).transpose(1, 0, 2)


def _hamiltonian_run(
    target: sk.Target, points: np.ndarray, covariance: np.ndarray, warm_up: int, draws: int, rng: np.random.Generator
) -> np.ndarray:
    """Return the moves of all chains, shape (draws, chains, d), without the adaptation.

    If draws is 0, only the adaptation is returned.
    """
    root = np.linalg.cholesky(covariance)
    density, slope = target.log_density(points), target.score(points) @ root
    step, kept = 1.0 / points.shape[1] ** 0.25, np.empty((warm_up + draws, *points.shape))
    for k in range(warm_up + draws):
        momentum = rng.standard_normal(points.shape)
        energy = density - 0.5 * (momentum**2).sum(axis=1)
        steps = step * rng.uniform(0.1, 1.0, (len(points), 1))
        at, there = points, slope
        for _ in range(_PATH):
            momentum = momentum + 0.5 * steps * there
            at = at + steps * momentum @ root.T
            with np.errstate(over="ignore", invalid="ignore"):  # diverging paths, which are rejected
                there = target.proposal_score(at) @ root
                momentum = momentum + 0.5 * steps * there
        with np.errstate(over="ignore", invalid="ignore"):
            new = np.array(target.log_density(np.where(np.isfinite(at), at, points)))
            gain = new - 0.5 * (momentum**2).sum(axis=1) - energy
        moves = np.isfinite(there).all(axis=1) & (np.log(rng.random(len(points))) < gain)
        points, slope = np.where(moves[:, None], at, points), np.where(moves[:, None], there, slope)
        density = np.where(moves, new, density)
        if k < warm_up:
            step *= np.exp(0.1 * (moves.mean() - _ACCEPTED))
        kept[k] = points
    return kept[warm_up if draws else 0 :]


def approximations(
    target: sk.Target, name: str, rng: np.random.Generator, chains: int = 60, draws: int = 500
) -> Iterator[Problem]:
    """Yield exact draws, Langevin draws, and normal approximations with and without dependence."""
    right = hamiltonian_chains(target, chains, draws, rng)
    truth = Truth.of(right)
    mode, covariance = normal_approximation(target)
    root, n = np.linalg.cholesky(covariance), min(DRAWS, right.shape[0] * right.shape[1] // 2)
    rows = rng.permutation(right.shape[0] * right.shape[1])[:n]
    widths = 1.0 / np.sqrt(np.diag(np.linalg.inv(covariance)))
    samples = {
        "right": right[:4, :: max(1, 4 * draws // n)],
        "Langevin": _langevin(target, right.reshape(-1, len(mode))[rows], covariance, rng),
        "Laplace": mode + rng.standard_normal((n, len(mode))) @ root.T,
        "mean field": mode + rng.standard_normal((n, len(mode))) * widths,
    }
    for kind, points in samples.items():
        yield Problem(name, kind, points, truth, target=target)


def _langevin(target: sk.Target, start: np.ndarray, covariance: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw from many unadjusted chains with exact initial states.

    If a chain diverges, the step size is halved.
    """
    root, step = np.linalg.cholesky(covariance), _LANGEVIN_STEP
    far = 20.0 * np.abs(start - start.mean(axis=0)).max(axis=0)
    while True:
        points = start
        for _ in range(_LANGEVIN_STEPS):
            points = points + 0.5 * step * target.score(points) @ covariance
            points = points + np.sqrt(step) * rng.standard_normal(points.shape) @ root.T
            if (np.abs(points - start.mean(axis=0)) > far).any():
                break
        else:
            return points
        step /= 2.0
