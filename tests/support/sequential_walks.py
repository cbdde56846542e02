"""Independent implementations of the sequential test: densities with drift, and tests on data."""

import numpy as np
from scipy.special import ndtr, ndtri

from steinkit.samplers.acceptance.interface import Stage


def shares(first, epsilon, alpha):
    """Return all fractions pi_j, with 1 at the end, and the thresholds of all but the last stage."""
    stages = int(np.ceil(1.0 / first - 1e-9))
    pi = np.minimum(first * np.arange(1, stages + 1), 1.0)
    pi[-1] = 1.0
    return pi, -ndtri(epsilon) * pi[:-1] ** (0.5 - alpha)


def direct_pass(mean, first, epsilon, alpha=0.5, nodes=128):
    """Compute error, data use and undecided from the density of the walk with drift, stage by stage (eq. 10, 11)."""
    pi, G = shares(first, epsilon, alpha)
    x, w = np.polynomial.legendre.leggauss(nodes)
    wrong, read, left, z = 0.0, 0.0, 1.0, np.zeros(1)
    for j, (p, g) in enumerate(zip(pi[:-1], G, strict=True)):
        if j == 0:
            center, sd, mass = np.array([mean * np.sqrt(p / (1 - p))]), 1.0, np.ones(1)
        else:
            q = pi[j - 1]
            center = mean * (p - q) / (1 - q) / np.sqrt(p * (1 - p)) + z * np.sqrt(q * (1 - p) / (p * (1 - q)))
            sd = np.sqrt((p - q) / (p * (1 - q)))
        low, high = mass @ ndtr((-g - center) / sd), mass @ ndtr((center - g) / sd)
        wrong += low if mean >= 0 else high
        read += p * (low + high)
        z = g * x
        mass = g * w * (mass @ np.exp(-0.5 * ((z - center[:, None]) / sd) ** 2)) / (sd * np.sqrt(2 * np.pi))
        left = mass.sum()
    return wrong, read + left, left


def decided_on_data(test, terms, mean, tests, rng, bound=None):
    """Return the same for an acceptance test on random orders of N values l_i, at a given standardized mean."""
    N = len(terms)
    mu_0 = terms.mean() - mean * terms.std() / np.sqrt(N - 1)
    batch = test.first_batch(N)
    ends = np.minimum(np.arange(1, -(-N // batch) + 1) * batch, N)
    wrong, read = np.zeros(tests), np.zeros(tests)
    for i in range(tests):
        order = terms[rng.permutation(N)]
        sums, squares = np.cumsum(order)[ends - 1], np.cumsum(order**2)[ends - 1]
        means = sums / ends
        variances = (squares - ends * means**2) / (ends - 1)
        for j, columns in enumerate(zip(ends.tolist(), means.tolist(), variances.tolist(), strict=True)):
            decision = test.decide(Stage(N, j, *columns, 0.0, 1.0, N * mu_0, 0.0, bound))
            if decision.decided:
                break
        wrong[i] = decision.accepted != (mean > 0) and ends[j] < N
        read[i] = ends[j] / N
    return [(v.mean(), max(v.std(), 1e-9) / np.sqrt(tests)) for v in (wrong, read)]
