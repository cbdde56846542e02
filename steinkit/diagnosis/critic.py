"""Critic test: a function is fitted to half of the draws and tested on the rest.

Under the target, Stein's identity E[T f] = 0 holds for smooth vector fields f. Here T is the Langevin operator

    T f = sum over k of b_k f_k + a_k df_k/dx_k,        where b is the score and a = 1 on an unbounded support

(`steinkit.discrepancy.moments`). If the target is a curved ridge or a ring, some biases can be detected only with
fields that are not gradients. With c = x - median, the covariance C and the damping

    m = 1 / (1 + c' C^-1 c / (3 d)),

all estimated from *one half* of the draws, the fields are f = p(c) m C e_k for p = 1, c_i and c_i c_j and every k. The
n / 32 fields with the largest |mean| / sd on that half are kept. The critic is a weighted sum of these fields, and the
weights are determined by ridge regression on the same half. The statistic z is the mean of the critic over the other
half, divided by its standard error. The halves are then exchanged to obtain a second value of z.

The two values of z are nearly equal because each mean is approximately the scalar product of the feature means of the
two halves. The average of the two values therefore has a variance near one, and the p-value is computed from Student's
t distribution. Each half is contiguous within every chain. The standard errors use the longer of the two estimated
autocorrelation times because either time may be an underestimate.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from steinkit.autocorrelation import long_run_times, tail_probability
from steinkit.discrepancy.moments import standardised
from steinkit.runtime.deadlines import one_thread_in_libraries, require_time
from steinkit.sample import Floats, Integers
from steinkit.scored_sample import ScoredSample

_FEWEST = 100  # minimum number of draws
_MOST_DRAWS = 5000  # maximum number of draws; longer samples are thinned evenly
_MOST_VALUES = 1 << 23  # largest value of (fields) x (draws)
_DRAWS_PER_FIELD = 32
_RIDGE = 0.3  # ridge penalty relative to a field's variance, divided by (fields) / (draws)
_LEAST = 1e-6  # added to variances in standard units


def critic_p_value(sample: ScoredSample) -> float | None:
    """Return the p-value of a critic that is fitted and tested on separate halves.

    Parameters
    ----------
    sample : ScoredSample
        Draws in raw units.

    Returns
    -------
    float or None
        The p-value. None if the draws are weighted, if there are fewer than a hundred draws, or if there are too many
        coordinates.

    Raises
    ------
    TimeLimitError
        If the caller's time limit is exceeded.
    """
    draws, (n, dim) = sample.draws, sample.draws.points.shape
    most = min(_MOST_DRAWS, _MOST_VALUES // (dim * (dim + 1)))
    if n > most:
        draws = draws.only(np.arange(0, n, -(-n // max(most, 1))))
        n = len(draws.points)
    if draws.is_weighted or n < _FEWEST:
        return None
    pairs = np.column_stack([np.arange(dim + 1), np.full(dim + 1, dim)])  # index d refers to the constant 1
    squares = np.column_stack(np.triu_indices(dim))
    if (len(pairs) + len(squares)) * dim * n <= _MOST_VALUES:
        pairs = np.concatenate([pairs, squares])
    effects, times = [], []
    with one_thread_in_libraries():
        points, drift, spread = standardised(draws, sample.own_units, sample.bounds)
        spread = np.ones_like(points) if spread is None else spread
        for fitted, tested in (draws.halves, draws.halves[::-1]):
            require_time("fitting the critic")
            fields = _fields(points, drift, spread, fitted)
            rows, weights = _critic(fields(pairs, fitted), max(1, n // _DRAWS_PER_FIELD))
            kinds, positions = np.unique(rows // dim, return_inverse=True)
            critic = weights @ fields(pairs[kinds], tested)[positions * dim + rows % dim]
            sd = float(critic.std(ddof=1))
            if not sd > 0.0:
                return None
            effects.append(float(critic.mean()) / sd)
            times.append(long_run_times((critic - critic.mean())[None], draws.only(tested).chains)[0])
    independent = 0.5 * n / float(max(times))
    return tail_probability(math.sqrt(independent) * float(np.mean(effects)), independent)


def _fields(points: Floats, drift: Floats, spread: Floats, fitted: Integers) -> Callable[[Integers, Integers], Floats]:
    """Return a function that evaluates the fields at draws.

    The center and the covariance of the fields are those of the `fitted` draws. For the factors p in `pairs` and the
    draws in `rows`, the function returns T f with shape (pairs * d, rows).
    """
    dim, n = points.shape
    covariance = np.atleast_2d(np.cov(points[:, fitted])) + _LEAST * np.eye(dim)
    centered = points - np.median(points[:, fitted], axis=1)[:, None]
    pull = np.linalg.solve(covariance, centered)
    damping = 1.0 / (1.0 + np.einsum("kn,kn->n", centered, pull) / (3.0 * dim))
    constant = covariance @ (damping * drift - 2.0 / (3.0 * dim) * damping**2 * spread * pull)  # T f for p = 1
    coordinates = np.concatenate([centered, np.ones((1, n))])

    def values(pairs: Integers, rows: Integers) -> Floats:
        factors, plain = coordinates[:, rows], constant[:, rows]
        slopes = np.zeros((dim + 1, dim, len(rows)))
        np.multiply((damping * spread)[:, None, rows], covariance[:, :, None], out=slopes[:dim])
        found = np.empty((len(pairs), dim, len(rows)))
        for field, (i, j) in zip(found, pairs, strict=True):
            field[:] = factors[i] * (factors[j] * plain + slopes[j]) + factors[j] * slopes[i]
        return found.reshape(-1, len(rows))

    return values


def _critic(values: Floats, most: int) -> tuple[Integers, Floats]:
    """Return the row numbers and the weights of the selected fields."""
    means, sds = values.mean(axis=1), values.std(axis=1)
    means /= np.where(sds > 0.0, sds, np.inf)
    kept = np.sort(np.argsort(-np.abs(means), kind="stable")[:most])
    scale = np.where(sds[kept] > 0.0, sds[kept], 1.0)
    covariance = np.atleast_2d(np.cov(values[kept] / scale[:, None]))
    ridge = _RIDGE * len(kept) / values.shape[1] + _LEAST
    return kept, np.linalg.solve(covariance + ridge * np.eye(len(kept)), means[kept]) / scale
