"""Defects used to compare and choose the tests of the verdict, with 500 independent draws by default."""

from __future__ import annotations

from functools import partial

import numpy as np
from fault import LINK, SHAPE, Array, Entry, Fault, centred, decaying, kinds, normal, only, pick, scaled
from scipy.special import ndtr

import steinkit as sk

Rng = np.random.Generator
N = 500


def quadratic(rng: Rng, a: float, unit: bool = True) -> Fault:
    """Let x2 depend on the square of x1, without correlation."""
    x = rng.standard_normal((N, 10))
    x[:, 1] += a * (x[:, 0] ** 2 - 1.0)
    if unit:
        x[:, 1] /= np.sqrt(1.0 + 2.0 * a**2)
    return Fault(x, normal(10), only(0, 1))


def spread_by_size(rng: Rng, a: float = 0.25) -> Fault:
    """Let the spread of x5 increase with |x2|, at unit variance: E exp(2 a |z|) = 2 exp(2 a^2) Phi(2 a)."""
    x = rng.standard_normal((800, 8))
    x[:, 4] *= np.exp(a * np.abs(x[:, 1])) / np.sqrt(2.0 * np.exp(2.0 * a**2) * ndtr(2.0 * a))
    return Fault(x, normal(8), only(1, 4))


def signs(rng: Rng, dim: int) -> Fault:
    """Make the product of three pairwise independent coordinates positive."""
    x = rng.standard_normal((N, dim))
    x[:, 2] = np.abs(x[:, 2]) * np.sign(x[:, 0] * x[:, 1])
    return Fault(x, normal(dim), only(0, 1, 2))


def bimodal(rng: Rng) -> Fault:
    """Make one coordinate bimodal, with mean zero and unit variance."""
    x = rng.standard_normal((N, 5))
    (j,) = pick(rng, 5)
    x[:, j] = 0.8 * rng.choice([-1.0, 1.0], N) + 0.6 * x[:, j]
    return Fault(x, normal(5), only(j), SHAPE)


def skewed(rng: Rng, dim: int, count: int = 1, shape: float = 8.0) -> Fault:
    """Replace normal by standardized gamma variables."""
    x = rng.standard_normal((N, dim))
    wrong = pick(rng, dim, count)
    x[:, wrong] = (rng.gamma(shape, size=(N, count)) - shape) / np.sqrt(shape)
    return Fault(x, normal(dim), only(*wrong), SHAPE | {"location"})


def modes(rng: Rng, distance: float, first: float) -> Fault:
    """Change the weights of the two modes of a mixture."""
    means = np.array([[-0.5, 0.0], [0.5, 0.0]]) * distance
    x = rng.standard_normal((N, 2)) + means[(rng.random(N) > first).astype(int)]
    return Fault(x, sk.targets.GaussianMixture(means, sd=1.0), only(0))


def log_gamma(k: float, dim: int) -> sk.Target:
    """Return logarithms of independent gamma variables."""
    return sk.Target(
        lambda x: k - np.exp(x),
        log_density=lambda x: (k * x - np.exp(x)).sum(axis=1),
        sampler=lambda n, rng: np.log(rng.gamma(k, size=(n, dim))),
        dim=dim,
    )


def laplace(rng: Rng, k: float = 10.0) -> Fault:
    """Draw from the normal distribution with the mode and curvature of the target."""
    return Fault(np.log(k) + rng.standard_normal((N, 3)) / np.sqrt(k), log_gamma(k, 3))


def shifted(rng: Rng, dim: int, by: float, every: bool) -> Fault:
    """Shift one coordinate, or all."""
    wrong = list(range(dim)) if every else pick(rng, dim)
    x = rng.standard_normal((N, dim))
    x[:, wrong] += by
    return Fault(x, normal(dim), None if every else only(*wrong), kinds("location"))


def one_pair(rng: Rng, dim: int = 20, rho: float = 0.15) -> Fault:
    """Correlate one pair."""
    x = rng.standard_normal((N, dim))
    i, j = pick(rng, dim, 2)
    x[:, j] = rho * x[:, i] + np.sqrt(1.0 - rho**2) * x[:, j]
    return Fault(x, normal(dim), only(i, j), LINK)


