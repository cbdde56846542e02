"""Test draws from NumPyro's NUTS and from a variational guide for the eight schools model."""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal

import steinkit as sk

effects = jnp.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
errors = jnp.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def model(errors, effects):
    mu = numpyro.sample("mu", dist.Normal(0.0, 5.0))
    tau = numpyro.sample("tau", dist.HalfCauchy(5.0))
    with numpyro.plate("school", 8):
        z = numpyro.sample("z", dist.Normal())
        numpyro.sample("y", dist.Normal(mu + tau * z, errors), obs=effects)


# NUTS.
nuts = NUTS(model, target_accept_prob=0.95)
mcmc = MCMC(nuts, num_warmup=1000, num_samples=1000, num_chains=4, chain_method="vectorized", progress_bar=False)
mcmc.run(jax.random.key(1), errors, effects)
target, sample = sk.from_numpyro(model, mcmc, errors, effects)
print(sk.verdict(sample, target).summary())

# A variational approximation of the posterior.
print("\n--- AutoNormal\n")
guide = AutoNormal(model)
svi = SVI(model, guide, numpyro.optim.Adam(0.01), Trace_ELBO())
fitted = svi.run(jax.random.key(2), 20_000, errors, effects, progress_bar=False)
draws = guide.sample_posterior(jax.random.key(3), fitted.params, sample_shape=(2000,))
target, sample = sk.from_numpyro(model, draws, errors, effects)
print(sk.verdict(sample, target).summary())
