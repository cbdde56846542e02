"""Samples and targets shared by the benchmarks of the solvers.

Each instance consists of draws (n, d) with a fixed seed, and a target.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

import steinkit as sk
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.discrepancy.graph.spanner.geometry import sorted_graph

Instance = tuple[np.ndarray, sk.Target]


def normal(n: int, dim: int) -> Instance:
    return np.random.default_rng(0).standard_normal((n, dim)), sk.targets.Normal(np.zeros(dim))


def mixture(n: int) -> Instance:
    rng = np.random.default_rng(0)
    means = np.array([[0.0, 1.0], [1.0, -1.0]])
    component = rng.integers(0, 2, n)
    return means[component] + 0.45 * rng.standard_normal((n, 2)), sk.targets.GaussianMixture(means, sd=0.45)


def uniform(n: int) -> Instance:
    return np.random.default_rng(1).random((n, 1)), sk.targets.Uniform([0.0], [1.0])


def cauchy(n: int) -> Instance:
    return np.random.default_rng(0).standard_cauchy((n, 1)), sk.targets.Normal([0.0])


def narrow_normal(n: int, dim: int) -> Instance:
    """Return draws as narrow as the posterior of a logistic regression."""
    draws = 0.3 * np.random.default_rng(0).standard_normal((n, dim))
    return draws, sk.targets.Normal(np.zeros(dim), 0.09 * np.ones(dim))


def jitter(n: int, dim: int, size: float, copies: int = 2) -> Instance:
    """Return draws in groups, separated by normal steps of a given size within each group."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((n // copies, dim))
    shifts = [size * rng.standard_normal(centres.shape) for _ in range(copies - 1)]
    return np.concatenate([centres, *(centres + shift for shift in shifts)]), sk.targets.Normal(np.zeros(dim))


def walk(n: int, dim: int, size: float) -> Instance:
    """Return a slow chain: a random walk from .7 with normal steps of a given size."""
    steps = size * np.random.default_rng(0).standard_normal((n, dim))
    return 0.7 + np.cumsum(steps, axis=0), sk.targets.Normal(np.zeros(dim))


def mixed_scales(n: int, dim: int, size: float) -> Instance:
    """Return draws at mixed scales.

    Half of them are well separated, and half lie within 1 to 1e-3 times a size of five of them.
    """
    rng = np.random.default_rng(0)
    spaced = rng.standard_normal((n // 2, dim))
    scale = size * 10.0 ** (-3.0 * rng.random((n // 2, 1)))
    near = spaced[rng.integers(0, 5, n // 2)] + scale * rng.standard_normal((n // 2, dim))
    return np.concatenate([spaced, near]), sk.targets.Normal(np.zeros(dim))


def stein_program(draws: np.ndarray, target: sk.Target) -> SteinProgram:
    """Return the Stein program of the draws on their 2-spanner, or of the sorted sample in one dimension."""
    points, copies = np.unique(draws, axis=0, return_counts=True)
    graph = sorted_graph(points) if points.shape[1] == 1 else sk.greedy_spanner(points, 2.0)
    return SteinProgram(points, target.score(points), copies / copies.sum(), graph, bounds=target.bounds)


def digits_regression(path: str | None, size: int) -> tuple[sk.Posterior, np.ndarray, str]:
    """Return a logistic regression like MNIST 7 against 9 on 50 principal components and an intercept, and its mode.

    Parameters
    ----------
    path : str, optional
        CSV file of the data, with responses in a column `response`. By default, `size` rows are simulated, with
        components of variances proportional to 1/k, and responses that agree with the sign of a linear function in
        about 96% of the rows.
    size : int
        Number of simulated rows.

    Returns
    -------
    posterior : Posterior
        The posterior.
    mode : ndarray
        Its mode.
    description : str
        Description of the data.
    """
    if path is not None:
        posterior = sk.targets.LogisticRegression.from_csv(path, "response")
        what = f"{posterior.size} x {posterior.dim} of {path}"
    else:
        rng = np.random.default_rng(7)
        components = rng.standard_normal((size, 50)) / np.sqrt(np.arange(1, 51))
        direction = rng.standard_normal(50)
        logits = 10.0 * components @ direction / np.linalg.norm(direction / np.sqrt(np.arange(1, 51)))
        responses = rng.random(size) < 1.0 / (1.0 + np.exp(-logits))
        features = np.column_stack([np.ones(size), components])
        posterior = sk.targets.LogisticRegression(features, responses.astype(float))
        what = f"Gaussian design {size} x {posterior.dim}"
    return posterior, _mode(posterior), what


def _mode(posterior: sk.Target) -> np.ndarray:
    """Return the maximum of the log density."""
    found = minimize(
        lambda theta: -float(posterior.log_density(theta[None])[0]),
        np.zeros(posterior.dim),
        jac=lambda theta: -posterior.score(theta[None])[0],
        method="L-BFGS-B",
    )
    return np.asarray(found.x)