def too_wide(rng: Rng) -> Fault:
    """Draw with 1.1 times the variance, as unadjusted Langevin dynamics for N(0, I) at one step size."""
    return Fault(np.sqrt(1.1) * rng.standard_normal((N, 5)), normal(5), None, kinds("scale"))


def mean_field(rng: Rng) -> Fault:
    """Draw coordinates independently with their conditional variances."""
    covariance = decaying(0.9, 5)
    sds = 1.0 / np.sqrt(np.diag(np.linalg.inv(covariance)))
    return Fault(sds * rng.standard_normal((N, 5)), centred(covariance), None, kinds("dependence", "scale"))


def cut_tails(rng: Rng, dim: int) -> Fault:
    """Redraw every coordinate until it is within two sds."""
    x = rng.standard_normal((N, dim))
    while (far := np.abs(x) > 2.0).any():
        x[far] = rng.standard_normal(far.sum())
    return Fault(x, normal(dim), None, SHAPE)


def tempered(rng: Rng, temperature: float = 0.9, df: float = 5.0, dim: int = 5) -> Fault:
    """Draw from p^(1 / temperature), which is also a t distribution."""
    power = (df + dim) / temperature - dim
    x = sk.targets.StudentT(power, scale_matrix=df / power, dim=dim).sample(N, rng)
    return Fault(x, sk.targets.StudentT(df, dim=dim), None, SHAPE)


def one_of_many(rng: Rng, dim: int = 100) -> Fault:
    """Increase the scale of one of a hundred coordinates, for 1000 draws."""
    (j,) = pick(rng, dim)
    return Fault(rng.standard_normal((1000, dim)) * scaled(dim, {j: 1.5}), normal(dim), only(j), kinds("scale"))


def funnel(sd: float, dim: int) -> sk.Target:
    """Return a log scale v ~ N(0, sd^2), the first coordinate, and others ~ N(0, exp(v))."""

    def score(x: Array) -> Array:
        v, rest = x[:, :1], x[:, 1:]
        squares = (rest**2).sum(axis=1, keepdims=True) * np.exp(-v)
        return np.hstack([-v / sd**2 + 0.5 * (squares - (dim - 1)), -rest * np.exp(-v)])

    def log_density(x: Array) -> Array:
        v, squares = x[:, 0], (x[:, 1:] ** 2).sum(axis=1)
        return -0.5 * (v / sd) ** 2 - 0.5 * (dim - 1) * v - 0.5 * squares * np.exp(-v)

    def draw(n: int, rng: Rng) -> Array:
        v = sd * rng.standard_normal((n, 1))
        return np.hstack([v, np.exp(0.5 * v) * rng.standard_normal((n, dim - 1))])

    return sk.Target(score, log_density=log_density, sampler=draw, dim=dim)


def missed_neck(rng: Rng, sd: float = 1.5) -> Fault:
    """Remove the draws of a funnel with a log scale below its 15% quantile."""
    target = funnel(sd, 5)
    x = target.sample(2 * N, rng)
    return Fault(x[x[:, 0] > -1.0364 * sd][:N], target, only(0))


def same_moments(rng: Rng, df: float = 5.0, dim: int = 5) -> Fault:
    """Draw from a normal distribution with the covariance of a t distribution."""
    x = np.sqrt(df / (df - 2.0)) * rng.standard_normal((N, dim))
    return Fault(x, sk.targets.StudentT(df, dim=dim), None, SHAPE)


def outliers(rng: Rng, dim: int = 20) -> Fault:
    """Shift 1% of the draws by four sds in every coordinate."""
    x = rng.standard_normal((N, dim))
    x[::100] = 4.0 * rng.choice([-1.0, 1.0], size=x[::100].shape)
    return Fault(x, normal(dim), None, SHAPE)


