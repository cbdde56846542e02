"""Test draws from Stan's NUTS for the eight schools model, under the current and under an earlier prior."""

from pathlib import Path

import stan

import steinkit as sk

program = Path(__file__).with_name("eight_schools.stan").read_text()
data = {"J": 8, "y": [28.0, 8, -3, 7, -1, 1, 18, 12], "sigma": [15.0, 10, 16, 11, 9, 11, 10, 18], "centred": 0}

# NUTS.
model = stan.build(program, data={**data, "cauchy": 1}, random_seed=1)
fit = model.sample(num_chains=4, num_samples=1000, delta=0.95)
target, sample = sk.from_pystan(fit)
print(sk.verdict(sample, target).summary())

# Draws under an earlier prior of tau, tested against the current model.
print("\n--- draws under an older prior\n")
older = stan.build(program, data={**data, "cauchy": 0}, random_seed=1)
_, sample = sk.from_pystan(older.sample(num_chains=4, num_samples=1000, delta=0.95))
target, _ = sk.from_pystan(fit, model)
print(sk.verdict(sample, target).summary())
