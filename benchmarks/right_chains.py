"""Right chains as samplers make them: stationary from the first draw, each draw with the marginal law of the target.

Independent draws and chains that stay where they are do not show what a test makes of the chains of Hamiltonian
samplers, whose draws are negatively autocorrelated while even functions of them, |x|^2 above all, are positively so.
There are two kinds of `families`:

- autoregressions, x' = rho x + sqrt(1 - rho^2) e with e ~ N(0, I), from an exact draw of N(0, I);
- Hamiltonian Monte Carlo with a fixed path length and Metropolis's correction, for N(0, I) from an exact draw, and for
  a Bayesian logistic regression after a warm-up, which starts at the normal approximation of the posterior.

Each has one chain of 1000 draws or four of 500, as the sampler makes them or with every second draw only; the chain
that is thinned is twice as long. All chains of many samples are run at once.
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

LAYOUTS = {1: 1000, 4: 500}  # chains: draws of each
AT_ONCE = 20  # samples
QUARTER = np.pi / 2.0  # of the period of a coordinate in its own scale
ACCEPTANCE = 0.8  # at least, of paths of that length
PILOTS = 400  # paths from which it is estimated
WARM_UP = 200  # transitions of a chain's warm-up


@dataclass(frozen=True)
class Family:
    """Right chains of one target by one sampler.

    Attributes
    ----------
    name : str
        As ``"HMC of length 2, normal, d = 20, 4 chains, thinned"``.
    dim : int
    chains, draws : int
        Of a sample.
    every : int
        The sampler's draws for each that is kept: 1, or 2 where the chain is thinned.
    run : callable, (chains, draws, every, rng) -> (points, scores)
        Arrays of shape (chains, draws, d).
    density : Density
        Of the target.
    """

    name: str
    dim: int
    chains: int
    draws: int
    every: int
    run: Run
    density: Density

    def target(self) -> sk.Target:
        """The target with its score and log density."""
        at = self.density.at
        return sk.Target(lambda x: at(x)[1], log_density=lambda x: at(x)[0], dim=self.dim)

    def samples(self, rng: np.random.Generator, count: int) -> Iterator[Draws]:
        """Independent samples.

        Yields
        ------
        draws : ndarray, shape (draws, d) of one chain, else (chains, draws, d)
        scores : ndarray, shape (n, d)
            Chain after chain.
        """
        for begin in range(0, count, AT_ONCE):
            batch = min(AT_ONCE, count - begin)
            found = self.run(batch * self.chains, self.draws, self.every, rng)
            layout = (self.draws, self.dim) if self.chains == 1 else (self.chains, self.draws, self.dim)
            points, scores = (array.reshape(batch, *layout) for array in found)
            for k in range(batch):
                yield points[k], scores[k].reshape(-1, self.dim)

    def make(self, rng: np.random.Generator) -> Draws:
        """One sample; many are made faster by `samples`."""
        return next(self.samples(rng, 1))


@dataclass(frozen=True, eq=False)
class Density:
    """A target that Hamiltonian chains can be started from.

    Attributes
    ----------
    name : str
    at : callable, (n, d) -> (n,), (n, d)
        Log density up to a constant, and score.
    scale : ndarray, shape (d,)
        Of the leapfrog steps: about the standard deviations of the coordinates.
    start : callable, (chains, rng) -> (chains, d)
        Points from which to start; draws of the target, if they are `exact`.
    exact : bool
    """

    name: str
    at: Callable[[np.ndarray], Draws]
    scale: np.ndarray
    start: Callable[[int, np.random.Generator], np.ndarray]
    exact: bool


def normal(dim: int) -> Density:
    """N(0, I)."""
    return Density(
        f"normal, d = {dim}",
        at=lambda x: (-0.5 * (x**2).sum(axis=1), -x),
        scale=np.ones(dim),
        start=lambda chains, rng: rng.standard_normal((chains, dim)),
        exact=True,
    )


@cache
def logistic(dim: int, rows: int = 500) -> Density:
    """Logistic regression of 500 made data with N(0, 1) priors; the logits have standard deviation 2 a priori."""
    rng = np.random.default_rng(dim)
    X = rng.standard_normal((rows, dim)) * (2.0 / np.sqrt(dim))
    y = rng.random(rows) < 1.0 / (1.0 + np.exp(-X @ rng.standard_normal(dim)))

    def at(beta: np.ndarray) -> Draws:
        logits = beta @ X.T
        log_density = logits @ y - np.logaddexp(0.0, logits).sum(axis=1) - 0.5 * (beta**2).sum(axis=1)
        return log_density, (y - 1.0 / (1.0 + np.exp(-logits))) @ X - beta

    mode = np.zeros(dim)
    for _ in range(20):  # Newton's method; the log density is concave
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
    """States of Hamiltonian chains, run side by side."""

    density: Density
    x: np.ndarray

    def __post_init__(self) -> None:
        self.log_density, self.score = self.density.at(self.x)

    def move(self, length: float, steps: int, rng: np.random.Generator) -> np.ndarray:
        """Propose a path of so many leapfrog steps, accept or reject; return the probabilities of acceptance."""
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
    """Chains whose states are draws of the target."""
    made = Chains(density, density.start(chains, rng))
    if not density.exact:
        steps = steps_of(density, QUARTER)
        for _ in range(WARM_UP):
            made.move(QUARTER, steps, rng)
    return made


def steps_of(density: Density, length: float) -> int:
    """How many leapfrog steps make a path of that length."""
    return math.ceil(length / quarter_step(density))


@cache
def quarter_step(density: Density) -> float:
    """The longest leapfrog step with which a quarter of a period is accepted often enough.

    There the energy's error is largest. Were the step chosen for each length, three steps of length 1 would make half
    a period of the normal distribution, x -> -x, which is always accepted, and such a chain goes nowhere.
    """
    for steps in range(1, 200):
        rng = np.random.default_rng(0)  # the pilot's own
        pilot = Chains(density, density.start(PILOTS, rng))
        if pilot.move(QUARTER, steps, rng).mean() >= ACCEPTANCE:
            return QUARTER / steps
    raise ValueError(f"{density.name}: no path is accepted often enough")


def hamiltonian(
    density: Density, length: float, chains: int, draws: int, every: int, rng: np.random.Generator
) -> Draws:
    """Hamiltonian Monte Carlo with paths of one length, in units of the coordinates' scales."""
    running = warmed_up(density, chains, rng)
    steps = steps_of(density, length)
    points, scores = (np.empty((chains, draws, len(density.scale))) for _ in range(2))
    for k in range(draws):
        for _ in range(every):
            running.move(length, steps, rng)
        points[:, k], scores[:, k] = running.x, running.score
    return points, scores


def autoregression(rho: float, dim: int, chains: int, draws: int, every: int, rng: np.random.Generator) -> Draws:
    """Stationary autoregression of N(0, I)."""
    points = np.empty((chains, draws, dim))
    x = rng.standard_normal((chains, dim))
    for k in range(draws):
        for _ in range(every):
            x = rho * x + np.sqrt(1.0 - rho**2) * rng.standard_normal(x.shape)
        points[:, k] = x
    return points, -points


@cache
def families() -> dict[str, Family]:
    """All families by their names.

    Returns
    -------
    dict of str to Family
        Autoregressions with coefficients -.9 to .9 in 2, 5, 20 and 50 dimensions, and Hamiltonian chains with path
        lengths 1, 2, 2.5 and 3 of normal distributions in 2 to 200 dimensions and of logistic regressions in 10, 100.
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
