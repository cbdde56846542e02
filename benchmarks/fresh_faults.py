"""Defects that occur in practice, defined before any test was applied to them. Do not use them to choose settings.

Two were changed after a comparison with exact draws. The first step size of Langevin dynamics on the logistic
regression increased the sds by only 1%. For Hamiltonian dynamics, no coordinate in particular is affected because all
are too wide.
"""

from __future__ import annotations

from functools import cache, partial

import numpy as np
from fault import (
    LINK,
    SHAPE,
    Array,
    Entry,
    Fault,
    centred,
    decaying,
    kinds,
    laplace_of,
    normal,
    only,
    pick,
    scaled,
    slow,
    walked,
)
from scipy.special import expit, ndtri, stdtr

import steinkit as sk

Rng = np.random.Generator

EFFECTS = np.array(
    [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]
)  # standard errors of the coaching effects in eight schools
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def schools_draws(n: int, rng: Rng, scale: float = 5.0) -> Array:
    """Draw (mu, log tau, eta) of the schools exactly, with half-Cauchy(scale) for tau; theta = mu + tau eta."""
    grid = np.linspace(-8.0, 5.0, 5000)
    variances = ERRORS**2 + np.exp(2.0 * grid)[:, None]
    precision = 1.0 / 25.0 + (1.0 / variances).sum(axis=1)
    pull = (EFFECTS / variances).sum(axis=1)
    height = -0.5 * (np.log(variances) + EFFECTS**2 / variances).sum(axis=1)
    height += 0.5 * pull**2 / precision - 0.5 * np.log(precision) + grid - np.log1p(np.exp(2.0 * grid) / scale**2)
    mass = np.cumsum(np.exp(height - height.max()))
    log_tau = np.interp(rng.random(n) * mass[-1], mass, grid)
    precision, pull = (np.interp(log_tau, grid, values) for values in (precision, pull))
    mu = pull / precision + rng.standard_normal(n) / np.sqrt(precision)
    tau = np.exp(log_tau)[:, None]
    weight = 1.0 + (tau / ERRORS) ** 2
    eta = tau * (EFFECTS - mu[:, None]) / ERRORS**2 / weight + rng.standard_normal((n, 8)) / np.sqrt(weight)
    return np.column_stack([mu, log_tau, eta])


def schools(scale: float = 5.0) -> sk.Target:
    """Return the non-centered eight schools: mu ~ N(0, 5^2), tau half-Cauchy, in (mu, log tau, eta)."""

    def residuals(x: Array) -> Array:
        return (EFFECTS - x[:, :1] - np.exp(x[:, 1:2]) * x[:, 2:]) / ERRORS

    def log_density(x: Array) -> Array:
        prior = -0.5 * (x[:, 0] / 5.0) ** 2 + x[:, 1] - np.log1p(np.exp(2.0 * x[:, 1]) / scale**2)
        return prior - 0.5 * (residuals(x) ** 2 + x[:, 2:] ** 2).sum(axis=1)

    def score(x: Array) -> Array:
        pull, tau, eta = residuals(x) / ERRORS, np.exp(x[:, 1:2]), x[:, 2:]
        by_log_tau = 1.0 - 2.0 * tau**2 / (scale**2 + tau**2) + (pull * tau * eta).sum(axis=1, keepdims=True)
        return np.hstack([-x[:, :1] / 25.0 + pull.sum(axis=1, keepdims=True), by_log_tau, pull * tau - eta])

    return sk.Target(score, log_density=log_density, sampler=partial(schools_draws, scale=scale), dim=10)


def wrong_prior(rng: Rng) -> Fault:
    """Draw the eight schools with another scale of tau's prior; only log tau is biased given the others."""
    return Fault(schools_draws(1000, rng, 2.5), schools(5.0), only(1))


def banana(bend: float, sd: float = 0.5) -> sk.Target:
    """Return the target x1 ~ N(0, 1), x2 ~ N(bend (x1^2 - 1), sd^2)."""

    def score(x: Array) -> Array:
        pull = (x[:, 1] - bend * (x[:, 0] ** 2 - 1.0)) / sd**2
        return np.column_stack([-x[:, 0] + 2.0 * bend * x[:, 0] * pull, -pull])

    def log_density(x: Array) -> Array:
        return -0.5 * (x[:, 0] ** 2 + ((x[:, 1] - bend * (x[:, 0] ** 2 - 1.0)) / sd) ** 2)

    def draw(n: int, rng: Rng) -> Array:
        z = rng.standard_normal((n, 2))
        return np.column_stack([z[:, 0], bend * (z[:, 0] ** 2 - 1.0) + sd * z[:, 1]])

    return sk.Target(score, log_density=log_density, sampler=draw, dim=2)


def weak_bend(rng: Rng) -> Fault:
    return Fault(banana(0.43).sample(500, rng), banana(0.5), only(0, 1))


