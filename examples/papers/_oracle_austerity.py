"""The austerity test with thresholds that are computed for each step from all the data.

The test shows the largest amount of data that a better choice of thresholds could save. Given the standardized mean mu
of a step, the test uses the smallest threshold at which the error of the whole test at mu is epsilon. This threshold,
G(mu), is the solution of

    error(mu; pi_1, G) = epsilon,

or 0 if the error of the first stage alone is smaller than epsilon.

References
----------
A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
section 5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from steinkit.samplers import AusterityTest, operating_characteristics
from steinkit.samplers.acceptance.interface import Decision
from steinkit.samplers.acceptance.sequential import NEVER, interim_stages, sequential_t_test

# Numbers of thresholds and means in the table. Values in between are interpolated.
_THRESHOLDS, _MEANS = 40, 128


@dataclass(frozen=True)
class OracleAusterityTest(AusterityTest):
    """Austerity test whose epsilon is the error of each *whole* test, under a normal approximation.

    The diagnostic ``oracle_cost`` reports the cost of the scans. No scan is made for tests that read all the data
    anyway.
    """

    name = "oracle-austerity"
    needs_bound = True
    diagnostics = ("oracle_cost",)

    def bounds(self, moves):
        """Compute the standardized means (mean - mu_0) sqrt(N - 1) / sd of all l_i, shape (n,)."""
        N = moves.size
        mean, sd = np.array([(terms.mean(), terms.std()) for terms in moves.log_ratios()]).T
        mu_0 = (moves.level - moves.offset) * (moves.temperature / N)
        return (mean - mu_0) * math.sqrt(N - 1.0) / sd

    def decide(self, stage):
        """Decide in the same way as the austerity test, but with the threshold of this step."""
        b, N, batch = stage.seen, stage.size, self.first_batch(stage.size)
        G = oracle_thresholds(np.array([stage.bound]), first_fraction=batch / N, epsilon=self.epsilon, alpha=self.alpha)
        quantile = -stdtrit(b - 1.0, ndtr(-G[0])) if b > 1 and np.isfinite(G[0]) else NEVER
        threshold = min(max(float(quantile), 0.0), NEVER) * (b / N) ** (0.5 - self.alpha)
        return Decision(*sequential_t_test(stage, threshold, batch))


def oracle_thresholds(means: np.ndarray, *, first_fraction: float, epsilon: float, alpha: float = 0.5) -> np.ndarray:
    """Compute the thresholds for which the error of the whole test is epsilon.

    The relative accuracy of the error is about 1%.

    Parameters
    ----------
    means : ndarray, shape (n,)
        Standardized means of the steps, computed from all the data. The threshold of a NaN is NaN.
    first_fraction : float
        Fraction of the data that is read at each stage, in (0, 1].
    epsilon : float
        Error probability of the *whole* test, in [0, 1].
    alpha : float
        Wang-Tsiatis exponent, in [1/2, 1].

    Returns
    -------
    ndarray, shape (n,)
        Thresholds, which are at least 0, or infinite if epsilon is 0.
    """
    if epsilon == 0.0:
        return np.full(len(means), np.inf)
    grid, thresholds = _table(float(first_fraction), float(epsilon), float(alpha))
    return np.interp(np.abs(means), grid, thresholds, right=0.0)


@lru_cache(maxsize=16)
def _table(first_fraction: float, epsilon: float, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Compute a grid of means and their thresholds."""
    stages = len(interim_stages(first_fraction, epsilon, alpha)[0])
    if not stages or epsilon >= 0.5:
        return np.zeros(1), np.zeros(1)
    # The error of a stage is at most Phi(-G), so the error of the whole test at the highest threshold is at most
    # epsilon.
    highest = -float(ndtri(epsilon / stages))
    levels = np.linspace(0.0, highest, _THRESHOLDS)
    farthest = -float(ndtri(epsilon)) * np.sqrt(1.0 / first_fraction - 1.0)
    means = np.linspace(0.0, farthest, _MEANS)
    errors = np.stack(
        [
            operating_characteristics(means, first_fraction=first_fraction, epsilon=float(ndtr(-G)), alpha=alpha).error
            for G in levels
        ]
    )
    found = [np.interp(-np.log(epsilon), -np.log(np.maximum(column, 1e-300)), levels) for column in errors.T]
    return means, np.array(found)
