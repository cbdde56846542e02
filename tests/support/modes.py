"""Mixtures with known mode weights, and draws with other weights."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, logsumexp

import steinkit as sk


@dataclass(frozen=True, eq=False)
class Mode:
    """A normal or t distribution, or a normal one bent along a parabola: ``x2`` gains ``bend (z1^2 - 1)``."""

    centre: np.ndarray
    sd: np.ndarray
    df: float = np.inf
    bend: float = 0.0

    def straightened(self, x):
        """Return points in standard units; the map preserves volume up to the product of the standard deviations."""
        z = (x - self.centre) / self.sd
        if self.bend:
            z[:, 1] -= self.bend * (z[:, 0] ** 2 - 1.0)
        return z

    def log_density(self, x):
        """Return the normalized log density."""
        z, d = self.straightened(x), len(self.centre)
        squares = (z**2).sum(axis=1)
        constant = -np.log(self.sd).sum()
        if np.isinf(self.df):
            return constant - 0.5 * d * np.log(2.0 * np.pi) - 0.5 * squares
        constant += gammaln(0.5 * (self.df + d)) - gammaln(0.5 * self.df) - 0.5 * d * np.log(np.pi * self.df)
        return constant - 0.5 * (self.df + d) * np.log1p(squares / self.df)

    def score(self, x):
        """Return the gradient of the log density."""
        z, d = self.straightened(x), len(self.centre)
        slope = -z if np.isinf(self.df) else -(self.df + d) * z / (self.df + (z**2).sum(axis=1, keepdims=True))
        if self.bend:
            bent = (x[:, 0] - self.centre[0]) / self.sd[0]
            slope[:, 0] -= 2.0 * self.bend * bent * slope[:, 1]
        return slope / self.sd

    def draw(self, n, rng):
        """Independent draws."""
        d = len(self.centre)
        z = rng.standard_normal((n, d))
        if np.isfinite(self.df):
            z *= np.sqrt(self.df / rng.chisquare(self.df, (n, 1)))
        if self.bend:
            z[:, 1] += self.bend * (z[:, 0] ** 2 - 1.0)
        return self.centre + self.sd * z


@dataclass(frozen=True, eq=False)
class Mixture:
    """Mixture of modes with weights."""

    modes: tuple[Mode, ...]
    shares: np.ndarray

    @property
    def target(self):
        """Return a target with score and log density, up to a constant."""
        return sk.Target(self.score, log_density=lambda x: 7.0 + self.log_density(x), dim=len(self.modes[0].centre))

    def terms(self, x):
        """Return the terms of the mixture's log density, shape (K, n)."""
        return np.log(self.shares)[:, None] + np.stack([mode.log_density(x) for mode in self.modes])

    def log_density(self, x):
        """Return the log density of the mixture."""
        return logsumexp(self.terms(x), axis=0)

    def score(self, x):
        """Return the score of the mixture, a weighted mean of the modes' scores."""
        terms = self.terms(x)
        weights = np.exp(terms - logsumexp(terms, axis=0))
        return sum(w[:, None] * mode.score(x) for w, mode in zip(weights, self.modes, strict=True))

    def draw(self, n, rng, shares=None):
        """Return independent draws, with the mixture's weights or others."""
        labels = rng.choice(len(self.modes), size=n, p=self.shares if shares is None else shares)
        points = np.stack([mode.draw(n, rng) for mode in self.modes])
        return points[labels, np.arange(n)], labels

    def chain_in(self, k, n, rng):
        """A chain that never leaves a mode."""
        return self.modes[k].draw(n, rng)


def two_modes(dim, separation=10.0, share=0.5, df=np.inf, bend=0.0):
    """Return two modes, one with standard deviations from .5 to 2 and one with 1; or t modes of these widths."""
    centre = np.zeros(dim)
    centre[0] = separation
    wide = np.linspace(0.5, 2.0, dim) if np.isinf(df) and not bend else np.ones(dim)
    modes = (Mode(np.zeros(dim), wide, df, bend), Mode(centre, np.ones(dim), df, -bend))
    return Mixture(modes, np.array([share, 1.0 - share]))
