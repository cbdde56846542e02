"""Three models in four packages, sampled by the NUTS of each package, with closed-form scores.

The coordinates are the same in all packages: x for the normal distribution, (mu, log tau, z) for eight schools, and
(mu, log tau, slope, z) for the grouped logistic regression. The chains of a run are independent, each with a separate
warm-up. Packages are imported when they are used.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

import steinkit as sk

EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])  # D. B. Rubin (1981)
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
GROUPS, ROWS = 42, 10
WARM_UP = 1000  # the default of PyMC, set for NumPyro and BlackJAX; nutpie keeps its default


def grouped_data(seed: int = 45) -> tuple[np.ndarray, np.ndarray]:
    """Return a covariate and a binary response, each of shape (42, 10), from the grouped logistic regression."""
    rng = np.random.default_rng(seed)
    # exact in single and double precision
    covariate = rng.standard_normal((GROUPS, ROWS)).astype(np.float32).astype(np.float64)
    logits = 0.4 + 0.7 * rng.standard_normal((GROUPS, 1)) - 0.8 * covariate
    return covariate, (rng.random((GROUPS, ROWS)) < 1.0 / (1.0 + np.exp(-logits))).astype(np.int64)


COVARIATE, RESPONSE = grouped_data()


def normal_score(points: np.ndarray) -> np.ndarray:
    """Compute the score of N(0, I) at points of shape (n, d)."""
    return -points


def schools_score(points: np.ndarray) -> np.ndarray:
    """Compute the score of non-centered eight schools, in (mu, log tau, z), shape (n, 10).

    mu ~ N(0, 5^2), tau ~ HalfCauchy(5), z ~ N(0, 1), y ~ N(mu + tau z, sigma^2); log |J| = log tau is included.
    """
    mu, tau, z = points[:, :1], np.exp(points[:, 1:2]), points[:, 2:]
    pull = (EFFECTS - mu - tau * z) / ERRORS**2
    of_mu = -mu / 25.0 + pull.sum(axis=1, keepdims=True)
    of_log_tau = 1.0 - 2.0 * tau**2 / (25.0 + tau**2) + tau * (pull * z).sum(axis=1, keepdims=True)
    return np.concatenate([of_mu, of_log_tau, -z + tau * pull], axis=1)


def grouped_score(points: np.ndarray) -> np.ndarray:
    """Compute the score of the grouped logistic regression, in (mu, log tau, slope, z), shape (n, 45).

    mu ~ N(0, 1.5^2), tau ~ HalfNormal(1), slope ~ N(0, 1), z ~ N(0, 1), logit P(y = 1) = mu + tau z + slope x.
    """
    mu, tau, slope, z = points[:, :1], np.exp(points[:, 1:2]), points[:, 2:3], points[:, 3:]
    logits = (mu + tau * z)[:, :, None] + slope[:, :, None] * COVARIATE
    rest = RESPONSE - 1.0 / (1.0 + np.exp(-logits))
    of_group = rest.sum(axis=2)
    of_mu = -mu / 2.25 + of_group.sum(axis=1, keepdims=True)
    of_log_tau = 1.0 - tau**2 + tau * (of_group * z).sum(axis=1, keepdims=True)
    of_slope = -slope + (rest * COVARIATE).sum(axis=(1, 2))[:, None]
    return np.concatenate([of_mu, of_log_tau, of_slope, -z + tau * of_group], axis=1)


@dataclass(frozen=True)
class Model:
    """Target that every package can sample.

    Attributes
    ----------
    name, kind : str
        Name of the target, and its type.
    dim : int
        Number of coordinates.
    score : callable, (n, d) -> (n, d)
        Score in closed form.
    """

    name: str
    kind: str
    dim: int
    score: Callable[[np.ndarray], np.ndarray]


MODELS = {
    model.name: model
    for model in (
        *(Model(f"normal_{dim}", "normal", dim, normal_score) for dim in (2, 5, 20, 50, 200)),
        Model("schools", "schools", 2 + len(EFFECTS), schools_score),
        Model("grouped", "grouped", 3 + GROUPS, grouped_score),
    )
}


def pymc_model(model: Model) -> Any:
    import pymc as pm

    with pm.Model() as made:
        if model.kind == "normal":
            pm.Normal("x", shape=model.dim)
        elif model.kind == "schools":
            mu, tau, z = pm.Normal("mu", 0.0, 5.0), pm.HalfCauchy("tau", 5.0), pm.Normal("z", shape=len(EFFECTS))
            pm.Normal("y", mu + tau * z, ERRORS, observed=EFFECTS)
        else:
            mu, tau, slope = pm.Normal("mu", 0.0, 1.5), pm.HalfNormal("tau", 1.0), pm.Normal("slope")
            z = pm.Normal("z", shape=GROUPS)
            pm.Bernoulli("y", logit_p=(mu + tau * z)[:, None] + slope * COVARIATE, observed=RESPONSE)
    return made


def by_pymc(model: Model, chains: int, draws: int, seed: int) -> tuple[sk.Target, sk.Sample]:
    import pymc as pm

    logging.getLogger("pymc").setLevel(logging.ERROR)
    made = pymc_model(model)
    options = {"cores": 1, "progressbar": False, "compute_convergence_checks": False}
    return sk.from_pymc(made, pm.sample(draws, chains=chains, random_seed=seed, model=made, **options))


def by_nutpie(model: Model, chains: int, draws: int, seed: int) -> tuple[sk.Target, sk.Sample]:
    import nutpie

    made = pymc_model(model)
    options = {"cores": 1, "progress_bar": False, "store_unconstrained": True, "store_gradient": True}
    trace = nutpie.sample(nutpie.compile_pymc_model(made), draws=draws, chains=chains, seed=seed, **options)
    return sk.from_nutpie(trace, made)


def by_numpyro(model: Model, chains: int, draws: int, seed: int) -> tuple[sk.Target, sk.Sample]:
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS

    effects, errors, covariate, response = map(jnp.asarray, (EFFECTS, ERRORS, COVARIATE, RESPONSE))

    def normal() -> None:
        numpyro.sample("x", dist.Normal().expand([model.dim]).to_event(1))

    def schools() -> None:
        mu, tau = numpyro.sample("mu", dist.Normal(0.0, 5.0)), numpyro.sample("tau", dist.HalfCauchy(5.0))
        z = numpyro.sample("z", dist.Normal().expand([len(EFFECTS)]).to_event(1))
        numpyro.sample("y", dist.Normal(mu + tau * z, errors).to_event(1), obs=effects)

    def grouped() -> None:
        mu, tau = numpyro.sample("mu", dist.Normal(0.0, 1.5)), numpyro.sample("tau", dist.HalfNormal(1.0))
        slope = numpyro.sample("slope", dist.Normal())
        z = numpyro.sample("z", dist.Normal().expand([GROUPS]).to_event(1))
        logits = (mu + tau * z)[:, None] + slope * covariate
        numpyro.sample("y", dist.Bernoulli(logits=logits).to_event(2), obs=response)

    made = {"normal": normal, "schools": schools, "grouped": grouped}[model.kind]
    options = {"chain_method": "vectorized", "progress_bar": False}
    run = MCMC(NUTS(made), num_warmup=WARM_UP, num_samples=draws, num_chains=chains, **options)
    run.run(jax.random.key(seed))
    return sk.from_numpyro(made, run)


def by_blackjax(model: Model, chains: int, draws: int, seed: int) -> tuple[sk.Target, sk.Sample]:
    import blackjax
    import jax
    import jax.numpy as jnp
    from jax.scipy.stats import cauchy, norm

    effects, errors, covariate, response = map(jnp.asarray, (EFFECTS, ERRORS, COVARIATE, RESPONSE))

    def normal(x: Any) -> Any:
        return norm.logpdf(x).sum()

    def schools(x: Any) -> Any:
        mu, log_tau, z = x[0], x[1], x[2:]
        tau = jnp.exp(log_tau)
        prior = norm.logpdf(mu, scale=5.0) + cauchy.logpdf(tau, scale=5.0) + log_tau + norm.logpdf(z).sum()
        return prior + norm.logpdf(effects, mu + tau * z, errors).sum()

    def grouped(x: Any) -> Any:
        mu, log_tau, slope, z = x[0], x[1], x[2], x[3:]
        tau = jnp.exp(log_tau)
        prior = norm.logpdf(mu, scale=1.5) + norm.logpdf(tau) + log_tau + norm.logpdf(slope) + norm.logpdf(z).sum()
        logits = (mu + tau * z)[:, None] + slope * covariate
        return prior + (response * logits - jnp.logaddexp(0.0, logits)).sum()

    logdensity = {"normal": normal, "schools": schools, "grouped": grouped}[model.kind]

    def chain(key: Any) -> Any:
        start, warm, run = jax.random.split(key, 3)
        begin = jax.random.uniform(start, (model.dim,), minval=-2.0, maxval=2.0)
        (state, found), _ = blackjax.window_adaptation(blackjax.nuts, logdensity).run(warm, begin, num_steps=WARM_UP)
        step = blackjax.nuts(logdensity, **found).step
        return jax.lax.scan(lambda now, k: (step(k, now)[0],) * 2, state, jax.random.split(run, draws))[1]

    states = jax.jit(jax.vmap(chain))(jax.random.split(jax.random.key(seed), chains))
    return sk.from_blackjax(logdensity, states.position, dims=("chain", "draw"))


PACKAGES = {"pymc": by_pymc, "nutpie": by_nutpie, "numpyro": by_numpyro, "blackjax": by_blackjax}


def sampled(model: Model, package: str, chains: int, draws: int, seed: int) -> np.ndarray:
    """Draw with the NUTS of a package with its default settings.

    Parameters
    ----------
    model : Model
        The target.
    package : str
        One of `PACKAGES`.
    chains, draws, seed : int
        Number of chains, draws per chain, and seed.

    Returns
    -------
    ndarray of float32, shape (chains, draws, d)
        The draws.

    Raises
    ------
    ValueError
        If the score in closed form differs from that of the package, for example in the order of coordinates.
    """
    target, sample = PACKAGES[package](model, chains, draws, seed)
    some = sample.points[:: max(1, len(sample) // 100)]
    theirs, ours = target.score(some), model.score(some)
    if not np.allclose(theirs, ours, rtol=1e-4, atol=1e-4 * np.abs(ours).max()):
        raise ValueError(f"{package}, {model.name}: the score differs from the closed form")
    return sample.points.reshape(chains, draws, model.dim).astype(np.float32)


def software(package: str) -> str:
    """Return the versions of the package and of its compiler."""
    backends = {"pymc": ("pytensor",), "nutpie": ("pymc", "pytensor")}.get(package, ("jax",))
    return ", ".join(f"{name} {version(name)}" for name in (package, *backends))
