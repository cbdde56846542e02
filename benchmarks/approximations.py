"""Approximate samples of a model: variational fits, short or biased chains, and tempered and tilted draws.

Each function takes a model, a number of draws and a generator, and returns an array (n, d) or (chains, n / chains, d).
Chains start at exact draws. No function uses the true moments.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from curved_models import Array, Model, Rng, mode_and_curvature
from fault import walked
from scipy.optimize import LbfgsInvHessProduct, minimize

BASE_DRAWS = 200  # number of base draws in a variational fit, which also uses their negatives
PATH_DRAWS, HISTORY = 50, 6  # number of draws per approximation along an L-BFGS path, and number of stored pairs
LANGEVIN_STEP, LANGEVIN_STEPS = 0.1, 60  # step size in units of the variances, and number of steps
BATCH_STEP, BATCH_NOISE, CHAINS, THIN = 0.1, 1.0, 4, 20  # noise in units of the score's sd, in standardized coordinates
TEMPERATURE, TILT = 1.25, 0.6
FAR = 20.0  # number of sds beyond which a chain counts as diverged and restarts with half the step size


def exact(model: Model, n: int, rng: Rng) -> Array:
    """Draw from the target."""
    return model.draw(n, rng)


def laplace(model: Model, n: int, rng: Rng) -> Array:
    """Draw from the normal distribution at the mode, with the curvature at the mode."""
    mode, covariance = mode_and_curvature(model.target, model.draw(1, rng)[0], moments(model)[1])
    return mode + rng.standard_normal((n, len(mode))) @ np.linalg.cholesky(covariance).T


def mean_field(model: Model, n: int, rng: Rng) -> Array:
    """Draw from the optimal normal distribution with independent coordinates."""
    return _variational(model, n, rng, full=False)


def full_rank(model: Model, n: int, rng: Rng) -> Array:
    """Draw from the optimal normal distribution."""
    return _variational(model, n, rng, full=True)


def _variational(model: Model, n: int, rng: Rng, full: bool) -> Array:
    """Maximize E log p(mu + L z) + log det L over mu and L, with z fixed."""
    center, scale = moments(model)
    dim = len(center)
    z = rng.standard_normal((BASE_DRAWS, dim))
    z = np.vstack([z, -z])
    rows, columns = np.tril_indices(dim) if full else (np.arange(dim),) * 2
    diagonal = rows == columns

    def unpacked(values: Array) -> tuple[Array, Array]:
        root = np.zeros((dim, dim))
        root[rows, columns] = np.where(diagonal, np.exp(np.where(diagonal, values[dim:], 0.0)), values[dim:])
        return center + scale * values[:dim], scale[:, None] * root

    def loss(values: Array) -> tuple[float, Array]:
        mu, root = unpacked(values)
        x = mu + z @ root.T
        with np.errstate(all="ignore"):
            height, slope = model.target.log_density(x).mean(), model.target.proposal_score(x) * scale
        if not (np.isfinite(height) and np.isfinite(slope).all()):
            return 1e100, np.zeros(len(values))
        by_root = ((slope.T @ z) / len(z))[rows, columns]
        by_root = np.where(diagonal, by_root * np.exp(np.where(diagonal, values[dim:], 0.0)) + 1.0, by_root)
        entropy = values[dim:][diagonal].sum()
        return -height - entropy, -np.concatenate([slope.mean(axis=0), by_root])

    start = np.concatenate([np.zeros(dim), np.where(diagonal, -0.5, 0.0)])
    mu, root = unpacked(minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x)
    return mu + rng.standard_normal((n, dim)) @ root.T


def pathfinder(model: Model, n: int, rng: Rng) -> Array:
    """Draw from the normal approximation with the highest ELBO along an L-BFGS path from a distant point."""
    center, scale = moments(model)
    target, start = model.target, center + 2.0 * scale * rng.standard_normal(len(center))
    path = [start]
    minimize(
        lambda x: -target.log_density(x[None])[0],
        start,
        jac=lambda x: -target.score(x[None])[0],
        method="L-BFGS-B",
        callback=lambda x: path.append(x.copy()),
    )
    points = np.array(path)
    steps, changes = np.diff(points, axis=0), -np.diff(target.score(points), axis=0)
    best, chosen = -np.inf, (start, np.diag(scale))
    for k in range(1, len(points)):
        pairs = [j for j in range(max(0, k - HISTORY), k) if steps[j] @ changes[j] > 1e-12 * (changes[j] ** 2).sum()]
        if not pairs:
            continue
        covariance = LbfgsInvHessProduct(steps[pairs], changes[pairs]).todense()
        values, axes = np.linalg.eigh(0.5 * (covariance + covariance.T))
        root = axes * np.sqrt(np.maximum(values, 1e-12 * values[-1]))
        mean = points[k] + covariance @ target.score(points[k][None])[0]
        with np.errstate(all="ignore"):
            heights = target.log_density(mean + rng.standard_normal((PATH_DRAWS, len(mean))) @ root.T)
        elbo = heights.mean() + np.log(np.linalg.svd(root, compute_uv=False)).sum()
        if elbo > best:
            best, chosen = elbo, (mean, root)
    return chosen[0] + rng.standard_normal((n, len(center))) @ chosen[1].T


def langevin(model: Model, n: int, rng: Rng) -> Array:
    """Move exact draws by unadjusted Langevin steps, one chain per draw."""
    return _langevin(model, model.draw(n, rng), LANGEVIN_STEP, [LANGEVIN_STEPS], 0.0, rng)[:, -1]


def noisy_langevin(model: Model, n: int, rng: Rng) -> Array:
    """Run four Langevin chains with the gradient noise of a batch, thinned."""
    kept = [THIN] * (n // CHAINS)
    return _langevin(model, model.draw(CHAINS, rng), BATCH_STEP, kept, BATCH_NOISE, rng)


def _langevin(model: Model, start: Array, step: float, kept: list[int], noise: float, rng: Rng) -> Array:
    """Return the states after given numbers of steps, shape (chains, kept, d)."""
    center, scale = moments(model)
    while True:
        x, states = start, []
        for steps in kept:
            for _ in range(steps):
                slope = model.target.score(x) * scale + noise * rng.standard_normal(x.shape)
                x = x + scale * (0.5 * step * slope + np.sqrt(step) * rng.standard_normal(x.shape))
                if (np.abs(x - center) > FAR * scale).any():
                    break
            else:
                states.append(x)
                continue
            break
        else:
            return np.stack(states, axis=1)
        step /= 2.0


def tempered(model: Model, n: int, rng: Rng) -> Array:
    """Run random walks from exact draws, with target p^(1 / temperature)."""
    _, scale = moments(model)
    return walked(lambda x: model.target.log_density(x) / TEMPERATURE, model.draw(n, rng), scale, 200, rng)


def tilted(model: Model, n: int, rng: Rng) -> Array:
    """Keep exact draws with probabilities proportional to exp(.6 z), where z is the standardized first coordinate."""
    center, scale = moments(model)
    x = model.draw(12 * n, rng)
    z = (x[:, 0] - center[0]) / scale[0]
    return x[rng.random(len(x)) < np.exp(TILT * (np.minimum(z, 3.0) - 3.0))][:n]


@cache
def moments(model: Model) -> tuple[Array, Array]:
    """Return the means and sds of exact draws, as units for steps and initial states."""
    x = model.draw(4000, np.random.default_rng(34))
    return x.mean(axis=0), x.std(axis=0)


KINDS: dict[str, Callable[[Model, int, Rng], Array]] = {
    "exact": exact,
    "Laplace": laplace,
    "mean field": mean_field,
    "full rank": full_rank,
    "Pathfinder": pathfinder,
    "Langevin": langevin,
    "SGLD": noisy_langevin,
    "tempered": tempered,
    "tilted": tilted,
}
