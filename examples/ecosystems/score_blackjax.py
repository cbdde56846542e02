"""Test draws from BlackJAX's NUTS and SGLD for a logistic regression."""

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm

import steinkit as sk

rng = np.random.default_rng(3)
X = jnp.asarray(rng.standard_normal((200, 2)))
y = jnp.asarray(rng.random(200) < 1.0 / (1.0 + np.exp(-(0.5 + X @ np.array([1.0, -1.5])))))


def logdensity(x):
    logits = x["intercept"] + X @ x["beta"]
    prior = norm.logpdf(x["intercept"], scale=2.5) + norm.logpdf(x["beta"], scale=2.5).sum()
    return prior + (y * logits - jnp.logaddexp(0.0, logits)).sum()


# NUTS: the states of one chain, stacked over draws.
start = {"intercept": jnp.array(0.0), "beta": jnp.zeros(2)}
warm_up = blackjax.window_adaptation(blackjax.nuts, logdensity)
(state, parameters), _ = warm_up.run(jax.random.key(1), start, num_steps=1000)
nuts = blackjax.nuts(logdensity, **parameters)
keys = jax.random.split(jax.random.key(2), 2000)
_, states = jax.lax.scan(lambda now, key: (nuts.step(key, now)[0],) * 2, state, keys)
target, sample = sk.from_blackjax(logdensity, states, dims=("draw",))
print(sk.verdict(sample, target).summary())

# Langevin steps without a Metropolis correction.
print("\n--- SGLD\n")
sgld = blackjax.sgld(lambda x, _: jax.grad(logdensity)(x))
_, positions = jax.lax.scan(lambda now, key: (sgld.step(key, now, None, 0.02),) * 2, state.position, keys)
target, sample = sk.from_blackjax(logdensity, positions, dims=("draw",))
print(sk.verdict(sample, target).summary())
