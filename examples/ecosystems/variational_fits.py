"""Compare the Pareto k and the estimated bias of variational fits with long runs of NUTS.

The models are the eight schools model (centered and non-centered) and the hyperparameters of a Gaussian process. The
BlackJAX fits are mean-field and full-rank normal distributions that maximize the ELBO, and Pathfinder. With
``--small``, the script uses only the mean-field fit of the first model. It requires
``pip install -e '.[blackjax,psis]'``.
"""

import sys
import warnings

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import optax
from blackjax.vi.fullrank_vi import generate_fullrank_logdensity
from blackjax.vi.meanfield_vi import generate_meanfield_logdensity
from blackjax_models import centred, non_centred, run
from cases import settings
from jax.flatten_util import ravel_pytree
from jax.scipy.stats import multivariate_normal, norm

import steinkit as sk

jax.config.update("jax_enable_x64", True)
rng = np.random.default_rng(0)
INPUTS = np.sort(rng.uniform(0.0, 4.0, 30))
OUTPUTS = np.sin(2.0 * INPUTS) + 0.3 * rng.standard_normal(30)


def gaussian_process(x):
    """Return the log posterior of the logarithms of amplitude, length scale and noise, with N(0, 1) priors."""
    distance = (INPUTS[:, None] - INPUTS) / jnp.exp(x["log_scale"])
    covariance = jnp.exp(2.0 * x["log_amplitude"] - 0.5 * distance**2) + jnp.exp(2.0 * x["log_noise"]) * jnp.eye(30)
    prior = sum(norm.logpdf(x[name]) for name in ("log_amplitude", "log_scale", "log_noise"))
    return prior + multivariate_normal.logpdf(OUTPUTS, jnp.zeros(30), covariance)


SCHOOLS = {"mu": jnp.array(4.0), "log_tau": jnp.array(1.0)}
MODELS = {
    "eight schools, centered": (centred, SCHOOLS | {"theta": jnp.full(8, 4.0)}),
    "eight schools, non-centered": (non_centred, SCHOOLS | {"z": jnp.zeros(8)}),
    "Gaussian process": (
        gaussian_process,
        {"log_amplitude": jnp.array(0.0), "log_scale": jnp.array(0.0), "log_noise": jnp.array(-1.0)},
    ),
}


def by_elbo(fit, density, start, key, draws, steps=3000):
    """Return draws from the normal distribution that maximizes the ELBO, and their log density."""
    algorithm = fit(density, optax.adam(optax.exponential_decay(0.05, steps, 0.02)), 20)
    key, own = jax.random.split(key)
    state = jax.lax.scan(
        lambda now, each: (algorithm.step(each, now)[0], None), algorithm.init(start), jax.random.split(key, steps)
    )[0]
    positions = algorithm.sample(own, state, draws)
    log_q = (
        generate_meanfield_logdensity(state.mu, state.rho)
        if fit is blackjax.meanfield_vi
        else generate_fullrank_logdensity(state.mu, state.chol_params)
    )
    return jax.vmap(lambda x: ravel_pytree(x)[0])(positions), jax.vmap(log_q)(positions)


def by_pathfinder(density, start, key, draws):
    state, _ = jax.jit(lambda start: blackjax.pathfinder.approximate(key, density, start))(start)
    points, log_q = blackjax.pathfinder.sample(key, state, draws)
    return jax.vmap(lambda x: ravel_pytree(x)[0])(points), log_q


FITS = {
    "mean field": lambda *given: by_elbo(blackjax.meanfield_vi, *given),
    "full rank": lambda *given: by_elbo(blackjax.fullrank_vi, *given),
    "Pathfinder": by_pathfinder,
}


def reference(name, draws):
    """Return exact draws of a model from NUTS, for the centered model by transforming the non-centered one."""
    density, start = MODELS[name.replace(", centered", ", non-centered")]
    position = run(density, start, seed=1, draws=draws).position
    if name.endswith(", centered"):
        z = position.pop("z")
        position["theta"] = position["mu"][..., None] + jnp.exp(position["log_tau"])[..., None] * z
    return np.asarray(
        jax.vmap(lambda x: ravel_pytree(x)[0])(jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), position))
    )


def main():
    small = settings(__doc__).small
    warnings.simplefilter("ignore", sk.SteinkitWarning)
    wrong = []
    for name, (density, start) in MODELS.items():
        if small and name != "eight schools, centered":
            continue
        exact = reference(name, 300 if small else 5000)
        mean, sd = exact.mean(axis=0), exact.std(axis=0)
        vector, back = ravel_pytree(start)
        target = sk.Target.from_jax(lambda x, density=density, back=back: density(back(x)), dim=len(vector))
        print(f"{name}; largest bias of a mean, in sd")
        print(f"{'':10}  {'k':>5}  {'weights':10}  {'verdict':12}  {'p':>7}  {'estimated bias':16}  true  after PSIS")
        for fit, make in FITS.items():
            if small and fit != "mean field":
                continue
            points, log_q = make(density, start, jax.random.key(2), 400 if small else 4000)
            found = sk.verdict(np.asarray(points, dtype=np.float64), target, log_q=np.asarray(log_q, dtype=np.float64))
            weights = found.importance
            true, after = ((each - mean) / sd for each in (np.mean(points, axis=0), weights.mean))
            bias = found.bias
            worst = int(np.argmax(np.where(bias.reliable, np.abs(bias.mean_bias), -1.0)))
            estimated = (
                f"{abs(bias.mean_bias[worst]):.2f} ± {bias.mean_margin[worst]:.2f}"
                if bias.reliable.any()
                else "not known"
            )
            if not bias.reliable.all() and bias.reliable.any():
                estimated += f" ({bias.reliable.sum()} of {len(bias.reliable)})"
            print(
                f"{fit:10}  {found.pareto_k:5.2f}  {'reliable' if weights.reliable else 'unreliable':10}"
                f"  {found.label:12}  {found.p:7.1g}  {estimated:16}  {np.abs(true).max():.2f}"
                f"  {np.abs(after).max():.2f}"
            )
            if fit == "mean field" and found.label != "biased":
                wrong.append(name)
        print()
    if wrong:
        sys.exit(f"not as expected: mean-field fits of {wrong} were not rejected")


if __name__ == "__main__":
    main()
