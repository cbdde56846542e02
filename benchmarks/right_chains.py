"""Stationary chains with exact marginal distributions, as samplers produce them.

Independent draws and chains with rejections do not show how a test performs on chains of Hamiltonian samplers. The
draws of these samplers are negatively autocorrelated, but even functions of the draws, such as |x|^2, are positively
autocorrelated. There are two kinds of `families`:

- autoregressions, x' = rho x + sqrt(1 - rho^2) e with e ~ N(0, I), from an exact draw of N(0, I);
- Hamiltonian Monte Carlo with a fixed path length and Metropolis correction, for N(0, I) from an exact draw, and for a
  Bayesian logistic regression after a warm-up from the normal approximation of the posterior.

Each sample has one chain of 1000 draws or four chains of 500 draws, with all draws or every second draw. A thinned
chain is twice as long before thinning. The chains of many samples run together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import product

import numpy as np

import steinkit as sk

Draws = tuple[np.ndarray, np.ndarray]
Run = Callable[[int, int, int, np.random.Generator], Draws]

LAYOUTS = {1: 1000, 4: 500}  # number of chains: draws per chain
AT_ONCE = 20  # number of samples that are run together
QUARTER = np.pi / 2.0  # a quarter of the period of a coordinate, in units of its scale
ACCEPTANCE = 0.8  # minimum mean acceptance probability for paths of this length
PILOTS = 400  # number of paths for estimating this probability
WARM_UP = 200  # number of warm-up transitions per chain


@dataclass(frozen=True)
class Family:
    """Stationary chains from one sampler for one target.

    Attributes
    ----------
    name : str
        Name such as ``"HMC of length 2, normal, d = 20, 4 chains, thinned"``.
    dim : int
        Number of coordinates.
    chains, draws : int
        Chains per sample, and draws per chain.
    every : int
        Draws of the sampler per kept draw: 1, or 2 for thinned chains.
    run : callable, (chains, draws, every, rng) -> (points, scores)
        Returns arrays of shape (chains, draws, d).
    density : Density
        Density of the target.
    """

    name: str
    dim: int
    chains: int
    draws: int
    every: int
    run: Run
    density: Density

    def target(self) -> sk.Target:
        """Target with its score and log density."""
        at = self.density.at
        return sk.Target(lambda x: at(x)[1], log_density=lambda x: at(x)[0], dim=self.dim)

    def samples(self, rng: np.random.Generator, count: int) -> Iterator[Draws]:
        """Yield independent samples.

        Yields
        ------
        draws : ndarray, shape (draws, d) of one chain, else (chains, draws, d)
            The draws.
        scores : ndarray, shape (n, d)
            Scores, chain after chain.
        """
        for begin in range(0, count, AT_ONCE):
            batch = min(AT_ONCE, count - begin)
            found = self.run(batch * self.chains, self.draws, self.every, rng)
            layout = (self.draws, self.dim) if self.chains == 1 else (self.chains, self.draws, self.dim)
            points, scores = (array.reshape(batch, *layout) for array in found)
            for k in range(batch):
                yield points[k], scores[k].reshape(-1, self.dim)

    def make(self, rng: np.random.Generator) -> Draws:
        """Return one sample. The method `samples` is faster for many samples."""
        return next(self.samples(rng, 1))


@dataclass(frozen=True, eq=False)
class Density:
    """Target with initial states for Hamiltonian chains.

    Attributes
    ----------
    name : str
        Name of the target.
    at : callable, (n, d) -> (n,), (n, d)
        Log density up to a constant, and score.
    scale : ndarray, shape (d,)
        Scale of the leapfrog steps, about the standard deviations of the coordinates.
    start : callable, (chains, rng) -> (chains, d)
        Initial states, which are draws from the target if `exact`.
    exact : bool
        True if the initial states are draws from the target.
    """

    name: str
    at: Callable[[np.ndarray], Draws]
    scale: np.ndarray
    start: Callable[[int, np.random.Generator], np.ndarray]
    exact: bool


def normal(dim: int) -> Density:
    """Return the target N(0, I)."""
    return Density(
        f"normal, d = {dim}",
        at=lambda x: (-0.5 * (x**2).sum(axis=1), -x),
        scale=np.ones(dim),
        start=lambda chains, rng: rng.standard_normal((chains, dim)),
        exact=True,
    )


@cache
def logistic(dim: int, rows: int = 500) -> Density:
    """Return a logistic regression on 500 simulated data points with N(0, 1) priors.

    The prior sd of the logits is 2.
    """
    rng = np.random.default_rng(dim)
    X = rng.standard_normal((rows, dim)) * (2.0 / np.sqrt(dim))
    y = rng.random(rows) < 1.0 / (1.0 + np.exp(-X @ rng.standard_normal(dim)))

    def at(beta: np.ndarray) -> Draws:
        logits = beta @ X.T
        log_density = logits @ y - np.logaddexp(0.0, logits).sum(axis=1) - 0.5 * (beta**2).sum(axis=1)
        return log_density, (y - 1.0 / (1.0 + np.exp(-logits))) @ X - beta

    mode = np.zeros(dim)
    for _ in range(20):  # Newton's method, for a concave log density
        shares = 1.0 / (1.0 + np.exp(-X @ mode))
        precision = (X.T * (shares * (1.0 - shares))) @ X + np.eye(dim)
        mode = mode + np.linalg.solve(precision, at(mode[None])[1][0])
    root = np.linalg.cholesky(np.linalg.inv(precision))
    return Density(
        f"logistic regression, d = {dim}",
        at=at,
        scale=np.sqrt((root**2).sum(axis=1)),
        start=lambda chains, rng: mode + rng.standard_normal((chains, dim)) @ root.T,
        exact=False,
    )


@dataclass
class Chains:
    """States of Hamiltonian chains, which run together."""

    density: Density
    x: np.ndarray

    def __post_init__(self) -> None:
        self.log_density, self.score = self.density.at(self.x)

    def move(self, length: float, steps: int, rng: np.random.Generator) -> np.ndarray:
        """Propose a path of leapfrog steps, accept or reject, and return the acceptance probabilities."""
        step = length / steps * self.density.scale
        start = rng.standard_normal(self.x.shape)
        x, momentum = self.x, start + 0.5 * step * self.score
        for k in range(steps):
            x = x + step * momentum
            log_density, score = self.density.at(x)
            momentum = momentum + (step if k < steps - 1 else 0.5 * step) * score
        gain = log_density - self.log_density + 0.5 * ((start**2).sum(axis=1) - (momentum**2).sum(axis=1))
        probability = np.exp(np.minimum(gain, 0.0))
        accepted = rng.random(len(x)) < probability
        self.x = np.where(accepted[:, None], x, self.x)
        self.score = np.where(accepted[:, None], score, self.score)
        self.log_density = np.where(accepted, log_density, self.log_density)
        return probability


def warmed_up(density: Density, chains: int, rng: np.random.Generator) -> Chains:
    """Return chains in states drawn from the target."""
    made = Chains(density, density.start(chains, rng))
    if not density.exact:
        steps = steps_of(density, QUARTER)
        for _ in range(WARM_UP):
            made.move(QUARTER, steps, rng)
    return made


def steps_of(density: Density, length: float) -> int:
    """Return the number of leapfrog steps of a path of a given length."""
    return math.ceil(length / quarter_step(density))


@cache
def quarter_step(density: Density) -> float:
    """Return the longest leapfrog step with a sufficient acceptance rate for a quarter of a period.

    The energy error is largest at a quarter of a period. If the step were chosen for each length, three steps of length
    1 could make half a period of the normal distribution, x -> -x. This path is always accepted, and the chain does not
    explore.
    """
    for steps in range(1, 200):
        rng = np.random.default_rng(0)  # generator of the pilot run
        pilot = Chains(density, density.start(PILOTS, rng))
        if pilot.move(QUARTER, steps, rng).mean() >= ACCEPTANCE:
            return QUARTER / steps
    raise ValueError(f"{density.name}: no path is accepted often enough")


def hamiltonian(
    density: Density, length: float, chains: int, draws: int, every: int, rng: np.random.Generator
) -> Draws:
    """Return Hamiltonian Monte Carlo with paths of one length, in units of the coordinates' scales."""
    running = warmed_up(density, chains, rng)
    steps = steps_of(density, length)
    points, scores = (np.empty((chains, draws, len(density.scale))) for _ in range(2))
    for k in range(draws):
        for _ in range(every):
            running.move(length, steps, rng)
        points[:, k], scores[:, k] = running.x, running.score
    return points, scores