def clipped(rng: Rng) -> Fault:
    """Restrict one coordinate by a bound that the model does not have."""
    covariance = decaying(0.5, 10)
    target, (j,) = centred(covariance), pick(rng, 10)
    x = target.sample(500, rng)
    x[:, j] = np.minimum(x[:, j], 1.3)
    return Fault(x, target, only(j))


def kept_off(rng: Rng) -> Fault:
    """Exclude values of one gamma coordinate near its bound at zero."""
    target, (j,) = sk.targets.Gamma(2.0, dim=3), pick(rng, 3)
    x = target.sample(4000, rng)
    return Fault(x[x[:, j] > 0.3][:1000], target, only(j))


def log_scale(size: int) -> sk.Target:
    """Return the posterior of the mean and log sd of standard normal data, with flat priors on the mean and the sd."""

    def parts(x: Array) -> tuple[Array, Array]:
        return x[:, 0], size * np.exp(-2.0 * x[:, 1])

    def score(x: Array) -> Array:
        mu, weight = parts(x)
        return np.column_stack([-weight * mu, 1.0 - size + weight * (1.0 + mu**2)])

    def log_density(x: Array) -> Array:
        mu, weight = parts(x)
        return (1.0 - size) * x[:, 1] - 0.5 * weight * (1.0 + mu**2)

    return sk.Target(score, log_density=log_density, sampler=partial(log_scale_draws, size, 1), dim=2)


def log_scale_draws(size: int, jacobian: int, n: int, rng: Rng) -> Array:
    """Draw the mean and the log sd, with or without the Jacobian of the logarithm."""
    phi = -0.5 * np.log(rng.gamma(0.5 * (size - 1 - jacobian), 2.0 / size, n))
    return np.column_stack([np.exp(phi) / np.sqrt(size) * rng.standard_normal(n), phi])


def no_jacobian(rng: Rng) -> Fault:
    """Omit the Jacobian of log sigma."""
    return Fault(log_scale_draws(20, 0, 1000, rng), log_scale(20), only(1))


@cache
def logistic(size: int, dim: int) -> sk.targets.LogisticRegression:
    """Return a logistic regression on data with a fixed seed."""
    rng = np.random.default_rng(7)
    features = rng.standard_normal((size, dim))
    responses = rng.random(size) < expit(features @ np.linspace(-1.0, 1.0, dim))
    return sk.targets.LogisticRegression(features, responses, prior_variance=4.0)


def langevin_batches(rng: Rng) -> Fault:
    """Run stochastic gradient Langevin dynamics on a logistic regression."""
    target = logistic(500, 5)
    run = sk.samplers.sgld(
        target, step_size=1e-3, batch_size=20, draws=1000, burn_in=2000, thin=20, seed=[int(rng.integers(2**31))]
    )
    return Fault(run.points[0], target)


def two_modes_in_batches(rng: Rng) -> Fault:
    """Run stochastic gradient Langevin dynamics on the bundled posterior with two modes."""
    target = sk.targets.MixturePosterior()
    run = sk.samplers.sgld(
        target, step_size=2e-2, batch_size=10, draws=2000, burn_in=2000, thin=20, seed=[int(rng.integers(2**31))]
    )
    return Fault(run.points[0], target)


def no_hastings(rng: Rng, shape: float = 30.0) -> Fault:
    """Propose one of two gamma coordinates multiplicatively, without the ratio of the proposal densities."""
    at = np.array([shape, shape])
    kept = np.empty((1000, 2))
    for k in range(len(kept)):
        for z, u, w, v in zip(*rng.standard_normal((2, 10)), *np.log(rng.random((2, 10))), strict=True):
            proposed = at[0] * np.exp(0.4 * z)
            if v < (shape - 1.0) * np.log(proposed / at[0]) - (proposed - at[0]):
                at[0] = proposed
            proposed = at[1] + 2.4 * np.sqrt(shape) * u
            if proposed > 0.0 and w < (shape - 1.0) * np.log(proposed / at[1]) - (proposed - at[1]):
                at[1] = proposed
        kept[k] = at
    return Fault(kept, sk.targets.Gamma(shape, dim=2), only(0))


def variational(rng: Rng) -> Fault:
    """Draw from a mean-field normal approximation to a t distribution with 7 df and correlations .3."""
    matrix = 0.7 * np.eye(5) + 0.3
    sds = 1.0 / np.sqrt(np.diag(np.linalg.inv(matrix)))
    return Fault(sds * rng.standard_normal((500, 5)), sk.targets.StudentT(7.0, scale_matrix=matrix))