def langevin(rng: Rng, inflation: float = 0.15, dim: int = 5) -> Fault:
    """Draw from unadjusted Langevin dynamics: variance v / (1 - h / (4 v)) along an axis of variance v."""
    covariance = decaying(0.9, dim)
    values, axes = np.linalg.eigh(covariance)
    quarter = values[0] * (1.0 - 1.0 / (1.0 + inflation))
    sds = np.sqrt(values / (1.0 - quarter / values))
    return Fault((sds * rng.standard_normal((N, dim))) @ axes.T, centred(covariance), None, kinds("scale"))


KNOWN = {
    "quadratic .3": Entry("x2 = z2 + .3 (x1^2 - 1), at unit variance, d = 10", partial(quadratic, a=0.3)),
    "quadratic .5": Entry("x2 = z2 + .5 (x1^2 - 1), at unit variance, d = 10", partial(quadratic, a=0.5)),
    "quadratic .3, wider": Entry("x2 = z2 + .3 (x1^2 - 1), d = 10", partial(quadratic, a=0.3, unit=False)),
    "spread by size": Entry("x5 = z5 exp(.25 |x2|), at unit variance, d = 8, n = 800", spread_by_size),
    "three signs": Entry("x1 x2 x3 > 0, pairs independent, d = 5", partial(signs, dim=5)),
    "three signs, d = 10": Entry("x1 x2 x3 > 0, pairs independent, d = 10", partial(signs, dim=10)),
    "bimodal one of 5": Entry("one coordinate +-.8 + .6 z, d = 5", bimodal),
    "skewed one of 5": Entry("one coordinate a gamma of shape 8, standardized, d = 5", partial(skewed, dim=5)),
    "skewed two of 5": Entry("two coordinates gammas of shape 8, d = 5", partial(skewed, dim=5, count=2)),
    "skewed one of 20": Entry("one coordinate a gamma of shape 8, d = 20", partial(skewed, dim=20)),
    "missing mode": Entry(
        "modes 4 sds apart, 95% of the draws in one, d = 2", partial(modes, distance=4.0, first=0.95)
    ),
    "missing mode, farther": Entry("modes 5 sds apart, 95% in one, d = 2", partial(modes, distance=5.0, first=0.95)),
    "mode weights": Entry("modes 3 sds apart, 80% of the draws in one, d = 2", partial(modes, distance=3.0, first=0.8)),
    "Laplace": Entry("the Laplace approximation of log gammas of shape 10, d = 3", laplace),
    "dense shift": Entry("all shifted by .05 sd, d = 20", partial(shifted, dim=20, by=0.05, every=True)),
    "twenty shifted": Entry("all shifted by .1 sd, d = 20", partial(shifted, dim=20, by=0.1, every=True)),
    "one shifted": Entry("one shifted by .1 sd, d = 5", partial(shifted, dim=5, by=0.1, every=False)),
    "one pair": Entry("one pair's correlation .15 for 0, d = 20", one_pair),
    "variance + 10%": Entry("all variances x 1.1, d = 5", too_wide),
    "mean field": Entry("independent draws for correlations .9^|i - j|, at conditional variances, d = 5", mean_field),
    "tails cut, d = 2": Entry("every coordinate within 2 sds, d = 2", partial(cut_tails, dim=2)),
    "tails cut, d = 5": Entry("every coordinate within 2 sds, d = 5", partial(cut_tails, dim=5)),
    "temperature .9": Entry("p^(1 / .9) for a t of 5 df, d = 5", tempered),
    "one of 100": Entry("one sd x 1.5, d = 100, n = 1000", one_of_many),
    "funnel neck": Entry("log scale (sd 1.5) of a funnel above its 15% quantile, d = 5", missed_neck),
    "same moments": Entry("a normal with the covariance of a t of 5 df, d = 5", same_moments),
    "outliers": Entry("1% of the draws at 4 sds in all coordinates, d = 20", outliers),
    "Langevin, worst axis": Entry("unadjusted Langevin, variance + 15% on the worst axis, .9^|i - j|, d = 5", langevin),
}
