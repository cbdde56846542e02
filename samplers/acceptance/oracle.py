"""The threshold that an oracle would choose for each test of its own.

Who knew the standardised mean mu of a step could choose the smallest threshold G at which the whole test errs with
probability epsilon there,

    G(mu) = the solution of error(mu; pi_1, G) = epsilon,    0 where the first look alone errs less,

where a fixed test must be made for the means it is likely to meet. What it reads is what no design can better.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from steinkit.sample import Floats
from steinkit.samplers.acceptance.operating_characteristics import interim_looks, operating_characteristics

# Thresholds and means of the table; in between it is interpolated.
_THRESHOLDS, _MEANS = 40, 128


def oracle_thresholds(means: Floats, *, first_fraction: float, epsilon: float, alpha: float = 0.5) -> Floats:
    """Threshold G_0 for which a test errs with probability epsilon at each mean, to about 1 % of epsilon.

    Parameters
    ----------
    means : ndarray, shape (n,)
        Standardised means of the steps, known from all the data. NaN gives NaN.
    first_fraction : float
        Share of the data read at each look, in (0, 1].
    epsilon : float
        Error of the *whole* test, in [0, 1].
    alpha : float
        Wang-Tsiatis exponent, in [1/2, 1].

    Returns
    -------
    ndarray, shape (n,)
        At least 0; infinite where epsilon is 0.

    Raises
    ------
    UsageError
        If a parameter lies outside its range.
    """
    interim_looks(first_fraction, epsilon, alpha)
    if epsilon == 0.0:
        return np.full(len(means), np.inf)
    grid, thresholds = _table(float(first_fraction), float(epsilon), float(alpha))
    return np.interp(np.abs(means), grid, thresholds, right=0.0)


@lru_cache(maxsize=16)
def _table(first_fraction: float, epsilon: float, alpha: float) -> tuple[Floats, Floats]:
    """Means and their thresholds."""
    from scipy.special import ndtr, ndtri

    looks = len(interim_looks(first_fraction, epsilon, alpha)[0])
    if not looks or epsilon >= 0.5:
        return np.zeros(1), np.zeros(1)
    # a look errs with at most Phi(-G): at the highest threshold the whole test errs with at most epsilon
    highest = -float(ndtri(epsilon / looks))
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