def one_light(rng: Rng) -> Fault:
    """Draw one of twenty t coordinates from a normal distribution with the same variance."""
    target = sk.Target(
        score=lambda x: -5.0 * x / (4.0 + x**2),
        log_density=lambda x: -2.5 * np.log1p(x**2 / 4.0).sum(axis=1),
        sampler=lambda n, rng: rng.standard_t(4.0, size=(n, 20)),
        dim=20,
    )
    (j,) = pick(rng, 20)
    x = target.sample(500, rng)
    x[:, j] = np.sqrt(2.0) * rng.standard_normal(500)
    return Fault(x, target, only(j), SHAPE)


def stuck(rng: Rng) -> Fault:
    """Hold a chain at a point in the tails for a tenth of its length."""
    x = slow(rng.standard_normal((1000, 5)))
    x[400:500] = 1.4 * x[400]
    return Fault(x, normal(5))


def no_rejection(rng: Rng, dim: int = 20, step: float = 0.8) -> Fault:
    """Run Hamiltonian dynamics with too large a step and without rejections; variance x 1 / (1 - step^2 / (4 v))."""
    variances = np.geomspace(1.0, 4.0, dim) ** 2
    x, kept = np.sqrt(variances) * rng.standard_normal(dim), np.empty((1000, dim))
    for k in range(len(kept)):
        momentum = rng.standard_normal(dim) - 0.5 * step * x / variances
        for _ in range(int(rng.integers(3, 9))):
            x = x + step * momentum
            momentum = momentum - step * x / variances
        kept[k] = x
    return Fault(kept, centred(np.diag(variances)), None, kinds("scale"))


def cooled(rng: Rng, power: float = 0.85) -> Fault:
    """Draw from p^power for a logistic regression, by random walks from its Laplace approximation."""
    target = logistic(80, 3)
    mode, covariance = laplace_of(target)
    starts = mode + rng.standard_normal((800, 3)) @ np.linalg.cholesky(covariance / power).T
    sds = np.sqrt(np.diag(covariance))
    draws = walked(lambda x: power * target.log_density(x), starts, sds, 60, rng)
    return Fault(draws, target, None, kinds("scale"))


def counted_twice(rng: Rng, dim: int = 8) -> Fault:
    """Count a quarter of the data of a linear regression twice."""
    features = rng.standard_normal((60, dim))
    answers = features @ rng.standard_normal(dim) + rng.standard_normal(60)
    rows = np.r_[np.arange(60), np.arange(15)]

    def posterior(x: Array, y: Array) -> sk.targets.Normal:
        covariance = np.linalg.inv(x.T @ x + 0.1 * np.eye(dim))
        return sk.targets.Normal(covariance @ x.T @ y, covariance=0.5 * (covariance + covariance.T))

    return Fault(posterior(features[rows], answers[rows]).sample(500, rng), posterior(features, answers))


def rounded(rng: Rng) -> Fault:
    """Round one coordinate to multiples of its sd."""
    (j,) = pick(rng, 5)
    x = slow(rng.standard_normal((1000, 5)))
    x[:, j] = np.round(x[:, j])
    return Fault(x, normal(5), only(j), SHAPE)


def spread_by_sign(rng: Rng) -> Fault:
    """Let the sd of one coordinate depend on the sign of another, at unit variance."""
    x = rng.standard_normal((1000, 10))
    i, j = pick(rng, 10, 2)
    x[:, i] *= np.where(x[:, j] > 0.0, 1.2, np.sqrt(2.0 - 1.2**2))
    return Fault(x, normal(10), only(i, j))


def other_copula(rng: Rng) -> Fault:
    """Combine correct marginals with the copula of a t distribution with 4 df."""
    matrix = np.array([[1.0, 0.5], [0.5, 1.0]])
    x = sk.targets.StudentT(4.0, scale_matrix=matrix).sample(1000, rng)
    return Fault(ndtri(stdtr(4.0, x)), centred(matrix))


def wide_mode(rng: Rng) -> Fault:
    """Widen one of two modes by a fifth."""
    means = np.array([[-2.0, 0.0], [2.0, 1.0]])
    x = sk.targets.GaussianMixture(means, [1.0, 1.44]).sample(800, rng)
    return Fault(x, sk.targets.GaussianMixture(means, sd=1.0), None, SHAPE)


def nodal_laplace(rng: Rng) -> Fault:
    """Draw from the Laplace approximation to the bundled logistic regression."""
    target = sk.targets.LogisticRegression.nodal()
    mode, covariance = laplace_of(target)
    return Fault(mode + rng.standard_normal((1000, 6)) @ np.linalg.cholesky(covariance).T, target)


def one_chain_off(rng: Rng) -> Fault:
    """Shift one coordinate of one chain of four."""
    x = slow(rng.standard_normal((4, 400, 20)))
    (j,) = pick(rng, 20)
    x[int(rng.integers(4)), :, j] += 0.8
    return Fault(x, normal(20), only(j), kinds("location"))


