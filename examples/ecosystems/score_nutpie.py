"""Test draws from nutpie for the eight schools model, under the same and under another prior."""

import nutpie
import pymc as pm

import steinkit as sk

effects = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]
errors = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]


def schools(prior_of_tau):
    with pm.Model() as model:
        mu = pm.Normal("mu", 0.0, 5.0)
        tau = prior_of_tau("tau", 5.0)
        z = pm.Normal("z", shape=8)
        pm.Normal("y", mu + tau * z, errors, observed=effects)
    return model


# NUTS, with unconstrained draws and gradients stored.
compiled = nutpie.compile_pymc_model(schools(pm.HalfCauchy))
trace = nutpie.sample(compiled, draws=1000, chains=4, seed=1, store_unconstrained=True, store_gradient=True)
target, sample = sk.from_nutpie(trace)
print(sk.verdict(sample, target).summary())

# The same draws for a model with a lighter-tailed prior.
print("\n--- Under another prior\n")
target, sample = sk.from_pymc(schools(pm.HalfNormal), trace)
print(sk.verdict(sample, target).summary())
