"""Targets with curved, skewed or funnel-shaped densities, with exact draws and true moments.

All parameters are unconstrained, and all data are simulated with fixed seeds. If the distribution factorizes, the true
means and standard deviations are computed in closed form or by quadrature. Otherwise, they are computed by importance
sampling from a Student t distribution, and rejection sampling with the same proposals gives exact draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from bias_problems import Truth, negative_binomial
from fresh_faults import banana
from known_faults import funnel
from scipy.optimize import minimize
from scipy.special import digamma, expit, gammaln, polygamma

import steinkit as sk

Array = np.ndarray
Rng = np.random.Generator
PROPOSALS, PILOTS, DF = 400_000, 40_000, 5.0
ROWS = 20_000  # log densities evaluated together
WIDEST = 10.0


@dataclass(frozen=True, eq=False)
class Model:
    """Target with exact draws and true moments.

    A function (n, rng) -> (n, d) generates the draws, and another function computes the moments.
    """

    name: str
    target: sk.Target
    draw: Callable[[int, Rng], Array]
    truth: Callable[[], Truth]


@cache
def models() -> dict[str, Model]:
    """Return all models by name."""
    made = [
        _banana("banana, b = .7", 0.7, 0.7),
        _banana("banana, b = 1.5", 1.5, 0.4),
        _rotated_banana(),
        _ring(),
        _sine_ridge(),
        _funnel(),
        _log_gamma(),
        *map(
            _by_importance,
            (zero_inflated(), weibull(), gaussian_process(), beta_binomial(), negative_binomial()),
            ("zero-inflated Poisson", "Weibull", "GP hyperparameters", "beta-binomial", "negative binomial"),
        ),
        _hierarchical_normal(),
        _horseshoe(),
    ]
    return {model.name: model for model in made}


def _without_sampler(target: sk.Target) -> sk.Target:
    return sk.Target(target.score, log_density=target.log_density, dim=target.dim)


def exactly(mean: Array, sd: Array) -> Truth:
    """Return exact reference values with standard errors of zero."""
    return Truth(np.asarray(mean, float), np.asarray(sd, float), np.zeros(len(mean)), np.zeros(len(mean)))


def _banana(name: str, bend: float, sd: float) -> Model:
    """Return the target x1 ~ N(0, 1), x2 ~ N(bend (x1^2 - 1), sd^2)."""
    made = banana(bend, sd)
    sds = np.array([1.0, np.sqrt(2.0 * bend**2 + sd**2)])
    return Model(name, _without_sampler(made), made.sample, lambda: exactly(np.zeros(2), sds))


def _rotated_banana(bend: float = 1.5, sd: float = 0.4, dim: int = 5) -> Model:
    """Return a banana and three independent normal coordinates, rotated."""
    flat = banana(bend, sd)
    axes = np.linalg.qr(np.random.default_rng(31).standard_normal((dim, dim)))[0]

    def score(x: Array) -> Array:
        y = x @ axes
        return np.hstack([flat.score(y[:, :2]), -y[:, 2:]]) @ axes.T

    def log_density(x: Array) -> Array:
        y = x @ axes
        return flat.log_density(y[:, :2]) - 0.5 * (y[:, 2:] ** 2).sum(axis=1)

    def draw(n: int, rng: Rng) -> Array:
        return np.hstack([flat.sample(n, rng), rng.standard_normal((n, dim - 2))]) @ axes.T

    variances = np.array([1.0, 2.0 * bend**2 + sd**2, *np.ones(dim - 2)])
    sds = np.sqrt(axes**2 @ variances)
    return Model(
        "banana in d = 5", sk.Target(score, log_density=log_density, dim=dim), draw, lambda: exactly(0 * sds, sds)
    )


def ring(radius: float = 4.0, width: float = 0.7) -> sk.Target:
    """Return the target log p = -(|x| - radius)^2 / (2 width^2) in the plane."""

    def score(x: Array) -> Array:
        r = np.linalg.norm(x, axis=1, keepdims=True)
        return -(r - radius) / width**2 * x / np.maximum(r, 1e-300)

    def log_density(x: Array) -> Array:
        return -0.5 * ((np.linalg.norm(x, axis=1) - radius) / width) ** 2

    def draw(n: int, rng: Rng) -> Array:
        r = radius + width * rng.standard_normal(4 * n + 50)  # kept with probability proportional to r
        r = r[rng.random(len(r)) * 2.0 * radius < r][:n]
        angle = rng.uniform(0.0, 2.0 * np.pi, n)
        return r[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])

    return sk.Target(score, log_density=log_density, sampler=draw, dim=2)


def _ring(radius: float = 4.0, width: float = 0.7) -> Model:
    made = ring(radius, width)
    r = np.linspace(0.0, radius + 10.0 * width, 20_001)
    shares = r * np.exp(-0.5 * ((r - radius) / width) ** 2)
    sd = np.sqrt(0.5 * (shares @ r**2) / shares.sum())
    return Model("ring", _without_sampler(made), made.sample, lambda: exactly(np.zeros(2), np.full(2, sd)))


def _sine_ridge(height: float = 1.5, rate: float = 2.0, sd: float = 0.3) -> Model:
    """Return the target x1 ~ N(0, 1), x2 ~ N(height sin(rate x1), sd^2)."""

    def score(x: Array) -> Array:
        pull = (x[:, 1] - height * np.sin(rate * x[:, 0])) / sd**2
        return np.column_stack([-x[:, 0] + height * rate * np.cos(rate * x[:, 0]) * pull, -pull])

    def log_density(x: Array) -> Array:
        return -0.5 * (x[:, 0] ** 2 + ((x[:, 1] - height * np.sin(rate * x[:, 0])) / sd) ** 2)

    def draw(n: int, rng: Rng) -> Array:
        z = rng.standard_normal((n, 2))
        return np.column_stack([z[:, 0], height * np.sin(rate * z[:, 0]) + sd * z[:, 1]])

    sds = np.array([1.0, np.sqrt(0.5 * height**2 * (1.0 - np.exp(-2.0 * rate**2)) + sd**2)])
    target = sk.Target(score, log_density=log_density, dim=2)
    return Model("sine ridge", target, draw, lambda: exactly(np.zeros(2), sds))


def _funnel(sd: float = 1.5, dim: int = 4) -> Model:
    """Return the target v ~ N(0, sd^2), others ~ N(0, exp(v))."""
    made = funnel(sd, dim)
    sds = np.array([sd, *np.full(dim - 1, np.exp(0.25 * sd**2))])
    return Model("funnel", _without_sampler(made), made.sample, lambda: exactly(0 * sds, sds))


def log_gamma(shape: float = 3.0, dim: int = 3) -> sk.Target:
    """Return logarithms of independent gamma variables."""
    return sk.Target(
        lambda x: shape - np.exp(x),
        log_density=lambda x: (shape * x - np.exp(x)).sum(axis=1),
        sampler=lambda n, rng: np.log(rng.gamma(shape, size=(n, dim))),
        dim=dim,
    )


def _log_gamma(shape: float = 3.0, dim: int = 3) -> Model:
    made = log_gamma(shape, dim)
    moments = np.full(dim, digamma(shape)), np.full(dim, np.sqrt(polygamma(1, shape)))
    return Model("log gamma", _without_sampler(made), made.sample, lambda: exactly(*moments))


def zero_inflated() -> sk.Target:
    """Return the logit of the fraction of structural zeros, and the log rate, of 25 counts."""
    rng = np.random.default_rng(21)
    counts = np.where(rng.random(25) < 0.2, 0, rng.poisson(1.5, 25))
    zeros, others, total = int((counts == 0).sum()), int((counts > 0).sum()), int(counts.sum())

    def log_density(x: Array) -> Array:
        share, rate = expit(x[:, 0]), np.exp(x[:, 1])
        likelihood = zeros * np.log(share + (1.0 - share) * np.exp(-rate)) - others * (
            np.logaddexp(0.0, x[:, 0]) + rate
        )
        return likelihood + total * x[:, 1] - 0.125 * x[:, 0] ** 2 - 0.5 * x[:, 1] ** 2

    def score(x: Array) -> Array:
        share, rate = expit(x[:, 0]), np.exp(x[:, 1])
        zero = share + (1.0 - share) * np.exp(-rate)
        by_logit = zeros * -np.expm1(-rate) * share * (1.0 - share) / zero - others * share
        by_rate = -zeros * (1.0 - share) * rate * np.exp(-rate) / zero - others * rate + total
        return np.column_stack([by_logit - 0.25 * x[:, 0], by_rate - x[:, 1]])

    return sk.Target(score, log_density=log_density, dim=2)


def weibull() -> sk.Target:
    """Return the log shape and log scale of twelve times."""
    logs = np.log(np.random.default_rng(22).weibull(1.4, 12))

    def log_density(x: Array) -> Array:
        steps = np.exp(x[:, :1]) * (logs - x[:, 1:])
        return (x[:, :1] + steps - np.exp(steps)).sum(axis=1) - 0.125 * (x**2).sum(axis=1)

    def score(x: Array) -> Array:
        shape = np.exp(x[:, :1])
        steps = shape * (logs - x[:, 1:])
        excess = np.exp(steps) - 1.0
        return np.column_stack([(1.0 - steps * excess).sum(axis=1), (shape * excess).sum(axis=1)]) - 0.25 * x

    return sk.Target(score, log_density=log_density, dim=2)


def gaussian_process() -> sk.Target:
    """Return the log amplitude, log length scale and log noise sd of twelve values of a function."""
    rng = np.random.default_rng(23)
    places = np.sort(rng.uniform(-2.0, 2.0, 12))
    squares = np.subtract.outer(places, places) ** 2
    values = np.sin(1.5 * places) + 0.4 * rng.standard_normal(12)

    def parts(x: Array) -> tuple[Array, Array, Array]:
        smooth = np.exp(2.0 * x[:, :1, None] - 0.5 * squares * np.exp(-2.0 * x[:, 1:2, None]))
        noise = (np.exp(2.0 * x[:, 2]) + 1e-8)[:, None, None] * np.eye(12)
        return smooth, noise, smooth + noise

    def log_density(x: Array) -> Array:
        root = np.linalg.cholesky(parts(x)[2])
        left = np.linalg.solve(root, np.broadcast_to(values[:, None], (len(x), 12, 1)))[..., 0]
        halves = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
        return -0.5 * (left**2).sum(axis=1) - halves - 0.5 * (x**2).sum(axis=1)

    def score(x: Array) -> Array:
        smooth, noise, covariance = parts(x)
        inverse = np.linalg.inv(covariance)
        pull = inverse @ values
        weights = 0.5 * (pull[:, :, None] * pull[:, None, :] - inverse)
        slopes = (2.0 * smooth, smooth * squares * np.exp(-2.0 * x[:, 1:2, None]), 2.0 * (noise - 1e-8 * np.eye(12)))
        return np.column_stack([(weights * slope).sum(axis=(1, 2)) for slope in slopes]) - x

    return sk.Target(score, log_density=log_density, dim=3)


def beta_binomial() -> sk.Target:
    """Return the logit of the mean and the log concentration of ten groups of fifteen trials."""
    rng = np.random.default_rng(24)
    trials, counts = 15, rng.binomial(15, rng.beta(1.6, 2.4, 10))

    def log_density(x: Array) -> Array:
        size = np.exp(x[:, 1:])
        a, b = size * expit(x[:, :1]), size * expit(-x[:, :1])
        terms = gammaln(counts + a) - gammaln(a) + gammaln(trials - counts + b) - gammaln(b)
        terms += gammaln(size) - gammaln(trials + size)
        return terms.sum(axis=1) - 0.125 * x[:, 0] ** 2 - 0.5 * ((x[:, 1] - 1.0) / 1.5) ** 2

    def score(x: Array) -> Array:
        size, mean = np.exp(x[:, 1:]), expit(x[:, :1])
        a, b = size * mean, size * (1.0 - mean)
        by_a = (digamma(counts + a) - digamma(a)).sum(axis=1, keepdims=True)
        by_b = (digamma(trials - counts + b) - digamma(b)).sum(axis=1, keepdims=True)
        by_size = len(counts) * (digamma(size) - digamma(trials + size))
        by_logit = size * mean * (1.0 - mean) * (by_a - by_b)
        return np.hstack([by_logit - 0.25 * x[:, :1], a * by_a + b * by_b + size * by_size - (x[:, 1:] - 1.0) / 2.25])

    return sk.Target(score, log_density=log_density, dim=2)


def _hierarchical_normal() -> Model:
    """Return (mu, log tau, theta_1, ..., theta_8), centered, with known variances of one."""
    rng = np.random.default_rng(25)
    y = 1.0 + 0.8 * rng.standard_normal(8) + rng.standard_normal(8)

    def score(x: Array) -> Array:
        mu, log_tau, theta = x[:, :1], x[:, 1:2], x[:, 2:]
        pull = (theta - mu) * np.exp(-2.0 * log_tau)
        by_scale = ((theta - mu) * pull).sum(axis=1, keepdims=True) - 8.0 - log_tau
        return np.hstack([pull.sum(axis=1, keepdims=True) - mu / 4.0, by_scale, y - theta - pull])

    def log_density(x: Array) -> Array:
        mu, log_tau, theta = x[:, :1], x[:, 1], x[:, 2:]
        spread = 0.5 * ((theta - mu) ** 2).sum(axis=1) * np.exp(-2.0 * log_tau) + 8.0 * log_tau
        return -spread - 0.5 * ((y - theta) ** 2).sum(axis=1) - 0.125 * mu[:, 0] ** 2 - 0.5 * log_tau**2

    grid = np.linspace(-7.0, 5.0, 6001)
    tau2 = np.exp(2.0 * grid)
    precision = 0.25 + 8.0 / (1.0 + tau2)  # variance of mu given tau
    center = y.sum() / (1.0 + tau2) / precision
    height = -4.0 * np.log1p(tau2) - 0.5 * (y**2).sum() / (1.0 + tau2) + 0.5 * precision * center**2
    height += -0.5 * np.log(precision) - 0.5 * grid**2
    shares = np.exp(height - height.max())
    shares /= shares.sum()
    pooled = 1.0 / (1.0 + tau2)  # weight of mu in the mean of theta_j

    def truth() -> Truth:
        at = [center, grid, *(pooled * center + (1.0 - pooled) * value for value in y)]
        within = [1.0 / precision, 0.0 * grid, *([tau2 * pooled + pooled**2 / precision] * 8)]
        mean = np.array([shares @ values for values in at])
        variance = [shares @ (v + (a - m) ** 2) for a, v, m in zip(at, within, mean, strict=True)]
        return exactly(mean, np.sqrt(variance))

    def draw(n: int, rng: Rng) -> Array:
        log_tau = np.interp(rng.random(n), np.cumsum(shares) - 0.5 * shares, grid)
        t2 = np.exp(2.0 * log_tau)
        spread = 0.25 + 8.0 / (1.0 + t2)
        mu = y.sum() / (1.0 + t2) / spread + rng.standard_normal(n) / np.sqrt(spread)
        part = (1.0 / (1.0 + t2))[:, None]
        theta = part * mu[:, None] + (1.0 - part) * y + np.sqrt(1.0 - part) * rng.standard_normal((n, 8))
        return np.column_stack([mu, log_tau, theta])

    return Model("hierarchical normal", sk.Target(score, log_density=log_density, dim=10), draw, truth)


def _horseshoe() -> Model:
    """Return (log tau, log lambda_1..3, z_1..3): y_j ~ N(tau lambda_j z_j, 1), half-Cauchy scales, z_j ~ N(0, 1)."""
    y = np.array([0.4, -1.2, 3.5])

    def score(x: Array) -> Array:
        tau, scales, z = x[:, :1], x[:, 1:4], x[:, 4:]
        signal = np.exp(tau + scales) * z
        pull = (y - signal) * signal
        by_tau = pull.sum(axis=1, keepdims=True) - np.tanh(tau)
        return np.hstack([by_tau, pull - np.tanh(scales), (y - signal) * np.exp(tau + scales) - z])

    def log_density(x: Array) -> Array:
        scales, z = x[:, :4], x[:, 4:]
        prior = np.logaddexp(scales, -scales).sum(axis=1) + 0.5 * (z**2).sum(axis=1)
        return -prior - 0.5 * ((y - np.exp(x[:, :1] + x[:, 1:4]) * z) ** 2).sum(axis=1)

    grid = np.linspace(-15.0, 15.0, 601)  # for log tau and log lambda; half-Cauchy tails decrease as exp(-|x|)
    prior = np.exp(-np.logaddexp(grid, -grid))

    def given(log_tau: Array, value: float) -> tuple[Array, Array]:
        """Return exp(log tau + log lambda) and weights of the grid of log lambda, one row per tau."""
        scale = np.exp(log_tau[:, None] + grid)
        variance = 1.0 + scale**2
        return scale, prior * np.exp(-0.5 * value**2 / variance) / np.sqrt(variance)

    def of_tau() -> Array:
        shares = prior * np.prod([given(grid, value)[1].sum(axis=1) for value in y], axis=0)
        return shares / shares.sum()

    def truth() -> Truth:
        tau = of_tau()
        rows: list[list[tuple[float, float]]] = [[(tau @ grid, tau @ grid**2)], [], []]
        for value in y:
            scale, shares = given(grid, value)
            joint = tau[:, None] * shares / shares.sum(axis=1, keepdims=True)
            center, variance = scale * value / (1.0 + scale**2), 1.0 / (1.0 + scale**2)
            rows[1].append(((joint * grid).sum(), (joint * grid**2).sum()))
            rows[2].append(((joint * center).sum(), (joint * (center**2 + variance)).sum()))
        first, second = np.array([pair for row in rows for pair in row]).T
        return exactly(first, np.sqrt(second - first**2))

    def draw(n: int, rng: Rng) -> Array:
        shares = of_tau()
        log_tau = np.interp(rng.random(n), np.cumsum(shares) - 0.5 * shares, grid)
        scales, z = np.empty((n, 3)), np.empty((n, 3))
        for j, value in enumerate(y):
            shares = given(log_tau, value)[1]
            mass = np.cumsum(shares, axis=1)
            wanted = rng.random(n) * mass[:, -1]
            at = np.arange(n), (mass < wanted[:, None]).sum(axis=1)
            scales[:, j] = grid[at[1]] + (grid[1] - grid[0]) * (0.5 - (mass[at] - wanted) / shares[at])
            scale = np.exp(log_tau + scales[:, j])
            z[:, j] = scale * value / (1.0 + scale**2) + rng.standard_normal(n) / np.sqrt(1.0 + scale**2)
        return np.column_stack([log_tau, scales, z])

    return Model("horseshoe", sk.Target(score, log_density=log_density, dim=7), draw, truth)


def _by_importance(target: sk.Target, name: str) -> Model:
    def draw(n: int, rng: Rng) -> Array:
        pool = _pool(name)
        return pool[rng.choice(len(pool), n, replace=False)]

    return Model(name, target, draw, lambda: importance(name)[2])


@cache
def importance(name: str) -> tuple[Array, Array, Truth]:
    """Return proposals, their normalized weights, and the moments with their errors.

    Raises
    ------
    ValueError
        If the effective size of the weights is below 50,000.
    """
    target, rng = models()[name].target, np.random.default_rng(32)
    mean, covariance = mode_and_curvature(target, np.zeros(target.dim or 0))
    for count in (PILOTS, PILOTS, PROPOSALS):
        points, weights = _weighted(target, mean, 1.2 * covariance, count, rng)
        mean = weights @ points
        covariance = (points - mean).T @ ((points - mean) * weights[:, None])
    if 1.0 / (weights @ weights) < 50_000.0:
        raise ValueError(f"{name}: effective size {1.0 / (weights @ weights):.0f} of {PROPOSALS} proposals")
    sd = np.sqrt(np.diag(covariance))
    z = (points - mean) / sd
    errors = [np.sqrt(weights**2 @ influence**2) for influence in (z, 0.5 * (z**2 - 1.0))]
    return points, weights, Truth(mean, sd, sd * errors[0], errors[1])


def _weighted(target: sk.Target, mean: Array, covariance: Array, count: int, rng: Rng) -> tuple[Array, Array]:
    root = np.linalg.cholesky(covariance)
    z = rng.standard_normal((count, len(mean))) * np.sqrt(DF / rng.chisquare(DF, (count, 1)))
    points = mean + z @ root.T
    with np.errstate(over="ignore"):
        heights = np.concatenate([target.log_density(points[k : k + ROWS]) for k in range(0, count, ROWS)])
    logs = heights + 0.5 * (DF + len(mean)) * np.log1p((z**2).sum(axis=1) / DF)
    weights = np.exp(logs - logs.max())
    return points, weights / weights.sum()


@cache
def _pool(name: str) -> Array:
    """Keep proposals with probabilities proportional to their weights."""
    points, weights, _ = importance(name)
    return points[np.random.default_rng(33).random(len(weights)) * weights.max() < weights]


def mode_and_curvature(target: sk.Target, start: Array, scale: Array | float = 1.0) -> tuple[Array, Array]:
    """Return the mode found by L-BFGS from a start, and the inverse curvature at the mode.

    In units of `scale`, curvatures are at least 1 / `WIDEST`^2. This bound is relevant along a ring.
    """
    found = minimize(
        lambda x: -target.log_density(x[None])[0], start, jac=lambda x: -target.score(x[None])[0], method="L-BFGS-B"
    )
    units = np.diag(np.broadcast_to(scale, start.shape))
    steps = 1e-4 * units
    curvature = (target.score(found.x - steps) - target.score(found.x + steps)) @ units / 2e-4
    values, axes = np.linalg.eigh(0.5 * (curvature + curvature.T))
    return found.x, units @ (axes / np.maximum(values, WIDEST**-2)) @ axes.T @ units
