"""Four posteriors for the comparison of samplers, with moments, scales and nearly exact draws."""

from __future__ import annotations

import functools

import numpy as np
from _data_files import two_digits
from scipy.optimize import minimize
from scipy.special import logsumexp

import steinkit as sk

# Each entry contains a name, a batch size and the smallest budget.
POSTERIORS = {
    "mixture": ("Mixture, d = 2", 100, 100_000),
    "logistic12": ("7 v 9, d = 12", 200, 1_000_000),
    "logistic50": ("7 v 9, d = 50", 200, 1_000_000),
    "nodal": ("Nodal, d = 6", 5, 10_000),
}
DATA, HOT = 10_000, 100.0  # number of data points and temperature of the mixture
NEAR = 5000  # number of points used to compute the posterior moments


@functools.cache
def posterior(name: str, data: str | None) -> sk.Posterior:
    """Return the posterior with this name, without its temperature."""
    if name == "mixture":
        return sk.targets.MixturePosterior.simulate(DATA, rng=1)
    if name == "nodal":
        return sk.targets.LogisticRegression.nodal()
    dim = int(name.removeprefix("logistic"))
    if data is None:
        rng = np.random.default_rng(5)
        x = rng.standard_normal((12_214, dim)) * 2.0 / np.sqrt(1.0 + np.arange(dim))
        positive = rng.random(len(x)) < 1.0 / (1.0 + np.exp(-x @ rng.normal(0.0, 0.5, dim)))
    else:
        pixels, positive, _, _ = two_digits(data, 7, 9)
        centred = pixels - pixels.mean(axis=0)
        axes = np.linalg.eigh(centred.T @ centred)[1][:, ::-1]
        x = centred @ axes[:, :dim]
    return sk.targets.LogisticRegression(x, positive, prior_variance=0.1)


@functools.cache
def target(name: str, data: str | None) -> sk.Posterior:
    """Return the posterior at its temperature."""
    return posterior(name, data).tempered(HOT) if name == "mixture" else posterior(name, data)


@functools.cache
def truth(name: str, data: str | None) -> dict[str, np.ndarray]:
    """Return moments, scales and draws, computed on a grid or from weighted Student's t draws."""
    found, rng = target(name, data), np.random.default_rng(2)
    if name == "mixture":
        points = np.stack(np.meshgrid(np.linspace(-2, 3, 61), np.linspace(-3, 3, 61)), axis=-1).reshape(-1, 2)
        log_weights = found.log_density(points)
    else:
        start = np.zeros(found.dim)
        mode = minimize(lambda t: -found.log_density(t[None])[0], start, jac=lambda t: -found.score(t[None])[0]).x
        step = 1e-4 * np.eye(found.dim)
        slope = (found.score(mode + step) - found.score(mode - step)) / 2e-4
        root = np.linalg.cholesky(np.linalg.inv(-0.5 * (slope + slope.T)))
        freedom = 8.0 + found.dim  # nearly normal, so that the weights are nearly uniform in fifty dimensions
        stretch = np.sqrt(freedom / rng.chisquare(freedom, NEAR))
        normal = rng.standard_normal((NEAR, found.dim)) * stretch[:, None]
        points = mode + normal @ root.T
        log_t = -0.5 * (freedom + found.dim) * np.log1p((normal**2).sum(axis=1) / freedom)
        log_weights = np.concatenate([found.log_density(part) for part in np.array_split(points, 100)]) - log_t
    weights = np.exp(log_weights - logsumexp(log_weights))
    mean = weights @ points
    covariance = (points - mean).T @ ((points - mean) * weights[:, None])
    sd, chosen = np.sqrt(np.diag(covariance)), rng.choice(len(points), 1000, p=weights)
    kurtosis = weights @ ((points - mean) / sd) ** 4
    scores = found.score(points[chosen]) * sd
    return {
        "mean": mean,
        "sd": sd,
        "kurtosis": kurtosis,
        "scale": np.exp(0.25 * np.log(np.linalg.eigvalsh(covariance) ** 2).mean()),
        "kernel": (scores**2).sum(axis=1).mean() + found.dim,
        "draws": points[chosen],
        "weight": 1.0 / (weights**2).sum(),
    }


def reference(name: str, data: str | None) -> float:
    """Return the effective size of the weighted draws for the moments.

    It is infinite if the moments are computed on a grid.
    """
    return np.inf if name == "mixture" else float(truth(name, data)["weight"])
