"""Test draws from emcee for a linear regression, with and without burn-in."""

import emcee
import numpy as np

import steinkit as sk

rng = np.random.default_rng(1)
x = np.sort(rng.uniform(0.0, 10.0, 50))
y = 4.3 - 0.95 * x + 0.5 * rng.standard_normal(50)


def log_density(parameters):
    """Compute the log posterior of slope, intercept and log noise, with normal priors, for each row."""
    slope, intercept, log_noise = parameters.T[:, :, None]
    residuals = (y - slope * x - intercept) / np.exp(log_noise)
    prior = -0.5 * ((slope / 5.0) ** 2 + (intercept / 10.0) ** 2 + log_noise**2)
    return prior[:, 0] - 0.5 * (residuals**2).sum(axis=1) - len(x) * log_noise[:, 0]


# Walkers start far from the posterior; the first 500 steps are discarded.
sampler = emcee.EnsembleSampler(32, 3, log_density, vectorize=True)
sampler.random_state = np.random.MT19937(1).state
sampler.run_mcmc(0.1 * rng.standard_normal((32, 3)), 2500)
names = ["slope", "intercept", "log noise"]
target, sample = sk.from_emcee(sampler, discard=500, thin=40, names=names)
print(sk.verdict(sample, target).summary())

# All steps.
print("\n--- Nothing discarded\n")
target, sample = sk.from_emcee(sampler, thin=40, names=names)
print(sk.verdict(sample, target).summary())
