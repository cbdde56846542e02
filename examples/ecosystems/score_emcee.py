"""Are these draws from the posterior? What emcee drew for a straight line, without its first steps and with them."""

import emcee
import numpy as np

import steinkit as sk

rng = np.random.default_rng(1)
x = np.sort(rng.uniform(0.0, 10.0, 50))
y = 4.3 - 0.95 * x + 0.5 * rng.standard_normal(50)


def log_density(parameters):
    """Log posterior of slope, intercept and the logarithm of the noise, all with normal priors."""
    slope, intercept, log_noise = parameters
    residuals = (y - slope * x - intercept) / np.exp(log_noise)
    prior = -0.5 * ((slope / 5.0) ** 2 + (intercept / 10.0) ** 2 + log_noise**2)
    return prior - 0.5 * (residuals**2).sum() - len(x) * log_noise


# The ensemble, from walkers away from the posterior, without its first 500 steps.
sampler = emcee.EnsembleSampler(32, 3, log_density)
sampler.random_state = np.random.MT19937(1).state
sampler.run_mcmc(0.1 * rng.standard_normal((32, 3)), 2500)
names = ["slope", "intercept", "log noise"]
target, sample = sk.from_emcee(sampler, discard=500, thin=40, names=names)
print(sk.verdict(sample, target).summary())

# The same with them.
print("\n--- Nothing discarded\n")
target, sample = sk.from_emcee(sampler, thin=40, names=names)
print(sk.verdict(sample, target).summary())