def wrong_conditional(rng: Rng, dim: int = 10) -> Fault:
    """Run a Gibbs sampler with one conditional sd x 1.15."""
    covariance = decaying(0.5, dim)
    precision = np.linalg.inv(covariance)
    (j,) = pick(rng, dim)
    sds = scaled(dim, {j: 1.15}) / np.sqrt(np.diag(precision))
    x, kept = rng.multivariate_normal(np.zeros(dim), covariance), np.empty((1000, dim))
    for k, noise in enumerate(rng.standard_normal(kept.shape)):
        for i in range(dim):
            x[i] += sds[i] * noise[i] - precision[i] @ x / precision[i, i]
        kept[k] = x
    return Fault(kept, centred(covariance), only(j), kinds("scale"))


def shifted_chain(rng: Rng, dim: int = 50) -> Fault:
    x, (j,) = slow(rng.standard_normal((1000, dim))), pick(rng, dim)
    x[:, j] += 0.3
    return Fault(x, normal(dim), only(j), kinds("location"))


def five_wide(rng: Rng, dim: int = 50) -> Fault:
    wrong = pick(rng, dim, 5)
    x = rng.standard_normal((1000, dim)) * scaled(dim, dict.fromkeys(wrong, 1.1))
    return Fault(x, normal(dim), only(*wrong), kinds("scale"))


def lost_links(rng: Rng, dim: int = 20) -> Fault:
    """Draw blocks of five coordinates independently, as in a block-diagonal approximation."""
    covariance = decaying(0.4, dim)
    blocks = np.kron(np.eye(dim // 5), np.ones((5, 5)))
    edges = [i for k in range(5, dim, 5) for i in (k - 1, k)]
    return Fault(centred(covariance * blocks).sample(500, rng), centred(covariance), only(*edges), LINK)


FRESH = {
    "wrong prior scale": Entry("eight schools, half-Cauchy(2.5) for half-Cauchy(5), d = 10, n = 1000", wrong_prior),
    "weak bend": Entry("a banana x2 ~ .43 x1^2 for .5 x1^2, sd .5, d = 2, n = 500", weak_bend),
    "clipped": Entry("one coordinate clipped at 1.3 sd, .5^|i - j|, d = 10, n = 500", clipped),
    "kept off a bound": Entry("gamma(2), one coordinate above .3, bounded, d = 3, n = 1000", kept_off),
    "no Jacobian": Entry("mean and log sd of 20 data, Jacobian forgotten, d = 2, n = 1000", no_jacobian),
    "SGLD, logistic": Entry(
        "stochastic gradients on a logistic regression, sds x 1.05 to 1.08, d = 5, chain of 1000", langevin_batches
    ),
    "SGLD, two modes": Entry("stochastic gradients, bundled mixture posterior, chain of 2000", two_modes_in_batches),
    "no Hastings ratio": Entry(
        "gamma(30), one coordinate walks in its log unrepaired, d = 2, chain of 1000", no_hastings
    ),
    "variational": Entry("a mean-field normal for a t of 7 df, correlations .3, d = 5, n = 500", variational),
    "one light tail": Entry("one normal among t4 coordinates, same variance, d = 20, n = 500", one_light),
    "stuck": Entry("AR(.5) that stands for 100 of 1000 draws, d = 5", stuck),
    "HMC unadjusted": Entry("Hamiltonian, no rejections, variances x 1.19 to 1.01, d = 20, n = 1000", no_rejection),
    "tempered logistic": Entry("p^.85 of a logistic regression, d = 3, n = 800", cooled),
    "data counted twice": Entry("a quarter of a linear regression's data twice, d = 8, n = 500", counted_twice),
    "rounded": Entry("one coordinate in whole sds, AR(.5), d = 5, n = 1000", rounded),
    "spread by sign": Entry("one sd 1.2 or .75 by another's sign, d = 10, n = 1000", spread_by_sign),
    "other copula": Entry("normal marginals, t4 copula, correlation .5, d = 2, n = 1000", other_copula),
    "wide mode": Entry("one of two modes x 1.2, d = 2, n = 800", wide_mode),
    "Laplace, nodal": Entry(
        "the Laplace approximation of the bundled logistic regression, d = 6, n = 1000", nodal_laplace
    ),
    "one chain off": Entry(
        "one chain of four shifted by .8 in one coordinate, AR(.5), d = 20, n = 1600", one_chain_off
    ),
    "wrong conditional": Entry(
        "Gibbs, one conditional sd x 1.15, .5^|i - j|, d = 10, chain of 1000", wrong_conditional
    ),
    "shifted chain": Entry("one coordinate shifted by .3, AR(.5), d = 50, n = 1000", shifted_chain),
    "five of fifty wide": Entry("five sds x 1.1, d = 50, n = 1000", five_wide),
    "lost links": Entry("blocks of five of .4^|i - j| independent, d = 20, n = 500", lost_links),
}
