"""Samples with a defect, and targets and chains used by the catalogs of defects."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import minimize

import steinkit as sk

Array = np.ndarray
SHAPE = frozenset({"scale", "tails", "shape"})  # possible kinds of finding if the shape of one coordinate changes
LINK = frozenset({"dependence"})


@dataclass(frozen=True)
class Fault:
    """Draws with a defect, their target, and the correct first finding.

    Attributes
    ----------
    draws : ndarray, shape (n, d) or (chains, n, d)
        The draws.
    target : sk.Target
        Target with its exact score.
    culprits : frozenset of int, or None
        Coordinates that a correct first finding may name. It is None if all coordinates are affected, or if no
        coordinate in particular is affected.
    kinds : frozenset of str, or None
        Correct kinds of the first finding. It is None if several kinds are equally correct.
    """

    draws: Array
    target: sk.Target
    culprits: frozenset[int] | None = None
    kinds: frozenset[str] | None = None


@dataclass(frozen=True)
class Entry:
    """Defect of a catalog, with a one-line description and a function for samples."""

    description: str
    make: Callable[[np.random.Generator], Fault]


def only(*coordinates: int) -> frozenset[int]:
    return frozenset(coordinates)


def kinds(*names: str) -> frozenset[str]:
    return frozenset(names)


def normal(dim: int) -> sk.Target:
    """Return the standard normal distribution."""
    return sk.targets.Normal(0.0, dim=dim)


def decaying(rho: float, dim: int) -> Array:
    """Return the correlation matrix rho^|i - j|."""
    return rho ** np.abs(np.subtract.outer(np.arange(dim), np.arange(dim)))


def centred(covariance: Array) -> sk.Target:
    """Return the normal distribution with mean zero and a given covariance."""
    return sk.targets.Normal(np.zeros(len(covariance)), covariance=covariance)


def scaled(dim: int, factors: dict[int, float]) -> Array:
    """Return an array of ones, except for the given coordinates."""
    found = np.ones(dim)
    found[list(factors)] = list(factors.values())
    return found


def slow(noise: Array, phi: float = 0.5) -> Array:
    """Return a stationary autoregressive chain of independent standard normal rows.

    The axis -2 is the time.
    """
    chain = noise.copy()
    for k in range(1, noise.shape[-2]):
        chain[..., k, :] = phi * chain[..., k - 1, :] + np.sqrt(1.0 - phi**2) * noise[..., k, :]
    return chain


def walked(
    log_density: Callable[[Array], Array], starts: Array, sds: Array, steps: int, rng: np.random.Generator
) -> Array:
    """Return the final states of independent Metropolis walks, one for each initial state."""
    at, height = starts, log_density(starts)
    for _ in range(steps):
        proposed = at + 2.4 / np.sqrt(at.shape[1]) * sds * rng.standard_normal(at.shape)
        proposed_height = log_density(proposed)
        moves = np.log(rng.random(len(at))) < proposed_height - height
        at = np.where(moves[:, None], proposed, at)
        height = np.where(moves, proposed_height, height)
    return at


@cache
def laplace_of(target: sk.Target) -> tuple[Array, Array]:
    """Return the mode, and the inverse of the curvature at the mode."""
    found = minimize(
        lambda x: -target.log_density(x[None])[0], np.zeros(target.dim), jac=lambda x: -target.score(x[None])[0]
    )
    steps = 1e-4 * np.eye(target.dim)
    curvature = (target.score(found.x - steps) - target.score(found.x + steps)) / 2e-4
    return found.x, np.linalg.inv(0.5 * (curvature + curvature.T))


def exact(target: sk.Target, n: int, rng: np.random.Generator) -> Array:
    """Draw independently.

    If the target has no sampler, the draws are final states of walks from the Laplace approximation.
    """
    try:
        return target.sample(n, rng)
    except sk.UsageError:
        mode, covariance = laplace_of(target)
    starts = mode + rng.standard_normal((n, len(mode))) @ np.linalg.cholesky(covariance).T
    return walked(target.log_density, starts, np.sqrt(np.diag(covariance)), 200, rng)


def pick(rng: np.random.Generator, dim: int, count: int = 1) -> list[int]:
    """Draw coordinates at random."""
    return [int(j) for j in rng.permutation(dim)[:count]]


def names_of(coordinates: Iterable[str], names: Iterable[str]) -> set[int]:
    """Return the indices of the coordinates with given names."""
    every = list(names)
    return {every.index(name) for name in coordinates}