def autoregression(rho: float, dim: int, chains: int, draws: int, every: int, rng: np.random.Generator) -> Draws:
    """Return a stationary autoregression of N(0, I)."""
    points = np.empty((chains, draws, dim))
    x = rng.standard_normal((chains, dim))
    for k in range(draws):
        for _ in range(every):
            x = rho * x + np.sqrt(1.0 - rho**2) * rng.standard_normal(x.shape)
        points[:, k] = x
    return points, -points


@cache
def families() -> dict[str, Family]:
    """Return all families by name.

    Returns
    -------
    dict of str to Family
        Autoregressions with coefficients -.9 to .9 in 2, 5, 20 and 50 dimensions, and Hamiltonian chains with path
        lengths 1, 2, 2.5 and 3 of normal distributions in 2 to 200 dimensions and of logistic regressions in 10 and
        100.
    """
    runs: dict[str, tuple[Density, Run]] = {}
    for rho, dim in product((-0.9, -0.6, -0.3, 0.0, 0.3, 0.6, 0.9), (2, 5, 20, 50)):
        runs[f"AR({rho:g}), d = {dim}"] = normal(dim), partial(autoregression, rho, dim)
    densities = [*(normal(dim) for dim in (2, 5, 20, 50, 200)), *(logistic(dim) for dim in (10, 100))]
    for length, density in product((1.0, 2.0, 2.5, 3.0), densities):
        run = partial(hamiltonian, density, length)
        runs[f"HMC of length {length:g}, {density.name}"] = density, run
    found = {}
    for (name, (density, run)), (chains, draws), every in product(runs.items(), LAYOUTS.items(), (1, 2)):
        full = f"{name}, {chains} chain{'s' if chains > 1 else ''}{', thinned' if every > 1 else ''}"
        found[full] = Family(full, len(density.scale), chains, draws, every, run, density)
    return found
