"""Test draws from PyMC's NUTS and from ADVI for the eight schools model."""

import pymc as pm

import steinkit as sk

effects = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]
errors = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]

with pm.Model() as model:
    mu = pm.Normal("mu", 0.0, 5.0)
    tau = pm.HalfCauchy("tau", 5.0)
    z = pm.Normal("z", shape=8)
    pm.Normal("y", mu + tau * z, errors, observed=effects)

# NUTS.
with model:
    idata = pm.sample(1000, chains=4, cores=1, target_accept=0.95, random_seed=1, progressbar=False)
target, sample = sk.from_pymc(model, idata)
print(sk.verdict(sample, target).summary())

# A variational approximation of the posterior.
print("\n--- ADVI\n")
with model:
    approximation = pm.fit(20_000, method="advi", random_seed=1, progressbar=False)
target, sample = sk.from_pymc(model, approximation.sample(2000, random_seed=1))
print(sk.verdict(sample, target).summary())
